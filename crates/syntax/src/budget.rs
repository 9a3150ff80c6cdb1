//! The cost budget of reading one file.
//!
//! Every limit is a count that grows with the length of the text, so the cost of a file is linear by construction: steps
//! of the parser (its progress callback comes every 100), the memory that it allocates, bytes that its lexer reads (a
//! scanner may look ahead to the end of the text at each token, without a callback in between), nodes of the tree, the
//! siblings that a query has to pass, and what the passes over text and tree look at. Time is only the last resort, because
//! it depends on the machine.

use crate::memory;
use std::{
    cell::Cell,
    fmt,
    time::{Duration, Instant},
};
use tree_sitter::{Node, Tree};

/// Parser steps between two calls of its progress callback.
const STEPS_PER_CALLBACK: u64 = 100;
/// Work of a query between two calls of its progress callback.
pub(crate) const WORK_PER_CALLBACK: u64 = 1000;
/// Work of a pass between two calls of the hook that cancels it.
const WORK_BETWEEN_CALLS: u64 = 1 << 16;
/// A child of a node with more children that are not nested in lists is found slowly.
const MAX_FLAT_CHILDREN: usize = 500;
/// Where a node has more such children, rules that ask for parents and siblings of nodes are too slow.
const MAX_SEARCHED_CHILDREN: usize = 5000;
/// From this depth on the ancestors of a node are found slowly.
const MAX_SHALLOW_DEPTH: usize = 200;
/// Type arguments that are nested deeper are not written by people, and some grammars need quadratic time for them.
const MAX_NESTED_ANGLES: usize = 1000;

/// A limit that a file exceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Steps of the parser.
    Steps(u64),
    /// Bytes that the lexer reads, those that it reads again included.
    Lookahead(u64),
    /// Bytes of memory that the parser allocates.
    Memory(u64),
    /// Nodes of the tree.
    Nodes(u64),
    /// Siblings that a query passes to find out what follows a node.
    Siblings(u64),
    /// Work of a query.
    Query(u64),
    /// Bytes, tokens and definitions that the passes over a text look at.
    Work(u64),
    /// Levels of angle brackets.
    Nesting(u64),
    /// Bytes of the text.
    Bytes(u64),
    /// Time.
    Time(Duration),
}

impl fmt::Display for Limit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps(most) => write!(out, "{most} steps of the parser"),
            Self::Lookahead(most) => write!(out, "{most} bytes that the lexer may read"),
            Self::Memory(most) => write!(out, "{} MB of memory", most / 1_000_000),
            Self::Nodes(most) => write!(out, "{most} nodes"),
            Self::Siblings(most) => write!(out, "{most} steps past tokens that no construct holds"),
            Self::Query(most) => write!(out, "{most} steps of a query"),
            Self::Work(most) => write!(out, "{most} steps of the analysis"),
            Self::Nesting(most) => write!(out, "{most} levels of angle brackets"),
            Self::Bytes(most) => write!(out, "{most} bytes"),
            Self::Time(most) => write!(out, "{} s", most.as_secs()),
        }
    }
}

/// The budget of reading one text, and its cancellation hook.
#[derive(Clone, Copy)]
pub struct ParseBudget<'a> {
    /// Polled during the work; `true` cancels it.
    pub cancelled: &'a dyn Fn() -> bool,
    /// Most steps of the parser.
    pub steps: u64,
    /// Most bytes that the lexer reads.
    pub lookahead: u64,
    /// Most bytes of memory that the parser allocates.
    pub memory: u64,
    /// Most nodes of the tree.
    pub nodes: u64,
    /// Most siblings that a query has to pass.
    pub siblings: u64,
    /// Most work of one query.
    pub query: u64,
    /// Most work of the passes of one analysis.
    pub work: u64,
    /// Most bytes of the text.
    pub bytes: u64,
    /// Most time.
    pub time: Duration,
}

impl fmt::Debug for ParseBudget<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ParseBudget").field("steps", &self.steps).finish_non_exhaustive()
    }
}

impl<'a> ParseBudget<'a> {
    /// The budget of a text of that length.
    ///
    /// Source code, large generated tables and minified scripts included, takes the parser 0.4 to 6 steps a byte, is
    /// read by the lexer 1 to 3 times, takes 20 to 280 bytes of memory a byte, and about 0.1 µs a byte in a release build.
    /// More memory means that the parser follows many readings at once, whose stacks it copies when it accepts the text.
    pub fn new(length: usize, cancelled: &'a dyn Fn() -> bool) -> Self {
        let length = length as u64;
        // Without optimization everything takes longer.
        let slow = if cfg!(debug_assertions) { 10 } else { 1 };
        Self {
            cancelled,
            steps: 200_000 + 6 * length,
            lookahead: 2_000_000 + 8 * length,
            memory: 2_000_000 + 400 * length,
            nodes: 10_000 + 4 * length,
            siblings: 10_000_000 + 16 * length,
            query: 10_000_000 + 64 * length,
            work: 10_000_000 + 500 * length,
            bytes: 64 << 20,
            time: (Duration::from_secs(3) + Duration::from_micros(5 * length)) * slow,
        }
    }
}

