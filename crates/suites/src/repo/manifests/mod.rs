//! Manifests: ecosystem and dependencies.
//!
//! One module per ecosystem turns manifests into drafts and parses lock files; this module combines them. Nothing is
//! executed or fetched: what only a program could determine is left out.

mod beam;
mod cargo;
mod cmake;
mod conan;
mod dart;
mod dotnet;
mod format;
mod go;
mod gradle;
mod gradle_settings;
mod lock;
mod maven;
mod npm;
mod npm_lock;
mod pattern;
mod php;
mod python;
mod python_lock;
mod reading;
mod requirements;
mod ruby;
mod script;
mod setup;
mod summary;
mod swift;
#[cfg(test)]
mod tests;
mod vcpkg;

use super::{
    report::{DependencySummary, Manifest},
    tree::{HaltCheck, ProjectTree, folder_of},
};
use crate::files::ReadFailure;
use format::PackageFileFormat;
use lock::{ParsedLockFile, RequestingPackage};
use reading::{ManifestDraft, ManifestError, ManifestReader, place};
use std::collections::HashMap;
use summary::LockFileTally;

/// Maximum number of listed manifests.
pub(super) const MAX_LISTED_MANIFESTS: usize = 200;

/// Maximum number of listed dependencies, and members, per manifest.
const MAX_LISTED_DEPENDENCIES: usize = 500;

/// Readers of the manifests of each ecosystem.
const FAMILIES: [fn(&mut ManifestReader<'_>); 15] = [
    cargo::read,
    npm::read,
    python::read,
    go::read,
    maven::read,
    gradle::read,
    ruby::read,
    php::read,
    dotnet::read,
    beam::read,
    dart::read,
    swift::read,
    cmake::read,
    conan::read,
    vcpkg::read,
];

/// Returns the ecosystem of a manifest; `None` for other files.
pub(super) fn ecosystem(name: &str) -> Option<&'static str> {
    PackageFileFormat::by_name(name)
        .filter(|format| format.is_manifest())
        .map(PackageFileFormat::ecosystem)
}

/// Results from manifests and lock files.
#[derive(Debug, Default)]
pub(super) struct PackageAnalysis {
    /// Outermost first, then by path; at most 200.
    pub(super) manifests: Vec<Manifest>,
    pub(super) summary: DependencySummary,
    /// Files that cannot be read or parsed.
    pub(super) problems: Vec<ReadFailure>,
}

/// Reads every manifest and lock file until the deadline.
pub(super) fn read(tree: &ProjectTree, halt: HaltCheck<'_>) -> PackageAnalysis {
    let mut reading = ManifestReader::new(tree, halt);
    for family in FAMILIES {
        family(&mut reading);
    }
    for format in [PackageFileFormat::Deno, PackageFileFormat::Haskell] {
        let unread = reading.files(format).into_iter().map(|path| ManifestDraft::new(path, format));
        reading.drafts.extend(unread.collect::<Vec<_>>());
    }
    let mut drafts = std::mem::take(&mut reading.drafts);
    drafts.sort_by(|one, other| place(&one.manifest.path).cmp(&place(&other.manifest.path)));
    drafts.iter_mut().for_each(ManifestDraft::normalize);
    link_workspaces(&mut drafts);
    let mut tally = LockFileTally::default();
    for (path, format, fixed) in std::mem::take(&mut reading.constraints) {
        tally.take_lock(&path, format, &fixed);
    }
    read_locks(&mut reading, &mut drafts, &mut tally);
    name_managers(&mut drafts);
    let summary = tally.sum_up(&drafts);
    let mut problems = reading.problems;
    problems.sort_by(|one, other| place(&one.path).cmp(&place(&other.path)));
    let manifests = drafts.into_iter().take(MAX_LISTED_MANIFESTS);
    let manifests = manifests.map(|draft| draft.into_manifest(MAX_LISTED_DEPENDENCIES)).collect();
    PackageAnalysis { manifests, summary, problems }
}

/// Sets the workspace of members; the innermost one wins.
fn link_workspaces(drafts: &mut [ManifestDraft]) {
    let mut roots: HashMap<String, &str> = HashMap::new();
    for draft in drafts.iter() {
        let depth = |path: &str| place(path).0;
        let path = draft.manifest.path.as_str();
        for member in &draft.manifest.members {
            let root = roots.entry(member.clone()).or_insert(path);
            if depth(path) > depth(root) {
                *root = path;
            }
        }
    }
    let roots: HashMap<_, _> =
        roots.into_iter().map(|(member, root)| (member, root.to_owned())).collect();
    for draft in drafts {
        draft.manifest.workspace = roots.get(&draft.manifest.path).cloned();
    }
}

