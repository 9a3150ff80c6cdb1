//! Trains the weights of the ranking features, and the calibration curve from score to similarity.

use super::runs::QuestionRun;
use docent_index::rank::{Calibration, FEATURE_COUNT, FEATURE_NAMES, Features, Weights};
use std::collections::{HashMap, HashSet};

/// Training passes over all questions.
const TRAINING_STEPS: usize = 250;
/// The initial learning rate.
const LEARNING_RATE: f64 = 0.15;
/// Features whose weight may be negative. All others are evidence and must not be: of two similar features, one would
/// otherwise be subtracted from the other, which overfits the training questions.
const SIGNED_FEATURES: &[&str] =
    &["length", "is_type", "is_function", "is_hidden", "source_others", "source_sum"];
/// Weights that can't be trained on the judged questions, which contain neither names nor doc comments.
const FIXED_WEIGHTS: &[(&str, f64)] =
    &[("name_asked_for", 3.0), ("in_doc", 1.0), ("in_name", 0.5), ("exact_nearness", 3.0)];
/// The feature that is sorted on before the score, and is not part of the score.
const PRIMARY_SORT_FEATURE: &str = "exact_names";
/// The strength of the penalty on large weights.
const REGULARIZATION: f64 = 1e-4;

/// Trains weights that rank the right candidates of these questions first as often as possible.
pub fn weights(runs: &[QuestionRun]) -> [f64; FEATURE_COUNT] {
    let runs: Vec<&QuestionRun> = runs.iter().filter(|run| run.right.contains(&true)).collect();
    let mut weights = [0.0; FEATURE_COUNT];
    weights[0] = 5.0;
    weights[1] = 5.0;
    let (mut momentum, mut scale) = ([0.0; FEATURE_COUNT], [0.0; FEATURE_COUNT]);
    for step in 0..TRAINING_STEPS {
        let gradient = gradient(&runs, &weights);
        let rate = LEARNING_RATE * (1.0 - progress(step, TRAINING_STEPS));
        for n in 0..FEATURE_COUNT {
            let slope = gradient[n] + REGULARIZATION * weights[n];
            momentum[n] = 0.9 * momentum[n] + 0.1 * slope;
            scale[n] = 0.99 * scale[n] + 0.01 * slope * slope;
            let corrected = scale[n] / (1.0 - 0.99_f64.powi(i32::try_from(step + 1).unwrap_or(1)));
            weights[n] -= rate * momentum[n] / (corrected.sqrt() + 1e-9);
            weights[n] = weights[n].max(min_weight(FEATURE_NAMES[n]));
            if FEATURE_NAMES[n] == PRIMARY_SORT_FEATURE {
                weights[n] = 0.0;
            }
        }
    }
    weights
}

/// The minimum weight of a feature.
fn min_weight(name: &str) -> f64 {
    let given = FIXED_WEIGHTS.iter().find(|(given, _)| *given == name).map(|(_, least)| *least);
    let free = SIGNED_FEATURES.contains(&name);
    given.unwrap_or(if free { f64::NEG_INFINITY } else { 0.0 })
}

#[expect(clippy::cast_precision_loss, reason = "a few hundred steps")]
fn progress(step: usize, all: usize) -> f64 {
    step as f64 / all as f64
}

fn score(weights: &[f64; FEATURE_COUNT], features: &Features) -> f64 {
    weights.iter().zip(features.0).map(|(weight, value)| weight * f64::from(value)).sum()
}

/// The gradient of the mean surprise at the right group; a group's score is that of its best candidate.
fn gradient(runs: &[&QuestionRun], weights: &[f64; FEATURE_COUNT]) -> [f64; FEATURE_COUNT] {
    let mut sum = [0.0; FEATURE_COUNT];
    for run in runs {
        let mut best: HashMap<u32, (f64, usize)> = HashMap::new();
        for (at, features) in run.features.iter().enumerate() {
            let one = (score(weights, features), at);
            let kept = best.entry(run.groups[at]).or_insert(one);
            if one.0 > kept.0 {
                *kept = one;
            }
        }
        let highest = best.values().map(|(score, _)| *score).fold(f64::MIN, f64::max);
        let all: f64 = best.values().map(|(score, _)| (score - highest).exp()).sum();
        let right: f64 = best
            .values()
            .filter(|(_, at)| run.right[*at])
            .map(|(score, _)| (score - highest).exp())
            .sum();
        for (score, at) in best.values() {
            let weight = (score - highest).exp();
            let own = if run.right[*at] { weight / right } else { 0.0 };
            let pull = weight / all - own;
            for (sum, value) in sum.iter_mut().zip(run.features[*at].0) {
                *sum += pull * f64::from(value);
            }
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "there are thousands at most")]
    let count = runs.len().max(1) as f64;
    sum.map(|sum| sum / count)
}

