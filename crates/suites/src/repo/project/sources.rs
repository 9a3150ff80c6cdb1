//! Sources for the rest of this folder: manifests, opened once, and files recognized by name, found in one pass.
//!
//! Must not know what any of them means.

use crate::files::ReadFailure;
use crate::repo::{
    report::{Manifest, Presence},
    tree::{HaltCheck, ProjectTree, folder_of, join, name_of},
};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};
use tokei::LanguageType;

/// Maximum number of opened manifests: the outer ones suffice.
const MAX_OPENED_MANIFESTS: usize = 200;
/// Maximum size of manifests and task files: larger ones are generated.
pub(super) const MAX_SOURCE_BYTES: u64 = 1 << 20;
/// Maximum number of files per role.
const MAX_FILES_PER_ROLE: usize = 100;

/// Folders of examples, tests or third-party code: they do not show how to work with the project.
const IGNORED_FOLDERS: [&str; 43] = [
    "__fixtures__",
    "__mocks__",
    "__tests__",
    "acceptance",
    "bench",
    "benches",
    "benchmark",
    "benchmarks",
    "build-logic",
    "buildsrc",
    "demo",
    "demos",
    "e2e",
    "example",
    "examples",
    "external",
    "fixture",
    "fixtures",
    "fuzz",
    "fuzzing",
    "integration",
    "integration_test",
    "listings",
    "mocks",
    "node_modules",
    "playground",
    "playgrounds",
    "sample",
    "samples",
    "snapshots",
    "spec",
    "specs",
    "stubs",
    "template",
    "templates",
    "test",
    "testdata",
    "testing",
    "tests",
    "third-party",
    "third_party",
    "thirdparty",
    "vendor",
];

/// Whether a path is in a folder of tests, examples, templates, third-party or hidden files.
pub(super) fn is_aside(path: &str) -> bool {
    // Java folders are named after packages, which may have any name.
    let outer = path.split_once("src/main/").map_or_else(|| folder_of(path), |(outer, _)| outer);
    outer.split('/').any(is_aside_folder)
}

fn is_aside_folder(name: &str) -> bool {
    if name.starts_with('.') {
        return true;
    }
    let lower = name.to_ascii_lowercase();
    let mut parts = lower.split(['-', '_', '.']);
    let first = parts.next().unwrap_or_default();
    let last = parts.next_back().unwrap_or(first);
    let edge = |part: &str| matches!(part, "test" | "tests" | "example" | "examples" | "template");
    IGNORED_FOLDERS.contains(&lower.as_str()) || edge(first) || edge(last)
}

/// Whether a path is in a documentation folder: site tools say nothing about the project.
pub(super) fn is_documents(path: &str) -> bool {
    let documents =
        |part: &str| matches!(part, "doc" | "docs" | "documentation" | "site" | "website" | "www");
    folder_of(path).split('/').any(documents)
}

/// Returns the number of parent folders of a path.
pub(super) fn depth(folder: &str) -> usize {
    if folder.is_empty() { 0 } else { folder.split('/').count() }
}

/// Role of a file, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FileRole {
    Makefile,
    Justfile,
    Taskfile,
    CargoMake,
    CargoConfiguration,
    Rakefile,
    Tox,
    Nox,
    Invoke,
    Pixi,
    /// One version of one tool: `.nvmrc`, `.python-version` …
    Version,
    /// Versions of many tools: `.tool-versions`, `mise.toml`.
    Versions,
    /// A Rust program by location: `src/bin/a.rs`.
    CargoProgram,
    /// A Rust example by location: `examples/a.rs`.
    CargoExample,
    MainGo,
    PythonModule,
    PythonScript,
    SpringApplication,
    Dockerfile,
    Compose,
    Executable,
    EnvironmentExample,
    Terraform,
}

