//! Occurrences of a name in a file, with their roles.

use crate::{
    annotate::calls,
    annotation::{Annotation, Kind},
    language::{Language, matches},
    parse::{self, LocatedDefinition, SyntaxTree},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{cmp::Reverse, collections::HashSet, ops::Range};
use tree_sitter::{Node, TreeCursor};

/// The role of an occurrence of a name.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// It is defined.
    Definition,
    /// It is called.
    Call,
    /// It is imported.
    Import,
    /// It is used in another way: read, passed on, or as a type.
    Use,
}

/// An occurrence of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// Byte range.
    pub at: usize,
    /// Its line, counted from 1.
    pub line: u32,
    /// Its role.
    pub role: Role,
    /// Index of the innermost enclosing definition; for a definition, its own.
    pub inside: Option<usize>,
}

/// The occurrences of a name in a file.
#[derive(Debug)]
pub struct References {
    /// The file's definitions.
    pub definitions: Vec<LocatedDefinition>,
    /// The occurrences, in order.
    pub all: Vec<Reference>,
}

/// All occurrences of a name in code, not in comments or strings.
pub fn references(
    language: Language,
    path: &str,
    text: &str,
    tree: &SyntaxTree,
    name: &str,
) -> References {
    let definitions = parse::definitions(language, path, text, tree);
    let named = starts(language, text, tree);
    let called: HashSet<usize> = calls(language, text, tree).iter().map(|call| call.at).collect();
    let imported = imports(language, text, tree);
    let mut search = NodeSearch::new(tree);
    let mut all = Vec::new();
    let (mut open, mut next): (Vec<usize>, usize) = (Vec::new(), 0);
    for at in occurrences(text, name) {
        while definitions.get(next).is_some_and(|one| one.range.start <= at) {
            open.push(next);
            next += 1;
        }
        while open.pop_if(|n| definitions[*n].range.end <= at).is_some() {}
        let node = search.smallest_around(&(at..at + name.len()));
        let kind = node.kind();
        if kind.contains("comment") || kind.contains("string") || kind.contains("char_literal") {
            continue;
        }
        let role = if named.contains(&at) {
            Role::Definition
        } else if called.contains(&at) {
            Role::Call
        } else if is_in(&imported, at) {
            Role::Import
        } else {
            Role::Use
        };
        let line = u32::try_from(node.start_position().row).unwrap_or(u32::MAX).saturating_add(1);
        all.push(Reference { at, line, role, inside: open.last().copied() });
    }
    References { definitions, all }
}

/// Where the names of definitions start.
fn starts(language: Language, text: &str, tree: &SyntaxTree) -> HashSet<usize> {
    let found = matches(tree, language.grammar().definitions(), tree.root_node(), text);
    let is_definition = |one: &crate::language::QueryMatch<'_>| {
        one.captures.iter().any(|(name, _)| Kind::from_name(name).is_some())
    };
    let names = found.iter().filter(|one| is_definition(one)).filter_map(|one| one.get("name"));
    names.map(|node| node.start_byte()).collect()
}

fn imports(language: Language, text: &str, tree: &SyntaxTree) -> Vec<Range<usize>> {
    if language.is_outline() {
        return Vec::new();
    }
    let found = matches(tree, language.grammar().imports(), tree.root_node(), text);
    let ranges = found.iter().filter_map(|one| one.get("import")).map(|node| node.byte_range());
    let mut ranges: Vec<Range<usize>> = ranges.collect();
    ranges.sort_by_key(|range| (range.start, Reverse(range.end)));
    let mut end = 0;
    // What lies in another one says no more.
    ranges.retain(|range| {
        let outer = range.end > end;
        end = end.max(range.end);
        outer
    });
    ranges
}

/// Whether one of the ranges, which are in their order, is around a byte.
fn is_in(ranges: &[Range<usize>], at: usize) -> bool {
    let before = ranges.partition_point(|range| range.start <= at);
    let last = before.checked_sub(1).and_then(|last| ranges.get(last));
    last.is_some_and(|range| range.contains(&at))
}

/// Finds nodes by position in source order, without returning to the root.
struct NodeSearch<'tree> {
    cursor: TreeCursor<'tree>,
    /// The nodes around the one that the cursor is at.
    open: Vec<Node<'tree>>,
}

impl<'tree> NodeSearch<'tree> {
    fn new(tree: &'tree SyntaxTree) -> Self {
        Self { cursor: tree.walk(), open: Vec::new() }
    }

