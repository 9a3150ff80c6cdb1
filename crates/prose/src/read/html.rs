//! HTML: the main content as sections of text, with code, lists and tables kept readable.

use crate::{
    document::{Document, Kind, Writer as Outline, squeeze},
    format::Unreadable,
};
use ego_tree::{NodeId, NodeRef, iter::Edge};
use scraper::{Html, Node, Selector, node::Element};
use std::sync::LazyLock;

/// Elements that are no part of what a page says.
const SKIPPED: [&str; 14] = [
    "aside", "button", "footer", "form", "head", "iframe", "nav", "noscript", "object", "script",
    "style", "svg", "template", "title",
];
/// Classes that documentation generators give to what surrounds the text.
const SKIPPED_CLASSES: [&str; 6] =
    ["headerlink", "navfooter", "navheader", "sidebar", "sphinxsidebar", "toc"];
/// Elements that stand on lines of their own.
const BLOCKS: [&str; 19] = [
    "address",
    "article",
    "blockquote",
    "body",
    "details",
    "div",
    "dl",
    "fieldset",
    "figure",
    "header",
    "hr",
    "main",
    "ol",
    "p",
    "section",
    "summary",
    "table",
    "ul",
    "caption",
];

static MAIN: LazyLock<Selector> = LazyLock::new(|| {
    Selector::parse("main, [role=main], article").expect("a selector that is built in parses")
});
static BODY: LazyLock<Selector> =
    LazyLock::new(|| Selector::parse("body").expect("a selector that is built in parses"));
static TITLE: LazyLock<Selector> =
    LazyLock::new(|| Selector::parse("head > title").expect("a selector that is built in parses"));

/// Deeper pages are machine-made to be deep: the parser's work grows with the square of the depth.
const DEEPEST: usize = 400;
/// Elements that have no end, or may leave it out.
const ENDLESS: [&str; 29] = [
    "area", "base", "body", "br", "col", "colgroup", "dd", "dt", "embed", "head", "hr", "html",
    "img", "input", "li", "link", "meta", "optgroup", "option", "p", "param", "source", "tbody",
    "td", "tfoot", "th", "thead", "tr", "wbr",
];

/// Reads an HTML document, however broken. Of a page that nests too deep, the text without its structure.
pub(crate) fn read(path: &str, text: &str) -> Result<Document, Unreadable> {
    if depth(text) > DEEPEST {
        let mut outline = Outline::default();
        outline.plain(Kind::Paragraph, without_tags(text));
        return Ok(outline.finish(None, path));
    }
    let page = Html::parse_document(text);
    let main = page.select(&MAIN).next().or_else(|| page.select(&BODY).next());
    let mut writer = Writer::default();
    match main {
        Some(main) => writer.walk(*main),
        None => writer.walk(page.tree.root()),
    }
    let outline = writer.finish();
    let title = page.select(&TITLE).next().map(|title| title.text().collect::<String>());
    Ok(outline.finish(title, path))
}

/// How deep elements nest, told from the tags alone.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('<') {
        rest = after;
        let (closes, tag) = after.strip_prefix('/').map_or((false, after), |tag| (true, tag));
        let end = tag.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(tag.len());
        let name = tag.get(..end).unwrap_or_default().to_ascii_lowercase();
        if name.is_empty() || ENDLESS.contains(&name.as_str()) {
            continue;
        }
        if closes {
            depth = depth.saturating_sub(1);
            continue;
        }
        if matches!(name.as_str(), "script" | "style") {
            // What stands in a script only looks like tags.
            rest = after.split_once("</").map_or("", |(_, rest)| rest);
            continue;
        }
        depth += 1;
        deepest = deepest.max(depth);
    }
    deepest
}

fn without_tags(text: &str) -> String {
    let mut pieces = text.split('<');
    let first = pieces.next().unwrap_or_default().to_owned();
    let rest = pieces.map(|piece| piece.split_once('>').map_or("", |(_, text)| text));
    squeeze(&std::iter::once(first.as_str()).chain(rest).collect::<Vec<_>>().join(" "))
}

/// Writes text as it comes, section by section.
#[derive(Debug, Default)]
struct Writer {
    outline: Outline,
    text: String,
    heading: Option<(u8, Option<String>)>,
    /// Of the innermost section, for headings that carry none themselves.
    anchor: Option<String>,
    verbatim: bool,
    lists: Vec<Option<u32>>,
}

