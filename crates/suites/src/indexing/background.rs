//! The index of a running server: built in the background when it is first asked for, kept in step while files change,
//! and asked by every tool that searches.

use super::{
    SyncCallbacks,
    follow::{FollowError, PendingChanges},
    project::ProjectIndexSource,
};
use crate::watch::ChangeBatch;
use docent_index::{IndexSearchResults, IndexQuery, StoreStatus, IndexStore, IndexStoreError, SourceSummary, StoreView, embed::Embedder};
use docent_tool::{CallContext, ToolFailure, FailureKind, CallStop, ToolError};
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

/// A question waits this long for an index that is being updated, and then answers from what is ready.
const INDEX_WAIT: Duration = Duration::from_millis(1500);
/// The same for an index that is built for the first time: until then hardly anything is ready.
const FIRST_BUILD_WAIT: Duration = Duration::from_secs(10);
/// How often whoever waits looks whether nobody waits for it any more.
const CANCEL_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A store, and the model of its vectors.
#[derive(Debug, Clone)]
pub struct OpenedStore {
    /// Where units are kept.
    pub store: Arc<dyn IndexStore>,
    /// What questions are embedded with.
    pub embedder: Arc<dyn Embedder>,
}

/// Opens the store when it is first needed.
pub type StoreOpener = Arc<dyn Fn() -> Result<OpenedStore, Box<dyn Error + Send + Sync>> + Send + Sync>;

/// Opens the store once, for all who need it.
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

/// How far the index is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum IndexPhase {
    /// Nobody asked yet.
    Idle,
    /// So many files of so many are done; nothing is known of files that changed or went since the last time.
    Building(usize, usize),
    /// As the files are, but for what is being written right now.
    UpToDate,
    /// It can't be kept.
    Failed(String),
}

/// What listeners hear.
#[derive(Debug)]
pub(crate) enum FileEvent<'a> {
    /// Files or folders changed. The index does not know yet.
    Touched(&'a ChangeBatch),
    /// The index is of another set of files.
    SetChanged,
}

type FileEventListener = Box<dyn Fn(FileEvent<'_>) + Send + Sync>;

/// What a search gave.
#[derive(Debug)]
pub(crate) struct IndexSearchAnswer {
    pub(crate) answer: IndexSearchResults,
    pub(crate) phase: IndexPhase,
}

/// What an index is kept in step with.
pub(crate) trait IndexSource: Send + Sync + 'static {
    /// What a run did.
    type Report: Clone + Send + fmt::Debug;
    /// Brings the store in step, and again whenever something changes, until it is told to stop.
    fn follow(&self, following: FollowContext<'_, Self::Report>) -> Result<(), FollowError>;
    /// Whether the index is of another set of files after a run.
    fn is_other_set(report: &Self::Report) -> bool;
}

/// What a ground needs to follow changes, and whom it tells.
pub(crate) struct FollowContext<'a, R> {
    /// Where units are kept.
    pub(crate) store: &'a dyn IndexStore,
    /// How far it is, and whether to stop.
    pub(crate) callbacks: SyncCallbacks<'a>,
    /// What changed.
    pub(crate) pending: Arc<PendingChanges>,
    /// Hears whether changes are heard from now on.
    pub(crate) on_listening: &'a dyn Fn(bool),
    /// Hears of changes at once, on a thread of its own.
    pub(crate) on_touched: Box<dyn Fn(&ChangeBatch) + Send>,
    /// Hears of the first run, and of every one that changed something or failed.
    pub(crate) on_synced: &'a dyn Fn(Result<R, IndexStoreError>),
}

#[derive(Debug)]
struct BackgroundIndexState<R> {
    phase: IndexPhase,
    opened: Option<OpenedStore>,
    /// Whether the store was empty when it was opened, and has not been filled yet.
    is_first_build: bool,
    report: Option<R>,
    /// Whether changes are heard; `None` until that is known.
    listening: Option<bool>,
}

/// The index of a running server.
#[expect(private_bounds, reason = "only this crate has grounds")]
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
        f.debug_struct("Live").field("state", &self.state).finish_non_exhaustive()
    }
}

impl<G: IndexSource> Drop for BackgroundIndex<G> {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}

#[expect(private_bounds, reason = "only this crate has grounds")]
impl<G: IndexSource> BackgroundIndex<G> {
    /// An index of this ground. Nothing is opened or read until somebody asks.
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

    /// What it is an index of.
    pub(crate) fn source(&self) -> &G {
        &self.source
    }

    /// Tells somebody of every change from now on.
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

    /// Starts to build the index, unless that was done.
    pub(crate) fn start(self: &Arc<Self>) {
        self.started.get_or_init(|| {
            self.state().phase = IndexPhase::Building(0, 0);
            let live = Arc::downgrade(self);
            let ended = Arc::clone(&self.ended);
            let spawned = thread::Builder::new()
                .name("docent-index".into())
                .spawn(move || follow_until_dropped(&live, &ended));
            if let Err(error) = spawned {
                self.fail(format!("no thread to build the index: {error}"));
            }
        });
    }