    /// The smallest node around a range. Ranges are asked for in the order of the text.
    fn smallest_around(&mut self, range: &Range<usize>) -> Node<'tree> {
        while self.open.last().is_some_and(|outer| outer.end_byte() < range.end) {
            self.cursor.goto_parent();
            self.open.pop();
        }
        loop {
            let node = self.cursor.node();
            let ends_before = node.end_byte() < range.end || node.end_byte() <= range.start;
            if ends_before && !self.open.is_empty() {
                if self.cursor.goto_next_sibling() {
                    continue;
                }
            } else if node.start_byte() <= range.start {
                if self.cursor.goto_first_child() {
                    self.open.push(node);
                    continue;
                }
                return node;
            }
            return self.open.last().copied().unwrap_or(node);
        }
    }
}

/// Positions of a name as a whole word.
fn occurrences<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = usize> + 'a {
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    text.match_indices(name).map(|(at, _)| at).filter(move |at| {
        let before = text.get(..*at).and_then(|text| text.chars().next_back());
        let after = text.get(at + name.len()..).and_then(|text| text.chars().next());
        // A name may itself start or end with a sign, such as `empty?` or `#private`.
        let starts = name.chars().next().is_some_and(part);
        let ends = name.chars().next_back().is_some_and(part);
        let goes_on = (starts && before.is_some_and(part)) || (ends && after.is_some_and(part));
        !goes_on
    })
}

/// Whether a definition is the one that a path of names ends with: `Table.len`, `len` and `shop.Table.len` all mean
/// `shop.Table.len`.
pub fn is_called(annotation: &Annotation, symbol: &str) -> bool {
    let parts = |name: &str| -> Vec<String> {
        name.split(['.', ':', '#', '/', '\\'])
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect()
    };
    parts(&annotation.qualified_name).ends_with(&parts(symbol))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(language: Language, text: &str, name: &str) -> Vec<(u32, Role, String)> {
        let tree = parse::tree(language, text, &|| false).unwrap();
        let found = references(language, "f", text, &tree, name);
        let inside = |one: &Reference| {
            one.inside.map_or_else(String::new, |n| {
                found.definitions[n].annotation.qualified_name.clone()
            })
        };
        found.all.iter().map(|one| (one.line, one.role, inside(one))).collect()
    }

    #[test]
    fn every_role_is_found() {
        let text = "from a import save\n\ndef save_all(items):\n    \"\"\"Calls save.\"\"\"\n    # save\n    hook = save\n    for one in items:\n        save(one)\n        one.save()\n\nclass Row:\n    def save(self): pass\n";
        let want = [
            (1, Role::Import, ""),
            (6, Role::Use, "save_all"),
            (8, Role::Call, "save_all"),
            (9, Role::Call, "save_all"),
            (12, Role::Definition, "Row.save"),
        ];
        let want: Vec<_> =
            want.into_iter().map(|(line, role, inside)| (line, role, inside.to_owned())).collect();
        assert_eq!(lines(Language::Python, text, "save"), want);
    }

    #[test]
    fn the_smallest_node_around_a_name_is_found() {
        let text = "a = f(a, b.a, 'a', [a, {a: a}])  # a\n( ( a . a\ndef a(a): a\n".repeat(4);
        for language in [Language::Python, Language::JavaScript, Language::Rust] {
            let tree = parse::tree(language, &text, &|| false).unwrap();
            let mut search = NodeSearch::new(&tree);
            for at in occurrences(&text, "a") {
                let want = tree.root_node().descendant_for_byte_range(at, at + 1);
                assert_eq!(Some(search.smallest_around(&(at..at + 1))), want, "{at}");
            }
        }
    }

    #[test]
    fn a_symbol_is_called_by_the_end_of_its_path() {
        let text = "mod shop { impl Table { fn len(&self) {} } }";
        let tree = parse::tree(Language::Rust, text, &|| false).unwrap();
        let all = parse::definitions(Language::Rust, "f", text, &tree);
        let len = &all.iter().find(|one| one.annotation.name == "len").unwrap().annotation;
        for (symbol, want) in [
            ("len", true),
            ("Table::len", true),
            ("Table.len", true),
            ("shop::Table::len", true),
            ("Row::len", false),
            ("en", false),
        ] {
            assert_eq!(is_called(len, symbol), want, "{symbol}");
        }
    }
}
