//! Context of Gradle build files: settings with projects, version catalogs, properties.

use super::{
    super::{
        report::Purpose,
        tree::{folder_of, join, name_of},
    },
    format::PackageFileFormat,
    gradle::coordinate,
    reading::{ManifestDraft, ManifestReader, toml},
    script::{CommentStyle, ScriptToken, TokenizedScript},
};
use std::collections::{BTreeSet, HashMap};
use toml::{Table, Value};

/// Maximum number of parts in a project path.
const MAX_PROJECT_PATH_PARTS: usize = 32;

/// A version catalog with its aliases.
#[derive(Debug, Default)]
pub(super) struct VersionCatalog {
    /// Name and version by alias, words joined by dots.
    pub(super) libraries: HashMap<String, (String, Option<String>)>,
    /// Aliases by alias.
    pub(super) bundles: HashMap<String, Vec<String>>,
}

/// A project of a build.
#[derive(Debug)]
pub(super) struct GradleProject {
    /// Folder of its settings.
    pub(super) root: String,
    /// Name of the project.
    pub(super) name: Option<String>,
}

/// Context of build files.
#[derive(Debug, Default)]
pub(super) struct GradleContext {
    /// Catalogs by settings folder and name in build files.
    pub(super) catalogues: HashMap<(String, String), VersionCatalog>,
    /// By folder.
    pub(super) properties: HashMap<String, HashMap<String, String>>,
    /// By folder.
    pub(super) projects: HashMap<String, GradleProject>,
    /// Build files by settings folder and project path, as `:a:b`.
    pub(super) builds: HashMap<(String, String), String>,
    /// Project paths by settings folder and accessor in build files: `a.someProject`.
    pub(super) accessors: HashMap<(String, String), String>,
    /// Build files named after their project.
    pub(super) own_names: BTreeSet<String>,
}

/// Reads catalogs, properties and settings.
pub(super) fn read(reading: &mut ManifestReader<'_>) -> GradleContext {
    let mut around = GradleContext::default();
    for path in reading.files(PackageFileFormat::GradleCatalog) {
        read_catalogue(reading, path, &mut around);
    }
    for path in reading.files(PackageFileFormat::GradleProperties) {
        let text = reading.text(path).unwrap_or_default();
        around.properties.insert(folder_of(path).to_owned(), properties(&text));
    }
    let builds = reading.files(PackageFileFormat::GradleBuild);
    let builds: HashMap<_, _> = builds.iter().map(|path| (folder_of(path), *path)).collect();
    for path in reading.files(PackageFileFormat::GradleSettings) {
        read_settings(reading, path, &builds, &mut around);
    }
    around
}

fn properties(text: &str) -> HashMap<String, String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with(['#', '!']));
    let pairs = lines.filter_map(|line| line.split_once(['=', ':']));
    pairs.map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned())).collect()
}

/// Converts `some-lib_name` to its form in build files: `some.lib.name`.
fn dotted(alias: &str) -> String {
    alias.replace(['-', '_'], ".")
}

fn text(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).map(str::to_owned)
}

fn tables<'t>(table: &'t Table, key: &str) -> impl Iterator<Item = (&'t String, &'t Value)> {
    table.get(key).and_then(Value::as_table).into_iter().flatten()
}

/// Reads a catalog version: a string, a reference, or rules of which the strictest wins.
fn version(value: &Value, table: &Table) -> Option<String> {
    let plain = |value: &Value| {
        let rules = ["strictly", "require", "prefer"];
        text(Some(value)).or_else(|| rules.iter().find_map(|key| text(value.get(key))))
    };
    match text(value.get("ref")) {
        Some(name) => plain(table.get("versions")?.get(&name)?),
        None => plain(value),
    }
}

fn read_catalogue(reading: &mut ManifestReader<'_>, path: &str, around: &mut GradleContext) {
    let mut draft = ManifestDraft::new(path, PackageFileFormat::GradleCatalog);
    let table = reading.text(path).and_then(|text| {
        let table = toml::<Table>(&text);
        reading.accept(path, table)
    });
    let table = table.unwrap_or_default();
    let mut catalogue = VersionCatalog::default();
    for (alias, library) in tables(&table, "libraries") {
        let key = |key: &str| text(library.get(key));
        let parts = || Some(format!("{}:{}", key("group")?, key("name")?));
        let long = || {
            let version = library.get("version").and_then(|it| version(it, &table));
            Some((key("module").or_else(parts)?, version))
        };
        let short = library.as_str().and_then(coordinate);
        if let Some((name, version)) = short.or_else(long) {
            draft.want(&name, version.clone(), Purpose::Workspace);
            catalogue.libraries.insert(dotted(alias), (name, version));
        }
    }
    for (alias, bundle) in tables(&table, "bundles") {
        let names = bundle.as_array().into_iter().flatten().filter_map(Value::as_str);
        catalogue.bundles.insert(dotted(alias), names.map(dotted).collect());
    }
    reading.drafts.push(draft);
    // `gradle/libs.versions.toml` is the catalog `libs` of the build in the folder above.
    let name = name_of(path).trim_end_matches(".versions.toml").to_owned();
    let folder = folder_of(path);
    let root = if name_of(folder) == "gradle" { folder_of(folder) } else { folder };
    around.catalogues.insert((root.to_owned(), name), catalogue);
}

