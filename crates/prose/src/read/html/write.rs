//! Walks the elements of a page and passes sections and blocks to the document's writer.
//!
//! No recursion: actions at the end of elements wait in a list, so pages of any depth can be walked.

use super::{
    blocks::HtmlBlockWriter,
    boilerplate, code, content, contents, items,
    line::HtmlInlineText,
    notes,
    origin::PageGenerator,
    table::{self, HtmlTableBuilder, HtmlTableShape},
    tree::{Block, HtmlElement, HtmlNodeData, HtmlTag, HtmlTree, Inline, decode_entities},
};
use crate::document::{DocumentWriter, LinkedText, squeeze};
use std::borrow::Cow;

/// Maximum elements inspected to classify an element, so that no page is slow.
pub(super) const MAX_INSPECTED_ELEMENTS: usize = 300;
/// Maximum ancestors searched for a cell.
const MAX_CELL_ANCESTORS: usize = 4;
/// Ids of elements around the whole page.
pub(super) const FRAME_IDS: [&str; 11] = [
    "header",
    "content",
    "main",
    "main-content",
    "doc-content",
    "docContent",
    "wrapper",
    "container",
    "body",
    "page",
    "documentation",
];

/// The action at the end of an element.
#[derive(Debug)]
enum HtmlCloseAction {
    Paragraph,
    Apart,
    Quoted,
    Code,
    Link,
    Heading { level: u8, own: Option<String>, is_item: bool },
    List,
    Definitions,
    Term,
    Cell(usize),
    Row,
    Caption,
    Table,
    Column,
    Note,
    Title,
}

/// Walks one page.
#[derive(Debug)]
pub(super) struct HtmlPageWalker<'t, 's> {
    tree: &'t HtmlTree<'s>,
    by: Option<PageGenerator>,
    /// The name of the page's own file.
    file: &'t str,
    out: HtmlBlockWriter,
    line: HtmlInlineText,
    /// Whether text is captured for a heading, a term or a title, where blocks are ignored.
    is_captured: bool,
    /// A candidate anchor for the next heading, and whether its element contains the heading.
    anchor: Option<(bool, String)>,
    /// The same within a heading or a term.
    inner_anchor: Option<String>,
    table: Option<HtmlTableBuilder>,
    /// Whether a table of one column is open.
    is_column: bool,
    /// Terms without a definition so far.
    terms: Vec<String>,
}

impl<'t, 's> HtmlPageWalker<'t, 's> {
    pub(super) fn new(tree: &'t HtmlTree<'s>, by: Option<PageGenerator>, path: &'t str) -> Self {
        Self {
            tree,
            by,
            file: path.rsplit('/').next().unwrap_or(path),
            out: HtmlBlockWriter::default(),
            line: HtmlInlineText::default(),
            is_captured: false,
            anchor: None,
            inner_anchor: None,
            table: None,
            is_column: false,
            terms: Vec::new(),
        }
    }

    /// Writes an element with its content.
    pub(super) fn write(mut self, root: usize) -> DocumentWriter {
        let range = self.tree.range(root);
        let mut closes: Vec<(usize, HtmlCloseAction)> = Vec::new();
        let mut at = range.start;
        while at < range.end {
            while let Some((_, close)) = closes.pop_if(|(end, _)| *end <= at) {
                self.close(close);
            }
            let Some(node) = self.tree.nodes.get(at) else { break };
            let end = (node.end as usize).max(at + 1);
            match &node.what {
                HtmlNodeData::Text(text) => self.text(&decode_entities(text)),
                HtmlNodeData::Raw(text) => self.text(text),
                HtmlNodeData::Element(element) => {
                    if at != root
                        && (self.contents(at, element)
                            || boilerplate::is_dropped(self.tree, at, element, self.by))
                        || self.leaf(at, element)
                    {
                        at = end;
                        continue;
                    }
                    if at != root {
                        self.note_anchor(element);
                    }
                    if let Some(close) = self.open(at, element) {
                        closes.push((end, close));
                    }
                }
            }
            at += 1;
        }
        while let Some((_, close)) = closes.pop() {
            self.close(close);
        }
        self.flush();
        self.out.finish()
    }

    /// Writes a table of contents that leads to other pages. Returns whether it did.
    fn contents(&mut self, at: usize, element: &HtmlElement<'_>) -> bool {
        if self.is_captured || self.table.is_some() || !contents::is_table(element, self.by) {
            return false;
        }
        let Some(items) = contents::items(self.tree, at, self.file) else { return false };
        self.flush();
        self.out.contents(items);
        true
    }

    fn text(&mut self, text: &str) {
        if self.line.push(text) && !self.is_captured {
            self.anchor = None;
        }
    }

