//! The phases of `analyze_repository`. Runs off the async threads; checks the deadline in every loop.

use super::{
    analysis_scope::AnalysisScope,
    coverage, drift, gaps,
    history::{self, ProjectPast},
    inventory, languages, license, links, manifests, project, redundancy,
    report::{Depth, Nature, Project, Report, Tasks},
    scan::{self, SourceScan},
    survey::{self, TreeSurvey},
    text::counted,
    tree::{HaltCheck, ProjectTree, name_of},
};
use crate::files::{
    PathError, PathKind, ReadFailure, RootPath, ServedRoots, WalkEntry, WalkOptions,
};
use docent_tool::{CallContext, CallStop, ToolError};
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};
use tokei::LanguageType;

/// Number of entries per progress step.
const ENTRIES_PER_PROGRESS_STEP: u64 = 500;
/// Number of files read per progress step.
const FILES_PER_PROGRESS_STEP: u64 = 10;
/// Bytes of `.gitmodules` that are read.
const MAX_GITMODULES_BYTES: u64 = 64 << 10;
const MAX_LISTED_TASK_FILES: usize = 10;

/// An analysis in progress.
pub(super) struct RepositoryAnalysis {
    tree: ProjectTree,
    /// Results so far.
    pub(super) report: Report,
    parts: AnalysisScope,
    scan: SourceScan,
    /// Files and folders that the walk has visited.
    entries: u64,
    /// Completed progress steps.
    done: u64,
    /// Total steps, known after the walk.
    total: Option<u64>,
}

impl RepositoryAnalysis {
    pub(super) fn new(
        roots: ServedRoots,
        top: RootPath,
        depth: Depth,
        parts: AnalysisScope,
    ) -> Self {
        let folder = roots.absolute(&top);
        let name = folder
            .file_name()
            .map_or_else(|| "/".into(), |name| name.to_string_lossy().into_owned());
        let report = Report { name, path: top.to_string(), depth, ..Report::default() };
        let tree = ProjectTree::new(roots, top);
        Self { tree, report, parts, scan: SourceScan::default(), entries: 0, done: 0, total: None }
    }

    /// Whether the analysis was cut short.
    pub(super) fn is_partial(&self) -> bool {
        !self.report.missing.is_empty()
    }

    /// First phase: reads names and sizes.
    pub(super) fn walk(&mut self, context: &CallContext) -> Result<(), ToolError> {
        context.progress(0, None, format!("Walking {}", self.tree.top));
        let submodules = self.submodules();
        let mut survey = TreeSurvey::new(submodules.iter().cloned());
        let options = WalkOptions { hidden: true, ..WalkOptions::default() };
        let mut walk = self.tree.roots.walk_with(&self.tree.top, options);
        let mut seen = false;
        self.report.complete = loop {
            let lacking = "the rest of the folders (all figures cover only what was read)";
            if !self.has_time_left(context, lacking)? {
                break false;
            }
            match walk.next() {
                None => break true,
                Some(Err(problem)) if !seen && problem.path.is_empty() => {
                    return Err(ToolError::not_found("Repository path does not exist"));
                }
                Some(Err(problem)) => self.report.trouble(problem),
                Some(Ok(entry)) => self.take(&entry, &mut survey),
            }
            seen = true;
            self.count_entry(context);
        };
        survey.finish(&self.tree, &mut self.report);
        for path in &submodules {
            let reason = "is a git submodule and was skipped; analyze it by its own path".into();
            self.report.trouble(ReadFailure { path: self.tree.shown(path), reason });
        }
        self.report.structure.submodules = submodules;
        self.total = Some(self.done + self.steps_ahead());
        Ok(())
    }

