//! Finds a name in the whole project. Reads the current files.

use super::{
    listing,
    project::{Parsed, Project, Unread},
};
use crate::{
    files::{Place, Problem},
    lanes,
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
const AT_ONCE: usize = 512;
/// Maximum length of a shown line in characters.
const LONGEST_LINE: usize = 200;

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
pub(crate) struct Known {
    /// By file and line.
    pub(crate) places: Vec<Occurrence>,
    /// Definitions with this name.
    pub(crate) definitions: Vec<Defined>,
    /// Number of files searched.
    pub(crate) files: usize,
    /// Whether time ran out before all files were searched.
    pub(crate) partial: bool,
    /// Files that contain the name but can't be read.
    pub(crate) problems: Vec<Problem>,
}

/// A definition with its location.
#[derive(Debug, Clone)]
pub(crate) struct Defined {
    pub(crate) place: Place,
    pub(crate) annotation: Annotation,
}

/// Searches for a name in every source file of the project.
pub(crate) fn find(
    project: &Project,
    name: &str,
    context: &CallContext,
) -> Result<Known, ToolError> {
    let (files, partial) = files(project, context)?;
    let mut known = Known { partial, ..Known::default() };
    let halt = || context.stop().is_some();
    for some in files.chunks(AT_ONCE) {
        if super::sweep::stopped(context)? {
            known.partial = true;
            break;
        }
        let look = |place| in_file(project, place, name, &halt);
        let found: Vec<_> = lanes::run(|| some.par_iter().map(look).collect());
        known.partial |= halt();
        known.files += some.len();
        for found in found {
            match found {
                Ok(None) => {}
                Ok(Some((places, definitions))) => {
                    known.places.extend(places);
                    known.definitions.extend(definitions);
                }
                Err(Unread::Problem(problem)) => known.problems.push(problem),
                Err(Unread::Stopped) => known.partial = true,
            }
        }
    }
    Ok(known)
}

/// Every source file. Also returns whether the list was cut short.
fn files(project: &Project, context: &CallContext) -> Result<(Vec<Place>, bool), ToolError> {
    // Once the index is started, the list is cached until a file changes.
    project.live.start();
    let paths = listing::paths(project, context);
    let mut places: Vec<Place> =
        paths.iter().filter_map(|path| project.roots.parse(path).ok()).collect();
    places.sort();
    Ok((places, super::sweep::stopped(context)?))
}

type InFile = (Vec<Occurrence>, Vec<Defined>);

/// Searches one file. `None` if it does not contain the name or no longer exists.
fn in_file(
    project: &Project,
    place: &Place,
    name: &str,
    halt: &(dyn Fn() -> bool + Sync),
) -> Result<Option<InFile>, Unread> {
    if halt() {
        return Err(Unread::Stopped);
    }
    let Ok(bytes) = project.roots.read(place, super::LARGEST_FILE) else { return Ok(None) };
    // Most files don't contain the name and need not be parsed.
    if memchr::memmem::find(&bytes, name.as_bytes()).is_none() {
        return Ok(None);
    }
    drop(bytes);
    let parsed = project.parse(place, None, halt)?;
    let Parsed { path, language, text, tree } = &parsed;
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
            text: line.chars().take(LONGEST_LINE).collect(),
        }
    };
    let places = found.all.iter().map(occurrence).collect();
    let named = found.definitions.iter().filter(|one| one.annotation.name == name);
    let defined =
        |annotation: &Annotation| Defined { place: place.clone(), annotation: annotation.clone() };
    Ok(Some((places, named.map(|one| defined(&one.annotation)).collect())))
}