    fn note_anchor(&mut self, element: &HtmlElement<'_>) {
        if FRAME_IDS.contains(&element.id) {
            return;
        }
        let Some(anchor) = element.anchor() else { return };
        let holds = matches!(element.tag, HtmlTag::Block(_));
        if self.is_captured {
            // The one in a heading or a term that has none itself.
            if self.inner_anchor.is_none() {
                self.inner_anchor = Some(anchor.into_owned());
            }
        } else if holds || self.anchor.as_ref().is_none_or(|(held, _)| !held) {
            self.anchor = Some((holds, anchor.into_owned()));
        }
    }

    /// Writes atomic elements: code, images, formulas. Returns whether it did.
    fn leaf(&mut self, at: usize, element: &HtmlElement<'_>) -> bool {
        match element.tag {
            HtmlTag::Block(Block::Pre) if !self.is_captured => self.code(at),
            HtmlTag::Block(Block::Div)
                if element.has_class("member-signature") || element.has_class("type-signature") =>
            {
                self.flush();
                let text = code::text(self.tree, at, self.by);
                self.out.code("java", &text);
            }
            HtmlTag::Block(Block::Div) if element.has_class("memproto") => {
                self.flush();
                let text = squeeze(&code::text(self.tree, at, self.by));
                self.out.code("cpp", &text);
            }
            HtmlTag::Inline(Inline::Br) if self.is_captured || self.line.in_cell => {
                self.line.apart();
            }
            HtmlTag::Inline(Inline::Br) => self.line.break_line(),
            HtmlTag::Inline(Inline::Img) => {
                let alt = element.attributes.get("alt").unwrap_or_default();
                self.line.apart();
                self.text(&alt);
                self.line.apart();
            }
            HtmlTag::Inline(Inline::Math) => return self.formula(at, element),
            HtmlTag::Inline(Inline::Script) => {
                let text = self.tree.text(self.tree.range(at));
                self.verbatim(&text);
            }
            HtmlTag::Block(Block::Hr) => self.boundary(),
            _ => return false,
        }
        true
    }

    /// A formula as its source, where the page has it.
    fn formula(&mut self, at: usize, element: &HtmlElement<'_>) -> bool {
        let range = self.tree.range(at);
        let source = element.attributes.get("alttext").map(Cow::into_owned).or_else(|| {
            let mut inner = self.tree.elements(range).take(MAX_INSPECTED_ELEMENTS);
            let note =
                inner.find(|(_, element)| element.tag == HtmlTag::Inline(Inline::Annotation))?;
            Some(self.tree.text(self.tree.range(note.0)))
        });
        let Some(source) = source else { return false };
        self.verbatim(&source);
        true
    }

    fn verbatim(&mut self, text: &str) {
        self.line.open_code();
        self.text(text);
        self.line.close_code();
    }

    fn code(&mut self, at: usize) {
        let text = code::text(self.tree, at, self.by);
        if self.line.in_cell {
            if !code::is_gutter(&text) {
                self.line.apart();
                self.verbatim(&text);
                self.line.apart();
            }
            return;
        }
        self.flush();
        let mut up = at;
        let is_in_cell = (0..MAX_CELL_ANCESTORS).any(|_| {
            up = self.tree.parent(up);
            self.tree.element(up).is_some_and(|cell| cell.is(Block::Td))
        });
        if is_in_cell && code::is_gutter(&text) {
            return;
        }
        let language = code::language(self.tree, at, self.by);
        self.anchor = None;
        self.out.code(&language, &text);
    }

    fn open(&mut self, at: usize, element: &HtmlElement<'_>) -> Option<HtmlCloseAction> {
        if self.is_captured {
            return self.open_inline(element);
        }
        if self.out.awaits_title() && self.table.is_none() && notes::is_title(element) {
            self.boundary();
            self.is_captured = true;
            return Some(HtmlCloseAction::Title);
        }
        if let Some(kind) = notes::kind(element) {
            self.boundary();
            self.out.open_note(kind);
            return Some(HtmlCloseAction::Note);
        }
        match element.tag {
            HtmlTag::Inline(_)
                if self.by == Some(PageGenerator::Rustdoc) && element.has_class("structfield") =>
            {
                Some(self.open_heading(at, element, 3))
            }
            HtmlTag::Inline(_) => self.open_inline(element),
            HtmlTag::Heading(_) if self.table.is_some() => {
                self.line.apart();
                Some(HtmlCloseAction::Apart)
            }
            // Doxygen heads groups and members alike.
            HtmlTag::Heading(_) if element.has_class("memtitle") => {
                Some(self.open_heading(at, element, 3))
            }
            HtmlTag::Heading(level) => Some(self.open_heading(at, element, level)),
            HtmlTag::Block(Block::Div)
                if self.by == Some(PageGenerator::Doxygen) && element.has_class("title") =>
            {
                Some(self.open_heading(at, element, 1))
            }
            // pdoc heads its members so: those of a module by a name, those of a class by two.
            HtmlTag::Block(Block::Div)
                if self.by == Some(PageGenerator::Pdoc) && element.has_class("attr") =>
            {
                let id = self.tree.element(self.tree.parent(at)).map_or("", |section| section.id);
                Some(self.open_heading(at, element, if id.contains('.') { 3 } else { 2 }))
            }
            HtmlTag::Block(block) => Some(self.open_block(at, element, block)),
        }
    }

