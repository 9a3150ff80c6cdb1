//! Parses many files in one go: what a caller named, or everything in the roots.

use super::project::{Project, Reading, Report, takes};
use crate::files::{Entry, Kind, Place, Problem};
use docent_tool::{CallContext, Stop, ToolError};
use std::{collections::BTreeSet, sync::Arc};

/// A project with more files is parsed by naming its folders.
const MOST_FILES: usize = 20_000;

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Sweep {
    /// One for each file that was parsed.
    pub(crate) reports: Vec<Report>,
    /// What was left out, and why.
    pub(crate) problems: Vec<Problem>,
    /// It ended before everything was seen.
    pub(crate) partial: bool,
}

/// What to parse, and how.
#[derive(Debug)]
pub(crate) struct Targets<'a> {
    project: &'a Arc<Project>,
    context: &'a CallContext,
    reading: Reading,
    recursive: bool,
    files: BTreeSet<Place>,
    sweep: Sweep,
}

impl<'a> Targets<'a> {
    /// Nothing yet.
    pub(crate) fn new(
        project: &'a Arc<Project>,
        reading: Reading,
        recursive: bool,
        context: &'a CallContext,
    ) -> Self {
        Self {
            project,
            context,
            reading,
            recursive,
            files: BTreeSet::new(),
            sweep: Sweep::default(),
        }
    }

    /// Adds a file, or what lies in a folder.
    pub(crate) fn add(&mut self, place: &Place) -> Result<(), ToolError> {
        let project = self.project;
        let kind = project.roots.kind(place).map_err(|problem| problem.into_tool_error("files"))?;
        if kind != Kind::Folder {
            project.watch_beside(place);
            self.files.insert(place.clone());
            return Ok(());
        }
        // Listening starts before reading, so that no change falls between the two.
        project.keep_scope(place.clone(), self.recursive, self.reading);
        project.watch_folder(place);
        for entry in project.roots.walk(place) {
            if stopped(self.context)? {
                self.sweep.partial = true;
                break;
            }
            match entry {
                Ok(entry) => self.take(place, entry),
                Err(problem) => self.sweep.problems.push(problem),
            }
            if self.files.len() >= MOST_FILES {
                let reason = format!(
                    "more than {MOST_FILES} files: the rest is left out; name the folders that matter"
                );
                self.sweep.problems.push(Problem { path: project.path_of(place), reason });
                break;
            }
        }
        Ok(())
    }

    fn take(&mut self, top: &Place, entry: Entry) {
        let deep = entry.place.below(top).is_some_and(|rest| rest.contains('/'));
        if deep && !self.recursive {
            return;
        }
        match entry.kind {
            Kind::Folder if self.recursive => self.project.watch_folder(&entry.place),
            Kind::File if takes(self.reading, entry.place.relative()) => {
                self.files.insert(entry.place);
            }
            _ => {}
        }
    }

    /// Parses them all, telling how far it is.
    pub(crate) fn parse(mut self) -> Result<Sweep, ToolError> {
        let (project, context) = (self.project, self.context);
        let total = self.files.len() as u64;
        for (done, place) in (0_u64..).zip(&self.files) {
            if stopped(context)? {
                self.sweep.partial = true;
                break;
            }
            context.progress(done, Some(total), format!("parsing {}", project.path_of(place)));
            match project.parse(place, self.reading, &|| context.stop().is_some()) {
                Ok(Some(report)) => self.sweep.add(report),
                Ok(None) => self.sweep.partial = true,
                Err(problem) => self.sweep.problems.push(problem),
            }
        }
        if stopped(context)? {
            self.sweep.partial = true;
        } else {
            let done = total.max(1);
            let message = format!("parsed {} files", self.sweep.reports.len());
            context.progress(done, Some(done), message);
        }
        Ok(self.sweep)
    }
}

impl Sweep {
    fn add(&mut self, report: Report) {
        if let Some(line) = report.broken_at {
            let reason = format!("syntax error near line {line}; the rest of the file was read");
            self.problems.push(Problem { path: report.path.clone(), reason });
        }
        self.reports.push(report);
    }
}

/// Whether time is up. A call that nobody waits for any more ends with an error.
pub(crate) fn stopped(context: &CallContext) -> Result<bool, ToolError> {
    match context.stop() {
        Some(Stop::Cancelled) => Err(ToolError::Stopped(Stop::Cancelled)),
        other => Ok(other.is_some()),
    }
}

/// Parses everything in the roots, for whoever asks before anything was named.
pub(crate) fn everything(
    project: &Arc<Project>,
    context: &CallContext,
) -> Result<Sweep, ToolError> {
    let mut targets = Targets::new(project, Reading::default(), true, context);
    for path in project.roots.paths() {
        if let Some(top) = project.roots.locate(path) {
            targets.add(&top)?;
        }
    }
    targets.parse()
}
