//! Gradle: build files and lock files; settings are in `gradle_settings`. Build files are programs: common literal
//! forms are read, the rest is ignored.

use super::{
    super::report::Purpose,
    format::PackageFileFormat,
    gradle_settings::{self, GradleContext},
    lock::{LockedVersions, ParsedLockFile},
    reading::{ManifestDraft, ManifestReader, RequestedDependency, outwards, place},
    script::{CommentStyle, ScriptToken, TokenizedScript},
};
use std::{collections::HashMap, ops::Range};

/// Suffixes of dependency configurations, and their purposes; tests are recognized by prefix.
const CONFIGURATIONS: [(&str, Purpose); 18] = [
    ("implementation", Purpose::Runtime),
    ("api", Purpose::Runtime),
    ("compile", Purpose::Runtime),
    ("runtime", Purpose::Runtime),
    ("runtimeonly", Purpose::Runtime),
    ("optional", Purpose::Optional),
    ("provided", Purpose::Peer),
    ("providedcompile", Purpose::Peer),
    ("providedruntime", Purpose::Peer),
    ("compileonly", Purpose::Build),
    ("compileonlyapi", Purpose::Build),
    ("annotationprocessor", Purpose::Build),
    ("kapt", Purpose::Build),
    ("ksp", Purpose::Build),
    ("classpath", Purpose::Build),
    ("corelibrarydesugaring", Purpose::Build),
    ("developmentonly", Purpose::Development),
    ("detektplugins", Purpose::Development),
];

/// Calls around a dependency that do not change it.
const WRAPPERS: [&str; 4] = ["platform", "enforcedPlatform", "testFixtures", "dependencies"];

/// Folders of build logic.
const BUILD_LOGIC: [&str; 2] = ["buildSrc", "build-logic"];

/// Blocks that apply to a project and its subprojects.
const SHARED: [&str; 2] = ["allprojects", "subprojects"];

/// Reads all Gradle files.
pub(super) fn read(reading: &mut ManifestReader<'_>) {
    let around = gradle_settings::read(reading);
    let named = reading.files(PackageFileFormat::GradleBuild).into_iter().map(str::to_owned);
    let mut builds: Vec<_> = named.chain(around.own_names.iter().cloned()).collect();
    builds.sort_by(|one, other| place(one).cmp(&place(other)));
    // Versions that a build sets for its projects, by folder.
    let mut shared = HashMap::new();
    for path in builds {
        let mut draft = ManifestDraft::new(&path, PackageFileFormat::GradleBuild);
        if let Some(text) = reading.text(&path) {
            let script = TokenizedScript::new(&text, CommentStyle::Slashes);
            fill(&script, &around, &mut shared, &mut draft);
        }
        reading.drafts.push(draft);
    }
}

/// Parses `group:name:version`; the version is optional.
pub(super) fn coordinate(text: &str) -> Option<(String, Option<String>)> {
    let text = text.split('@').next().unwrap_or(text);
    let mut parts = text.split(':');
    let (group, name) = (parts.next()?, parts.next()?);
    let version = parts.next().filter(|version| !version.is_empty()).map(str::to_owned);
    let plain = |part: &str| !part.is_empty() && !part.contains(char::is_whitespace);
    (plain(group) && plain(name)).then(|| (format!("{group}:{name}"), version))
}

/// A build file and its context.
struct GradleBuildFile<'a> {
    script: &'a TokenizedScript<'a>,
    around: &'a GradleContext,
    /// Folder of its settings.
    root: &'a str,
    /// Variables that the file sets to a string.
    names: HashMap<&'a str, &'a str>,
    own_properties: [Option<&'a HashMap<String, String>>; 2],
}

