//! Limits a text for grammars whose scanner supports only a fixed number of open blocks.

/// The position where the text's indentation exceeds the limit: the bytes before can be parsed.
///
/// A line may open a block at its start and one more for each indicator on it, and every block may count twice (a list
/// in the same column as the key that holds it).
pub(super) fn readable(text: &str, deepest: usize) -> usize {
    let mut open: Vec<usize> = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim_start();
        if !content.is_empty() {
            let indent = line.len() - content.len();
            while open.last().is_some_and(|outer| *outer >= indent) {
                open.pop();
            }
            open.push(indent);
            let indicators =
                line.split_whitespace().filter(|word| matches!(*word, "-" | "?" | ":"));
            if 2 * (open.len() + indicators.count()) > deepest {
                return start;
            }
        }
        start += line.len();
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Language, parse};

    #[test]
    fn what_nests_too_deep_is_left_out() {
        let cases = [("a:\n  b:\n    c: 1\n", 17), ("a: 1\n- - - - - b\nc: 2\n", 5), ("\n\n", 2)];
        for (text, want) in cases {
            assert_eq!(readable(text, 10), want, "{text}");
        }
    }

    #[test]
    fn deep_text_does_not_end_the_process() {
        let steps: Vec<String> = (0..3_000).map(|n| format!("{}k{n}:\n", " ".repeat(n))).collect();
        let lists: Vec<String> =
            (0..1_000).map(|n| format!("{0}k:\n{0}- \n", " ".repeat(2 * n))).collect();
        let texts = [
            steps.concat(),
            lists.concat(),
            "- ".repeat(5_000),
            "? ".repeat(5_000),
            "- ? : ".repeat(2_000),
            "[".repeat(500),
        ];
        for rest in texts {
            let text = format!("first: 1\n{rest}");
            let tree = parse::tree(Language::Yaml, &text, &|| false).unwrap();
            assert!(parse::definitions(Language::Yaml, "f", &text, &tree).len() < 1_000);
        }
    }
}
