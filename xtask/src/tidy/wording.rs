//! Which words and phrases docent's text avoids, and where they still appear.

use anyhow::{Context, Result};
use serde::Deserialize;
use std::{collections::BTreeMap, path::Path};

const RULES: &str = include_str!("wording.toml");

/// The words counted by `--stats`, those of the first outside review.
const COUNTED: [&str; 5] = ["told", "nobody", "whoever", "anew", "somebody"];

/// The rules of `wording.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WordingRules {
    avoid: Vec<AvoidedPhrase>,
    /// Files that may contain the phrases, each with the reason.
    quoted: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AvoidedPhrase {
    text: String,
    instead: String,
    /// The phrase is fine after one of these words.
    #[serde(default)]
    unless_before: Vec<String>,
    /// The phrase is fine in front of one of these words.
    #[serde(default)]
    unless_after: Vec<String>,
}

impl WordingRules {
    /// Reads the rules that are compiled in.
    pub(super) fn parse() -> Result<Self> {
        toml::from_str(RULES).context("xtask/src/tidy/wording.toml")
    }

    /// Lists every avoided phrase in a file, one breach per line of the file.
    pub(super) fn check_file(&self, path: &Path, text: &str) -> Vec<String> {
        if self.quoted.keys().any(|quoted| path == Path::new(quoted)) {
            return Vec::new();
        }
        let mut breaches = Vec::new();
        for (index, line) in text.lines().enumerate() {
            if let Some(phrase) = self.avoid.iter().find(|phrase| phrase.occurs_in(line)) {
                breaches.push(format!(
                    "{}:{}: avoid \"{}\"; write {}",
                    path.display(),
                    index + 1,
                    phrase.text,
                    phrase.instead
                ));
            }
        }
        breaches
    }

    /// Lists exemptions for files that don't exist or no longer need one.
    pub(super) fn check_quoted(&self, root: &Path) -> Vec<String> {
        let mut breaches = Vec::new();
        for path in self.quoted.keys() {
            let text = std::fs::read_to_string(root.join(path)).unwrap_or_default();
            let is_needed =
                text.lines().any(|line| self.avoid.iter().any(|phrase| phrase.occurs_in(line)));
            if !is_needed {
                breaches.push(format!(
                    "xtask/src/tidy/wording.toml: {path} needs no exemption; remove the line"
                ));
            }
        }
        breaches
    }
}

impl AvoidedPhrase {
    fn occurs_in(&self, line: &str) -> bool {
        let phrase: Vec<&str> = self.text.split(' ').collect();
        let words = if phrase.len() == 1 { split_words(line) } else { split_text(line) };
        let contains = |list: &[String], word: Option<&String>| {
            word.is_some_and(|word| list.iter().any(|listed| listed == word))
        };
        words.windows(phrase.len()).enumerate().any(|(start, window)| {
            window.iter().map(String::as_str).eq(phrase.iter().copied())
                && !contains(&self.unless_before, start.checked_sub(1).and_then(|at| words.get(at)))
                && !contains(&self.unless_after, words.get(start + phrase.len()))
        })
    }
}

/// How often the counted words occur in a source text.
pub(super) fn count_words(text: &str) -> usize {
    split_words(text).iter().filter(|word| COUNTED.contains(&word.as_str())).count()
}

/// The words of a line in lower case. Identifiers are split at underscores, so that `was_told` counts as well.
fn split_words(line: &str) -> Vec<String> {
    line.split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// The words of a line in lower case, with identifiers whole. Punctuation beside a space and Python's `None` become an empty
/// word, so that phrases are found in text but not in code such as `is_none()`.
fn split_text(line: &str) -> Vec<String> {
    let is_punctuation = |letter: char| !letter.is_alphanumeric() && letter != '_';
    line.split_whitespace()
        .flat_map(|part| part.split(is_punctuation))
        .map(|word| if word == "None" { String::new() } else { word.to_lowercase() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let rules = WordingRules::parse().unwrap();
        let breaches = rules.check_file(Path::new("crates/a/src/a.rs"), text);
        assert_eq!(breaches.len(), expected.len(), "{text}: {breaches:?}");
        for (breach, part) in breaches.iter().zip(expected) {
            assert!(breach.contains(part), "{breach}");
        }
    }

    #[test]
    fn finds_words_whatever_their_case_and_in_identifiers() {
        check("fine\nlet was_told = 1;\n// Told.", &["a.rs:2: avoid \"told\"", "a.rs:3"]);
        check("//! Nobody reads it.", &["a.rs:1"]);
        check("untold retold anewer", &[]);
    }

    #[test]
    fn finds_phrases_unless_their_neighbors_make_them_ordinary() {
        check("the frame is no JSON", &["avoid \"is no\""]);
        check("there is no file; it is no longer read; (\"there is no", &[]);
        check("--kind frob is none", &["avoid \"is none\""]);
        check("a.is_none() && if b is None: pass; is, none", &[]);
    }

    #[test]
    fn every_exemption_is_used_and_exempts_its_file() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let rules = WordingRules::parse().unwrap();
        assert_eq!(rules.check_quoted(root), Vec::<String>::new());
        for path in rules.quoted.keys() {
            assert_eq!(rules.check_file(Path::new(path), "told"), Vec::<String>::new());
        }
    }

    #[test]
    fn counts_the_five_words() {
        assert_eq!(count_words("told Told retold\nanew, nobody"), 4);
    }
}