fn fill(
    script: &TokenizedScript<'_>,
    around: &GradleContext,
    shared: &mut HashMap<String, String>,
    draft: &mut ManifestDraft,
) {
    let folder = draft.folder().to_owned();
    let project = around.projects.get(&folder);
    let root = project.map_or(folder.as_str(), |project| &project.root);
    let own_properties = [around.properties.get(&folder), around.properties.get(root)];
    let build = GradleBuildFile { script, around, root, names: constants(script), own_properties };
    let (own, given) = versions(script);
    let expand = |text: &str| build.expand(text);
    if let Some(given) = given.and_then(expand) {
        shared.insert(folder.clone(), given);
    }
    let manifest = &mut draft.manifest;
    manifest.name = project.and_then(|project| project.name.clone());
    let version = own.map(str::to_owned).or_else(|| build.property("version"));
    let version = version.and_then(|version| build.expand(&version));
    manifest.version = version.or_else(|| shared.get(root).cloned());
    manifest.description = build.names.get("description").copied().and_then(expand);
    let mut at = 0;
    while at < script.tokens().len() {
        if script.word(at) == Some("dependencies") && script.is(at + 1, '{') {
            build.take_block(at, &mut draft.wanted);
            at = script.after(at + 1);
        } else {
            at += 1;
        }
    }
    let is_logic = folder.split('/').any(|part| BUILD_LOGIC.contains(&part));
    for wanted in draft.wanted.iter_mut().filter(|it| is_logic && it.purpose == Purpose::Runtime) {
        wanted.purpose = Purpose::Build;
    }
}

/// Parses an assignment of a string: `def a = 'x'`, `ext.a = 'x'`, `a 'x'`.
fn setting<'a>(
    script: &TokenizedScript<'a>,
    statement: &Range<usize>,
) -> Option<(&'a str, &'a str)> {
    let last = statement.end.checked_sub(1)?;
    let text = script.text(last)?;
    let name = match statement.len() {
        0 | 1 => return None,
        2 => statement.start,
        _ if script.is(last - 1, '=') => last - 2,
        _ => return None,
    };
    Some((script.word(name)?, text))
}

/// Returns the variables set to a string exactly once.
fn constants<'a>(script: &TokenizedScript<'a>) -> HashMap<&'a str, &'a str> {
    let mut found: HashMap<&str, Option<&str>> = HashMap::new();
    for statement in script.statements(0..script.tokens().len()) {
        if let Some((name, text)) = setting(script, &statement) {
            found.entry(name).and_modify(|known| *known = None).or_insert(Some(text));
        }
    }
    found.into_iter().filter_map(|(name, text)| Some((name, text?))).collect()
}

/// Returns the project's own version, and the one it sets for subprojects.
fn versions<'a>(script: &TokenizedScript<'a>) -> (Option<&'a str>, Option<&'a str>) {
    let version = |range: Range<usize>| {
        let mut depth = 0_usize;
        let mut start = range.start;
        for at in range {
            match script.get(at) {
                Some(ScriptToken::Sign('{')) => depth += 1,
                Some(ScriptToken::Sign('}')) => depth = depth.saturating_sub(1),
                Some(ScriptToken::End) => {}
                _ => continue,
            }
            let statement = start..at;
            start = at + 1;
            let found = setting(script, &statement).filter(|(name, _)| *name == "version");
            if let Some((_, text)) = found.filter(|_| depth == 0) {
                return Some(text);
            }
        }
        None
    };
    let own = version(0..script.tokens().len());
    let mut shared = None;
    let mut at = 0;
    while at < script.tokens().len() && shared.is_none() {
        let word = script.word(at).filter(|_| script.is(at + 1, '{'));
        let is_block = word.is_some_and(|word| SHARED.contains(&word));
        shared = is_block.then(|| version(script.inside(at + 1))).flatten();
        // A nested block applies to other projects.
        at = if is_block { script.after(at + 1) } else { at + 1 };
    }
    (own, shared)
}