    fn open_inline(&mut self, element: &HtmlElement<'_>) -> Option<HtmlCloseAction> {
        match element.tag {
            HtmlTag::Inline(Inline::Code) if !self.is_captured => {
                self.line.open_code();
                Some(HtmlCloseAction::Code)
            }
            HtmlTag::Inline(Inline::A) if !self.is_captured => {
                let target = element.attributes.get("href")?.trim().to_owned();
                let leads = !target.is_empty() && !target.starts_with("javascript:");
                (leads && self.line.open_link(target)).then_some(HtmlCloseAction::Link)
            }
            HtmlTag::Inline(Inline::Q) => {
                self.line.push("“");
                Some(HtmlCloseAction::Quoted)
            }
            HtmlTag::Inline(Inline::Label) | HtmlTag::Block(_) | HtmlTag::Heading(_) => {
                self.line.apart();
                Some(HtmlCloseAction::Apart)
            }
            HtmlTag::Inline(_) => None,
        }
    }

    fn open_heading(&mut self, at: usize, element: &HtmlElement<'_>, level: u8) -> HtmlCloseAction {
        self.boundary();
        self.is_captured = true;
        self.inner_anchor = None;
        let own = element.anchor().map(Cow::into_owned);
        let is_item = self.by == Some(PageGenerator::Rustdoc)
            && items::is_signature(element)
            && !items::is_described(self.tree, at);
        HtmlCloseAction::Heading { level, own, is_item }
    }

    fn open_block(
        &mut self,
        at: usize,
        element: &HtmlElement<'_>,
        block: Block,
    ) -> HtmlCloseAction {
        match block {
            Block::Table if self.table.is_none() => {
                self.boundary();
                return self.open_table(at, element);
            }
            Block::Tr if self.is_column => {
                self.boundary();
                self.out.mark();
                return HtmlCloseAction::Paragraph;
            }
            Block::Div if self.table.is_none() && element.has_class("summary-table") => {
                self.boundary();
                self.table = Some(HtmlTableBuilder::default());
                return HtmlCloseAction::Table;
            }
            Block::Div
                if self.table.is_some() && !self.line.in_cell && element.class.contains("col-") =>
            {
                self.flush();
                self.line.in_cell = true;
                return HtmlCloseAction::Cell(at);
            }
            Block::Caption if self.table.is_some() => {
                self.is_captured = true;
                return HtmlCloseAction::Caption;
            }
            Block::Tr if self.table.is_some() && !self.line.in_cell => {
                self.flush();
                if let Some(table) = &mut self.table {
                    table.open_row();
                }
                return HtmlCloseAction::Row;
            }
            Block::Td | Block::Th if self.table.is_some() && !self.line.in_cell => {
                self.flush();
                self.line.in_cell = true;
                return HtmlCloseAction::Cell(at);
            }
            // Doxygen lays out members in a table, headings and all.
            Block::Td
                if self.by == Some(PageGenerator::Doxygen) && element.class.starts_with('m') =>
            {
                self.line.apart();
                return HtmlCloseAction::Apart;
            }
            _ if self.table.is_some() => {
                self.line.apart();
                return HtmlCloseAction::Apart;
            }
            _ => {}
        }
        self.boundary();
        match block {
            // Lists that hold headings only lay them out.
            Block::Ul | Block::Ol if !element.has_heading => {
                let first = element
                    .attributes
                    .raw("start")
                    .and_then(|n| n.trim().parse::<u32>().ok())
                    .unwrap_or(1);
                self.out.open_list((block == Block::Ol).then_some(first));
                HtmlCloseAction::List
            }
            Block::Li if !element.has_heading && self.out.is_in_list() => {
                self.out.mark();
                HtmlCloseAction::Paragraph
            }
            Block::Dl => self.open_definitions(at, element),
            Block::Dt | Block::Dd => self.open_definition(at, element, block),
            Block::Blockquote => {
                self.out.open_quote();
                HtmlCloseAction::Note
            }
            _ => HtmlCloseAction::Paragraph,
        }
    }

