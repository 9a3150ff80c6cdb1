//! The pool of workers: how many scripts run at once, which worker runs the next one, and when workers are ended.
//!
//! A worker that ended a script cleanly is kept for the next script of the same owner, because starting a process takes
//! longer than running most scripts. One that had to be stopped, or that ran out of memory, is killed.

use crate::error::{ScriptErrorKind, ScriptFailure};
use crate::protocol::FrameReader;
use crate::run::{ScriptRequest, ScriptRun};
use crate::{ScriptError, ScriptLimits};
use futures::future::BoxFuture;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// Scripts that run at the same time. Others wait.
const MAX_RUNNING: usize = 16;

/// Scripts of one owner that run at the same time, so that no owner can block code mode for the others.
const MAX_RUNNING_PER_OWNER: usize = 8;

/// Running scripts that are not the first of their owner. The other slots are for owners without a running script.
const MAX_RUNNING_BEYOND_FIRST: usize = 12;

/// When to retry a refused script.
const RETRY_SECONDS: u64 = 5;

/// Workers that are kept for the next script.
const MAX_IDLE: usize = 2;

/// How long a worker is kept for the next script.
const WORKER_IDLE_TIMEOUT: Duration = Duration::from_mins(5);

/// Scripts that one worker runs, so that memory leaks of the engine don't add up.
const MAX_SCRIPTS: usize = 200;

/// How long to wait for a killed worker before its slot is freed anyway.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// How long to wait for a worker's exit status.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// Starts worker processes.
pub trait StartWorker: fmt::Debug + Send + Sync {
    /// Starts a process that calls [`serve_worker`](crate::serve_worker) on its pipes. An error says what is wrong and what
    /// to do.
    fn start(&self) -> BoxFuture<'_, Result<StartedWorker, String>>;
}

/// A worker and the ends of its pipes.
pub struct StartedWorker {
    /// Where requests are written.
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
    /// Where its messages are read.
    pub output: Box<dyn AsyncRead + Send + Unpin>,
    /// The process itself.
    pub process: Box<dyn WorkerProcess>,
}

/// A worker's process. Dropping it ends it.
pub trait WorkerProcess: Send + Sync {
    /// Waits until the process has ended.
    fn exit(&self) -> BoxFuture<'_, WorkerExit>;
    /// Kills the process and waits until it has ended.
    fn kill(&self) -> BoxFuture<'_, ()>;
}

/// How a worker ended before its script did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerExit {
    /// The kernel ended it at its limit of processor time.
    OutOfTime,
    /// It ran out of memory.
    OutOfMemory,
    /// Another reason, in words.
    Other(String),
}

/// The workers that run scripts.
#[derive(Debug)]
pub struct Workers {
    this: Weak<Self>,
    starter: Arc<dyn StartWorker>,
    slots: Arc<Semaphore>,
    /// The slots for all scripts that are not the first of their owner.
    beyond_first: Arc<Semaphore>,
    /// The slots of owners whose scripts run or wait.
    owners: Mutex<HashMap<String, Weak<OwnerSlots>>>,
    idle: Mutex<Vec<IdleWorker>>,
}

/// The slots of one owner.
#[derive(Debug)]
struct OwnerSlots {
    first: Arc<Semaphore>,
    further: Arc<Semaphore>,
}

/// A slot for a running script, among all scripts and among those of its owner.
struct ScriptSlot {
    _owner: Arc<OwnerSlots>,
    _own: OwnedSemaphorePermit,
    _beyond_first: Option<OwnedSemaphorePermit>,
    _running: OwnedSemaphorePermit,
}

/// A worker that waits for a script.
struct IdleWorker {
    worker: ScriptWorker,
    since: Instant,
}

impl fmt::Debug for IdleWorker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdleWorker").field("since", &self.since).finish_non_exhaustive()
    }
}

/// Where a worker's requests are written.
pub(crate) type WorkerInput = Box<dyn AsyncWrite + Send + Unpin>;

/// A worker with its pipes.
struct ScriptWorker {
    input: WorkerInput,
    output: FrameReader,
    process: Box<dyn WorkerProcess>,
    /// The owner of the scripts that it has run.
    owner: Option<String>,
    /// The number of scripts.
    scripts: usize,
}

