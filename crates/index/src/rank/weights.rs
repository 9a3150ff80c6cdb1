//! Learned weights of the features. `cargo xtask eval code --learn` and `docs --learn` write the file.

use super::features::{FEATURE_COUNT, FEATURE_NAMES, Features};
use crate::unit::Genre;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::LazyLock};

static LEARNED: LazyLock<LearnedWeights> = LazyLock::new(|| {
    serde_json::from_str(include_str!("weights.json")).expect("the built-in weights are valid")
});

#[derive(Debug, Deserialize)]
struct LearnedWeights {
    code: Weights,
    prose: Weights,
}

/// Converts features into a score, and a score into a similarity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Weights {
    /// Weight of each feature, in order; stored by name.
    #[serde(with = "by_name")]
    pub features: [f32; FEATURE_COUNT],
    /// From score to similarity.
    pub calibration: Calibration,
}

/// The parameters of a logistic curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Offset.
    pub bias: f32,
    /// Weight of the score.
    pub score: f32,
    /// Weight of the best candidate's score: many good candidates make each less likely.
    pub best: f32,
}

impl Weights {
    /// The built-in weights.
    pub fn of(genre: Genre) -> &'static Self {
        match genre {
            Genre::Code => &LEARNED.code,
            Genre::Prose => &LEARNED.prose,
        }
    }

    /// Score of a candidate.
    pub fn score(&self, features: &Features) -> f32 {
        self.features.iter().zip(features.0).map(|(weight, value)| weight * value).sum()
    }

    /// Sort key of a candidate, highest first: the number of names of the query in its headings, then its score.
    pub fn order(&self, features: &Features) -> (f32, f32) {
        (features.exact().names, self.score(features))
    }

    /// Similarity of a candidate with this score, given the best score of the query: 0 to 1.
    pub fn similarity(&self, score: f32, best: f32) -> f32 {
        let Calibration { bias, score: factor, best: of_best } = self.calibration;
        1.0 / (1.0 + (-(bias + factor * score + of_best * best)).exp())
    }
}

/// Parses weights by feature name; missing ones are 0, unknown ones are errors.
mod by_name {
    use super::{BTreeMap, FEATURE_COUNT, FEATURE_NAMES};
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(
        weights: &[f32; FEATURE_COUNT],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let named: BTreeMap<&str, f32> = FEATURE_NAMES.into_iter().zip(*weights).collect();
        named.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<[f32; FEATURE_COUNT], D::Error> {
        let mut named = BTreeMap::<String, f32>::deserialize(deserializer)?;
        let weights = FEATURE_NAMES.map(|name| named.remove(name).unwrap_or_default());
        match named.into_keys().next() {
            Some(name) => Err(Error::custom(format!("unknown feature {name}"))),
            None => Ok(weights),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_weight_has_its_feature() {
        for genre in [Genre::Code, Genre::Prose] {
            let weights = Weights::of(genre);
            let kept = serde_json::to_value(weights).unwrap();
            assert_eq!(serde_json::from_value::<Weights>(kept).unwrap(), *weights);
            assert!(weights.calibration.score > 0.0, "a better score is a better similarity");
        }
    }
}
