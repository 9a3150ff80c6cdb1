//! Authenticates callers and limits them: keys, rates, calls in flight.

use crate::{
    ExternalAuth,
    setup::{NamedKey, RequestRate, ServerSetupError},
};
use docent_transport::{CallerCredentials, ClientKey, Principal, PrincipalKind};
use governor::{DefaultKeyedRateLimiter, Quota, clock::Clock, clock::DefaultClock};
use sha2::{Digest, Sha256};
use std::{
    collections::{HashMap, HashSet},
    fmt,
    num::NonZeroU32,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use subtle::ConstantTimeEq;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The configured keys. Tokens are stored as digests, so that a comparison takes the same time for every guess.
pub(crate) struct ApiKeys {
    keys: Vec<(Principal, [u8; 32])>,
    required: bool,
    anonymous: Principal,
    external_auth: ExternalAuth,
    /// Names of former keys. Callers authenticated with one may still be connected.
    former: HashSet<Arc<str>>,
}

impl ApiKeys {
    pub(crate) fn new(
        keys: Vec<NamedKey>,
        strangers: ExternalAuth,
        required: bool,
    ) -> Result<Self, ServerSetupError> {
        if required && keys.is_empty() && strangers.is_empty() {
            return Err(ServerSetupError::NoKeys);
        }
        let mut names = HashSet::new();
        let mut ring: Vec<(Principal, [u8; 32])> = Vec::with_capacity(keys.len());
        for NamedKey { name, token, scopes } in keys {
            let problem = if name.is_empty() || name == ANONYMOUS {
                Some("a key needs a name other than `anonymous`")
            } else if token.trim().is_empty() {
                Some("its token is empty")
            } else if !names.insert(name.clone()) {
                Some("another key has the same name")
            } else if ring.iter().any(|(_, known)| *known == digest(&token)) {
                Some("another key has the same token")
            } else {
                None
            };
            if let Some(problem) = problem {
                return Err(ServerSetupError::BadKey { name, problem });
            }
            let kind = PrincipalKind::Key;
            ring.push((
                Principal { name: name.into(), scopes: scopes.into(), kind, grant: None },
                digest(&token),
            ));
        }
        let everything: &[&str] = if required { &[] } else { &["*"] };
        let scopes = everything.iter().map(ToString::to_string).collect();
        let kind = PrincipalKind::Anonymous;
        let anonymous = Principal { name: ANONYMOUS.into(), scopes, kind, grant: None };
        Ok(Self {
            keys: ring,
            required,
            anonymous,
            external_auth: strangers,
            former: HashSet::new(),
        })
    }

    pub(crate) fn required(&self) -> bool {
        self.required
    }

    /// Whether lists depend on the caller.
    pub(crate) fn has_keys(&self) -> bool {
        !self.keys.is_empty() || !self.external_auth.is_empty()
    }

    /// Remembers the keys of the set that this one replaces.
    pub(crate) fn remember_former_keys(&mut self, other: &Self) {
        let known = other.keys.iter().map(|(principal, _)| &principal.name);
        self.former = known.chain(&other.former).cloned().collect();
    }

    /// What a principal authenticated earlier may do now.
    pub(crate) fn current(&self, principal: Principal) -> Principal {
        match principal.kind {
            PrincipalKind::Anonymous if principal.name == self.anonymous.name => {
                return self.anonymous.clone();
            }
            PrincipalKind::Key => {}
            _ => return self.external_auth.current(principal),
        }
        let known = self.keys.iter().map(|(known, _)| known);
        match known.into_iter().find(|known| known.name == principal.name) {
            Some(known) => known.clone(),
            None if self.former.contains(&principal.name) => {
                Principal { scopes: Arc::from([]), ..principal }
            }
            None => principal,
        }
    }

    /// The anonymous principal. If a key is required, it may use nothing.
    pub(crate) fn anonymous(&self) -> &Principal {
        &self.anonymous
    }

    /// How callers without a key are authenticated.
    pub(crate) fn external_auth(&self) -> &ExternalAuth {
        &self.external_auth
    }

    pub(crate) fn identify(&self, shown: &CallerCredentials<'_>) -> Option<Principal> {
        let anonymous = || (!self.required).then(|| self.anonymous.clone());
        let Some(token) = shown.token else {
            let certified =
                shown.certificate.and_then(|one| self.external_auth.by_certificate(one));
            return certified.or_else(anonymous);
        };
        if self.keys.is_empty() && self.external_auth.tokens.is_none() {
            return anonymous();
        }
        let offered = digest(token);
        // Every key is compared, so that the time taken does not reveal which one was close.
        let mut found = None;
        for (principal, known) in &self.keys {
            if bool::from(known.ct_eq(&offered)) {
                found = Some(principal);
            }
        }
        found.cloned().or_else(|| self.external_auth.by_token(token))
    }
}

impl fmt::Debug for ApiKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiKeys").field("keys", &self.keys.len()).finish_non_exhaustive()
    }
}

