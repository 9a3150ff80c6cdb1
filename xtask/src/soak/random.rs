//! Pseudorandom numbers, the same in every run with the same seed.

/// An xorshift generator.
#[derive(Debug, Clone)]
pub(super) struct XorShift(u64);

impl XorShift {
    /// Creates a generator; each client and fault has its own seed.
    pub(super) fn new(seed: u64) -> Self {
        // The multiplier spreads small seeds over all bits; zero would stay zero forever.
        Self(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Returns a number from 0 to `bound`, exclusive; 0 for a bound of 0.
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let high = self.0 >> 32;
        u32::try_from(high.checked_rem(u64::from(bound)).unwrap_or(0)).unwrap_or(0)
    }

    /// Returns true once in this many times, on average.
    pub(super) fn once_in(&mut self, times: u32) -> bool {
        self.below(times) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_cover_the_range_below_the_bound() {
        let mut random = XorShift::new(3);
        let mut seen = [0; 10];
        for _ in 0..1000 {
            seen[random.below(10) as usize] += 1;
        }
        assert!(seen.iter().all(|times| *times > 50), "{seen:?}");
        assert_eq!(random.below(0), 0);
        assert_ne!(XorShift::new(1).below(1 << 30), XorShift::new(2).below(1 << 30));
    }
}
