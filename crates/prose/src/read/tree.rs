//! The content of a page as a tree of paragraphs and items, and its conversion to sections and blocks.
//!
//! Independent of the source formats. Builders limit its depth.

use super::marks;
use crate::document::{Kind, Writer};

/// Maximum depth of a tree.
pub(crate) const DEEPEST: usize = 16;
/// An item with more words than this becomes a section.
const LONG: usize = 60;
/// Maximum words of items grouped in one block, so that a hit is short enough to read.
const BLOCK: usize = 150;

/// A part of a page. Texts carry marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    /// Starts a section; only at the top of a tree.
    Heading { level: u8, text: String, anchor: Option<String> },
    /// A paragraph.
    Text(String),
    /// Code, without marks.
    Code { language: String, code: String },
    /// A table as Markdown, one row per line.
    Table(String),
    /// A note or a quotation.
    Quote(Vec<Node>),
    /// An item of a list.
    Item(Item),
}

/// An item of a list, or a term with its definition.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Item {
    /// Its marker.
    pub(crate) mark: Mark,
    /// The link anchor.
    pub(crate) anchor: Option<String>,
    /// Whether it becomes a section if it is long.
    pub(crate) own: bool,
    /// Its content.
    pub(crate) body: Vec<Node>,
}

/// The marker of an item.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Mark {
    /// A bullet.
    #[default]
    Bullet,
    /// A number.
    Number(u32),
    /// The term that it defines.
    Term(String),
}

/// Writes a tree. `level` is that of the section that is open.
pub(crate) fn write(nodes: &[Node], writer: &mut Writer) {
    Sections { writer }.write(nodes, 1, "");
}

struct Sections<'a> {
    writer: &'a mut Writer,
}

impl Sections<'_> {
    fn write(&mut self, nodes: &[Node], level: u8, heading: &str) {
        let (mut level, mut heading) = (level, heading.to_owned());
        let mut at = 0;
        // Whether the section of an item is open, so that what comes after it needs a heading again.
        let mut within_item = false;
        while let Some(node) = nodes.get(at) {
            if let Node::Heading { level: own, text, anchor } = node {
                (level, heading) = (*own, marks::plain(text));
                self.writer.heading(level, &heading, anchor.clone());
                within_item = false;
                at += 1;
                continue;
            }
            if within_item {
                let again = if heading.is_empty() { "Continued" } else { heading.as_str() };
                self.writer.heading(level + 1, &format!("{again} (continued)"), None);
                within_item = false;
            }
            let items: Vec<&Item> = nodes.iter().skip(at).map_while(item).collect();
            if items.is_empty() {
                self.block(node);
                at += 1;
                continue;
            }
            at += items.len();
            within_item = self.items(&items, level);
        }
    }

    /// Writes short items as lists; from the first long one on, each as a section. Returns whether any was long.
    fn items(&mut self, items: &[&Item], level: u8) -> bool {
        let long = |item: &&Item| item.own && level < 6 && words(&item.body) > LONG;
        let first = items.iter().position(long).unwrap_or(items.len());
        let (short, sections) = items.split_at(first);
        let mut list = String::new();
        let mut count = 0;
        for item in short {
            let more = words(&item.body) + 3;
            if count + more > BLOCK && !list.is_empty() {
                self.writer.block(Kind::List, marks::text(&std::mem::take(&mut list)));
                count = 0;
            }
            if !list.is_empty() {
                list.push('\n');
            }
            count += more;
            push_item(&mut list, item, 0);
        }
        self.writer.block(Kind::List, marks::text(&list));
        for item in sections {
            let heading = match &item.mark {
                Mark::Term(term) => marks::plain(term),
                Mark::Bullet => "•".to_owned(),
                Mark::Number(number) => format!("{number}."),
            };
            self.writer.heading(level + 1, &heading, item.anchor.clone());
            self.write(&item.body, level + 1, &heading);
        }
        !sections.is_empty()
    }

    fn block(&mut self, node: &Node) {
        match node {
            Node::Text(text) => self.writer.block(Kind::Paragraph, marks::text(text)),
            Node::Code { language, code } => self.writer.code(language, code),
            Node::Table(rows) => self.writer.block(Kind::Table, marks::text(rows)),
            Node::Quote(body) => {
                let mut quote = String::new();
                push_body(&mut quote, body, 0);
                let lines: Vec<String> = quote
                    .trim_end()
                    .lines()
                    .map(|line| format!("> {line}").trim_end().to_owned())
                    .collect();
                self.writer.block(Kind::Quote, marks::text(&lines.join("\n")));
            }
            Node::Heading { .. } | Node::Item(_) => {}
        }
    }
}

