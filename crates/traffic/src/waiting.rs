//! Requests without an answer so far, to match answers with their requests.

use crate::Direction;
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Instant,
};

/// Maximum remembered requests; the oldest are forgotten first, because most of them will never be answered.
const MAX_PENDING_REQUESTS: usize = 4_096;

/// The scope within which ids are unique.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct IdScope {
    pub(crate) connection: u64,
    /// A part of the connection whose ids are independent of those of other parts.
    pub(crate) part: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct PendingKey {
    scope: IdScope,
    /// The direction of the request.
    direction: Direction,
    /// Whether it is an id or a token.
    is_token: bool,
    /// The id or token as written in JSON.
    text: Box<str>,
}

/// What is remembered about a request.
pub(crate) struct PendingTrafficRequest {
    pub(crate) seq: u64,
    pub(crate) began: Instant,
    pub(crate) method: Option<Arc<str>>,
    pub(crate) target: Option<Arc<str>>,
    pub(crate) era: Option<Arc<str>>,
    pub(crate) parent: Option<u64>,
    pub(crate) attempt: u32,
}

/// Requests waiting for their answers.
#[derive(Default)]
pub(crate) struct PendingTraffic {
    known: HashMap<PendingKey, Arc<PendingTrafficRequest>>,
    /// The keys of each request, the oldest first.
    keys: BTreeMap<u64, (PendingKey, Option<PendingKey>)>,
}

/// Where to search: the scope, and the direction of the request.
pub(crate) type IdSide = (IdScope, Direction);

fn key((scope, direction): IdSide, is_token: bool, text: &str) -> PendingKey {
    PendingKey { scope, direction, is_token, text: text.into() }
}

impl PendingTraffic {
    pub(crate) fn add(
        &mut self,
        place: IdSide,
        id: &str,
        token: Option<&str>,
        request: PendingTrafficRequest,
    ) {
        let (seq, request) = (request.seq, Arc::new(request));
        let (id, token) = (key(place, false, id), token.map(|token| key(place, true, token)));
        if let Some(token) = &token {
            self.known.insert(token.clone(), Arc::clone(&request));
        }
        self.known.insert(id.clone(), request);
        self.keys.insert(seq, (id, token));
        while self.keys.len() > MAX_PENDING_REQUESTS {
            let Some((seq, keys)) = self.keys.pop_first() else { return };
            self.forget(seq, keys);
        }
    }

    /// A later request may have taken the same key by now.
    fn forget(&mut self, seq: u64, (id, token): (PendingKey, Option<PendingKey>)) {
        for key in std::iter::once(id).chain(token) {
            if self.known.get(&key).is_some_and(|request| request.seq == seq) {
                self.known.remove(&key);
            }
        }
    }

    /// The request with this id. Some implementations write numbers as text, or text as numbers.
    pub(crate) fn find(&self, place: IdSide, id: &str) -> Option<Arc<PendingTrafficRequest>> {
        let other = || {
            let bare = id.strip_prefix('"').and_then(|id| id.strip_suffix('"'));
            bare.map_or_else(|| format!("\"{id}\""), str::to_owned)
        };
        let found = self.known.get(&key(place, false, id));
        found.or_else(|| self.known.get(&key(place, false, &other()))).cloned()
    }

    /// The request with this progress token.
    pub(crate) fn find_token(
        &self,
        place: IdSide,
        token: &str,
    ) -> Option<Arc<PendingTrafficRequest>> {
        self.known.get(&key(place, true, token)).cloned()
    }

    /// The request was answered, or never will be.
    pub(crate) fn remove(&mut self, seq: u64) {
        if let Some(keys) = self.keys.remove(&seq) {
            self.forget(seq, keys);
        }
    }

    /// The connection ended: its requests get no answer.
    pub(crate) fn close(&mut self, connection: u64) {
        let of_it = |(id, _): &(PendingKey, Option<PendingKey>)| id.scope.connection == connection;
        let closed: Vec<u64> =
            self.keys.iter().filter(|(_, keys)| of_it(keys)).map(|(seq, _)| *seq).collect();
        for seq in closed {
            self.remove(seq);
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> (usize, usize) {
        (self.keys.len(), self.known.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(seq: u64) -> PendingTrafficRequest {
        let (method, target, era, parent) = Default::default();
        PendingTrafficRequest {
            seq,
            began: Instant::now(),
            method,
            target,
            era,
            parent,
            attempt: 1,
        }
    }

    #[test]
    fn the_oldest_requests_are_forgotten_first() {
        let place = (IdScope { connection: 1, part: 0 }, Direction::In);
        let mut waiting = PendingTraffic::default();
        let most = u64::try_from(MAX_PENDING_REQUESTS).unwrap();
        for seq in 1..=most + 10 {
            let text = seq.to_string();
            waiting.add(place, &text, Some(&text), request(seq));
        }
        assert_eq!(waiting.len(), (MAX_PENDING_REQUESTS, 2 * MAX_PENDING_REQUESTS));
        assert!(waiting.find(place, "10").is_none() && waiting.find_token(place, "10").is_none());
        assert_eq!(waiting.find(place, "11").unwrap().seq, 11);
        waiting.close(2);
        assert_eq!(waiting.len(), (MAX_PENDING_REQUESTS, 2 * MAX_PENDING_REQUESTS));
        waiting.close(1);
        assert_eq!(waiting.len(), (0, 0));
    }

    #[test]
    fn a_request_is_found_by_its_place_and_either_spelling() {
        let scope = IdScope { connection: 1, part: 0 };
        let place = (scope, Direction::In);
        let mut waiting = PendingTraffic::default();
        waiting.add(place, "7", None, request(1));
        waiting.add(place, "\"8\"", Some("\"t\""), request(2));
        waiting.add(place, "8", None, request(3));
        for (place, id, want) in [
            (place, "7", Some(1)),
            (place, "\"7\"", Some(1)),
            (place, "\"8\"", Some(2)),
            (place, "8", Some(3)),
            (place, "9", None),
            (place, "", None),
            (place, "\"", None),
            ((scope, Direction::Out), "7", None),
            ((IdScope { part: 1, ..scope }, Direction::In), "7", None),
            ((IdScope { connection: 2, ..scope }, Direction::In), "7", None),
        ] {
            assert_eq!(waiting.find(place, id).map(|found| found.seq), want, "{place:?} {id}");
        }
        assert_eq!(waiting.find_token(place, "\"t\"").unwrap().seq, 2);
        // The same id is used again, and the first request ends: the second is still found.
        waiting.add(place, "7", None, request(4));
        waiting.remove(1);
        assert_eq!(waiting.find(place, "7").unwrap().seq, 4);
    }
}
