//! The cached keys of one issuer: how long they are valid, and when the issuer is queried again.

use crate::{
    discovery::{self, KeyDiscoveryError},
    fetch::DocumentFetcher,
    issuer::TrustedIssuer,
    keys::KeySet,
};
use std::{
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

/// Minimum interval between queries to an issuer, so that made-up key names cannot turn docent against it.
const MIN_REFRESH_INTERVAL: Duration = Duration::from_secs(30);
/// Lifetime of keys for which the issuer states none.
const DEFAULT_KEY_AGE: Duration = Duration::from_hours(1);
const MIN_KEY_AGE: Duration = Duration::from_mins(5);
const MAX_KEY_AGE: Duration = Duration::from_hours(24);
/// How long expired keys remain valid while the issuer is unreachable.
const STALE_KEY_GRACE: Duration = Duration::from_hours(24);
/// Requests carry the time at which they began, so one may be a little older than the keys.
const CLOCK_SKEW: Duration = Duration::from_mins(1);
/// Maximum callers that wait for one response of an issuer. A slow issuer and made-up key names must not use up every
/// thread.
const MAX_REFRESH_WAITERS: usize = 32;

/// Cached keys of one issuer.
#[derive(Debug, Default)]
pub(crate) struct IssuerKeyCache {
    state: RwLock<KeyCacheState>,
    /// Locked while the issuer is queried; contains the URL of its keys.
    asking: Mutex<Option<KeySetLocation>>,
    waiting: AtomicUsize,
}

#[derive(Debug, Default)]
struct KeyCacheState {
    held: Option<Arc<CachedKeySet>>,
    /// When a caller last started to query the issuer, successfully or not.
    asked: Option<SystemTime>,
}

#[derive(Debug)]
struct CachedKeySet {
    keys: Arc<KeySet>,
    read: SystemTime,
    fresh_for: Duration,
}

/// The URL of the keys according to the metadata.
#[derive(Debug)]
struct KeySetLocation {
    url: String,
    found: SystemTime,
}

/// One of the waiting callers.
struct RefreshWaiter<'a>(&'a AtomicUsize);

impl<'a> RefreshWaiter<'a> {
    fn join(count: &'a AtomicUsize) -> Option<Self> {
        let one_more = |waiting| (waiting < MAX_REFRESH_WAITERS).then_some(waiting + 1);
        count.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more).ok().map(|_| Self(count))
    }
}

impl Drop for RefreshWaiter<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl IssuerKeyCache {
    /// The keys that are valid now. `None` if there are none or they are due for a refresh: call `refresh`.
    pub(crate) fn keys(&self, now: SystemTime) -> Option<Arc<KeySet>> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let held = state.held.as_ref()?;
        let age = age(held.read, now)?;
        if age >= held.fresh_for + STALE_KEY_GRACE {
            return None;
        }
        // Old keys remain valid during the pause after a query, so that others need not wait for the response.
        (age < held.fresh_for || state.is_paused(now)).then(|| Arc::clone(&held.keys))
    }

    /// Whether keys were ever read.
    pub(crate) fn holds_keys(&self) -> bool {
        self.state.read().unwrap_or_else(PoisonError::into_inner).held.is_some()
    }

    /// Queries the issuer unless `wanted` is met by now, or a query was just made. One caller queries; some others wait
    /// for it.
    pub(crate) fn refresh(
        &self,
        issuer: &TrustedIssuer,
        fetch: &dyn DocumentFetcher,
        now: SystemTime,
        wanted: impl Fn(&KeySet) -> bool,
    ) -> Option<Result<(), KeyDiscoveryError>> {
        let _waiting = RefreshWaiter::join(&self.waiting)?;
        let mut place = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        if self.keys(now).is_some_and(|keys| wanted(&keys)) {
            return None;
        }
        {
            let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
            if state.is_paused(now) {
                return None;
            }
            state.asked = Some(now);
        }
        let outcome = ask(issuer, fetch, now, &mut place);
        Some(outcome.map(|held| {
            let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
            state.held = Some(Arc::new(held));
        }))
    }
}

impl KeyCacheState {
    fn is_paused(&self, now: SystemTime) -> bool {
        self.asked.and_then(|asked| age(asked, now)).is_some_and(|age| age < MIN_REFRESH_INTERVAL)
    }
}

/// Time since `then`. `None` if the clock was set back since: then nothing timed by it is valid.
fn age(then: SystemTime, now: SystemTime) -> Option<Duration> {
    match now.duration_since(then) {
        Ok(age) => Some(age),
        Err(ahead) => (ahead.duration() < CLOCK_SKEW).then_some(Duration::ZERO),
    }
}

fn ask(
    issuer: &TrustedIssuer,
    fetch: &dyn DocumentFetcher,
    now: SystemTime,
    place: &mut Option<KeySetLocation>,
) -> Result<CachedKeySet, KeyDiscoveryError> {
    let url = match &issuer.settings.jwks_uri {
        Some(configured) => configured.clone(),
        None => match place.take() {
            Some(known) if age(known.found, now).is_some_and(|age| age < MAX_KEY_AGE) => {
                let url = known.url.clone();
                *place = Some(known);
                url
            }
            _ => discovery::find_keys(issuer, fetch)?,
        },
    };
    let published = match discovery::read_keys(&url, fetch) {
        Ok(published) => published,
        Err(error) => {
            // The keys may have moved: the next attempt locates them again.
            *place = None;
            return Err(error);
        }
    };
    place.get_or_insert(KeySetLocation { url, found: now });
    let (keys, left_out) = (published.keys, published.left_out);
    tracing::info!(issuer = issuer.name(), keys = keys.len(), left_out, "read the issuer's keys");
    let fresh_for = published.max_age.unwrap_or(DEFAULT_KEY_AGE).clamp(MIN_KEY_AGE, MAX_KEY_AGE);
    Ok(CachedKeySet { keys: Arc::new(keys), read: now, fresh_for })
}