fn item(node: &Node) -> Option<&Item> {
    if let Node::Item(item) = node { Some(item) } else { None }
}

/// The number of words in a body.
pub(crate) fn words(nodes: &[Node]) -> usize {
    let count = |text: &str| text.split_whitespace().count();
    let of = |node: &Node| match node {
        Node::Text(text) | Node::Table(text) | Node::Heading { text, .. } => count(text),
        Node::Code { code, .. } => count(code),
        Node::Quote(body) => words(body),
        Node::Item(item) => {
            words(&item.body) + if let Mark::Term(term) = &item.mark { count(term) } else { 0 }
        }
    };
    nodes.iter().map(of).sum()
}

/// The anchor of an item: the name of the option or the term.
pub(crate) fn anchor_of(term: &str) -> Option<String> {
    let words = || term.split([' ', ',', '\n', '|']).filter(|word| marks::is_option(word));
    let option = words().find(|word| word.starts_with("--")).or_else(|| words().next());
    let Some(option) = option else {
        let slug: String = marks::slug(term).chars().take(60).collect();
        return Some(slug).filter(|slug| !slug.is_empty());
    };
    let option = option.replace("[no-]", "").replace("(no-)", "");
    let end = option.find(['=', '[', '<', '(', '{', ':']).unwrap_or(option.len());
    option.get(..end).filter(|name| name.len() > 1).map(str::to_owned)
}

fn push_item(out: &mut String, item: &Item, depth: usize) {
    let pad = "  ".repeat(depth);
    out.push_str(&pad);
    let mut body = item.body.as_slice();
    let mut head = match &item.mark {
        Mark::Bullet => "- ".to_owned(),
        Mark::Number(number) => format!("{number}. "),
        Mark::Term(term) if body.is_empty() => format!("- {}", term_of(term)),
        Mark::Term(term) => format!("- {}: ", term_of(term)),
    };
    if let Some((Node::Text(text), rest)) = body.split_first() {
        head.push_str(&text.replace('\n', &format!("\n{pad}  ")));
        body = rest;
    }
    out.push_str(head.trim_end_matches(' '));
    push_body_after(out, body, depth + 1);
}

/// A term, in backticks where it is something to type.
fn term_of(term: &str) -> String {
    let plain = marks::squeezed(&marks::plain(term)).replace('\n', ", ");
    let literal = marks::is_option(&plain)
        || (term.starts_with([marks::BOLD, marks::CODE]) && !plain.contains(". "));
    if literal && !plain.contains('`') { format!("`{plain}`") } else { plain }
}

fn push_body_after(out: &mut String, body: &[Node], depth: usize) {
    if body.is_empty() {
        return;
    }
    let first_is_item = matches!(body.first(), Some(Node::Item(_)));
    out.push_str(if first_is_item { "\n" } else { "\n\n" });
    push_body(out, body, depth);
}

/// The nodes of a body, indented.
fn push_body(out: &mut String, body: &[Node], depth: usize) {
    let pad = "  ".repeat(depth);
    for (at, node) in body.iter().enumerate() {
        if at > 0 {
            let both_items =
                matches!(node, Node::Item(_)) && matches!(body.get(at - 1), Some(Node::Item(_)));
            out.push_str(if both_items { "\n" } else { "\n\n" });
        }
        match node {
            Node::Item(item) => push_item(out, item, depth),
            Node::Quote(body) => push_body(out, body, depth),
            Node::Code { language, code } => {
                let fence = if code.contains("```") { "````" } else { "```" };
                push_lines(out, &format!("{fence}{language}\n{code}\n{fence}"), &pad);
            }
            Node::Text(text) | Node::Table(text) | Node::Heading { text, .. } => {
                push_lines(out, text, &pad);
            }
        }
    }
}

