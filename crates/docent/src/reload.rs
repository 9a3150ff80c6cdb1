//! SIGHUP: reloads the configuration and applies what may change while docent runs. Calls continue.

use crate::{
    collections,
    config::{Config, ConfigInputs, TransportKind},
    config_watch::ConfigWarnings,
    external_auth, logging, sandbox, serve,
    servers::{self, ServerDialer},
};
use docent_hub::Hub;
use docent_sandbox::SandboxSupport;
use docent_server::{ExternalAuth, McpServer};
use docent_suites::{docs::DocsSuite, web::WebSuite};
use docent_transport::{http::LiveProtectedResource, tls::TlsSettings};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use tokio::signal::unix::{SignalKind, signal};

/// Keys that are applied without a restart; a trailing dot stands for a whole table.
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

/// The current network policy, which every fetch checks.
pub(crate) type Network = Arc<RwLock<docent_net::NetworkPolicy>>;

/// Everything that a reload updates.
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
    pub(crate) external_auth: Mutex<ExternalAuth>,
    pub(crate) oddities: Arc<ConfigWarnings>,
    /// The configuration at the start.
    pub(crate) start: Config,
    /// The configuration that was loaded last.
    pub(crate) last: Mutex<Config>,
}

impl Reload {
    /// Waits for SIGHUP for as long as the server runs.
    pub(crate) async fn on_signal(self) {
        let Ok(mut hangups) = signal(SignalKind::hangup()) else {
            tracing::warn!("cannot handle SIGHUP; changes need a restart");
            return;
        };
        while hangups.recv().await.is_some() {
            self.reload();
        }
    }

    /// Returns a configuration file that a downstream server may write to, if the kernel also lets that server send
    /// docent signals: it could have docent load what it wrote.
    fn signal_forger(&self) -> Option<String> {
        if SandboxSupport::look().signals() {
            return None;
        }
        let exposed = sandbox::exposed_files(&self.dial.config(), &self.inputs);
        exposed.first().map(ToString::to_string)
    }

    /// Reloads and applies the configuration, or logs why not and changes nothing. Reopens the log file.
    fn reload(&self) {
        logging::reopen();
        if let Some(exposed) = self.signal_forger() {
            tracing::warn!(
                "SIGHUP ignored, because on this kernel servers can send it too: {exposed}. Restart docent to apply changes"
            );
            return;
        }
        let next = match Config::load(&self.inputs) {
            Ok(next) => next,
            Err(error) => {
                tracing::error!(%error, "invalid configuration; keeping the previous one");
                return;
            }
        };
        if let Err(reason) = self.may_serve(&next) {
            tracing::error!("invalid configuration; keeping the previous one: {reason}");
            return;
        }
        if let Err(error) = self.apply(&next) {
            tracing::error!("invalid configuration; keeping the previous one: {error:#}");
            return;
        }
        if let Some(Err(error)) = self.tls.as_ref().map(|tls| tls.reload()) {
            tracing::error!(%error, "invalid certificate; keeping the previous one");
        }
        self.set_network(&next);
        self.docs.replace(collections::configured_collections(&next));
        servers::reconfigure(&self.hub, &self.dial, &next);
        logging::mask_secrets(&next.secrets());
        self.log_changes(&next);
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = next;
    }

    /// Applies the network policy, which may enable or disable tools.
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

    /// Checks that the listener may continue under the next configuration. Its address is the one from the start.
    fn may_serve(&self, next: &Config) -> Result<(), String> {
        next.check_serving().map_err(|error| error.to_string())?;
        let listens = self.start.server.transports.iter().any(|way| *way != TransportKind::Stdio);
        let is_open = !next.server.auth.required && !next.server.allow_open;
        if listens && !self.start.server.binds_loopback() && is_open {
            let host = &self.start.server.host;
            return Err(format!("{host} would be open to everyone: require a key"));
        }
        Ok(())
    }

    /// Applies the next configuration, and updates the metadata that tells clients where to get tokens.
    fn apply(&self, next: &Config) -> anyhow::Result<()> {
        let mut current = self.external_auth.lock().unwrap_or_else(PoisonError::into_inner);
        let next_auth = external_auth::external_auth(next, &current)?;
        let oauth = external_auth::protected_resource(next, &next_auth)?;
        // No issuer is trusted or asked for keys before the server has applied the whole configuration.
        self.server.reload(serve::terms(next, next_auth.clone()))?;
        *self.oauth.write().unwrap_or_else(PoisonError::into_inner) = oauth;
        external_auth::prefetch_keys(&next_auth);
        *current = next_auth;
        Ok(())
    }

    /// Logs what has changed, and what needs a restart.
    fn log_changes(&self, next: &Config) {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let live: Vec<String> =
            last.changed_keys(next).into_iter().filter(|key| is_reloadable(key)).collect();
        tracing::info!(changed = ?live, "configuration reloaded");
        let waiting = self.start.changed_keys(next).into_iter().filter(|key| !is_reloadable(key));
        let waiting: Vec<String> = waiting.collect();
        if !waiting.is_empty() {
            tracing::warn!(keys = ?waiting, "these changes need a restart");
        }
        self.oddities.warn(next);
    }
}

fn is_reloadable(key: &str) -> bool {
    RELOADABLE_KEYS.iter().any(|live| key.starts_with(live))
}
