//! The index of a running server: built in the background on first use, updated as files change, and shared by all
//! search tools.

use super::{
    SyncCallbacks,
    follow::{FollowError, PendingChanges},
    project::ProjectIndexSource,
};
use crate::watch::ChangeBatch;
use docent_index::{
    IndexQuery, IndexSearchResults, IndexStore, IndexStoreError, SourceSummary, StoreStatus,
    StoreView, embed::Embedder,
};
use docent_tool::{CallContext, CallStop, FailureKind, ToolError, ToolFailure};
use rayon::ThreadPoolBuilder;
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

/// How long a query waits for an index that is being updated before it uses what is ready.
const INDEX_WAIT: Duration = Duration::from_millis(1500);
/// The same for the first build, when hardly anything is ready.
const FIRST_BUILD_WAIT: Duration = Duration::from_secs(10);
/// How often a waiting call checks whether it was canceled.
const CANCEL_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A store and the embedder of its vectors.
#[derive(Debug, Clone)]
pub struct OpenedStore {
    /// Store of the units.
    pub store: Arc<dyn IndexStore>,
    /// Embedder for queries.
    pub embedder: Arc<dyn Embedder>,
}

/// Opens the store on first use.
pub type StoreOpener =
    Arc<dyn Fn() -> Result<OpenedStore, Box<dyn Error + Send + Sync>> + Send + Sync>;

/// Wraps an opener so that the store is opened only once.
pub(crate) fn once(opener: StoreOpener) -> StoreOpener {
    let kept: Mutex<Option<OpenedStore>> = Mutex::default();
    Arc::new(move || {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = &*kept {
            return Ok(kept.clone());
        }
        Ok(kept.insert(opener()?).clone())
    })
}

/// Phase of the index.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum IndexPhase {
    /// Not requested yet.
    Idle,
    /// Files done and total; files changed or removed since the last run are not known yet.
    Building(usize, usize),
    /// Up to date, except for changes being written right now.
    UpToDate,
    /// Not available; holds the reason.
    Failed(String),
}

/// Event for listeners.
#[derive(Debug)]
pub(crate) enum FileEvent<'a> {
    /// Files or folders changed; the index is not updated yet.
    Touched(&'a ChangeBatch),
    /// The set of indexed files changed.
    SetChanged,
}

type FileEventListener = Box<dyn Fn(FileEvent<'_>) + Send + Sync>;

/// Result of a search.
#[derive(Debug)]
pub(crate) struct IndexSearchAnswer {
    pub(crate) answer: IndexSearchResults,
    pub(crate) phase: IndexPhase,
}

/// Source of the files of an index.
pub(crate) trait IndexSource: Send + Sync + 'static {
    /// Result of a run.
    type Report: Clone + Send + fmt::Debug;
    /// Updates the store, and again after each change, until stopped.
    fn follow(&self, following: FollowContext<'_, Self::Report>) -> Result<(), FollowError>;
    /// Whether a run changed the set of indexed files.
    fn is_other_set(report: &Self::Report) -> bool;
}

/// What an index source needs to follow changes and report them.
pub(crate) struct FollowContext<'a, R> {
    /// Store of the units.
    pub(crate) store: &'a dyn IndexStore,
    /// Reports progress and checks for a stop.
    pub(crate) callbacks: SyncCallbacks<'a>,
    /// Pending changes.
    pub(crate) pending: Arc<PendingChanges>,
    /// Called with whether changes are watched from now on.
    pub(crate) on_listening: &'a dyn Fn(bool),
    /// Called immediately for each batch of changes, on its own thread.
    pub(crate) on_touched: Box<dyn Fn(&ChangeBatch) + Send>,
    /// Called after the first run, and after every run that changed something or failed.
    pub(crate) on_synced: &'a dyn Fn(Result<R, IndexStoreError>),
}

