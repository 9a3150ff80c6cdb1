//! Finds the main content of a page.

use super::{
    boilerplate, notes,
    origin::PageGenerator,
    tree::{Block, HtmlElement, HtmlNode, HtmlNodeData, HtmlTag, HtmlTree, Inline},
};
use std::ops::Range;

/// More elements than this are assumed to contain text.
const MAX_EMPTY_ELEMENTS: usize = 400;
/// Classes of the main content element, most reliable first.
const CLASSES: [&str; 9] = [
    "md-content__inner",
    "theme-doc-markdown",
    "bd-article",
    "vp-doc",
    "UnitDoc-content",
    "rst-content-body",
    "col-content",
    "markdown-body",
    "bodywrapper",
];
/// Percentage of the parent's non-link text that an element must contain to replace it.
const MIN_CONTENT_PERCENT: usize = 90;
/// Minimum bytes of text of a page; from a shorter one, nothing is dropped.
const MIN_CONTENT_BYTES: usize = 200;

/// Finds the main content element.
pub(super) fn main(tree: &HtmlTree<'_>, by: Option<PageGenerator>) -> usize {
    let all = 0..tree.nodes.len();
    let body = tree
        .elements(all.clone())
        .find(|(_, element)| element.is(Block::Body))
        .map_or(0, |(at, _)| at);
    if matches!(by, Some(PageGenerator::DocBook | PageGenerator::Doxygen)) {
        return body;
    }
    let mut classed: [Option<usize>; CLASSES.len()] = [None; CLASSES.len()];
    let (mut main, mut role, mut article, mut articles) = (None, None, None, 0);
    for (at, element) in tree.elements(all) {
        for class in element.classes() {
            if let Some(place) = CLASSES.iter().position(|known| *known == class)
                && let Some(slot) = classed.get_mut(place)
            {
                slot.get_or_insert(at);
            }
        }
        match element.tag {
            HtmlTag::Block(Block::Main) => {
                main.get_or_insert(at);
            }
            HtmlTag::Block(Block::Article) => {
                article.get_or_insert(at);
                articles += 1;
            }
            HtmlTag::Block(Block::Section)
                if by == Some(PageGenerator::Rustdoc) && is_rustdoc(element) =>
            {
                main.get_or_insert(at);
            }
            _ => {}
        }
        if element.attributes.raw("role") == Some("main") {
            role.get_or_insert(at);
        }
    }
    let article = article.filter(|_| articles == 1);
    let known = classed.into_iter().flatten().chain(role).chain(main).chain(article);
    known
        .into_iter()
        .find(|at| has_text(tree, tree.range(*at)))
        .unwrap_or_else(|| densest(tree, body, by))
}

fn is_rustdoc(element: &HtmlElement<'_>) -> bool {
    matches!(element.id, "main" | "main-content") || element.has_class("content")
}

/// Whether a range contains text. Assumes so if checking would take too long.
pub(super) fn has_text(tree: &HtmlTree<'_>, range: Range<usize>) -> bool {
    let nodes = tree.nodes.get(range).unwrap_or_default();
    let is_text = |node: &HtmlNode<'_>| matches!(node.what, HtmlNodeData::Text(text) if !text.trim().is_empty());
    nodes.len() > MAX_EMPTY_ELEMENTS || nodes.iter().any(is_text)
}

/// The innermost element with most of the non-link text, and all headings.
fn densest(tree: &HtmlTree<'_>, body: usize, by: Option<PageGenerator>) -> usize {
    let weights = weights(tree, body, by);
    let weight = |at: usize| weights.get(at - body).copied().unwrap_or_default();
    let mut best = body;
    loop {
        let held = weight(best);
        let heavy =
            tree.children(best).find(|child| weight(*child) * 100 >= held * MIN_CONTENT_PERCENT);
        let Some(child) = heavy.filter(|child| held >= MIN_CONTENT_BYTES && descends(tree, *child))
        else {
            return best;
        };
        let lone = |other: usize| {
            let Some(element) = tree.element(other) else { return true };
            let heads = element.has_heading || matches!(element.tag, HtmlTag::Heading(_));
            other == child || !heads || boilerplate::is_dropped(tree, other, element, by)
        };
        if !tree.children(best).all(lone) {
            return best;
        }
        best = child;
    }
}

/// Whether an element may be the main content: a paragraph or a table cell is only the longest part.
fn descends(tree: &HtmlTree<'_>, at: usize) -> bool {
    tree.element(at).is_some_and(|element| {
        use Block::{Article, Div, Main, Section, Table, Tbody, Td, Tr};
        let HtmlTag::Block(block) = element.tag else { return false };
        matches!(block, Article | Div | Main | Section) && notes::kind(element).is_none()
            // Pages laid out by a table have headings in it.
            || element.has_heading && matches!(block, Table | Tbody | Td | Tr)
    })
}

/// The bytes of text outside of links and boilerplate, for each element from the body on.
fn weights(tree: &HtmlTree<'_>, body: usize, by: Option<PageGenerator>) -> Vec<usize> {
    let range = tree.range(body);
    let mut weights = vec![0; range.len()];
    let mut at = range.start;
    while at < range.end {
        let dropped = |element: &HtmlElement<'_>| {
            element.tag == HtmlTag::Inline(Inline::A)
                || boilerplate::is_dropped(tree, at, element, by)
        };
        if at > body && tree.element(at).is_some_and(dropped) {
            at = tree.range(at).end;
            continue;
        }
        if let Some(HtmlNodeData::Text(text)) = tree.nodes.get(at).map(|node| node.what)
            && let Some(weight) = weights.get_mut(at - body)
        {
            *weight = text.trim().len();
        }
        at += 1;
    }
    for at in (range.start + 1..range.end).rev() {
        let weight = weights.get(at - body).copied().unwrap_or_default();
        if let Some(parent) = tree.parent(at).checked_sub(body)
            && let Some(sum) = weights.get_mut(parent)
        {
            *sum += weight;
        }
    }
    weights
}
