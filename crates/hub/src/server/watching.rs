//! Addresses that clients watch, and the level of log lines that they want: told to the server, and again whenever it comes
//! back.

use super::{Downstream, address::prefix, asks::level_name, connection::Connection, locked};
use crate::{Era, Request};
use docent_tool::{Change, Level, Object};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

const PATIENCE: Duration = Duration::from_secs(30);

impl Downstream {
    /// The server's own name of an address, where it is one of its.
    pub(crate) fn own_address(&self, address: &str) -> Option<String> {
        if let Some(own) = address.strip_prefix(&prefix(self.name())) {
            return Some(own.to_owned());
        }
        let addresses = &self.shared.addresses;
        if addresses.is_of(address, self.name()) {
            return Some(address.to_owned());
        }
        let known = self.known();
        let fits = known.templates.iter().any(|template| template.has(address));
        (fits && !addresses.is_of_another(address, self.name())).then(|| address.to_owned())
    }

    pub(crate) fn begin_watching(&self, address: &str) -> bool {
        let Some(own) = self.own_address(address) else { return false };
        if locked(&self.watched).insert(own.clone()) {
            self.tell_server("resources/subscribe", own);
        }
        true
    }

    pub(crate) fn end_watching(&self, address: &str) {
        let Some(own) = self.own_address(address) else { return };
        if locked(&self.watched).remove(&own) && self.live().is_some() {
            self.tell_server("resources/unsubscribe", own);
        }
    }

    fn tell_server(&self, method: &'static str, uri: String) {
        let Some(this) = self.this.upgrade() else { return };
        tokio::spawn(async move {
            let was_live = this.live().is_some();
            let connection = match this.connection().await {
                Ok(connection) => connection,
                Err(error) => {
                    tracing::warn!(server = this.name(), uri, %error, "an address is not watched");
                    return this.bring_back_for_watchers();
                }
            };
            // A server that has only now come up has been told of everything that is watched.
            if was_live {
                match connection.era {
                    Era::Stateless => this.listen(&connection),
                    Era::Session(_) => subscribe(&this, &connection, method, &uri).await,
                }
            }
        });
    }

    fn bring_back_for_watchers(&self) {
        if !locked(&self.watched).is_empty() {
            self.bring_back();
        }
    }

    /// Tells a server that has come up what it should tell of.
    pub(crate) fn watch_again(&self, connection: &Arc<Connection>) {
        let Some(this) = self.this.upgrade() else { return };
        let connection = Arc::clone(connection);
        if connection.era == Era::Stateless {
            return this.listen(&connection);
        }
        tokio::spawn(async move {
            let level = *locked(&this.level);
            if let Some(level) = level {
                set_level(&this, &connection, level).await;
            }
            let watched: Vec<String> = locked(&this.watched).iter().cloned().collect();
            for uri in watched {
                subscribe(&this, &connection, "resources/subscribe", &uri).await;
            }
        });
    }

    /// One stream tells of everything at a server without sessions. It is opened anew when more is watched.
    fn listen(self: &Arc<Self>, connection: &Arc<Connection>) {
        let uris: Vec<String> = locked(&self.watched).iter().cloned().collect();
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
        let mut params = Object::new();
        params.insert("notifications".into(), wanted.into());
        let (peer, name) = (Arc::clone(&connection.peer), self.name().to_owned());
        let task = tokio::spawn(async move {
            if let Err(error) = peer.request("subscriptions/listen", Request::new(params)).await {
                tracing::debug!(server = name, %error, "the server's subscriptions ended");
            }
        });
        if let Some(before) = locked(&connection.listening).replace(task.abort_handle()) {
            before.abort();
        }
    }

    pub(crate) fn wanted_level(&self, level: Level) {
        let mut wanted = locked(&self.level);
        if wanted.is_some_and(|wanted| wanted <= level) {
            return;
        }
        *wanted = Some(level);
        drop(wanted);
        let (Some(this), Some(connection)) = (self.this.upgrade(), self.live()) else { return };
        if connection.era != Era::Stateless {
            tokio::spawn(async move { set_level(&this, &connection, level).await });
        }
    }

    /// The server says that a resource has changed.
    pub(crate) fn updated(&self, params: &Value) {
        let Some(uri) = params.get("uri").and_then(Value::as_str) else { return };
        self.cache.clear();
        let public = self.shared.addresses.public(uri, self.name());
        self.tell(Change::Updated(public));
    }
}

async fn subscribe(server: &Downstream, connection: &Connection, method: &str, uri: &str) {
    let can = connection.capabilities.pointer("/resources/subscribe");
    if can.and_then(Value::as_bool) != Some(true) {
        return;
    }
    let mut params = Object::new();
    params.insert("uri".into(), uri.into());
    let request = Request { patience: Some(PATIENCE), ..Request::new(params) };
    if let Err(error) = connection.peer.request(method, request).await {
        tracing::warn!(server = server.name(), uri, %error, "{method} failed");
    }
}

async fn set_level(server: &Downstream, connection: &Connection, level: Level) {
    if connection.capabilities.get("logging").is_none_or(Value::is_null) {
        return;
    }
    let mut params = Object::new();
    params.insert("level".into(), level_name(level).into());
    let request = Request { patience: Some(PATIENCE), ..Request::new(params) };
    if let Err(error) = connection.peer.request("logging/setLevel", request).await {
        tracing::debug!(server = server.name(), %error, "logging/setLevel failed");
    }
}