/// The cost of reading a text so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ParseCost {
    /// Steps of the parser.
    pub steps: u64,
    /// Bytes that the lexer read.
    pub lookahead: u64,
    /// Most bytes of memory that the parser had at a time.
    pub memory: u64,
    /// Nodes of the tree.
    pub nodes: u64,
    /// Siblings that each query has to pass.
    pub siblings: u64,
    /// Work of the queries.
    pub query: u64,
    /// Bytes, tokens and definitions that the passes over text and tree looked at.
    pub work: u64,
}

/// Counts the work of passes over a text, and ends them if they are cancelled or exceed the budget.
pub(crate) struct WorkBudget<'a> {
    cancelled: &'a dyn Fn() -> bool,
    most: u64,
    done: Cell<u64>,
    /// When to call `cancelled` again.
    next_call: Cell<u64>,
    is_cancelled: Cell<bool>,
}

impl<'a> WorkBudget<'a> {
    pub(crate) fn new(budget: &ParseBudget<'a>) -> Self {
        Self {
            cancelled: budget.cancelled,
            most: budget.work,
            done: Cell::new(0),
            next_call: Cell::new(0),
            is_cancelled: Cell::new(false),
        }
    }

    /// Counts visited bytes or items. `false` ends the pass.
    pub(crate) fn spend(&self, amount: usize) -> bool {
        let done = self.done.get().saturating_add(amount as u64);
        self.done.set(done);
        if done >= self.next_call.get() {
            self.next_call.set(done.saturating_add(WORK_BETWEEN_CALLS));
            self.is_cancelled.set(self.is_cancelled.get() || (self.cancelled)());
        }
        self.goes_on()
    }

    pub(crate) fn goes_on(&self) -> bool {
        !self.is_cancelled.get() && self.done.get() <= self.most
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.is_cancelled.get()
    }

    /// The exceeded limit.
    pub(crate) fn exceeded(&self) -> Option<Limit> {
        (self.done.get() > self.most).then_some(Limit::Work(self.most))
    }

    pub(crate) fn done(&self) -> u64 {
        self.done.get()
    }
}

/// Counts the cost of one parse against its budget.
#[derive(Debug)]
pub(crate) struct ParseMeter<'a> {
    budget: ParseBudget<'a>,
    started: Instant,
    allocated_before: i64,
    steps: u64,
    lookahead: u64,
    memory: u64,
    exceeded: Option<Limit>,
    cancelled: bool,
}

impl<'a> ParseMeter<'a> {
    pub(crate) fn new(budget: ParseBudget<'a>) -> Self {
        Self {
            budget,
            started: Instant::now(),
            allocated_before: memory::allocated(),
            steps: 0,
            lookahead: 0,
            memory: 0,
            exceeded: None,
            cancelled: false,
        }
    }

    pub(crate) fn cost(&self) -> ParseCost {
        let Self { steps, lookahead, memory, .. } = *self;
        ParseCost { steps, lookahead, memory, ..ParseCost::default() }
    }

    /// The exceeded limit; also `None` if the work was cancelled.
    pub(crate) fn exceeded(&self) -> Option<Limit> {
        self.exceeded.filter(|_| !self.cancelled)
    }

    /// Counts one call of the parser's progress callback. `false` ends the parse.
    pub(crate) fn step(&mut self) -> bool {
        self.steps += STEPS_PER_CALLBACK;
        let memory = memory::allocated().saturating_sub(self.allocated_before);
        self.memory = self.memory.max(u64::try_from(memory).unwrap_or_default());
        if self.memory > self.budget.memory {
            self.exceeded.get_or_insert(Limit::Memory(self.budget.memory));
        } else if self.steps > self.budget.steps {
            self.exceeded.get_or_insert(Limit::Steps(self.budget.steps));
        } else if self.started.elapsed() > self.budget.time {
            self.exceeded.get_or_insert(Limit::Time(self.budget.time));
        }
        self.goes_on()
    }

    /// Counts bytes passed to the lexer. `false` means that it gets none.
    pub(crate) fn read(&mut self, bytes: usize) -> bool {
        self.lookahead += bytes as u64;
        if self.lookahead > self.budget.lookahead {
            self.exceeded.get_or_insert(Limit::Lookahead(self.budget.lookahead));
            return false;
        }
        self.exceeded.is_none() && !self.cancelled
    }

    fn goes_on(&mut self) -> bool {
        self.cancelled = self.cancelled || (self.budget.cancelled)();
        self.exceeded.is_none() && !self.cancelled
    }

    /// The shape of a tree, unless it exceeds the budget.
    pub(crate) fn shape(&mut self, tree: &Tree) -> Result<TreeShape, Option<Limit>> {
        let nodes = tree.root_node().descendant_count() as u64;
        if nodes > self.budget.nodes {
            return Err(Some(Limit::Nodes(self.budget.nodes)));
        }
        let shape = TreeShape::of(tree, &mut || self.goes_on()).ok_or(None)?;
        if shape.siblings > self.budget.siblings {
            return Err(Some(Limit::Siblings(self.budget.siblings)));
        }
        Ok(shape)
    }
}