    fn fail(&self, reason: String) {
        tracing::warn!(%reason, "the index is not kept in step");
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
                // The first run is announced in any case: the index can be asked from now on.
                let set = is_other_set || state.report.is_none();
                state.phase = IndexPhase::UpToDate;
                state.is_first_build = false;
                state.report = Some(report);
                set
            }
            Err(error) => {
                tracing::warn!(%error, "the index was not brought in step; tried again with the next change");
                false
            }
        };
        self.changed.notify_all();
        if set {
            self.notify_set_changed(|| FileEvent::SetChanged);
        }
    }

    /// Starts, and waits until changes are heard; `false` where they can't be.
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

    /// Whether changes are heard of at this moment.
    pub(crate) fn is_listening(&self) -> bool {
        self.state().listening == Some(true)
    }

    /// How far it is.
    pub(crate) fn phase(&self) -> IndexPhase {
        self.state().phase.clone()
    }

    /// What the last run did.
    pub(crate) fn report(&self) -> Option<G::Report> {
        self.state().report.clone()
    }

    /// Waits until the index is built, or for as long as a question should wait.
    pub(crate) fn ready(self: &Arc<Self>, context: &CallContext) -> Result<IndexPhase, ToolError> {
        self.start();
        let begin = Instant::now();
        let mut told = None;
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
                && told.replace(done) != Some(done)
            {
                let message = format!("indexed {done} of {total} files");
                context.progress(done as u64, Some(total as u64), message);
            }
            if let Some(stop) = context.stop() {
                // Time may be up before anything is ready: whoever has something answers from it.
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
                ToolError::failed(format!("The index can't be used: {reason}"))
            }
            _ => ToolError::failed("The index is not open yet; ask again in a moment"),
        })
    }

    /// The newest generation, as far as it is.
    pub(crate) fn view(
        self: &Arc<Self>,
        context: &CallContext,
    ) -> Result<(Arc<dyn StoreView>, IndexPhase), ToolError> {
        let phase = self.ready(context)?;
        let view = self.opened()?.store.view().map_err(unusable)?;
        Ok((view, phase))
    }

    /// What a collection is made of, as far as the index is; nothing where nobody asked for it yet.
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

    /// What it holds now, without waiting; `None` where nothing was opened yet.
    pub(crate) fn status(&self) -> Option<StoreStatus> {
        self.opened().ok()?.store.status().ok()
    }

    /// Whether the index lacks one of these sources of a collection; `false` where that can't be known now.
    pub(crate) fn lacks(&self, collection: &str, paths: &[String]) -> bool {
        let opened = self.open_store().ok();
        let known = opened.and_then(|opened| opened.store.digests(collection).ok());
        known.is_some_and(|known| paths.iter().any(|path| !known.contains_key(path)))
    }

    /// Answers a query from what is ready.
    pub(crate) fn search(
        self: &Arc<Self>,
        query: &IndexQuery,
        context: &CallContext,
    ) -> Result<IndexSearchAnswer, ToolError> {
        let phase = self.ready(context)?;
        if context.stop() == Some(CallStop::Cancelled) {
            return Err(ToolError::Stopped(CallStop::Cancelled));
        }
        let OpenedStore { store, embedder } = self.opened()?;
        let answer = docent_index::search(store.as_ref(), embedder.as_ref(), query);
        Ok(IndexSearchAnswer { answer: answer.map_err(unusable)?, phase })
    }

    /// Has everything looked at again, once it was started.
    pub(crate) fn request_full_scan(&self) {
        self.pending.add(ChangeBatch { lost: true, ..ChangeBatch::default() });
    }

    /// Has what changed looked at again, and waits a moment for it. A client that has many calls waiting for that does
    /// not wait with another one: its answer says which files have changed.
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
    ToolFailure::new(FailureKind::Database, "The index can't be used").caused_by(error).into()
}

/// Builds the index and follows the files until nobody wants it any more. Holds on to nothing that would keep it alive.
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
    let (ground, pending) = (Arc::clone(&strong.ground), Arc::clone(&strong.pending));
    drop(strong);
    // Questions are answered on the pool that all share, and must not wait for files to be parsed.
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
            live.touched(batch);
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
    use docent_tool::{ClientQuery, CallClient, AnswerBlock, SyslogLevel, Progress, BoxedFuture, ShareSlot};
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
        let live = BackgroundIndex::with_source(Arc::clone(&busy), crate::test_index(folder.path()));
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
        fn ask<'a>(&'a self, _: &'a str, _: ClientQuery) -> BoxedFuture<'a, Result<Value, ToolError>> {
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
            let client = Arc::new(IndexShareAudience { has_share, ..IndexShareAudience::default() });
            // Its time is up, so that one look at the clock ends the wait.
            let (cancel, deadline) = (CancellationToken::new(), Some(Instant::now()));
            let context = CallContext::new(Arc::clone(&client) as _, cancel, deadline);
            live.look_again(ChangeBatch::default(), generation, &context);
            assert_eq!(client.asked.load(Ordering::Relaxed), want, "{has_share}");
        }
    }
}
