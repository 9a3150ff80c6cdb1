//! Running text: word count and shingles of eight words.

/// Words per shingle.
const SHINGLE_WORDS: usize = 8;
/// Constants of the FNV-1a word hash.
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;
const FNV_OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;

/// The prose of one document, added piece by piece: a word may span two pieces.
#[derive(Debug)]
pub(super) struct ProseFingerprint {
    words: u64,
    word: u64,
    /// Whether the current word has a letter or digit.
    begun: bool,
    last: [u64; SHINGLE_WORDS],
    lowest: Vec<u64>,
    keep: usize,
    /// Upper bound of the lowest shingle hashes.
    limit: u64,
}

impl ProseFingerprint {
    /// Keeps up to `keep` shingles.
    pub(super) fn with_limit(keep: usize) -> Self {
        let limit = if keep == 0 { 0 } else { u64::MAX };
        let lowest = Vec::new();
        Self {
            words: 0,
            word: FNV_OFFSET_BASIS,
            begun: false,
            last: [0; SHINGLE_WORDS],
            lowest,
            keep,
            limit,
        }
    }

    /// Adds text, continuing the previous piece.
    pub(super) fn take(&mut self, text: &str) {
        let mut rest = text;
        loop {
            let ascii = rest.bytes().position(|byte| !byte.is_ascii()).unwrap_or(rest.len());
            let (plain, other) = rest.split_at_checked(ascii).unwrap_or((rest, ""));
            plain.bytes().for_each(|byte| self.ascii(byte));
            let mut chars = other.chars();
            let Some(c) = chars.next() else { return };
            self.other(c);
            rest = chars.as_str();
        }
    }

    /// Ends the current word.
    pub(super) fn gap(&mut self) {
        if !self.begun {
            return;
        }
        self.words += 1;
        self.begun = false;
        self.last.rotate_left(1);
        if let Some(last) = self.last.last_mut() {
            *last = self.word;
        }
        self.word = FNV_OFFSET_BASIS;
        if self.words >= SHINGLE_WORDS as u64 && self.limit > 0 {
            self.keep_run();
        }
    }

    /// Stops collecting shingles; words are still counted.
    pub(super) fn forget_runs(&mut self) {
        (self.keep, self.limit, self.lowest) = (0, 0, Vec::new());
    }

    /// Returns the word count and the shingles with the lowest hashes, sorted and deduplicated.
    pub(super) fn finish(mut self) -> (u64, Vec<u64>) {
        self.gap();
        self.thin();
        (self.words, self.lowest)
    }

    fn ascii(&mut self, byte: u8) {
        if byte.is_ascii_alphanumeric() {
            self.add(byte.to_ascii_lowercase());
        } else if byte.is_ascii_whitespace() {
            self.gap();
        }
    }

    fn other(&mut self, c: char) {
        if c.is_whitespace() {
            return self.gap();
        }
        if !c.is_alphanumeric() {
            return;
        }
        // Chinese and Japanese have no spaces between words: each character counts as a word.
        let alone = matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}');
        if alone {
            self.gap();
        }
        for lower in c.to_lowercase() {
            let mut bytes = [0; 4];
            lower.encode_utf8(&mut bytes).bytes().for_each(|byte| self.add(byte));
        }
        if alone {
            self.gap();
        }
    }

    fn add(&mut self, byte: u8) {
        self.word = (self.word ^ u64::from(byte)).wrapping_mul(FNV_PRIME);
        self.begun = true;
    }

    fn keep_run(&mut self) {
        let joined = self.last.iter().fold(FNV_OFFSET_BASIS, |sum, word| {
            (sum.rotate_left(5) ^ word).wrapping_mul(FNV_PRIME)
        });
        // The lowest hashes are a fair sample only if every bit of the shingle affects the upper bits.
        let mixed = (joined ^ (joined >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let hash = mixed ^ (mixed >> 32);
        if hash < self.limit {
            self.lowest.push(hash);
            if self.lowest.len() >= 8 * self.keep {
                self.thin();
            }
        }
    }

    fn thin(&mut self) {
        self.lowest.sort_unstable();
        self.lowest.dedup();
        if self.lowest.len() > self.keep {
            self.lowest.truncate(self.keep);
            self.limit = self.lowest.last().copied().unwrap_or(self.limit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(parts: &[&str], keep: usize) -> (u64, Vec<u64>) {
        let mut prose = ProseFingerprint::with_limit(keep);
        for part in parts {
            prose.take(part);
        }
        prose.finish()
    }

    #[test]
    fn words_are_counted() {
        let cases: [(&[&str], u64); 7] = [
            (&[""], 0),
            (&["one two"], 2),
            (&["o", "ne tw", "o "], 2),
            (&["- * -- ( )"], 0),
            (&["well-known, `code` don't"], 3),
            (&["Größe ändern"], 2),
            (&["日本語 x"], 4),
        ];
        for (parts, want) in cases {
            assert_eq!(read(parts, 8).0, want, "{parts:?}");
        }
    }

    #[test]
    fn runs_are_those_of_eight_words_whatever_the_marks() {
        let text = "One two, three four five six seven eight nine";
        let (_, runs) = read(&[text], 8);
        assert_eq!(runs.len(), 2);
        assert_eq!(read(&["one *two* three", "\nfour FIVE six seven eight: nine."], 8).1, runs);
        assert!(read(&["one two three four five six seven"], 8).1.is_empty());
        assert_eq!(read(&["eight seven six five four three two one"], 8).1.len(), 1);
        assert!(read(&[text], 0).1.is_empty());
    }

    #[test]
    fn the_lowest_are_kept_however_long_the_text() {
        let text = (0..10_000).map(|number| format!("word{number}")).collect::<Vec<_>>().join(" ");
        let (words, all) = read(&[&text], 100_000);
        let (_, few) = read(&[&text], 16);
        assert_eq!((words, all.len(), few.len()), (10_000, 9_993, 16));
        assert_eq!(few, all[..16]);
    }
}
