//! All downstream servers: one provider with a part for each, and tools that find, describe and call their tools.

use crate::{
    Dialer, Downstream, Exposure, Memory, SchemaCheck, Spec, Status,
    discover::{Discover, ParkedScripts},
    server::{Addresses, Shared, provider_part},
};
use docent_tool::{AnyTool, Change, Provider, Running};
use docent_traffic::Traffic;
use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError, RwLock, Weak},
    time::Duration,
};
use tokio::sync::broadcast;

/// Changes queued for a slow subscriber.
const CHANGES: usize = 256;

/// How servers are exposed.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Which of their tools a list shows.
    pub exposure: Exposure,
    /// The number of tokens of all definitions above which `auto` lists four tools instead.
    pub auto_tokens: usize,
    /// How long a list waits for servers that were never connected.
    pub patience: Duration,
    /// Limits of scripts.
    pub script: docent_script::Limits,
    /// Runs scripts. Without it, scripts are not available.
    pub workers: Option<Arc<docent_script::Workers>>,
    /// Where messages to and from servers are recorded.
    pub traffic: Option<Arc<Traffic>>,
    /// Checks the schemas of tools. A tool whose schema fails is left out.
    pub schema_check: SchemaCheck,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            exposure: Exposure::Auto,
            auto_tokens: 10_000,
            patience: Duration::from_secs(10),
            script: docent_script::Limits::default(),
            workers: None,
            traffic: None,
            schema_check: |_| Ok(()),
        }
    }
}

/// All downstream servers.
pub struct Hub {
    this: Weak<Self>,
    settings: Settings,
    shared: Arc<Shared>,
    servers: RwLock<Vec<Arc<Downstream>>>,
    /// Scripts that wait for their clients.
    parked: ParkedScripts,
}

impl Hub {
    /// Creates a hub without servers.
    pub fn new(settings: Settings, dialer: Arc<dyn Dialer>, memory: Memory) -> Arc<Self> {
        let shared = Shared {
            traffic: settings.traffic.clone(),
            dialer,
            memory,
            changes: broadcast::Sender::new(CHANGES),
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
    pub fn servers(&self) -> Vec<Arc<Downstream>> {
        self.servers.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns one server by name.
    pub fn server(&self, name: &str) -> Option<Arc<Downstream>> {
        self.servers().into_iter().find(|server| server.name() == name)
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn parked(&self) -> &ParkedScripts {
        &self.parked
    }

    /// Applies the configuration: adds new servers, stops removed ones, restarts changed ones and leaves the rest
    /// alone. Must be called inside a runtime.
    pub fn configure(&self, specs: Vec<Spec>) {
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
            let new = Downstream::new(spec, Arc::clone(&self.shared));
            if let Some(old) = old {
                new.follow_on(old);
            }
            next.push(new);
        }
        let is_in = |all: &[Arc<Downstream>], one: &Arc<Downstream>| {
            all.iter().any(|other| Arc::ptr_eq(one, other))
        };
        let gone: Vec<_> = before.iter().filter(|server| !is_in(&next, server)).cloned().collect();
        let new: Vec<_> = next.iter().filter(|server| !is_in(&before, server)).cloned().collect();
        *self.servers.write().unwrap_or_else(PoisonError::into_inner) = next;
        if gone.is_empty() && new.is_empty() {
            return;
        }
        for server in &new {
            server.begin();
        }
        tokio::spawn(async move {
            futures::future::join_all(gone.iter().map(|server| server.close())).await;
        });
        for change in [Change::Tools, Change::Resources, Change::Prompts] {
            drop(self.shared.changes.send(change));
        }
    }

    /// Reports the status of every server.
    pub fn status(&self) -> Vec<Status> {
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
            Exposure::Direct => false,
            Exposure::Discover => true,
            Exposure::Auto => self.tokens() > self.settings.auto_tokens,
        }
    }

    /// Estimates how many tokens all listable definitions take.
    pub fn tokens(&self) -> usize {
        let all = self.servers();
        let listed = all.iter().filter(|server| server.spec().about.is_listed());
        listed.map(|server| server.known().tokens()).sum()
    }

    /// Whether lists leave out tools of any server, so that the discovery tools are needed.
    fn leaves_out(&self) -> bool {
        self.discovers() || self.servers().iter().any(|server| !server.spec().about.is_listed())
    }
}

impl Provider for Hub {
    fn key(&self) -> &'static str {
        "hub"
    }

    fn parts(&self) -> Vec<Arc<dyn Provider>> {
        let discovers = self.discovers();
        let part = |server: Arc<Downstream>| {
            let hidden = discovers || !server.spec().about.is_listed();
            provider_part(server, hidden, self.settings.patience)
        };
        self.servers().into_iter().map(part).collect()
    }

    fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        match self.this.upgrade() {
            Some(hub) if !self.servers().is_empty() => Discover::tools(&hub, !self.leaves_out()),
            _ => Vec::new(),
        }
    }

    fn resources(&self) -> Running<'_, Vec<docent_tool::ResourceInfo>> {
        Box::pin(std::future::ready(crate::discover::resources(self)))
    }

    fn needs_thread(&self) -> bool {
        false
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        context: &'a docent_tool::CallContext,
    ) -> Running<'a, Option<Result<docent_tool::Reading, docent_tool::ToolError>>> {
        Box::pin(std::future::ready(crate::discover::read(self, uri, context)))
    }

    fn changes(&self) -> Option<broadcast::Receiver<Change>> {
        Some(self.shared.changes.subscribe())
    }
}
