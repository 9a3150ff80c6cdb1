//! The content of a page as a tree of paragraphs and items, and its conversion to sections and blocks.
//!
//! Independent of the source formats. Builders limit its depth.

use super::marks;
use crate::document::{BlockKind, DocumentWriter};

/// Maximum depth of a tree.
pub(crate) const MAX_TREE_DEPTH: usize = 16;
/// An item with more words than this becomes a section.
const MIN_SECTION_WORDS: usize = 60;
/// Maximum words of items grouped in one block, so that a hit is short enough to read.
const MAX_LIST_BLOCK_WORDS: usize = 150;

/// A part of a page. Texts carry marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PageNode {
    /// Starts a section; only at the top of a tree.
    Heading { level: u8, text: String, anchor: Option<String> },
    /// A paragraph.
    Text(String),
    /// Code, without marks.
    Code { language: String, code: String },
    /// A table as Markdown, one row per line.
    Table(String),
    /// A note or a quotation.
    Quote(Vec<PageNode>),
    /// An item of a list.
    Item(PageListItem),
}

/// An item of a list, or a term with its definition.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PageListItem {
    /// Its marker.
    pub(crate) mark: ItemMarker,
    /// The link anchor.
    pub(crate) anchor: Option<String>,
    /// Whether it becomes a section if it is long.
    pub(crate) own: bool,
    /// Its content.
    pub(crate) body: Vec<PageNode>,
}

/// The marker of an item.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum ItemMarker {
    /// A bullet.
    #[default]
    Bullet,
    /// A number.
    Number(u32),
    /// The term that it defines.
    Term(String),
}

/// Writes a tree. `level` is that of the section that is open.
pub(crate) fn write(nodes: &[PageNode], writer: &mut DocumentWriter) {
    Sections { writer }.write(nodes, 1, "");
}

struct Sections<'a> {
    writer: &'a mut DocumentWriter,
}

