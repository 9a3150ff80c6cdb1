//! The matches of the definitions query, one entry per node.

use crate::{
    ancestry::Ancestry,
    annotation::{Kind, Visibility},
    language::{Language, QueryMatch, text_of},
};
use std::{cmp::Reverse, collections::HashMap, ops::Range};
use tree_sitter::Node;

/// Maximum names of one node, such as `var a, b, c`.
const MAX_NAMES_OF_NODE: usize = 200;

/// A definition as matched by the query.
pub(super) struct DefinitionMatch<'tree> {
    /// `None` for scopes that only lend their name.
    pub(super) kind: Option<Kind>,
    pub(super) name: String,
    pub(super) node: Node<'tree>,
    pub(super) callable: Option<Node<'tree>>,
    /// Parts without a field.
    pub(super) parameters: Option<Node<'tree>>,
    pub(super) returns: Vec<Node<'tree>>,
    pub(super) body: Option<Node<'tree>>,
    /// A type that says what is taken and given.
    pub(super) typed: Option<Node<'tree>>,
    pub(super) decorators: Vec<Node<'tree>>,
    pub(super) modifiers: Vec<Node<'tree>>,
    /// Where it ends, in bytes: with its node, unless it opens a stretch of the file.
    pub(super) end: usize,
    pub(super) visibility: Option<Visibility>,
    /// Its type, if it is defined outside of it.
    pub(super) within: Option<String>,
    /// Of the stretch that it opens: 1 is the highest.
    level: Option<u8>,
    /// Whether its name follows its body.
    pub(super) name_follows: bool,
    /// Whether its own name says that it belongs to a type.
    pub(super) is_member: bool,
    pattern: usize,
    captures: usize,
    name_at: usize,
}

/// One entry per node, outer ones first.
pub(super) fn distinct<'tree>(
    language: Language,
    all: &[QueryMatch<'tree>],
    text: &str,
    ancestry: &Ancestry<'tree>,
) -> Vec<DefinitionMatch<'tree>> {
    let mut by_node: HashMap<usize, Vec<DefinitionMatch<'tree>>> =
        HashMap::with_capacity(all.len());
    let skipped = skipped_ranges(all);
    for one in all {
        let Some(found) = definition_match(language, one, text) else { continue };
        let before = skipped.partition_point(|range| range.start <= found.node.start_byte());
        let last = before.checked_sub(1).and_then(|last| skipped.get(last));
        if last.is_some_and(|range| range.end >= found.node.end_byte()) {
            continue;
        }
        keep(by_node.entry(found.node.id()).or_default(), found);
    }
    let mut found: Vec<DefinitionMatch<'tree>> = by_node.into_values().flatten().collect();
    found.sort_by_key(|one| (one.node.start_byte(), Reverse(one.node.end_byte()), one.name_at));
    close(&mut found, text, ancestry);
    found
}

/// Ranges without definitions: the outermost skipped nodes, in source order.
fn skipped_ranges(all: &[QueryMatch<'_>]) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> =
        all.iter().filter_map(|one| one.get("skip")).map(|node| node.byte_range()).collect();
    ranges.sort_by_key(|range| (range.start, Reverse(range.end)));
    let mut end = 0;
    ranges.retain(|range| {
        let outer = range.end > end;
        end = end.max(range.end);
        outer
    });
    ranges
}

/// Of patterns that found one node, the earliest holds, for every name that it found; of what it found of one name with
/// and without optional parts, the longest.
fn keep<'tree>(known: &mut Vec<DefinitionMatch<'tree>>, found: DefinitionMatch<'tree>) {
    let pattern = known.first().map_or(found.pattern, |first| first.pattern);
    if found.pattern > pattern {
        return;
    }
    if found.pattern < pattern {
        known.clear();
    }
    let has_room = known.len() < MAX_NAMES_OF_NODE;
    match known.iter_mut().find(|one| one.name_at == found.name_at) {
        Some(one) if one.captures < found.captures => *one = found,
        None if has_room => known.push(found),
        Some(_) | None => {}
    }
}

/// What opens a stretch of the file lasts until the next of its level or above. A comment above that one is its own.
fn close<'tree>(found: &mut [DefinitionMatch<'tree>], text: &str, ancestry: &Ancestry<'tree>) {
    let mut starts: Vec<(u8, usize)> = Vec::new();
    for one in found.iter_mut().rev() {
        let Some(level) = one.level else { continue };
        while starts.pop_if(|(below, _)| *below > level).is_some() {}
        let next = starts.last().map_or(text.len(), |(_, start)| *start);
        let end = text.get(..next).map_or(next, |before| before.trim_end().len());
        one.end = end.max(one.end);
        let mut first = one.node;
        while let Some(above) =
            ancestry.previous(first).filter(|node| node.kind().contains("comment"))
        {
            first = above;
        }
        // One of the same level that comes later is hidden by this one.
        while starts.pop_if(|(below, _)| *below >= level).is_some() {}
        starts.push((level, first.start_byte()));
    }
}

