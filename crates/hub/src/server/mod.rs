//! One server: what is known of it, whether it runs, and everything that is asked of it.

mod address;
mod questions;
mod backoff;
mod cache;
mod call;
mod connection;
mod exchange;
mod catalog;
mod lists;
mod pages;
mod provider;
mod status;
mod tasks;
mod usable;
mod watching;

pub(crate) use address::Addresses;
pub(crate) use exchange::MAX_ATTEMPTS;
pub(crate) use catalog::{ToolDefinition, ServerCatalog};
pub use status::{Health, HeldDefinition, ServerState, ServerStatus};
pub(crate) use tasks::TASK_TTL as TASK_TIME;
pub use usable::SchemaCheck;

use crate::{Dialer, ServerStateStore, HandshakeResult, StoredServerState, ServerSpec, StderrTail};
use questions::OpenCalls;
use backoff::Backoff;
use cache::CallResultCache;
use connection::DownstreamConnection;
use docent_tool::{ProviderChange, SyslogLevel, Object};
use docent_traffic::Traffic;
use exchange::ParkedCalls;
use pages::ElicitationPages;
use status::HealthCounters;
use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak,
        atomic::{AtomicBool, AtomicUsize},
    },
    time::Duration,
};
use tokio::sync::{Semaphore, broadcast, watch};
use tokio_util::sync::CancellationToken;

/// What all servers of a hub share.
pub(crate) struct HubShared {
    pub(crate) dialer: Arc<dyn Dialer>,
    pub(crate) memory: ServerStateStore,
    pub(crate) changes: broadcast::Sender<ProviderChange>,
    pub(crate) addresses: Addresses,
    /// Where messages are recorded.
    pub(crate) traffic: Option<Arc<Traffic>>,
    /// What of sampling the clients can do that have called so far.
    pub(crate) sampling: Mutex<Object>,
    /// Checks the schemas of tools.
    pub(crate) schema_check: SchemaCheck,
}

/// What a tool or a prompt is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicName {
    /// By its server.
    pub own: String,
    /// By docent's clients.
    pub public: String,
}

/// A server that docent fronts.
pub struct DownstreamServer {
    this: Weak<Self>,
    spec: ServerSpec,
    shared: Arc<HubShared>,
    current: RwLock<Option<Arc<DownstreamConnection>>>,
    connecting: Arc<tokio::sync::Mutex<()>>,
    backoff: Mutex<Backoff>,
    known: RwLock<Arc<ServerCatalog>>,
    /// Held while something is learned: a later state never goes before an earlier one.
    learn_lock: Mutex<()>,
    /// Whether what it offers is known, or can't be for now.
    learned: watch::Sender<bool>,
    open_calls: OpenCalls,
    permits: Arc<Semaphore>,
    counters: HealthCounters,
    stderr: Arc<StderrTail>,
    /// How many lines it had written when it was last started.
    stderr_start: AtomicUsize,
    watched: Mutex<BTreeSet<String>>,
    /// Held by the task that brings it back.
    reconnect_lock: tokio::sync::Mutex<()>,
    /// Held while the server is told of what is watched.
    subscription_lock: tokio::sync::Mutex<()>,
    /// Held while lists are read again; the flag says that they must be.
    listing: tokio::sync::Mutex<()>,
    stale: AtomicBool,
    /// Bounds that it has met, which have been told.
    reported_limits: Mutex<BTreeSet<&'static str>>,
    level: Mutex<Option<SyslogLevel>>,
    cache: CallResultCache,
    parked: ParkedCalls,
    pages: ElicitationPages,
    closing: CancellationToken,
}

impl DownstreamServer {
    pub(crate) fn new(spec: ServerSpec, shared: Arc<HubShared>) -> Arc<Self> {
        let remembered = shared.memory.load(&spec);
        let is_known = remembered.as_ref().is_some_and(StoredServerState::is_learned);
        let known = ServerCatalog::new(remembered.unwrap_or_default(), &spec, &shared.addresses);
        Arc::new_cyclic(|this| Self {
            this: Weak::clone(this),
            permits: Arc::new(Semaphore::new(spec.concurrency.max(1))),
            spec,
            shared,
            current: RwLock::default(),
            connecting: Arc::default(),
            backoff: Mutex::default(),
            known: RwLock::new(Arc::new(known)),
            learn_lock: Mutex::default(),
            learned: watch::Sender::new(is_known),
            open_calls: OpenCalls::default(),
            counters: HealthCounters::default(),
            stderr: Arc::default(),
            watched: Mutex::default(),
            reconnect_lock: tokio::sync::Mutex::default(),
            subscription_lock: tokio::sync::Mutex::default(),
            listing: tokio::sync::Mutex::default(),
            stale: AtomicBool::new(false),
            reported_limits: Mutex::default(),
            level: Mutex::default(),
            cache: CallResultCache::default(),
            parked: ParkedCalls::default(),
            pages: ElicitationPages::default(),
            stderr_start: AtomicUsize::new(0),
            closing: CancellationToken::new(),
        })
    }

