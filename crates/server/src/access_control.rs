//! Access control for transports: authentication, rate limits, and shares of sessions and streams.

use crate::{
    McpServer,
    admission::RateLimiter,
    audit::RejectionKey,
    policy,
    setup::ServerLimits,
    shares::{FairShares, Shortage},
};
use docent_transport::{
    AccessControl, Caller, CallerCredentials, ConnectionKind, MissingScope, NoCapacity, Principal,
    SlotGuard,
};
use futures::future::{BoxFuture, FutureExt, ready};
use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, SystemTime},
};

/// When a client that got no session or stream may try again.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// Maximum calls that wait for the index to rescan changed files.
const MAX_INDEX_CALLS: usize = 16;

/// Shares of limited resources, separately for each kind.
pub(crate) struct ClientShares {
    pub(crate) sessions: Arc<FairShares>,
    pub(crate) streams: Arc<FairShares>,
    /// Threads that run calls.
    pub(crate) threads: Arc<FairShares>,
    /// Calls that make the index rescan files.
    pub(crate) index: Arc<FairShares>,
}

impl ClientShares {
    pub(crate) fn new(limits: &ServerLimits) -> Self {
        Self {
            sessions: FairShares::new(limits.sessions, limits.sessions_per_client),
            streams: FairShares::new(limits.streams, limits.streams_per_client),
            threads: FairShares::new(limits.blocking_threads, None),
            index: FairShares::new(MAX_INDEX_CALLS, None),
        }
    }
}

/// Rate limits: on the network, and on pipes.
pub(crate) struct RateLimiters {
    network: Option<RateLimiter>,
    stdio: Option<RateLimiter>,
}

impl RateLimiters {
    pub(crate) fn new(limits: &ServerLimits) -> Self {
        Self {
            network: limits.rate.map(RateLimiter::new),
            stdio: limits.stdio_rate.map(RateLimiter::new),
        }
    }

    fn of(&self, caller: &Caller) -> Option<&RateLimiter> {
        if caller.via == ConnectionKind::Stdio {
            self.stdio.as_ref()
        } else {
            self.network.as_ref()
        }
    }
}

impl AccessControl for McpServer {
    fn needs_token(&self) -> bool {
        self.settings().api_keys.required()
    }

    fn identify(&self, shown: &CallerCredentials<'_>) -> Option<Principal> {
        self.settings().api_keys.identify(shown)
    }

    fn count_unknown_caller(&self) {
        self.counters().refused_token.fetch_add(1, Ordering::Relaxed);
        let unknown = RejectionKey { reason: "token", principal: Arc::default(), transport: "" };
        self.rejections().count(self.audit(), unknown);
    }

    fn fetch_unknown_keys<'a>(&'a self, token: &'a str) -> BoxFuture<'a, bool> {
        let tokens = self.settings().api_keys.external_auth().tokens.clone();
        let (Some(tokens), token) = (tokens, token.to_owned()) else {
            return ready(false).boxed();
        };
        let learn = move || tokens.refresh_keys(&token, SystemTime::now());
        async { tokio::task::spawn_blocking(learn).await.unwrap_or(false) }.boxed()
    }

    fn refusal_reason(&self, token: &str) -> Option<String> {
        self.settings().api_keys.external_auth().why_refused(token)
    }

    fn missing_scope(&self, caller: &Caller, tool: &str) -> Option<MissingScope> {
        let (terms, catalogue, who) = (self.settings(), self.catalog(), &caller.principal);
        let route = catalogue.find(tool)?;
        let is_open =
            who.scopes.iter().any(|own| policy::scope_covers(own, &route.provider, Some(tool)));
        if is_open {
            return None;
        }
        let scope = terms.api_keys.external_auth().scope_for(who, tool, &route.provider)?;
        self.count_rejection("scope", caller);
        Some(MissingScope { scope })
    }

    fn admit(&self, caller: &Caller) -> Result<(), Duration> {
        let Some(meter) = self.rate_limiters().of(caller) else { return Ok(()) };
        meter.check(&caller.client_at_address()).inspect_err(|_| {
            self.counters().refused_rate.fetch_add(1, Ordering::Relaxed);
            self.count_rejection("rate", caller);
        })
    }

    fn open_session(&self, caller: &Caller) -> Result<SlotGuard, NoCapacity> {
        take_slot(&self.shares().sessions, "sessions", caller)
    }

    fn count_no_capacity(&self) {
        self.counters().refused_seat.fetch_add(1, Ordering::Relaxed);
    }

    fn open_stream(&self, caller: &Caller) -> Result<SlotGuard, NoCapacity> {
        let taken = take_slot(&self.shares().streams, "streams", caller);
        taken.inspect_err(|_| self.count_no_capacity())
    }
}

fn take_slot(
    shares: &Arc<FairShares>,
    what: &'static str,
    caller: &Caller,
) -> Result<SlotGuard, NoCapacity> {
    match shares.try_take(caller.client()) {
        Ok(permit) => Ok(Box::new(permit)),
        Err(shortage) => {
            let is_own_share = shortage == Shortage::OwnShare;
            Err(NoCapacity { what, is_own_share, retry_after: RETRY_AFTER })
        }
    }
}
