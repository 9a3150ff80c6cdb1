//! Text from outside, made plain: one line, bounded.

/// The longest title of a result.
pub(crate) const MAX_TITLE_CHARS: usize = 300;
/// The longest snippet of a result.
pub(crate) const MAX_SNIPPET_CHARS: usize = 1000;
/// The longest name, date or address that a page says about itself.
pub(crate) const MAX_FACT_CHARS: usize = 300;

/// One space wherever there is white space or a control character, and none at the ends.
pub(crate) fn fold(text: &str) -> String {
    let is_gap = |c: char| c.is_whitespace() || c.is_control();
    let words = text.split(is_gap).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// The first characters of a text, marked where there were more.
pub(crate) fn truncate(text: &str, most: usize) -> String {
    if text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    let start: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", start.trim_end())
}

/// Folded and bounded; nothing where nothing is said.
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
            assert_eq!(bounded(text, most), want, "{text}");
        }
        assert_eq!(said(" \n", 9), None);
    }
}
