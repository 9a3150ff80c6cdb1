//! Strips question words from queries. Not used for documents.

use super::words::identifiers;
use std::borrow::Cow;

/// First words of a question.
const QUESTION_OPENERS: &[&str] = &[
    "am", "are", "can", "cannot", "could", "describe", "did", "do", "does", "explain", "give",
    "has", "have", "hello", "help", "hey", "hi", "how", "i", "is", "may", "please", "shall",
    "should", "show", "tell", "was", "we", "what", "when", "where", "which", "who", "why", "will",
    "would",
];

/// Phrases without content. Alone, each word may be the subject: the difference of two sets, the statement EXPLAIN.
const QUESTION_FRAMES: &[&[&str]] = &[
    &["please"],
    &["thanks"],
    &["wondering"],
    &["difference", "between"],
    &["differences", "between"],
    &["differ", "from"],
    &["different", "from"],
    &["best", "way"],
    &["right", "way"],
    &["correct", "way"],
    &["proper", "way"],
    &["easiest", "way"],
    &["simplest", "way"],
    &["good", "way"],
    &["a", "way"],
    &["any", "way"],
    &["the", "way"],
    &["way", "to"],
    &["ways", "to"],
    &["tell", "me"],
    &["show", "me"],
    &["give", "me"],
    &["help", "me"],
    &["help", "with"],
    &["explain", "how"],
    &["explain", "what"],
    &["explain", "why"],
    &["explain", "when"],
    &["explain", "me"],
    &["explain", "to", "me"],
    &["describe", "how"],
    &["describe", "what"],
    &["i", "want"],
    &["want", "to"],
    &["we", "want"],
    &["i", "need"],
    &["we", "need"],
    &["need", "to"],
    &["needs", "to"],
    &["trying", "to"],
    &["try", "to"],
    &["like", "to"],
    &["able", "to"],
    &["possible", "to"],
    &["going", "to"],
    &["supposed", "to"],
    &["looking", "for"],
    &["to", "know"],
    &["know", "about"],
    &["know", "how"],
    &["know", "what"],
    &["know", "if"],
    &["know", "whether"],
    &["learn", "about"],
    &["happens", "if"],
    &["happens", "when"],
    &["happens", "to"],
    &["meaning", "of"],
    &["purpose", "of"],
    &["i", "use"],
    &["we", "use"],
    &["you", "use"],
    &["one", "use"],
    &["to", "use"],
    &["used", "for"],
    &["i", "get"],
    &["i", "make"],
];

/// Last words without content.
const QUESTION_ENDINGS: &[&str] = &["for", "happen", "mean", "means", "work", "works"];

/// Parts of words such as "doesn't" when split at the apostrophe.
const CUT: &[&str] = &[
    "ain", "aren", "couldn", "d", "didn", "doesn", "don", "hadn", "hasn", "haven", "isn", "ll",
    "m", "mustn", "re", "s", "shouldn", "t", "ve", "wasn", "weren", "won", "wouldn",
];

/// The content identifiers of a question, in order; all of them if it is not a question, or would be empty.
pub(crate) fn content_words(question: &str) -> Vec<&str> {
    let all: Vec<&str> = identifiers(question).collect();
    let lower: Vec<String> = all.iter().map(|word| word.to_lowercase()).collect();
    let mut left_out = contractions(question, &all);
    if is_question(question) {
        for at in 0..lower.len() {
            let rest = lower.iter().skip(at);
            for frame in QUESTION_FRAMES {
                let fits =
                    rest.len() >= frame.len() && rest.clone().zip(*frame).all(|(a, b)| a == b);
                if fits {
                    left_out.iter_mut().skip(at).take(frame.len()).for_each(|out| *out = true);
                }
            }
        }
        if let (Some(last), Some(out)) = (lower.last(), left_out.last_mut()) {
            *out |= QUESTION_ENDINGS.contains(&last.as_str());
        }
    }
    let is_shouted = |word: &str| word.len() > 1 && !word.chars().any(char::is_lowercase);
    let each = all.iter().zip(&left_out);
    let kept: Vec<&str> =
        each.filter(|(word, out)| !**out || is_shouted(word)).map(|(word, _)| *word).collect();
    let mut says_something = false;
    for word in &kept {
        super::terms(word, |_, _| says_something = true);
    }
    if says_something { kept } else { all }
}

