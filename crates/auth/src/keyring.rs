//! The cached keys of one issuer: how long they are valid, and when the issuer is queried again.

use crate::{
    discovery::{self, LearnError},
    fetch::Fetch,
    issuer::Issuer,
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
const PAUSE: Duration = Duration::from_secs(30);
/// Lifetime of keys for which the issuer states none.
const USUAL_AGE: Duration = Duration::from_hours(1);
const MIN_AGE: Duration = Duration::from_mins(5);
const MAX_AGE: Duration = Duration::from_hours(24);
/// How long expired keys remain valid while the issuer is unreachable.
const GRACE: Duration = Duration::from_hours(24);
/// Requests carry the time at which they began, so one may be a little older than the keys.
const SKEW: Duration = Duration::from_mins(1);
/// Maximum callers that wait for one response of an issuer. A slow issuer and made-up key names must not use up every
/// thread.
const MAX_WAITING: usize = 32;

/// Cached keys of one issuer.
#[derive(Debug, Default)]
pub(crate) struct Keyring {
    state: RwLock<State>,
    /// Locked while the issuer is queried; contains the URL of its keys.
    asking: Mutex<Option<Place>>,
    waiting: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    held: Option<Arc<Held>>,
    /// When a caller last started to query the issuer, successfully or not.
    asked: Option<SystemTime>,
}

#[derive(Debug)]
struct Held {
    keys: Arc<KeySet>,
    read: SystemTime,
    fresh_for: Duration,
}

/// The URL of the keys according to the metadata.
#[derive(Debug)]
struct Place {
    url: String,
    found: SystemTime,
}

/// One of the waiting callers.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn join(count: &'a AtomicUsize) -> Option<Self> {
        let one_more = |waiting| (waiting < MAX_WAITING).then_some(waiting + 1);
        count.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more).ok().map(|_| Self(count))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Keyring {
    /// The keys that are valid now. `None` if there are none or they are due for a refresh: call `refresh`.
    pub(crate) fn keys(&self, now: SystemTime) -> Option<Arc<KeySet>> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let held = state.held.as_ref()?;
        let age = age(held.read, now)?;
        if age >= held.fresh_for + GRACE {
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
        issuer: &Issuer,
        fetch: &dyn Fetch,
        now: SystemTime,
        wanted: impl Fn(&KeySet) -> bool,
    ) -> Option<Result<(), LearnError>> {
        let _waiting = Waiting::join(&self.waiting)?;
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

impl State {
    fn is_paused(&self, now: SystemTime) -> bool {
        self.asked.and_then(|asked| age(asked, now)).is_some_and(|age| age < PAUSE)
    }
}

/// Time since `then`. `None` if the clock was set back since: then nothing timed by it is valid.
fn age(then: SystemTime, now: SystemTime) -> Option<Duration> {
    match now.duration_since(then) {
        Ok(age) => Some(age),
        Err(ahead) => (ahead.duration() < SKEW).then_some(Duration::ZERO),
    }
}

fn ask(
    issuer: &Issuer,
    fetch: &dyn Fetch,
    now: SystemTime,
    place: &mut Option<Place>,
) -> Result<Held, LearnError> {
    let url = match &issuer.settings.jwks_uri {
        Some(configured) => configured.clone(),
        None => match place.take() {
            Some(known) if age(known.found, now).is_some_and(|age| age < MAX_AGE) => {
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
    place.get_or_insert(Place { url, found: now });
    let (keys, left_out) = (published.keys, published.left_out);
    tracing::info!(issuer = issuer.name(), keys = keys.len(), left_out, "read the issuer's keys");
    let fresh_for = published.max_age.unwrap_or(USUAL_AGE).clamp(MIN_AGE, MAX_AGE);
    Ok(Held { keys: Arc::new(keys), read: now, fresh_for })
}
