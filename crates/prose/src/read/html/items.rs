//! Signatures and definitions: which of them are sections.

use super::{
    content,
    tree::{Block, HtmlElement, HtmlTree},
    write::{FRAME_IDS, MAX_INSPECTED_ELEMENTS},
};

/// The signature of an item, which rustdoc gives as a heading.
pub(super) fn is_signature(element: &HtmlElement<'_>) -> bool {
    element.classes().any(|class| {
        matches!(
            class,
            "code-header"
                | "structfield"
                | "method"
                | "impl"
                | "variant"
                | "associatedconstant"
                | "associatedtype"
                | "tymethod"
                | "type"
        )
    })
}

/// Whether the item with this signature has a description.
pub(super) fn is_described(tree: &HtmlTree<'_>, at: usize) -> bool {
    let parent = tree.parent(at);
    let is = |at: usize, block| tree.element(at).is_some_and(|element| element.is(block));
    let holds = tree.element(parent).is_some_and(|section| !FRAME_IDS.contains(&section.id));
    let item = if is(parent, Block::Section) && holds { parent } else { at };
    let summary = tree.parent(item);
    if is(summary, Block::Summary) {
        let rest = tree.range(summary).end..tree.range(tree.parent(summary)).end;
        return content::has_text(tree, rest);
    }
    let after = tree.range(item).end;
    let classes = ["docblock", "impl-items", "docblock-short"];
    let follows = tree
        .element(after)
        .is_some_and(|next| next.classes().any(|class| classes.contains(&class)));
    follows && content::has_text(tree, tree.range(after))
}

/// Whether a list of definitions has one with an anchor and text.
pub(super) fn has_anchored(tree: &HtmlTree<'_>, list: usize) -> bool {
    let is = |at: usize, block| tree.element(at).is_some_and(|element| element.is(block));
    let mut anchored = false;
    let parts = tree.children(list).flat_map(|child| {
        let wrapped = if is(child, Block::Div) { tree.range(child) } else { 0..0 };
        std::iter::once(child).chain(wrapped.skip(1).take(MAX_INSPECTED_ELEMENTS))
    });
    for part in parts {
        if is(part, Block::Dt) {
            // The anchor may be within the term.
            anchored |= tree
                .elements(tree.range(part))
                .take(12)
                .any(|(_, element)| element.anchor().is_some());
        } else if is(part, Block::Dd) && anchored && content::has_text(tree, tree.range(part)) {
            return true;
        }
    }
    false
}
