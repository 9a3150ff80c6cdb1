//! Composes texts: joins and indents them, with their links.

use crate::document::{BlockKind, LinkedText, TextLink};

/// A part of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RstNode {
    /// Level, heading and anchor.
    Section(u8, String, Option<String>),
    /// A block.
    Block(BlockKind, LinkedText),
}

impl RstNode {
    /// Code in a fence that is longer than any in it.
    pub(super) fn code(language: &str, lines: &[&str]) -> Self {
        let code = lines.join("\n");
        let code = code.trim_matches('\n').trim_end();
        let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or_default();
        let fence = "`".repeat(longest.max(2) + 1);
        let text = if code.is_empty() {
            String::new()
        } else {
            format!("{fence}{language}\n{code}\n{fence}")
        };
        Self::Block(BlockKind::Code, LinkedText::new(text))
    }

    pub(super) fn paragraph(text: LinkedText) -> Self {
        Self::Block(BlockKind::Paragraph, text)
    }
}

/// Adds a text to another.
pub(super) fn append(text: &mut LinkedText, more: &LinkedText) {
    let start = text.plain.len();
    text.plain.push_str(&more.plain);
    let moved = more.links.iter().map(|link| TextLink {
        label: link.label.start + start..link.label.end + start,
        target: link.target.clone(),
    });
    text.links.extend(moved);
}

/// Prefixes the first line of a text, and its other non-blank lines.
pub(super) fn prefix_lines(text: &LinkedText, first: &str, rest: &str) -> LinkedText {
    let mut plain = String::with_capacity(text.plain.len() + first.len());
    let mut links = text.links.iter().peekable();
    let mut moved = Vec::new();
    let mut at = 0;
    let mut open: Option<usize> = None;
    for (n, line) in text.plain.split_inclusive('\n').enumerate() {
        let blank = line.trim().is_empty();
        let prefix = if n == 0 { first } else { rest };
        plain.push_str(if blank { prefix.trim_end() } else { prefix });
        let shift = |place: usize| plain.len() + (place - at);
        let end = at + line.len();
        while let Some(link) = links.peek() {
            if open.is_none() && link.label.start < end {
                open = Some(shift(link.label.start.max(at)));
            }
            let Some(start) = open.filter(|_| link.label.end <= end) else { break };
            moved.push(TextLink {
                label: start..shift(link.label.end.max(at)),
                target: link.target.clone(),
            });
            open = None;
            links.next();
        }
        plain.push_str(line);
        at = end;
    }
    LinkedText { plain, links: moved }
}

/// Joins parts into one text. Nested sections become lines of code, as they are signatures.
pub(super) fn flat(nodes: &[RstNode]) -> LinkedText {
    let mut all = LinkedText::default();
    let mut before = BlockKind::Paragraph;
    for node in nodes {
        let (kind, text) = match node {
            RstNode::Section(_, heading, _) => {
                (BlockKind::Paragraph, &LinkedText::new(format!("`{heading}`")))
            }
            RstNode::Block(kind, text) => (*kind, text),
        };
        if text.plain.trim().is_empty() {
            continue;
        }
        if !all.plain.is_empty() {
            let close = kind == BlockKind::List && before == BlockKind::Paragraph;
            all.plain.push_str(if close { "\n" } else { "\n\n" });
        }
        append(&mut all, text);
        before = kind;
    }
    all
}

/// Joins texts with a separator.
pub(super) fn join_texts(texts: &[LinkedText], between: &str) -> LinkedText {
    let mut all = LinkedText::default();
    for (n, text) in texts.iter().enumerate() {
        if n > 0 {
            all.plain.push_str(between);
        }
        append(&mut all, text);
    }
    all
}

/// A text as a table cell: on one line, with escaped bars.
pub(super) fn in_cell(text: &LinkedText) -> LinkedText {
    let mut plain = String::with_capacity(text.plain.len());
    let mut bars = Vec::new();
    for (at, c) in text.plain.char_indices() {
        match c {
            '\n' => plain.push(' '),
            '|' => {
                bars.push(at);
                plain.push_str("\\|");
            }
            c => plain.push(c),
        }
    }
    let moved = |at: usize| at + bars.partition_point(|bar| *bar < at);
    let links = text.links.iter().map(|link| TextLink {
        label: moved(link.label.start)..moved(link.label.end),
        target: link.target.clone(),
    });
    let links = links.collect();
    LinkedText { plain, links }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_move_with_the_text() {
        let mut text = LinkedText::new("a ");
        text.link("b\nc", "t");
        text.plain.push_str("\n\nd ");
        text.link("e", "u");
        let quoted = prefix_lines(&text, "> ", "> ");
        assert_eq!(quoted.plain, "> a b\n> c\n>\n> d e");
        let labels: Vec<&str> =
            quoted.links.iter().map(|link| quoted.plain.get(link.label.clone()).unwrap()).collect();
        assert_eq!(labels, ["b\n> c", "e"]);
        let mut all = LinkedText::new("x");
        append(&mut all, &text);
        assert_eq!(all.plain.get(all.links[1].label.clone()), Some("e"));
    }
}
