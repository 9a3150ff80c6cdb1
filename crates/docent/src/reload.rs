//! SIGHUP: the configuration is read again, and what may change while docent runs is put in force. Calls go on.

use crate::{
    collections,
    config::{Config, ConfigInputs, TransportKind},
    config_watch::ConfigWarnings,
    logging, sandbox, serve,
    servers::{self, ServerDialer},
    external_auth,
};
use docent_hub::Hub;
use docent_sandbox::SandboxSupport;
use docent_server::{McpServer, ExternalAuth};
use docent_suites::{docs::DocsSuite, web::WebSuite};
use docent_transport::{http::LiveProtectedResource, tls::TlsSettings};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use tokio::signal::unix::{SignalKind, signal};

/// Keys, and tables of keys with a dot, that are put in force without a restart.
const RELOADABLE_KEYS: [&str; 10] = [
    "mcp_servers",
    "hub.registries",
    "server.oauth.",
    "policy.tools.",
    "policy.rules",
    "policy.network.",
    "policy.redaction.",
    "server.auth.",
    "limits.tools",
    "docs.collections",
];

/// The network policy in force, which every fetch looks at.
pub(crate) type Network = Arc<RwLock<docent_net::NetworkPolicy>>;

/// All that a reload reaches.
pub(crate) struct Reload {
    pub(crate) inputs: Arc<ConfigInputs>,
    pub(crate) server: Arc<McpServer>,
    pub(crate) docs: DocsSuite,
    pub(crate) hub: Arc<Hub>,
    pub(crate) dial: Arc<ServerDialer>,
    pub(crate) network: Network,
    pub(crate) web: WebSuite,
    pub(crate) tls: Option<Arc<TlsSettings>>,
    pub(crate) oauth: LiveProtectedResource,
    pub(crate) strangers: Mutex<ExternalAuth>,
    pub(crate) oddities: Arc<ConfigWarnings>,
    /// What docent was started with.
    pub(crate) start: Config,
    /// What was read last.
    pub(crate) last: Mutex<Config>,
}

impl Reload {
    /// Waits for signals, for as long as the server runs.
    pub(crate) async fn on_signal(self) {
        let Ok(mut hangups) = signal(SignalKind::hangup()) else {
            tracing::warn!("SIGHUP can't be listened to; changes need a restart");
            return;
        };
        while hangups.recv().await.is_some() {
            self.reload();
        }
    }

    /// A file of the configuration that a server may write to, where the kernel does not keep its signals from docent: it
    /// could have what it wrote there put in force.
    fn signal_forger(&self) -> Option<String> {
        if SandboxSupport::look().signals() {
            return None;
        }
        let exposed = sandbox::exposed_files(&self.dial.config(), &self.inputs);
        exposed.first().map(ToString::to_string)
    }

    /// Reads the configuration and puts it in force, or says why not and changes nothing. The log file is opened anew.
    fn reload(&self) {
        logging::reopen();
        if let Some(exposed) = self.signal_forger() {
            tracing::warn!(
                "SIGHUP is not heeded, because on this kernel servers can send it too: {exposed}. Restart docent to put changes in force"
            );
            return;
        }
        let next = match Config::load(&self.inputs) {
            Ok(next) => next,
            Err(error) => {
                tracing::error!(%error, "the configuration can't be used; what was in force stays");
                return;
            }
        };
        if let Err(reason) = self.may_serve(&next) {
            tracing::error!("the configuration can't be used; what was in force stays: {reason}");
            return;
        }
        if let Err(error) = self.apply(&next) {
            tracing::error!("the configuration can't be used; what was in force stays: {error:#}");
            return;
        }
        if let Some(Err(error)) = self.tls.as_ref().map(|tls| tls.reload()) {
            tracing::error!(%error, "the certificate can't be used; the one that was in force stays");
        }
        self.set_network(&next);
        self.docs.replace(collections::configured_collections(&next));
        servers::reconfigure(&self.hub, &self.dial, &next);
        logging::mask_secrets(&next.secrets());
        self.log_changes(&next);
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = next;
    }

    /// Puts the policy of the network in force, which may turn tools on or off.
    fn set_network(&self, next: &Config) {
        let policy = next.policy.network.clone();
        let mut network = self.network.write().unwrap_or_else(PoisonError::into_inner);
        let is_changed = *network != policy;
        *network = policy;
        drop(network);
        if is_changed {
            self.web.policy_changed();
        }
    }

    /// Whether what is listened to may go on under another configuration. The address is the one of the start.
    fn may_serve(&self, next: &Config) -> Result<(), String> {
        next.check_serving().map_err(|error| error.to_string())?;
        let listens = self.start.server.transports.iter().any(|way| *way != TransportKind::Stdio);
        let is_open = !next.server.auth.required && !next.server.allow_open;
        if listens && !self.start.server.binds_loopback() && is_open {
            let host = &self.start.server.host;
            return Err(format!("{host} would be open to everybody: require a key"));
        }
        Ok(())
    }

    /// Puts the terms of another configuration in force, and tells clients where tokens come from now.
    fn apply(&self, next: &Config) -> anyhow::Result<()> {
        let mut held = self.strangers.lock().unwrap_or_else(PoisonError::into_inner);
        let strangers = external_auth::external_auth(next, &held)?;
        let oauth = external_auth::protected_resource(next, &external_auth)?;
        // Nobody is trusted or asked for keys before the server has taken the terms as a whole.
        self.server.renew(serve::terms(next, external_auth.clone()))?;
        *self.oauth.write().unwrap_or_else(PoisonError::into_inner) = oauth;
        external_auth::prefetch_keys(&strangers);
        *held = strangers;
        Ok(())
    }

    /// Says what is in force now, and what waits for a restart.
    fn log_changes(&self, next: &Config) {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let live: Vec<String> = last.changes(next).into_iter().filter(|key| is_reloadable(key)).collect();
        tracing::info!(changed = ?live, "the configuration was read again");
        let waiting = self.start.changed_keys(next).into_iter().filter(|key| !is_reloadable(key));
        let waiting: Vec<String> = waiting.collect();
        if !waiting.is_empty() {
            tracing::warn!(keys = ?waiting, "these changes need a restart");
        }
        self.oddities.tell(next);
    }
}

fn is_reloadable(key: &str) -> bool {
    RELOADABLE_KEYS.iter().any(|live| key.starts_with(live))
}