impl GradleBuildFile<'_> {
    fn property(&self, name: &str) -> Option<String> {
        self.own_properties.iter().flatten().find_map(|all| all.get(name)).cloned()
    }

    /// Expands a string if its variables each have one known value.
    fn expand(&self, text: &str) -> Option<String> {
        let Some((before, after)) = text.split_once('$') else { return Some(text.to_owned()) };
        let (name, after) = if let Some(rest) = after.strip_prefix('{') {
            rest.split_once('}')?
        } else {
            let end = after.find(|c: char| !c.is_alphanumeric() && c != '_');
            after.split_at_checked(end.unwrap_or(after.len()))?
        };
        let name = name.rsplit('.').next()?.trim();
        let known = self.names.get(name).map(|text| (*text).to_owned());
        let value = known.or_else(|| self.property(name))?;
        (!value.contains('$') && !after.contains('$')).then(|| format!("{before}{value}{after}"))
    }

    /// Reads a dependencies block.
    fn take_block(&self, start: usize, into: &mut Vec<RequestedDependency>) {
        let script = self.script;
        // Kotlin source sets have their own blocks: `commonTest.dependencies { … }`.
        let before = script.tokens().get(start.saturating_sub(4)..start).unwrap_or_default();
        let tests = before.iter().any(|token| match token {
            ScriptToken::Word(word) => word.contains("Test") || *word == "test",
            _ => false,
        });
        let inside = script.inside(start + 1);
        // Constraints only limit versions.
        let limits: Vec<_> = inside
            .clone()
            .filter(|at| script.word(*at) == Some("constraints") && script.is(at + 1, '{'))
            .map(|at| script.inside(at + 1))
            .collect();
        let mut limits = limits.into_iter().peekable();
        for statement in script.statements(inside) {
            while limits.next_if(|limit| limit.end <= statement.start).is_some() {}
            if limits.peek().is_some_and(|limit| limit.contains(&statement.start)) {
                continue;
            }
            let from = into.len();
            self.take(statement, into);
            for wanted in into.iter_mut().skip(from).filter(|_| tests) {
                wanted.purpose = Purpose::Development;
            }
        }
    }

    /// Reads one statement of a dependencies block.
    fn take(&self, statement: Range<usize>, into: &mut Vec<RequestedDependency>) {
        let script = self.script;
        // Kotlin may write a configuration name as a string.
        let first = script.get(statement.start);
        let Some(ScriptToken::Word(configuration) | ScriptToken::Text(configuration)) = first
        else {
            return;
        };
        let Some(purpose) = purpose(configuration) else { return };
        let mut at = statement.start + 1;
        while at < statement.end {
            match script.get(at) {
                Some(ScriptToken::Sign('(')) => {}
                Some(ScriptToken::Word(word)) if WRAPPERS.contains(&word) => {}
                _ => break,
            }
            at += 1;
        }
        match script.get(at) {
            Some(ScriptToken::Text(_)) => {
                let texts = (at..statement.end).filter_map(|at| script.text(at));
                into.extend(texts.filter_map(|text| self.coordinate(text, purpose)));
            }
            Some(ScriptToken::Word("project")) if script.is(at + 1, '(') => {
                let path = script.inside(at + 1).find_map(|at| script.text(at));
                into.extend(path.map(|path| self.local(path, purpose)));
            }
            Some(ScriptToken::Word("kotlin")) => into.extend(script.text(at + 2).map(|module| {
                let version = script.text(at + 4).map(str::to_owned);
                RequestedDependency::new(
                    format!("org.jetbrains.kotlin:kotlin-{module}"),
                    version,
                    purpose,
                )
            })),
            Some(ScriptToken::Word("group")) => into.extend(self.named(at..statement.end, purpose)),
            Some(ScriptToken::Word(word)) => self.take_accessor(word, at, purpose, into),
            _ => {}
        }
    }

    fn coordinate(&self, text: &str, purpose: Purpose) -> Option<RequestedDependency> {
        let (name, version) = coordinate(text)?;
        // Unknown interpolations stay as written.
        let expanded = |text: &str| self.expand(text).unwrap_or_else(|| text.to_owned());
        Some(RequestedDependency::new(
            expanded(&name),
            version.map(|version| expanded(&version)),
            purpose,
        ))
    }

    /// Resolves another project of this build.
    fn local(&self, path: &str, purpose: Purpose) -> RequestedDependency {
        let path = format!(":{}", path.trim_start_matches(':'));
        let target = self.around.builds.get(&(self.root.to_owned(), path.clone())).cloned();
        // Even without its own build file, it is not an external package.
        let target = target.unwrap_or_else(|| path.clone());
        RequestedDependency::new(path.clone(), Some(path), purpose)
            .with_local_manifest(Some(target))
    }

    /// Parses `group: 'g', name: 'a', version: 'v'`, or with `=`.
    fn named(&self, range: Range<usize>, purpose: Purpose) -> Option<RequestedDependency> {
        let mut parts: [Option<&str>; 3] = [None; 3];
        for at in range {
            let key = match self.script.word(at) {
                Some("group") => 0,
                Some("name") => 1,
                Some("version") => 2,
                _ => continue,
            };
            parts[key] = parts[key].or(self.script.text(at + 2));
        }
        let [group, name, version] = parts;
        let version = version.map(|version| format!(":{version}")).unwrap_or_default();
        self.coordinate(&format!("{}:{}{version}", group?, name?), purpose)
    }

    /// Reads `libs.some.lib`, `libs.bundles.x`, `projects.some.project`.
    fn take_accessor(
        &self,
        first: &str,
        at: usize,
        purpose: Purpose,
        into: &mut Vec<RequestedDependency>,
    ) {
        let mut words = Vec::new();
        let mut at = at + 1;
        while let (true, Some(word)) = (self.script.is(at, '.'), self.script.word(at + 1)) {
            words.push(word);
            at += 2;
        }
        let alias = words.join(".");
        if first == "projects" {
            let path = self.around.accessors.get(&(self.root.to_owned(), alias));
            into.extend(path.map(|path| self.local(path, purpose)));
            return;
        }
        // Conventions in an inner folder use the catalog of the enclosing build.
        let catalogue = outwards(self.root)
            .find_map(|root| self.around.catalogues.get(&(root.to_owned(), first.to_owned())));
        let Some(catalogue) = catalogue else { return };
        let one = [alias.clone()];
        let bundle = alias.strip_prefix("bundles.").and_then(|it| catalogue.bundles.get(it));
        for alias in bundle.map_or(one.as_slice(), Vec::as_slice) {
            let alias = alias.strip_suffix(".get").unwrap_or(alias);
            if let Some((name, version)) = catalogue.libraries.get(alias) {
                into.push(RequestedDependency::new(name, version.clone(), purpose));
            }
        }
    }
}

