//! The project behind the code tools: its files, its index and its change subscriptions.

use super::{address, graph::ImportCache, listing::SourceListing, project_rules::OwnRules};
use crate::{
    files::{PathKind as EntryKind, ReadFailure, RootPath, ServedRoots},
    indexing::{BackgroundIndex, FileEvent},
    watch::ChangeBatch,
};
use docent_syntax::{
    Language,
    analysis::AnalyzedSource,
    annotate::{self, FileAnnotations},
    parse::{self, ParseError, SyntaxTree},
};
use docent_tool::{CallContext, CallStop, ProviderChange, ToolError};
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::broadcast;

/// Maximum size of a source file; larger ones are generated or data.
pub(crate) const MAX_FILE_BYTES: u64 = 2 << 20;
/// Capacity of the change channel.
const CHANGE_QUEUE_LENGTH: usize = 256;

/// A parsed file.
#[derive(Debug)]
pub(crate) struct ParsedFile {
    pub(crate) path: String,
    pub(crate) language: Language,
    pub(crate) text: String,
    pub(crate) tree: SyntaxTree,
}

impl ParsedFile {
    /// The file as input for analyses.
    pub(crate) fn source(&self) -> AnalyzedSource<'_> {
        let Self { path, language, text, tree } = self;
        AnalyzedSource { path, language: *language, text, tree }
    }

    /// Checks that parsing stayed within its budget; call it after reading definitions or findings.
    pub(crate) fn check(&self) -> Result<(), ParseFailure> {
        self.tree.check().map_err(|error| ParseFailure::from_parse_error(&self.path, &error))
    }
}

/// Why a file was not parsed.
#[derive(Debug)]
pub(crate) enum ParseFailure {
    /// It can't be parsed.
    Problem(ReadFailure),
    /// Time ran out.
    Stopped,
}

/// The project behind the code tools.
#[derive(Debug)]
pub(crate) struct CodeProject {
    /// Folders that may be read.
    pub(crate) roots: ServedRoots,
    /// The search index.
    pub(crate) live: Arc<BackgroundIndex>,
    changes: broadcast::Sender<ProviderChange>,
    /// The project's own rules.
    pub(crate) rules: OwnRules,
    /// Cached imports of each file.
    pub(crate) imports: Mutex<ImportCache>,
    /// Cached list of source files.
    pub(super) listing: SourceListing,
    /// Files and folders with subscriptions.
    subscribed: Mutex<BTreeSet<String>>,
}

impl CodeProject {
    /// Creates the project. Reads nothing until a tool is called.
    pub(crate) fn new(roots: ServedRoots, live: Arc<BackgroundIndex>) -> Arc<Self> {
        let project = Arc::new(Self {
            roots,
            live,
            changes: broadcast::Sender::new(CHANGE_QUEUE_LENGTH),
            rules: OwnRules::default(),
            imports: Mutex::default(),
            listing: SourceListing::default(),
            subscribed: Mutex::default(),
        });
        let listener = Arc::downgrade(&project);
        project.live.listen(Box::new(move |heard| {
            let Some(project) = listener.upgrade() else { return };
            match heard {
                FileEvent::Touched(batch) => project.announce_changed_files(batch),
                FileEvent::SetChanged => project.announce_set(),
            }
        }));
        project
    }

    /// Subscribes to file changes.
    pub(crate) fn changes(&self) -> broadcast::Receiver<ProviderChange> {
        self.changes.subscribe()
    }

    /// The path of a place in answers and URIs.
    pub(crate) fn path_of(&self, place: &RootPath) -> String {
        self.roots.name(place)
    }

