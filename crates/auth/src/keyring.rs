//! The keys of one issuer as they are held: how long they count, and when the issuer is asked again.

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

/// An issuer is asked no more often, so that made-up key names can't turn docent against it.
const MIN_REFRESH_INTERVAL: Duration = Duration::from_secs(30);
/// Keys that an issuer grants no time are looked at again after this.
const DEFAULT_KEY_AGE: Duration = Duration::from_hours(1);
const MIN_KEY_AGE: Duration = Duration::from_mins(5);
const MAX_KEY_AGE: Duration = Duration::from_hours(24);
/// How long keys that are due count on while the issuer can't be reached.
const STALE_KEY_GRACE: Duration = Duration::from_hours(24);
/// Requests carry the time at which they began, so one may be a little older than the keys.
const CLOCK_SKEW: Duration = Duration::from_mins(1);
/// Callers that may wait for one answer of an issuer. A slow issuer and made-up key names must not use up every thread.
const MAX_REFRESH_WAITERS: usize = 32;

/// What is held of one issuer.
#[derive(Debug, Default)]
pub(crate) struct IssuerKeyCache {
    state: RwLock<KeyCacheState>,
    /// Held while the issuer is asked; guards the place of its keys.
    asking: Mutex<Option<KeySetLocation>>,
    waiting: AtomicUsize,
}

#[derive(Debug, Default)]
struct KeyCacheState {
    held: Option<Arc<CachedKeySet>>,
    /// When a caller last began to ask the issuer, with success or not.
    asked: Option<SystemTime>,
}

#[derive(Debug)]
struct CachedKeySet {
    keys: Arc<KeySet>,
    read: SystemTime,
    fresh_for: Duration,
}

/// Where metadata says the keys are.
#[derive(Debug)]
struct KeySetLocation {
    url: String,
    found: SystemTime,
}

/// One of the callers that wait.
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
    /// The keys that count now. `None` asks for a call of `refresh`: there are none, or they are due for another look.
    pub(crate) fn keys(&self, now: SystemTime) -> Option<Arc<KeySet>> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let held = state.held.as_ref()?;
        let age = age(held.read, now)?;
        if age >= held.fresh_for + STALE_KEY_GRACE {
            return None;
        }
        // Old keys count for a pause once the issuer is asked: others need not wait for its answer, or miss it.
        (age < held.fresh_for || state.is_paused(now)).then(|| Arc::clone(&held.keys))
    }

    /// Whether keys were read, however long ago.
    pub(crate) fn holds_keys(&self) -> bool {
        self.state.read().unwrap_or_else(PoisonError::into_inner).held.is_some()
    }

    /// Asks the issuer unless `wanted` is met by now, or it was asked a moment ago. One caller asks; some others wait for it.
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

/// How long ago something was. `None` if the clock was set back since: then nothing that was timed by it counts.
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
            // The keys may have moved: the next try looks for them again.
            *place = None;
            return Err(error);
        }
    };
    place.get_or_insert(KeySetLocation { url, found: now });
    let (keys, left_out) = (published.keys, published.left_out);
    tracing::info!(issuer = issuer.name(), keys = keys.len(), left_out, "issuer's keys read");
    let fresh_for = published.max_age.unwrap_or(DEFAULT_KEY_AGE).clamp(MIN_KEY_AGE, MAX_KEY_AGE);
    Ok(CachedKeySet { keys: Arc::new(keys), read: now, fresh_for })
}
