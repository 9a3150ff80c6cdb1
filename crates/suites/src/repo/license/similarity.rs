//! Identifies licenses by similarity to the SPDX texts, for texts that do not match a common license exactly.

use super::{base, texts};
use spdx::detection::{Store, TextData};

/// Minimum similarity to count as a license.
const MIN_LICENSE_SIMILARITY: f32 = 0.95;
/// Minimum lead over the next license: many differ by one sentence.
const MIN_SIMILARITY_LEAD: f32 = 0.01;

/// Margin within which a common license makes a rare one doubtful, unless the text is nearly identical.
const COMMON_LICENSE_MARGIN: f32 = 0.08;
const SAME_TEXT_SIMILARITY: f32 = 0.995;

/// The SPDX license list. Loading takes 0.2 seconds of processor time and 50 MB, so it is loaded on demand and dropped
/// after use.
pub(super) struct SpdxLicenses(Store);

impl SpdxLicenses {
    /// Loads the list.
    pub(super) fn load() -> Option<Self> {
        Store::load_inline().ok().map(Self)
    }

    /// Returns the most similar license, if no other is close.
    pub(super) fn most_like(&self, text: &str) -> Option<String> {
        let text = TextData::new(text);
        let mut scores: Vec<(f32, &str)> = self
            .0
            .iter()
            .map(|(id, entry)| (entry.original.match_score(&text), id.as_str()))
            .collect();
        scores.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        let (best, id) = *scores.first()?;
        let others = || scores.iter().filter(|(_, other)| base(other) != base(id));
        let next = others().next().map_or(0.0, |(score, _)| *score);
        // Rare licenses derive from common ones: a common one with a missing line looks like them.
        let common = others()
            .find(|(_, other)| texts::is_common_license(base(other)))
            .map_or(0.0, |it| it.0);
        let rare = !texts::is_common_license(base(id))
            && best - common < COMMON_LICENSE_MARGIN
            && best < SAME_TEXT_SIMILARITY;
        (best >= MIN_LICENSE_SIMILARITY && best - next >= MIN_SIMILARITY_LEAD && !rare)
            .then(|| base(id).to_owned())
    }
}