/// Rejects texts that are not parsed at all.
pub(crate) fn is_too_large(text: &str, budget: &ParseBudget<'_>) -> Option<Limit> {
    if text.len() as u64 > budget.bytes {
        return Some(Limit::Bytes(budget.bytes));
    }
    let deepest = nested_angles(text);
    (deepest > MAX_NESTED_ANGLES).then_some(Limit::Nesting(MAX_NESTED_ANGLES as u64))
}

/// The nesting depth of `A<B<C`. Other brackets and the end of a statement reset it.
fn nested_angles(text: &str) -> usize {
    let (mut open, mut deepest) = (0_usize, 0);
    let mut before = b' ';
    for byte in text.bytes() {
        match byte {
            b'<' if before.is_ascii_alphanumeric() || before == b'_' => open += 1,
            b'>' => open = open.saturating_sub(1),
            b'(' | b')' | b'[' | b']' | b'{' | b'}' | b';' | b'\n' | b'"' | b'\'' => open = 0,
            _ => {}
        }
        deepest = deepest.max(open);
        before = byte;
    }
    deepest
}

/// The properties of a tree that make some lookups expensive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TreeShape {
    /// How many siblings a query passes in all to find the next named one.
    pub(crate) siblings: u64,
    /// Whether nodes are so deep, or have such a number of children, that parents and siblings are found slowly.
    pub(crate) is_unusual: bool,
    /// Whether a node has thousands of children side by side.
    pub(crate) is_flat: bool,
}

impl TreeShape {
    /// `None` if the work was cancelled.
    fn of(tree: &Tree, goes_on: &mut dyn FnMut() -> bool) -> Option<Self> {
        let mut shape = Self::default();
        let mut cursor = tree.walk();
        let mut levels = vec![ChildCounts::default()];
        let mut seen = 0_u32;
        loop {
            let node = cursor.node();
            if let Some(row) = levels.last_mut() {
                row.add(node, &mut shape);
            }
            seen = seen.wrapping_add(1);
            if seen.is_multiple_of(4096) && !goes_on() {
                return None;
            }
            if cursor.goto_first_child() {
                levels.push(ChildCounts { is_error: node.is_error(), ..ChildCounts::default() });
                shape.is_unusual |= levels.len() > MAX_SHALLOW_DEPTH;
                continue;
            }
            while !cursor.goto_next_sibling() {
                if let Some(row) = levels.pop() {
                    row.end(&mut shape);
                }
                if !cursor.goto_parent() {
                    return Some(shape);
                }
            }
        }
    }
}

/// Counts of the children of one node so far.
#[derive(Debug, Default)]
struct ChildCounts {
    is_error: bool,
    children: usize,
    /// Comments and the like that follow each other: they are not nested in lists.
    extras: usize,
    /// Signs since the last named node.
    signs: u64,
}

impl ChildCounts {
    fn add(&mut self, node: Node<'_>, shape: &mut TreeShape) {
        self.children += 1;
        self.extras = if node.is_extra() { self.extras + 1 } else { 0 };
        let beside = if self.is_error { self.children } else { self.extras };
        shape.is_unusual |= beside > MAX_FLAT_CHILDREN;
        shape.is_flat |= beside > MAX_SEARCHED_CHILDREN;
        if !self.is_error {
            return;
        }
        if node.is_named() {
            shape.siblings += self.signs * (self.signs + 1) / 2;
            self.signs = 0;
        } else {
            self.signs += 1;
        }
    }

    fn end(self, shape: &mut TreeShape) {
        shape.siblings += self.signs * (self.signs + 1) / 2;
    }
}

/// How many calls of a query's progress callback a budget allows.
pub(crate) fn query_callbacks(length: usize) -> u64 {
    ParseBudget::new(length, &|| false).query / WORK_PER_CALLBACK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_ends_at_its_limit_and_where_it_is_cancelled() {
        let calls = Cell::new(0);
        let cancelled = || {
            calls.set(calls.get() + 1);
            calls.get() > 2
        };
        let work = WorkBudget::new(&ParseBudget::new(0, &cancelled));
        let steps = (0..1_000_000).take_while(|_| work.spend(1)).count() as u64;
        assert_eq!((calls.get(), steps), (3, 2 * WORK_BETWEEN_CALLS));
        assert!(work.is_cancelled() && work.exceeded().is_none());
        let never = || false;
        let work = WorkBudget::new(&ParseBudget { work: 10, ..ParseBudget::new(0, &never) });
        assert_eq!((work.spend(10), work.spend(1), work.goes_on()), (true, false, false));
        assert_eq!((work.exceeded(), work.done()), (Some(Limit::Work(10)), 11));
    }

    #[test]
    fn angles_nest_only_in_types() {
        let cases = [
            ("A<B<C>>", 2),
            ("a < b; c < d", 0),
            ("for(i=0;i<n;i++)for(j=0;j<n;j++)", 1),
            ("a<b, c<d, e<f", 3),
            ("a<b\nc<d\n", 1),
            ("<a><b>", 0),
        ];
        for (text, want) in cases {
            assert_eq!(nested_angles(text), want, "{text}");
        }
    }
}