/// Returns the role of a file, if any.
fn role(path: &str) -> Option<FileRole> {
    let (folder, name) = (folder_of(path), name_of(path));
    Some(match name {
        "Makefile" | "makefile" | "GNUmakefile" => FileRole::Makefile,
        "justfile" | "Justfile" | ".justfile" | "JUSTFILE" => FileRole::Justfile,
        "Taskfile.yml" | "taskfile.yml" | "Taskfile.yaml" | "taskfile.yaml"
        | "Taskfile.dist.yml" | "Taskfile.dist.yaml" => FileRole::Taskfile,
        "Makefile.toml" => FileRole::CargoMake,
        "config.toml" | "config" if name_of(folder) == ".cargo" => FileRole::CargoConfiguration,
        "Rakefile" | "rakefile" | "Rakefile.rb" => FileRole::Rakefile,
        "tox.ini" => FileRole::Tox,
        "noxfile.py" => FileRole::Nox,
        "tasks.py" => FileRole::Invoke,
        "pixi.toml" => FileRole::Pixi,
        ".nvmrc"
        | ".node-version"
        | ".python-version"
        | ".ruby-version"
        | ".go-version"
        | ".java-version"
        | ".terraform-version"
        | "rust-toolchain"
        | "rust-toolchain.toml"
        | "global.json"
        | "gradle-wrapper.properties"
        | "maven-wrapper.properties" => FileRole::Version,
        ".tool-versions" | "mise.toml" | ".mise.toml" => FileRole::Versions,
        "main.go" => FileRole::MainGo,
        "__main__.py" => FileRole::PythonModule,
        "manage.py" => FileRole::PythonScript,
        "main.py" | "app.py" | "run.py" | "server.py" | "cli.py" | "wsgi.py" | "asgi.py"
            if folder.is_empty() =>
        {
            FileRole::PythonScript
        }
        "Dockerfile" | "Containerfile" => FileRole::Dockerfile,
        "docker-compose.yml" | "docker-compose.yaml" | "compose.yml" | "compose.yaml" => {
            FileRole::Compose
        }
        "env.example" | "example.env" | "env.sample" | "sample.env" | "env.template"
        | "template.env" | "env.dist" => FileRole::EnvironmentExample,
        _ => return role_by_pattern(folder, name),
    })
}

fn role_by_pattern(folder: &str, name: &str) -> Option<FileRole> {
    if name.starts_with("Dockerfile.") && !name.ends_with(".dockerignore") {
        return Some(FileRole::Dockerfile);
    }
    if matches!(folder, "bin" | "exe" | "script" | "scripts") {
        return Some(FileRole::Executable);
    }
    if let Some(role) = cargo_role(folder, name) {
        return Some(role);
    }
    if name.ends_with("Application.java") || name.ends_with("Application.kt") {
        return Some(FileRole::SpringApplication);
    }
    name.strip_suffix(".tf").map(|_| FileRole::Terraform)
}

/// Returns the Cargo role of a file: programs and examples are files, or folders with `main.rs`.
fn cargo_role(folder: &str, name: &str) -> Option<FileRole> {
    name.strip_suffix(".rs")?;
    let folder = if name == "main.rs" { folder_of(folder) } else { folder };
    match name_of(folder) {
        "bin" if name_of(folder_of(folder)) == "src" => Some(FileRole::CargoProgram),
        "examples" => Some(FileRole::CargoExample),
        _ => None,
    }
}

/// Whether a file with this role is ignored in test and example folders.
fn is_left_out(path: &str, role: FileRole) -> bool {
    match role {
        FileRole::CargoConfiguration => false,
        // Build tool wrappers keep their settings in a hidden folder.
        FileRole::Version => is_aside(path) && !path.starts_with(".mvn/"),
        FileRole::CargoExample => {
            path.split_once("examples/").is_none_or(|(above, _)| is_aside(above))
        }
        _ => is_aside(path),
    }
}

/// A manifest with its contents.
#[derive(Debug)]
pub(super) struct OpenedManifest<'a> {
    /// Manifest parsed by another module.
    pub(super) manifest: &'a Manifest,
    /// Its text.
    pub(super) text: String,
    /// Parsed JSON, TOML or YAML; null for other formats.
    pub(super) value: Value,
    /// Whether it is a member of a workspace above it.
    pub(super) is_member: bool,
}

impl OpenedManifest<'_> {
    /// Returns its folder; empty at the root.
    pub(super) fn folder(&self) -> &str {
        folder_of(&self.manifest.path)
    }

    /// Returns its file name.
    pub(super) fn file(&self) -> &str {
        name_of(&self.manifest.path)
    }

    /// Whether it belongs to this ecosystem.
    pub(super) fn is(&self, ecosystem: &str) -> bool {
        self.manifest.ecosystem == ecosystem
    }

    /// Whether it depends on a package, for any purpose.
    pub(super) fn depends_on(&self, name: &str) -> bool {
        self.manifest.dependencies.iter().any(|dependency| dependency.name == name)
    }

    /// Returns a string at a path inside it.
    pub(super) fn text_at(&self, pointer: &str) -> Option<&str> {
        self.value.pointer(pointer)?.as_str()
    }

    /// Resolves a path in it, relative to the analyzed folder.
    pub(super) fn path_to(&self, relative: &str) -> Option<String> {
        join(self.folder(), relative)
    }
}

