//! ODT: the paragraphs of the content as sections, lists, tables and code.

use super::{
    flow::{Flow, append, bracketed, one_line},
    package::{OfficePackage, attribute, child, find, text_of},
};
use crate::{
    document::{BlockKind, LinkedText, ProseDocument, squeeze},
    format::Unreadable,
};
use docent_xml::Node;
use std::collections::HashMap;

/// Maximum nesting; deeper documents are crafted.
const MAX_NESTING: usize = 60;
/// Maximum repetitions of one cell element.
const MAX_REPEATED_CELLS: usize = 64;
const FORMAT_NAME: &str = "ODT";

/// Reads a document.
pub(crate) fn read(path: &str, bytes: &[u8]) -> Result<ProseDocument, Unreadable> {
    let package = OfficePackage::open(FORMAT_NAME, bytes)?;
    let manifest = package.text("META-INF/manifest.xml")?.unwrap_or_default();
    if manifest.contains("encryption-data") {
        return Err(Unreadable::Encrypted);
    }
    let text = package.read_required("content.xml")?;
    let xml = package.xml("content.xml", &text)?;
    let mut styles = HashMap::new();
    let shared = package.text("styles.xml").ok().flatten().unwrap_or_default();
    if let Ok(xml) = docent_xml::parse(&shared) {
        styles_of(xml.root(), &mut styles);
    }
    styles_of(xml.root(), &mut styles);
    let mut reader = OdtReader { styles, ..OdtReader::default() };
    if let Some(body) = find(xml.root_element(), "body").and_then(|body| child(body, "text")) {
        reader.blocks(body, 0, 0);
    }
    let meta = package.text("meta.xml").ok().flatten().unwrap_or_default();
    let title = title_of(&meta).or_else(|| reader.title.take());
    let mut document = reader.flow.finish(title, path);
    if reader.cut {
        let what = format!("content nested deeper than {MAX_NESTING} elements is skipped");
        document.problems.push(what);
    }
    Ok(document)
}

fn title_of(meta: &str) -> Option<String> {
    let xml = docent_xml::parse(meta).ok()?;
    Some(squeeze(&text_of(find(xml.root_element(), "title")?))).filter(|title| !title.is_empty())
}

/// A style: its parent, and whether list levels are numbered.
#[derive(Debug, Default)]
struct OdtStyle {
    parent: Option<String>,
    numbered: Vec<bool>,
}

fn styles_of(root: Node<'_, '_>, styles: &mut HashMap<String, OdtStyle>) {
    for node in root.descendants() {
        let kind = node.tag_name().name();
        let Some(name) = attribute(node, "name").filter(|_| matches!(kind, "style" | "list-style"))
        else {
            continue;
        };
        let levels = node.children().filter(Node::is_element);
        let numbered = levels.map(|level| level.tag_name().name() == "list-level-style-number");
        let parent = attribute(node, "parent-style-name").map(str::to_owned);
        styles.insert(name.to_owned(), OdtStyle { parent, numbered: numbered.collect() });
    }
}

#[derive(Default)]
struct OdtReader {
    styles: HashMap<String, OdtStyle>,
    flow: Flow,
    title: Option<String>,
    cut: bool,
}

#[derive(Default)]
struct OdtParagraph<'a, 'i> {
    text: LinkedText,
    notes: Vec<String>,
    anchor: Option<String>,
    boxes: Vec<Node<'a, 'i>>,
}

impl OdtReader {
    fn blocks(&mut self, parent: Node<'_, '_>, list: usize, depth: usize) {
        if depth > MAX_NESTING {
            self.cut = true;
            return;
        }
        for node in parent.children() {
            match node.tag_name().name() {
                "h" | "p" => self.paragraph(node, depth),
                "list" => self.list(node, list, depth + 1),
                "table" => {
                    let rows = self.rows(node, depth + 1);
                    self.flow.table(&rows);
                }
                "section" | "frame" | "text-box" | "index-body" => {
                    self.blocks(node, list, depth + 1);
                }
                _ => {}
            }
        }
    }

    fn paragraph(&mut self, node: Node<'_, '_>, depth: usize) {
        let mut paragraph = OdtParagraph::default();
        self.inline(node, &mut paragraph, depth + 1);
        let text = with_notes(&paragraph);
        let style = self.style(node);
        let is = |name: &str| style.iter().any(|style| style == name);
        if node.tag_name().name() == "h" {
            let level = attribute(node, "outline-level").and_then(|level| level.parse().ok());
            self.flow.heading(level.unwrap_or(1), &text.plain, paragraph.anchor);
        } else if is("Title") && self.title.is_none() {
            self.title = Some(squeeze(&text.plain)).filter(|title| !title.is_empty());
        } else if is("Preformatted_20_Text") || style.iter().any(|style| is_code(style)) {
            self.flow.code(&text.plain);
        } else if is("Quotations") {
            let mut quote = LinkedText::new("> ");
            append(&mut quote, &one_line(&text));
            self.flow.block(BlockKind::Quote, quote);
        } else {
            self.flow.block(BlockKind::Paragraph, one_line(&text));
        }
        for node in paragraph.boxes {
            self.blocks(node, 0, depth + 1);
        }
    }

