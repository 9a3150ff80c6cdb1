//! Starts a server, lists what it offers, and detects that the connection was lost.

use super::{
    DownstreamServer, ServerCatalog,
    backoff::{Backoff, FIRST_BACKOFF},
    catalog::{MAX_PINNED_BYTES, MAX_PINNED_TOOLS, PinComparison, compare_with_pins},
    lists::ServerList,
    locked,
    pages::ELICITATION_COMPLETE,
    usable::check_tool,
};
use crate::{
    DownstreamPeer, HandshakeResult, ProtocolMode, RequestError, ServerEvents, StoredServerState,
    StreamOwner, handshake,
};
use docent_dial::TransportFailure;
use docent_tool::{Object, ProviderChange, SyslogLevel};
use docent_traffic::Hop;
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, OnceLock, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::sync::Notify;
use tokio_util::task::AbortOnDropHandle;

/// A call waits this long for a server in backoff; if more is left, it fails at once.
const MAX_BACKOFF_WAIT: Duration = Duration::from_secs(2);

/// An open connection to a server.
pub(crate) struct DownstreamConnection {
    pub(crate) peer: Arc<DownstreamPeer>,
    pub(crate) era: ProtocolMode,
    pub(crate) capabilities: Value,
    last_used: Mutex<Instant>,
    in_flight: AtomicUsize,
    /// The subscription stream of a server without sessions.
    pub(crate) listening: Mutex<Option<tokio::task::AbortHandle>>,
    /// The resources that the server is subscribed to.
    pub(crate) watched: Mutex<BTreeSet<String>>,
    pub(crate) level: Mutex<Option<SyslogLevel>>,
    /// Notified when a server without sessions acknowledges its stream.
    pub(crate) acknowledged: Notify,
    /// Closes the connection when it has been idle; aborted when the connection is dropped.
    ending: OnceLock<AbortOnDropHandle<()>>,
}

impl DownstreamConnection {
    /// Counts a request as running until the guard is dropped.
    pub(crate) fn track_request(self: &Arc<Self>) -> InFlightGuard {
        self.in_flight.fetch_add(1, Ordering::AcqRel);
        InFlightGuard(Arc::clone(self))
    }

    /// How long the connection has been idle, if no request is running.
    fn idle_time(&self) -> Option<Duration> {
        (self.in_flight.load(Ordering::Acquire) == 0).then(|| locked(&self.last_used).elapsed())
    }
}

pub(crate) struct InFlightGuard(Arc<DownstreamConnection>);

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        *locked(&self.0.last_used) = Instant::now();
        self.0.in_flight.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Why a server is not available.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub(crate) struct ServerUnavailable(pub(crate) String);