/// One hit as a sample for the curve.
#[derive(Debug, Clone, Copy)]
struct CurveSample {
    inputs: [f64; CURVE_INPUTS],
    right: bool,
    /// Whether its question has an answer.
    answerable: bool,
    /// The number of the question.
    run: usize,
}

/// Inputs of the curve: a constant, the score, and the question's best score. The mean of all scores would be more
/// informative, but means something else if there are few units.
const CURVE_INPUTS: usize = 3;
/// Training steps of the curve.
const CURVE_STEPS: usize = 1_500;
/// The maximum percentage of questions without an answer that may get a hit.
const MAX_FALSE_ANSWER_PERCENT: usize = 10;

/// Trains the curve from score to similarity. `bad` are questions without an answer. A similarity of 0.7 becomes the
/// best balance of precision and recall, weighted by `recall`, at which at most one in ten bad questions gets a hit.
pub fn calibration(
    good: &[QuestionRun],
    bad: &[QuestionRun],
    weights: &[f64; FEATURE_COUNT],
    recall: f64,
) -> Calibration {
    let none = Calibration { bias: 0.0, score: 1.0, best: 0.0 };
    let plain = as_weights(weights, none);
    let runs = good.iter().map(|run| (run, true)).chain(bad.iter().map(|run| (run, false)));
    let seen: Vec<CurveSample> = runs
        .enumerate()
        .flat_map(|(n, (run, answerable))| first_ten(n, run, answerable, &plain))
        .collect();
    let curve = logistic(&seen);
    let mut falling: Vec<(f64, &CurveSample)> =
        seen.iter().map(|one| (logit(one, &curve), one)).collect();
    falling.sort_by(|a, b| b.0.total_cmp(&a.0));
    let shift =
        (0.7_f64 / 0.3).ln() - best_cut(&falling, recall).max(fooled_cut(&falling, bad.len()));
    #[expect(clippy::cast_possible_truncation, reason = "weights are kept in single precision")]
    let [bias, score, best] = curve.map(|factor| factor as f32);
    #[expect(clippy::cast_possible_truncation, reason = "weights are kept in single precision")]
    let bias = bias + shift as f32;
    Calibration { bias, score, best }
}

fn logit(one: &CurveSample, curve: &[f64; CURVE_INPUTS]) -> f64 {
    one.inputs.iter().zip(curve).map(|(input, factor)| input * factor).sum()
}

/// Fits a logistic function; inputs have different magnitudes, so they are scaled before the descent and back after it.
fn logistic(seen: &[CurveSample]) -> [f64; CURVE_INPUTS] {
    #[expect(clippy::cast_precision_loss, reason = "there are thousands at most")]
    let count = seen.len().max(1) as f64;
    let mean: [f64; CURVE_INPUTS] = std::array::from_fn(|n| {
        if n == 0 { 0.0 } else { seen.iter().map(|one| one.inputs[n]).sum::<f64>() / count }
    });
    let scale: [f64; CURVE_INPUTS] = std::array::from_fn(|n| {
        let squares = seen.iter().map(|one| (one.inputs[n] - mean[n]).powi(2)).sum::<f64>();
        (squares / count).sqrt().max(1e-9)
    });
    let scaled: Vec<[f64; CURVE_INPUTS]> = seen
        .iter()
        .map(|one| std::array::from_fn(|n| (one.inputs[n] - mean[n]) / scale[n]))
        .collect();
    let mut curve = [0.0; CURVE_INPUTS];
    for step in 0..CURVE_STEPS {
        let mut slope = [0.0; CURVE_INPUTS];
        for (inputs, one) in scaled.iter().zip(seen) {
            let logit: f64 = inputs.iter().zip(curve).map(|(input, factor)| input * factor).sum();
            let pull = 1.0 / (1.0 + (-logit).exp()) - f64::from(u8::from(one.right));
            for (slope, input) in slope.iter_mut().zip(inputs) {
                *slope += pull * input;
            }
        }
        let rate = 2.0 * (1.0 - progress(step, CURVE_STEPS));
        for (factor, slope) in curve.iter_mut().zip(slope) {
            *factor -= rate * slope / count;
        }
    }
    let mut plain: [f64; CURVE_INPUTS] = std::array::from_fn(|n| curve[n] / scale[n]);
    plain[0] -= (1..CURVE_INPUTS).map(|n| plain[n] * mean[n]).sum::<f64>();
    plain
}

