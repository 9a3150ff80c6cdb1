//! Programs and libraries of Ruby, PHP, Dart and Elixir.

use super::{by_place, entry, existing};
use crate::repo::{
    project::sources::{OpenedManifest, ProjectSources},
    report::{EntryKind, EntryPoint},
    tree::name_of,
};
use serde_json::Value;

/// Finds programs of a gem, and the file required by its name.
pub(super) fn ruby(
    sources: &ProjectSources<'_>,
    opened: &OpenedManifest<'_>,
    found: &mut Vec<EntryPoint>,
) {
    if let Some(path) = existing(sources, opened, "config.ru") {
        found.push(by_place(EntryKind::Script, "config.ru", &path));
    }
    let Some(stem) = opened.file().strip_suffix(".gemspec") else { return };
    let name = opened.manifest.name.as_deref().unwrap_or(stem);
    if opened.text.contains(".executables") {
        let path =
            ["exe", "bin"].iter().find_map(|it| existing(sources, opened, &format!("{it}/{name}")));
        if let Some(path) = path {
            found.push(entry(opened, EntryKind::Binary, name, Some(path)));
        }
    }
    let files = [format!("lib/{name}.rb"), format!("lib/{}.rb", name.replace('-', "/"))];
    if let Some(path) = files.iter().find_map(|file| existing(sources, opened, file)) {
        found.push(entry(opened, EntryKind::Library, name, Some(path)));
    }
}

/// Finds programs of a Composer package, and its web entry page.
pub(super) fn php(
    sources: &ProjectSources<'_>,
    opened: &OpenedManifest<'_>,
    found: &mut Vec<EntryPoint>,
) {
    let programs = match opened.value.get("bin") {
        Some(Value::String(path)) => vec![path.as_str()],
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    for path in programs {
        let there = existing(sources, opened, path);
        found.push(entry(opened, EntryKind::Binary, name_of(path), there));
    }
    for file in ["artisan", "bin/console", "public/index.php"] {
        if let Some(path) = existing(sources, opened, file) {
            found.push(by_place(EntryKind::Script, file, &path));
        }
    }
    let is_library = opened.text_at("/type").unwrap_or("library") == "library";
    let is_loaded = opened.value.pointer("/autoload/psr-4").is_some();
    if let Some(name) = opened.manifest.name.as_deref().filter(|_| is_library && is_loaded) {
        found.push(entry(opened, EntryKind::Library, name, None));
    }
}

/// Finds the application, programs and library of a Dart package.
pub(super) fn dart(
    sources: &ProjectSources<'_>,
    opened: &OpenedManifest<'_>,
    found: &mut Vec<EntryPoint>,
) {
    let Some(name) = opened.manifest.name.as_deref() else { return };
    if let Some(programs) = opened.value.get("executables").and_then(Value::as_object) {
        for (program, file) in programs {
            let file = file.as_str().unwrap_or(program);
            let path = existing(sources, opened, &format!("bin/{file}.dart"));
            found.push(entry(opened, EntryKind::Binary, program, path));
        }
    }
    if let Some(path) = existing(sources, opened, "lib/main.dart") {
        found.push(entry(opened, EntryKind::Binary, name, Some(path)));
    }
    if let Some(path) = existing(sources, opened, &format!("lib/{name}.dart")) {
        found.push(entry(opened, EntryKind::Library, name, Some(path)));
    }
}

/// Finds the application or program in a mix.exs, otherwise its library.
pub(super) fn elixir(
    sources: &ProjectSources<'_>,
    opened: &OpenedManifest<'_>,
    found: &mut Vec<EntryPoint>,
) {
    let Some(name) = opened.manifest.name.as_deref() else { return };
    let path = existing(sources, opened, &format!("lib/{name}.ex"));
    let program = opened
        .text
        .split_once("main_module:")
        .and_then(|(_, rest)| rest.trim_start().split([',', ']', '\n', ' ']).next());
    if let Some(module) = program {
        found.push(entry(opened, EntryKind::Binary, module.trim(), None));
    } else if path.is_some() {
        found.push(entry(opened, EntryKind::Library, name, path));
    }
}