const ANONYMOUS: &str = "anonymous";

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// A rate limit with a separate budget per client.
pub(crate) struct RateLimiter {
    limiter: DefaultKeyedRateLimiter<ClientKey>,
    clock: DefaultClock,
    checks: AtomicUsize,
    rate: RequestRate,
}

impl RateLimiter {
    pub(crate) fn new(rate: RequestRate) -> Self {
        let step = rate.window / rate.requests.get();
        let step = if step.is_zero() { Duration::from_nanos(1) } else { step };
        let quota = Quota::with_period(step)
            .unwrap_or_else(|| Quota::per_second(NonZeroU32::MAX))
            .allow_burst(rate.requests);
        let limiter = DefaultKeyedRateLimiter::keyed(quota);
        Self { limiter, clock: DefaultClock::default(), checks: AtomicUsize::new(0), rate }
    }

    pub(crate) fn per_minute(requests: NonZeroU32) -> Self {
        Self::new(RequestRate::per_minute(requests))
    }

    pub(crate) fn rate(&self) -> RequestRate {
        self.rate
    }

    /// Counts one request; an error states how long to wait.
    pub(crate) fn check(&self, client: &ClientKey) -> Result<(), Duration> {
        // Clients that were idle for a whole window are forgotten, so the table stays bounded.
        if self.checks.fetch_add(1, Ordering::Relaxed) % 4096 == 4095 {
            self.limiter.retain_recent();
            self.limiter.shrink_to_fit();
        }
        self.limiter.check_key(client).map_err(|not_yet| not_yet.wait_time_from(self.clock.now()))
    }
}

/// Limits calls in flight, per client.
#[derive(Debug)]
pub(crate) struct CallLimiter {
    lanes: Mutex<HashMap<ClientKey, Arc<ClientCallSlots>>>,
    cap: usize,
}

#[derive(Debug)]
struct ClientCallSlots {
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
}

/// A client has too many calls running and too many waiting.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoCallCapacity {
    pub(crate) running: usize,
    pub(crate) waiting: usize,
}

impl CallLimiter {
    pub(crate) fn new(cap: usize) -> Arc<Self> {
        Arc::new(Self { lanes: Mutex::default(), cap })
    }

    /// Takes a permit, queueing if the queue is not full, for at most `patience`.
    pub(crate) async fn enter(
        self: &Arc<Self>,
        client: ClientKey,
        patience: Duration,
    ) -> Result<CallPermit, NoCallCapacity> {
        let lane = {
            let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(lanes.entry(client.clone()).or_insert_with(|| {
                Arc::new(ClientCallSlots {
                    permits: Arc::new(Semaphore::new(self.cap)),
                    waiting: AtomicUsize::new(0),
                })
            }))
        };
        let mut place = CallPermit { permit: None, lane, client, lanes: Arc::clone(self) };
        if let Ok(permit) = Arc::clone(&place.lane.permits).try_acquire_owned() {
            place.permit = Some(permit);
            return Ok(place);
        }
        let most = self.cap.saturating_mul(4);
        let crowded = NoCallCapacity { running: self.cap, waiting: most };
        let join = |waiting| (waiting < most).then_some(waiting + 1);
        if place.lane.waiting.fetch_update(Ordering::AcqRel, Ordering::Acquire, join).is_err() {
            return Err(crowded);
        }
        let waiting = QueuedCallGuard(Arc::clone(&place.lane));
        let turn = Arc::clone(&place.lane.permits).acquire_owned();
        let Ok(permit) = tokio::time::timeout(patience, turn).await else {
            return Err(crowded);
        };
        drop(waiting);
        // The semaphore is never closed; if it were, the call would run uncounted instead of blocking.
        place.permit = permit.ok();
        Ok(place)
    }
}

struct QueuedCallGuard(Arc<ClientCallSlots>);

