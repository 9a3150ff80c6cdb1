//! Demotes sections that only list the headings below them.

use super::RankedCandidate;
use crate::{
    store::{CandidateUnit, IndexStoreError, StoreView},
    unit::Genre,
};

/// Maximum number of hits checked.
const MAX_CHECKED_HITS: usize = 20;
/// Maximum number of terms in a list of headings; longer sections have content.
const MAX_CONTENTS_TERMS: u16 = 80;
/// Maximum number of words of a line that may be a heading.
const MAX_HEADING_WORDS: usize = 12;

/// Swaps a section that only lists headings with the best section below it that has as many of the query's words. Pages
/// keep their order.
pub(super) fn demote_contents(
    view: &dyn StoreView,
    candidates: &[CandidateUnit],
    ranked: &mut [RankedCandidate],
) -> Result<(), IndexStoreError> {
    for at in 0..ranked.len().min(MAX_CHECKED_HITS) {
        let Some(below) = best_below(candidates, ranked, at) else { continue };
        let (Some(list), Some(section)) = (ranked.get(at).copied(), ranked.get(below).copied())
        else {
            continue;
        };
        let Some(row) = candidates.get(list.at).map(|candidate| candidate.row) else { continue };
        if !is_contents(&view.unit(row)?.unit.body) {
            continue;
        }
        if let Some(place) = ranked.get_mut(at) {
            *place = RankedCandidate { similarity: list.similarity, ..section };
        }
        if let Some(place) = ranked.get_mut(below) {
            *place = RankedCandidate { similarity: section.similarity, ..list };
        }
    }
    Ok(())
}

/// The best section below a short one with as many of the query's words.
fn best_below(
    candidates: &[CandidateUnit],
    ranked: &[RankedCandidate],
    at: usize,
) -> Option<usize> {
    let this = ranked.get(at)?;
    let list = candidates.get(this.at)?;
    let [.., body] = list.lengths;
    if list.genre != Genre::Prose || body > MAX_CONTENTS_TERMS || list.signature.is_empty() {
        return None;
    }
    let is_below = |other: &RankedCandidate| {
        other.names >= this.names
            && other.parts.words >= this.parts.words
            && candidates.get(other.at).is_some_and(|section| {
                let rest = section.signature.strip_prefix(list.signature.as_str());
                section.source == list.source && rest.is_some_and(|rest| rest.starts_with(" > "))
            })
    };
    let below = ranked.iter().skip(at + 1).position(is_below)?;
    Some(at + 1 + below)
}

/// Whether a body is only a list of headings.
fn is_contents(body: &str) -> bool {
    let mut lines = body.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.all(|line| {
        let item = line.strip_prefix(['-', '*', '+']).unwrap_or(line);
        let numbered = line.starts_with(|c: char| c.is_ascii_digit());
        (item.len() < line.len() || numbered)
            && !line.ends_with(['.', ':', ';'])
            && line.split_whitespace().count() <= MAX_HEADING_WORDS
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_headings_are_recognized() {
        let cases = [
            ("", true),
            ("- Install\n- Set up\n\n- Run", true),
            ("1. Install\n2.1. Set up", true),
            ("The daemon restarts.", false),
            ("- Install\n\nThe daemon restarts.", false),
            ("- The daemon restarts after each failure.", false),
            ("- one two three four five six seven eight nine ten eleven twelve thirteen", false),
        ];
        for (body, want) in cases {
            assert_eq!(is_contents(body), want, "{body}");
        }
    }
}
