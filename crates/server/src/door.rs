//! Access control for transports: authentication, rate limits, and shares of sessions and streams.

use crate::{
    Server,
    admit::Meter,
    audit::Whom,
    policy,
    setup::Limits,
    shares::{FairShares, Shortage},
};
use docent_transport::{Caller, Door, Lack, Overload, Principal, Seat, Shown, Via};
use futures::future::{BoxFuture, FutureExt, ready};
use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, SystemTime},
};

/// When a client that got no session or stream may try again.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// Maximum calls that wait for the index to rescan changed files.
const INDEX_SLOTS: usize = 16;

/// Shares of limited resources, separately for each kind.
pub(crate) struct Shares {
    pub(crate) sessions: Arc<FairShares>,
    pub(crate) streams: Arc<FairShares>,
    /// Threads that run calls.
    pub(crate) threads: Arc<FairShares>,
    /// Calls that make the index rescan files.
    pub(crate) index: Arc<FairShares>,
}

impl Shares {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            sessions: FairShares::new(limits.sessions, limits.sessions_per_client),
            streams: FairShares::new(limits.streams, limits.streams_per_client),
            threads: FairShares::new(limits.blocking_threads, None),
            index: FairShares::new(INDEX_SLOTS, None),
        }
    }
}

/// Rate limits: on the network, and on pipes.
pub(crate) struct Meters {
    network: Option<Meter>,
    stdio: Option<Meter>,
}

impl Meters {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self { network: limits.rate.map(Meter::new), stdio: limits.stdio_rate.map(Meter::new) }
    }

    fn of(&self, caller: &Caller) -> Option<&Meter> {
        if caller.via == Via::Stdio { self.stdio.as_ref() } else { self.network.as_ref() }
    }
}

impl Door for Server {
    fn needs_token(&self) -> bool {
        self.terms().keyring.required()
    }

    fn identify(&self, shown: &Shown<'_>) -> Option<Principal> {
        self.terms().keyring.identify(shown)
    }

    fn count_unknown_caller(&self) {
        self.counters().refused_token.fetch_add(1, Ordering::Relaxed);
        let unknown = Whom { reason: "token", principal: Arc::default(), transport: "" };
        self.turned_away().count(self.audit(), unknown);
    }

    fn learn<'a>(&'a self, token: &'a str) -> BoxFuture<'a, bool> {
        let tokens = self.terms().keyring.strangers().tokens.clone();
        let (Some(tokens), token) = (tokens, token.to_owned()) else {
            return ready(false).boxed();
        };
        let learn = move || tokens.learn(&token, SystemTime::now());
        async { tokio::task::spawn_blocking(learn).await.unwrap_or(false) }.boxed()
    }

    fn why_refused(&self, token: &str) -> Option<String> {
        self.terms().keyring.strangers().why_refused(token)
    }

    fn lacks(&self, caller: &Caller, tool: &str) -> Option<Lack> {
        let (terms, catalogue, who) = (self.terms(), self.catalogue(), &caller.principal);
        let route = catalogue.find(tool)?;
        let is_open = who.scopes.iter().any(|own| policy::opens(own, &route.provider, Some(tool)));
        if is_open {
            return None;
        }
        let scope = terms.keyring.strangers().scope_for(who, tool, &route.provider)?;
        self.turn_away("scope", caller);
        Some(Lack { scope })
    }

    fn admit(&self, caller: &Caller) -> Result<(), Duration> {
        let Some(meter) = self.meters().of(caller) else { return Ok(()) };
        meter.check(&caller.client_at_address()).inspect_err(|_| {
            self.counters().refused_rate.fetch_add(1, Ordering::Relaxed);
            self.turn_away("rate", caller);
        })
    }

    fn open_session(&self, caller: &Caller) -> Result<Seat, Overload> {
        take_seat(&self.shares().sessions, "sessions", caller)
    }

    fn count_unseated(&self) {
        self.counters().refused_seat.fetch_add(1, Ordering::Relaxed);
    }

    fn open_stream(&self, caller: &Caller) -> Result<Seat, Overload> {
        let taken = take_seat(&self.shares().streams, "streams", caller);
        taken.inspect_err(|_| self.count_unseated())
    }
}

fn take_seat(
    shares: &Arc<FairShares>,
    what: &'static str,
    caller: &Caller,
) -> Result<Seat, Overload> {
    match shares.try_take(caller.client()) {
        Ok(permit) => Ok(Box::new(permit)),
        Err(shortage) => {
            let is_own_share = shortage == Shortage::OwnShare;
            Err(Overload { what, is_own_share, retry_after: RETRY_AFTER })
        }
    }
}