/// Returns the purpose of a configuration's dependencies; `None` if unknown.
fn purpose(configuration: &str) -> Option<Purpose> {
    let lower = configuration.to_lowercase();
    let starts = lower.starts_with("kapt") || lower.starts_with("ksp");
    let known = CONFIGURATIONS.iter().filter(|(ending, _)| lower.ends_with(ending));
    // The longest suffix decides: `compileOnlyApi` is not an `api`.
    let known = known.max_by_key(|(ending, _)| ending.len()).map(|(_, purpose)| *purpose);
    let purpose = known.or(starts.then_some(Purpose::Build))?;
    Some(if lower.contains("test") { Purpose::Development } else { purpose })
}

/// Parses `gradle.lockfile`: `group:name:version=configurations`.
pub(super) fn lock(text: &str) -> ParsedLockFile {
    let mut fixed = LockedVersions::default();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let coordinate = line.split('=').next().unwrap_or_default();
        if let Some((name, version)) = coordinate.rsplit_once(':') {
            fixed.add(name, version);
        }
    }
    ParsedLockFile::single_version(fixed, str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::{super::tests::check, *};

    #[test]
    fn configurations_give_purposes() {
        let cases = [
            ("implementation", Some(Purpose::Runtime)),
            ("debugImplementation", Some(Purpose::Runtime)),
            ("compileOnlyApi", Some(Purpose::Build)),
            ("kaptTest", Some(Purpose::Development)),
            ("testRuntimeOnly", Some(Purpose::Development)),
            ("androidTestImplementation", Some(Purpose::Development)),
            ("kspJvm", Some(Purpose::Build)),
            ("exclude", None),
            ("dependency", None),
        ];
        for (configuration, want) in cases {
            assert_eq!(purpose(configuration), want, "{configuration}");
        }
    }

    #[test]
    fn a_build_with_projects_catalogue_and_lock_file() {
        check(
            &[
                ("settings.gradle.kts", "rootProject.name = \"shop\"\ninclude(\":core\", \":web:some-api\")\ninclude(\":own\")\n"),
                ("gradle.properties", "version=3.1\nokhttpVersion = 4.12.0\n"),
                (
                    "gradle/libs.versions.toml",
                    "[versions]\nktor='2.3'\nrich={strictly='1.0',prefer='1.1'}\n[libraries]\nktor-core={module='io.ktor:ktor-core',version.ref='ktor'}\n\
                     guava='com.google.guava:guava:33.0'\nslf4j_api={group='org.slf4j',name='slf4j-api',version.ref='rich'}\n[bundles]\nall=['ktor-core','slf4j_api']\n",
                ),
                ("build.gradle.kts", "allprojects {\n  version = \"9\"\n}\nbuildscript { dependencies { classpath(\"com.android.tools:gradle:8.1\") } }\n"),
                (
                    "core/build.gradle.kts",
                    "plugins { id(\"x\") version \"1.2\" }\ndescription = \"The core.\"\nval ktorVersion = \"2.0\"\ndependencies {\n  implementation(libs.guava)\n  api(libs.bundles.all)\n  \
                     implementation(\"io.ktor:ktor-client:$ktorVersion\")\n  implementation(\"com.squareup.okhttp3:okhttp:${okhttpVersion}\") { exclude(group = \"a\", module = \"b\") }\n  \
                     implementation(\"a:b:$nowhere\")\n  testImplementation(kotlin(\"test\"))\n  compileOnly(group = \"javax\", name = \"inject\", version = \"1\")\n  \
                     implementation(platform(\"org.bom:bom:1.0\"))\n  implementation(libs.unknown)\n  constraints { implementation(\"not:asked:1\") }\n  // implementation(\"no:no:1\")\n}\n",
                ),
                ("core/gradle.lockfile", "# written by Gradle\ncom.google.guava:guava:33.0.0=compileClasspath\nio.ktor:ktor-core:2.3.4=x\nempty=annotationProcessor\n"),
                (
                    "web/some-api/build.gradle",
                    "version '1.0'\ndef v = '5'\ndependencies {\n  implementation project(':core'), project(\":own\")\n  implementation projects.own\n  testImplementation group: 'junit', name: 'junit', version: \"${v}.1\"\n  \
                     runtimeOnly 'x:one:1', 'x:two:2@jar'\n  annotationProcessor(\"p:p\")\n}\n",
                ),
                ("own/own.gradle", "dependencies { api project(':core') }\n"),
                ("alone/build.gradle", "version = '7'\n"),
                ("buildSrc/build.gradle", "dependencies { implementation 'tool:tool:1'\n optional 'o:o' }\n"),
            ],
            "build.gradle.kts | Gradle gradle | shop 3.1 | - | - | - | settings.gradle.kts | -
             + build com.android.tools:gradle 8.1 -
             settings.gradle.kts | Gradle gradle | shop - | - | - | build.gradle.kts core/build.gradle.kts own/own.gradle web/some-api/build.gradle | - | -
             alone/build.gradle | Gradle gradle | - 7 | - | - | - | - | -
             buildSrc/build.gradle | Gradle gradle | - - | - | - | - | - | -
             + optional o:o - -
             + build tool:tool 1 -
             core/build.gradle.kts | Gradle gradle | core 3.1 | The core. | - | - | settings.gradle.kts | core/gradle.lockfile
             + runtime com.google.guava:guava 33.0 33.0.0
             + runtime io.ktor:ktor-core 2.3 2.3.4
             + runtime org.slf4j:slf4j-api 1.0 -
             + runtime io.ktor:ktor-client 2.0 -
             + runtime com.squareup.okhttp3:okhttp 4.12.0 -
             + runtime a:b $nowhere -
             + runtime org.bom:bom 1.0 -
             + build javax:inject 1 -
             + development org.jetbrains.kotlin:kotlin-test - -
             gradle/libs.versions.toml | Gradle gradle | - - | - | - | - | - | -
             + workspace io.ktor:ktor-core 2.3 -
             + workspace com.google.guava:guava 33.0 -
             + workspace org.slf4j:slf4j-api 1.0 -
             own/own.gradle | Gradle gradle | own 3.1 | - | - | - | settings.gradle.kts | -
             + runtime :core :core -
             web/some-api/build.gradle | Gradle gradle | some-api 1.0 | - | - | - | settings.gradle.kts | -
             + runtime :core :core -
             + runtime :own :own -
             + runtime x:one 1 -
             + runtime x:two 2 -
             + build p:p - -
             + development junit:junit 5.1 -
             = 14 direct, 2 development, 2 locked
             = own/own.gradle > core/build.gradle.kts
             = web/some-api/build.gradle > core/build.gradle.kts
             = web/some-api/build.gradle > own/own.gradle
             = core/gradle.lockfile of Gradle with 2",
        );
    }
}
