//! One downstream server: what it offers, its connection, and the requests to it.

mod address;
mod backoff;
mod cache;
mod call;
mod catalog;
mod connection;
mod exchange;
mod lists;
mod pages;
mod provider;
mod questions;
mod stateless_terms;
mod status;
mod tasks;
mod usable;
mod watching;

pub(crate) use address::Addresses;
pub(crate) use catalog::{ServerCatalog, ToolDefinition};
pub(crate) use exchange::MAX_ATTEMPTS;
pub use status::{Health, HeldDefinition, ServerState, ServerStatus};
pub(crate) use tasks::TASK_TTL as TASK_TIME;
pub use usable::SchemaCheck;

use crate::{Dialer, HandshakeResult, ServerSpec, ServerStateStore, StderrTail, StoredServerState};
use backoff::Backoff;
use cache::CallResultCache;
use connection::DownstreamConnection;
use docent_tool::{Object, ProviderChange, SyslogLevel};
use docent_traffic::Traffic;
use exchange::ParkedCalls;
use pages::ElicitationPages;
use questions::OpenCalls;
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

/// State that all servers of a hub share.
pub(crate) struct HubShared {
    pub(crate) dialer: Arc<dyn Dialer>,
    pub(crate) memory: ServerStateStore,
    pub(crate) changes: broadcast::Sender<ProviderChange>,
    pub(crate) addresses: Addresses,
    /// Where messages are recorded.
    pub(crate) traffic: Option<Arc<Traffic>>,
    /// Sampling capabilities of the clients that have called so far.
    pub(crate) sampling: Mutex<Object>,
    /// Checks the schemas of tools.
    pub(crate) schema_check: SchemaCheck,
}

/// The names of a tool or a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicName {
    /// Its name at its server.
    pub own: String,
    /// Its name for docent's clients.
    pub public: String,
}

/// A downstream server.
pub struct DownstreamServer {
    this: Weak<Self>,
    spec: ServerSpec,
    shared: Arc<HubShared>,
    current: RwLock<Option<Arc<DownstreamConnection>>>,
    connecting: Arc<tokio::sync::Mutex<()>>,
    backoff: Mutex<Backoff>,
    known: RwLock<Arc<ServerCatalog>>,
    /// Locked while a new state is applied, so that states are applied in order.
    learn_lock: Mutex<()>,
    /// Whether what it offers is known, or can't be determined for now.
    learned: watch::Sender<bool>,
    open_calls: OpenCalls,
    permits: Arc<Semaphore>,
    counters: HealthCounters,
    stderr: Arc<StderrTail>,
    /// Number of stderr lines when it was last started.
    stderr_start: AtomicUsize,
    watched: Mutex<BTreeSet<String>>,
    /// Locked by the task that reconnects.
    reconnect_lock: tokio::sync::Mutex<()>,
    /// Locked while subscriptions are updated.
    subscription_lock: tokio::sync::Mutex<()>,
    /// Locked while lists are refreshed; `stale` is set when they must be.
    listing: tokio::sync::Mutex<()>,
    stale: AtomicBool,
    /// Limits that it has reached and that were logged.
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

    /// Its configuration.
    pub fn spec(&self) -> &ServerSpec {
        &self.spec
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// Starts it if its lists are not known, or if it is watched or kept running.
    pub(crate) fn start_if_needed(self: &Arc<Self>) {
        let watched = !locked(&self.watched).is_empty();
        if self.spec.warm || watched || !*self.learned.borrow() {
            let this = Arc::clone(self);
            tokio::spawn(async move {
                if let Err(error) = this.connection().await {
                    tracing::warn!(server = this.name(), %error, "server not available");
                    // Its lists are still unknown.
                    this.reconnect();
                }
            });
        }
    }

    /// Takes over the watched addresses and the log level of a previous server of the same name.
    pub(crate) fn inherit_watches(&self, before: &Self) {
        locked(&self.watched).clone_from(&locked(&before.watched));
        *locked(&self.level) = *locked(&before.level);
    }

    /// Starts it now, even if it is not needed.
    pub async fn try_now(&self) {
        // The status reports why it failed.
        drop(self.connection().await);
    }

    /// Starts or connects to it, and lists what it offers. The error describes why that failed.
    pub async fn reach(&self) -> Result<(), String> {
        self.connection().await.map(drop).map_err(|error| error.to_string())
    }

    /// Returns its description of itself, while it is connected.
    pub fn handshake_result(&self) -> Option<HandshakeResult> {
        let (connection, known) = (self.live()?, self.known());
        Some(HandshakeResult {
            era: connection.era.clone(),
            info: known.remembered.info.clone(),
            capabilities: connection.capabilities.clone(),
            instructions: known.remembered.instructions.clone(),
        })
    }

    /// Returns the names of its tools.
    pub fn tool_names(&self) -> Vec<PublicName> {
        let known = self.known();
        let named = |tool: &Arc<ToolDefinition>| PublicName {
            own: tool.name.clone(),
            public: tool.public.clone(),
        };
        known.tools.iter().map(named).collect()
    }

    /// Returns the names of its prompts.
    pub fn prompt_names(&self) -> Vec<PublicName> {
        let known = self.known();
        let prompt = |fields: &Object| {
            let own = fields.get("name")?.as_str()?.to_owned();
            Some(PublicName { public: catalog::public_name(&self.spec, &own), own })
        };
        known.remembered.prompts.iter().filter_map(prompt).collect()
    }

    /// Returns an address that always refers to this server, listed or not.
    pub fn address(&self, uri: &str) -> String {
        let prefix = address::prefix(self.name());
        if uri.starts_with(&prefix) { uri.to_owned() } else { format!("{prefix}{uri}") }
    }

    /// Waits until what it offers is known, or can't be determined for now.
    pub(crate) async fn wait_until_known(&self, patience: Duration) {
        let known = self.known();
        if known.remembered.doubted || !known.remembered.held_back.is_empty() {
            // Until a person decides, lists have the old definition or none, and no call would check.
            self.reload_approvals();
        }
        let mut learned = self.learned.subscribe();
        let known = learned.wait_for(|known| *known);
        // After that, the list is incomplete; the client is notified when it changes.
        drop(tokio::time::timeout(patience, known).await);
    }

    pub(crate) fn known(&self) -> Arc<ServerCatalog> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn publish_change(&self, change: ProviderChange) {
        // There may be no subscriber yet.
        drop(self.shared.changes.send(change));
    }

    /// Stops it gracefully.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        let current = self.current.write().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(connection) = current {
            connection.peer.close().await;
        }
        self.shared.addresses.release(self.name());
    }
}

/// Wraps a server as a provider whose tools are listed or hidden.
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
