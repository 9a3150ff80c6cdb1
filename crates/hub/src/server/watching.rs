//! Watched addresses and the requested log level: sent to the server, and again whenever it reconnects.

use super::{
    DownstreamServer, address::prefix, backoff::Backoff, connection::DownstreamConnection, locked,
    questions::level_name,
};
use crate::{PeerRequest, ProtocolMode, RequestError};
use docent_dial::TransportFailure;
use docent_tool::{Object, ProviderChange, SyslogLevel};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

const SUBSCRIBE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a call waits for its server to acknowledge the log level.
const LEVEL_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a server may take to acknowledge its stream. Some never do.
const STREAM_OPEN_TIMEOUT: Duration = Duration::from_secs(2);
/// A stream that was open for this long did not fail, however it ended.
const STEADY_STREAM_TIME: Duration = Duration::from_secs(10);

impl DownstreamServer {
    /// Returns the server's own form of an address, if it belongs to this server.
    pub(crate) fn own_address(&self, address: &str) -> Option<String> {
        if let Some(own) = address.strip_prefix(&prefix(self.name())) {
            return Some(own.to_owned());
        }
        let addresses = &self.shared.addresses;
        if addresses.is_owned_by(address, self.name()) {
            return Some(address.to_owned());
        }
        let known = self.known();
        // A template that another server has as well is distinguished by the prefix.
        let is_own = |template: &str| !addresses.is_owned_by_another(template, self.name());
        let mut families = known.templates.iter();
        let fits = families.any(|(text, family)| family.matches(address) && is_own(text));
        (fits && !addresses.is_owned_by_another(address, self.name())).then(|| address.to_owned())
    }

    /// Whether it reports changes to resources. A server that was never connected may.
    pub(crate) fn reports_changes(&self) -> bool {
        let known = self.known();
        let can = &known.remembered.capabilities;
        can.is_null() || can.pointer("/resources/subscribe").and_then(Value::as_bool) == Some(true)
    }

    pub(crate) fn begin_watching(&self, address: &str) -> bool {
        let Some(own) = self.own_address(address).filter(|_| self.reports_changes()) else {
            return false;
        };
        if locked(&self.watched).insert(own) {
            self.update_subscriptions();
        }
        true
    }

    pub(crate) fn end_watching(&self, address: &str) {
        let Some(own) = self.own_address(address) else { return };
        if locked(&self.watched).remove(&own) && self.live().is_some() {
            self.update_subscriptions();
        }
    }

    fn update_subscriptions(&self) {
        let Some(this) = self.this.upgrade() else { return };
        tokio::spawn(async move {
            match this.connection().await {
                Ok(connection) => this.sync_subscriptions(&connection).await,
                // The server is stopping and has no subscriptions.
                Err(_) if this.closing.is_cancelled() => {}
                Err(error) => {
                    tracing::warn!(server = this.name(), %error, "cannot watch resources");
                    if !locked(&this.watched).is_empty() {
                        this.reconnect();
                    }
                }
            }
        });
    }

    /// Updates the server's subscriptions and log level to the requested ones. One task at a time does so, until
    /// nothing is left to change.
    pub(crate) async fn sync_subscriptions(
        self: &Arc<Self>,
        connection: &Arc<DownstreamConnection>,
    ) {
        let _one = self.subscription_lock.lock().await;
        if connection.era == ProtocolMode::Stateless {
            return self.listen(connection);
        }
        let level = *locked(&self.level);
        if let Some(level) = level.filter(|level| *locked(&connection.level) != Some(*level)) {
            set_level(self, connection, level).await;
            *locked(&connection.level) = Some(level);
        }
        // Refused subscriptions are retried with the next change.
        let mut refused = BTreeSet::new();
        loop {
            let wanted = locked(&self.watched).clone();
            let subscribed = locked(&connection.watched).clone();
            let more = wanted.difference(&subscribed).find(|uri| !refused.contains(*uri));
            let more = more.map(|uri| ("resources/subscribe", uri));
            let less =
                || subscribed.difference(&wanted).next().map(|uri| ("resources/unsubscribe", uri));
            let Some((method, uri)) = more.or_else(less) else { return };
            let is_heard = subscribe(self, connection, method, uri).await;
            let mut subscribed = locked(&connection.watched);
            if method == "resources/unsubscribe" {
                subscribed.remove(uri);
            } else if is_heard {
                subscribed.insert(uri.clone());
            } else {
                refused.insert(uri.clone());
            }
        }
    }

    /// Opens the one stream of a server without sessions, which reports everything. Reopened when the watched addresses
    /// change.
    fn listen(self: &Arc<Self>, connection: &Arc<DownstreamConnection>) {
        let wanted = locked(&self.watched).clone();
        let is_open =
            locked(&connection.listening).as_ref().is_some_and(|task| !task.is_finished());
        if is_open && *locked(&connection.watched) == wanted {
            return;
        }
        locked(&connection.watched).clone_from(&wanted);
        let uris: Vec<String> = wanted.into_iter().collect();
        let can = |list: &str| {
            let capability = connection.capabilities.get(list);
            capability.and_then(|can| can.get("listChanged")).and_then(Value::as_bool) == Some(true)
        };
        let mut wanted = Object::new();
        for (list, field) in [
            ("tools", "toolsListChanged"),
            ("resources", "resourcesListChanged"),
            ("prompts", "promptsListChanged"),
        ] {
            if can(list) {
                wanted.insert(field.into(), true.into());
            }
        }
        if !uris.is_empty() {
            wanted.insert("resourceSubscriptions".into(), json!(uris));
        }
        if wanted.is_empty() {
            return;
        }
        let task =
            tokio::spawn(keep_listening(Weak::clone(&self.this), Arc::clone(connection), wanted));
        if let Some(before) = locked(&connection.listening).replace(task.abort_handle()) {
            before.abort();
        }
    }

