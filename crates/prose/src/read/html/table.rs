//! Tables: which of them hold data, and rows of Markdown.

use super::{
    line::append,
    tree::{Block, HtmlElement, HtmlTag, HtmlTree},
};
use crate::document::LinkedText;

/// Maximum column span; more is a mistake or an attack.
const MAX_COLUMN_SPAN: usize = 20;
/// Maximum row span.
const MAX_ROW_SPAN: u16 = 60;
/// Maximum columns in which row spans are shown as empty cells.
const MAX_SPANNED_COLUMNS: usize = 40;

/// The purpose of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HtmlTableShape {
    /// Page layout.
    Layout,
    /// Rows of one cell: effectively a list.
    Column,
    /// Rows and columns.
    Data,
}

/// Detects the purpose of a table. Stops at the first nested table.
pub(super) fn shape(tree: &HtmlTree<'_>, at: usize, table: &HtmlElement<'_>) -> HtmlTableShape {
    let laid_out = [
        "highlighttable",
        "rouge-table",
        "lntable",
        "memname",
        "mlabels",
        "hljs-ln",
        "processedcode",
    ];
    if table.has_heading
        || table.classes().any(|class| laid_out.contains(&class))
        || matches!(table.attributes.raw("role"), Some("presentation" | "none"))
    {
        return HtmlTableShape::Layout;
    }
    let (mut cells, mut in_row, mut widest) = (0, 0, 0);
    for (_, element) in tree.elements(tree.range(at)).skip(1) {
        match element.tag {
            HtmlTag::Block(Block::Td | Block::Th) => {
                cells += 1;
                in_row += 1;
                widest = widest.max(in_row);
            }
            HtmlTag::Block(Block::Tr) => in_row = 0,
            HtmlTag::Block(Block::Table) => return HtmlTableShape::Layout,
            _ => {}
        }
        // A note with a picture before it.
        if cells == 1 && is_icon(element) {
            return HtmlTableShape::Layout;
        }
    }
    match (cells, widest) {
        (0 | 1, _) => HtmlTableShape::Layout,
        (_, 1) => HtmlTableShape::Column,
        _ => HtmlTableShape::Data,
    }
}

fn is_icon(element: &HtmlElement<'_>) -> bool {
    element.has_class("icon")
}

/// A table while its rows are read.
#[derive(Debug, Default)]
pub(super) struct HtmlTableBuilder {
    rows: LinkedText,
    row: LinkedText,
    cells: usize,
    is_head: bool,
    /// For each column, the number of further rows spanned by a cell above.
    spans: Vec<u16>,
    has_rows: bool,
}

impl HtmlTableBuilder {
    pub(super) fn open_row(&mut self) {
        self.close_row();
    }

    /// Adds a cell to the row that is open.
    pub(super) fn cell(&mut self, text: &LinkedText, cell: &HtmlElement<'_>) {
        self.fill();
        let is_head = cell.is(Block::Th) || cell.has_class("table-header");
        self.is_head = is_head && (self.cells == 0 || self.is_head);
        let number = |name| {
            cell.attributes.raw(name).and_then(|n| n.trim().parse::<usize>().ok()).unwrap_or(1)
        };
        let wide = number("colspan").clamp(1, MAX_COLUMN_SPAN);
        let high = u16::try_from(number("rowspan").saturating_sub(1))
            .unwrap_or(MAX_ROW_SPAN)
            .min(MAX_ROW_SPAN);
        self.put(text, high);
        // Cells that overlap are not a table.
        for _ in 1..wide.min(MAX_SPANNED_COLUMNS.saturating_sub(self.cells)) {
            self.put(&LinkedText::default(), high);
        }
        // Rows outside of real tables have no end.
        if cell.is(Block::Div) && cell.has_class("col-last") {
            self.close_row();
        }
    }

    /// Adds empty cells for row spans from above.
    fn fill(&mut self) {
        while let Some(left) = self.spans.get_mut(self.cells).filter(|left| **left > 0) {
            *left -= 1;
            let left = *left;
            self.put(&LinkedText::default(), left);
        }
    }

    fn put(&mut self, text: &LinkedText, high: u16) {
        self.row.plain.push_str(if self.cells == 0 { "| " } else { " | " });
        append(&mut self.row, text, "");
        match self.spans.get_mut(self.cells) {
            Some(left) => *left = high,
            None if high > 0 && self.cells < MAX_SPANNED_COLUMNS => {
                self.spans.resize(self.cells, 0);
                self.spans.push(high);
            }
            None => {}
        }
        self.cells += 1;
    }

    pub(super) fn close_row(&mut self) {
        let cells = std::mem::take(&mut self.cells);
        let row = std::mem::take(&mut self.row);
        if cells == 0 || row.plain.trim_matches(['|', ' ']).is_empty() {
            return;
        }
        let rule = || "| --- ".repeat(cells) + "|";
        let is_first = !std::mem::replace(&mut self.has_rows, true);
        if is_first && !self.is_head {
            self.rows.plain = format!("{}|\n{}", "|  ".repeat(cells), rule());
        }
        if !self.rows.plain.is_empty() {
            self.rows.plain.push('\n');
        }
        append(&mut self.rows, &row, "");
        self.rows.plain.push_str(" |");
        if is_first && self.is_head {
            self.rows.plain.push('\n');
            self.rows.plain.push_str(&rule());
        }
    }

    pub(super) fn finish(mut self) -> LinkedText {
        self.close_row();
        self.rows
    }
}