impl Writer {
    /// Goes through the tree without recursion: pages may nest as deep as they like.
    fn walk(&mut self, root: NodeRef<'_, Node>) {
        let mut skipping: Option<NodeId> = None;
        for edge in root.traverse() {
            match edge {
                Edge::Open(node) if skipping.is_none() => match node.value() {
                    Node::Text(text) => self.push(text),
                    Node::Element(element) if skipped(element) => skipping = Some(node.id()),
                    Node::Element(element) => self.open(element),
                    _ => {}
                },
                Edge::Close(node) if skipping == Some(node.id()) => skipping = None,
                Edge::Close(node) if skipping.is_none() => {
                    if let Node::Element(element) = node.value() {
                        self.close(element);
                    }
                }
                _ => {}
            }
        }
    }

    fn open(&mut self, element: &Element) {
        let id = element.id().or_else(|| element.attr("name").filter(|_| element.name() == "a"));
        match (&mut self.heading, id) {
            (Some((_, anchor @ None)), Some(id)) => *anchor = Some(id.to_owned()),
            (None, Some(id)) => self.anchor = Some(id.to_owned()),
            _ => {}
        }
        match element.name() {
            name if level(name).is_some() => {
                self.flush();
                self.heading = level(name).map(|level| (level, element.id().map(str::to_owned)));
            }
            "pre" => {
                self.paragraph();
                self.text.push_str("```\n");
                self.verbatim = true;
            }
            "br" | "tr" | "dt" | "dd" => self.line(),
            "ul" => self.open_list(None),
            "ol" => self.open_list(Some(0)),
            "li" => self.item(),
            "td" | "th" if !self.text.is_empty() && !self.text.ends_with('\n') => {
                self.text.truncate(self.text.trim_end_matches(' ').len());
                self.text.push_str(" | ");
            }
            "img" => self.push(element.attr("alt").unwrap_or_default()),
            name if BLOCKS.contains(&name) => self.paragraph(),
            _ => {}
        }
    }

    fn close(&mut self, element: &Element) {
        match element.name() {
            name if level(name).is_some() => self.close_heading(),
            "pre" => {
                self.verbatim = false;
                self.line();
                self.text.push_str("```");
                self.paragraph();
            }
            "ul" | "ol" => {
                self.lists.pop();
                self.paragraph();
            }
            "tr" | "dt" | "dd" => self.line(),
            name if BLOCKS.contains(&name) => self.paragraph(),
            _ => {}
        }
    }

    fn open_list(&mut self, count: Option<u32>) {
        self.paragraph();
        self.lists.push(count);
    }

    fn item(&mut self) {
        self.line();
        let indent = self.lists.len().saturating_sub(1);
        self.text.push_str(&"  ".repeat(indent));
        match self.lists.last_mut() {
            Some(Some(count)) => {
                *count += 1;
                let number = format!("{count}. ");
                self.text.push_str(&number);
            }
            _ => self.text.push_str("- "),
        }
    }

    fn push(&mut self, text: &str) {
        if self.verbatim {
            self.text.push_str(text);
            return;
        }
        let starts_apart = text.starts_with(char::is_whitespace);
        let ends_apart = text.ends_with(char::is_whitespace);
        let words = squeeze(text);
        let needs_space = !self.text.is_empty() && !self.text.ends_with([' ', '\n']);
        if starts_apart && needs_space {
            self.text.push(' ');
        }
        self.text.push_str(&words);
        if ends_apart && !words.is_empty() {
            self.text.push(' ');
        }
    }

    fn line(&mut self) {
        self.text.truncate(self.text.trim_end_matches(' ').len());
        // The mark of an item waits for its text.
        let waits = self.text.lines().last().is_some_and(|line| line.trim() == "-");
        if !self.text.is_empty() && !self.text.ends_with('\n') && !waits {
            self.text.push('\n');
        }
        if waits {
            self.text.push(' ');
        }
    }

    /// Ends a paragraph. Inside a list it must not tear the list apart.
    fn paragraph(&mut self) {
        if !self.lists.is_empty() {
            self.line();
            return;
        }
        self.text.truncate(self.text.trim_end().len());
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
    }

    fn close_heading(&mut self) {
        let Some((level, anchor)) = self.heading.take() else { return };
        let heading = squeeze(&std::mem::take(&mut self.text));
        let anchor = anchor.or_else(|| self.anchor.take());
        self.outline.heading(level, &heading, anchor);
    }

    fn flush(&mut self) {
        let text = std::mem::take(&mut self.text);
        for block in text.split("\n\n") {
            self.outline.plain(Kind::Paragraph, block);
        }
    }

    fn finish(mut self) -> Outline {
        self.flush();
        self.outline
    }
}

fn level(name: &str) -> Option<u8> {
    match name.as_bytes() {
        [b'h', digit @ b'1'..=b'6'] => Some(digit - b'0'),
        _ => None,
    }
}

fn skipped(element: &Element) -> bool {
    SKIPPED.contains(&element.name())
        || element.classes().any(|class| SKIPPED_CLASSES.contains(&class))
        || element.attr("hidden").is_some()
}
