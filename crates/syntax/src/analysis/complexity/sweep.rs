//! One pass over all nodes marked by a language pack, in source order.
//!
//! Cost grows with the number of marks, not with function nesting: a function's totals are added to the enclosing one
//! when it ends, and levels are counted from the start of the file and subtracted afterwards.

use super::Reason;
use crate::{
    analysis::AnalyzedSource,
    language::{QueryMatch, line_of, matches, text_of},
    parse::LocatedDefinition,
};
use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
    ops::Range,
};
use tree_sitter::Node;

/// Maximum reasons listed per function.
const MAX_REASONS: usize = 5;

/// The result for one function.
#[derive(Debug)]
pub(super) struct Measured {
    /// Its index in the list of definitions.
    pub(super) definition: usize,
    pub(super) cyclomatic: u32,
    pub(super) cognitive: u32,
    pub(super) nesting: u32,
    pub(super) why: Vec<Reason>,
}

/// The result for the whole file.
#[derive(Debug)]
pub(super) struct FileComplexityTotals {
    pub(super) branches: u32,
    pub(super) cognitive: u32,
}

/// A mark of a node, in the order in which marks of one node take effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum ComplexityMark {
    Head,
    Even,
    Structure,
    Deep,
    Flat,
    Logic,
    Function(usize),
    Branch,
    Nest,
}

impl ComplexityMark {
    fn from_capture(capture: &str) -> Option<Self> {
        Some(match capture {
            "head" => Self::Head,
            "even" => Self::Even,
            "structure" => Self::Structure,
            "deep" => Self::Deep,
            "flat" => Self::Flat,
            "logic" => Self::Logic,
            "branch" => Self::Branch,
            "nest" => Self::Nest,
            _ => return None,
        })
    }

    /// Whether it sets the level of a node's content: a node has at most one such mark.
    fn is_level(self) -> bool {
        matches!(self, Self::Even | Self::Structure | Self::Deep | Self::Flat)
    }
}

/// A mark with its range.
#[derive(Debug)]
struct MarkedNode<'tree> {
    range: Range<usize>,
    mark: ComplexityMark,
    /// `None` for functions.
    node: Option<Node<'tree>>,
}

/// A contribution to cognitive complexity.
#[derive(Debug, Clone, Copy)]
struct CognitiveIncrement<'tree> {
    /// For structures, 1 plus the levels from the start of the file; for others, the value itself.
    adds: u32,
    node: Node<'tree>,
}

/// Running totals of an open function.
#[derive(Debug, Default)]
struct ComplexityTally<'tree> {
    /// Its index in the list of definitions; `None` for the file.
    definition: Option<usize>,
    /// Levels around it.
    level: u32,
    /// Nests around it.
    nest: u32,
    branches: u32,
    deepest: u32,
    structures: u64,
    structure_sum: u64,
    flat_sum: u64,
    /// The largest of each sort; levels make those of one sort comparable across functions.
    heavy_structures: Vec<CognitiveIncrement<'tree>>,
    heavy_flats: Vec<CognitiveIncrement<'tree>>,
}

impl ComplexityTally<'_> {
    fn cognitive(&self) -> u32 {
        let around = self.structures * u64::from(self.level);
        let sum = (self.structure_sum + self.flat_sum).saturating_sub(around);
        u32::try_from(sum).unwrap_or(u32::MAX)
    }

    /// Adds the totals of a function that ends.
    fn take(&mut self, inner: &Self) {
        self.structures += inner.structures;
        self.structure_sum += inner.structure_sum;
        self.flat_sum += inner.flat_sum;
        for weight in &inner.heavy_structures {
            keep(&mut self.heavy_structures, *weight);
        }
        for weight in &inner.heavy_flats {
            keep(&mut self.heavy_flats, *weight);
        }
    }

    fn reasons(&self, text: &str) -> Vec<Reason> {
        let structures = self.heavy_structures.iter().map(|weight| {
            let adds = weight.adds.saturating_sub(self.level);
            let word = word(weight.node, text);
            let what = match adds {
                0 | 1 => word,
                _ => format!("{word} nested {} deep", adds - 1),
            };
            Reason { line: line_of(weight.node), adds, what }
        });
        let flats = self.heavy_flats.iter().map(|weight| Reason {
            line: line_of(weight.node),
            adds: weight.adds,
            what: word(weight.node, text),
        });
        let mut all: Vec<Reason> = structures.chain(flats).collect();
        all.sort_by_key(|one| (Reverse(one.adds), one.line));
        all.truncate(MAX_REASONS);
        all
    }
}

