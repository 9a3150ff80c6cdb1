//! Authenticates callers and limits them: keys, rates, calls in flight.

use crate::{
    Strangers,
    setup::{Key, Rate, SetupError},
};
use docent_transport::{ClientKey, Principal, PrincipalKind, Shown};
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
pub(crate) struct Keyring {
    keys: Vec<(Principal, [u8; 32])>,
    required: bool,
    anonymous: Principal,
    strangers: Strangers,
    /// Names of former keys. Callers authenticated with one may still be connected.
    former: HashSet<Arc<str>>,
}

impl Keyring {
    pub(crate) fn new(
        keys: Vec<Key>,
        strangers: Strangers,
        required: bool,
    ) -> Result<Self, SetupError> {
        if required && keys.is_empty() && strangers.is_empty() {
            return Err(SetupError::NoKeys);
        }
        let mut names = HashSet::new();
        let mut ring: Vec<(Principal, [u8; 32])> = Vec::with_capacity(keys.len());
        for Key { name, token, scopes } in keys {
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
                return Err(SetupError::BadKey { name, problem });
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
        Ok(Self { keys: ring, required, anonymous, strangers, former: HashSet::new() })
    }

    pub(crate) fn required(&self) -> bool {
        self.required
    }

    /// Whether lists depend on the caller.
    pub(crate) fn has_keys(&self) -> bool {
        !self.keys.is_empty() || !self.strangers.is_empty()
    }

    /// Remembers the keys of the set that this one replaces.
    pub(crate) fn succeed(&mut self, other: &Self) {
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
            _ => return self.strangers.current(principal),
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
    pub(crate) fn strangers(&self) -> &Strangers {
        &self.strangers
    }

    pub(crate) fn identify(&self, shown: &Shown<'_>) -> Option<Principal> {
        let anonymous = || (!self.required).then(|| self.anonymous.clone());
        let Some(token) = shown.token else {
            let certified = shown.certificate.and_then(|one| self.strangers.by_certificate(one));
            return certified.or_else(anonymous);
        };
        if self.keys.is_empty() && self.strangers.tokens.is_none() {
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
        found.cloned().or_else(|| self.strangers.by_token(token))
    }
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiKeys").field("keys", &self.keys.len()).finish_non_exhaustive()
    }
}

const ANONYMOUS: &str = "anonymous";

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// A rate limit with a separate budget per client.
pub(crate) struct Meter {
    limiter: DefaultKeyedRateLimiter<ClientKey>,
    clock: DefaultClock,
    checks: AtomicUsize,
    rate: Rate,
}

impl Meter {
    pub(crate) fn new(rate: Rate) -> Self {
        let step = rate.window / rate.requests.get();
        let step = if step.is_zero() { Duration::from_nanos(1) } else { step };
        let quota = Quota::with_period(step)
            .unwrap_or_else(|| Quota::per_second(NonZeroU32::MAX))
            .allow_burst(rate.requests);
        let limiter = DefaultKeyedRateLimiter::keyed(quota);
        Self { limiter, clock: DefaultClock::default(), checks: AtomicUsize::new(0), rate }
    }

    pub(crate) fn per_minute(requests: NonZeroU32) -> Self {
        Self::new(Rate::per_minute(requests))
    }

    pub(crate) fn rate(&self) -> Rate {
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
pub(crate) struct Lanes {
    lanes: Mutex<HashMap<ClientKey, Arc<Lane>>>,
    cap: usize,
}

#[derive(Debug)]
struct Lane {
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
}

/// A client has too many calls running and too many waiting.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Crowded {
    pub(crate) running: usize,
    pub(crate) waiting: usize,
}

impl Lanes {
    pub(crate) fn new(cap: usize) -> Arc<Self> {
        Arc::new(Self { lanes: Mutex::default(), cap })
    }

    /// Takes a permit, queueing if the queue is not full, for at most `patience`.
    pub(crate) async fn enter(
        self: &Arc<Self>,
        client: ClientKey,
        patience: Duration,
    ) -> Result<Place, Crowded> {
        let lane = {
            let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(lanes.entry(client.clone()).or_insert_with(|| {
                Arc::new(Lane {
                    permits: Arc::new(Semaphore::new(self.cap)),
                    waiting: AtomicUsize::new(0),
                })
            }))
        };
        let mut place = Place { permit: None, lane, client, lanes: Arc::clone(self) };
        if let Ok(permit) = Arc::clone(&place.lane.permits).try_acquire_owned() {
            place.permit = Some(permit);
            return Ok(place);
        }
        let most = self.cap.saturating_mul(4);
        let crowded = Crowded { running: self.cap, waiting: most };
        let join = |waiting| (waiting < most).then_some(waiting + 1);
        if place.lane.waiting.fetch_update(Ordering::AcqRel, Ordering::Acquire, join).is_err() {
            return Err(crowded);
        }
        let waiting = Waiting(Arc::clone(&place.lane));
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

struct Waiting(Arc<Lane>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Idle clients that are remembered, so that a client's next call finds its queue.
const QUIET_LANES: usize = 256;

/// A permit for one running call. If many clients are remembered, the last permit removes its client's queue.
#[derive(Debug)]
pub(crate) struct Place {
    permit: Option<OwnedSemaphorePermit>,
    lane: Arc<Lane>,
    client: ClientKey,
    lanes: Arc<Lanes>,
}

impl Drop for Place {
    fn drop(&mut self) {
        drop(self.permit.take());
        let mut lanes = self.lanes.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        // Two owners: the table and this permit. No other call can join while the table is locked.
        if lanes.len() > QUIET_LANES && Arc::strong_count(&self.lane) == 2 {
            lanes.remove(&self.client);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use docent_transport::{Caller, Via};

    const PATIENT: Duration = Duration::from_mins(1);

    fn key(name: &str, token: &str) -> Key {
        Key { name: name.into(), token: token.into(), scopes: vec!["*".into()] }
    }

    fn client(name: &str) -> ClientKey {
        let kind = PrincipalKind::Key;
        let principal = Principal { name: name.into(), scopes: [].into(), kind, grant: None };
        Caller { principal, via: Via::Http, remote: None }.client_at_address()
    }

    #[test]
    fn tokens_are_distinguished() {
        let ring =
            Keyring::new(vec![key("ann", "one"), key("bob", "two")], Strangers::default(), true)
                .unwrap();
        let open = Keyring::new(vec![key("ann", "one")], Strangers::default(), false).unwrap();
        let keyless = Keyring::new(vec![], Strangers::default(), false).unwrap();
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
            let got =
                ring.identify(&Shown { token, certificate: None }).map(|p| p.name.to_string());
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
            (vec![key("anonymous", "x")], false, "is taken"),
            (vec![key("a", "x"), key("a", "y")], false, "same name"),
            (vec![key("a", "x"), key("b", "x")], false, "same token"),
        ];
        for (keys, required, want) in cases {
            let error = Keyring::new(keys, Strangers::default(), required).unwrap_err().to_string();
            assert!(error.contains(want), "{error}");
        }
    }

    #[test]
    fn debug_never_shows_a_token() {
        let shown = format!(
            "{:?} {:?}",
            key("ann", "hush"),
            Keyring::new(vec![key("ann", "hush")], Strangers::default(), true).unwrap()
        );
        assert!(!shown.contains("hush"), "{shown}");
    }

    #[test]
    fn a_rate_limiter_counts_each_client_separately() {
        let meter = Meter::per_minute(NonZeroU32::new(5).unwrap());
        let (ann, bob) = (client("ann"), client("bob"));
        let passed = (0..8).filter(|_| meter.check(&ann).is_ok()).count();
        assert_eq!(passed, 5);
        assert!(meter.check(&bob).is_ok());
        let wait = meter.check(&ann).unwrap_err();
        assert!(wait > Duration::from_secs(1) && wait <= Duration::from_secs(12), "{wait:?}");
    }

    #[tokio::test]
    async fn calls_beyond_the_limit_queue_and_the_queue_is_bounded() {
        let lanes = Lanes::new(1);
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
        assert_eq!(crowded, Crowded { running: 1, waiting: 4 });
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
        let lanes = Lanes::new(1);
        let ann = client("ann");
        let first = lanes.enter(ann.clone(), PATIENT).await.unwrap();
        let crowded = lanes.enter(ann.clone(), PATIENT).await.unwrap_err();
        assert_eq!(crowded, Crowded { running: 1, waiting: 4 });
        assert_eq!(first.lane.waiting.load(Ordering::Acquire), 0);
        drop(first);
        assert!(lanes.enter(ann, Duration::ZERO).await.is_ok(), "a free permit needs no waiting");
    }

    #[tokio::test]
    async fn few_idle_clients_are_remembered() {
        let lanes = Lanes::new(1);
        let mut places = Vec::new();
        for n in 0..2 * QUIET_LANES {
            places.push(lanes.enter(client(&n.to_string()), PATIENT).await.unwrap());
        }
        drop(places);
        assert_eq!(lanes.lanes.lock().unwrap().len(), QUIET_LANES);
    }
}
