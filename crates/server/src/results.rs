//! Stores the further parts of large answers for a while, for the principal that made the call.

use crate::hex;
use docent_tool::Contents;
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

const RESULT_URI_PREFIX: &str = "result://";
/// Maximum bytes of all stored answers; the oldest are dropped first.
const MAX_STORED_BYTES: usize = 64 * 1024 * 1024;
/// Maximum stored answers; the oldest are dropped first.
const MAX_STORED_RESULTS: usize = 1024;

/// A random, unguessable id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResultId(String);

impl ResultId {
    pub(crate) fn new() -> Self {
        Self(hex::random::<16>())
    }

    /// The address of one part of this answer.
    pub(crate) fn uri(&self, part: impl std::fmt::Display) -> String {
        format!("{RESULT_URI_PREFIX}{}/{part}", self.0)
    }
}

/// The stored contents of one answer, by the last segment of their address.
#[derive(Debug, Default)]
pub(crate) struct ResultParts(Vec<(String, Contents)>);

impl ResultParts {
    pub(crate) fn add_text(&mut self, id: &ResultId, part: &str, text: String, mime: &str) {
        let contents = Contents::Text { uri: id.uri(part), mime: Some(mime.to_owned()), text };
        self.0.push((part.to_owned(), contents));
    }

    pub(crate) fn add(&mut self, part: &str, contents: Contents) {
        self.0.push((part.to_owned(), contents));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn bytes(&self) -> usize {
        let size = |contents: &Contents| match contents {
            Contents::Text { text, .. } => text.len(),
            Contents::Blob { blob, .. } => blob.len(),
            Contents::Raw(value) => value.to_string().len(),
        };
        self.0.iter().map(|(_, contents)| size(contents)).sum()
    }
}

/// The store. Bounded in bytes, answers and time.
#[derive(Debug)]
pub(crate) struct ResultStore {
    kept: Mutex<StoredResults>,
    ttl: Duration,
    most_bytes: usize,
}

#[derive(Debug, Default)]
struct StoredResults {
    answers: HashMap<String, StoredResult>,
    /// Oldest first.
    order: VecDeque<(Instant, String)>,
    bytes: usize,
}

#[derive(Debug)]
struct StoredResult {
    owner: Arc<str>,
    parts: ResultParts,
    bytes: usize,
}

impl StoredResults {
    fn drop_oldest(&mut self) {
        let Some((_, id)) = self.order.pop_front() else { return };
        if let Some(answer) = self.answers.remove(&id) {
            self.bytes -= answer.bytes;
        }
    }

    fn drop_expired(&mut self, ttl: Duration) {
        while self.order.front().is_some_and(|(since, _)| since.elapsed() >= ttl) {
            self.drop_oldest();
        }
    }
}

impl ResultStore {
    pub(crate) fn new(ttl: Duration) -> Self {
        Self { kept: Mutex::default(), ttl, most_bytes: MAX_STORED_BYTES }
    }

    /// Number of answers and of bytes.
    pub(crate) fn size(&self) -> (usize, usize) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.drop_expired(self.ttl);
        (kept.answers.len(), kept.bytes)
    }

    pub(crate) fn keep(&self, id: &ResultId, owner: &Arc<str>, parts: ResultParts) {
        let bytes = parts.bytes();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.drop_expired(self.ttl);
        while !kept.order.is_empty()
            && (kept.bytes + bytes > self.most_bytes || kept.answers.len() >= MAX_STORED_RESULTS)
        {
            kept.drop_oldest();
        }
        kept.bytes += bytes;
        kept.order.push_back((Instant::now(), id.0.clone()));
        kept.answers.insert(id.0.clone(), StoredResult { owner: Arc::clone(owner), parts, bytes });
    }

    /// Whether this is the address of a result, stored or not.
    pub(crate) fn owns(uri: &str) -> bool {
        uri.starts_with(RESULT_URI_PREFIX)
    }

    /// A part; only for the principal that made the call.
    pub(crate) fn read(&self, uri: &str, reader: &str) -> Option<Contents> {
        let (id, part) = uri.strip_prefix(RESULT_URI_PREFIX)?.split_once('/')?;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.drop_expired(self.ttl);
        let answer = kept.answers.get(id).filter(|answer| &*answer.owner == reader)?;
        answer.parts.0.iter().find(|(name, _)| name == part).map(|(_, contents)| contents.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(id: &ResultId, text: &str) -> ResultParts {
        let mut parts = ResultParts::default();
        parts.add_text(id, "2", text.to_owned(), "text/plain");
        parts
    }

    #[test]
    fn a_part_is_readable_only_by_its_owner() {
        let results = ResultStore::new(Duration::from_mins(1));
        let id = ResultId::new();
        results.keep(&id, &"ann".into(), parts(&id, "more"));
        let uri = id.uri(2);
        let want = Contents::Text {
            uri: uri.clone(),
            mime: Some("text/plain".into()),
            text: "more".into(),
        };
        assert_eq!(results.read(&uri, "ann"), Some(want));
        assert_eq!(results.read(&uri, "bob"), None);
        assert_eq!(results.read(&id.uri(3), "ann"), None);
        assert_eq!(results.read("result://", "ann"), None);
        assert_eq!(results.read("other://x/2", "ann"), None);
        assert_ne!(ResultId::new(), ResultId::new());
    }

    #[test]
    fn parts_expire() {
        let results = ResultStore::new(Duration::ZERO);
        let id = ResultId::new();
        results.keep(&id, &"ann".into(), parts(&id, "more"));
        assert_eq!(results.read(&id.uri(2), "ann"), None);
        assert_eq!(results.size(), (0, 0));
    }

    #[test]
    fn the_oldest_results_are_dropped() {
        let results =
            ResultStore { kept: Mutex::default(), ttl: Duration::from_mins(1), most_bytes: 10 };
        let ids: Vec<ResultId> = (0..4).map(|_| ResultId::new()).collect();
        for id in &ids {
            results.keep(id, &"ann".into(), parts(id, "1234"));
        }
        let there: Vec<bool> =
            ids.iter().map(|id| results.read(&id.uri(2), "ann").is_some()).collect();
        assert_eq!(there, [false, false, true, true]);
        assert_eq!(results.size(), (2, 8));
    }
}
