//! Parses many files at once, named by file, folder or pattern.

use super::project::{CodeProject, ParseFailure};
use crate::{
    files::{PathKind, ReadFailure, RootPath, WalkEntry},
    worker_pools,
};
use docent_syntax::{Annotation, KindCounts, Language, parse};
use docent_tool::{CallContext, CallStop, ToolError};
use globset::GlobBuilder;
use rayon::prelude::*;
use std::collections::BTreeSet;

/// Maximum number of files per call; for larger projects the caller must name folders.
const MAX_FILES: usize = 20_000;
/// Files parsed between two progress reports.
const FILES_PER_PROGRESS: usize = 64;

/// Maximum number of definitions kept per file and per call.
pub(crate) const MAX_DEFINITIONS: usize = 200;

/// How to read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ParseMode {
    /// Parse as this language, regardless of the file name.
    pub(crate) language: Option<Language>,
    /// Include descriptions from comments.
    pub(crate) comments: bool,
}

impl ParseMode {
    /// Whether files are read the same way as for the index.
    pub(crate) fn is_plain(self) -> bool {
        self.language.is_none() && self.comments
    }
}

/// Result of parsing one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParseReport {
    /// Path of the file.
    pub(crate) path: String,
    /// Language of the file.
    pub(crate) language: Language,
    /// Definitions by kind.
    pub(crate) counts: KindCounts,
    /// First definitions, in source order.
    pub(crate) definitions: Vec<Annotation>,
    /// Line of the first syntax error.
    pub(crate) broken_at: Option<u32>,
}

/// Results of parsing all targets.
#[derive(Debug, Default)]
pub(crate) struct ParseSweep {
    /// One report per parsed file.
    pub(crate) reports: Vec<(RootPath, ParseReport)>,
    /// What was skipped, and why.
    pub(crate) problems: Vec<ReadFailure>,
    /// Files named individually.
    pub(crate) by_name: BTreeSet<RootPath>,
    /// Number of files found to parse.
    pub(crate) definition_count: usize,
    /// Whether it stopped before all files were parsed.
    pub(crate) partial: bool,
    /// Number of definitions kept, over all files.
    kept_definitions: usize,
}

/// Files to parse, and how.
#[derive(Debug)]
pub(crate) struct ParseTargets<'a> {
    project: &'a CodeProject,
    context: &'a CallContext,
    reading: ParseMode,
    recursive: bool,
    /// In the order they were named; files of a folder are sorted.
    files: Vec<RootPath>,
    seen: BTreeSet<RootPath>,
    sweep: ParseSweep,
}

impl<'a> ParseTargets<'a> {
    /// Creates an empty list of targets.
    pub(crate) fn new(
        project: &'a CodeProject,
        reading: ParseMode,
        recursive: bool,
        context: &'a CallContext,
    ) -> Self {
        let (files, seen, sweep) = (Vec::new(), BTreeSet::new(), ParseSweep::default());
        Self { project, context, reading, recursive, files, seen, sweep }
    }

    /// Adds a file, the files of a folder, or the files matching a pattern.
    pub(crate) fn add(&mut self, raw: &str) -> Result<(), ToolError> {
        let roots = &self.project.roots;
        match roots.resolve(raw) {
            Ok(place) => self.add_place(&place),
            // A file name may contain a bracket, so patterns are tried second.
            Err(_) if raw.contains(['*', '?', '[', '{']) => self.add_pattern(raw),
            Err(error) => Err(error.into_tool_error("files")),
        }
    }

    fn add_place(&mut self, place: &RootPath) -> Result<(), ToolError> {
        let kind = self.project.roots.kind(place);
        if kind.map_err(|problem| problem.into_tool_error("files"))? != PathKind::Folder {
            self.add_file(place.clone());
            self.sweep.by_name.insert(place.clone());
            return Ok(());
        }
        let recursive = self.recursive;
        self.walk(place, &|entry| {
            recursive || entry.place.below(place).is_some_and(|rest| !rest.contains('/'))
        })
    }

    fn add_file(&mut self, place: RootPath) {
        if self.seen.insert(place.clone()) {
            self.files.push(place);
        }
    }

    /// Adds the files that match a pattern such as `src/**/*.ts`, walking from its fixed folder.
    fn add_pattern(&mut self, raw: &str) -> Result<(), ToolError> {
        let wrong = |reason: String| ToolError::argument("files", format!("{raw}: {reason}"));
        let glob = GlobBuilder::new(raw.trim_start_matches("./")).literal_separator(true).build();
        let glob = glob.map_err(|error| wrong(error.kind().to_string()))?.compile_matcher();
        let plain = raw.split(['*', '?', '[', '{']).next().unwrap_or_default();
        let folder = plain.rsplit_once('/').map_or(".", |(folder, _)| folder);
        let place = self.project.roots.resolve(if folder.is_empty() { "." } else { folder });
        let place = place.map_err(|error| error.into_tool_error("files"))?;
        let (project, before) = (self.project, self.files.len());
        self.walk(&place, &|entry| glob.is_match(project.path_of(&entry.place)))?;
        if self.files.len() == before {
            return Err(ToolError::not_found(format!(
                "{raw}: no source file matches this pattern; * matches within a folder, ** across folders"
            )));
        }
        Ok(())
    }