    /// Reads and parses one file.
    pub(crate) fn parse(
        &self,
        place: &RootPath,
        language: Option<Language>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<ParsedFile, ParseFailure> {
        let path = self.path_of(place);
        let problem =
            |reason: String| ParseFailure::Problem(ReadFailure { path: path.clone(), reason });
        if language.is_none() && Language::from_path(&path).is_none() {
            return Err(problem(unknown_language()));
        }
        let bytes = self.roots.read(place, MAX_FILE_BYTES);
        let bytes = bytes.map_err(|found| problem(ReadFailure::from(&found).reason))?;
        if memchr::memchr(0, &bytes).is_some() {
            return Err(problem("not text: it contains NUL bytes".into()));
        }
        let text = String::from_utf8(bytes)
            .unwrap_or_else(|wrong| String::from_utf8_lossy(wrong.as_bytes()).into_owned());
        let language = language.or_else(|| Language::of_text(&path, &text));
        let language = language.ok_or_else(|| problem(unknown_language()))?;
        match parse::tree(language, &text, stopped) {
            Ok(tree) => Ok(ParsedFile { path, language, text, tree }),
            Err(error) => Err(ParseFailure::from_parse_error(&path, &error)),
        }
    }

    /// All annotations of one file.
    pub(crate) fn annotations(
        &self,
        place: &RootPath,
        stopped: &dyn Fn() -> bool,
    ) -> Result<FileAnnotations, ParseFailure> {
        let parsed = self.parse(place, None, stopped)?;
        let ParsedFile { path, language, text, tree } = &parsed;
        let file = annotate::file(*language, path, text, tree);
        parsed.check()?;
        Ok(file)
    }

    /// Adds explicitly named files to the index, even those that the project ignores.
    pub(crate) fn want(
        &self,
        files: impl IntoIterator<Item = (RootPath, Language)>,
        context: &CallContext,
    ) {
        let searched = files.into_iter().filter(|(_, language)| language.settings().searched);
        self.live.request_files(searched, context);
    }

    /// Announces that the set of files has changed.
    fn announce_set(&self) {
        self.listing.clear();
        self.announce(ProviderChange::Resources);
    }

    /// Subscribes to changes of this file or folder. Returns whether changes can be watched.
    pub(crate) fn subscribe(&self, place: &RootPath) -> bool {
        let there = self.roots.kind(place);
        if !there.is_ok_and(|kind| matches!(kind, EntryKind::File | EntryKind::Folder)) {
            return false;
        }
        let listening = self.live.listening();
        let mut subscribed = self.subscribed.lock().unwrap_or_else(PoisonError::into_inner);
        subscribed.insert(self.path_of(place));
        listening
    }

    fn announce(&self, change: ProviderChange) {
        // No receiver is not an error.
        drop(self.changes.send(change));
    }

    /// Announces a batch of changes to the matching subscriptions.
    fn announce_changed_files(&self, batch: &ChangeBatch) {
        self.listing.clear();
        let places: Vec<RootPath> =
            batch.paths.iter().filter_map(|path| self.roots.locate(path)).collect();
        let subscribed = self.subscribed.lock().unwrap_or_else(PoisonError::into_inner);
        let mut updated: BTreeSet<&String> = BTreeSet::new();
        for place in &places {
            let path = self.path_of(place);
            // A new folder may contain files; a removed path may have been one.
            let matters = is_source(&path)
                || !self.roots.kind(place).is_ok_and(|kind| kind == EntryKind::File);
            let about =
                |one: &&String| batch.lost || is_in(one, &path) || (matters && is_in(&path, one));
            updated.extend(subscribed.iter().filter(about));
        }
        for path in updated {
            self.announce(ProviderChange::Updated(address::annotation_uri(path)));
            // A folder's URI may also have been written with a trailing slash.
            self.announce(ProviderChange::Updated(format!("{}/", address::annotation_uri(path))));
        }
    }
}

/// Whether a path is in a folder, or is the folder itself.
fn is_in(path: &str, folder: &str) -> bool {
    let top = folder == ".";
    top || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn is_source(path: &str) -> bool {
    Language::from_path(path).is_some()
}

/// The error for an unknown language; lists the supported ones.
pub(crate) fn unknown_language() -> String {
    let known: Vec<&str> = Language::ALL.iter().map(|language| language.name()).collect();
    format!("unknown language (by file name); supported: {}", known.join(", "))
}

impl ParseFailure {
    /// Converts a parse error; an exceeded limit is a problem of the file.
    pub(crate) fn from_parse_error(path: &str, error: &ParseError) -> Self {
        match error {
            ParseError::Stopped => Self::Stopped,
            ParseError::Grammar(_) | ParseError::Exceeded(_) => {
                Self::Problem(ReadFailure { path: path.to_owned(), reason: error.to_string() })
            }
        }
    }

    /// Converts the failure into the error of a call that needed this file.
    pub(crate) fn into_tool_error(self, stop: Option<CallStop>) -> ToolError {
        match self {
            Self::Problem(problem) => ToolError::failed(problem.to_string()),
            Self::Stopped => ToolError::Stopped(stop.unwrap_or(CallStop::Deadline)),
        }
    }
}
