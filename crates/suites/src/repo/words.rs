//! Every word of the project's code, to check whether a name in a document still exists.
//!
//! Processes every byte of every source file: the loop must stay short. Knows bytes only, no language.

use std::collections::HashSet;

/// Number of recent keys: most words of a file occur many times, and need not be inserted each time.
const RECENT_WORD_SLOTS: usize = 8 << 10;

/// Words of source files, as hashes. A word is a run of letters, digits and `_` that does not start with a digit; words
/// joined by `-` also count as one. Contains a cache besides the words: keep one per thread, not per file.
#[derive(Debug)]
pub(super) struct WordSet {
    // Source authors can predict the keys; the set's own hasher is seeded, so that no file can make it slow.
    seen: HashSet<u64>,
    lately: Box<[u64]>,
}

impl Default for WordSet {
    fn default() -> Self {
        Self { seen: HashSet::new(), lately: vec![0; RECENT_WORD_SLOTS].into() }
    }
}

impl WordSet {
    /// Adds the words of a source file.
    pub(super) fn take(&mut self, text: &[u8]) {
        let Self { seen, lately } = self;
        each(text, |key| {
            let last = &mut lately[slot(key)];
            if *last != key {
                *last = key;
                seen.insert(key);
            }
        });
    }

    /// Adds the words of another set.
    pub(super) fn merge(&mut self, mut other: Self) {
        if other.seen.len() > self.seen.len() {
            std::mem::swap(self, &mut other);
        }
        self.seen.extend(other.seen);
    }

    /// Whether a word, or words joined by `-`, appear in the code, case-sensitively. Words that start with a digit are
    /// unknown, so the result is true.
    pub(super) fn has(&self, word: &str) -> bool {
        let word = word.as_bytes();
        word.first().is_some_and(u8::is_ascii_digit) || self.seen.contains(&finish(spell(word)))
    }
}

/// Returns the cache slot of a key.
fn slot(key: u64) -> usize {
    let [low, high, ..] = key.to_le_bytes();
    usize::from(u16::from_le_bytes([low, high])) % RECENT_WORD_SLOTS
}

/// Role of a byte in a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ByteClass {
    Part,
    Joint,
    Other,
}

const CLASSES: [ByteClass; 256] = {
    let mut classes = [ByteClass::Other; 256];
    let mut byte = 0_u8;
    loop {
        if byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80 {
            classes[byte as usize] = ByteClass::Part;
        }
        if byte == u8::MAX {
            break;
        }
        byte += 1;
    }
    classes[b'-' as usize] = ByteClass::Joint;
    classes
};

const FNV_OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;

/// Adds a byte to an FNV-1a hash.
fn add(key: u64, byte: u8) -> u64 {
    (key ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
}

fn spell(word: &[u8]) -> u64 {
    word.iter().fold(FNV_OFFSET_BASIS, |key, byte| add(key, *byte))
}

/// Mixes a key over all bits: short words differ only in the upper ones.
fn finish(key: u64) -> u64 {
    let key = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    key ^ (key >> 32)
}

fn each(text: &[u8], mut take: impl FnMut(u64)) {
    let class =
        |at: usize| text.get(at).map_or(ByteClass::Other, |byte| CLASSES[usize::from(*byte)]);
    let mut at = 0;
    while at < text.len() {
        if class(at) != ByteClass::Part {
            at += 1;
            continue;
        }
        let number = text[at].is_ascii_digit();
        let (mut joined, mut first) = (FNV_OFFSET_BASIS, true);
        loop {
            let (start, mut word) = (at, FNV_OFFSET_BASIS);
            while class(at) == ByteClass::Part {
                word = add(word, text[at]);
                if !first {
                    joined = add(joined, text[at]);
                }
                at += 1;
            }
            if !text[start].is_ascii_digit() {
                take(finish(word));
            }
            if first {
                joined = word;
            }
            if class(at) != ByteClass::Joint || class(at + 1) != ByteClass::Part {
                break;
            }
            (joined, first) = (add(joined, b'-'), false);
            at += 1;
        }
        if !first && !number {
            take(finish(joined));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_whole() {
        let mut words = WordSet::default();
        words.take(
            b"fn read_all(a: &Foo) { flag(\"--dry-run\"); x-y; n--; a->b } caf\xc3\xa9 4711 v2",
        );
        words.take(b"-last-one-");
        let cases = [
            ("read_all", true),
            ("read", false),
            ("Foo", true),
            ("foo", false),
            ("dry-run", true),
            ("dry", true),
            ("run", true),
            ("dry-", false),
            ("-dry-run", false),
            ("a", true),
            ("n", true),
            ("x-y", true),
            ("a-b", false),
            ("café", true),
            ("v2", true),
            ("last-one", true),
            ("one-", false),
            ("2fa", true),
            ("", false),
        ];
        for (word, want) in cases {
            assert_eq!(words.has(word), want, "{word}");
        }
    }

    #[test]
    fn words_come_together() {
        let mut one = WordSet::default();
        one.take(b"alpha beta gamma");
        let mut other = WordSet::default();
        other.take(b"delta");
        other.merge(one);
        for word in ["alpha", "beta", "gamma", "delta"] {
            assert!(other.has(word), "{word}");
        }
        assert!(!other.has("epsilon"));
        other.take(b"alpha epsilon");
        assert!(other.has("epsilon") && other.has("alpha"));
    }

    #[test]
    fn words_that_share_a_slot_are_all_kept() {
        let mut words = WordSet::default();
        for number in 0..50_000 {
            words.take(format!("w{number} w{}", number / 2).as_bytes());
        }
        assert!((0..50_000).all(|n| words.has(&format!("w{n}"))));
        assert_eq!(words.seen.len(), 50_000);
    }
}
