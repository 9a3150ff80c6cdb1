//! All downstream servers: one provider with a part for each, and tools that find, describe and call their tools.

use crate::{
    CatalogExposure, Dialer, DownstreamServer, SchemaCheck, ServerSpec, ServerStateStore,
    ServerStatus,
    discover::{DiscoveryTools, ParkedScripts},
    server::{Addresses, HubShared, provider_part},
};
use docent_tool::{AnyTool, BoxedFuture, ProviderChange, ToolProvider};
use docent_traffic::Traffic;
use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError, RwLock, Weak},
    time::Duration,
};
use tokio::sync::broadcast;

/// Changes queued for a slow subscriber.
const CHANGE_QUEUE: usize = 256;

/// How servers are exposed.
#[derive(Debug, Clone)]
pub struct HubSettings {
    /// Which of their tools a list shows.
    pub exposure: CatalogExposure,
    /// The number of tokens of all definitions above which `auto` lists four tools instead.
    pub auto_tokens: usize,
    /// How long a list waits for servers that were never connected.
    pub patience: Duration,
    /// Limits of scripts.
    pub script: docent_script::ScriptLimits,
    /// Runs scripts. Without it, scripts are not available.
    pub workers: Option<Arc<docent_script::Workers>>,
    /// Where messages to and from servers are recorded.
    pub traffic: Option<Arc<Traffic>>,
    /// Checks the schemas of tools. A tool whose schema fails is left out.
    pub schema_check: SchemaCheck,
}

impl Default for HubSettings {
    fn default() -> Self {
        Self {
            exposure: CatalogExposure::Auto,
            auto_tokens: 10_000,
            patience: Duration::from_secs(10),
            script: docent_script::ScriptLimits::default(),
            workers: None,
            traffic: None,
            schema_check: |_| Ok(()),
        }
    }
}

/// All downstream servers.
pub struct Hub {
    this: Weak<Self>,
    settings: HubSettings,
    shared: Arc<HubShared>,
    servers: RwLock<Vec<Arc<DownstreamServer>>>,
    /// Scripts that wait for their clients.
    parked: ParkedScripts,
}

impl Hub {
    /// Creates a hub without servers.
    pub fn new(
        settings: HubSettings,
        dialer: Arc<dyn Dialer>,
        memory: ServerStateStore,
    ) -> Arc<Self> {
        let shared = HubShared {
            traffic: settings.traffic.clone(),
            dialer,
            memory,
            changes: broadcast::Sender::new(CHANGE_QUEUE),
            addresses: Addresses::default(),
            sampling: Mutex::default(),
            schema_check: settings.schema_check,
        };
        Arc::new_cyclic(|this| Self {
            this: Weak::clone(this),
            settings,
            shared: Arc::new(shared),
            servers: RwLock::default(),
            parked: ParkedScripts::default(),
        })
    }

    /// Returns every server, in the configured order.
    pub fn servers(&self) -> Vec<Arc<DownstreamServer>> {
        self.servers.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns one server by name.
    pub fn server(&self, name: &str) -> Option<Arc<DownstreamServer>> {
        self.servers().into_iter().find(|server| server.name() == name)
    }

    pub(crate) fn settings(&self) -> &HubSettings {
        &self.settings
    }

    pub(crate) fn parked(&self) -> &ParkedScripts {
        &self.parked
    }

    /// Applies the configuration: adds new servers, stops removed ones, restarts changed ones and leaves the rest
    /// alone. Must be called inside a runtime.
    pub fn configure(&self, specs: Vec<ServerSpec>) {
        let before = self.servers();
        self.shared.addresses.set_order(specs.iter().map(|spec| spec.name.clone()).collect());
        let mut seen = HashSet::new();
        let mut next = Vec::new();
        for spec in specs.into_iter().filter(|spec| seen.insert(spec.name.clone())) {
            let same = before.iter().find(|server| *server.spec() == spec);
            if let Some(server) = same {
                next.push(Arc::clone(server));
                continue;
            }
            let old = before.iter().find(|server| server.name() == spec.name);
            let new = DownstreamServer::new(spec, Arc::clone(&self.shared));
            if let Some(old) = old {
                new.inherit_watches(old);
            }
            next.push(new);
        }
        let is_in = |all: &[Arc<DownstreamServer>], one: &Arc<DownstreamServer>| {
            all.iter().any(|other| Arc::ptr_eq(one, other))
        };
        let gone: Vec<_> = before.iter().filter(|server| !is_in(&next, server)).cloned().collect();
        let new: Vec<_> = next.iter().filter(|server| !is_in(&before, server)).cloned().collect();
        *self.servers.write().unwrap_or_else(PoisonError::into_inner) = next;
        if gone.is_empty() && new.is_empty() {
            return;
        }
        for server in &new {
            server.start_if_needed();
        }
        tokio::spawn(async move {
            futures::future::join_all(gone.iter().map(|server| server.close())).await;
        });
        for change in [ProviderChange::Tools, ProviderChange::Resources, ProviderChange::Prompts] {
            drop(self.shared.changes.send(change));
        }
    }

    /// Reports the status of every server.
    pub fn status(&self) -> Vec<ServerStatus> {
        self.servers().iter().map(|server| server.status()).collect()
    }

    /// Stops every server.
    pub async fn close(&self) {
        let all = self.servers();
        futures::future::join_all(all.iter().map(|server| server.close())).await;
    }

    /// Whether lists show the four discovery tools in place of the servers' own.
    pub fn discovers(&self) -> bool {
        match self.settings.exposure {
            CatalogExposure::Direct => false,
            CatalogExposure::Discover => true,
            CatalogExposure::Auto => self.tokens() > self.settings.auto_tokens,
        }
    }

    /// Estimates how many tokens all listable definitions take.
    pub fn tokens(&self) -> usize {
        let all = self.servers();
        let listed = all.iter().filter(|server| server.spec().about.is_listed());
        listed.map(|server| server.known().tokens()).sum()
    }

    /// Whether lists leave out tools of any server, so that the discovery tools are needed.
    fn hides_tools(&self) -> bool {
        self.discovers() || self.servers().iter().any(|server| !server.spec().about.is_listed())
    }
}

impl ToolProvider for Hub {
    fn key(&self) -> &'static str {
        "hub"
    }

    fn parts(&self) -> Vec<Arc<dyn ToolProvider>> {
        let discovers = self.discovers();
        let part = |server: Arc<DownstreamServer>| {
            let hidden = discovers || !server.spec().about.is_listed();
            provider_part(server, hidden, self.settings.patience)
        };
        self.servers().into_iter().map(part).collect()
    }

    fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        match self.this.upgrade() {
            Some(hub) if !self.servers().is_empty() => {
                DiscoveryTools::tools(&hub, !self.hides_tools())
            }
            _ => Vec::new(),
        }
    }

    fn resources(&self) -> BoxedFuture<'_, Vec<docent_tool::ResourceInfo>> {
        Box::pin(std::future::ready(crate::discover::resources(self)))
    }

    fn needs_thread(&self) -> bool {
        false
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        context: &'a docent_tool::CallContext,
    ) -> BoxedFuture<'a, Option<Result<docent_tool::ResourceReading, docent_tool::ToolError>>> {
        Box::pin(std::future::ready(crate::discover::read(self, uri, context)))
    }

    fn changes(&self) -> Option<broadcast::Receiver<ProviderChange>> {
        Some(self.shared.changes.subscribe())
    }
}
