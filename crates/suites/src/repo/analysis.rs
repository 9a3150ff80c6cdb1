//! The work of `analyze_repository`, phase by phase. Runs off the async threads; looks at the clock in every loop.

use super::{
    documents, gaps,
    languages::{self, Syntax},
    manifests,
    report::{BrokenLink, ContentFacts, Depth, Report, Tasks},
    survey::Survey,
};
use crate::files::{Entry, Place, Problem, ReadProblem, Roots, WalkOptions};
use docent_tool::{CallContext, Stop, ToolError};

/// Larger text files are listed among the problems.
const FILE_BYTES: u64 = 4 << 20;
/// Enough of a licence to tell which one it is, and of a file to tell that it is binary.
const HEAD_BYTES: u64 = 8 << 10;
/// Entries between two steps of progress.
const STEP: u64 = 100;

/// An analysis under way.
pub(super) struct Analysis {
    roots: Roots,
    top: Place,
    /// What is known so far.
    pub(super) report: Report,
    files: Vec<Entry>,
    done: u64,
}

impl Analysis {
    pub(super) fn new(roots: Roots, top: Place, depth: Depth) -> Self {
        let folder = roots.absolute(&top);
        let name = folder
            .file_name()
            .map_or_else(|| "/".into(), |name| name.to_string_lossy().into_owned());
        let report = Report { name, path: top.to_string(), depth, ..Report::default() };
        Self { roots, top, report, files: Vec::new(), done: 0 }
    }

    /// Whether the call was cut short.
    pub(super) fn is_partial(&self) -> bool {
        !self.report.missing.is_empty()
    }

    /// First phase: names and sizes.
    pub(super) fn walk(&mut self, context: &CallContext) -> Result<(), ToolError> {
        context.progress(0, None, format!("Walking {}", self.top));
        let mut survey = Survey::default();
        let mut walk =
            self.roots.walk_with(&self.top, WalkOptions { hidden: true, ignored: false });
        self.report.complete = loop {
            if !self.may_go_on(
                context,
                "the rest of the folders, so every figure counts only what was seen",
            )? {
                break false;
            }
            match walk.next() {
                None => break true,
                Some(Err(problem)) => self.report.trouble(problem),
                Some(Ok(entry)) => {
                    let path = entry.place.below(&self.top).unwrap_or_default().to_owned();
                    if survey.take(&path, &entry, &mut self.report) {
                        self.files.push(entry);
                    }
                }
            }
            self.step(context, None, |files| format!("{files} files and folders seen"));
        };
        survey.finish(&mut self.report);
        Ok(())
    }

    /// Second phase: manifests and the licence.
    pub(super) fn read_manifests(&mut self, context: &CallContext) -> Result<(), ToolError> {
        self.read_licence();
        if self.report.depth == Depth::Quick {
            return Ok(());
        }
        let mut read = std::mem::take(&mut self.report.manifests);
        for manifest in &mut read {
            if !self.may_go_on(context, "dependencies")? {
                break;
            }
            let Some(place) = self.top.join(&manifest.path) else { continue };
            if !manifests::is_read(place.name()) {
                continue;
            }
            let problem = match self.roots.read(&place, FILE_BYTES) {
                Ok(bytes) => manifests::read(place.name(), &bytes, manifest)
                    .err()
                    .map(|error| error.to_string()),
                Err(problem) => Some(Problem::from(&problem).reason),
            };
            if let Some(reason) = problem {
                self.report.trouble(Problem { path: place.to_string(), reason });
            }
        }
        self.report.manifests = read;
        if self.report.presence.licence_id.is_none() {
            // A package inside may have a licence of its own; only the top speaks for the whole.
            let mut top =
                self.report.manifests.iter().filter(|manifest| !manifest.path.contains('/'));
            self.report.presence.licence_id = top.find_map(|manifest| manifest.licence.clone());
        }
        Ok(())
    }

    fn read_licence(&mut self) {
        let Some(place) =
            self.report.presence.licence.as_ref().and_then(|path| self.top.join(path))
        else {
            return;
        };
        match self.roots.read_start(&place, HEAD_BYTES) {
            Ok((bytes, _)) => {
                let name = documents::licence(&String::from_utf8_lossy(&bytes));
                self.report.presence.licence_id = name.map(str::to_owned);
            }
            Err(problem) => self.report.trouble(Problem::from(&problem)),
        }
    }

