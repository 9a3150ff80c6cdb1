//! The project whose code is asked about: its files, its index, and who wants to hear of changes.

use super::{address, graph::Memory, own_rules::OwnRules};
use crate::{
    files::{Kind as EntryKind, Place, Problem, Roots},
    indexing::{Heard, Live, Wanted},
    watch::Batch,
};
use docent_syntax::{
    Counts, Language,
    analysis::Source,
    annotate::{self, FileAnnotations},
    parse::{self, ParseError, SyntaxTree},
};
use docent_tool::{Change, Stop, ToolError};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError, RwLock},
};
use tokio::sync::broadcast;

/// A larger source file is generated, or data.
pub(crate) const LARGEST_FILE: u64 = 2 << 20;
/// Changes that a slow listener may fall behind.
const CHANGES: usize = 256;

/// What parsing one file gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Report {
    /// Which file.
    pub(crate) path: String,
    /// What it is written in.
    pub(crate) language: Language,
    /// What was found.
    pub(crate) counts: Counts,
    /// The line of its first syntax error.
    pub(crate) broken_at: Option<u32>,
}

/// How a file is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reading {
    /// As this language, whatever its name says.
    pub(crate) language: Option<Language>,
    /// With descriptions from its comments.
    pub(crate) comments: bool,
}

impl Default for Reading {
    fn default() -> Self {
        Self { language: None, comments: true }
    }
}

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
    /// Files that were parsed by name, and how.
    parsed: RwLock<BTreeMap<String, (Reading, Report)>>,
    /// The project's own rules.
    pub(crate) rules: OwnRules,
    /// What files imported when they were last asked.
    pub(crate) imports: Mutex<Memory>,
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
            parsed: RwLock::default(),
            rules: OwnRules::default(),
            imports: Mutex::default(),
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
        let asked = language.or_else(|| self.reading(&path).language);
        if asked.is_none() && Language::of(&path).is_none() {
            return Err(problem(unknown_language()));
        }
        let bytes = self.roots.read(place, LARGEST_FILE);
        let bytes = bytes.map_err(|found| problem(Problem::from(&found).reason))?;
        if memchr::memchr(0, &bytes).is_some() {
            return Err(problem("not text: it holds NUL bytes".into()));
        }
        let text = String::from_utf8(bytes)
            .unwrap_or_else(|wrong| String::from_utf8_lossy(wrong.as_bytes()).into_owned());
        let language = asked.or_else(|| Language::of_text(&path, &text));
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
        let mut file = annotate::file(*language, path, text, tree);
        parsed.check()?;
        if !self.reading(path).comments {
            for one in &mut file.annotations {
                (one.description, one.doc) = (None, None);
            }
        }
        Ok(file)
    }

    /// How a file was last parsed by name.
    fn reading(&self, path: &str) -> Reading {
        let parsed = self.parsed.read().unwrap_or_else(PoisonError::into_inner);
        parsed.get(path).map(|(reading, _)| *reading).unwrap_or_default()
    }

    /// Keeps in mind files that were parsed by name, and has those indexed that would be left out.
    pub(crate) fn keep(
        &self,
        reading: Reading,
        files: &[(Place, Report)],
        by_name: &BTreeSet<Place>,
    ) {
        let mut parsed = self.parsed.write().unwrap_or_else(PoisonError::into_inner);
        let before = parsed.len();
        for (_, report) in files {
            parsed.insert(report.path.clone(), (reading, report.clone()));
        }
        let more = parsed.len() != before;
        drop(parsed);
        let wanted: Wanted = files
            .iter()
            .filter(|(place, report)| {
                by_name.contains(place)
                    && (reading.language.is_some() || report.language.settings().searched)
            })
            .map(|(place, report)| (place.clone(), report.language))
            .collect();
        self.live.want(wanted);
        if more {
            self.announce_set();
        }
    }

    /// Every file that was parsed by name.
    pub(crate) fn parsed(&self) -> Vec<Report> {
        let parsed = self.parsed.read().unwrap_or_else(PoisonError::into_inner);
        parsed.values().map(|(_, report)| report.clone()).collect()
    }

    /// Tells that the set of files is another one.
    pub(crate) fn announce_set(&self) {
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
        drop(subscribed);
        let mut gone = false;
        let mut parsed = self.parsed.write().unwrap_or_else(PoisonError::into_inner);
        for place in places.iter().filter(|place| self.roots.kind(place).is_err()) {
            let path = self.path_of(place);
            let before = parsed.len();
            parsed.retain(|known, _| !is_in(known, &path));
            gone |= parsed.len() != before;
        }
        drop(parsed);
        if gone {
            self.announce_set();
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