impl Workers {
    /// Creates the pool. No worker is started before there is a script to run.
    pub fn new(starter: Arc<dyn StartWorker>) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            this: Weak::clone(this),
            starter,
            slots: Arc::new(Semaphore::new(MAX_RUNNING)),
            beyond_first: Arc::new(Semaphore::new(MAX_RUNNING_BEYOND_FIRST)),
            owners: Mutex::default(),
            idle: Mutex::default(),
        })
    }

    /// Starts a script on a worker as soon as a slot is free. Needs a tokio runtime.
    pub async fn start(
        &self,
        script: &ScriptRequest<'_>,
        cancel: &CancellationToken,
    ) -> Result<ScriptRun, ScriptError> {
        let begun = Instant::now();
        let refuse = |failure: ScriptFailure| refused(failure, begun.elapsed());
        let own = self.slots_of(script.owner);
        let waited = tokio::select! {
            biased;
            () = cancel.cancelled() => {
                return Err(refuse(ScriptFailure::new(ScriptErrorKind::Cancelled, "the script was cancelled")));
            }
            waited = tokio::time::timeout(slot_timeout(script.limits), self.take_slot(&own)) => waited,
        };
        // The semaphores are never closed.
        let Ok(Ok(slot)) = waited else { return Err(refuse(self.busy(&own))) };
        let idle = self.take_idle(script.owner);
        let was_idle = idle.is_some();
        let started = match idle {
            Some(worker) => Ok(worker),
            None => self.start_worker().await,
        };
        let mut worker = started.map_err(refuse)?;
        worker.owner = Some(script.owner.to_owned());
        worker.scripts += 1;
        let lease = WorkerLease {
            worker: Some(worker),
            slot: Some(slot),
            workers: Weak::clone(&self.this),
            was_idle,
        };
        Ok(ScriptRun::new(script, lease))
    }

    fn slots_of(&self, owner: &str) -> Arc<OwnerSlots> {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slots) = owners.get(owner).and_then(Weak::upgrade) {
            return slots;
        }
        owners.retain(|_, slots| slots.strong_count() > 0);
        let slots = Arc::new(OwnerSlots {
            first: Arc::new(Semaphore::new(1)),
            further: Arc::new(Semaphore::new(MAX_RUNNING_PER_OWNER - 1)),
        });
        owners.insert(owner.to_owned(), Arc::downgrade(&slots));
        slots
    }

    async fn take_slot(&self, owner: &Arc<OwnerSlots>) -> Result<ScriptSlot, AcquireError> {
        let first = Arc::clone(&owner.first).acquire_owned();
        let further = async {
            let own = Arc::clone(&owner.further).acquire_owned().await?;
            let beyond_first = Arc::clone(&self.beyond_first).acquire_owned().await?;
            Ok::<_, AcquireError>((own, Some(beyond_first)))
        };
        let (own, beyond_first) = tokio::select! {
            biased;
            first = first => (first?, None),
            further = further => further?,
        };
        let running = Arc::clone(&self.slots).acquire_owned().await?;
        let owner = Arc::clone(owner);
        Ok(ScriptSlot { _owner: owner, _own: own, _beyond_first: beyond_first, _running: running })
    }

    /// Returns why a script did not get a slot, and when to retry.
    fn busy(&self, owner: &OwnerSlots) -> ScriptFailure {
        let has_first = owner.first.available_permits() == 0;
        let running = if has_first && owner.further.available_permits() == 0 {
            format!("{MAX_RUNNING_PER_OWNER} other scripts of this client are running")
        } else if has_first && self.beyond_first.available_permits() == 0 {
            format!(
                "{MAX_RUNNING_BEYOND_FIRST} scripts of clients that run more than one are running"
            )
        } else {
            format!("{MAX_RUNNING} other scripts are running")
        };
        let message = format!(
            "{running}, and none ended while this one waited; try again in {RETRY_SECONDS} s"
        );
        ScriptFailure::new(ScriptErrorKind::Engine, message)
    }

    async fn start_worker(&self) -> Result<ScriptWorker, ScriptFailure> {
        let StartedWorker { input, output, process } =
            self.starter.start().await.map_err(|problem| {
                ScriptFailure::new(
                    ScriptErrorKind::Engine,
                    format!("the script can't be run: {problem}"),
                )
            })?;
        Ok(ScriptWorker {
            input,
            output: FrameReader::new(output),
            process,
            owner: None,
            scripts: 0,
        })
    }

    fn idle(&self) -> MutexGuard<'_, Vec<IdleWorker>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an idle worker that has run only this owner's scripts, or none.
    fn take_idle(&self, owner: &str) -> Option<ScriptWorker> {
        let mut idle = self.idle();
        let is_own = |one: &IdleWorker| one.worker.owner.as_deref().is_none_or(|own| own == owner);
        let at = idle.iter().rposition(is_own)?;
        Some(idle.remove(at).worker)
    }

    /// Keeps a worker for the next script. If there are too many, the one that has been idle longest is ended.
    fn keep(&self, worker: ScriptWorker) {
        let mut idle = self.idle();
        idle.push(IdleWorker { worker, since: Instant::now() });
        let surplus = idle.len().saturating_sub(MAX_IDLE);
        let ended: Vec<IdleWorker> = idle.drain(..surplus).collect();
        drop(idle);
        drop(ended);
        let this = Weak::clone(&self.this);
        tokio::spawn(async move {
            tokio::time::sleep(WORKER_IDLE_TIMEOUT).await;
            let Some(workers) = this.upgrade() else { return };
            workers.idle().retain(|one| one.since.elapsed() < WORKER_IDLE_TIMEOUT);
        });
    }

    /// Starts a worker to replace a killed one, so that the next script does not wait for it.
    fn replace(&self) {
        let this = Weak::clone(&self.this);
        tokio::spawn(async move {
            let Some(workers) = this.upgrade() else { return };
            if !workers.idle().is_empty() {
                return;
            }
            // The next script starts one itself and reports the error.
            if let Ok(worker) = workers.start_worker().await {
                workers.keep(worker);
            }
        });
    }
}