fn definition_match<'tree>(
    language: Language,
    one: &QueryMatch<'tree>,
    text: &str,
) -> Option<DefinitionMatch<'tree>> {
    let (kind, node) =
        one.captures.iter().find_map(|(name, node)| match Kind::from_name(name) {
            Some(kind) => Some((Some(kind), *node)),
            None => (*name == "scope").then_some((None, *node)),
        })?;
    let all = |wanted: &str| -> Vec<Node<'tree>> {
        one.captures.iter().filter(|(name, _)| *name == wanted).map(|(_, node)| *node).collect()
    };
    let names = all("name");
    let path = one.get("path").map(|node| path(language, node, text));
    // Only what lends its methods a place may go without a name.
    if names.is_empty() && path.is_none() && kind.is_some() {
        return None;
    }
    let within = one.get("within").map(|node| receiver_name(text_of(node, text)).to_owned());
    let (before, name) = path.unwrap_or_else(|| (None, join_names(language, &names, text)));
    let name = if kind == Some(Kind::Section) { strip_links(&name) } else { name };
    if name.is_empty() && kind.is_some() {
        return None;
    }
    let starts = |node: &Node<'_>| node.start_byte();
    let name_follows =
        one.get("body").is_some_and(|body| names.first().map(starts) > Some(body.end_byte()));
    Some(DefinitionMatch {
        kind,
        name,
        name_follows,
        is_member: before.is_some(),
        within: before.or(within),
        node,
        callable: one.get("callable"),
        parameters: one.get("parameters"),
        returns: all("returns"),
        body: one.get("body"),
        typed: one.get("typed"),
        decorators: all("decorator"),
        modifiers: all("modifier"),
        end: node.end_byte(),
        level: one.captures.iter().find_map(|(name, _)| name.strip_prefix("level")?.parse().ok()),
        visibility: one.captures.iter().find_map(|(name, _)| Visibility::from_name(name)),
        pattern: one.pattern,
        captures: one.captures.len(),
        name_at: one.get("name").map_or(0, |name| name.start_byte()),
    })
}

/// Parts with nothing between them are one word, such as `~Table`; between others stands what the language has there.
fn join_names(language: Language, names: &[Node<'_>], text: &str) -> String {
    let mut name = String::new();
    let mut end = 0;
    for part in names {
        let between = text.get(end..part.start_byte()).unwrap_or_default();
        if !name.is_empty() && !between.is_empty() {
            let apart = between.trim().is_empty() && !language.is_outline();
            name.push_str(if apart { " " } else { language.separator() });
        }
        name.push_str(&plain_name(language, *part, text));
        end = part.end_byte();
    }
    name
}

/// `Table<T>::Row::get` is `get` of `Table::Row`.
fn path(language: Language, node: Node<'_>, text: &str) -> (Option<String>, String) {
    let mut before = Vec::new();
    let mut rest = node;
    while let Some(name) = rest.child_by_field_name("name") {
        before.extend(
            rest.child_by_field_name("scope").map(|scope| receiver_name(text_of(scope, text))),
        );
        rest = name;
    }
    let name = text_of(rest, text);
    // A conversion is named by its type, and written with its parameters.
    let is_conversion = rest.kind() == "operator_cast";
    let name = if is_conversion { name.split('(').next().unwrap_or(name) } else { name };
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
    ((!before.is_empty()).then(|| before.join(language.separator())), name)
}

fn plain_name(language: Language, node: Node<'_>, text: &str) -> String {
    let name = text_of(node, text);
    // A symbol is about the name in it.
    let name = if node.kind() == "simple_symbol" { name.trim_start_matches(':') } else { name };
    if language.settings().markup {
        return crate::comment::strip_markup(name);
    }
    // `impl<T> Table<T>` is about `Table`.
    if language == Language::Rust {
        return name.split('<').next().unwrap_or(name).trim().to_owned();
    }
    let name = unquote(name);
    if name.contains(char::is_whitespace) {
        name.split_whitespace().collect::<Vec<_>>().join(" ")
    } else {
        name.to_owned()
    }
}

/// Of `[text](target)`, a heading shows the text.
fn strip_links(heading: &str) -> String {
    let mut shown = String::with_capacity(heading.len());
    let mut rest = heading;
    while let Some((before, after)) = rest.split_once("](") {
        let Some((opening, (_, after))) = before.rfind('[').zip(after.split_once(')')) else {
            break;
        };
        let (lead, label) = before.split_at_checked(opening).unwrap_or((before, ""));
        shown.push_str(lead);
        shown.push_str(label.trim_start_matches('['));
        rest = after;
    }
    shown + rest
}

/// Without the quotes around it, and without the marks that may close a heading.
fn unquote(name: &str) -> &str {
    let quotes = ['"', '\'', '`'];
    let inner = quotes.iter().find_map(|quote| {
        name.strip_prefix(*quote)?.strip_suffix(*quote).filter(|inner| !inner.contains(*quote))
    });
    let name = inner.unwrap_or(name);
    let open = name.trim_end_matches('#');
    if open.ends_with(' ') { open.trim_end() } else { name }
}

/// `*Table[K, V]` is about `Table`.
fn receiver_name(of: &str) -> &str {
    let name = of.trim_matches(['*', '(', ')', ' ']);
    name.split(['[', '<']).next().unwrap_or(name).trim()
}
