//! Answers that may be given again for a while.

use super::locked;
use serde_json::Value;
use std::{
    collections::HashMap,
    sync::Mutex,
    time::{Duration, Instant},
};

/// Answers that are kept.
const MAX_CACHED_RESULTS: usize = 512;
/// Bytes of one of them.
const MAX_CACHED_RESULT_BYTES: usize = 64 << 10;
/// No answer is kept for longer.
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

    /// The server is another, or says that things have changed.
    pub(crate) fn clear(&self) {
        locked(&self.0).clear();
    }
}

/// How long an answer may be given again, as the server says.
pub(crate) fn time_to_live(result: &Value) -> Option<Duration> {
    let ttl = result.get("ttlMs").and_then(Value::as_u64).filter(|ttl| *ttl > 0)?;
    Some(Duration::from_millis(ttl))
}

/// Whether it may be given to another client.
pub(crate) fn is_public(result: &Value) -> bool {
    result.get("cacheScope").and_then(Value::as_str) == Some("public")
}
