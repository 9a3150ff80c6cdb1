//! What the query for definitions found, one entry a node.

use crate::{
    annotation::{Kind, Visibility},
    language::{Language, Match, text_of},
};
use std::collections::HashMap;
use tree_sitter::Node;

/// A definition as the query sees it.
pub(super) struct Found<'tree> {
    /// `None` for what only lends its name.
    pub(super) kind: Option<Kind>,
    pub(super) name: String,
    pub(super) node: Node<'tree>,
    pub(super) callable: Option<Node<'tree>>,
    /// Parts that no field leads to.
    pub(super) parameters: Option<Node<'tree>>,
    pub(super) returns: Option<Node<'tree>>,
    pub(super) body: Option<Node<'tree>>,
    pub(super) decorators: Vec<Node<'tree>>,
    pub(super) visibility: Option<Visibility>,
    /// The type that it belongs to, where it stands outside of it.
    pub(super) within: Option<String>,
    pattern: usize,
}

/// One entry a node, outer ones first.
pub(super) fn distinct<'tree>(
    language: Language,
    all: &[Match<'tree>],
    text: &str,
) -> Vec<Found<'tree>> {
    let mut by_node: HashMap<usize, Found<'tree>> = HashMap::with_capacity(all.len());
    for one in all {
        let Some(found) = found(language, one, text) else { continue };
        let known = by_node.get(&found.node.id());
        if known.is_none_or(|known| known.pattern > found.pattern) {
            by_node.insert(found.node.id(), found);
        }
    }
    let mut found: Vec<Found<'tree>> = by_node.into_values().collect();
    found.sort_by_key(|one| (one.node.start_byte(), std::cmp::Reverse(one.node.end_byte())));
    found
}

fn found<'tree>(language: Language, one: &Match<'tree>, text: &str) -> Option<Found<'tree>> {
    let (kind, node) = one.captures.iter().find_map(|(name, node)| match Kind::named(name) {
        Some(kind) => Some((Some(kind), *node)),
        None => (*name == "scope").then_some((None, *node)),
    })?;
    let decorators = one.captures.iter().filter(|(name, _)| *name == "decorator");
    Some(Found {
        kind,
        name: plain_name(language, one.get("name")?, text),
        node,
        callable: one.get("callable"),
        parameters: one.get("parameters"),
        returns: one.get("returns"),
        body: one.get("body"),
        decorators: decorators.map(|(_, node)| *node).collect(),
        visibility: one.captures.iter().find_map(|(name, _)| Visibility::named(name)),
        within: one.get("within").map(|node| receiver_name(text_of(node, text)).to_owned()),
        pattern: one.pattern,
    })
}

fn plain_name(language: Language, node: Node<'_>, text: &str) -> String {
    let name = text_of(node, text);
    match language {
        // `impl<T> Table<T>` is about `Table`.
        Language::Rust => name.split('<').next().unwrap_or(name).trim().to_owned(),
        _ => {
            let name = name.trim_matches(['"', '\'', '`']);
            if name.contains(char::is_whitespace) {
                name.split_whitespace().collect::<Vec<_>>().join(" ")
            } else {
                name.to_owned()
            }
        }
    }
}

/// `*Table[K, V]` is about `Table`.
fn receiver_name(of: &str) -> &str {
    let name = of.trim_matches(['*', '(', ')', ' ']);
    name.split(['[', '<']).next().unwrap_or(name).trim()
}
