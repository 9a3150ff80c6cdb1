//! Finds the best matching lines of a unit.

use crate::{
    analysis::{key, terms},
    query::{AnalyzedQuery, Snippet},
    unit::IndexUnit,
};
use std::collections::HashSet;

/// Maximum number of lines in a snippet.
const MAX_SNIPPET_LINES: usize = 8;
/// Maximum length of a line; longer ones are truncated.
const MAX_LINE_BYTES: usize = 240;
/// Maximum number of lines searched.
const MAX_SEARCHED_LINES: usize = 400;

/// The window of lines with most of the query's words, weighted by rarity; the first one in case of ties, and the start if
/// no line has any.
pub(super) fn best(unit: &IndexUnit, question: &AnalyzedQuery, rarity: &[f32]) -> Snippet {
    let lines: Vec<&str> = unit.body.lines().take(MAX_SEARCHED_LINES).collect();
    let held: Vec<Vec<usize>> = lines.iter().map(|line| matching_slots(line, question)).collect();
    let mut start = 0;
    let mut most = 0.0;
    for (n, _) in held.iter().enumerate().filter(|(_, held)| !held.is_empty()) {
        let window = held.iter().skip(n).take(MAX_SNIPPET_LINES);
        let distinct: HashSet<usize> = window.flatten().copied().collect();
        let worth: f32 = distinct.iter().filter_map(|term| rarity.get(*term)).sum();
        if worth > most {
            (start, most) = (n, worth);
        }
    }
    // A window near the end is extended upward for context.
    let start = start.min(lines.len().saturating_sub(MAX_SNIPPET_LINES));
    let shown = lines.iter().skip(start).take(MAX_SNIPPET_LINES).map(|line| truncate_line(line));
    let text = shown.collect::<Vec<_>>().join("\n");
    Snippet { first: unit.span.first + u32::try_from(start).unwrap_or(u32::MAX), text }
}

/// The terms of the query in a line.
fn matching_slots(line: &str, question: &AnalyzedQuery) -> Vec<usize> {
    let mut found = Vec::new();
    terms(truncate_line(line), |term, _| {
        let term = key(term);
        for at in question.slots_of(term) {
            if !found.contains(&at) {
                found.push(at);
            }
        }
    });
    found
}

fn truncate_line(line: &str) -> &str {
    line.get(..line.floor_char_boundary(MAX_LINE_BYTES)).unwrap_or(line).trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::LineSpan;

    #[test]
    fn the_window_with_the_rarest_words_wins() {
        let mut lines: Vec<String> = (0..30).map(|n| format!("let common = {n};")).collect();
        lines[20] = "retry(backoff)".into();
        let unit = IndexUnit {
            body: lines.join("\n"),
            span: LineSpan { first: 101, last: 130 },
            ..IndexUnit::default()
        };
        let question = AnalyzedQuery::new("common retry backoff", None);
        let snippet = best(&unit, &question, &[0.1, 2.0, 2.0]);
        assert!(snippet.text.contains("retry(backoff)"), "{snippet:?}");
        assert_eq!(snippet.text.lines().count(), MAX_SNIPPET_LINES);
        let at =
            u32::try_from(snippet.text.lines().position(|line| line == "retry(backoff)").unwrap());
        assert_eq!(snippet.first + at.unwrap(), 121);
        let nothing = best(&unit, &AnalyzedQuery::new("zebra", None), &[1.0]);
        assert_eq!(nothing.first, 101);
        assert_eq!(best(&IndexUnit::default(), &question, &[1.0; 3]).text, "");
    }
}