/// All inputs of the project analysis.
pub(super) struct ProjectSources<'a> {
    pub(super) tree: &'a ProjectTree,
    pub(super) presence: &'a Presence,
    pub(super) halt: HaltCheck<'a>,
    /// Outermost first, without tests and examples.
    pub(super) manifests: Vec<OpenedManifest<'a>>,
    /// The README and contributing guide: path and text.
    pub(super) documents: Vec<(&'a str, String)>,
    /// Documents that cannot be read.
    pub(super) problems: Vec<ReadFailure>,
    roles: BTreeMap<FileRole, Vec<&'a str>>,
    /// Bytes of source by ecosystem.
    bytes: HashMap<&'static str, u64>,
    /// Lowercase project names, from its folder and manifests.
    names: HashSet<String>,
}

impl<'a> ProjectSources<'a> {
    /// Checks every name once, and opens the manifests.
    pub(super) fn gather(
        tree: &'a ProjectTree,
        manifests: &'a [Manifest],
        presence: &'a Presence,
        halt: HaltCheck<'a>,
    ) -> Self {
        let mut roles: BTreeMap<FileRole, Vec<&str>> = BTreeMap::new();
        let mut bytes: HashMap<&str, u64> = HashMap::new();
        for file in tree.files() {
            if let Some(ecosystem) = file.language.and_then(ecosystem_of) {
                *bytes.entry(ecosystem).or_default() += file.bytes;
            }
            let Some(role) = role(&file.path) else { continue };
            if is_left_out(&file.path, role) {
                continue;
            }
            let found = roles.entry(role).or_default();
            if found.len() < MAX_FILES_PER_ROLE && file.bytes <= MAX_SOURCE_BYTES {
                found.push(&file.path);
            }
        }
        for found in roles.values_mut() {
            found.sort_by_key(|path| depth(folder_of(path)));
        }
        let manifests = open(tree, manifests, halt);
        let folder = tree.roots.absolute(&tree.top);
        let folder = folder.file_name().map(|name| name.to_string_lossy().to_lowercase());
        let names = manifests.iter().filter_map(|opened| opened.manifest.name.as_deref());
        let names = names.flat_map(|name| [name, name_of(name)]).map(str::to_lowercase);
        let names = names.chain(folder).collect();
        let (mut documents, mut problems) = (Vec::new(), Vec::new());
        for path in presence.readme.iter().chain(&presence.contributing) {
            match tree.text(path) {
                Ok(text) => documents.push((path.as_str(), text)),
                Err(problem) => problems.push(problem),
            }
        }
        Self { tree, presence, halt, manifests, documents, problems, roles, bytes, names }
    }

    /// Returns files with a role, outermost first, then by path.
    pub(super) fn of(&self, role: FileRole) -> &[&'a str] {
        self.roles.get(&role).map_or(&[], Vec::as_slice)
    }

    /// Whether a file exists in a folder.
    pub(super) fn has(&self, folder: &str, name: &str) -> bool {
        join(folder, name).is_some_and(|path| self.tree.file(&path).is_some())
    }

    /// Returns the first of these files that exists in a folder.
    pub(super) fn first_of(&self, folder: &str, names: &[&str]) -> Option<String> {
        let mut paths = names.iter().filter_map(|name| join(folder, name));
        paths.find(|path| self.tree.file(path).is_some())
    }

    /// Returns manifests of an ecosystem.
    pub(super) fn ecosystem(&self, ecosystem: &str) -> impl Iterator<Item = &OpenedManifest<'a>> {
        self.manifests.iter().filter(move |opened| opened.manifest.ecosystem == ecosystem)
    }

    /// Whether little of the project uses the ecosystem's languages: tools for its pages, for example.
    pub(super) fn is_minor(&self, ecosystem: &str) -> bool {
        let ecosystem = if ecosystem == "Gradle" { "Maven" } else { ecosystem };
        let all = self.bytes.values().sum::<u64>();
        // Formats such as Conan's have no language.
        let is_counted = !matches!(ecosystem, "Conan" | "vcpkg" | "Deno" | "Haskell");
        is_counted && self.bytes.get(ecosystem).copied().unwrap_or(0) * 5 < all
    }

    /// Whether this is the name of the project or one of its packages.
    pub(super) fn is_called(&self, name: &str) -> bool {
        self.names.contains(&name.to_lowercase())
    }

    /// Whether the call was stopped.
    pub(super) fn stopped(&self) -> bool {
        (self.halt)()
    }
}