impl DownstreamServer {
    pub(crate) fn live(&self) -> Option<Arc<DownstreamConnection>> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        current.as_ref().filter(|connection| connection.peer.closed().is_none()).cloned()
    }

    /// Returns the connection, starting the server if needed. A caller that stops waiting does not stop the start for
    /// others.
    pub(crate) async fn connection(&self) -> Result<Arc<DownstreamConnection>, ServerUnavailable> {
        if let Some(live) = self.live() {
            return Ok(live);
        }
        let one = Arc::clone(&self.connecting).lock_owned().await;
        if let Some(live) = self.live() {
            return Ok(live);
        }
        let Some(this) = self.this.upgrade().filter(|this| !this.closing.is_cancelled()) else {
            return Err(ServerUnavailable("it is no longer configured".into()));
        };
        let left = locked(&self.backoff).remaining();
        if let Some(left) = left {
            if left > MAX_BACKOFF_WAIT {
                return Err(self.backoff_error(left));
            }
            tokio::time::sleep(left).await;
        }
        let attempt = tokio::spawn(async move {
            let _one = one;
            let connected = this.connect().await;
            match &connected {
                // Failures are forgotten only after an answer: it may start and fail again.
                Ok(_) => locked(&this.backoff).record_connected(),
                Err(ServerUnavailable(why)) => {
                    locked(&this.backoff).record_failure();
                    this.counters.record_failure(why.clone());
                }
            }
            // Lists no longer wait for it, whether it started or not.
            this.learned.send_replace(true);
            connected
        });
        attempt.await.unwrap_or_else(|error| Err(ServerUnavailable(error.to_string())))
    }

    fn backoff_error(&self, left: Duration) -> ServerUnavailable {
        let why = self.counters.last_failure().unwrap_or_default();
        ServerUnavailable(format!("{why}; next attempt in {} s", left.as_secs_f64().ceil()))
    }

    /// Fails while a running server is in backoff because several calls timed out.
    pub(super) fn check_responsive(&self) -> Result<(), ServerUnavailable> {
        let backoff = locked(&self.backoff);
        match backoff.remaining() {
            Some(left) if backoff.is_unresponsive() => Err(self.backoff_error(left)),
            _ => Ok(()),
        }
    }

    async fn connect(self: &Arc<Self>) -> Result<Arc<DownstreamConnection>, ServerUnavailable> {
        let patience = self.spec.start_timeout;
        let Ok(opened) = tokio::time::timeout(patience, self.open()).await else {
            let seconds = patience.as_secs_f64();
            return Err(self.unavailable(&format!(
                "it did not start within {seconds} s; raise its `start_timeout_ms` if it needs longer"
            )));
        };
        let (peer, opened, remembered) =
            opened.map_err(|error| self.unavailable(&error.to_string()))?;
        let connection = Arc::new(DownstreamConnection {
            peer,
            era: opened.era,
            capabilities: opened.capabilities,
            last_used: Mutex::new(Instant::now()),
            in_flight: AtomicUsize::new(0),
            listening: Mutex::default(),
            watched: Mutex::default(),
            level: Mutex::default(),
            acknowledged: Notify::new(),
            ending: OnceLock::new(),
        });
        self.learn(remembered);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) =
            Some(Arc::clone(&connection));
        if self.closing.is_cancelled() {
            self.clear_current(&connection.peer);
            connection.peer.close().await;
            self.shared.addresses.release(self.name());
            return Err(ServerUnavailable("it is no longer configured".into()));
        }
        if let Some(failure) = connection.peer.closed() {
            self.clear_current(&connection.peer);
            self.handle_disconnect(failure);
            return Err(self.unavailable(&failure.to_string()));
        }
        self.counters.starts.fetch_add(1, Ordering::Relaxed);
        self.cache.clear();
        let (this, opened) = (Arc::clone(self), Arc::clone(&connection));
        tokio::spawn(async move { this.sync_subscriptions(&opened).await });
        self.end_when_unused(&connection);
        Ok(connection)
    }

    fn unavailable(&self, why: &str) -> ServerUnavailable {
        ServerUnavailable(self.with_recent_stderr(why))
    }

    /// Adds the last lines that the program wrote to standard error since its start.
    pub(super) fn with_recent_stderr(&self, why: &str) -> String {
        let (words, _) = self.stderr.since(self.stderr_start.load(Ordering::Relaxed));
        let last = words.get(words.len().saturating_sub(3)..).unwrap_or_default();
        if last.is_empty() {
            return why.to_owned();
        }
        format!("{why}; last lines of its stderr: {}", last.join(" | "))
    }

    async fn open(
        self: &Arc<Self>,
    ) -> Result<(Arc<DownstreamPeer>, HandshakeResult, StoredServerState), RequestError> {
        let (_, seen) = self.stderr.since(usize::MAX);
        self.stderr_start.store(seen, Ordering::Relaxed);
        let ear =
            Arc::new(ServerEventHandler { server: Weak::clone(&self.this), peer: OnceLock::new() });
        let dial =
            |listener| self.shared.dialer.dial(&self.spec, listener, Arc::clone(&self.stderr));
        let tap = self.shared.traffic.as_ref().map(|traffic| {
            let (peer, via) = (self.name().to_owned(), self.spec.transport.via());
            traffic.connection(docent_traffic::ConnectionInfo { hop: Hop::Server, peer, via })
        });
        let hears = Arc::clone(&ear) as Arc<dyn ServerEvents>;
        let able = capabilities(&locked(&self.shared.sampling));
        let peer = Arc::new(DownstreamPeer::open(self.name(), hears, able, tap, dial).await?);
        ear.peer.get_or_init(|| Arc::downgrade(&peer));
        let last = self.known().remembered.era.clone();
        let learned = async {
            let opened = handshake(&peer, last.as_ref()).await?;
            let remembered = self.list_all(&peer, &opened).await?;
            Ok((opened, remembered))
        };
        match learned.await {
            Ok((opened, remembered)) => Ok((peer, opened, remembered)),
            Err(error) => {
                peer.close().await;
                Err(error)
            }
        }
    }

    async fn list_all(
        &self,
        peer: &DownstreamPeer,
        opened: &HandshakeResult,
    ) -> Result<StoredServerState, RequestError> {
        let can = |what: &str| opened.capabilities.get(what).is_some_and(|can| !can.is_null());
        // A server that announces no capabilities is asked for tools anyway.
        let tools = can("tools") || !(can("resources") || can("prompts"));
        let (tools, resources, templates, prompts) = tokio::join!(
            self.list(peer, tools, "tools/list", "tools"),
            self.list(peer, can("resources"), "resources/list", "resources"),
            self.list(peer, can("resources"), "resources/templates/list", "resourceTemplates"),
            self.list(peer, can("prompts"), "prompts/list", "prompts"),
        );
        // `docent servers approve` may have changed the stored approvals in the meantime.
        let kept =
            self.shared.memory.load_approved(&self.spec).filter(StoredServerState::is_learned);
        let approved = kept.unwrap_or_else(|| self.known().remembered.clone());
        let ServerList { items, left_out } = self.usable_tools(tools?);
        let PinComparison { tools, vanished, held_back, is_full } =
            compare_with_pins(&approved, items, &self.spec);
        if is_full && self.is_first_report("names") {
            tracing::warn!(
                server = self.name(),
                names = MAX_PINNED_TOOLS,
                bytes = MAX_PINNED_BYTES,
                "the server has listed too many different tools, so new ones are not offered. If that is expected, set `pinned = false` in its entry"
            );
        }
        let or_none = |list: Result<ServerList, RequestError>, what: &'static str| {
            let listed = list.unwrap_or_else(|error| {
                tracing::warn!(server = self.name(), %error, "cannot list its {what}");
                ServerList::default()
            });
            if let Some((item, why)) =
                listed.left_out.first_key_value().filter(|_| self.is_first_report(what))
            {
                let item = docent_screen::one_line(item);
                tracing::warn!(server = self.name(), %item, why, count = listed.left_out.len(), "left out some of its {what}, which can't be used");
            }
            listed.items
        };
        Ok(StoredServerState {
            way: self.spec.digest(),
            era: Some(opened.era.clone()),
            info: opened.info.clone(),
            capabilities: opened.capabilities.clone(),
            instructions: opened.instructions.clone(),
            tools,
            vanished,
            held_back,
            refused: approved.refused,
            left_out,
            doubted: approved.doubted && self.spec.pinned,
            resources: or_none(resources, "resources"),
            templates: or_none(templates, "resource templates"),
            prompts: or_none(prompts, "prompts"),
        })
    }

    /// Separates usable tools from others, with the reasons.
    fn usable_tools(&self, listed: ServerList) -> ServerList {
        let ServerList { items, left_out } = listed;
        let mut usable = ServerList { items: Vec::with_capacity(items.len()), left_out };
        for tool in items {
            match check_tool(&tool, self.shared.schema_check) {
                Ok(()) => usable.items.push(tool),
                Err(why) => usable.leave_out(&tool, why),
            }
        }
        usable
    }

    /// Replaces the known state of a server, and publishes what changed.
    fn learn(&self, now: StoredServerState) {
        // One at a time, so that the stored and the known state end up equal.
        let _one = locked(&self.learn_lock);
        let before = self.known();
        if before.remembered == now {
            return;
        }
        let held_before = &before.remembered.held_back;
        for (name, approved, _) in
            now.held_definitions().filter(|(name, ..)| !held_before.contains_key(*name))
        {
            let why = now.hold_reason(approved);
            tracing::warn!(
                server = self.name(),
                tool = name,
                "{why}; held back until `docent servers approve`"
            );
        }
        let is_known =
            |tool: &String, why: &String| before.remembered.left_out.get(tool) == Some(why);
        for (tool, why) in now.left_out.iter().filter(|(tool, why)| !is_known(tool, why)) {
            let (tool, why) = (docent_screen::one_line(tool), docent_screen::one_line(why));
            tracing::warn!(server = self.name(), %tool, %why, "left out a tool that can't be used");
        }
        let next = ServerCatalog::new(now, &self.spec, &self.shared.addresses);
        for tool in next.tools.iter().filter(|tool| !tool.flags().is_empty()) {
            tracing::warn!(server = self.name(), tool = tool.name, flags = ?tool.flags(), "suspicious tool description");
        }
        for (what, flags) in next.flagged_beside_tools() {
            tracing::warn!(server = self.name(), what, ?flags, "suspicious description");
        }
        let (old, new) = (&before.remembered, &next.remembered);
        let changes = [
            (old.tools != new.tools || old.held_back != new.held_back, ProviderChange::Tools),
            (
                old.resources != new.resources || old.templates != new.templates,
                ProviderChange::Resources,
            ),
            (old.prompts != new.prompts, ProviderChange::Prompts),
        ];
        self.shared.memory.save(self.name(), new);
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
        for (_, change) in changes.into_iter().filter(|(differs, _)| *differs) {
            self.publish_change(change);
        }
        // Last, so that a waiting caller sees no older change afterwards.
        self.learned.send_replace(true);
    }

    /// Records an answer, which ends the backoff.
    pub(super) fn record_answer(&self) {
        self.counters.record_answer();
        let mut backoff = locked(&self.backoff);
        if !backoff.is_clean() {
            *backoff = Backoff::default();
        }
    }

    /// Applies approvals that were made while docent is running.
    pub fn reload_approvals(&self) {
        let known = self.known();
        let kept = self.shared.memory.load(&self.spec).filter(StoredServerState::is_learned);
        let (Some(kept), ours) = (kept, &known.remembered) else { return };
        if kept.held_back.len() < ours.held_back.len() || kept.refused != ours.refused {
            let StoredServerState { tools, vanished, held_back, refused, doubted, .. } = kept;
            self.learn(StoredServerState {
                tools,
                vanished,
                held_back,
                refused,
                doubted,
                ..ours.clone()
            });
        }
    }

    /// Refreshes the lists after the server reported a change. Lists are read one at a time, however often it reports.
    pub(super) fn list_again(&self) {
        self.cache.clear();
        let (Some(this), Some(connection)) = (self.this.upgrade(), self.live()) else { return };
        if self.stale.swap(true, Ordering::AcqRel) {
            return;
        }
        tokio::spawn(async move {
            let _one = this.listing.lock().await;
            if !this.stale.swap(false, Ordering::AcqRel) {
                return;
            }
            let known = this.known();
            let opened = HandshakeResult {
                era: connection.era.clone(),
                info: known.remembered.info.clone(),
                capabilities: connection.capabilities.clone(),
                instructions: known.remembered.instructions.clone(),
            };
            let listing = this.list_all(&connection.peer, &opened);
            match tokio::time::timeout(this.spec.start_timeout, listing).await {
                Ok(Ok(now)) => this.learn(now),
                Ok(Err(error)) => {
                    tracing::debug!(server = this.name(), %error, "failed to refresh the server's lists");
                }
                Err(_) => {
                    tracing::warn!(server = this.name(), "timed out refreshing the server's lists");
                }
            }
        });
    }

    fn end_when_unused(&self, connection: &Arc<DownstreamConnection>) {
        let Some(idle) = self.spec.idle.filter(|_| !self.spec.warm) else { return };
        let (this, weak) = (Weak::clone(&self.this), Arc::downgrade(connection));
        let ending = tokio::spawn(async move {
            let mut left = idle;
            loop {
                tokio::time::sleep(left).await;
                let (Some(this), Some(connection)) = (this.upgrade(), weak.upgrade()) else {
                    return;
                };
                if connection.peer.closed().is_some() {
                    return;
                }
                let watched = !locked(&this.watched).is_empty();
                match connection.idle_time().filter(|_| !watched) {
                    Some(unused) if unused >= idle => {
                        this.clear_current(&connection.peer);
                        connection.peer.close().await;
                        tracing::debug!(server = this.name(), "stopped an idle server");
                        return;
                    }
                    Some(unused) => left = idle.saturating_sub(unused),
                    None => left = idle,
                }
            }
        });
        connection.ending.get_or_init(|| AbortOnDropHandle::new(ending));
    }

    /// Removes the connection from use; returns whether it was the current one.
    fn clear_current(&self, peer: &DownstreamPeer) -> bool {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let is_current =
            current.as_ref().is_some_and(|known| std::ptr::eq(&raw const *known.peer, peer));
        if is_current {
            *current = None;
        }
        is_current
    }

    /// Drops an unreachable connection whose transport does not close by itself.
    pub(super) fn drop_unreachable(
        &self,
        connection: &DownstreamConnection,
        failure: &TransportFailure,
    ) {
        if let Some(listening) = locked(&connection.listening).take() {
            listening.abort();
        }
        if !self.clear_current(&connection.peer) {
            return self.counters.record_failure(failure.to_string());
        }
        self.handle_disconnect(failure);
        close_later(Arc::clone(&connection.peer));
    }

    /// Handles a lost connection: reconnects a watched or warm server now; others when they are needed.
    fn handle_disconnect(&self, failure: &TransportFailure) {
        if self.closing.is_cancelled() {
            return;
        }
        self.counters.losses.fetch_add(1, Ordering::Relaxed);
        self.counters.record_failure(failure.to_string());
        locked(&self.backoff).record_failure();
        if self.spec.warm || !locked(&self.watched).is_empty() {
            self.reconnect();
        }
    }

    pub(super) fn reconnect(&self) {
        let Some(this) = self.this.upgrade() else { return };
        tokio::spawn(async move {
            // One reconnecting task is enough.
            let Ok(_one) = this.reconnect_lock.try_lock() else { return };
            while !this.closing.is_cancelled() && this.live().is_none() {
                if this.connection().await.is_ok() {
                    return;
                }
                let left = locked(&this.backoff).remaining().unwrap_or(FIRST_BACKOFF);
                tokio::select! {
                    () = tokio::time::sleep(left) => {}
                    () = this.closing.cancelled() => return,
                }
            }
        });
    }
}