    /// Progress steps after the walk: announcements, each file to read, and the conclusion.
    fn steps_ahead(&self) -> u64 {
        let AnalysisScope { contents, links, history, drift, .. } = self.parts;
        // Manifests and contents are each announced.
        let announced = [contents, contents, links, history, drift];
        let announced = announced.into_iter().map(u64::from).sum::<u64>();
        announced + if contents { self.readable_files() } else { 0 } + 1
    }

    /// Number of files in a known language, which will be read.
    fn readable_files(&self) -> u64 {
        self.tree.files().iter().filter(|file| file.language.is_some()).count() as u64
    }

    fn take(&mut self, entry: &WalkEntry, survey: &mut TreeSurvey) {
        let path = entry.place.below(&self.tree.top).unwrap_or_default();
        if !survey.take(path, entry.kind, entry.bytes, &mut self.report) {
            return;
        }
        match entry.kind {
            PathKind::File => self.take_file(path, entry.bytes),
            PathKind::Folder => self.tree.add_folder(path),
            PathKind::Link => {
                if let Some(reason) = symlink_problem(&self.tree.roots, &entry.place) {
                    self.report.trouble(ReadFailure { path: entry.place.to_string(), reason });
                }
            }
            // A walk lists these as problems.
            PathKind::Special(_) => {}
        }
    }

    fn take_file(&mut self, path: &str, bytes: u64) {
        let mut language = languages::by_name(name_of(path));
        // A script without a file extension names its interpreter in the first line.
        if language.is_none() && !name_of(path).trim_start_matches('.').contains('.') {
            let start = self.tree.head(path, languages::MAX_SHEBANG_BYTES).unwrap_or_default();
            language = languages::by_first_line(&start);
        }
        self.tree.add_file(path, bytes, language);
    }

    /// Folders with submodules, as listed in `.gitmodules`.
    fn submodules(&self) -> Vec<String> {
        let listed = self.tree.head(".gitmodules", MAX_GITMODULES_BYTES).unwrap_or_default();
        let listed = String::from_utf8_lossy(&listed);
        let paths = listed.lines().filter_map(|line| {
            let (key, value) = line.split_once('=')?;
            (key.trim() == "path").then(|| value.trim().trim_matches(['"', '/']).to_owned())
        });
        paths.filter(|path| !path.is_empty()).collect()
    }

    /// Second phase: reads manifests, commands and the license.
    pub(super) fn read_manifests(&mut self, context: &CallContext) -> Result<(), ToolError> {
        if !self.parts.contents || !self.has_time_left(context, "dependencies and commands")? {
            return Ok(());
        }
        self.announce(context, "Reading manifests");
        let halt = || context.stop().is_some();
        let packages = manifests::read(&self.tree, &halt);
        // By name alone, tool settings look like manifests; the contents decide.
        if packages.manifests.len() < manifests::MAX_LISTED_MANIFESTS {
            self.report.manifest_count = packages.manifests.len() as u64;
        }
        self.report.manifests = packages.manifests;
        self.report.dependencies = Some(packages.summary);
        self.troubles(packages.problems);
        let (project, problems) =
            project::describe(&self.tree, &self.report.manifests, &self.report.presence, &halt);
        self.report.project = Some(project);
        self.troubles(problems);
        let (licence, problems) =
            license::of_project(&self.tree, &self.report.presence, &self.report.manifests);
        self.report.presence.licence_id = licence;
        self.troubles(problems);
        self.has_time_left(context, "the rest of the dependencies and commands").map(drop)
    }

