//! What each feature counts, as it was learned. `cargo xtask eval code --learn` and `docs --learn` write the file.

use super::features::{COUNT, Features, NAMES};
use crate::unit::Genre;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::LazyLock};

static LEARNED: LazyLock<Learned> = LazyLock::new(|| {
    serde_json::from_str(include_str!("weights.json"))
        .expect("the weights that are built in are whole")
});

#[derive(Debug, Deserialize)]
struct Learned {
    code: Weights,
    prose: Weights,
}

/// What makes a score of features, and a similarity of a score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Weights {
    /// For each feature, by name. One that is not named counts nothing.
    pub features: BTreeMap<String, f32>,
    /// From score to similarity.
    pub calibration: Calibration,
}

/// The parameters of a logistic curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Where it starts.
    pub bias: f32,
    /// What the score counts.
    pub score: f32,
    /// What the best candidate's score counts: many that are nearly as good make each of them less likely.
    pub best: f32,
}

impl Weights {
    /// Those that are built in.
    pub fn of(genre: Genre) -> &'static Self {
        match genre {
            Genre::Code => &LEARNED.code,
            Genre::Prose => &LEARNED.prose,
        }
    }

    /// In the order of the features.
    pub fn ordered(&self) -> [f32; COUNT] {
        std::array::from_fn(|n| self.features.get(NAMES[n]).copied().unwrap_or_default())
    }

    /// What a candidate scores.
    pub fn score(&self, features: &Features) -> f32 {
        self.ordered().iter().zip(features.0).map(|(weight, value)| weight * value).sum()
    }

    /// How well a candidate of this score answers, where the best one of the question has that: 0 to 1.
    pub fn similarity(&self, score: f32, best: f32) -> f32 {
        let Calibration { bias, score: factor, best: of_best } = self.calibration;
        1.0 / (1.0 + (-(bias + factor * score + of_best * best)).exp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_weight_has_its_feature() {
        for genre in [Genre::Code, Genre::Prose] {
            let weights = Weights::of(genre);
            for name in weights.features.keys() {
                assert!(NAMES.contains(&name.as_str()), "{name}");
            }
            assert!(weights.calibration.score > 0.0, "a better score is a better similarity");
        }
    }
}
