//! The project whose code is asked about: its files, its index, and who wants to hear of changes.

use super::{address, graph::Memory, listing::Listing, own_rules::OwnRules};
use crate::{
    files::{Kind as EntryKind, Place, Problem, Roots},
    indexing::{Heard, Live},
    watch::Batch,
};
use docent_syntax::{
    Language,
    analysis::Source,
    annotate::{self, FileAnnotations},
    parse::{self, ParseError, SyntaxTree},
};
use docent_tool::{CallContext, Change, Stop, ToolError};
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::broadcast;

/// A larger source file is generated, or data.
pub(crate) const LARGEST_FILE: u64 = 2 << 20;
/// Changes that a slow listener may fall behind.
const CHANGES: usize = 256;

/// A file as analyses take it.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) path: String,
    pub(crate) language: Language,
    pub(crate) text: String,
    pub(crate) tree: SyntaxTree,
}

impl Parsed {
    /// As analyses take it.
    pub(crate) fn source(&self) -> Source<'_> {
        let Self { path, language, text, tree } = self;
        Source { path, language: *language, text, tree }
    }

    /// Whether everything that was read of it so far is all there is; asked after definitions or findings were read.
    pub(crate) fn check(&self) -> Result<(), Unread> {
        self.tree.check().map_err(|error| Unread::of(&self.path, &error))
    }
}

/// Why a file was not parsed.
#[derive(Debug)]
pub(crate) enum Unread {
    /// It can't be.
    Problem(Problem),
    /// Time was up.
    Stopped,
}

/// The project whose code is asked about.
#[derive(Debug)]
pub(crate) struct Project {
    /// Where files are read.
    pub(crate) roots: Roots,
    /// What is searched.
    pub(crate) live: Arc<Live>,
    changes: broadcast::Sender<Change>,
    /// The project's own rules.
    pub(crate) rules: OwnRules,
    /// What files imported when they were last asked.
    pub(crate) imports: Mutex<Memory>,
    /// Its source files, as a client pages through them.
    pub(super) listing: Listing,
    /// Files and folders that somebody wants to hear of.
    subscribed: Mutex<BTreeSet<String>>,
}

impl Project {
    /// Nothing is read until somebody asks.
    pub(crate) fn new(roots: Roots, live: Arc<Live>) -> Arc<Self> {
        let project = Arc::new(Self {
            roots,
            live,
            changes: broadcast::Sender::new(CHANGES),
            rules: OwnRules::default(),
            imports: Mutex::default(),
            listing: Listing::default(),
            subscribed: Mutex::default(),
        });
        let listener = Arc::downgrade(&project);
        project.live.listen(Box::new(move |heard| {
            let Some(project) = listener.upgrade() else { return };
            match heard {
                Heard::Touched(batch) => project.touched(batch),
                Heard::Set => project.announce_set(),
            }
        }));
        project
    }

    /// Tells of files that change.
    pub(crate) fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    /// How a place is called in answers and addresses.
    pub(crate) fn path_of(&self, place: &Place) -> String {
        self.roots.name(place)
    }

    /// Reads and parses one file.
    pub(crate) fn parse(
        &self,
        place: &Place,
        language: Option<Language>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Parsed, Unread> {
        let path = self.path_of(place);
        let problem = |reason: String| Unread::Problem(Problem { path: path.clone(), reason });
        if language.is_none() && Language::of(&path).is_none() {
            return Err(problem(unknown_language()));
        }
        let bytes = self.roots.read(place, LARGEST_FILE);
        let bytes = bytes.map_err(|found| problem(Problem::from(&found).reason))?;
        if memchr::memchr(0, &bytes).is_some() {
            return Err(problem("not text: it holds NUL bytes".into()));
        }
        let text = String::from_utf8(bytes)
            .unwrap_or_else(|wrong| String::from_utf8_lossy(wrong.as_bytes()).into_owned());
        let language = language.or_else(|| Language::of_text(&path, &text));
        let language = language.ok_or_else(|| problem(unknown_language()))?;
        match parse::tree(language, &text, stopped) {
            Ok(tree) => Ok(Parsed { path, language, text, tree }),
            Err(error) => Err(Unread::of(&path, &error)),
        }
    }

    /// Everything that is said of one file.
    pub(crate) fn annotations(
        &self,
        place: &Place,
        stopped: &dyn Fn() -> bool,
    ) -> Result<FileAnnotations, Unread> {
        let parsed = self.parse(place, None, stopped)?;
        let Parsed { path, language, text, tree } = &parsed;
        let file = annotate::file(*language, path, text, tree);
        parsed.check()?;
        Ok(file)
    }

    /// Has files indexed that were named themselves and would be left out: a file that the project ignores.
    pub(crate) fn want(
        &self,
        files: impl IntoIterator<Item = (Place, Language)>,
        context: &CallContext,
    ) {
        let searched = files.into_iter().filter(|(_, language)| language.settings().searched);
        self.live.want(searched, context);
    }

    /// Tells that the set of files is another one.
    fn announce_set(&self) {
        self.listing.clear();
        self.tell(Change::Resources);
    }

    /// From now on, whoever listens hears of changes to this file, or in this folder.
    pub(crate) fn subscribe(&self, place: &Place) -> bool {
        let there = self.roots.kind(place);
        if !there.is_ok_and(|kind| matches!(kind, EntryKind::File | EntryKind::Folder)) {
            return false;
        }
        let listening = self.live.listening();
        let mut subscribed = self.subscribed.lock().unwrap_or_else(PoisonError::into_inner);
        subscribed.insert(self.path_of(place));
        listening
    }

    fn tell(&self, change: Change) {
        // Nobody listening is no failure.
        drop(self.changes.send(change));
    }

    /// Tells of every subscription that a batch of changes is about.
    fn touched(&self, batch: &Batch) {
        self.listing.clear();
        let places: Vec<Place> =
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
            self.tell(Change::Updated(address::of(path)));
            // Whoever wrote a folder's address with the slash at its end is meant as well.
            self.tell(Change::Updated(format!("{}/", address::of(path))));
        }
    }
}

/// Whether a path is a folder's, or the folder itself.
fn is_in(path: &str, folder: &str) -> bool {
    let top = folder == ".";
    top || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn is_source(path: &str) -> bool {
    Language::of(path).is_some()
}

/// Says which languages are read.
pub(crate) fn unknown_language() -> String {
    let known: Vec<&str> = Language::ALL.iter().map(|language| language.name()).collect();
    format!("its language is not known by its name; known are {}", known.join(", "))
}

impl Unread {
    /// Why a file was not parsed: a limit that it exceeds is a problem of the file.
    pub(crate) fn of(path: &str, error: &ParseError) -> Self {
        match error {
            ParseError::Stopped => Self::Stopped,
            ParseError::Grammar(_) | ParseError::Exceeded(_) => {
                Self::Problem(Problem { path: path.to_owned(), reason: error.to_string() })
            }
        }
    }

    /// The end of a call that needed this very file.
    pub(crate) fn into_tool_error(self, stop: Option<Stop>) -> ToolError {
        match self {
            Self::Problem(problem) => ToolError::failed(problem.to_string()),
            Self::Stopped => ToolError::Stopped(stop.unwrap_or(Stop::Deadline)),
        }
    }
}