/// Keeps the largest; the first of equal ones.
fn keep<'tree>(kept: &mut Vec<CognitiveIncrement<'tree>>, weight: CognitiveIncrement<'tree>) {
    let place = kept.partition_point(|one| one.adds >= weight.adds);
    if place < MAX_REASONS {
        kept.insert(place, weight);
        kept.truncate(MAX_REASONS);
    }
}

/// The display name: `if` of `if_statement`, the operator of a condition.
fn word(node: Node<'_>, text: &str) -> String {
    if let Some(operator) = operator(node, text) {
        return format!("`{operator}`");
    }
    let kind = node.kind();
    let ends = ["_statement", "_expression", "_clause", "_definition", "_item", "_block"];
    let short = ends.iter().find_map(|end| kind.strip_suffix(end)).unwrap_or(kind);
    short.replace('_', " ")
}

fn operator<'a>(node: Node<'_>, text: &'a str) -> Option<&'a str> {
    node.child_by_field_name("operator").map(|node| text_of(node, text))
}

/// Measures every function among the definitions, in their order, and the file.
pub(super) fn sweep(
    source: &AnalyzedSource<'_>,
    definitions: &[LocatedDefinition],
) -> (Vec<Measured>, FileComplexityTotals) {
    let root = source.tree.root_node();
    let marks = matches(source.tree, source.language.grammar().branches(), root, source.text);
    let mut items = items(&marks, source.text);
    let functions = definitions.iter().enumerate();
    items.extend(functions.filter(|(_, one)| one.annotation.kind.is_callable()).map(
        |(at, one)| MarkedNode {
            range: one.callable.clone(),
            mark: ComplexityMark::Function(at),
            node: None,
        },
    ));
    items.sort_by_key(|one| (one.range.start, Reverse(one.range.end), one.mark));
    let mut pass = ComplexitySweep { text: source.text, measured: Vec::new(), level: 0, nest: 0 };
    let mut tallies = vec![ComplexityTally::default()];
    let mut branches = 0;
    // Open nodes, innermost last: tree nodes are nested or disjoint.
    let mut open: Vec<&MarkedNode<'_>> = Vec::new();
    for item in &items {
        while let Some(ended) = open.pop_if(|one| one.range.end <= item.range.start) {
            pass.close(ended, &mut tallies);
        }
        branches += u32::from(item.mark == ComplexityMark::Branch);
        pass.enter(item, &mut tallies);
        open.push(item);
    }
    while let Some(ended) = open.pop() {
        pass.close(ended, &mut tallies);
    }
    let cognitive = tallies.first().map_or(0, ComplexityTally::cognitive);
    pass.measured.sort_by_key(|one| one.definition);
    (pass.measured, FileComplexityTotals { branches, cognitive })
}

/// The state of the pass.
struct ComplexitySweep<'a> {
    text: &'a str,
    measured: Vec<Measured>,
    level: i32,
    nest: u32,
}

impl ComplexitySweep<'_> {
    fn level(&self) -> u32 {
        u32::try_from(self.level).unwrap_or(0)
    }

    fn enter<'tree>(
        &mut self,
        item: &MarkedNode<'tree>,
        tallies: &mut Vec<ComplexityTally<'tree>>,
    ) {
        let (level, nest) = (self.level(), self.nest);
        let Some(tally) = tallies.last_mut() else { return };
        match (item.mark, item.node) {
            (ComplexityMark::Head, _) => self.level -= 1,
            (ComplexityMark::Deep, _) => self.level += 1,
            (ComplexityMark::Structure, Some(node)) => {
                tally.structures += 1;
                tally.structure_sum += 1 + u64::from(level);
                keep(&mut tally.heavy_structures, CognitiveIncrement { adds: 1 + level, node });
                self.level += 1;
            }
            (ComplexityMark::Flat | ComplexityMark::Logic, Some(node)) => {
                tally.flat_sum += 1;
                keep(&mut tally.heavy_flats, CognitiveIncrement { adds: 1, node });
            }
            (ComplexityMark::Branch, _) => tally.branches += 1,
            (ComplexityMark::Nest, _) => {
                self.nest += 1;
                tally.deepest = tally.deepest.max(self.nest - tally.nest);
            }
            (ComplexityMark::Function(at), _) => {
                tallies.push(ComplexityTally {
                    definition: Some(at),
                    level,
                    nest,
                    ..ComplexityTally::default()
                });
            }
            (
                ComplexityMark::Even
                | ComplexityMark::Structure
                | ComplexityMark::Flat
                | ComplexityMark::Logic,
                _,
            ) => {}
        }
    }

    fn close<'tree>(
        &mut self,
        item: &MarkedNode<'tree>,
        tallies: &mut Vec<ComplexityTally<'tree>>,
    ) {
        match item.mark {
            ComplexityMark::Head => self.level += 1,
            ComplexityMark::Deep | ComplexityMark::Structure => self.level -= 1,
            ComplexityMark::Nest => self.nest -= 1,
            ComplexityMark::Function(definition) => {
                let Some(tally) = tallies.pop_if(|one| one.definition.is_some()) else { return };
                self.measured.push(Measured {
                    definition,
                    cyclomatic: 1 + tally.branches,
                    cognitive: tally.cognitive(),
                    nesting: tally.deepest,
                    why: tally.reasons(self.text),
                });
                match tallies.last_mut() {
                    Some(around) if around.definition.is_some() => around.take(&tally),
                    // A function adds no level to its file.
                    Some(file) => file.flat_sum += u64::from(tally.cognitive()),
                    None => {}
                }
            }
            ComplexityMark::Even
            | ComplexityMark::Flat
            | ComplexityMark::Logic
            | ComplexityMark::Branch => {}
        }
    }
}