/// Finds each manifest's lock file, and reads them one by one, so that only one is in memory.
fn read_locks(
    reading: &mut ManifestReader<'_>,
    drafts: &mut [ManifestDraft],
    tally: &mut LockFileTally,
) {
    let mut users: HashMap<String, Vec<usize>> = HashMap::new();
    for at in 0..drafts.len() {
        if drafts[at].manifest.lock_file.is_none() {
            let Some(found) = find_lock(reading, drafts, at) else { continue };
            users.entry(found.clone()).or_default().push(at);
            drafts[at].manifest.lock_file = Some(found);
        }
    }
    for (path, format) in reading.lock_files() {
        if format == PackageFileFormat::BunBinaryLock {
            continue;
        }
        let Some(text) = reading.lock_text(path) else { continue };
        let Some(lock) = reading.accept(path, open_lock(format, &text)) else { continue };
        drop(text);
        tally.take_lock(path, format, &lock.fixed);
        for at in users.get(path).into_iter().flatten() {
            fix_versions(&mut drafts[*at], &lock, folder_of(path));
        }
    }
}

fn find_lock(reading: &ManifestReader<'_>, drafts: &[ManifestDraft], at: usize) -> Option<String> {
    let draft = &drafts[at];
    let by_path = |path: &str| {
        drafts.binary_search_by(|draft| place(&draft.manifest.path).cmp(&place(path))).ok()
    };
    let beside = |draft: &ManifestDraft| {
        let folder = draft.folder();
        let names = draft.format.locks().iter();
        let paths = names.map(|name| {
            if folder.is_empty() { (*name).to_owned() } else { format!("{folder}/{name}") }
        });
        let mut paths: Vec<_> = paths.filter(|path| reading.has(path)).collect();
        // Of two lock files in a folder, the one of the manager named in the manifest wins.
        let manager = draft.manifest.manager.as_deref();
        paths.sort_by_key(|path| {
            let writer = PackageFileFormat::by_path(path).and_then(PackageFileFormat::manager);
            manager.is_some() && writer != manager
        });
        paths.into_iter().next()
    };
    // Three nested workspaces: no layout needs more.
    let mut around = Some(draft).filter(|draft| draft.format.shares_lock());
    for _ in 0..3 {
        let root = around.and_then(|draft| draft.manifest.workspace.as_deref());
        around = root.and_then(by_path).map(|root| &drafts[root]);
        if let Some(found) = around.and_then(beside) {
            return Some(found);
        }
    }
    beside(draft)
}

fn open_lock(format: PackageFileFormat, text: &str) -> Result<ParsedLockFile, ManifestError> {
    match format {
        PackageFileFormat::CargoLock => cargo::lock(text),
        PackageFileFormat::PackageLock => npm_lock::package_lock(text),
        PackageFileFormat::PnpmLock => npm_lock::pnpm_lock(text),
        PackageFileFormat::YarnLock => npm_lock::yarn_lock(text),
        PackageFileFormat::BunLock => npm_lock::bun_lock(text),
        PackageFileFormat::UvLock
        | PackageFileFormat::PoetryLock
        | PackageFileFormat::PdmLock
        | PackageFileFormat::PythonLock => python_lock::lock(text),
        PackageFileFormat::PipfileLock => python_lock::pipfile_lock(text),
        PackageFileFormat::GoSums => Ok(go::sums(text)),
        PackageFileFormat::GradleLock => Ok(gradle::lock(text)),
        PackageFileFormat::GemfileLock => Ok(ruby::lock(text)),
        PackageFileFormat::ComposerLock => php::lock(text),
        PackageFileFormat::DotnetLock => dotnet::lock(text),
        PackageFileFormat::MixLock => Ok(beam::lock(text)),
        PackageFileFormat::PubspecLock => dart::lock(text),
        PackageFileFormat::SwiftLock => swift::lock(text),
        PackageFileFormat::ConanLock => conan::lock(text),
        _ => Err(ManifestError::Other("a lock file")),
    }
}

fn fix_versions(draft: &mut ManifestDraft, lock: &ParsedLockFile, lock_folder: &str) {
    let folder = folder_of(&draft.manifest.path);
    let folder = folder.strip_prefix(lock_folder).unwrap_or(folder).trim_start_matches('/');
    let asker =
        RequestingPackage { name: draft.manifest.name.as_deref().unwrap_or_default(), folder };
    for wanted in &mut draft.wanted {
        if wanted.locked.is_none() {
            wanted.locked = lock.version(asker, wanted);
        }
    }
}

/// Sets the manager from a field, the lock file, hints, or the workspace, in this order.
fn name_managers(drafts: &mut [ManifestDraft]) {
    let mut known: HashMap<String, String> = HashMap::new();
    // Outermost first, so that a workspace is known before its members.
    for draft in drafts {
        let manifest = &mut draft.manifest;
        let lock = manifest.lock_file.as_deref().and_then(PackageFileFormat::by_path);
        // The source of a compiled requirements list may use any manager.
        let lock = lock.filter(|lock| *lock != PackageFileFormat::Requirements);
        let from_lock =
            lock.and_then(PackageFileFormat::manager).or(draft.likely_manager).map(str::to_owned);
        let shared = || known.get(manifest.workspace.as_ref()?).cloned();
        manifest.manager = manifest.manager.take().or(from_lock).or_else(shared);
        if let Some(manager) = manifest.manager.as_ref().filter(|_| !manifest.members.is_empty()) {
            known.insert(manifest.path.clone(), manager.clone());
        }
        manifest.members.truncate(MAX_LISTED_DEPENDENCIES);
    }
}