#[derive(Debug)]
struct BackgroundIndexState<R> {
    phase: IndexPhase,
    opened: Option<OpenedStore>,
    /// Whether the store was empty when opened and is not filled yet.
    is_first_build: bool,
    report: Option<R>,
    /// Whether changes are watched; `None` until that is known.
    listening: Option<bool>,
}

/// The index of a running server.
#[expect(private_bounds, reason = "only this crate has index sources")]
pub struct BackgroundIndex<G: IndexSource = ProjectIndexSource> {
    pub(super) source: Arc<G>,
    opener: StoreOpener,
    started: OnceLock<()>,
    state: Mutex<BackgroundIndexState<G::Report>>,
    changed: Condvar,
    pub(super) pending: Arc<PendingChanges>,
    listeners: RwLock<Vec<FileEventListener>>,
    ended: Arc<AtomicBool>,
}

impl<G: IndexSource> fmt::Debug for BackgroundIndex<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackgroundIndex").field("state", &self.state).finish_non_exhaustive()
    }
}

impl<G: IndexSource> Drop for BackgroundIndex<G> {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}

#[expect(private_bounds, reason = "only this crate has index sources")]
impl<G: IndexSource> BackgroundIndex<G> {
    /// Creates an index of this source. Opens and reads nothing until first use.
    pub(crate) fn with_source(ground: G, opener: StoreOpener) -> Arc<Self> {
        let state = BackgroundIndexState {
            phase: IndexPhase::Idle,
            opened: None,
            is_first_build: false,
            report: None,
            listening: None,
        };
        Arc::new(Self {
            source: Arc::new(ground),
            opener,
            started: OnceLock::new(),
            state: Mutex::new(state),
            changed: Condvar::new(),
            pending: Arc::default(),
            listeners: RwLock::default(),
            ended: Arc::default(),
        })
    }

    /// The source of the index.
    pub(crate) fn source(&self) -> &G {
        &self.source
    }

    /// Adds a listener for changes.
    pub(crate) fn listen(&self, listener: FileEventListener) {
        self.listeners.write().unwrap_or_else(PoisonError::into_inner).push(listener);
    }

