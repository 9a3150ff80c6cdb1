//! Measures how well questions are answered by words alone, by meaning alone, and by both.

use super::{
    numbers::{chance, interval, mean},
    runs::QuestionRun,
};
use docent_index::{
    Genre,
    rank::{Features, Weights},
};
use std::fmt::Write as _;

/// A ranking method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankingMethod {
    /// BM25 over weighted fields.
    Words,
    /// Cosine similarity.
    Meaning,
    /// All features with the trained weights.
    Both,
}

impl RankingMethod {
    /// All methods.
    pub const ALL: [Self; 3] = [Self::Words, Self::Meaning, Self::Both];

    fn name(self) -> &'static str {
        match self {
            Self::Words => "words alone (BM25 over fields)",
            Self::Meaning => "meaning alone (vectors)",
            Self::Both => "both, learned",
        }
    }

    fn order(self, weights: &Weights, features: &Features) -> (f32, f32) {
        match self {
            Self::Words => (0.0, features.get("words")),
            Self::Meaning => (0.0, features.get("meaning")),
            Self::Both => weights.order(features),
        }
    }
}

/// The scores of each question.
#[derive(Debug, Clone, Default)]
pub struct RankingScores {
    /// NDCG@10.
    pub gain: Vec<f64>,
    /// MRR@10.
    pub reciprocal: Vec<f64>,
    /// Recall@1.
    pub first: Vec<f64>,
    /// Recall@5.
    pub five: Vec<f64>,
    /// Recall@10.
    pub ten: Vec<f64>,
}

/// Ranks with one method and computes the scores.
pub fn figures(runs: &[QuestionRun], weights: &Weights, way: RankingMethod) -> RankingScores {
    let mut figures = RankingScores::default();
    for run in runs {
        let ranked = run.rank(|features| way.order(weights, features));
        let rank = ranked.iter().take(10).position(|right| *right);
        #[expect(clippy::cast_precision_loss, reason = "ranks are below ten")]
        let place = rank.map(|rank| rank as f64 + 1.0);
        figures.gain.push(gain(&ranked, run.answers));
        figures.reciprocal.push(place.map_or(0.0, |place| 1.0 / place));
        figures.first.push(f64::from(u8::from(rank == Some(0))));
        figures.five.push(f64::from(u8::from(rank.is_some_and(|rank| rank < 5))));
        figures.ten.push(f64::from(u8::from(rank.is_some())));
    }
    figures
}

#[expect(clippy::cast_precision_loss, reason = "ranks are below ten")]
fn gain(ranked: &[bool], answers: usize) -> f64 {
    let discount = |rank: usize| 1.0 / (rank as f64 + 2.0).log2();
    let got: f64 = ranked
        .iter()
        .take(10)
        .enumerate()
        .filter(|(_, right)| **right)
        .map(|(n, _)| discount(n))
        .sum();
    let best: f64 = (0..answers.min(10)).map(discount).sum();
    got / best.max(f64::MIN_POSITIVE)
}

/// Formats a table that compares the methods.
pub fn table(runs: &[QuestionRun], genre: Genre, weights: &Weights) -> String {
    let words = figures(runs, weights, RankingMethod::Words);
    let code = genre == Genre::Code;
    let main = |figures: &RankingScores| {
        if code { figures.gain.clone() } else { figures.reciprocal.clone() }
    };
    let mut text = format!(
        "| {} questions | {} | 95 % | R@1 | R@5 | R@10 | by chance |\n|---|---|---|---|---|---|---|\n",
        runs.len(),
        if code { "NDCG@10" } else { "MRR@10" }
    );
    for way in RankingMethod::ALL {
        let figures = figures(runs, weights, way);
        let (low, high) = interval(&main(&figures));
        let odds = if way == RankingMethod::Words {
            String::new()
        } else {
            format!("p = {:.3}", chance(&main(&figures), &main(&words)))
        };
        writeln!(
            text,
            "| {} | {:.3} | {low:.3}–{high:.3} | {:.3} | {:.3} | {:.3} | {odds} |",
            way.name(),
            mean(&main(&figures)),
            mean(&figures.first),
            mean(&figures.five),
            mean(&figures.ten),
        )
        .expect("writing to a string");
    }
    text
}

/// The results above a threshold.
#[derive(Debug, Clone, Copy, Default)]
pub struct ThresholdCounts {
    /// Questions with an answer, and how many get it.
    pub answered: (usize, usize),
    /// Hits above the threshold, and how many are right.
    pub hits: (usize, usize),
    /// Questions without an answer, and how many get hits anyway.
    pub fooled: (usize, usize),
}

/// Counts the results above a threshold among the first ten, for questions with and without an answer.
pub fn passing(
    good: &[QuestionRun],
    bad: &[QuestionRun],
    weights: &Weights,
    threshold: f32,
) -> ThresholdCounts {
    let mut passing = ThresholdCounts::default();
    let similar = |run: &QuestionRun| -> Vec<(f32, bool)> {
        let scores: Vec<f32> = run.features.iter().map(|one| weights.score(one)).collect();
        let best = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let each = scores.iter().zip(&run.right);
        let mut all: Vec<(f32, bool)> =
            each.map(|(score, right)| (weights.similarity(*score, best), *right)).collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        all.truncate(10);
        all.retain(|(similarity, _)| *similarity >= threshold);
        all
    };
    for run in good {
        let passed = similar(run);
        passing.answered.0 += 1;
        passing.answered.1 += usize::from(passed.iter().any(|(_, right)| *right));
        passing.hits.0 += passed.len();
        passing.hits.1 += passed.iter().filter(|(_, right)| *right).count();
    }
    for run in bad {
        passing.fooled.0 += 1;
        passing.fooled.1 += usize::from(!similar(run).is_empty());
    }
    passing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_fall_with_the_rank() {
        assert!((gain(&[true, false], 1) - 1.0).abs() < 1e-9);
        assert!((gain(&[false, true], 1) - 1.0 / 3.0_f64.log2()).abs() < 1e-9);
        assert!(gain(&[false; 12], 1) < 1e-9);
        assert!((gain(&[true, true], 2) - 1.0).abs() < 1e-9);
    }
}
