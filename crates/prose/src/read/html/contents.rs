//! Tables of contents that link to other pages: on a chapter's page they are most of the content.
//!
//! A table that links only to sections of its own page repeats the headings below it, and is dropped.

use super::{
    origin::PageGenerator,
    tree::{Block, HtmlElement, HtmlNodeData, HtmlTag, HtmlTree, Inline, decode_entities},
};
use crate::document::{LinkedText, squeeze};

/// How deep items are indented; deeper ones stay there.
const MAX_DEPTH: usize = 8;

/// Whether an element is a table of contents. Other generators use the same class for their navigation.
pub(super) fn is_table(element: &HtmlElement<'_>, by: Option<PageGenerator>) -> bool {
    by == Some(PageGenerator::DocBook) && element.is(Block::Div) && element.has_class("toc")
}

/// The links of a table of contents, one item per line; `None` if all of them stay on the page.
pub(super) fn items(tree: &HtmlTree<'_>, table: usize, file: &str) -> Option<LinkedText> {
    let range = tree.range(table);
    let mut lists: Vec<usize> = Vec::new();
    let mut text = LinkedText::default();
    let (mut leads_elsewhere, mut link_end) = (false, 0);
    for (at, element) in tree.elements(range) {
        while lists.pop_if(|end| *end <= at).is_some() {}
        match element.tag {
            HtmlTag::Block(Block::Dl | Block::Ol | Block::Ul) => lists.push(tree.range(at).end),
            // A link within a link is a part of its label.
            HtmlTag::Inline(Inline::A) if at >= link_end => {
                link_end = tree.range(at).end;
                let label = squeeze(&label(tree, at));
                let target = element.attributes.get("href").unwrap_or_default();
                let target = target.trim();
                if label.is_empty() || target.is_empty() {
                    continue;
                }
                let page = target.split('#').next().unwrap_or_default();
                leads_elsewhere |= !page.is_empty() && page != file;
                if !text.plain.is_empty() {
                    text.plain.push('\n');
                }
                let depth = lists.len().saturating_sub(1).min(MAX_DEPTH);
                text.plain.push_str(&"  ".repeat(depth));
                text.plain.push_str("- ");
                text.link(&label, target);
            }
            _ => {}
        }
    }
    leads_elsewhere.then_some(text)
}

/// The text of a link, with its code marked.
fn label(tree: &HtmlTree<'_>, link: usize) -> String {
    let mut label = String::new();
    let mut code_end = None;
    for at in tree.range(link) {
        if code_end.is_some_and(|end| at >= end) {
            label.push('`');
            code_end = None;
        }
        match tree.nodes.get(at).map(|node| &node.what) {
            Some(HtmlNodeData::Text(text)) => label.push_str(&decode_entities(text)),
            Some(HtmlNodeData::Element(inner))
                if inner.tag == HtmlTag::Inline(Inline::Code) && code_end.is_none() =>
            {
                label.push('`');
                code_end = Some(tree.range(at).end);
            }
            _ => {}
        }
    }
    if code_end.is_some() {
        label.push('`');
    }
    label
}
