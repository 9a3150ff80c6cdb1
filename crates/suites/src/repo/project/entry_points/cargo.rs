//! Programs, libraries and examples of Cargo packages: declared, or found by location.

use super::{by_place, entry, existing};
use crate::repo::{
    project::sources::{FileRole, OpenedManifest, ProjectSources},
    report::{EntryKind, EntryPoint},
    tree::{folder_of, name_of},
};
use serde_json::Value;

/// Finds targets declared in a Cargo manifest or discovered by location.
pub(super) fn entries(
    sources: &ProjectSources<'_>,
    opened: &OpenedManifest<'_>,
    found: &mut Vec<EntryPoint>,
) {
    let Some(package) = opened.text_at("/package/name") else { return };
    let mut programs = declared(sources, opened, "bin", EntryKind::Binary);
    let finds =
        |key: &str| opened.value.pointer(&format!("/package/{key}")) != Some(&Value::Bool(false));
    let main = existing(sources, opened, "src/main.rs");
    if let Some(path) = main.filter(|_| finds("autobins"))
        && !programs.iter().any(|program| program.path.as_ref() == Some(&path))
    {
        programs.push(entry(opened, EntryKind::Binary, package, Some(path)));
    }
    if finds("autobins") {
        add_found(sources, opened, FileRole::CargoProgram, &mut programs);
    }
    let mut examples = declared(sources, opened, "example", EntryKind::Example);
    if finds("autoexamples") {
        add_found(sources, opened, FileRole::CargoExample, &mut examples);
    }
    found.extend(programs);
    found.extend(library(sources, opened, package));
    found.extend(examples);
}

fn library(
    sources: &ProjectSources<'_>,
    opened: &OpenedManifest<'_>,
    package: &str,
) -> Option<EntryPoint> {
    let name = opened.text_at("/lib/name").map_or_else(|| package.replace('-', "_"), str::to_owned);
    let path = existing(sources, opened, opened.text_at("/lib/path").unwrap_or("src/lib.rs"));
    let is_declared = opened.value.get("lib").is_some();
    (is_declared || path.is_some()).then(|| entry(opened, EntryKind::Library, &name, path))
}

/// Reads `[[bin]]` and `[[example]]`.
fn declared(
    sources: &ProjectSources<'_>,
    opened: &OpenedManifest<'_>,
    key: &str,
    kind: EntryKind,
) -> Vec<EntryPoint> {
    let tables = opened.value.get(key).and_then(Value::as_array);
    let targets = tables.into_iter().flatten().filter_map(|table| {
        let name = table.get("name").and_then(Value::as_str)?;
        let folder = if key == "bin" { "src/bin" } else { "examples" };
        let usual = [format!("{folder}/{name}.rs"), format!("{folder}/{name}/main.rs")];
        let path = match table.get("path").and_then(Value::as_str) {
            Some(path) => existing(sources, opened, path),
            None => usual
                .iter()
                .find_map(|path| existing(sources, opened, path))
                .or_else(|| existing(sources, opened, "src/main.rs").filter(|_| key == "bin")),
        };
        Some(entry(opened, kind, name, path))
    });
    targets.collect()
}

/// Finds targets by file location that the manifest does not declare.
fn add_found(
    sources: &ProjectSources<'_>,
    opened: &OpenedManifest<'_>,
    role: FileRole,
    targets: &mut Vec<EntryPoint>,
) {
    let (place, kind) = match role {
        FileRole::CargoProgram => ("src/bin", EntryKind::Binary),
        _ => ("examples", EntryKind::Example),
    };
    let Some(folder) = opened.path_to(place) else { return };
    for path in sources.of(role) {
        let (own, name) = (folder_of(path), name_of(path));
        let name = match own.strip_prefix(&folder) {
            Some("") => name.strip_suffix(".rs"),
            Some(below) => below.strip_prefix('/'),
            None => None,
        };
        let Some(name) = name.filter(|name| !name.contains('/')) else { continue };
        let known = |it: &EntryPoint| it.name == name || it.path.as_deref() == Some(*path);
        if !targets.iter().any(known) {
            let declared_in = opened.manifest.path.clone();
            targets.push(EntryPoint { declared_in, ..by_place(kind, name, path) });
        }
    }
}