    fn walk(
        &mut self,
        place: &RootPath,
        takes: &dyn Fn(&WalkEntry) -> bool,
    ) -> Result<(), ToolError> {
        for entry in self.project.roots.walk(place) {
            if stopped(self.context)? {
                self.sweep.partial = true;
                break;
            }
            match entry {
                Ok(entry)
                    if entry.kind == PathKind::File && self.reads(&entry) && takes(&entry) =>
                {
                    self.add_file(entry.place);
                }
                Ok(_) => {}
                Err(problem) => self.sweep.problems.push(problem),
            }
            if self.files.len() >= MAX_FILES {
                let reason = format!(
                    "more than {MAX_FILES} files; the rest was skipped: name the folders to parse"
                );
                self.sweep.problems.push(ReadFailure { path: self.project.path_of(place), reason });
                break;
            }
        }
        Ok(())
    }

    /// Whether to read a file found in a folder: one in the requested language, or else any source file.
    fn reads(&self, entry: &WalkEntry) -> bool {
        Language::from_path(entry.place.relative()).is_some_and(|language| {
            match self.reading.language {
                Some(wanted) => wanted == language,
                None => language.settings().searched,
            }
        })
    }

    /// Parses all files and reports progress.
    pub(crate) fn parse(mut self) -> Result<ParseSweep, ToolError> {
        let (project, context) = (self.project, self.context);
        let files = std::mem::take(&mut self.files);
        self.sweep.definition_count = files.len();
        let total = files.len() as u64;
        let mut done = 0_u64;
        for some in files.chunks(FILES_PER_PROGRESS) {
            if stopped(context)? {
                self.sweep.partial = true;
                break;
            }
            let first = some.first().map(|place| project.path_of(place)).unwrap_or_default();
            context.progress(done, Some(total), format!("parsing {first}"));
            let stop = || context.stop().is_some();
            let reading = self.reading;
            let parse = |place| report(project, place, reading, &stop);
            let read: Vec<_> = worker_pools::run(|| some.par_iter().map(parse).collect());
            for (place, read) in some.iter().zip(read) {
                match read {
                    Ok(report) => self.sweep.add(place.clone(), report),
                    Err(ParseFailure::Stopped) => self.sweep.partial = true,
                    Err(ParseFailure::Problem(problem)) => self.sweep.problems.push(problem),
                }
            }
            done += some.len() as u64;
        }
        if !stopped(context)? {
            let message = format!("parsed {} files", self.sweep.reports.len());
            context.progress(total.max(1), Some(total.max(1)), message);
        }
        Ok(self.sweep)
    }
}

fn report(
    project: &CodeProject,
    place: &RootPath,
    reading: ParseMode,
    stopped: &(dyn Fn() -> bool + Sync),
) -> Result<ParseReport, ParseFailure> {
    if stopped() {
        return Err(ParseFailure::Stopped);
    }
    let file = project.parse(place, reading.language, stopped)?;
    if stopped() {
        return Err(ParseFailure::Stopped);
    }
    let definitions = parse::definitions(file.language, &file.path, &file.text, &file.tree);
    let counts = definitions.iter().map(|one| &one.annotation).collect();
    let broken_at = parse::first_error(&file.tree);
    file.check()?;
    if let (true, Some(line)) = (definitions.is_empty(), broken_at) {
        let reason = format!("could not be parsed: syntax error near line {line}");
        return Err(ParseFailure::Problem(ReadFailure { path: file.path, reason }));
    }
    let mut definitions: Vec<Annotation> =
        definitions.into_iter().take(MAX_DEFINITIONS).map(|one| one.annotation).collect();
    if !reading.comments {
        for one in &mut definitions {
            (one.description, one.doc) = (None, None);
        }
    }
    Ok(ParseReport { path: file.path, language: file.language, counts, definitions, broken_at })
}

impl ParseSweep {
    fn add(&mut self, place: RootPath, mut report: ParseReport) {
        report.definitions.truncate(MAX_DEFINITIONS - self.kept_definitions);
        self.kept_definitions += report.definitions.len();
        if let Some(line) = report.broken_at {
            let reason = format!("syntax error near line {line}; the rest of the file was read");
            self.problems.push(ReadFailure { path: report.path.clone(), reason });
        }
        self.reports.push((place, report));
    }
}

/// Whether time is up. A canceled call ends with an error.
pub(crate) fn stopped(context: &CallContext) -> Result<bool, ToolError> {
    match context.stop() {
        Some(CallStop::Cancelled) => Err(ToolError::Stopped(CallStop::Cancelled)),
        other => Ok(other.is_some()),
    }
}
