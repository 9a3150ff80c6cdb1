//! Connects to docent itself, with its downstream servers, in this process.

use super::{
    connection::{ListCost, ReplyFuture, ServerCard, ServerConnection, ServerNotice},
    questions::ClientRequestHandler,
};
use crate::in_process::LocalSession;
use docent_hub::{CatalogExposure, Hub, estimate_tokens};
use docent_server::ServerSetup;
use docent_tool::ToolProvider as _;
use serde_json::Value;
use std::sync::Arc;

/// A session with docent in this process.
pub(super) struct InProcessConnection {
    local: LocalSession,
    hub: Arc<Hub>,
    exposure: CatalogExposure,
}

impl InProcessConnection {
    pub(super) async fn open(
        setup: ServerSetup,
        hub: Arc<Hub>,
        exposure: CatalogExposure,
        questions: Arc<ClientRequestHandler>,
    ) -> anyhow::Result<Self> {
        Ok(Self { local: LocalSession::open(setup, Some(questions)).await?, hub, exposure })
    }
}

impl ServerConnection for InProcessConnection {
    fn request<'a>(
        &'a self,
        method: &'a str,
        params: Value,
        on_note: &'a (dyn Fn(ServerNotice) + Send + Sync),
    ) -> ReplyFuture<'a> {
        self.local.request(method, params, on_note)
    }

    fn server(&self) -> &ServerCard {
        self.local.server()
    }

    fn unlisted_tool(&self, name: &str) -> Option<Value> {
        self.local.unlisted_tool(name)
    }

    fn exposed(&self) -> Option<ListCost> {
        let servers = self.hub.servers();
        if servers.is_empty() {
            return None;
        }
        let (mut direct, mut discover) = (0, 0);
        for (provider, tool) in self.local.definitions() {
            let cost = estimate_tokens(&tool.to_string());
            // The four tools replace those of all servers.
            direct += if provider == self.hub.key() { 0 } else { cost };
            let of_a_server = servers.iter().any(|server| server.name() == provider);
            discover += if of_a_server { 0 } else { cost };
        }
        let word = |exposure| match exposure {
            CatalogExposure::Direct => "direct",
            CatalogExposure::Discover => "discover",
            CatalogExposure::Auto => "auto",
        };
        let now =
            if self.hub.discovers() { CatalogExposure::Discover } else { CatalogExposure::Direct };
        Some(ListCost { direct, discover, set: word(self.exposure), now: word(now) })
    }
}
