//! Questions as people type them: in a sentence, and with a typo.

use crate::corpus::JudgedQuestion;

/// How questions are phrased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phrasing {
    /// In a sentence.
    Sentence,
    /// With one letter wrong in the longest word.
    Misspelt,
}

/// Sentence patterns, before and after the term.
const SENTENCES: &[(&str, &str)] = &[
    ("How do I use ", "?"),
    ("What is ", "?"),
    ("what is the difference between ", " and other things"),
    ("Can you explain what ", " means?"),
    ("I want to know more about ", ", please"),
    ("How does ", " work?"),
    ("Is there a way to find ", "?"),
    ("tell me about ", ""),
    ("I need help with ", ""),
    ("What's the best way to use ", "?"),
];

/// Shorter words get no typo.
const MIN_TYPO_LETTERS: usize = 5;

/// Rephrases every question, deterministically.
pub fn put(questions: &mut [JudgedQuestion], phrasing: Phrasing) {
    for (n, question) in questions.iter_mut().enumerate() {
        question.text = match phrasing {
            Phrasing::Sentence => {
                let (before, after) =
                    SENTENCES.get(n % SENTENCES.len()).copied().unwrap_or_default();
                format!("{before}{}{after}", question.text)
            }
            Phrasing::Misspelt => misspell(&question.text, n),
        };
    }
}

/// Drops, doubles or swaps a letter inside the longest word of letters.
fn misspell(text: &str, n: usize) -> String {
    let is_word = |word: &&str| word.bytes().all(|byte| byte.is_ascii_lowercase());
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(is_word);
    let Some(word) =
        words.max_by_key(|word| word.len()).filter(|word| word.len() >= MIN_TYPO_LETTERS)
    else {
        return text.to_owned();
    };
    let mut letters: Vec<char> = word.chars().collect();
    let at = 1 + n % (letters.len() - 2);
    match n % 3 {
        0 => {
            letters.remove(at);
        }
        1 => letters.insert(at, letters[at]),
        _ => letters.swap(at, at + 1),
    }
    text.replacen(word, &letters.into_iter().collect::<String>(), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_letter_is_wrong_in_the_longest_word() {
        let cases = [
            ("lock a table", 0, "lock a tble"),
            ("lock a table", 1, "lock a tabble"),
            ("lock a table", 2, "lock a tabel"),
            ("a row", 0, "a row"),
            ("VACUUM", 0, "VACUUM"),
            ("", 0, ""),
        ];
        for (text, n, want) in cases {
            assert_eq!(misspell(text, n), want, "{text}");
        }
        let mut questions = vec![JudgedQuestion { text: "locks".into(), answers: Vec::new() }];
        put(&mut questions, Phrasing::Sentence);
        assert_eq!(questions[0].text, "How do I use locks?");
    }
}