/// The client capabilities that docent announces: it forwards requests to the calling client. Sampling is limited to
/// what clients support. Roots are those of the caller, so no changes are reported.
pub(super) fn capabilities(sampling: &Object) -> Value {
    json!({"sampling": sampling, "elicitation": {"form": {}, "url": {}}, "roots": {}})
}

/// Closes the connection after its running requests had time to finish.
fn close_later(peer: Arc<DownstreamPeer>) {
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_mins(1)).await;
        peer.close().await;
    });
}

/// Handles what a server sends on its own on one connection.
struct ServerEventHandler {
    server: Weak<DownstreamServer>,
    peer: OnceLock<Weak<DownstreamPeer>>,
}

impl ServerEventHandler {
    fn peer(&self) -> Option<Arc<DownstreamPeer>> {
        self.peer.get()?.upgrade()
    }
}

impl ServerEvents for ServerEventHandler {
    fn on_request(&self, id: Value, method: &str, params: Value, stream: StreamOwner) {
        if let (Some(server), Some(peer)) = (self.server.upgrade(), self.peer()) {
            server.handle_request(peer, id, method, params, stream);
        }
    }

    fn on_notification(&self, method: &str, params: Value, stream: StreamOwner) {
        let Some(server) = self.server.upgrade() else { return };
        match method {
            "notifications/tools/list_changed"
            | "notifications/resources/list_changed"
            | "notifications/prompts/list_changed" => server.list_again(),
            "notifications/resources/updated" => server.handle_resource_updated(&params),
            "notifications/message" => server.forward_log(&params, stream),
            "notifications/cancelled" => {
                if let (Some(peer), Some(id)) = (self.peer(), params.get("requestId")) {
                    server.open_calls.withdraw(&peer, id);
                }
            }
            ELICITATION_COMPLETE => server.pages.complete(params),
            "notifications/subscriptions/acknowledged" => {
                if let Some(connection) = server.live() {
                    connection.acknowledged.notify_one();
                }
            }
            _ => {
                tracing::debug!(server = server.name(), method, "ignoring an unknown notification");
            }
        }
    }