fn push_lines(out: &mut String, text: &str, pad: &str) {
    for (at, line) in text.lines().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        if !line.is_empty() {
            out.push_str(pad);
            out.push_str(line);
        }
    }
}

/// Rows as a Markdown table. Without a header its cells are blank. Rows are made as wide as the widest.
pub(crate) fn table(rows: &[Vec<String>], header: bool) -> String {
    let width = rows.iter().map(Vec::len).max().unwrap_or_default().min(100);
    if width == 0 {
        return String::new();
    }
    let line = |cells: &[String]| {
        let mut line = String::from("|");
        for at in 0..width {
            let cell = cells.get(at).map(String::as_str).unwrap_or_default();
            let cell = marks::squeezed(&cell.replace('\n', " ")).replace('|', "\\|");
            line.push(' ');
            line.push_str(cell.trim());
            line.push_str(" |");
        }
        line
    };
    let (head, body) = match rows.split_first() {
        Some((head, body)) if header => (head.as_slice(), body),
        _ => (&[][..], rows),
    };
    let mut out = vec![line(head), format!("|{}", " --- |".repeat(width))];
    out.extend(body.iter().map(|row| line(row)));
    out.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(name: &str, words: usize) -> Node {
        let body = vec![Node::Text(vec!["word"; words].join(" "))];
        let mark = Mark::Term(name.into());
        Node::Item(Item { mark, anchor: Some(name.into()), own: true, body })
    }

    fn markdown(nodes: &[Node]) -> String {
        let mut writer = Writer::default();
        write(nodes, &mut writer);
        writer.finish(None, "f").markdown(&|_| None)
    }

    #[test]
    fn short_items_are_a_list_and_long_ones_sections() {
        let heading = Node::Heading { level: 2, text: "OPTIONS".into(), anchor: None };
        let nodes =
            [heading, term("-a", 2), term("-b", 61), term("-c", 1), Node::Text("After.".into())];
        let long = vec!["word"; 61].join(" ");
        let want = format!(
            "## OPTIONS\n\n- `-a`: word word\n\n### -b\n\n{long}\n\n### -c\n\nword\n\n\
             ### OPTIONS (continued)\n\nAfter."
        );
        assert_eq!(markdown(&nodes), want);
    }

    #[test]
    fn anchors_are_options_without_their_values() {
        let cases = [
            ("-a, --all", "--all"),
            ("--color[=WHEN]", "--color"),
            ("--[no-]verify", "--verify"),
            ("-x file", "-x"),
            ("core.editor", "core-editor"),
            ("-", ""),
        ];
        for (term, want) in cases {
            assert_eq!(anchor_of(term).unwrap_or_default(), want, "{term}");
        }
    }

    #[test]
    fn bodies_are_indented_below_their_items() {
        let code = Node::Code { language: "sh".into(), code: "a\n\nb".into() };
        let inner = Node::Item(Item { body: vec![Node::Text("in".into())], ..Item::default() });
        let body = vec![Node::Text("one\ntwo".into()), code, inner];
        let outer = Node::Item(Item { mark: Mark::Number(3), body, ..Item::default() });
        let want = "3. one\n  two\n\n  ```sh\n  a\n\n  b\n  ```\n\n  - in";
        assert_eq!(markdown(&[outer]), want);
    }

    #[test]
    fn tables_are_filled_up() {
        let rows = [vec!["a|b".to_owned()], vec!["c\nd".to_owned(), "e".to_owned()]];
        assert_eq!(table(&rows, true), "| a\\|b |  |\n| --- | --- |\n| c d | e |");
        assert_eq!(table(&rows[1..], false), "|  |  |\n| --- | --- |\n| c d | e |");
        assert_eq!(table(&[], true), "");
    }
}
