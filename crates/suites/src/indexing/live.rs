//! The index of a running server: built in the background when it is first asked for, kept in step while files change,
//! and asked by every tool that searches.

use super::{
    Callbacks, Report,
    follow::{Follower, Pending},
    survey::Wanted,
};
use crate::{
    files::{Place, Roots},
    watch::Batch,
};
use docent_index::{Answer, Query, Status, Store, StoreError, Tally, View, embed::Embedder};
use docent_syntax::Language;
use docent_tool::{CallContext, Failure, FailureKind, Stop, ToolError};
use std::{
    error::Error,
    fmt,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, Weak,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// A question waits this long for an index that is being built, and then answers from what is ready.
const PATIENCE: Duration = Duration::from_millis(1500);
/// How often whoever waits looks whether nobody waits for it any more.
const LOOK_UP: Duration = Duration::from_millis(20);

/// A store, and the model of its vectors.
#[derive(Debug, Clone)]
pub struct Opened {
    /// Where units are kept.
    pub store: Arc<dyn Store>,
    /// What questions are embedded with.
    pub embedder: Arc<dyn Embedder>,
}

/// Opens the store when it is first needed.
pub type Opener = Box<dyn Fn() -> Result<Opened, Box<dyn Error + Send + Sync>> + Send + Sync>;

/// How far the index is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Phase {
    /// Nobody asked yet.
    Idle,
    /// So many files of so many are done; nothing is known of files that changed or went since the last time.
    Building(usize, usize),
    /// As the files are, but for what is being written right now.
    InStep,
    /// It can't be kept.
    Failed(String),
}

/// What listeners hear.
#[derive(Debug)]
pub(crate) enum Heard<'a> {
    /// Files or folders changed. The index does not know yet.
    Touched(&'a Batch),
    /// The index is of another set of files.
    Set,
}