/// Contents of a settings file: build name, projects, and renamed folders.
#[derive(Default)]
struct GradleSettings {
    name: Option<String>,
    projects: BTreeSet<String>,
    folders: HashMap<String, String>,
}

fn said(script: &TokenizedScript<'_>) -> GradleSettings {
    let mut said = GradleSettings::default();
    for range in script.statements(0..script.tokens().len()) {
        let start = range.start;
        let tokens = &script.tokens()[range];
        let texts: Vec<_> = tokens
            .iter()
            .filter_map(|token| match token {
                ScriptToken::Text(text) if !text.contains('$') => Some((*text).to_owned()),
                _ => None,
            })
            .collect();
        match (script.word(start), texts.as_slice()) {
            (Some("include"), projects) => projects.iter().for_each(|it| said.include(it)),
            (Some("rootProject"), [name, ..]) if script.word(start + 2) == Some("name") => {
                said.name = Some(name.clone());
            }
            // `project(':a').projectDir = file('b')`, or `new File(settingsDir, 'b')`.
            (Some("project"), [project, target])
                if tokens.contains(&ScriptToken::Word("projectDir")) =>
            {
                said.folders.insert(project.clone(), target.clone());
            }
            _ => {}
        }
    }
    said
}

impl GradleSettings {
    /// Includes a project; `:a:b` also includes `:a`.
    fn include(&mut self, project: &str) {
        let mut path = String::new();
        let parts = project.split([':', '/']).filter(|part| !part.is_empty());
        for part in parts.take(MAX_PROJECT_PATH_PARTS) {
            path = format!("{path}:{part}");
            self.projects.insert(path.clone());
        }
    }
}

fn read_settings(
    reading: &mut ManifestReader<'_>,
    path: &str,
    builds: &HashMap<&str, &str>,
    around: &mut GradleContext,
) {
    let mut draft = ManifestDraft::new(path, PackageFileFormat::GradleSettings);
    let text = reading.text(path).unwrap_or_default();
    let GradleSettings { name, projects, folders } =
        said(&TokenizedScript::new(&text, CommentStyle::Slashes));
    let root = folder_of(path).to_owned();
    let mut members = BTreeSet::new();
    let top = (":".to_owned(), root.clone(), name.clone());
    let inner = projects.into_iter().filter_map(|project| {
        let inside = project.trim_start_matches(':').replace(':', "/");
        let place = join(&root, folders.get(&project).unwrap_or(&inside))?;
        let name = project.rsplit(':').next().map(str::to_owned);
        Some((project, place, name))
    });
    for (project, place, name) in std::iter::once(top).chain(inner) {
        let own_name = || {
            let name = name.as_ref()?;
            let names = [format!("{name}.gradle"), format!("{name}.gradle.kts")];
            names.iter().filter_map(|name| join(&place, name)).find(|path| reading.has(path))
        };
        let build = builds.get(place.as_str()).map(|path| (*path).to_owned());
        let build = build.or_else(|| {
            let own = own_name()?;
            around.own_names.insert(own.clone());
            Some(own)
        });
        if let Some(build) = build {
            around.builds.insert((root.clone(), project.clone()), build.clone());
            members.insert(build);
        }
        around.accessors.insert((root.clone(), accessor(&project)), project);
        around.projects.insert(place, GradleProject { root: root.clone(), name });
    }
    draft.manifest.name = name;
    draft.manifest.members = members.into_iter().collect();
    reading.drafts.push(draft);
}

/// Converts `:a:some-project` to its form in build files: `a.someProject`.
fn accessor(project: &str) -> String {
    let mut accessor = String::new();
    let mut raise = false;
    for c in project.trim_start_matches(':').chars() {
        match c {
            '-' | '_' => raise = true,
            ':' => accessor.push('.'),
            c if std::mem::take(&mut raise) => accessor.extend(c.to_uppercase()),
            c => accessor.push(c),
        }
    }
    accessor
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_name_projects() {
        let text = "rootProject.name = 'shop'\n// include ':no'\ninclude ':a', ':b:c-d'\ninclude(\n  \"e\",\n  \"$f\"\n)\n\
            project(':a').projectDir = new File(settingsDir, '../x/a')\n";
        let said = said(&TokenizedScript::new(text, CommentStyle::Slashes));
        assert_eq!(said.name.as_deref(), Some("shop"));
        assert_eq!(said.projects.iter().collect::<Vec<_>>(), [":a", ":b", ":b:c-d", ":e"]);
        assert_eq!(said.folders.get(":a").map(String::as_str), Some("../x/a"));
        assert_eq!(accessor(":b:c-d_e"), "b.cDE");
    }
}
