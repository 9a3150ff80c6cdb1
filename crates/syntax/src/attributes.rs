//! Attributes above a definition, by name: documentation, types, and decorators.

use crate::{ancestry::Ancestry, language::text_of, pack::LanguageSettings};
use tree_sitter::Node;

/// An attribute: its node, name and first argument.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AttributeNode<'tree> {
    node: Node<'tree>,
    name: &'static str,
    argument: Option<Node<'tree>>,
}

/// The documentation given by attributes.
#[derive(Debug)]
pub(crate) enum AttributeText {
    /// This text.
    Said(String),
    /// Explicitly hidden.
    Hidden,
    /// No documentation.
    None,
}

/// Known attributes directly above a node, nearest first.
pub(crate) fn above<'tree>(
    settings: &'static LanguageSettings,
    kin: &Ancestry<'tree>,
    node: Node<'tree>,
    text: &str,
) -> Vec<AttributeNode<'tree>> {
    let mut found = Vec::new();
    if settings.attributes.kind.is_empty() {
        return found;
    }
    let mut above = kin.previous_named(node);
    while let Some(sibling) = above {
        match read(settings, sibling, text) {
            Some(attribute) => found.push(attribute),
            None if sibling.kind().contains("comment") => {}
            None => break,
        }
        above = kin.previous_named(sibling);
    }
    found
}

/// The documentation of a node, above it or inside it.
pub(crate) fn read_documentation<'tree>(
    settings: &'static LanguageSettings,
    kin: &Ancestry<'tree>,
    node: Node<'tree>,
    text: &str,
) -> AttributeText {
    let lists = &settings.attributes;
    let inside = last_named_child(node).map(|body| {
        let mut cursor = body.walk();
        let all = body.named_children(&mut cursor).filter_map(|child| read(settings, child, text));
        all.filter(|one| lists.inside.iter().any(|name| name == one.name)).collect::<Vec<_>>()
    });
    let above = above(settings, kin, node, text).into_iter();
    let above = above.filter(|one| lists.describe.iter().any(|name| name == one.name));
    for attribute in inside.unwrap_or_default().into_iter().chain(above) {
        let Some(argument) = attribute.argument else { continue };
        match argument.kind() {
            "boolean" => return AttributeText::Hidden,
            "string" | "sigil" => return AttributeText::Said(content(argument, text)),
            _ => {}
        }
    }
    AttributeText::None
}

/// The parameter and result types that attributes give to the named function.
pub(crate) fn types(
    settings: &LanguageSettings,
    attributes: &[AttributeNode<'_>],
    name: &str,
    text: &str,
) -> Option<(Vec<String>, String)> {
    let types =
        |one: &&AttributeNode<'_>| settings.attributes.types.iter().any(|name| name == one.name);
    attributes.iter().filter(types).find_map(|one| parse_type_spec(one.argument?, name, text))
}

/// The attributes that are shown as decorators.
pub(crate) fn filter_decorators<'tree>(
    settings: &LanguageSettings,
    attributes: &[AttributeNode<'tree>],
) -> Vec<Node<'tree>> {
    let shown = |one: &&AttributeNode<'_>| {
        settings.attributes.decorators.iter().any(|name| name == one.name)
    };
    attributes.iter().filter(shown).map(|one| one.node).collect()
}

/// Parses `f(a, b) :: c`, optionally followed by conditions.
fn parse_type_spec(argument: Node<'_>, name: &str, text: &str) -> Option<(Vec<String>, String)> {
    let line =
        |node: Node<'_>| text_of(node, text).split_whitespace().collect::<Vec<_>>().join(" ");
    let mut whole = argument;
    if whole.child_by_field_name("operator").is_some_and(|operator| operator.kind() == "when") {
        whole = whole.child_by_field_name("left")?;
    }
    let head = whole.child_by_field_name("left")?;
    let target = head.child_by_field_name("target").unwrap_or(head);
    if text_of(target, text) != name {
        return None;
    }
    let list = (target != head).then(|| last_named_child(head)).flatten();
    let takes = list.map(|list| list.named_children(&mut list.walk()).map(line).collect());
    Some((takes.unwrap_or_default(), line(whole.child_by_field_name("right")?)))
}

fn read<'tree>(
    settings: &'static LanguageSettings,
    node: Node<'tree>,
    text: &str,
) -> Option<AttributeNode<'tree>> {
    let lists = &settings.attributes;
    if node.kind() != lists.kind {
        return None;
    }
    let inner = node.named_child(0)?;
    let name = text_of(inner.child_by_field_name("target").unwrap_or(inner), text);
    let known = [&lists.describe, &lists.inside, &lists.types, &lists.decorators];
    let name = known.into_iter().flatten().find(|known| *known == name)?;
    let argument = inner.named_child(1).and_then(|list| list.named_child(0));
    Some(AttributeNode { node, name, argument })
}

fn last_named_child(node: Node<'_>) -> Option<Node<'_>> {
    let count = u32::try_from(node.named_child_count()).ok()?;
    node.named_child(count.checked_sub(1)?)
}

/// The text between the quotes.
fn content(string: Node<'_>, text: &str) -> String {
    let is_text = |part: &Node<'_>| !part.kind().starts_with("sigil");
    string
        .named_children(&mut string.walk())
        .filter(is_text)
        .map(|part| text_of(part, text))
        .collect()
}
