//! Random text that is reproducible.

/// A seeded generator, so that tests are deterministic.
pub(crate) struct Chance(u64);

pub(crate) const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
pub(crate) const HEX: &str = "0123456789abcdef";
pub(crate) const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
pub(crate) const BASE36: &str = "abcdefghijklmnopqrstuvwxyz0123456789";

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Returns a number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    /// Returns a text of these characters.
    pub(crate) fn text(&mut self, from: &str, length: usize) -> String {
        let from: Vec<char> = from.chars().collect();
        (0..length).map(|_| from[self.below(from.len())]).collect()
    }
}

/// The random part of a token: the same for the same arguments.
pub(crate) fn body(from: &str, length: usize) -> String {
    Chance::new(length as u64 + 7).text(from, length)
}