    /// What is configured of it.
    pub fn spec(&self) -> &ServerSpec {
        &self.spec
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// Starts it where something is to be learned of it, or where it is to be kept running.
    pub(crate) fn start_if_needed(self: &Arc<Self>) {
        let watched = !locked(&self.watched).is_empty();
        if self.spec.warm || watched || !*self.learned.borrow() {
            let this = Arc::clone(self);
            tokio::spawn(async move {
                if let Err(error) = this.connection().await {
                    tracing::warn!(server = this.name(), %error, "a server is not available");
                    // What it offers is still to be learned.
                    this.bring_back();
                }
            });
        }
    }

    /// Takes the place of another of the same name: whoever watches goes on watching.
    pub(crate) fn inherit_watches(&self, before: &Self) {
        locked(&self.watched).clone_from(&locked(&before.watched));
        *locked(&self.level) = *locked(&before.level);
    }

    /// Starts it now, whether or not anybody needs it.
    pub async fn try_now(&self) {
        // Why it failed is told by its status.
        drop(self.connection().await);
    }

    /// Starts or reaches it, and learns what it offers. `Err` says why that can't be done.
    pub async fn reach(&self) -> Result<(), String> {
        self.connection().await.map(drop).map_err(|error| error.to_string())
    }

    /// What it says about itself, while it can be asked.
    pub fn handshake_result(&self) -> Option<HandshakeResult> {
        let (connection, known) = (self.live()?, self.known());
        Some(HandshakeResult {
            era: connection.era.clone(),
            info: known.remembered.info.clone(),
            capabilities: connection.capabilities.clone(),
            instructions: known.remembered.instructions.clone(),
        })
    }

    /// Its tools by name.
    pub fn tool_names(&self) -> Vec<PublicName> {
        let known = self.known();
        let named =
            |tool: &Arc<ToolDefinition>| PublicName { own: tool.name.clone(), public: tool.public.clone() };
        known.tools.iter().map(named).collect()
    }

    /// Its prompts by name.
    pub fn prompt_names(&self) -> Vec<PublicName> {
        let known = self.known();
        let prompt = |fields: &Object| {
            let own = fields.get("name")?.as_str()?.to_owned();
            Some(PublicName { public: catalog::public_name(&self.spec, &own), own })
        };
        known.remembered.prompts.iter().filter_map(prompt).collect()
    }

    /// An address that is this server's, whether or not a list or a family has it.
    pub fn address(&self, uri: &str) -> String {
        let prefix = address::prefix(self.name());
        if uri.starts_with(&prefix) { uri.to_owned() } else { format!("{prefix}{uri}") }
    }

    /// Waits until what it offers is known, or can't be for now.
    pub(crate) async fn wait_until_known(&self, patience: Duration) {
        let known = self.known();
        if known.remembered.doubted || !known.remembered.held_back.is_empty() {
            // Lists have the old definition, or none, until somebody decides, and no call would look for that.
            self.reload_approvals();
        }
        let mut learned = self.learned.subscribe();
        let known = learned.wait_for(|known| *known);
        // Past that, what there is must do: the client is told when there is more.
        drop(tokio::time::timeout(patience, known).await);
    }

    pub(crate) fn known(&self) -> Arc<ServerCatalog> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn publish_change(&self, change: ProviderChange) {
        // Nobody may be listening yet.
        drop(self.shared.changes.send(change));
    }

    /// Ends it, in an orderly way.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        let current = self.current.write().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(connection) = current {
            connection.peer.close().await;
        }
        self.shared.addresses.release(self.name());
    }
}

/// A server as a provider, with its tools in lists or not.
pub(crate) fn provider_part(
    server: Arc<DownstreamServer>,
    hidden: bool,
    patience: Duration,
) -> Arc<dyn docent_tool::ToolProvider> {
    Arc::new(provider::ServerProvider { server, hidden, first_list_timeout: patience })
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