    /// Third phase: reads every file in a known language.
    pub(super) fn read_contents(&mut self, context: &CallContext) -> Result<(), ToolError> {
        if !self.parts.contents || !self.has_time_left(context, "lines and documents")? {
            return Ok(());
        }
        let total = self.readable_files();
        self.announce(context, &format!("0 of {total} files read"));
        let (base, steps, reported) = (self.done, self.total, Mutex::new(0));
        let halt = || context.stop().is_some();
        let progress = |done: usize| {
            let done = done as u64;
            if !done.is_multiple_of(FILES_PER_PROGRESS_STEP) {
                return;
            }
            // Several threads count; progress is reported in increasing order.
            let mut reported = reported.lock().unwrap_or_else(PoisonError::into_inner);
            if done > *reported {
                *reported = done;
                let message = format!("{done} of {total} files read");
                context.progress(base + done, steps, message);
            }
        };
        let (mut scan, left) = scan::scan(&self.tree, self.parts, &halt, &progress);
        self.done += total;
        self.troubles(std::mem::take(&mut scan.problems));
        self.leave_out_binary(&std::mem::take(&mut scan.binary));
        for language in &mut self.report.languages {
            let counted = scan.lines.iter().find(|(kind, _)| kind.name() == language.name);
            language.lines = counted.map(|(_, lines)| lines.own);
            language.embedded = counted.map(|(_, lines)| lines.embedded);
        }
        self.report.presence.inline_test_files = scan.inline_tests;
        self.scan = scan;
        if left > 0 {
            self.has_time_left(context, &format!("the contents of {left} of {total} files"))?;
        }
        let (documentation, problems) =
            inventory::build_inventory(&self.tree, &self.scan.documents, &self.report);
        self.report.documentation = Some(documentation);
        self.troubles(problems);
        Ok(())
    }

    /// Compiled messages end in `.mo` like Modelica files: thousands of them are reported as one problem and no
    /// language.
    fn leave_out_binary(&mut self, files: &[(Box<str>, LanguageType)]) {
        if files.is_empty() {
            return;
        }
        let binary = files.iter().map(|(path, _)| &**path).collect();
        survey::sum_languages(&self.tree, &binary, &mut self.report);
        let mut kinds: BTreeMap<&str, (&str, u64)> = BTreeMap::new();
        for (path, language) in files {
            kinds.entry(language.name()).or_insert((path, 0)).1 += 1;
        }
        for (language, (path, count)) in kinds {
            let more = if count > 1 {
                format!("; {} like it", counted(count - 1, "more file"))
            } else {
                String::new()
            };
            let reason = format!("is not text, although its name says {language}{more}");
            self.report.trouble(ReadFailure { path: self.tree.shown(path), reason });
        }
    }

    /// Fourth phase: compares files with each other and with their history.
    pub(super) fn compare(&mut self, context: &CallContext) -> Result<(), ToolError> {
        self.sum_up();
        let halt = || context.stop().is_some();
        if self.parts.links && self.has_time_left(context, "links")? {
            self.announce(context, "Following links");
            self.report.links = Some(links::check(&self.tree, &self.scan.documents, &halt));
        }
        if self.parts.redundancy && self.has_time_left(context, "duplicated documents")? {
            let found = redundancy::find(&self.tree, &self.scan.documents, &halt);
            self.report.redundancy = Some(found);
        }
        let mut past = None;
        if self.parts.history && self.has_time_left(context, "history")? {
            self.announce(context, "Reading history");
            past = self.read_history(&halt);
        }
        if self.parts.drift && self.has_time_left(context, "drift")? {
            self.announce(context, "Comparing documents with the code");
            self.find_drift(past.as_ref(), &halt);
        }
        if self.parts.links {
            self.has_time_left(context, "the rest of the comparisons")?;
        }
        Ok(())
    }

    fn read_history(&mut self, halt: HaltCheck<'_>) -> Option<ProjectPast> {
        let remembered = history::read(&self.tree, &self.scan.weights, halt);
        self.troubles(remembered.problems);
        let (found, past) = remembered.history?;
        self.report.history = Some(found);
        Some(past)
    }

    fn find_drift(&mut self, past: Option<&ProjectPast>, halt: HaltCheck<'_>) {
        let unknown = Project::default();
        let today = drift::CurrentProject {
            tree: &self.tree,
            words: &self.scan.words,
            symbols: &self.scan.symbols,
            manifests: &self.report.manifests,
            project: self.report.project.as_ref().unwrap_or(&unknown),
            past,
        };
        self.report.drift = Some(drift::find(&today, &self.scan.documents, halt));
    }

