//! Programs and libraries of compiled languages: Go, Java and Kotlin, .NET, Swift, `CMake`.

use super::{entry, existing, head};
use crate::repo::{
    project::sources::{FileRole, OpenedManifest, ProjectSources, depth},
    report::{EntryKind, EntryPoint},
    tree::{folder_of, name_of},
};

/// Finds folders with `package main`.
pub(super) fn go_programs(sources: &ProjectSources<'_>, found: &mut Vec<EntryPoint>) {
    for path in sources.of(FileRole::MainGo) {
        if sources.stopped() || !is_go_program(&head(sources, path)) {
            continue;
        }
        let folder = folder_of(path);
        let mut modules: Vec<&OpenedManifest<'_>> = sources
            .ecosystem("Go")
            .filter(|it| {
                it.folder().is_empty()
                    || folder == it.folder()
                    || folder.starts_with(&format!("{}/", it.folder()))
            })
            .collect();
        modules.sort_by_key(|opened| depth(opened.folder()));
        let module = modules.last();
        let at_root = module.is_some_and(|opened| opened.folder() == folder);
        let module_name = module.and_then(|opened| opened.manifest.name.as_deref());
        let name = match module_name {
            Some(name) if at_root => program_of_module(name),
            _ => name_of(folder),
        };
        let declared_in = module.map_or(*path, |opened| opened.manifest.path.as_str()).to_owned();
        if !name.is_empty() {
            let path = Some((*path).to_owned());
            found.push(EntryPoint {
                name: name.to_owned(),
                kind: EntryKind::Binary,
                path,
                declared_in,
            });
        }
    }
}

/// Returns the program name: `example.org/tool/v2` builds `tool`.
fn program_of_module(module: &str) -> &str {
    let (before, last) = module.rsplit_once('/').unwrap_or(("", module));
    let is_version =
        last.strip_prefix('v').is_some_and(|it| it.bytes().all(|byte| byte.is_ascii_digit()));
    if is_version && !before.is_empty() { name_of(before) } else { last }
}

/// Whether a file belongs to a program and is built.
fn is_go_program(head: &str) -> bool {
    !head.lines().any(|line| line.trim() == "//go:build ignore")
        && head
            .lines()
            .any(|line| line.split("//").next().unwrap_or_default().trim() == "package main")
}

/// Finds a module with an importable package in its root folder.
pub(super) fn go_library(
    sources: &ProjectSources<'_>,
    opened: &OpenedManifest<'_>,
    found: &mut Vec<EntryPoint>,
) {
    let Some(name) = opened.manifest.name.as_deref() else { return };
    if name.split('/').any(|part| part == "internal") {
        return;
    }
    let package = program_of_module(name).trim_start_matches("go-");
    let usual = [format!("{package}.go"), "doc.go".to_owned()];
    let path = usual.iter().find_map(|file| existing(sources, opened, file));
    if let Some(path) = path.filter(|path| !is_go_program(&head(sources, path))) {
        found.push(entry(opened, EntryKind::Library, name, Some(path)));
    }
}

/// Finds the main class in a pom.xml.
pub(super) fn maven(
    sources: &ProjectSources<'_>,
    opened: &OpenedManifest<'_>,
    found: &mut Vec<EntryPoint>,
) {
    let tags = ["mainClass", "start-class", "exec.mainClass"];
    let class = tags.iter().find_map(|tag| {
        let (_, rest) = opened.text.split_once(&format!("<{tag}>"))?;
        rest.split('<')
            .next()
            .map(str::trim)
            .filter(|class| !class.contains('$') && !class.is_empty())
    });
    if let Some(class) = class {
        found.push(entry(opened, EntryKind::Binary, class, class_path(sources, opened, class)));
        return;
    }
    let is_program =
        opened.text.contains("spring-boot-maven-plugin") || opened.text.contains("<packaging>pom");
    library(sources, opened, !is_program, found);
}

/// Finds a module with sources but no program.
fn library(
    sources: &ProjectSources<'_>,
    opened: &OpenedManifest<'_>,
    likely: bool,
    found: &mut Vec<EntryPoint>,
) {
    let has_sources = opened.path_to("src").is_some_and(|it| sources.tree.has_folder(&it));
    let folder = name_of(opened.folder());
    let name = opened.manifest.name.as_deref().or(Some(folder)).filter(|name| !name.is_empty());
    if let Some(name) = name.filter(|_| likely && has_sources) {
        found.push(entry(opened, EntryKind::Library, name, None));
    }
}

/// Finds the main class of Gradle's application plugin.
pub(super) fn gradle(
    sources: &ProjectSources<'_>,
    opened: &OpenedManifest<'_>,
    found: &mut Vec<EntryPoint>,
) {
    let is_application = opened.text.lines().map(str::trim).any(|line| {
        let marks = ["\"application\"", "'application'"];
        line == "application"
            || line.starts_with("application {")
            || marks.iter().any(|it| line.contains(it))
    });
    let class = opened.text.lines().filter(|_| is_application).find_map(|line| {
        let rest = line.trim_start().strip_prefix("mainClass")?.trim_start_matches("Name");
        rest.split(['"', '\'']).nth(1).filter(|class| !class.contains('$') && !class.is_empty())
    });
    if let Some(class) = class {
        found.push(entry(opened, EntryKind::Binary, class, class_path(sources, opened, class)));
        return;
    }
    let publishes = ["java-library", "maven-publish", "vanniktech", "publish"];
    let likely = publishes.iter().any(|plugin| opened.text.contains(plugin));
    library(sources, opened, likely, found);
}