/// The content of a question, as written; any other text is unchanged.
pub(crate) fn content(text: &str) -> Cow<'_, str> {
    if !is_question(text) {
        return Cow::Borrowed(text);
    }
    let mut kept = content_words(text);
    kept.retain(|word| {
        let mut says_something = false;
        super::terms(word, |_, _| says_something = true);
        says_something
    });
    if kept.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(kept.join(" ")) }
}

fn is_question(text: &str) -> bool {
    let first = identifiers(text).next().map(str::to_lowercase);
    first.is_some_and(|first| QUESTION_OPENERS.contains(&first.as_str()))
        || text.trim_end().ends_with('?')
}

/// Marks the words on one side of an apostrophe.
fn contractions(question: &str, all: &[&str]) -> Vec<bool> {
    let is_apostrophe = |c: Option<char>| c.is_some_and(|c| "'’".contains(c));
    let start = question.as_ptr() as usize;
    let touches = |word: &str| {
        let from = (word.as_ptr() as usize).saturating_sub(start);
        let before = question.get(..from).and_then(|text| text.chars().next_back());
        let after = question.get(from + word.len()..).and_then(|text| text.chars().next());
        is_apostrophe(before) || is_apostrophe(after)
    };
    let is_cut = |word: &str| CUT.contains(&word.to_lowercase().as_str());
    all.iter().map(|word| is_cut(word) && touches(word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::terms;

    fn left(question: &str) -> Vec<String> {
        let mut left = Vec::new();
        for word in content_words(question) {
            terms(word, |term, _| left.push(term.to_owned()));
        }
        left
    }

    #[test]
    fn thirty_phrasings_leave_what_they_are_about() {
        let cases = [
            ("How do I configure max_connections?", "configur max_connections max connect"),
            ("how to configure the pool", "configur pool"),
            ("What is the difference between a view and a table?", "view tabl"),
            ("what's the difference between TRUNCATE and DELETE", "truncat delet"),
            ("How does VACUUM differ from ANALYZE?", "vacuum analyz"),
            ("why does the connection fail", "connect fail"),
            ("Why doesn't my index get used?", "index get use"),
            ("can I rename a column", "renam column"),
            ("Is it possible to rename a column?", "renam column"),
            ("I want to rename a column", "renam column"),
            ("I need to know how to rename a column, please", "renam column"),
            ("What is the best way to rename a column?", "renam column"),
            ("Is there a way to rename a column?", "renam column"),
            ("please explain how autovacuum works", "autovacuum"),
            ("Can you tell me about autovacuum?", "autovacuum"),
            ("Could you show me how triggers work?", "trigger"),
            ("Explain what a trigger is", "trigger"),
            ("explain to me what a trigger is", "trigger"),
            ("What does deadlock mean?", "deadlock"),
            ("What is the meaning of deadlock?", "deadlock"),
            ("what happens when a deadlock is detected", "deadlock detect"),
            ("how do I use EXPLAIN ANALYZE", "explain analyz"),
            ("How can we use cursors?", "cursor"),
            ("What is pg_dump used for?", "pg_dump pg dump"),
            ("what are large objects for?", "larg object"),
            ("I'm trying to restore a backup", "restor backup"),
            ("I would like to learn about replication slots", "replic slot"),
            ("Where can I set work_mem?", "set work_mem work mem"),
            ("Should I use a btree or a hash index?", "btree hash index"),
            ("Which isolation level do I need to use?", "isol level"),
            ("I'm wondering how I get the row count", "row count"),
            ("Help me with row-level security", "row-level row level secur"),
        ];
        for (question, want) in cases {
            assert_eq!(left(question).join(" "), want, "{question}");
        }
    }

    #[test]
    fn what_is_not_a_question_keeps_every_word() {
        let cases = [
            ("symmetric difference", "symmetr differ"),
            ("explain analyze", "explain analyz"),
            ("EXPLAIN HOW", "explain"),
            ("use to get work", "use get work"),
            ("how", ""),
            ("What does it mean?", "mean"),
            ("please", "pleas"),
            ("don", "don"),
            ("", ""),
        ];
        for (question, want) in cases {
            assert_eq!(left(question).join(" "), want, "{question}");
        }
        content_words(&"what's ".repeat(2_000));
    }

    #[test]
    fn content_is_written_as_it_was() {
        let cases = [
            ("How do I configure max_connections, please?", "configure max_connections"),
            ("What is the difference between TRUNCATE and DELETE?", "TRUNCATE DELETE"),
            ("the order of joins", "the order of joins"),
            ("what is it?", "what is it?"),
            ("", ""),
        ];
        for (text, want) in cases {
            assert_eq!(content(text), want, "{text}");
        }
    }
}
