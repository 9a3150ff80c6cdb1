//! Cached results of tool calls.

use super::locked;
use serde_json::Value;
use std::{
    collections::HashMap,
    sync::Mutex,
    time::{Duration, Instant},
};

/// Maximum number of cached results.
const MAX_CACHED_RESULTS: usize = 512;
/// Maximum bytes of a cached result.
const MAX_CACHED_RESULT_BYTES: usize = 64 << 10;
/// Maximum time that a result is cached.
const MAX_CACHE_TIME: Duration = Duration::from_hours(1);

#[derive(Default)]
pub(crate) struct CallResultCache(Mutex<HashMap<String, (Instant, Value)>>);

impl CallResultCache {
    pub(crate) fn is_empty(&self) -> bool {
        locked(&self.0).is_empty()
    }

    pub(crate) fn get(&self, key: &str) -> Option<Value> {
        let mut kept = locked(&self.0);
        let (until, value) = kept.get(key)?;
        if *until > Instant::now() {
            return Some(value.clone());
        }
        kept.remove(key);
        None
    }

    pub(crate) fn put(&self, key: String, value: &Value, time: Duration) {
        if value.to_string().len() > MAX_CACHED_RESULT_BYTES {
            return;
        }
        let mut kept = locked(&self.0);
        let now = Instant::now();
        if kept.len() >= MAX_CACHED_RESULTS {
            kept.retain(|_, (until, _)| *until > now);
        }
        if kept.len() < MAX_CACHED_RESULTS {
            kept.insert(key, (now + time.min(MAX_CACHE_TIME), value.clone()));
        }
    }

    /// Drops all results, after a restart or a change.
    pub(crate) fn clear(&self) {
        locked(&self.0).clear();
    }
}

/// How long a result may be cached, according to the server.
pub(crate) fn time_to_live(result: &Value) -> Option<Duration> {
    let ttl = result.get("ttlMs").and_then(Value::as_u64).filter(|ttl| *ttl > 0)?;
    Some(Duration::from_millis(ttl))
}

/// Whether the result may be given to another client.
pub(crate) fn is_public(result: &Value) -> bool {
    result.get("cacheScope").and_then(Value::as_str) == Some("public")
}
