//! Entry points for running or importing a project.

mod cargo;
mod compiled;
mod containers;
mod node;
mod python;
mod scripted;

use super::sources::{FileRole, OpenedManifest, ProjectSources, depth};
use crate::repo::{
    report::{EntryKind, EntryPoint},
    tree::{folder_of, name_of},
};
use std::collections::{HashMap, HashSet};

/// Maximum number of entry points.
const MAX_ENTRY_POINTS: usize = 40;
/// Bytes of a file that are searched for signs of a program.
const HEAD_BYTES: u64 = 4096;

/// Finds the entry points, programs first.
pub(super) fn find(sources: &ProjectSources<'_>) -> Vec<EntryPoint> {
    let mut found = Vec::new();
    for opened in &sources.manifests {
        if sources.stopped() {
            break;
        }
        match opened.manifest.ecosystem.as_str() {
            "Cargo" => cargo::entries(sources, opened, &mut found),
            "npm" => node::entries(sources, opened, &mut found),
            "Python" => python::entries(sources, opened, &mut found),
            "Go" => compiled::go_library(sources, opened, &mut found),
            "Maven" => compiled::maven(sources, opened, &mut found),
            "Gradle" => compiled::gradle(sources, opened, &mut found),
            ".NET" => compiled::dotnet(sources, opened, &mut found),
            "Swift" => compiled::swift(opened, &mut found),
            "CMake" => compiled::cmake(sources, opened, &mut found),
            "Ruby" => scripted::ruby(sources, opened, &mut found),
            "PHP" => scripted::php(sources, opened, &mut found),
            "Dart" => scripted::dart(sources, opened, &mut found),
            "Elixir" => scripted::elixir(sources, opened, &mut found),
            _ => {}
        }
    }
    compiled::go_programs(sources, &mut found);
    compiled::spring(sources, &mut found);
    python::modules(sources, &mut found);
    executables(sources, &mut found);
    containers::entries(sources, &mut found);
    deduplicate(found)
}

/// Deduplicates and sorts: programs, then libraries, then examples.
fn deduplicate(mut found: Vec<EntryPoint>) -> Vec<EntryPoint> {
    let mut seen = HashSet::new();
    found.retain(|entry| seen.insert((order(entry.kind), entry.name.clone(), entry.path.clone())));
    let bound = |kind| match kind {
        EntryKind::Binary | EntryKind::Library => MAX_ENTRY_POINTS,
        EntryKind::Script => 12,
        EntryKind::Container | EntryKind::Example => 8,
    };
    found.sort_by_key(|entry| (order(entry.kind), depth(folder_of(&entry.declared_in))));
    let mut counts: HashMap<u8, usize> = HashMap::new();
    found.retain(|entry| {
        let count = counts.entry(order(entry.kind)).or_default();
        *count += 1;
        *count <= bound(entry.kind)
    });
    found.truncate(MAX_ENTRY_POINTS);
    found
}

fn order(kind: EntryKind) -> u8 {
    match kind {
        EntryKind::Binary => 0,
        EntryKind::Script => 1,
        EntryKind::Library => 2,
        EntryKind::Container => 3,
        EntryKind::Example => 4,
    }
}

/// Creates an entry point declared in a manifest.
fn entry(
    opened: &OpenedManifest<'_>,
    kind: EntryKind,
    name: &str,
    path: Option<String>,
) -> EntryPoint {
    let declared_in = opened.manifest.path.clone();
    EntryPoint { name: name.to_owned(), kind, path, declared_in }
}

/// Creates an entry point found by file location.
fn by_place(kind: EntryKind, name: &str, path: &str) -> EntryPoint {
    let path = path.to_owned();
    EntryPoint { name: name.to_owned(), kind, path: Some(path.clone()), declared_in: path }
}

/// Resolves a path in a manifest, if the file exists.
fn existing(
    sources: &ProjectSources<'_>,
    opened: &OpenedManifest<'_>,
    relative: &str,
) -> Option<String> {
    opened.path_to(relative).filter(|path| sources.tree.file(path).is_some())
}

/// Finds scripts in `bin` and `exe` with a shebang that no manifest declares.
fn executables(sources: &ProjectSources<'_>, found: &mut Vec<EntryPoint>) {
    let known: HashSet<String> = found.iter().filter_map(|entry| entry.path.clone()).collect();
    for path in sources.of(FileRole::Executable) {
        if !matches!(folder_of(path), "bin" | "exe") || known.contains(*path) {
            continue;
        }
        if starts_with_interpreter(sources, path) {
            found.push(by_place(EntryKind::Script, name_of(path), path));
        }
    }
}

/// Whether a file starts with a shebang.
pub(super) fn starts_with_interpreter(sources: &ProjectSources<'_>, path: &str) -> bool {
    sources.tree.head(path, 2).is_ok_and(|head| head == b"#!")
}

/// Returns the start of a file as text; empty if unreadable.
fn head(sources: &ProjectSources<'_>, path: &str) -> String {
    let bytes = sources.tree.head(path, HEAD_BYTES).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests;