    fn state(&self) -> MutexGuard<'_, BackgroundIndexState<G::Report>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn notify_set_changed(&self, heard: impl Fn() -> FileEvent<'static>) {
        for listener in self.listeners.read().unwrap_or_else(PoisonError::into_inner).iter() {
            listener(heard());
        }
    }

    fn notify_touched(&self, batch: &ChangeBatch) {
        for listener in self.listeners.read().unwrap_or_else(PoisonError::into_inner).iter() {
            listener(FileEvent::Touched(batch));
        }
    }

    /// Starts building the index, once.
    pub(crate) fn start(self: &Arc<Self>) {
        self.started.get_or_init(|| {
            self.state().phase = IndexPhase::Building(0, 0);
            let live = Arc::downgrade(self);
            let ended = Arc::clone(&self.ended);
            let spawned = thread::Builder::new()
                .name("docent-index".into())
                .spawn(move || follow_until_dropped(&live, &ended));
            if let Err(error) = spawned {
                self.fail(format!("cannot start the thread that builds the index: {error}"));
            }
        });
    }

    fn fail(&self, reason: String) {
        tracing::warn!(%reason, "the index is not being updated");
        let mut state = self.state();
        state.phase = IndexPhase::Failed(reason);
        state.listening = Some(false);
        drop(state);
        self.changed.notify_all();
    }

    fn synced(&self, report: Result<G::Report, IndexStoreError>) {
        let set = match report {
            Ok(report) => {
                let is_other_set = G::is_other_set(&report);
                let mut state = self.state();
                // Always announce the first run: the index can be queried from now on.
                let set = is_other_set || state.report.is_none();
                state.phase = IndexPhase::UpToDate;
                state.is_first_build = false;
                state.report = Some(report);
                set
            }
            Err(error) => {
                tracing::warn!(%error, "cannot update the index; retrying after the next change");
                false
            }
        };
        self.changed.notify_all();
        if set {
            self.notify_set_changed(|| FileEvent::SetChanged);
        }
    }

    /// Starts the index and waits until changes are watched; `false` if they can't be.
    pub(crate) fn listening(self: &Arc<Self>) -> bool {
        self.start();
        let end = Instant::now() + INDEX_WAIT * 4;
        let mut state = self.state();
        while state.listening.is_none() && Instant::now() < end {
            let woken = self.changed.wait_timeout(state, CANCEL_POLL_INTERVAL);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.listening.unwrap_or(false)
    }

    /// Whether changes are being watched.
    pub(crate) fn is_listening(&self) -> bool {
        self.state().listening == Some(true)
    }

    /// The current phase.
    pub(crate) fn phase(&self) -> IndexPhase {
        self.state().phase.clone()
    }

    /// Report of the last run.
    pub(crate) fn report(&self) -> Option<G::Report> {
        self.state().report.clone()
    }

    /// Waits until the index is built, or for the maximum time a query may wait.
    pub(crate) fn ready(self: &Arc<Self>, context: &CallContext) -> Result<IndexPhase, ToolError> {
        self.start();
        let begin = Instant::now();
        let mut reported = None;
        let mut state = self.state();
        loop {
            let opened = state.opened.is_some();
            let patience = if state.is_first_build { FIRST_BUILD_WAIT } else { INDEX_WAIT };
            match &state.phase {
                IndexPhase::UpToDate | IndexPhase::Failed(_) => return Ok(state.phase.clone()),
                phase if opened && begin.elapsed() >= patience => return Ok(phase.clone()),
                _ => {}
            }
            if let IndexPhase::Building(done, total @ 1..) = state.phase
                && reported.replace(done) != Some(done)
            {
                let message = format!("indexed {done} of {total} files");
                context.progress(done as u64, Some(total as u64), message);
            }
            if let Some(stop) = context.stop() {
                // Time may run out before anything is ready; answer from what there is.
                return if opened && stop == CallStop::Deadline {
                    Ok(state.phase.clone())
                } else {
                    Err(ToolError::Stopped(stop))
                };
            }
            let woken = self.changed.wait_timeout(state, CANCEL_POLL_INTERVAL);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn open_store(&self) -> Result<OpenedStore, ToolError> {
        let state = self.state();
        state.opened.clone().ok_or_else(|| match &state.phase {
            IndexPhase::Failed(reason) => {
                ToolError::failed(format!("The index is unavailable: {reason}"))
            }
            _ => ToolError::failed("The index is not open yet; try again in a moment"),
        })
    }

    /// The newest generation and the current phase.
    pub(crate) fn view(
        self: &Arc<Self>,
        context: &CallContext,
    ) -> Result<(Arc<dyn StoreView>, IndexPhase), ToolError> {
        let phase = self.ready(context)?;
        let view = self.open_store()?.store.view().map_err(unusable)?;
        Ok((view, phase))
    }

    /// The indexed sources of a collection; empty if the index was not requested yet.
    pub(crate) fn sources(
        self: &Arc<Self>,
        collection: &str,
        context: &CallContext,
    ) -> Result<Vec<SourceSummary>, ToolError> {
        if self.phase() == IndexPhase::Idle {
            return Ok(Vec::new());
        }
        self.view(context)?.0.sources(collection).map_err(unusable)
    }

    /// The store's status, without waiting; `None` if it is not open yet.
    pub(crate) fn status(&self) -> Option<StoreStatus> {
        self.open_store().ok()?.store.status().ok()
    }

    /// Whether the index lacks one of these sources of a collection; `false` if unknown.
    pub(crate) fn lacks(&self, collection: &str, paths: &[String]) -> bool {
        let opened = self.open_store().ok();
        let known = opened.and_then(|opened| opened.store.digests(collection).ok());
        known.is_some_and(|known| paths.iter().any(|path| !known.contains_key(path)))
    }

    /// Runs a query on what is ready.
    pub(crate) fn search(
        self: &Arc<Self>,
        query: &IndexQuery,
        context: &CallContext,
    ) -> Result<IndexSearchAnswer, ToolError> {
        let phase = self.ready(context)?;
        if context.stop() == Some(CallStop::Cancelled) {
            return Err(ToolError::Stopped(CallStop::Cancelled));
        }
        let OpenedStore { store, embedder } = self.open_store()?;
        let answer = docent_index::search(store.as_ref(), embedder.as_ref(), query);
        Ok(IndexSearchAnswer { answer: answer.map_err(unusable)?, phase })
    }

    /// Requests a full scan, if the index was started.
    pub(crate) fn request_full_scan(&self) {
        self.pending.add(ChangeBatch { lost: true, ..ChangeBatch::default() });
    }

    /// Requests an update of changed files and waits a moment for it. A client with many calls waiting does not wait
    /// with another one: its answer says which files have changed.
    pub(crate) fn rescan(&self, batch: ChangeBatch, generation: u64, context: &CallContext) {
        self.pending.add(batch);
        let Some(_slot) = context.index_slot() else { return };
        let end = Instant::now() + INDEX_WAIT;
        let is_old = || self.status().is_some_and(|now| now.generation == generation);
        while Instant::now() < end && context.stop().is_none() && is_old() {
            thread::sleep(CANCEL_POLL_INTERVAL / 4);
        }
    }
}

fn unusable(error: IndexStoreError) -> ToolError {
    ToolFailure::new(FailureKind::Database, "The index is unavailable").caused_by(error).into()
}

/// Builds the index and follows the files until the index is dropped. Holds only a weak reference, so as not to keep it
/// alive.
fn follow_until_dropped<G: IndexSource>(live: &Weak<BackgroundIndex<G>>, ended: &AtomicBool) {
    let Some(strong) = live.upgrade() else { return };
    let opened = match (strong.opener)() {
        Ok(opened) => opened,
        Err(error) => return strong.fail(error.to_string()),
    };
    let is_first_build = opened.store.status().is_ok_and(|status| status.generation == 0);
    {
        let mut state = strong.state();
        (state.opened, state.is_first_build) = (Some(opened.clone()), is_first_build);
    }
    let (ground, pending) = (Arc::clone(&strong.source), Arc::clone(&strong.pending));
    drop(strong);
    // Queries run on the shared pool and must not wait for files to be parsed.
    let own = ThreadPoolBuilder::new().use_current_thread();
    let _pool = own.thread_name(|thread| format!("docent-index-{thread}")).build();
    let stopped = || ended.load(Ordering::Relaxed);
    let progress = |done, total| {
        if let Some(live) = live.upgrade() {
            let mut state = live.state();
            if let IndexPhase::Building(..) = state.phase {
                state.phase = IndexPhase::Building(done, total);
            }
        }
    };
    let listener = Weak::clone(live);
    let heard = move |batch: &ChangeBatch| {
        if let Some(live) = listener.upgrade() {
            live.notify_touched(batch);
        }
    };
    let ending = ground.follow(FollowContext {
        store: opened.store.as_ref(),
        callbacks: SyncCallbacks { progress: &progress, stopped: &stopped },
        pending,
        on_listening: &|listens| {
            if let Some(live) = live.upgrade() {
                live.state().listening = Some(listens);
                live.changed.notify_all();
            }
        },
        on_touched: Box::new(heard),
        on_synced: &|report| {
            if let Some(live) = live.upgrade() {
                live.synced(report);
            }
        },
    });
    if let (Err(error), Some(live)) = (ending, live.upgrade()) {
        live.fail(error.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use docent_tool::{
        AnswerBlock, BoxedFuture, CallClient, ClientQuery, Progress, ShareSlot, SyslogLevel,
    };
    use rayon::prelude::*;
    use serde_json::Value;
    use std::sync::atomic::AtomicUsize;
    use tokio::sync::SetOnce;
    use tokio_util::sync::CancellationToken;

    /// Keeps every thread that it gets until it is let go.
    #[derive(Default)]
    struct BusySource {
        /// How many threads, and whether they may leave.
        state: Mutex<(usize, bool)>,
        changed: Condvar,
    }

    impl BusySource {
        fn stay(&self) {
            let mut state = self.state.lock().unwrap();
            state.0 += 1;
            self.changed.notify_all();
            drop(self.changed.wait_while(state, |state| !state.1).unwrap());
        }

        fn wait_for(&self, threads: usize) {
            let state = self.state.lock().unwrap();
            drop(self.changed.wait_while(state, |state| state.0 < threads).unwrap());
        }

        fn let_go(&self) {
            self.state.lock().unwrap().1 = true;
            self.changed.notify_all();
        }
    }

    impl IndexSource for Arc<BusySource> {
        type Report = ();

        fn follow(&self, _: FollowContext<'_, ()>) -> Result<(), FollowError> {
            let threads = rayon::current_num_threads();
            (0..threads * 8).into_par_iter().for_each(|_| self.stay());
            Ok(())
        }

        fn is_other_set((): &()) -> bool {
            false
        }
    }

    #[test]
    fn files_that_are_indexed_keep_no_question_waiting() {
        let busy = Arc::<BusySource>::default();
        let folder = tempfile::tempdir().unwrap();
        let live =
            BackgroundIndex::with_source(Arc::clone(&busy), crate::test_index(folder.path()));
        live.start();
        busy.wait_for(rayon::current_num_threads());
        assert_eq!(rayon::join(|| 1, || 2), (1, 2));
        busy.let_go();
    }

    /// A client with or without a share of index work left; counts how often it is asked whether to go on.
    #[derive(Default)]
    struct IndexShareAudience {
        has_share: bool,
        asked: AtomicUsize,
    }

    impl CallClient for IndexShareAudience {
        fn progress(&self, _: Progress) {}
        fn log(&self, _: SyslogLevel, _: &str, _: Value) {}
        fn emit(&self, _: AnswerBlock) -> BoxedFuture<'_, ()> {
            Box::pin(std::future::ready(()))
        }
        fn ask<'a>(
            &'a self,
            _: &'a str,
            _: ClientQuery,
        ) -> BoxedFuture<'a, Result<Value, ToolError>> {
            Box::pin(std::future::ready(Err(ToolError::ClientLacks("questions"))))
        }
        fn state(&self) -> Option<String> {
            None
        }
        fn index_slot(&self) -> Option<ShareSlot> {
            self.has_share.then(|| Box::new(()) as ShareSlot)
        }
        fn shutdown_requested(&self) -> Option<&SetOnce<()>> {
            self.asked.fetch_add(1, Ordering::Relaxed);
            None
        }
    }

    #[test]
    fn a_client_that_has_its_share_waits_for_no_changed_file() {
        let folder = tempfile::tempdir().unwrap();
        let opener = crate::test_index(folder.path());
        let live = BackgroundIndex::with_source(Arc::<BusySource>::default(), Arc::clone(&opener));
        live.state().opened = Some(opener().unwrap());
        let generation = live.status().unwrap().generation;
        for (has_share, want) in [(true, 1), (false, 0)] {
            let client =
                Arc::new(IndexShareAudience { has_share, ..IndexShareAudience::default() });
            // Its time is up, so that one look at the clock ends the wait.
            let (cancel, deadline) = (CancellationToken::new(), Some(Instant::now()));
            let context = CallContext::new(Arc::clone(&client) as _, cancel, deadline);
            live.rescan(ChangeBatch::default(), generation, &context);
            assert_eq!(client.asked.load(Ordering::Relaxed), want, "{has_share}");
        }
    }
}