fn open<'a>(
    tree: &ProjectTree,
    manifests: &'a [Manifest],
    halt: HaltCheck<'_>,
) -> Vec<OpenedManifest<'a>> {
    let mut chosen: Vec<&Manifest> =
        manifests.iter().filter(|manifest| !is_aside(&manifest.path)).collect();
    // A collection of examples contains nothing else.
    if chosen.is_empty() {
        chosen = manifests.iter().collect();
    }
    chosen.sort_by_key(|manifest| depth(folder_of(&manifest.path)));
    let hosts: HashSet<&str> =
        chosen.iter().filter(|it| hosts_platforms(it)).map(|it| folder_of(&it.path)).collect();
    chosen.retain(|manifest| !is_platform_part(&hosts, &manifest.path));
    let members: HashSet<&str> = chosen
        .iter()
        .flat_map(|manifest| manifest.members.iter().filter(|it| is_below(&manifest.path, it)))
        .map(String::as_str)
        .collect();
    let small = |path: &str| tree.file(path).is_some_and(|file| file.bytes <= MAX_SOURCE_BYTES);
    let mut opened = Vec::new();
    for manifest in
        chosen.into_iter().filter(|manifest| small(&manifest.path)).take(MAX_OPENED_MANIFESTS)
    {
        if halt() {
            break;
        }
        // The module that reads dependencies lists unreadable manifests.
        let Ok(text) = tree.text(&manifest.path) else { continue };
        let Ok(value) = parse(&manifest.path, &text) else { continue };
        let workspace = manifest.workspace.as_deref();
        let is_member = members.contains(manifest.path.as_str())
            || workspace.is_some_and(|workspace| is_below(workspace, &manifest.path));
        opened.push(OpenedManifest { manifest, text, value, is_member });
    }
    opened
}

/// Whether a manifest is below another one's folder.
fn is_below(outer: &str, inner: &str) -> bool {
    let above = folder_of(outer);
    let rest = match above {
        "" => Some(inner),
        above => inner.strip_prefix(above).and_then(|rest| rest.strip_prefix('/')),
    };
    rest.is_some_and(|rest| rest.contains('/'))
}

/// Whether a manifest's tools create platform projects next to it.
fn hosts_platforms(manifest: &Manifest) -> bool {
    let asks = |name: &str| manifest.dependencies.iter().any(|dependency| dependency.name == name);
    (manifest.ecosystem == "Dart" && asks("flutter"))
        || (manifest.ecosystem == "npm" && asks("react-native"))
}

/// Whether a path is in a platform folder next to such a manifest.
fn is_platform_part(hosts: &HashSet<&str>, path: &str) -> bool {
    let mut folder = folder_of(path);
    while !folder.is_empty() {
        let above = folder_of(folder);
        let is_platform =
            matches!(name_of(folder), "android" | "ios" | "linux" | "macos" | "windows");
        if is_platform && hosts.contains(above) {
            return true;
        }
        folder = above;
    }
    false
}

/// Returns the ecosystem of a language.
fn ecosystem_of(language: LanguageType) -> Option<&'static str> {
    use LanguageType as L;
    Some(match language {
        L::Rust => "Cargo",
        L::JavaScript | L::TypeScript | L::Jsx | L::Tsx | L::Vue | L::Svelte => "npm",
        L::Python => "Python",
        L::Go => "Go",
        L::Java | L::Kotlin => "Maven",
        L::Ruby => "Ruby",
        L::Php => "PHP",
        L::CSharp | L::FSharp => ".NET",
        L::Elixir => "Elixir",
        L::Dart => "Dart",
        L::Swift => "Swift",
        L::C | L::Cpp | L::CHeader | L::CppHeader => "CMake",
        _ => return None,
    })
}

/// Parses a file by extension; null for other formats.
pub(super) fn parse(path: &str, text: &str) -> Result<Value, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let name = name_of(path);
    match name.rsplit_once('.').map_or(name, |(_, ending)| ending) {
        "json" => serde_json::from_str(text).map_err(|error| format!("is not valid JSON: {error}")),
        "toml" | "Pipfile" => {
            toml::from_str(text).map_err(|error| format!("is not valid TOML: {}", error.message()))
        }
        "yml" | "yaml" => yaml(text),
        _ => Ok(Value::Null),
    }
}

fn yaml(text: &str) -> Result<Value, String> {
    serde_saphyr::from_str(text).map_err(|error| {
        let message = error.to_string();
        let first = message.lines().next().unwrap_or_default();
        format!("is not valid YAML: {}", first.trim_start_matches("error: "))
    })
}

/// Reads and parses a file, or returns the problem.
pub(super) fn read(tree: &ProjectTree, path: &str) -> Result<(String, Value), ReadFailure> {
    let text = tree.text(path)?;
    let value =
        parse(path, &text).map_err(|reason| ReadFailure { path: tree.shown(path), reason })?;
    Ok((text, value))
}