    /// The styles of a paragraph, from its own to what that is based on.
    fn style(&self, node: Node<'_, '_>) -> Vec<String> {
        let first = attribute(node, "style-name").map(str::to_owned);
        let next = |name: &String| self.styles.get(name)?.parent.clone();
        std::iter::successors(first, next).take(20).collect()
    }

    fn list(&mut self, list: Node<'_, '_>, level: usize, depth: usize) {
        if depth > MAX_NESTING {
            self.cut = true;
            return;
        }
        // Lists within a list have the style of the outermost.
        let named = list.ancestors().take(2 * MAX_NESTING).find_map(|node| {
            attribute(node, "style-name").filter(|_| node.tag_name().name() == "list")
        });
        let id = named.unwrap_or_default().to_owned();
        let style = self.styles.get(&id);
        let numbered = style.and_then(|style| style.numbered.get(level)).copied().unwrap_or(false);
        for item in list.children().filter(Node::is_element) {
            for node in item.children() {
                match node.tag_name().name() {
                    "p" | "h" => {
                        let mut paragraph = OdtParagraph::default();
                        self.inline(node, &mut paragraph, depth + 1);
                        let text = with_notes(&paragraph);
                        self.flow.item(&id, level, numbered, &text);
                    }
                    "list" => self.list(node, level + 1, depth + 1),
                    _ => {}
                }
            }
        }
    }

    fn inline<'a, 'i>(
        &mut self,
        parent: Node<'a, 'i>,
        to: &mut OdtParagraph<'a, 'i>,
        depth: usize,
    ) {
        if depth > MAX_NESTING {
            self.cut = true;
            return;
        }
        for node in parent.children() {
            if let Some(text) = node.text().filter(|_| node.is_text()) {
                // Line ends of the file are white space; the document's own are elements.
                to.text.plain.push_str(&text.replace(['\n', '\r', '\t'], " "));
                continue;
            }
            match node.tag_name().name() {
                "s" => {
                    let count = attribute(node, "c").and_then(|count| count.parse().ok());
                    to.text.plain.push_str(&" ".repeat(count.unwrap_or(1).min(200)));
                }
                "tab" => to.text.plain.push('\t'),
                "line-break" => to.text.plain.push('\n'),
                "a" => {
                    let mut label = OdtParagraph::default();
                    self.inline(node, &mut label, depth + 1);
                    to.text.link(&label.text.plain, attribute(node, "href").unwrap_or_default());
                    to.notes.append(&mut label.notes);
                }
                "note" => {
                    let body = child(node, "note-body").map(text_of).unwrap_or_default();
                    to.notes.push(squeeze(&body));
                }
                "bookmark" | "bookmark-start" => {
                    let name = attribute(node, "name").map(str::to_owned);
                    to.anchor = to.anchor.take().or(name);
                }
                "frame" | "text-box" => to.boxes.push(node),
                "annotation" | "annotation-end" | "tracked-changes" => {}
                _ => self.inline(node, to, depth + 1),
            }
        }
    }

    fn rows(&mut self, table: Node<'_, '_>, depth: usize) -> Vec<Vec<LinkedText>> {
        let within = |node: &Node<'_, '_>| {
            let mut near = node.ancestors().skip(1).take(8);
            near.find(|node| node.tag_name().name() == "table") == Some(table)
        };
        let rows = table.descendants().filter(|node| node.tag_name().name() == "table-row");
        let rows: Vec<_> = rows.filter(within).collect();
        rows.into_iter().map(|row| self.cells(row, depth)).collect()
    }

    fn cells(&mut self, row: Node<'_, '_>, depth: usize) -> Vec<LinkedText> {
        let mut cells = Vec::new();
        let kinds = ["table-cell", "covered-table-cell"];
        for cell in row.children().filter(|node| kinds.contains(&node.tag_name().name())) {
            let mut all = LinkedText::default();
            let inner = cell.descendants();
            for node in inner.filter(|node| matches!(node.tag_name().name(), "p" | "h")) {
                let mut paragraph = OdtParagraph::default();
                self.inline(node, &mut paragraph, depth + 1);
                if !all.plain.is_empty() {
                    all.plain.push(' ');
                }
                append(&mut all, &with_notes(&paragraph));
            }
            let count = attribute(cell, "number-columns-repeated");
            let count = count.and_then(|count| count.parse::<usize>().ok()).unwrap_or(1);
            cells.resize(cells.len() + count.clamp(1, MAX_REPEATED_CELLS), all);
        }
        cells
    }
}

fn is_code(style: &str) -> bool {
    let style = style.to_lowercase();
    style.contains("code") || style.contains("preformatted") || style.contains("listing")
}

fn with_notes(paragraph: &OdtParagraph<'_, '_>) -> LinkedText {
    let mut text = paragraph.text.clone();
    for note in paragraph.notes.iter().filter(|note| !note.is_empty()) {
        bracketed(&mut text, note);
    }
    text
}
