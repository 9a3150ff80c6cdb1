//! Cleans external text: one line, bounded.

/// Maximum length of a title.
pub(crate) const MAX_TITLE_CHARS: usize = 300;
/// Maximum length of a snippet.
pub(crate) const MAX_SNIPPET_CHARS: usize = 1000;
/// Maximum length of a name, date or URL in page metadata.
pub(crate) const MAX_FACT_CHARS: usize = 300;

/// Collapses white space and control characters to single spaces, and trims.
pub(crate) fn fold(text: &str) -> String {
    let is_gap = |c: char| c.is_whitespace() || c.is_control();
    let words = text.split(is_gap).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// Truncates a text, with an ellipsis if anything was cut.
pub(crate) fn truncate(text: &str, most: usize) -> String {
    if text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    let start: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", start.trim_end())
}

/// Collapses and truncates a text; `None` if empty.
pub(crate) fn bounded_text(text: &str, most: usize) -> Option<String> {
    let folded = truncate(&fold(text), most);
    (!folded.is_empty()).then_some(folded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_one_bounded_line() {
        assert_eq!(fold("\u{a0}a\n\t b\0c\u{85}"), "a b c");
        for (text, most, want) in
            [("größe", 5, "größe"), ("größen", 5, "größ…"), ("ab cd", 4, "ab…"), ("", 3, "")]
        {
            assert_eq!(truncate(text, most), want, "{text}");
        }
        assert_eq!(bounded_text(" \n", 9), None);
    }
}
