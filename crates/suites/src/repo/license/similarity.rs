//! Licences by likeness to the texts that SPDX lists, for texts that are not word for word a common one.

use super::{base, texts};
use spdx::detection::{Store, TextData};

/// How alike a text must be to a licence to count as it.
const MIN_LICENSE_SIMILARITY: f32 = 0.95;
/// How much more alike than to any other licence: many differ by one sentence.
const MIN_SIMILARITY_LEAD: f32 = 0.01;

/// How near a common licence makes a rare one doubtful, unless it is the same but for a few letters.
const COMMON_LICENSE_MARGIN: f32 = 0.08;
const SAME_TEXT_SIMILARITY: f32 = 0.995;

/// The licences that SPDX lists. They take a fifth of a second of processor time and 50 MB to load, so that is done
/// when a text asks for it, and undone.
pub(super) struct SpdxLicenses(Store);

impl SpdxLicenses {
    /// Loads them.
    pub(super) fn load() -> Option<Self> {
        Store::load_inline().ok().map(Self)
    }

    /// The licence that a text is most like, where no other comes near.
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
        // Rare licences were made from common ones: a common one with a line missing looks like them.
        let common = others().find(|(_, other)| texts::is_common_license(base(other))).map_or(0.0, |it| it.0);
        let rare = !texts::is_common_license(base(id)) && best - common < COMMON_LICENSE_MARGIN && best < SAME_TEXT_SIMILARITY;
        (best >= MIN_LICENSE_SIMILARITY && best - next >= MIN_SIMILARITY_LEAD && !rare).then(|| base(id).to_owned())
    }
}