    /// Summarizes what needs no comparison: open tasks and doc coverage.
    fn sum_up(&mut self) {
        if self.parts.redundancy {
            self.sum_up_tasks();
        }
        if self.parts.syntax {
            self.sum_up_coverage();
        }
    }

    fn sum_up_tasks(&mut self) {
        let mut tasks = std::mem::take(&mut self.scan.tasks);
        let count = tasks.iter().map(|file| file.count).sum();
        tasks.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.path.cmp(&b.path)));
        tasks.truncate(MAX_LISTED_TASK_FILES);
        self.report.tasks = Some(Tasks { count, files: tasks });
    }

    fn sum_up_coverage(&mut self) {
        let mut sums = coverage::CoverageSums::default();
        for file in self.tree.files() {
            if let Some(symbols) = self.scan.symbols.get(&file.path) {
                sums.take(&file.path, symbols);
            }
        }
        let programs = self.report.languages.iter().filter(|one| one.nature == Nature::Program);
        self.report.coverage = Some(sums.finish(programs.map(|one| one.name.clone())));
    }

    /// Last phase: derives gaps and next steps.
    pub(super) fn conclude(&mut self, context: &CallContext) {
        if self.report.complete {
            self.report.gaps = gaps::find(&self.report);
        } else {
            self.report.missing.push("documentation gaps, which need every folder".into());
        }
        self.report.next_steps = gaps::next_steps(&self.report);
        self.done += 1;
        if self.is_partial() {
            context.progress(self.done, self.total, "Stopped at the deadline");
        } else {
            // All steps count as done, including those with nothing to do.
            let total = self.total.unwrap_or(self.done);
            context.progress(total, Some(total), "Analysis complete");
        }
    }

    fn troubles(&mut self, problems: Vec<ReadFailure>) {
        for problem in problems {
            self.report.trouble(problem);
        }
    }

    /// Reports the next action as one progress step.
    fn announce(&mut self, context: &CallContext, message: &str) {
        self.done += 1;
        context.progress(self.done, self.total, message);
    }

    /// Counts one walk entry. Hundreds make one progress step, because reading a file takes much longer.
    fn count_entry(&mut self, context: &CallContext) {
        self.entries += 1;
        if self.entries.is_multiple_of(ENTRIES_PER_PROGRESS_STEP) {
            self.announce(context, &format!("{} files and folders seen", self.entries));
        }
    }

    /// Returns whether there is time left; if not, records what is missing.
    fn has_time_left(&mut self, context: &CallContext, lacking: &str) -> Result<bool, ToolError> {
        match context.stop() {
            None => Ok(true),
            Some(CallStop::Cancelled) => Err(ToolError::Stopped(CallStop::Cancelled)),
            Some(CallStop::Deadline) => {
                self.report.missing.push(lacking.to_owned());
                Ok(false)
            }
        }
    }
}

/// Describes a problem with a symbolic link; `None` if its target is inside the root.
fn symlink_problem(roots: &ServedRoots, link: &RootPath) -> Option<String> {
    match roots.resolve(&roots.absolute(link).to_string_lossy()) {
        Ok(target) if link.below(&target).is_some() => {
            Some("is a symbolic link to a folder that contains it; not followed".into())
        }
        Ok(_) | Err(PathError::Denied { .. }) => None,
        Err(PathError::Missing { .. }) => Some("is a symbolic link to a missing target".into()),
        Err(PathError::Outside { .. }) => {
            Some("is a symbolic link to a target outside the root; not followed".into())
        }
        Err(PathError::Special { found, .. }) => {
            Some(format!("is a symbolic link to a {found}; not followed"))
        }
        Err(_) => Some("is a symbolic link that can't be followed".into()),
    }
}