impl Drop for QueuedCallGuard {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Idle clients that are remembered, so that a client's next call finds its queue.
const MAX_IDLE_CLIENTS: usize = 256;

/// A permit for one running call. If many clients are remembered, the last permit removes its client's queue.
#[derive(Debug)]
pub(crate) struct CallPermit {
    permit: Option<OwnedSemaphorePermit>,
    lane: Arc<ClientCallSlots>,
    client: ClientKey,
    lanes: Arc<CallLimiter>,
}

impl Drop for CallPermit {
    fn drop(&mut self) {
        drop(self.permit.take());
        let mut lanes = self.lanes.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        // Two owners: the table and this permit. No other call can join while the table is locked.
        if lanes.len() > MAX_IDLE_CLIENTS && Arc::strong_count(&self.lane) == 2 {
            lanes.remove(&self.client);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use docent_transport::{Caller, ConnectionKind};

    const PATIENT: Duration = Duration::from_mins(1);

    fn key(name: &str, token: &str) -> NamedKey {
        NamedKey { name: name.into(), token: token.into(), scopes: vec!["*".into()] }
    }

    fn client(name: &str) -> ClientKey {
        let kind = PrincipalKind::Key;
        let principal = Principal { name: name.into(), scopes: [].into(), kind, grant: None };
        Caller { principal, via: ConnectionKind::Http, remote: None }.client_at_address()
    }

    #[test]
    fn tokens_are_distinguished() {
        let ring =
            ApiKeys::new(vec![key("ann", "one"), key("bob", "two")], ExternalAuth::default(), true)
                .unwrap();
        let open = ApiKeys::new(vec![key("ann", "one")], ExternalAuth::default(), false).unwrap();
        let keyless = ApiKeys::new(vec![], ExternalAuth::default(), false).unwrap();
        let cases = [
            (&ring, Some("one"), Some("ann")),
            (&ring, Some("two"), Some("bob")),
            (&ring, Some("on"), None),
            (&ring, Some("onee"), None),
            (&ring, Some(""), None),
            (&ring, None, None),
            (&open, Some("one"), Some("ann")),
            (&open, Some("two"), None),
            (&open, None, Some("anonymous")),
            (&keyless, Some("any"), Some("anonymous")),
            (&keyless, None, Some("anonymous")),
        ];
        for (ring, token, want) in cases {
            let got = ring
                .identify(&CallerCredentials { token, certificate: None })
                .map(|p| p.name.to_string());
            assert_eq!(got.as_deref(), want, "{token:?}");
        }
        assert!(ring.anonymous().scopes.is_empty(), "without a key nothing may be used");
        assert_eq!(open.anonymous().scopes.to_vec(), ["*"]);
    }

    #[test]
    fn bad_keys_are_refused() {
        let cases = [
            (vec![], true, "no key is configured"),
            (vec![key("a", " ")], true, "token is empty"),
            (vec![key("", "x")], false, "needs a name"),
            (vec![key("anonymous", "x")], false, "other than `anonymous`"),
            (vec![key("a", "x"), key("a", "y")], false, "same name"),
            (vec![key("a", "x"), key("b", "x")], false, "same token"),
        ];
        for (keys, required, want) in cases {
            let error =
                ApiKeys::new(keys, ExternalAuth::default(), required).unwrap_err().to_string();
            assert!(error.contains(want), "{error}");
        }
    }

    #[test]
    fn debug_never_shows_a_token() {
        let shown = format!(
            "{:?} {:?}",
            key("ann", "hush"),
            ApiKeys::new(vec![key("ann", "hush")], ExternalAuth::default(), true).unwrap()
        );
        assert!(!shown.contains("hush"), "{shown}");
    }

    #[test]
    fn a_rate_limiter_counts_each_client_separately() {
        let meter = RateLimiter::per_minute(NonZeroU32::new(5).unwrap());
        let (ann, bob) = (client("ann"), client("bob"));
        let passed = (0..8).filter(|_| meter.check(&ann).is_ok()).count();
        assert_eq!(passed, 5);
        assert!(meter.check(&bob).is_ok());
        let wait = meter.check(&ann).unwrap_err();
        assert!(wait > Duration::from_secs(1) && wait <= Duration::from_secs(12), "{wait:?}");
    }

    #[tokio::test]
    async fn calls_beyond_the_limit_queue_and_the_queue_is_bounded() {
        let lanes = CallLimiter::new(1);
        let ann = client("ann");
        let first = lanes.enter(ann.clone(), PATIENT).await.unwrap();
        let mut line = Vec::new();
        for _ in 0..4 {
            let mut waiting = Box::pin(lanes.enter(ann.clone(), PATIENT));
            assert!(
                std::future::poll_fn(|cx| std::task::Poll::Ready(waiting.as_mut().poll(cx)))
                    .await
                    .is_pending()
            );
            line.push(waiting);
        }
        let crowded = lanes.enter(ann.clone(), PATIENT).await.unwrap_err();
        assert_eq!(crowded, NoCallCapacity { running: 1, waiting: 4 });
        assert!(
            lanes.enter(client("bob"), PATIENT).await.is_ok(),
            "another client has a queue of its own"
        );
        drop(first);
        let mut line = line.into_iter();
        drop(line.next().unwrap().await.unwrap());
        drop(line);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_waited_too_long_leaves_the_queue() {
        let lanes = CallLimiter::new(1);
        let ann = client("ann");
        let first = lanes.enter(ann.clone(), PATIENT).await.unwrap();
        let crowded = lanes.enter(ann.clone(), PATIENT).await.unwrap_err();
        assert_eq!(crowded, NoCallCapacity { running: 1, waiting: 4 });
        assert_eq!(first.lane.waiting.load(Ordering::Acquire), 0);
        drop(first);
        assert!(lanes.enter(ann, Duration::ZERO).await.is_ok(), "a free permit needs no waiting");
    }

    #[tokio::test]
    async fn few_idle_clients_are_remembered() {
        let lanes = CallLimiter::new(1);
        let mut places = Vec::new();
        for n in 0..2 * MAX_IDLE_CLIENTS {
            places.push(lanes.enter(client(&n.to_string()), PATIENT).await.unwrap());
        }
        drop(places);
        assert_eq!(lanes.lanes.lock().unwrap().len(), MAX_IDLE_CLIENTS);
    }
}
