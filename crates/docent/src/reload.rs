//! SIGHUP: the configuration is read again, and what may change while docent runs is put in force. Calls go on.

use crate::{
    collections,
    config::{Config, Inputs},
    logging, serve,
};
use docent_server::Server;
use docent_suites::docs::DocsSuite;
use docent_transport::tls::Tls;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use tokio::signal::unix::{SignalKind, signal};

/// Keys, and tables of keys with a dot, that are put in force without a restart.
const LIVE: [&str; 6] = [
    "policy.tools.",
    "policy.rules",
    "policy.network.",
    "server.auth.",
    "limits.tools",
    "docs.collections",
];

/// The network policy in force, which every fetch looks at.
pub(crate) type Network = Arc<RwLock<docent_net::Policy>>;

/// All that a reload reaches.
pub(crate) struct Reload {
    pub(crate) inputs: Arc<Inputs>,
    pub(crate) server: Arc<Server>,
    pub(crate) docs: DocsSuite,
    pub(crate) network: Network,
    pub(crate) tls: Option<Arc<Tls>>,
    /// What is in force.
    pub(crate) config: Mutex<Config>,
}

impl Reload {
    /// Waits for signals, for as long as the server runs.
    pub(crate) async fn on_signal(self) {
        let Ok(mut hangups) = signal(SignalKind::hangup()) else {
            tracing::warn!("SIGHUP can't be listened to; changes need a restart");
            return;
        };
        while hangups.recv().await.is_some() {
            self.now();
        }
    }

    /// Reads the configuration and puts it in force, or says why not and changes nothing. The log file is opened anew.
    fn now(&self) {
        logging::reopen();
        let next = match Config::load(&self.inputs) {
            Ok(next) => next,
            Err(error) => {
                tracing::error!(%error, "the configuration can't be used; what was in force stays");
                return;
            }
        };
        let renewed = serve::terms(&next).and_then(|terms| Ok(self.server.renew(terms)?));
        if let Err(error) = renewed {
            tracing::error!("the configuration can't be used; what was in force stays: {error:#}");
            return;
        }
        if let Some(Err(error)) = self.tls.as_ref().map(|tls| tls.reload()) {
            tracing::error!(%error, "the certificate can't be used; the one that was in force stays");
        }
        *self.network.write().unwrap_or_else(PoisonError::into_inner) = next.policy.network.clone();
        self.docs.replace(collections::of(&next));
        let mut config = self.config.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = config.changes(&next);
        let (live, waiting): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|key| is_live(key));
        tracing::info!(changed = ?live, "the configuration was read again");
        if !waiting.is_empty() {
            tracing::warn!(keys = ?waiting, "these changes need a restart");
        }
        *config = next;
    }
}

fn is_live(key: &str) -> bool {
    LIVE.iter().any(|live| key.starts_with(live))
}