type Listener = Box<dyn Fn(Heard<'_>) + Send + Sync>;

/// What a search gave.
#[derive(Debug)]
pub(crate) struct Searched {
    pub(crate) answer: Answer,
    pub(crate) phase: Phase,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    opened: Option<Opened>,
    report: Option<Report>,
    /// Whether changes are heard; `None` until that is known.
    listening: Option<bool>,
}

/// The index of a running server.
pub struct Live {
    roots: Roots,
    opener: Opener,
    started: OnceLock<()>,
    state: Mutex<State>,
    changed: Condvar,
    wanted: RwLock<Wanted>,
    pending: Arc<Pending>,
    listeners: RwLock<Vec<Listener>>,
    ended: Arc<AtomicBool>,
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("state", &self.state).finish_non_exhaustive()
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}

impl Live {
    /// An index of these roots. Nothing is opened or read until somebody asks.
    pub fn new(roots: Roots, opener: Opener) -> Arc<Self> {
        let state = State { phase: Phase::Idle, opened: None, report: None, listening: None };
        Arc::new(Self {
            roots,
            opener,
            started: OnceLock::new(),
            state: Mutex::new(state),
            changed: Condvar::new(),
            wanted: RwLock::default(),
            pending: Arc::default(),
            listeners: RwLock::default(),
            ended: Arc::default(),
        })
    }

    /// Tells somebody of every change from now on.
    pub(crate) fn listen(&self, listener: Listener) {
        self.listeners.write().unwrap_or_else(PoisonError::into_inner).push(listener);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, heard: impl Fn() -> Heard<'static>) {
        for listener in self.listeners.read().unwrap_or_else(PoisonError::into_inner).iter() {
            listener(heard());
        }
    }

    fn touched(&self, batch: &Batch) {
        for listener in self.listeners.read().unwrap_or_else(PoisonError::into_inner).iter() {
            listener(Heard::Touched(batch));
        }
    }

    /// Starts to build the index, unless that was done.
    pub(crate) fn start(self: &Arc<Self>) {
        self.started.get_or_init(|| {
            self.state().phase = Phase::Building(0, 0);
            let live = Arc::downgrade(self);
            let ended = Arc::clone(&self.ended);
            let spawned = thread::Builder::new()
                .name("docent-index".into())
                .spawn(move || keep(&live, &ended));
            if let Err(error) = spawned {
                self.fail(format!("no thread to build the index: {error}"));
            }
        });
    }

    fn fail(&self, reason: String) {
        tracing::warn!(%reason, "the index is not kept in step");
        let mut state = self.state();
        state.phase = Phase::Failed(reason);
        state.listening = Some(false);
        drop(state);
        self.changed.notify_all();
    }

    /// Starts, and waits until changes are heard; `false` where they can't be.
    pub(crate) fn listening(self: &Arc<Self>) -> bool {
        self.start();
        let end = Instant::now() + PATIENCE * 4;
        let mut state = self.state();
        while state.listening.is_none() && Instant::now() < end {
            let woken = self.changed.wait_timeout(state, LOOK_UP);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.listening.unwrap_or(false)
    }

    /// Adds files that were asked for by name, whatever the project ignores.
    pub(crate) fn want(&self, files: impl IntoIterator<Item = (Place, Language)>) {
        let mut batch = Batch::default();
        let mut wanted = self.wanted.write().unwrap_or_else(PoisonError::into_inner);
        for (place, language) in files {
            if wanted.insert(place.clone(), language) != Some(language) {
                batch.paths.insert(self.roots.absolute(&place));
            }
        }
        drop(wanted);
        if !batch.paths.is_empty() {
            self.pending.add(batch);
        }
    }

    /// As which language a file was asked for.
    pub(crate) fn wanted(&self, place: &Place) -> Option<Language> {
        self.wanted.read().unwrap_or_else(PoisonError::into_inner).get(place).copied()
    }

    /// How far it is.
    pub(crate) fn phase(&self) -> Phase {
        self.state().phase.clone()
    }

    /// What the last run did.
    pub(crate) fn report(&self) -> Option<Report> {
        self.state().report.clone()
    }

    /// Waits until the index is built, or for as long as a question should wait.
    pub(crate) fn ready(self: &Arc<Self>, context: &CallContext) -> Result<Phase, ToolError> {
        self.start();
        let end = Instant::now() + PATIENCE;
        let mut told = None;
        let mut state = self.state();
        loop {
            let opened = state.opened.is_some();
            match &state.phase {
                Phase::InStep | Phase::Failed(_) => return Ok(state.phase.clone()),
                phase if opened && Instant::now() >= end => return Ok(phase.clone()),
                _ => {}
            }
            if let Phase::Building(done, total @ 1..) = state.phase
                && told.replace(done) != Some(done)
            {
                let message = format!("indexed {done} of {total} files");
                context.progress(done as u64, Some(total as u64), message);
            }
            if let Some(stop) = context.stop() {
                // Time may be up before anything is ready: whoever has something answers from it.
                return if opened && stop == Stop::Deadline {
                    Ok(state.phase.clone())
                } else {
                    Err(ToolError::Stopped(stop))
                };
            }
            let woken = self.changed.wait_timeout(state, LOOK_UP);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn opened(&self) -> Result<Opened, ToolError> {
        let state = self.state();
        state.opened.clone().ok_or_else(|| match &state.phase {
            Phase::Failed(reason) => {
                ToolError::failed(format!("The index can't be used: {reason}"))
            }
            _ => ToolError::failed("The index is not open yet; ask again in a moment"),
        })
    }

    /// The newest generation, as far as it is.
    pub(crate) fn view(
        self: &Arc<Self>,
        context: &CallContext,
    ) -> Result<(Arc<dyn View>, Phase), ToolError> {
        let phase = self.ready(context)?;
        let view = self.opened()?.store.view().map_err(unusable)?;
        Ok((view, phase))
    }

    /// What a collection is made of, as far as the index is; nothing where nobody asked for it yet.
    pub(crate) fn sources(
        self: &Arc<Self>,
        collection: &str,
        context: &CallContext,
    ) -> Result<Vec<Tally>, ToolError> {
        if self.phase() == Phase::Idle {
            return Ok(Vec::new());
        }
        self.view(context)?.0.sources(collection).map_err(unusable)
    }

    /// What it holds now, without waiting; `None` where nothing was opened yet.
    pub(crate) fn status(&self) -> Option<Status> {
        self.opened().ok()?.store.status().ok()
    }

    /// Answers a query from what is ready.
    pub(crate) fn search(
        self: &Arc<Self>,
        query: &Query,
        context: &CallContext,
    ) -> Result<Searched, ToolError> {
        let phase = self.ready(context)?;
        let Opened { store, embedder } = self.opened()?;
        let answer = docent_index::search(store.as_ref(), embedder.as_ref(), query);
        Ok(Searched { answer: answer.map_err(unusable)?, phase })
    }

    /// Has these files looked at again, and waits a moment for it.
    pub(crate) fn refresh(&self, places: impl IntoIterator<Item = Place>, generation: u64) {
        let paths = places.into_iter().map(|place| self.roots.absolute(&place)).collect();
        self.pending.add(Batch { paths, lost: false });
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end && self.status().is_some_and(|now| now.generation == generation)
        {
            thread::sleep(LOOK_UP / 4);
        }
    }
}

fn unusable(error: StoreError) -> ToolError {
    Failure::new(FailureKind::Database, "The index can't be used").caused_by(error).into()
}

/// Builds the index and follows the files until nobody wants it any more. Holds on to nothing that would keep it alive.
fn keep(live: &Weak<Live>, ended: &AtomicBool) {
    let Some(strong) = live.upgrade() else { return };
    let opened = match (strong.opener)() {
        Ok(opened) => opened,
        Err(error) => return strong.fail(error.to_string()),
    };
    strong.state().opened = Some(opened.clone());
    let (roots, pending) = (strong.roots.clone(), Arc::clone(&strong.pending));
    drop(strong);
    let stopped = || ended.load(Ordering::Relaxed);
    let progress = |done, total| {
        if let Some(live) = live.upgrade() {
            let mut state = live.state();
            if let Phase::Building(..) = state.phase {
                state.phase = Phase::Building(done, total);
            }
        }
    };
    let wanted = || {
        live.upgrade().map_or_else(Wanted::default, |live| {
            live.wanted.read().unwrap_or_else(PoisonError::into_inner).clone()
        })
    };
    let follower = Follower {
        roots: &roots,
        store: opened.store.as_ref(),
        callbacks: Callbacks { progress: &progress, stopped: &stopped },
        pending,
        wanted: &wanted,
        listening: &|listens| {
            if let Some(live) = live.upgrade() {
                live.state().listening = Some(listens);
                live.changed.notify_all();
            }
        },
    };
    let listener = Weak::clone(live);
    let heard = move |batch: &Batch| {
        if let Some(live) = listener.upgrade() {
            live.touched(batch);
        }
    };
    let ending = follower.run(heard, |report| {
        let Some(live) = live.upgrade() else { return };
        let set = match report {
            Ok(report) => {
                let set = report.added + report.removed > 0;
                let mut state = live.state();
                state.phase = Phase::InStep;
                state.report = Some(report);
                set
            }
            Err(error) => {
                tracing::warn!(%error, "the index was not brought in step; tried again with the next change");
                false
            }
        };
        live.changed.notify_all();
        if set {
            live.tell(|| Heard::Set);
        }
    });
    if let (Err(error), Some(live)) = (ending, live.upgrade()) {
        live.fail(error.to_string());
    }
}