/// The ten best hits of a question.
fn first_ten(n: usize, run: &QuestionRun, answerable: bool, weights: &Weights) -> Vec<CurveSample> {
    let scores: Vec<f32> = run.features.iter().map(|one| weights.score(one)).collect();
    let best = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut seen: Vec<CurveSample> = scores
        .iter()
        .zip(&run.right)
        .map(|(score, right)| {
            let inputs = [1.0, *score, best].map(f64::from);
            CurveSample { inputs, right: *right, answerable, run: n }
        })
        .collect();
    seen.sort_by(|a, b| b.inputs[1].total_cmp(&a.inputs[1]));
    seen.truncate(10);
    seen
}

/// The cut of a descending list with the best weighted balance of precision and recall.
#[expect(clippy::cast_precision_loss, reason = "there are thousands at most")]
fn best_cut(falling: &[(f64, &CurveSample)], recall: f64) -> f64 {
    let all = falling.iter().filter(|(_, one)| one.right).count() as f64;
    let (mut right, mut passed, mut best, mut cut) = (0.0, 0.0, 0.0, 0.0);
    for (logit, one) in falling.iter().filter(|(_, one)| one.answerable) {
        right += f64::from(u8::from(one.right));
        passed += 1.0;
        let mean = (1.0 + recall) * right / (passed + recall * all);
        if mean > best {
            (best, cut) = (mean, *logit);
        }
    }
    cut
}

/// The cut at which few questions without an answer get a hit.
fn fooled_cut(falling: &[(f64, &CurveSample)], bad: usize) -> f64 {
    let mut fooled = HashSet::new();
    for (logit, one) in falling.iter().filter(|(_, one)| !one.answerable) {
        fooled.insert(one.run);
        if fooled.len() * 100 > bad * MAX_FALSE_ANSWER_PERCENT {
            return *logit + 1e-3;
        }
    }
    f64::NEG_INFINITY
}

/// Converts weights to their stored form.
pub fn as_weights(weights: &[f64; FEATURE_COUNT], calibration: Calibration) -> Weights {
    #[expect(clippy::cast_possible_truncation, reason = "weights are kept in single precision")]
    let features = weights.map(|weight| (weight * 1e4).round() as f32 / 1e4);
    Weights { features, calibration }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn informative_features_get_weight() {
        let run = |n: u16| {
            let features = |meaning: f32, noise: f32| {
                let mut all = [0.0; FEATURE_COUNT];
                (all[1], all[5]) = (meaning, noise);
                Features(all)
            };
            let noise = f32::from(n % 7) / 7.0;
            QuestionRun {
                text: String::new(),
                features: vec![
                    features(0.9, noise),
                    features(0.2, 1.0 - noise),
                    features(0.3, 0.5),
                ],
                groups: vec![0, 1, 2],
                right: vec![true, false, false],
                answers: 1,
            }
        };
        let runs: Vec<QuestionRun> = (0..50).map(run).collect();
        let learned = weights(&runs);
        assert!(learned[1] > 3.0 * learned[5].abs(), "{learned:?}");
        let bad: Vec<QuestionRun> = runs
            .iter()
            .map(|run| QuestionRun {
                right: vec![false; 3],
                features: run
                    .features
                    .iter()
                    .map(|one| Features(one.0.map(|value| value * 0.2)))
                    .collect(),
                ..run.clone()
            })
            .collect();
        let curve = calibration(&runs, &bad, &learned, 1.0);
        let weights = as_weights(&learned, curve);
        let similar = |run: &QuestionRun, at: usize| {
            let scores = run.features.iter().map(|one| weights.score(one));
            let best = scores.fold(f32::NEG_INFINITY, f32::max);
            weights.similarity(weights.score(&run.features[at]), best)
        };
        assert!(similar(&runs[0], 0) > 0.699, "{}", similar(&runs[0], 0));
        assert!(similar(&runs[0], 1) < 0.699 && similar(&bad[0], 0) < 0.699);
    }
}
