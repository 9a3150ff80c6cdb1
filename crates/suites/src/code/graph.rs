//! Builds the import graph of the project. Rereads only files that have changed.

use super::project::{CodeProject, ParseFailure};
use crate::{
    files::{PathKind, ReadFailure, RootPath, ServedRoots, WalkEntry},
    repo::Versions,
    worker_pools,
};
use docent_index::Digest;
use docent_syntax::{
    Language,
    analysis::{
        AnalyzedSource,
        dependencies::{DependencyGraph, Import, RepositoryFiles, imports},
    },
    parse::{self, ParseError},
};
use docent_tool::{CallContext, ToolError};
use rayon::prelude::*;
use std::{
    collections::HashMap,
    sync::{Arc, PoisonError},
};

/// Files read between two deadline checks.
const FILES_PER_STOP_CHECK: usize = 256;
/// Maximum size of a manifest that is read for paths.
const MAX_MANIFEST_BYTES: u64 = 1 << 20;

/// Cached imports of each file, for one set of files.
#[derive(Debug, Default)]
pub(crate) struct ImportCache {
    set: Option<Digest>,
    files: ImportsByPath,
}

/// Imports by path, with the digest of the source text.
type ImportsByPath = HashMap<String, (Digest, Arc<Vec<Import>>)>;

/// A path, the digest of its text, and its imports.
type FileImports = (String, Digest, Arc<Vec<Import>>);

/// The import graph of the project.
#[derive(Debug)]
pub(crate) struct ImportGraph {
    pub(crate) graph: DependencyGraph,
    pub(crate) imports: HashMap<String, Arc<Vec<Import>>>,
    /// Unreadable entries, and files that exceed the parse budget.
    pub(crate) problems: Vec<ReadFailure>,
    /// Whether time ran out before every file was read.
    pub(crate) partial: bool,
}

/// Reads every changed source file of the first root, as time allows.
pub(crate) fn needs(
    project: &CodeProject,
    context: &CallContext,
) -> Result<ImportGraph, ToolError> {
    let RootListing { entries, mut problems, mut partial } = list(project, context)?;
    let paths: Vec<&str> = entries.iter().map(|entry| entry.place.relative()).collect();
    let halt = || context.stop().is_some();
    let listed = entries.iter().map(|entry| (entry.place.relative(), entry.bytes));
    let versions = Versions::read(&project.roots, listed, &halt);
    let files = RepositoryFiles::new(
        paths.iter().map(|path| (*path).to_owned()),
        |path: &str| text(&project.roots, path),
        |ecosystem, name: &str| versions.of(ecosystem, name),
    );
    // An added or removed file may change the target of any import.
    let set = set_of(&entries);
    // A concurrent call does not wait for this one.
    let mut known = {
        let memory = project.imports.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.set == Some(set) { memory.files.clone() } else { ImportsByPath::new() }
    };
    let places: Vec<&RootPath> = entries
        .iter()
        .map(|entry| &entry.place)
        .filter(|place| is_code(place.relative()))
        .collect();
    let mut all = HashMap::with_capacity(places.len());
    for some in places.chunks(FILES_PER_STOP_CHECK) {
        if super::sweep::stopped(context)? {
            partial = true;
            break;
        }
        let look = |place: &&RootPath| read(project, place, &files, &known, &halt).transpose();
        let read: Vec<_> = worker_pools::run(|| some.par_iter().filter_map(look).collect());
        partial |= halt();
        for read in read {
            match read {
                Ok((path, digest, found)) => {
                    all.insert(path.clone(), Arc::clone(&found));
                    known.insert(path, (digest, found));
                }
                Err(ParseFailure::Problem(problem)) => problems.push(problem),
                Err(ParseFailure::Stopped) => partial = true,
            }
        }
    }
    let mut memory = project.imports.lock().unwrap_or_else(PoisonError::into_inner);
    *memory = ImportCache { set: Some(set), files: known };
    drop(memory);
    let graph =
        DependencyGraph::new(all.iter().map(|(path, imports)| (path.as_str(), imports.as_slice())));
    Ok(ImportGraph { graph, imports: all, problems, partial })
}

/// Result of walking the first root.
#[derive(Default)]
struct RootListing {
    entries: Vec<WalkEntry>,
    problems: Vec<ReadFailure>,
    /// Whether the walk was cut short.
    partial: bool,
}

/// Lists the files of the first root, as time allows.
fn list(project: &CodeProject, context: &CallContext) -> Result<RootListing, ToolError> {
    let mut listed = RootListing::default();
    for found in project.roots.walk(&project.roots.top()) {
        if super::sweep::stopped(context)? {
            listed.partial = true;
            break;
        }
        match found {
            Ok(entry) if entry.kind == PathKind::File => listed.entries.push(entry),
            Ok(_) => {}
            Err(problem) => listed.problems.push(problem),
        }
    }
    Ok(listed)
}

fn is_code(path: &str) -> bool {
    Language::from_path(path).is_some_and(|one| !one.is_outline())
}

/// Identifies a set of files by their names and, for possible manifests, their modification times.
fn set_of(entries: &[WalkEntry]) -> Digest {
    let written = |entry: &WalkEntry| {
        let time = entry.modified.filter(|_| !is_code(entry.place.relative()));
        format!("{} {time:?} {}", entry.place.relative(), entry.bytes * u64::from(time.is_some()))
    };
    let all: Vec<String> = entries.iter().map(written).collect();
    Digest::of(&all.iter().map(String::as_bytes).collect::<Vec<_>>())
}

/// Reads the imports of a file. `None` if it no longer exists or is not source code.
fn read(
    project: &CodeProject,
    place: &RootPath,
    files: &RepositoryFiles<'_>,
    known: &ImportsByPath,
    halt: &(dyn Fn() -> bool + Sync),
) -> Result<Option<FileImports>, ParseFailure> {
    if halt() {
        return Err(ParseFailure::Stopped);
    }
    let path = place.relative().to_owned();
    let Some(language) = Language::from_path(&path) else { return Ok(None) };
    let Ok(bytes) = project.roots.read(place, super::MAX_FILE_BYTES) else { return Ok(None) };
    let digest = Digest::of(&[&bytes]);
    if let Some((_, found)) = known.get(&path).filter(|(before, _)| *before == digest) {
        return Ok(Some((path, digest, Arc::clone(found))));
    }
    let text = String::from_utf8_lossy(&bytes);
    let language = Language::of_text(&path, &text).unwrap_or(language);
    let unread = |error: &ParseError| ParseFailure::from_parse_error(&path, error);
    let tree = parse::tree(language, &text, halt).map_err(|error| unread(&error))?;
    let found = imports(&AnalyzedSource { path: &path, language, text: &text, tree: &tree }, files);
    tree.check().map_err(|error| unread(&error))?;
    Ok(Some((path, digest, Arc::new(found))))
}

fn text(roots: &ServedRoots, path: &str) -> Option<String> {
    let place = roots.parse(path).ok()?;
    let bytes = roots.read(&place, MAX_MANIFEST_BYTES).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
