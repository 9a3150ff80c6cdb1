//! The project whose code is asked about: its files, its index, and who wants to hear of changes.

use super::{address, graph::ImportCache, listing::SourceListing, project_rules::OwnRules};
use crate::{
    files::{PathKind as EntryKind, RootPath, ReadFailure, ServedRoots},
    indexing::{FileEvent, BackgroundIndex},
    watch::ChangeBatch,
};
use docent_syntax::{
    Language,
    analysis::AnalyzedSource,
    annotate::{self, FileAnnotations},
    parse::{self, ParseError, SyntaxTree},
};
use docent_tool::{CallContext, ProviderChange, CallStop, ToolError};
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::broadcast;

/// A larger source file is generated, or data.
pub(crate) const MAX_FILE_BYTES: u64 = 2 << 20;
/// Changes that a slow listener may fall behind.
const CHANGE_QUEUE_LENGTH: usize = 256;

/// A file as analyses take it.
#[derive(Debug)]
pub(crate) struct ParsedFile {
    pub(crate) path: String,
    pub(crate) language: Language,
    pub(crate) text: String,
    pub(crate) tree: SyntaxTree,
}

impl ParsedFile {
    /// As analyses take it.
    pub(crate) fn source(&self) -> AnalyzedSource<'_> {
        let Self { path, language, text, tree } = self;
        AnalyzedSource { path, language: *language, text, tree }
    }

    /// Whether everything that was read of it so far is all there is; asked after definitions or findings were read.
    pub(crate) fn check(&self) -> Result<(), ParseFailure> {
        self.tree.check().map_err(|error| ParseFailure::from_parse_error(&self.path, &error))
    }
}

/// Why a file was not parsed.
#[derive(Debug)]
pub(crate) enum ParseFailure {
    /// It can't be.
    Problem(ReadFailure),
    /// Time was up.
    Stopped,
}

/// The project whose code is asked about.
#[derive(Debug)]
pub(crate) struct CodeProject {
    /// Where files are read.
    pub(crate) roots: ServedRoots,
    /// What is searched.
    pub(crate) live: Arc<BackgroundIndex>,
    changes: broadcast::Sender<ProviderChange>,
    /// The project's own rules.
    pub(crate) rules: OwnRules,
    /// What files imported when they were last asked.
    pub(crate) imports: Mutex<ImportCache>,
    /// Its source files, as a client pages through them.
    pub(super) listing: SourceListing,
    /// Files and folders that somebody wants to hear of.
    subscribed: Mutex<BTreeSet<String>>,
}

impl CodeProject {
    /// Nothing is read until somebody asks.
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
                FileEvent::Touched(batch) => project.touched(batch),
                FileEvent::SetChanged => project.announce_set(),
            }
        }));
        project
    }

    /// Tells of files that change.
    pub(crate) fn changes(&self) -> broadcast::Receiver<ProviderChange> {
        self.changes.subscribe()
    }

    /// How a place is called in answers and addresses.
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
        let problem = |reason: String| ParseFailure::Problem(ReadFailure { path: path.clone(), reason });
        if language.is_none() && Language::from_path(&path).is_none() {
            return Err(problem(unknown_language()));
        }
        let bytes = self.roots.read(place, MAX_FILE_BYTES);
        let bytes = bytes.map_err(|found| problem(ReadFailure::from(&found).reason))?;
        if memchr::memchr(0, &bytes).is_some() {
            return Err(problem("not text: it holds NUL bytes".into()));
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

    /// Everything that is said of one file.
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

    /// Has files indexed that were named themselves and would be left out: a file that the project ignores.
    pub(crate) fn want(
        &self,
        files: impl IntoIterator<Item = (RootPath, Language)>,
        context: &CallContext,
    ) {
        let searched = files.into_iter().filter(|(_, language)| language.settings().searched);
        self.live.want(searched, context);
    }

    /// Tells that the set of files is another one.
    fn announce_set(&self) {
        self.listing.clear();
        self.announce(ProviderChange::Resources);
    }

    /// From now on, whoever listens hears of changes to this file, or in this folder.
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
        // Nobody listening is no failure.
        drop(self.changes.send(change));
    }

    /// Tells of every subscription that a batch of changes is about.
    fn announce_changed_files(&self, batch: &ChangeBatch) {
        self.listing.clear();
        let places: Vec<RootPath> =
            batch.paths.iter().filter_map(|path| self.roots.locate(path)).collect();
        let subscribed = self.subscribed.lock().unwrap_or_else(PoisonError::into_inner);
        let mut told: BTreeSet<&String> = BTreeSet::new();
        for place in &places {
            let path = self.path_of(place);
            // A new folder may come with files; what is gone may have been one.
            let matters = is_source(&path)
                || !self.roots.kind(place).is_ok_and(|kind| kind == EntryKind::File);
            let about =
                |one: &&String| batch.lost || is_in(one, &path) || (matters && is_in(&path, one));
            told.extend(subscribed.iter().filter(about));
        }
        for path in told {
            self.tell(ProviderChange::Updated(address::annotation_uri(path)));
            // Whoever wrote a folder's address with the slash at its end is meant as well.
            self.tell(ProviderChange::Updated(format!("{}/", address::of(path))));
        }
    }
}

/// Whether a path is a folder's, or the folder itself.
fn is_in(path: &str, folder: &str) -> bool {
    let top = folder == ".";
    top || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn is_source(path: &str) -> bool {
    Language::from_path(path).is_some()
}

/// Says which languages are read.
pub(crate) fn unknown_language() -> String {
    let known: Vec<&str> = Language::ALL.iter().map(|language| language.name()).collect();
    format!("its language is not known by its name; known are {}", known.join(", "))
}

impl ParseFailure {
    /// Why a file was not parsed: a limit that it exceeds is a problem of the file.
    pub(crate) fn from_parse_error(path: &str, error: &ParseError) -> Self {
        match error {
            ParseError::Stopped => Self::Stopped,
            ParseError::Grammar(_) | ParseError::Exceeded(_) => {
                Self::Problem(ReadFailure { path: path.to_owned(), reason: error.to_string() })
            }
        }
    }

    /// The end of a call that needed this very file.
    pub(crate) fn into_tool_error(self, stop: Option<CallStop>) -> ToolError {
        match self {
            Self::Problem(problem) => ToolError::failed(problem.to_string()),
            Self::Stopped => ToolError::Stopped(stop.unwrap_or(CallStop::Deadline)),
        }
    }
}
