//! Folds copies into one result.

use super::Ranked;
use crate::store::Candidate;

/// Minimum similarity of copies; their vectors differ slightly because they include the path.
const SAME: f32 = 0.85;
/// Number of best candidates compared.
const LOOKED_AT: usize = 100;

/// A candidate with the copies folded into it.
#[derive(Debug, Clone)]
pub(super) struct Folded {
    pub(super) ranked: Ranked,
    pub(super) alike: Vec<usize>,
}

/// Folds copies into the best candidate, unless copies are requested.
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

/// Whether two candidates are copies: same name and text in different sources, never in one file.
fn is_copy(a: &Candidate, b: &Candidate) -> bool {
    if a.source == b.source || a.name != b.name || a.kind != b.kind {
        return false;
    }
    // Everything but the path, in which copies differ.
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
