//! Where a name stands in the whole project. Files are read as they are now: the index only says which ones there are.

use super::project::{Parsed, Project};
use crate::{
    files::{Kind, Place},
    indexing::{CODE, Phase},
};
use docent_syntax::{
    Annotation, Language,
    references::{Role, references},
};
use docent_tool::{CallContext, ToolError};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

/// Files that are looked at between two looks at the clock.
const AT_ONCE: usize = 512;
/// A line that is shown is cut after so many characters.
const LONGEST_LINE: usize = 200;

/// A place where a name stands.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Occurrence {
    /// Which file.
    pub file: String,
    /// Its line, counted from 1.
    pub line: u32,
    /// As what.
    pub role: Role,
    /// The definition around it, by its qualified name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inside: Option<String>,
    /// The line as it is written.
    pub text: String,
}

/// What the project says about a name.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// In the order of files and lines.
    pub(crate) places: Vec<Occurrence>,
    /// What is called so.
    pub(crate) definitions: Vec<Defined>,
    /// Files that were looked at.
    pub(crate) files: usize,
    /// Time was up before all were.
    pub(crate) partial: bool,
}

/// A definition with where it is.
#[derive(Debug, Clone)]
pub(crate) struct Defined {
    pub(crate) place: Place,
    pub(crate) annotation: Annotation,
}

/// Looks for a name in every source file of the project.
pub(crate) fn find(
    project: &Project,
    name: &str,
    context: &CallContext,
) -> Result<Known, ToolError> {
    let files = files(project, context)?;
    let mut known = Known::default();
    for some in files.chunks(AT_ONCE) {
        if super::sweep::stopped(context)? {
            known.partial = true;
            break;
        }
        let found: Vec<_> = some.par_iter().map(|place| in_file(project, place, name)).collect();
        known.files += some.len();
        for (places, definitions) in found.into_iter().flatten() {
            known.places.extend(places);
            known.definitions.extend(definitions);
        }
    }
    Ok(known)
}

/// Every source file: as the index lists them where it is whole, else by a walk.
fn files(project: &Project, context: &CallContext) -> Result<Vec<Place>, ToolError> {
    project.live.start();
    if project.live.phase() == Phase::InStep {
        let sources = project.live.sources(CODE, context)?;
        let mut places: Vec<Place> =
            sources.iter().filter_map(|one| project.roots.parse(&one.path).ok()).collect();
        places.sort();
        return Ok(places);
    }
    let tops = project.roots.paths().filter_map(|path| project.roots.locate(path));
    let entries = tops.flat_map(|top| project.roots.walk(&top)).flatten();
    let is_code = |path: &str| Language::of(path).is_some_and(|one| one.settings().searched);
    let files = entries.filter(|entry| entry.kind == Kind::File && is_code(entry.place.relative()));
    Ok(files.map(|entry| entry.place).collect())
}

type InFile = (Vec<Occurrence>, Vec<Defined>);

/// `None` where the name is not there, or the file can't be read.
fn in_file(project: &Project, place: &Place, name: &str) -> Option<InFile> {
    let bytes = project.roots.read(place, super::LARGEST_FILE).ok()?;
    // Most files don't have it, and need not be parsed.
    memchr::memmem::find(&bytes, name.as_bytes())?;
    drop(bytes);
    let Parsed { path, language, text, tree } = project.parse(place, None, &|| false).ok()?;
    let found = references(language, &path, &text, &tree, name);
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
    Some((places, named.map(|one| defined(&one.annotation)).collect()))
}
