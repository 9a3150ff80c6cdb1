//! Connects to docent itself, with its downstream servers, in this process.

use super::{
    peer::{Answering, Exposed, Note, Peer, ServerCard},
    questions::Questions,
};
use crate::local::Local;
use docent_hub::{Exposure, Hub, estimate_tokens};
use docent_server::Setup;
use docent_tool::Provider as _;
use serde_json::Value;
use std::sync::Arc;

/// A session with docent in this process.
pub(super) struct Itself {
    local: Local,
    hub: Arc<Hub>,
    exposure: Exposure,
}

impl Itself {
    pub(super) async fn open(
        setup: Setup,
        (hub, exposure): (Arc<Hub>, Exposure),
        questions: Arc<Questions>,
    ) -> anyhow::Result<Self> {
        Ok(Self { local: Local::open(setup, Some(questions)).await?, hub, exposure })
    }
}

impl Peer for Itself {
    fn request<'a>(
        &'a self,
        method: &'a str,
        params: Value,
        on_note: &'a (dyn Fn(Note) + Send + Sync),
    ) -> Answering<'a> {
        self.local.request(method, params, on_note)
    }

    fn server(&self) -> &ServerCard {
        self.local.server()
    }

    fn unlisted(&self, name: &str) -> Option<Value> {
        self.local.unlisted(name)
    }

    fn exposed(&self) -> Option<Exposed> {
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
            Exposure::Direct => "direct",
            Exposure::Discover => "discover",
            Exposure::Auto => "auto",
        };
        let now = if self.hub.discovers() { Exposure::Discover } else { Exposure::Direct };
        Some(Exposed { direct, discover, set: word(self.exposure), now: word(now) })
    }
}