impl Sections<'_> {
    fn write(&mut self, nodes: &[PageNode], level: u8, heading: &str) {
        let (mut level, mut heading) = (level, heading.to_owned());
        let mut at = 0;
        // Whether the section of an item is open, so that what comes after it needs a heading again.
        let mut within_item = false;
        while let Some(node) = nodes.get(at) {
            if let PageNode::Heading { level: own, text, anchor } = node {
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
            let items: Vec<&PageListItem> = nodes.iter().skip(at).map_while(item).collect();
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
    fn items(&mut self, items: &[&PageListItem], level: u8) -> bool {
        let long =
            |item: &&PageListItem| item.own && level < 6 && words(&item.body) > MIN_SECTION_WORDS;
        let first = items.iter().position(long).unwrap_or(items.len());
        let (short, sections) = items.split_at(first);
        let mut list = String::new();
        let mut count = 0;
        for item in short {
            let more = words(&item.body) + 3;
            if count + more > MAX_LIST_BLOCK_WORDS && !list.is_empty() {
                self.writer.block(BlockKind::List, marks::text(&std::mem::take(&mut list)));
                count = 0;
            }
            if !list.is_empty() {
                list.push('\n');
            }
            count += more;
            push_item(&mut list, item, 0);
        }
        self.writer.block(BlockKind::List, marks::text(&list));
        for item in sections {
            let heading = match &item.mark {
                ItemMarker::Term(term) => marks::plain(term),
                ItemMarker::Bullet => "•".to_owned(),
                ItemMarker::Number(number) => format!("{number}."),
            };
            self.writer.heading(level + 1, &heading, item.anchor.clone());
            self.write(&item.body, level + 1, &heading);
        }
        !sections.is_empty()
    }

    fn block(&mut self, node: &PageNode) {
        match node {
            PageNode::Text(text) => self.writer.block(BlockKind::Paragraph, marks::text(text)),
            PageNode::Code { language, code } => self.writer.code(language, code),
            PageNode::Table(rows) => self.writer.block(BlockKind::Table, marks::text(rows)),
            PageNode::Quote(body) => {
                let mut quote = String::new();
                push_body(&mut quote, body, 0);
                let lines: Vec<String> = quote
                    .trim_end()
                    .lines()
                    .map(|line| format!("> {line}").trim_end().to_owned())
                    .collect();
                self.writer.block(BlockKind::Quote, marks::text(&lines.join("\n")));
            }
            PageNode::Heading { .. } | PageNode::Item(_) => {}
        }
    }
}

fn item(node: &PageNode) -> Option<&PageListItem> {
    if let PageNode::Item(item) = node { Some(item) } else { None }
}

/// The number of words in a body.
pub(crate) fn words(nodes: &[PageNode]) -> usize {
    let count = |text: &str| text.split_whitespace().count();
    let of = |node: &PageNode| match node {
        PageNode::Text(text) | PageNode::Table(text) | PageNode::Heading { text, .. } => {
            count(text)
        }
        PageNode::Code { code, .. } => count(code),
        PageNode::Quote(body) => words(body),
        PageNode::Item(item) => {
            words(&item.body)
                + if let ItemMarker::Term(term) = &item.mark { count(term) } else { 0 }
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

fn push_item(out: &mut String, item: &PageListItem, depth: usize) {
    let pad = "  ".repeat(depth);
    out.push_str(&pad);
    let mut body = item.body.as_slice();
    let mut head = match &item.mark {
        ItemMarker::Bullet => "- ".to_owned(),
        ItemMarker::Number(number) => format!("{number}. "),
        ItemMarker::Term(term) if body.is_empty() => format!("- {}", term_of(term)),
        ItemMarker::Term(term) => format!("- {}: ", term_of(term)),
    };
    if let Some((PageNode::Text(text), rest)) = body.split_first() {
        head.push_str(&text.replace('\n', &format!("\n{pad}  ")));
        body = rest;
    }
    out.push_str(head.trim_end_matches(' '));
    push_body_after(out, body, depth + 1);
}

/// A term, in backticks where it is something to type.
fn term_of(term: &str) -> String {
    let plain = marks::squeeze_marked(&marks::plain(term)).replace('\n', ", ");
    let literal = marks::is_option(&plain)
        || (term.starts_with([marks::BOLD, marks::CODE]) && !plain.contains(". "));
    if literal && !plain.contains('`') { format!("`{plain}`") } else { plain }
}

fn push_body_after(out: &mut String, body: &[PageNode], depth: usize) {
    if body.is_empty() {
        return;
    }
    let first_is_item = matches!(body.first(), Some(PageNode::Item(_)));
    out.push_str(if first_is_item { "\n" } else { "\n\n" });
    push_body(out, body, depth);
}

/// The nodes of a body, indented.
fn push_body(out: &mut String, body: &[PageNode], depth: usize) {
    let pad = "  ".repeat(depth);
    for (at, node) in body.iter().enumerate() {
        if at > 0 {
            let both_items = matches!(node, PageNode::Item(_))
                && matches!(body.get(at - 1), Some(PageNode::Item(_)));
            out.push_str(if both_items { "\n" } else { "\n\n" });
        }
        match node {
            PageNode::Item(item) => push_item(out, item, depth),
            PageNode::Quote(body) => push_body(out, body, depth),
            PageNode::Code { language, code } => {
                let fence = if code.contains("```") { "````" } else { "```" };
                push_lines(out, &format!("{fence}{language}\n{code}\n{fence}"), &pad);
            }
            PageNode::Text(text) | PageNode::Table(text) | PageNode::Heading { text, .. } => {
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
            let cell = marks::squeeze_marked(&cell.replace('\n', " ")).replace('|', "\\|");
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

    fn term(name: &str, words: usize) -> PageNode {
        let body = vec![PageNode::Text(vec!["word"; words].join(" "))];
        let mark = ItemMarker::Term(name.into());
        PageNode::Item(PageListItem { mark, anchor: Some(name.into()), own: true, body })
    }

    fn markdown(nodes: &[PageNode]) -> String {
        let mut writer = DocumentWriter::default();
        write(nodes, &mut writer);
        writer.finish(None, "f").markdown(&|_| None)
    }

    #[test]
    fn short_items_are_a_list_and_long_ones_sections() {
        let heading = PageNode::Heading { level: 2, text: "OPTIONS".into(), anchor: None };
        let nodes = [
            heading,
            term("-a", 2),
            term("-b", 61),
            term("-c", 1),
            PageNode::Text("After.".into()),
        ];
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
        let code = PageNode::Code { language: "sh".into(), code: "a\n\nb".into() };
        let inner = PageNode::Item(PageListItem {
            body: vec![PageNode::Text("in".into())],
            ..PageListItem::default()
        });
        let body = vec![PageNode::Text("one\ntwo".into()), code, inner];
        let outer = PageNode::Item(PageListItem {
            mark: ItemMarker::Number(3),
            body,
            ..PageListItem::default()
        });
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