    fn on_noise(&self, text: String) {
        if let Some(server) = self.server.upgrade() {
            let (name, text) = (server.name(), docent_screen::one_line(&text));
            if server.counters.record_noise(&text) {
                tracing::warn!(server = name, %text, "ignoring output that is not JSON-RPC (further lines are logged at debug)");
            } else {
                tracing::debug!(server = name, %text, "ignoring output that is not JSON-RPC");
            }
        }
    }

    fn on_session_lost(&self) {
        let (Some(server), Some(peer)) = (self.server.upgrade(), self.peer()) else { return };
        server.clear_current(&peer);
        server.handle_disconnect(&TransportFailure::Lost(
            "the server no longer knows the session".into(),
        ));
        close_later(peer);
    }

    fn on_overrun(&self, failure: &TransportFailure) {
        if let Some(server) = self.server.upgrade() {
            tracing::warn!(server = server.name(), %failure, "stopping the server; it is started again when needed");
        }
        // Closing forgets the connection, and with it perhaps the last handle to the peer.
        let peer = self.peer();
        self.on_closed(failure);
        if let Some(peer) = peer {
            tokio::spawn(async move { peer.close().await });
        }
    }

    fn on_closed(&self, failure: &TransportFailure) {
        let Some(server) = self.server.upgrade() else { return };
        if self.peer().is_some_and(|peer| server.clear_current(&peer)) {
            server.handle_disconnect(failure);
        }
    }
}
