//! Finds a name in the whole project. Reads the current files.

use super::{
    listing,
    project::{CodeProject, ParseFailure, ParsedFile},
};
use crate::{
    files::{ReadFailure, RootPath},
    worker_pools,
};
use docent_syntax::{
    Annotation,
    references::{Role, references},
};
use docent_tool::{CallContext, ToolError};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

/// Files searched between two deadline checks.
const FILES_PER_STOP_CHECK: usize = 512;
/// Maximum length of a shown line in characters.
const MAX_LINE_CHARS: usize = 200;

/// An occurrence of a name.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Occurrence {
    /// Path of the file.
    pub file: String,
    /// Line number, from 1.
    pub line: u32,
    /// Role of the occurrence.
    pub role: Role,
    /// Qualified name of the enclosing definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inside: Option<String>,
    /// Text of the line.
    pub text: String,
}

/// The references to a name in the project.
#[derive(Debug, Default)]
pub(crate) struct SymbolReferences {
    /// By file and line.
    pub(crate) places: Vec<Occurrence>,
    /// Definitions with this name.
    pub(crate) definitions: Vec<SymbolDefinition>,
    /// Number of files searched.
    pub(crate) files: usize,
    /// Whether time ran out before all files were searched.
    pub(crate) partial: bool,
    /// Files that contain the name but can't be read.
    pub(crate) problems: Vec<ReadFailure>,
}

/// A definition with its location.
#[derive(Debug, Clone)]
pub(crate) struct SymbolDefinition {
    pub(crate) place: RootPath,
    pub(crate) annotation: Annotation,
}

/// Searches for a name in every source file of the project.
pub(crate) fn find(
    project: &CodeProject,
    name: &str,
    context: &CallContext,
) -> Result<SymbolReferences, ToolError> {
    let (files, partial) = files(project, context)?;
    let mut known = SymbolReferences { partial, ..SymbolReferences::default() };
    let halt = || context.stop().is_some();
    for some in files.chunks(FILES_PER_STOP_CHECK) {
        if super::sweep::stopped(context)? {
            known.partial = true;
            break;
        }
        let look = |place| in_file(project, place, name, &halt);
        let found: Vec<_> = worker_pools::run(|| some.par_iter().map(look).collect());
        known.partial |= halt();
        known.files += some.len();
        for found in found {
            match found {
                Ok(None) => {}
                Ok(Some((places, definitions))) => {
                    known.places.extend(places);
                    known.definitions.extend(definitions);
                }
                Err(ParseFailure::Problem(problem)) => known.problems.push(problem),
                Err(ParseFailure::Stopped) => known.partial = true,
            }
        }
    }
    Ok(known)
}

/// Every source file. Also returns whether the list was cut short.
fn files(project: &CodeProject, context: &CallContext) -> Result<(Vec<RootPath>, bool), ToolError> {
    // Once the index is started, the list is cached until a file changes.
    project.live.start();
    let paths = listing::paths(project, context);
    let mut places: Vec<RootPath> =
        paths.iter().filter_map(|path| project.roots.parse(path).ok()).collect();
    places.sort();
    Ok((places, super::sweep::stopped(context)?))
}

type InFile = (Vec<Occurrence>, Vec<SymbolDefinition>);

/// Searches one file. `None` if it does not contain the name or no longer exists.
fn in_file(
    project: &CodeProject,
    place: &RootPath,
    name: &str,
    halt: &(dyn Fn() -> bool + Sync),
) -> Result<Option<InFile>, ParseFailure> {
    if halt() {
        return Err(ParseFailure::Stopped);
    }
    let Ok(bytes) = project.roots.read(place, super::MAX_FILE_BYTES) else { return Ok(None) };
    // Most files don't contain the name and need not be parsed.
    if memchr::memmem::find(&bytes, name.as_bytes()).is_none() {
        return Ok(None);
    }
    drop(bytes);
    let parsed = project.parse(place, None, halt)?;
    let ParsedFile { path, language, text, tree } = &parsed;
    let found = references(*language, path, text, tree, name);
    parsed.check()?;
    let lines: Vec<&str> = text.lines().collect();
    let occurrence = |one: &docent_syntax::references::Reference| {
        let line = lines.get(one.line as usize - 1).copied().unwrap_or_default().trim();
        Occurrence {
            file: path.clone(),
            line: one.line,
            role: one.role,
            inside: one.inside.map(|n| found.definitions[n].annotation.qualified_name.clone()),
            text: line.chars().take(MAX_LINE_CHARS).collect(),
        }
    };
    let places = found.all.iter().map(occurrence).collect();
    let named = found.definitions.iter().filter(|one| one.annotation.name == name);
    let defined = |annotation: &Annotation| SymbolDefinition {
        place: place.clone(),
        annotation: annotation.clone(),
    };
    Ok(Some((places, named.map(|one| defined(&one.annotation)).collect())))
}