/// Every mark once a node; of those that speak of the level, the one whose pattern comes first.
fn items<'tree>(marks: &[QueryMatch<'tree>], text: &str) -> Vec<MarkedNode<'tree>> {
    let mut levels: HashMap<usize, (usize, ComplexityMark, Node<'tree>)> = HashMap::new();
    let mut others: HashSet<(usize, ComplexityMark)> = HashSet::new();
    let mut items = Vec::new();
    for found in marks {
        for (name, node) in &found.captures {
            let Some(mark) = ComplexityMark::from_capture(name) else { continue };
            if mark.is_level() {
                let known = levels.get(&node.id());
                if known.is_none_or(|(pattern, ..)| *pattern > found.pattern) {
                    levels.insert(node.id(), (found.pattern, mark, *node));
                }
            } else if others.insert((node.id(), mark)) {
                items.push(MarkedNode { range: node.byte_range(), mark, node: Some(*node) });
            }
        }
    }
    let levels = levels.into_values().map(|(_, mark, node)| MarkedNode {
        range: node.byte_range(),
        mark,
        node: Some(node),
    });
    items.extend(levels);
    let continued = continuation_nodes(&items, text);
    let counts = |item: &MarkedNode<'_>| {
        let goes_on = item.node.is_some_and(|node| continued.contains(&node.id()));
        !(goes_on
            && matches!(
                item.mark,
                ComplexityMark::Nest | ComplexityMark::Structure | ComplexityMark::Logic
            ))
    };
    items.retain(counts);
    items
}

/// Nodes that continue their parent: the `if` of an `else if`, and a condition with the same operator as its parent.
fn continuation_nodes(items: &[MarkedNode<'_>], text: &str) -> HashSet<usize> {
    let mut continued = HashSet::new();
    for item in items {
        let Some(node) = item.node else { continue };
        match item.mark {
            ComplexityMark::Nest | ComplexityMark::Structure => {
                continued.extend(else_if(node).map(|node| node.id()));
            }
            ComplexityMark::Logic => {
                let own = operator(node, text);
                let parts = operands(node);
                let same = parts.iter().filter(|part| {
                    part.kind() == node.kind() && own.is_some() && operator(**part, text) == own
                });
                continued.extend(same.map(Node::id));
            }
            _ => {}
        }
    }
    continued
}

/// The `if` directly after the `else` of another.
fn else_if(node: Node<'_>) -> Option<Node<'_>> {
    if !node.kind().starts_with("if") {
        return None;
    }
    let mut cursor = node.walk();
    let mut after_else = false;
    for child in node.children(&mut cursor) {
        let kind = child.kind();
        if after_else && kind == node.kind() {
            return Some(child);
        }
        after_else = kind == "else" || (after_else && child.is_extra());
        if child.is_named() && kind.starts_with("else") {
            let inner = child.named_children(&mut child.walk()).find(|one| !one.is_extra());
            if let Some(inner) = inner.filter(|inner| inner.kind() == node.kind()) {
                return Some(inner);
            }
        }
    }
    None
}

/// The operands of an operator, without parentheses.
fn operands(node: Node<'_>) -> Vec<Node<'_>> {
    let all: Vec<Node<'_>> = node.named_children(&mut node.walk()).collect();
    all.into_iter().map(unwrap_parentheses).collect()
}

fn unwrap_parentheses(node: Node<'_>) -> Node<'_> {
    let mut inner = node;
    while inner.kind().starts_with("parenthesized") && inner.named_child_count() == 1 {
        let Some(child) = inner.named_child(0) else { break };
        inner = child;
    }
    inner
}
