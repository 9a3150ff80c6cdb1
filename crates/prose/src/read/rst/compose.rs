//! Composes texts: joins and indents them, with their links.

use crate::document::{Kind, Link, Text};

/// A part of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    /// Level, heading and anchor.
    Section(u8, String, Option<String>),
    /// A block.
    Block(Kind, Text),
}

impl Node {
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
        Self::Block(Kind::Code, Text::new(text))
    }

    pub(super) fn paragraph(text: Text) -> Self {
        Self::Block(Kind::Paragraph, text)
    }
}

/// Adds a text to another.
pub(super) fn append(text: &mut Text, more: &Text) {
    let start = text.plain.len();
    text.plain.push_str(&more.plain);
    let moved = more.links.iter().map(|link| Link {
        label: link.label.start + start..link.label.end + start,
        target: link.target.clone(),
    });
    text.links.extend(moved);
}

/// Prefixes the first line of a text, and its other non-blank lines.
pub(super) fn prefixed(text: &Text, first: &str, rest: &str) -> Text {
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
            moved.push(Link {
                label: start..shift(link.label.end.max(at)),
                target: link.target.clone(),
            });
            open = None;
            links.next();
        }
        plain.push_str(line);
        at = end;
    }
    Text { plain, links: moved }
}

/// Joins parts into one text. Nested sections become lines of code, as they are signatures.
pub(super) fn flat(nodes: &[Node]) -> Text {
    let mut all = Text::default();
    let mut before = Kind::Paragraph;
    for node in nodes {
        let (kind, text) = match node {
            Node::Section(_, heading, _) => (Kind::Paragraph, &Text::new(format!("`{heading}`"))),
            Node::Block(kind, text) => (*kind, text),
        };
        if text.plain.trim().is_empty() {
            continue;
        }
        if !all.plain.is_empty() {
            let close = kind == Kind::List && before == Kind::Paragraph;
            all.plain.push_str(if close { "\n" } else { "\n\n" });
        }
        append(&mut all, text);
        before = kind;
    }
    all
}

/// Joins texts with a separator.
pub(super) fn joined(texts: &[Text], between: &str) -> Text {
    let mut all = Text::default();
    for (n, text) in texts.iter().enumerate() {
        if n > 0 {
            all.plain.push_str(between);
        }
        append(&mut all, text);
    }
    all
}

/// A text as a table cell: on one line, with escaped bars.
pub(super) fn in_cell(text: &Text) -> Text {
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
    let links = text.links.iter().map(|link| Link {
        label: moved(link.label.start)..moved(link.label.end),
        target: link.target.clone(),
    });
    let links = links.collect();
    Text { plain, links }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_move_with_the_text() {
        let mut text = Text::new("a ");
        text.link("b\nc", "t");
        text.plain.push_str("\n\nd ");
        text.link("e", "u");
        let quoted = prefixed(&text, "> ", "> ");
        assert_eq!(quoted.plain, "> a b\n> c\n>\n> d e");
        let labels: Vec<&str> =
            quoted.links.iter().map(|link| quoted.plain.get(link.label.clone()).unwrap()).collect();
        assert_eq!(labels, ["b\n> c", "e"]);
        let mut all = Text::new("x");
        append(&mut all, &text);
        assert_eq!(all.plain.get(all.links[1].label.clone()), Some("e"));
    }
}
