//! Estimates what a text costs a model's context.
//!
//! Every model counts in its own way, and their tables are large, so tokens are estimated from the text: a word, or a
//! part of a camelCase one, is one token per 10 letters or part of them; digits make one per 3; punctuation one per 4
//! in a row; a line end one; any other character one. Compared with `o200k_base` on the 51 definitions of five servers
//! (everything, filesystem, memory, sequential-thinking, docent), the sum was 1.3 % over, a definition 2.3 % off on
//! average and 6.8 % at most. Text without Latin letters is counted too high.

const LETTERS_PER_TOKEN: usize = 10;
const DIGITS_PER_TOKEN: usize = 3;
const PUNCTUATION_PER_TOKEN: usize = 4;

/// Class of a run of characters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CharClass {
    Lower,
    Upper,
    Digit,
    Mark,
    Other,
}

impl CharClass {
    fn of(c: char) -> Self {
        match c {
            'a'..='z' => Self::Lower,
            'A'..='Z' => Self::Upper,
            '0'..='9' => Self::Digit,
            c if c.is_ascii() => Self::Mark,
            _ => Self::Other,
        }
    }

    fn cost(self, length: usize) -> usize {
        match self {
            Self::Lower | Self::Upper => length.div_ceil(LETTERS_PER_TOKEN),
            Self::Digit => length.div_ceil(DIGITS_PER_TOKEN),
            Self::Mark => length.div_ceil(PUNCTUATION_PER_TOKEN),
            Self::Other => length,
        }
    }
}

/// Estimates the number of tokens of a text.
pub fn estimate(text: &str) -> usize {
    let mut total = 0;
    let mut open: Option<(CharClass, usize)> = None;
    for c in text.chars() {
        // A space belongs to the word after it.
        let spaced = c.is_ascii_whitespace();
        let run = CharClass::of(c);
        open = match open {
            Some((before, length)) if before == run && !spaced => Some((run, length + 1)),
            // A capital starts the camelCase part that follows it.
            Some((CharClass::Upper, 1)) if run == CharClass::Lower => Some((run, 2)),
            before => {
                total += before.map_or(0, |(run, length)| run.cost(length));
                total += usize::from(spaced && c != ' ');
                (!spaced).then_some((run, 1))
            }
        };
    }
    total + open.map_or(0, |(run, length)| run.cost(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: usize) {
        assert_eq!(estimate(text), want, "{text:?}");
    }

    #[test]
    fn runs_are_counted() {
        check("", 0);
        check("hello world", 2);
        check("internationalization", 2);
        check("readOnlyHint", 3);
        check("HTTPServer", 2);
        check("1234567", 3);
        check(r#"{"a":{"#, 3);
        check("a\n\nb", 4);
        check("日本", 2);
    }

    /// Token counts of `o200k_base` for definitions that servers send.
    #[test]
    fn the_estimate_is_near_a_real_count() {
        let known = [
            (
                r#"{"name":"list_allowed_directories","title":"List Allowed Directories","description":"Returns the list of directories that this server is allowed to access. Subdirectories within these allowed directories are also accessible. Use this to understand which directories and their nested paths are available before trying to access files.","inputSchema":{"type":"object","properties":{},"$schema":"http://json-schema.org/draft-07/schema#"}}"#,
                84,
            ),
            (
                r#"{"name":"get-sum","title":"Get Sum Tool","description":"Returns the sum of two numbers","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"number","description":"First number"},"b":{"type":"number","description":"Second number"}},"required":["a","b"]},"execution":{"taskSupport":"forbidden"}}"#,
                85,
            ),
        ];
        for (text, real) in known {
            let estimate = estimate(text);
            assert!(estimate.abs_diff(real) * 10 <= real, "{estimate} for {real}: {text}");
        }
    }
}
