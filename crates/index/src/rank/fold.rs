//! Copies of one thing take one place in an answer.

use super::Ranked;
use crate::store::Candidate;

/// Vectors nearer than this may say the same; the path, which is in them, keeps copies from being equal.
const SAME: f32 = 0.85;
/// Only the best are held against each other: nobody pages further.
const LOOKED_AT: usize = 100;

/// A candidate, and those that are left out because of it.
#[derive(Debug, Clone)]
pub(super) struct Folded {
    pub(super) ranked: Ranked,
    pub(super) alike: Vec<usize>,
}

/// Folds candidates that are copies of a better one into it, unless copies are wanted.
pub(super) fn fold(candidates: &[Candidate], ranked: Vec<Ranked>, copies: bool) -> Vec<Folded> {
    if copies {
        return ranked.into_iter().map(|ranked| Folded { ranked, alike: Vec::new() }).collect();
    }
    let mut kept: Vec<Folded> = Vec::with_capacity(ranked.len());
    for one in ranked {
        let this = &candidates[one.at];
        let same =
            kept.iter_mut().take(LOOKED_AT).find(|kept| is_copy(&candidates[kept.ranked.at], this));
        match same {
            Some(kept) => kept.alike.push(one.at),
            None => kept.push(Folded { ranked: one, alike: Vec::new() }),
        }
    }
    kept
}

/// Copies have one name and one text, and lie in different sources: two methods of one file are never copies.
fn is_copy(a: &Candidate, b: &Candidate) -> bool {
    if a.source == b.source || a.name != b.name || a.kind != b.kind {
        return false;
    }
    // Everything but the path, which is what differs between copies.
    let lengths = |candidate: &Candidate| {
        let [name, _, signature, doc, body] = candidate.lengths;
        (name, signature, doc, body)
    };
    let counts = |candidate: &Candidate| -> Vec<[u8; 4]> {
        candidate
            .counts
            .iter()
            .map(|[name, _, signature, doc, body]| [*name, *signature, *doc, *body])
            .collect()
    };
    lengths(a) == lengths(b)
        && counts(a) == counts(b)
        && match (&a.vector, &b.vector) {
            (Some(a), Some(b)) => a.cosine(b) >= SAME,
            _ => true,
        }
}