    /// Third phase: the contents of source files, or of every text file.
    pub(super) fn read_contents(&mut self, context: &CallContext) -> Result<(), ToolError> {
        let depth = self.report.depth;
        if depth == Depth::Quick {
            return Ok(());
        }
        let files: Vec<Entry> = std::mem::take(&mut self.files);
        let wanted: Vec<&Entry> = files
            .iter()
            .filter(|file| depth == Depth::Deep || languages::of(file.place.name()).is_some())
            .collect();
        let total = Some(self.done + wanted.len() as u64 + 1);
        let mut facts = (depth == Depth::Deep).then(ContentFacts::default);
        for (at, file) in wanted.iter().enumerate() {
            if !self.may_go_on(
                context,
                &format!("the contents of {} of {} files", wanted.len() - at, wanted.len()),
            )? {
                break;
            }
            self.read_one(file, facts.as_mut());
            self.step(context, total, |_| format!("{} of {} files read", at + 1, wanted.len()));
        }
        if let Some(facts) = &mut facts {
            facts
                .open_task_files
                .sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.path.cmp(&b.path)));
            facts.open_task_files.truncate(10);
        }
        self.report.contents = facts;
        Ok(())
    }

    fn read_one(&mut self, file: &Entry, facts: Option<&mut ContentFacts>) {
        let name = file.place.name();
        let syntax = languages::of(name);
        let path = file.place.below(&self.top).unwrap_or_default().to_owned();
        let bytes = match self.text_of(file, syntax) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return facts.into_iter().for_each(|facts| facts.binary_files += 1),
            Err(problem) => return self.report.trouble(Problem::from(&problem)),
        };
        let lines = languages::count(&bytes, syntax);
        let language = syntax
            .and_then(|syntax| self.report.languages.iter_mut().find(|l| l.name == syntax.name));
        if let Some(language) = language {
            language.lines.get_or_insert_default().add(lines);
        }
        if syntax.is_some_and(|syntax| syntax.name == "Rust") && languages::has_inline_tests(&bytes)
        {
            self.report.presence.inline_test_files += 1;
        }
        if self.report.presence.readme.as_ref() == Some(&path) {
            self.report.readme = Some(documents::readme(&String::from_utf8_lossy(&bytes)));
        }
        let Some(facts) = facts else { return };
        facts.text_files += 1;
        facts.lines.add(lines);
        let count = languages::open_tasks(&bytes);
        if count > 0 {
            facts.open_tasks += count;
            facts.open_task_files.push(Tasks { path: path.clone(), count });
        }
        if syntax.is_some_and(|syntax| syntax.name == "Markdown") {
            self.check_links(file, &path, &String::from_utf8_lossy(&bytes), facts);
        }
    }

    /// The whole of a text file; `None` for a binary one.
    fn text_of(
        &self,
        file: &Entry,
        syntax: Option<&Syntax>,
    ) -> Result<Option<Vec<u8>>, ReadProblem> {
        // What has no known language is most often a picture or an archive: its head tells.
        if syntax.is_none() && file.bytes > HEAD_BYTES {
            let (head, _) = self.roots.read_start(&file.place, HEAD_BYTES)?;
            if languages::is_binary(&head) {
                return Ok(None);
            }
        }
        let bytes = self.roots.read(&file.place, FILE_BYTES)?;
        Ok((!languages::is_binary(&bytes)).then_some(bytes))
    }

    fn check_links(&self, file: &Entry, path: &str, text: &str, facts: &mut ContentFacts) {
        for link in documents::relative_links(text) {
            let Some(exists) = self.leads_somewhere(&file.place, &link.target) else { continue };
            facts.links_checked += 1;
            if exists {
                continue;
            }
            facts.broken_link_count += 1;
            if facts.broken_links.len() < 200 {
                facts.broken_links.push(BrokenLink {
                    path: path.to_owned(),
                    line: link.line,
                    target: link.target,
                });
            }
        }
    }

    /// Whether a link ends at a file or a folder; `None` where that can't be told from here.
    fn leads_somewhere(&self, from: &Place, target: &str) -> Option<bool> {
        let path = documents::link_path(target)?;
        let place = match path.strip_prefix('/') {
            Some(path) => self.top.join(path),
            None => from.parent().and_then(|folder| folder.join(&path)),
        }?;
        match self.roots.kind(&place) {
            Ok(_) => Some(true),
            Err(ReadProblem::Io { source, .. })
                if matches!(
                    source.kind(),
                    std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
                ) =>
            {
                // Site generators turn `guide.md` into `guide` or `guide.html`.
                let name = place.name();
                let source = format!("../{}.md", name.strip_suffix(".html").unwrap_or(name));
                Some(place.join(&source).is_some_and(|source| self.roots.kind(&source).is_ok()))
            }
            Err(_) => None,
        }
    }

    /// Last phase: what follows from it all.
    pub(super) fn conclude(&mut self, context: &CallContext) {
        // What was not seen can't be called absent.
        if self.report.complete {
            self.report.gaps = gaps::find(&self.report);
        } else {
            self.report.missing.push("documentation gaps, which need the whole walk".into());
        }
        self.report.next_steps = gaps::next_steps(&self.report);
        self.done += 1;
        let message =
            if self.is_partial() { "Stopped at the deadline" } else { "Analysis complete" };
        context.progress(self.done, Some(self.done), message);
    }

    /// Counts one thing as done, and tells of every hundredth.
    fn step(&mut self, context: &CallContext, total: Option<u64>, message: impl Fn(u64) -> String) {
        self.done += 1;
        if self.done.is_multiple_of(STEP) {
            context.progress(self.done, total, message(self.done));
        }
    }

    /// Whether there is time; where not, notes once what the answer lacks for it.
    fn may_go_on(&mut self, context: &CallContext, lacking: &str) -> Result<bool, ToolError> {
        match context.stop() {
            None => Ok(true),
            Some(Stop::Cancelled) => Err(ToolError::Stopped(Stop::Cancelled)),
            Some(Stop::Deadline) => {
                self.report.missing.push(lacking.to_owned());
                Ok(false)
            }
        }
    }
}
