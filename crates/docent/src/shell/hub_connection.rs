//! Connects to a configured server through docent's own session, as docent's clients do: with its definition pins, its
//! settings, the policy and the audit log.
//!
//! The command line has selected the server, so its tools and prompts have the server's own names, or those from the
//! configuration. The names that docent's clients use work as well.

use super::{
    ConfiguredServers,
    args::ServerTarget,
    connection::{ReplyFuture, RpcError, ServerCard, ServerConnection, ServerNotice},
    questions::ClientRequestHandler,
    remote,
};
use crate::{in_process::LocalSession, servers};
use anyhow::{Context as _, anyhow};
use docent_hub::{CatalogExposure, DownstreamServer, Hub, PublicName};
use docent_tool::{ProviderChange, ToolProvider};
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::broadcast;

/// A connection to one downstream server through docent's session.
pub(super) struct HubConnection {
    local: LocalSession,
    server: Arc<DownstreamServer>,
    card: ServerCard,
    _hub: Arc<Hub>,
}

/// A hub without its discovery tools: the one server is known.
struct SingleServerHub(Arc<Hub>);

impl ToolProvider for SingleServerHub {
    fn key(&self) -> &'static str {
        "hub"
    }

    fn parts(&self) -> Vec<Arc<dyn ToolProvider>> {
        self.0.parts()
    }

    fn changes(&self) -> Option<broadcast::Receiver<ProviderChange>> {
        self.0.changes()
    }
}

impl HubConnection {
    /// Connects to the server and opens a docent session for it alone.
    pub(super) async fn open(
        target: &ServerTarget,
        configured: &ConfiguredServers,
        questions: Arc<ClientRequestHandler>,
    ) -> anyhow::Result<Self> {
        let config = &configured.config;
        let spec = remote::spec(target, config)?;
        let name = spec.name.clone();
        let dial = configured.dial(&spec)?;
        let settings = docent_hub::HubSettings {
            exposure: CatalogExposure::Direct,
            ..config.hub.settings.clone()
        };
        let hub = Hub::new(settings, Arc::new(dial), servers::approval_memory(config));
        hub.configure(vec![spec]);
        let server = hub.server(&name).context("the server was just configured")?;
        server.reach().await.map_err(|why| anyhow!("cannot connect to {name}: {why}"))?;
        let setup = configured.setup(vec![Arc::new(SingleServerHub(Arc::clone(&hub)))])?;
        let local = LocalSession::open(setup, Some(questions)).await?;
        // The capabilities are those of docent's session.
        let capabilities = local.server().capabilities.clone();
        let card = server.handshake_result().as_ref().map(remote::card).unwrap_or_default();
        let card = ServerCard { capabilities, ..card };
        Ok(Self { local, server, card, _hub: hub })
    }

    fn names(&self, method: &str) -> Vec<PublicName> {
        match method {
            "tools/list" | "tools/call" => self.server.tool_names(),
            "prompts/list" | "prompts/get" => self.server.prompt_names(),
            _ => Vec::new(),
        }
    }

    /// Returns the name shown to the user: the server's own, unless the configuration renames it or something else to
    /// the same name.
    fn short_name<'a>(&self, one: &'a PublicName, all: &[PublicName]) -> &'a str {
        let renamed = self.server.spec().rename.contains_key(&one.own);
        let taken = all.iter().any(|other| other.public == one.own);
        if renamed || taken { &one.public } else { &one.own }
    }

    async fn exchange(
        &self,
        method: &str,
        mut params: Value,
        on_note: &(dyn Fn(ServerNotice) + Send + Sync),
    ) -> Result<Value, RpcError> {
        let names = self.names(method);
        if let Some(Value::String(name)) = params.get_mut("name")
            && let Some(public) = public_name(name, &names)
        {
            public.clone_into(name);
        }
        if let ("resources/read", Some(Value::String(uri))) = (method, params.get_mut("uri")) {
            *uri = self.server.address(uri);
        }
        let asked = self.local.request(method, params, on_note).await;
        let mut result = asked.map_err(|error| {
            // The prefix of the address was not typed by the user.
            let message = error.message.replace(&self.server.address(""), "");
            RpcError { message, ..error }
        })?;
        if method.ends_with("/list") {
            let lists = ["tools", "prompts"].map(|key| result.get(key).is_some().then_some(key));
            for key in lists.into_iter().flatten() {
                for entry in result[key].as_array_mut().into_iter().flatten() {
                    let Some(Value::String(name)) = entry.get_mut("name") else { continue };
                    if let Some(one) = names.iter().find(|one| one.public == *name) {
                        self.short_name(one, &names).clone_into(name);
                    }
                }
            }
        }
        Ok(result)
    }
}

/// Returns the public name for a name that the user typed.
fn public_name<'a>(asked: &str, all: &'a [PublicName]) -> Option<&'a str> {
    let by_public = all.iter().find(|one| one.public == asked);
    let found = by_public.or_else(|| all.iter().find(|one| one.own == asked));
    found.map(|one| one.public.as_str())
}

impl ServerConnection for HubConnection {
    fn request<'a>(
        &'a self,
        method: &'a str,
        params: Value,
        on_note: &'a (dyn Fn(ServerNotice) + Send + Sync),
    ) -> ReplyFuture<'a> {
        Box::pin(self.exchange(method, params, on_note))
    }

    fn server(&self) -> &ServerCard {
        &self.card
    }

    fn unlisted_tool(&self, name: &str) -> Option<Value> {
        let names = self.server.tool_names();
        let mut tool = self.local.unlisted_tool(public_name(name, &names)?)?;
        tool["name"] = name.into();
        Some(tool)
    }
}