    fn open_table(&mut self, at: usize, element: &HtmlElement<'_>) -> HtmlCloseAction {
        match table::shape(self.tree, at, element) {
            HtmlTableShape::Layout => HtmlCloseAction::Paragraph,
            HtmlTableShape::Column => {
                self.is_column = true;
                self.out.open_list(None);
                HtmlCloseAction::Column
            }
            HtmlTableShape::Data => {
                self.table = Some(HtmlTableBuilder::default());
                HtmlCloseAction::Table
            }
        }
    }

    fn open_definitions(&mut self, at: usize, element: &HtmlElement<'_>) -> HtmlCloseAction {
        if element.has_heading {
            return HtmlCloseAction::Paragraph;
        }
        if self.out.is_in_list() || self.out.is_in_note() || !items::has_anchored(self.tree, at) {
            self.out.open_list(None);
            return HtmlCloseAction::List;
        }
        self.out.open_definitions();
        HtmlCloseAction::Definitions
    }

    fn open_definition(
        &mut self,
        at: usize,
        element: &HtmlElement<'_>,
        block: Block,
    ) -> HtmlCloseAction {
        match block {
            Block::Dt if self.out.is_in_list() => self.out.term(),
            _ if self.out.is_in_list() => self.out.define(),
            _ if !self.out.is_in_definitions() => {}
            Block::Dt => {
                self.is_captured = true;
                if self.terms.is_empty() {
                    self.inner_anchor = element.anchor().map(Cow::into_owned);
                }
                return HtmlCloseAction::Term;
            }
            _ => self.define(content::has_text(self.tree, self.tree.range(at))),
        }
        HtmlCloseAction::Paragraph
    }

    /// Starts the section of the terms that wait; those without a definition are only named.
    fn define(&mut self, has_text: bool) {
        let terms = std::mem::take(&mut self.terms);
        let anchor = self.inner_anchor.take();
        self.anchor = None;
        if has_text {
            self.out.definition(&terms.join(", "), anchor);
        } else {
            for term in terms {
                self.out.item(term);
            }
        }
    }

    /// A block begins or ends.
    fn boundary(&mut self) {
        if self.is_captured || self.table.is_some() {
            self.line.apart();
        } else {
            self.flush();
        }
    }

    /// Running text so far is a paragraph.
    fn flush(&mut self) {
        if self.line.is_blank() {
            // Open inline elements without text continue as well.
            self.line.take();
        } else {
            let text = self.line.take();
            self.out.paragraph(text);
        }
    }

    /// Running text so far, as a heading has it.
    fn take_captured(&mut self) -> String {
        self.is_captured = false;
        squeeze(&self.line.take().plain)
    }

    fn close(&mut self, close: HtmlCloseAction) {
        match close {
            HtmlCloseAction::Paragraph => self.boundary(),
            HtmlCloseAction::Apart => self.line.apart(),
            HtmlCloseAction::Quoted => {
                self.line.push("”");
            }
            HtmlCloseAction::Code => self.line.close_code(),
            HtmlCloseAction::Link => self.line.close_link(),
            HtmlCloseAction::Heading { level, own, is_item } => {
                let heading = self.take_captured();
                let anchor = self.anchor.take().map(|(_, anchor)| anchor);
                if is_item {
                    return self.out.item(heading);
                }
                self.out.heading(level, &heading, own.or(anchor).or(self.inner_anchor.take()));
            }
            HtmlCloseAction::List => {
                self.flush();
                self.out.close_list();
            }
            HtmlCloseAction::Definitions => {
                self.flush();
                self.define(false);
                self.out.close_definitions();
            }
            HtmlCloseAction::Term => {
                let term = self.take_captured();
                self.terms.extend((!term.is_empty()).then_some(term));
            }
            HtmlCloseAction::Cell(at) => {
                let text = self.line.take();
                self.line.in_cell = false;
                if let (Some(table), Some(cell)) = (&mut self.table, self.tree.element(at)) {
                    table.cell(&text, cell);
                }
            }
            HtmlCloseAction::Row => {
                if let Some(table) = &mut self.table {
                    table.close_row();
                }
            }
            HtmlCloseAction::Caption => {
                let caption = self.take_captured();
                self.out.paragraph(LinkedText::new(caption));
            }
            HtmlCloseAction::Column => {
                self.flush();
                self.is_column = false;
                self.out.close_list();
            }
            HtmlCloseAction::Table => {
                self.flush();
                if let Some(table) = self.table.take() {
                    self.out.table(table.finish());
                }
            }
            HtmlCloseAction::Note => {
                self.flush();
                self.out.close_note();
            }
            HtmlCloseAction::Title => {
                let title = self.take_captured();
                self.out.title(title);
            }
        }
    }
}