fn class_path(
    sources: &ProjectSources<'_>,
    opened: &OpenedManifest<'_>,
    class: &str,
) -> Option<String> {
    let path = class.replace('.', "/");
    // Kotlin names the class of top-level functions after the file.
    let file = path.strip_suffix("Kt").unwrap_or(&path);
    let places = [format!("src/main/java/{path}.java"), format!("src/main/kotlin/{file}.kt")];
    places.iter().find_map(|place| existing(sources, opened, place))
}

/// Finds Spring Boot application classes, which no manifest needs to name.
pub(super) fn spring(sources: &ProjectSources<'_>, found: &mut Vec<EntryPoint>) {
    for path in sources.of(FileRole::SpringApplication) {
        if sources.stopped() {
            return;
        }
        let is_application =
            path.contains("src/main/") && head(sources, path).contains("@SpringBootApplication");
        let class = name_of(path).split('.').next().unwrap_or_default();
        let known = found.iter().any(|entry| entry.path.as_deref() == Some(*path));
        if is_application && !known {
            found.push(super::by_place(EntryKind::Binary, class, path));
        }
    }
}

/// Reads a .NET project: a program by output type, otherwise a library.
pub(super) fn dotnet(
    sources: &ProjectSources<'_>,
    opened: &OpenedManifest<'_>,
    found: &mut Vec<EntryPoint>,
) {
    let Some(stem) = opened.file().strip_suffix("proj").and_then(|name| name.rsplit_once('.'))
    else {
        return;
    };
    let text = &opened.text;
    let has = |part: &str| text.contains(part);
    let is_test = ["Microsoft.NET.Test.Sdk", "BenchmarkDotNet", "<IsTestProject>true"]
        .iter()
        .any(|part| has(part));
    if is_test {
        return;
    }
    let is_program = has("<OutputType>Exe")
        || has("<OutputType>WinExe")
        || has("Sdk=\"Microsoft.NET.Sdk.Web\"")
        || has("Sdk=\"Microsoft.NET.Sdk.Worker\"");
    let named = text.split_once("<AssemblyName>").and_then(|(_, rest)| rest.split('<').next());
    let name = named.filter(|name| !name.contains('$')).unwrap_or(stem.0);
    let (kind, path) = if is_program {
        let files = ["Program.cs", "Program.fs", "App.xaml.cs"];
        (EntryKind::Binary, files.iter().find_map(|file| existing(sources, opened, file)))
    } else {
        (EntryKind::Library, None)
    };
    found.push(entry(opened, kind, name, path));
}

/// Reads the products of a Package.swift.
pub(super) fn swift(opened: &OpenedManifest<'_>, found: &mut Vec<EntryPoint>) {
    let kinds = [
        (".executableTarget(", EntryKind::Binary),
        (".executable(", EntryKind::Binary),
        (".library(", EntryKind::Library),
    ];
    let text: String =
        opened.text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    // Next to a library product, programs that are not products are examples and tools.
    let is_library = text.contains(".library(");
    for (call, kind) in kinds.into_iter().filter(|(call, _)| !is_library || *call != kinds[0].0) {
        for (at, _) in text.match_indices(call) {
            let name = text.get(at + call.len()..).and_then(first_name);
            let Some(name) = name else { continue };
            if !found.iter().any(|entry| entry.kind == kind && entry.name == name) {
                found.push(entry(opened, kind, name, None));
            }
        }
    }
}

/// Returns the value of a leading `name:` argument.
fn first_name(arguments: &str) -> Option<&str> {
    let rest = arguments.trim_start().strip_prefix("name:")?.trim_start().strip_prefix('"')?;
    rest.split('"').next()
}

/// Finds programs and libraries of a `CMakeLists.txt`.
pub(super) fn cmake(
    sources: &ProjectSources<'_>,
    opened: &OpenedManifest<'_>,
    found: &mut Vec<EntryPoint>,
) {
    for (call, kind) in
        [("add_executable(", EntryKind::Binary), ("add_library(", EntryKind::Library)]
    {
        for line in opened.text.lines().map(str::trim_start) {
            let Some(arguments) = line.strip_prefix(call) else { continue };
            let arguments = arguments.split(')').next().unwrap_or_default();
            let mut words = arguments.split_whitespace();
            let Some(name) = words.next().filter(|name| !name.contains(['$', ':'])) else {
                continue;
            };
            let is_foreign = arguments.contains("ALIAS") || arguments.contains("IMPORTED");
            let is_test = name.to_lowercase().contains("test");
            if is_foreign || is_test {
                continue;
            }
            let path = words.find_map(|word| existing(sources, opened, word));
            found.push(entry(opened, kind, name, path));
        }
    }
}
