//! Statistics: means, confidence intervals and significance.

/// A pseudorandom generator that is the same in every run.
#[derive(Debug, Clone)]
pub struct SeededRandom(u64);

impl SeededRandom {
    /// Creates a generator with a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    /// Returns the next number below a bound.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end.max(1) as u64).unwrap_or(0)
    }
}

/// The number of bootstrap samples.
const BOOTSTRAP_DRAWS: usize = 1_000;

/// The mean of some numbers.
#[expect(clippy::cast_precision_loss, reason = "there are thousands at most")]
pub fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len().max(1) as f64
}

/// The 95 % bootstrap confidence interval of the mean.
pub fn interval(numbers: &[f64]) -> (f64, f64) {
    let mut dice = SeededRandom::new(7);
    let mut means: Vec<f64> = (0..BOOTSTRAP_DRAWS)
        .map(|_| {
            let drawn: Vec<f64> =
                numbers.iter().map(|_| numbers[dice.below(numbers.len())]).collect();
            mean(&drawn)
        })
        .collect();
    means.sort_by(f64::total_cmp);
    (means[BOOTSTRAP_DRAWS * 25 / 1_000], means[BOOTSTRAP_DRAWS * 975 / 1_000])
}

/// The p-value of a paired permutation test: each question's two figures are swapped or not.
#[expect(clippy::cast_precision_loss, reason = "a share of a thousand")]
pub fn chance(a: &[f64], b: &[f64]) -> f64 {
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let seen = mean(&differences).abs();
    let mut dice = SeededRandom::new(11);
    let as_far = (0..BOOTSTRAP_DRAWS).filter(|_| {
        let drawn: Vec<f64> = differences
            .iter()
            .map(|difference| if dice.below(2) == 0 { *difference } else { -difference })
            .collect();
        mean(&drawn).abs() >= seen
    });
    (as_far.count() + 1) as f64 / (BOOTSTRAP_DRAWS + 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_p_value_separates_a_difference_from_none() {
        let mut dice = SeededRandom::new(1);
        let a: Vec<f64> =
            (0..400).map(|_| f64::from(u32::try_from(dice.below(100)).unwrap())).collect();
        let better: Vec<f64> = a.iter().map(|a| a + 5.0).collect();
        let mut shuffled = a.clone();
        shuffled.rotate_left(13);
        assert!(chance(&better, &a) < 0.01);
        assert!(chance(&shuffled, &a) > 0.05);
        let (low, high) = interval(&a);
        assert!(low < mean(&a) && mean(&a) < high && high - low < 10.0, "{low} {high}");
    }
}