/// How long a script waits for a slot: as long as it may run, within limits.
fn slot_timeout(limits: &ScriptLimits) -> Duration {
    limits.time.clamp(Duration::from_secs(1), Duration::from_mins(1))
}

fn refused(failure: ScriptFailure, elapsed: Duration) -> ScriptError {
    ScriptError {
        kind: failure.kind,
        message: failure.message,
        line: None,
        column: None,
        source_line: None,
        console: Vec::new(),
        calls: Vec::new(),
        truncated: false,
        elapsed,
    }
}

/// A worker that runs a script, and its slot. Dropping it kills the worker; the slot is free once the worker is gone.
pub(crate) struct WorkerLease {
    worker: Option<ScriptWorker>,
    slot: Option<ScriptSlot>,
    workers: Weak<Workers>,
    was_idle: bool,
}

impl fmt::Debug for WorkerLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerLease").field("was_idle", &self.was_idle).finish_non_exhaustive()
    }
}

impl WorkerLease {
    /// Where to write to and to read from.
    pub(crate) fn pipes(&mut self) -> Option<(&mut WorkerInput, &mut FrameReader)> {
        self.worker.as_mut().map(|worker| (&mut worker.input, &mut worker.output))
    }

    /// How the worker ended.
    pub(crate) async fn exit(&mut self) -> WorkerExit {
        let unknown = || WorkerExit::Other("it ended for an unknown reason".to_owned());
        let Some(worker) = &mut self.worker else { return unknown() };
        let exit = tokio::time::timeout(EXIT_TIMEOUT, worker.process.exit()).await;
        exit.unwrap_or_else(|_| unknown())
    }

    /// Replaces a worker that ended while it was idle. False if this one was not idle.
    pub(crate) async fn replace_idle(&mut self) -> bool {
        let Some(workers) = self.workers.upgrade().filter(|_| self.was_idle) else { return false };
        self.was_idle = false;
        let Ok(mut worker) = workers.start_worker().await else { return false };
        worker.scripts = 1;
        worker.owner = self.worker.take().and_then(|before| before.owner);
        self.worker = Some(worker);
        true
    }

    /// Keeps the worker if it ended its script cleanly, and kills it otherwise.
    pub(crate) fn give_back(mut self, is_clean: bool) {
        let Some(workers) = self.workers.upgrade().filter(|_| is_clean) else { return };
        let is_fit =
            |worker: &mut ScriptWorker| worker.output.is_empty() && worker.scripts < MAX_SCRIPTS;
        if let Some(worker) = self.worker.take_if(is_fit) {
            workers.keep(worker);
        }
    }
}

impl Drop for WorkerLease {
    fn drop(&mut self) {
        let (Some(worker), slot) = (self.worker.take(), self.slot.take()) else { return };
        // Without a runtime docent is shutting down, and the worker starter ends the workers.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let workers = Weak::clone(&self.workers);
        runtime.spawn(async move {
            let ScriptWorker { process, .. } = worker;
            // A process that can't be killed must not block code mode.
            let _gone = tokio::time::timeout(KILL_TIMEOUT, process.kill()).await;
            drop(slot);
            if let Some(workers) = workers.upgrade() {
                workers.replace();
            }
        });
    }
}
