//! Parents and siblings of nodes.
//!
//! The parser's library searches from the root, past all siblings on the way. In a deep tree, or one with a node with
//! very many children, doing so for each node would be quadratic; for these a table of the whole tree is built once.

use crate::parse::SyntaxTree;
use std::collections::HashMap;
use tree_sitter::Node;

/// Finds the parent and siblings of a node.
#[derive(Debug)]
pub(crate) struct Ancestry<'tree> {
    /// `None` if the library is fast enough.
    table: Option<AncestryTable<'tree>>,
}

#[derive(Debug, Default)]
struct AncestryTable<'tree> {
    rows: Vec<AncestryRow<'tree>>,
    by_id: HashMap<usize, usize>,
}

#[derive(Debug)]
struct AncestryRow<'tree> {
    node: Node<'tree>,
    parent: Option<usize>,
    previous: Option<usize>,
    next: Option<usize>,
}

impl<'tree> Ancestry<'tree> {
    pub(crate) fn new(tree: &'tree SyntaxTree) -> Self {
        Self { table: tree.is_unusual().then(|| AncestryTable::new(tree)) }
    }

    pub(crate) fn parent(&self, node: Node<'tree>) -> Option<Node<'tree>> {
        match self.row(node) {
            Some((table, row)) => row.parent.map(|at| table.rows[at].node),
            None => node.parent(),
        }
    }

    pub(crate) fn previous(&self, node: Node<'tree>) -> Option<Node<'tree>> {
        match self.row(node) {
            Some((table, row)) => row.previous.map(|at| table.rows[at].node),
            None => node.prev_sibling(),
        }
    }

    pub(crate) fn previous_named(&self, node: Node<'tree>) -> Option<Node<'tree>> {
        match self.row(node) {
            Some((table, row)) => table.named(row, |row| row.previous),
            None => node.prev_named_sibling(),
        }
    }

    pub(crate) fn next_named(&self, node: Node<'tree>) -> Option<Node<'tree>> {
        match self.row(node) {
            Some((table, row)) => table.named(row, |row| row.next),
            None => node.next_named_sibling(),
        }
    }

    fn row(&self, node: Node<'tree>) -> Option<(&AncestryTable<'tree>, &AncestryRow<'tree>)> {
        let table = self.table.as_ref()?;
        let at = table.by_id.get(&node.id())?;
        Some((table, &table.rows[*at]))
    }
}

impl<'tree> AncestryTable<'tree> {
    fn new(tree: &'tree SyntaxTree) -> Self {
        let count = tree.root_node().descendant_count();
        tree.count_work(count);
        let mut table =
            Self { rows: Vec::with_capacity(count), by_id: HashMap::with_capacity(count) };
        let mut cursor = tree.walk();
        // The nodes around the current one.
        let mut open: Vec<usize> = Vec::new();
        let mut previous = None;
        loop {
            let (at, node) = (table.rows.len(), cursor.node());
            if let Some(previous) = previous {
                let row: &mut AncestryRow<'tree> = &mut table.rows[previous];
                row.next = Some(at);
            }
            let parent = open.last().copied();
            table.rows.push(AncestryRow { node, parent, previous, next: None });
            table.by_id.insert(node.id(), at);
            if cursor.goto_first_child() {
                open.push(at);
                previous = None;
                continue;
            }
            previous = Some(at);
            while !cursor.goto_next_sibling() {
                previous = open.pop();
                if !cursor.goto_parent() {
                    return table;
                }
            }
        }
    }

    fn named(
        &self,
        from: &AncestryRow<'tree>,
        step: fn(&AncestryRow<'tree>) -> Option<usize>,
    ) -> Option<Node<'tree>> {
        let mut row = &self.rows[step(from)?];
        while !row.node.is_named() {
            row = &self.rows[step(row)?];
        }
        Some(row.node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Language, parse};

    /// Every node of a tree.
    fn nodes(tree: &SyntaxTree) -> Vec<Node<'_>> {
        AncestryTable::new(tree).rows.into_iter().map(|row| row.node).collect()
    }

    #[test]
    fn the_table_says_what_the_library_says() {
        let nested = format!("{}a{}", "f(a, ".repeat(150), ")".repeat(150));
        let broken = "def f(a):\n  return a\n(( a ] ) x . 1\nclass A:\n  b = 1 # c\n".repeat(3);
        for text in [nested.as_str(), broken.as_str()] {
            let tree = parse::tree(Language::Python, text, &|| false).unwrap();
            let table = AncestryTable::new(&tree);
            for node in nodes(&tree) {
                let row = &table.rows[table.by_id[&node.id()]];
                let of = |at: Option<usize>| at.map(|at| table.rows[at].node);
                assert_eq!(of(row.parent), node.parent(), "{node:?}");
                if node.start_byte() < node.end_byte() {
                    assert_eq!(of(row.previous), node.prev_sibling(), "{node:?}");
                    let named = table.named(row, |row| row.previous);
                    assert_eq!(named, node.prev_named_sibling(), "{node:?}");
                    let named = table.named(row, |row| row.next);
                    assert_eq!(named, node.next_named_sibling(), "{node:?}");
                }
            }
        }
    }

    #[test]
    fn a_table_is_made_for_unusual_trees_only() {
        let plain = parse::tree(Language::Python, "a = f(1)\n", &|| false).unwrap();
        let deep = format!("{}1{}", "f(".repeat(1000), ")".repeat(1000));
        let deep = parse::tree(Language::Python, &deep, &|| false).unwrap();
        let run = format!("f(\n{}1)\n", "# a\n".repeat(1000));
        let run = parse::tree(Language::Python, &run, &|| false).unwrap();
        for (tree, want) in [(&plain, false), (&deep, true), (&run, true)] {
            let ancestry = Ancestry::new(tree);
            let first = tree.root_node().child(0).unwrap();
            assert_eq!(ancestry.parent(first), Some(tree.root_node()));
            assert_eq!(ancestry.table.is_some(), want);
        }
    }
}