    /// Refreshes what may have changed while the stream was closed.
    fn catch_up(&self) {
        self.list_again();
        let watched = locked(&self.watched).clone();
        for uri in watched {
            self.publish_change(ProviderChange::Updated(
                self.shared.addresses.public_address(&uri, self.name()),
            ));
        }
    }

    /// Waits, briefly, until a server with sessions has acknowledged the log level.
    pub(crate) async fn sync_log_level(self: &Arc<Self>, connection: &Arc<DownstreamConnection>) {
        let wanted = *locked(&self.level);
        if wanted.is_none() || *locked(&connection.level) == wanted {
            return;
        }
        let (this, connection) = (Arc::clone(self), Arc::clone(connection));
        let telling = tokio::spawn(async move { this.sync_subscriptions(&connection).await });
        // A slower server gets it anyway.
        drop(tokio::time::timeout(LEVEL_TIMEOUT, telling).await);
    }

    pub(crate) fn request_log_level(&self, level: SyslogLevel) {
        let mut wanted = locked(&self.level);
        if wanted.is_some_and(|wanted| wanted <= level) {
            return;
        }
        *wanted = Some(level);
        drop(wanted);
        let (Some(this), Some(connection)) = (self.this.upgrade(), self.live()) else { return };
        tokio::spawn(async move { this.sync_subscriptions(&connection).await });
    }

    /// Handles a server's report that a resource has changed.
    pub(crate) fn handle_resource_updated(&self, params: &Value) {
        let Some(uri) = params.get("uri").and_then(Value::as_str) else { return };
        self.cache.clear();
        let public = self.shared.addresses.public_address(uri, self.name());
        self.publish_change(ProviderChange::Updated(public));
    }
}

/// Opens the stream of a server without sessions, and reopens it whenever it ends, for as long as the connection lasts.
async fn keep_listening(
    server: Weak<DownstreamServer>,
    connection: Arc<DownstreamConnection>,
    wanted: Object,
) {
    let (mut backoff, mut again) = (Backoff::default(), false);
    loop {
        let began = Instant::now();
        let mut params = Object::new();
        params.insert("notifications".into(), wanted.clone().into());
        let stream = connection.peer.request("subscriptions/listen", PeerRequest::new(params));
        tokio::pin!(stream);
        let opened = tokio::time::timeout(STREAM_OPEN_TIMEOUT, connection.acknowledged.notified());
        let ended = tokio::select! {
            ended = &mut stream => ended,
            _ = opened => {
                if again && let Some(server) = server.upgrade() {
                    server.catch_up();
                }
                stream.await
            }
        };
        let Some(server) = server.upgrade() else { return };
        if connection.peer.closed().is_some() {
            return;
        }
        match ended {
            Ok(_) => tracing::debug!(server = server.name(), "the server closed its stream"),
            Err(RequestError::Rpc { code: -32601, .. }) => {
                return tracing::debug!(
                    server = server.name(),
                    "the server does not support subscriptions"
                );
            }
            Err(RequestError::Failed(failure @ TransportFailure::Unreachable(_))) => {
                return server.drop_unreachable(&connection, &failure);
            }
            Err(error) => {
                tracing::debug!(server = server.name(), %error, "the server's stream broke");
            }
        }
        drop(server);
        if began.elapsed() >= STEADY_STREAM_TIME {
            backoff = Backoff::default();
        }
        backoff.record_failure();
        tokio::time::sleep(backoff.remaining().unwrap_or_default()).await;
        again = true;
    }
}

/// Subscribes or unsubscribes; returns whether the server accepted.
async fn subscribe(
    server: &DownstreamServer,
    connection: &DownstreamConnection,
    method: &str,
    uri: &str,
) -> bool {
    let can = connection.capabilities.pointer("/resources/subscribe");
    if can.and_then(Value::as_bool) != Some(true) {
        return false;
    }
    let mut params = Object::new();
    params.insert("uri".into(), uri.into());
    let request = PeerRequest { timeout: Some(SUBSCRIBE_TIMEOUT), ..PeerRequest::new(params) };
    match connection.peer.request(method, request).await {
        Ok(_) => true,
        Err(error) => {
            tracing::warn!(server = server.name(), uri, %error, "{method} failed");
            false
        }
    }
}

async fn set_level(
    server: &DownstreamServer,
    connection: &DownstreamConnection,
    level: SyslogLevel,
) {
    if connection.capabilities.get("logging").is_none_or(Value::is_null) {
        return;
    }
    let mut params = Object::new();
    params.insert("level".into(), level_name(level).into());
    let request = PeerRequest { timeout: Some(SUBSCRIBE_TIMEOUT), ..PeerRequest::new(params) };
    if let Err(error) = connection.peer.request("logging/setLevel", request).await {
        tracing::debug!(server = server.name(), %error, "logging/setLevel failed");
    }
}