/// Returns the line of a key, from 1: the first line starting with it after the start of its section.
pub(super) fn line_of(text: &str, section: &str, key: &str) -> Option<u32> {
    let mut inside = section.is_empty();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim_start();
        if inside && begins_with_key(line, key) {
            return Some(number);
        }
        inside |= line.starts_with(section);
    }
    None
}

/// Returns the first line, from 1, that starts with a text.
pub(super) fn line_starting(text: &str, start: &str) -> Option<u32> {
    let at = text.lines().position(|line| line.trim_start().starts_with(start))?;
    u32::try_from(at + 1).ok()
}

fn begins_with_key(line: &str, key: &str) -> bool {
    let bare = line.strip_prefix(['"', '\'', ':']).unwrap_or(line);
    bare.strip_prefix(key).is_some_and(|rest| {
        !rest.starts_with(|after: char| after.is_alphanumeric() || matches!(after, '_' | '-'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_and_examples_lie_aside() {
        let cases = [
            ("Cargo.toml", false),
            ("crates/a/Cargo.toml", false),
            ("tests/a/Cargo.toml", true),
            ("packages/create/template-vue/package.json", true),
            ("tests-integration/Cargo.toml", true),
            ("android-test/build.gradle", true),
            ("Examples/a/package.json", true),
            (".github/actions/a/package.json", true),
            ("contest/go.mod", false),
            ("src/main/java/org/samples/App.java", false),
            ("samples/a/src/main/java/App.java", true),
            ("latest/go.mod", false),
            ("test", false),
        ];
        for (path, want) in cases {
            assert_eq!(is_aside(path), want, "{path}");
        }
    }

    #[test]
    fn files_have_roles_by_their_names() {
        let cases = [
            ("Makefile", Some(FileRole::Makefile)),
            ("docs/Makefile", Some(FileRole::Makefile)),
            ("Dockerfile.dev", Some(FileRole::Dockerfile)),
            ("Dockerfile.dockerignore", None),
            ("a/.cargo/config.toml", Some(FileRole::CargoConfiguration)),
            ("a/config.toml", None),
            ("bin/tool", Some(FileRole::Executable)),
            ("a/bin/tool", None),
            ("app.py", Some(FileRole::PythonScript)),
            ("src/app.py", None),
            ("src/manage.py", Some(FileRole::PythonScript)),
            ("main.tf", Some(FileRole::Terraform)),
            ("src/bin/a.rs", Some(FileRole::CargoProgram)),
            ("crates/x/src/bin/a/main.rs", Some(FileRole::CargoProgram)),
            ("src/bin/a/other.rs", None),
            ("examples/a.rs", Some(FileRole::CargoExample)),
            ("examples/a/main.rs", Some(FileRole::CargoExample)),
        ];
        for (path, want) in cases {
            assert_eq!(role(path), want, "{path}");
        }
    }

    #[test]
    fn members_lie_below_their_workspace() {
        let cases = [
            ("Cargo.toml", "crates/a/Cargo.toml", true),
            ("fuzz/Cargo.toml", "Cargo.toml", false),
            ("package.json", "package.json", false),
            ("a/Cargo.toml", "a/b/Cargo.toml", true),
            ("a/Cargo.toml", "ab/Cargo.toml", false),
        ];
        for (outer, inner, want) in cases {
            assert_eq!(is_below(outer, inner), want, "{outer} {inner}");
        }
    }

    #[test]
    fn lines_of_keys() {
        let text = "{\n  \"test\": 1,\n  \"scripts\": {\n    \"test-ci\": \"x\",\n    \"test\": \"y\"\n  }\n}";
        assert_eq!(line_of(text, "\"scripts\"", "test"), Some(5));
        assert_eq!(line_of(text, "\"scripts\"", "test-ci"), Some(4));
        assert_eq!(line_of(text, "", "test"), Some(2));
        assert_eq!(line_of(text, "\"tasks\"", "test"), None);
    }

    #[test]
    fn files_are_parsed_by_their_ending() {
        let cases = [
            ("a.json", "{\"a\": 1}", true),
            ("a.json", "\u{feff}{\"a\": 1}", true),
            ("a.json", "{", false),
            ("a.toml", "a = 1", true),
            ("a.toml", "a =", false),
            ("a.yml", "a: 1", true),
            ("a.yml", "a: [", false),
            ("pom.xml", "<", true),
        ];
        for (path, text, want) in cases {
            assert_eq!(parse(path, text).is_ok(), want, "{path} {text}");
        }
    }
}
