//! Parses source text into annotations. Pure: no files, no index.

mod depth;
mod names;
mod parameters;
mod preprocessor;
mod read;
mod recover;
mod visibility;

use crate::{
    analysis::AnalyzedSource,
    ancestry::Ancestry,
    annotation::{Annotation, Parameter, Visibility},
    budget::{Limit, ParseBudget, ParseCost, ParseMeter, TreeShape, WorkBudget, is_too_large},
    language::{Language, line_of, matches, text_of},
    memory,
    pack::Repeats,
};
use names::distinct;
pub(crate) use read::is_group;
use read::{DefinitionReader, EnclosingDefinition};
use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    ops::{ControlFlow, Deref, Range},
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};
use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

/// The lexer gets the text in pieces of this size, so that its reads can be counted.
const PIECE_BYTES: usize = 1024;

/// Why a text could not be parsed.
#[derive(Debug, thiserror::Error)]
pub enum ParseError {
    /// Parsing was cancelled.
    #[error("parsing was stopped")]
    Stopped,
    /// The parser does not accept the grammar.
    #[error("the grammar is incompatible with the parser")]
    Grammar(#[from] tree_sitter::LanguageError),
    /// Parsing exceeds the budget of a file.
    #[error("skipped: parsing it exceeds the budget of {0}")]
    Exceeded(Limit),
}

/// The syntax tree of a text, with what it cost.
#[derive(Debug)]
pub struct SyntaxTree {
    tree: Tree,
    shape: TreeShape,
    cost: ParseCost,
    /// Work of all queries on it.
    queried: AtomicU64,
    /// Work of all passes over it, and over its text.
    passed: AtomicU64,
    /// The limit that a query on it exceeded.
    exceeded: OnceLock<Limit>,
}

impl Deref for SyntaxTree {
    type Target = Tree;

    fn deref(&self) -> &Tree {
        &self.tree
    }
}

impl SyntaxTree {
    /// The cost of parsing and of queries so far.
    pub fn cost(&self) -> ParseCost {
        let query = self.queried.load(Ordering::Relaxed);
        ParseCost { query, work: self.passed.load(Ordering::Relaxed), ..self.cost }
    }

    /// Counts the work of a query.
    pub(crate) fn spend(&self, work: u64) {
        self.queried.fetch_add(work, Ordering::Relaxed);
    }

    /// Counts bytes or items visited by a pass.
    pub(crate) fn count_work(&self, amount: usize) {
        self.passed.fetch_add(amount as u64, Ordering::Relaxed);
    }

    /// Counts the work of a whole analysis, which may have exceeded its budget.
    pub(crate) fn add_work(&self, work: &WorkBudget<'_>) {
        self.passed.fetch_add(work.done(), Ordering::Relaxed);
        if let Some(limit) = work.exceeded() {
            self.exceed(limit);
        }
    }

    /// Whether the tree was read completely. It was not if a query or an analysis exceeded its budget:
    /// then the file counts as skipped.
    pub fn check(&self) -> Result<(), ParseError> {
        self.exceeded.get().map_or(Ok(()), |limit| Err(ParseError::Exceeded(*limit)))
    }

    /// Records that a query or an analysis ended early.
    pub(crate) fn exceed(&self, limit: Limit) {
        self.exceeded.get_or_init(|| limit);
    }

    /// Whether parents and siblings of its nodes are found slowly.
    pub(crate) fn is_unusual(&self) -> bool {
        self.shape.is_unusual
    }

    /// Whether a node has thousands of children side by side.
    pub(crate) fn is_flat(&self) -> bool {
        self.shape.is_flat
    }
}

/// A definition with its annotation and the data that search needs.
#[derive(Debug, Clone)]
pub struct LocatedDefinition {
    /// Its annotation.
    pub annotation: Annotation,
    /// Its range in the text.
    pub range: Range<usize>,
    /// The node with its parameters and body only, without wrappers.
    pub(crate) callable: Range<usize>,
    /// Whether it implements a trait item, which has the documentation.
    pub implements: bool,
    /// Whether it has a body.
    has_body: bool,
    /// The node that contains its statement.
    holder: usize,
    /// The qualified name of its type, if it is defined outside of it.
    owner: Option<String>,
}

/// Parses a text. Polls `cancelled`, and ends if the text exceeds the budget of its length.
///
/// If the language has a preprocessor and the text has syntax errors, the tree is that of the text with macros and
/// partial branches masked, if that parses better. All positions stay the same.
pub fn tree(
    language: Language,
    text: &str,
    cancelled: &dyn Fn() -> bool,
) -> Result<SyntaxTree, ParseError> {
    tree_within(language, text, ParseBudget::new(text.len(), cancelled))
}

/// The syntax tree of a text within a budget: every parse of the crate goes through here.
pub fn tree_within(
    language: Language,
    text: &str,
    budget: ParseBudget<'_>,
) -> Result<SyntaxTree, ParseError> {
    if let Some(limit) = is_too_large(text, &budget) {
        return Err(ParseError::Exceeded(limit));
    }
    if !language.settings().preprocessed {
        return tree_as_written(language, text, budget);
    }
    let work = WorkBudget::new(&budget);
    let plain = preprocessor::with_plain_types(text, &work);
    let text = plain.as_deref().unwrap_or(text);
    let tree = tree_as_written(language, text, budget)?;
    let better = if tree.root_node().has_error() {
        preprocessor::mask(text, &work)
            .map(|masked| tree_as_written(language, &masked, budget))
            .transpose()
    } else {
        Ok(None)
    };
    if work.is_cancelled() {
        return Err(ParseError::Stopped);
    }
    let tree = match better {
        Ok(Some(without)) if count_errors(&without) < count_errors(&tree) => without,
        Ok(_) | Err(ParseError::Exceeded(_)) => tree,
        Err(error) => return Err(error),
    };
    tree.add_work(&work);
    Ok(tree)
}

fn tree_as_written(
    language: Language,
    text: &str,
    budget: ParseBudget<'_>,
) -> Result<SyntaxTree, ParseError> {
    memory::count_allocations();
    // To make a parser costs more than to parse a small file.
    thread_local!(static PARSER: RefCell<Parser> = RefCell::new(Parser::new()));
    let meter = RefCell::new(ParseMeter::new(budget));
    let tree = PARSER.with_borrow_mut(|parser| tree_by(parser, language, text, &meter))?;
    let mut meter = meter.into_inner();
    let ended = |limit: Option<Limit>| limit.map_or(ParseError::Stopped, ParseError::Exceeded);
    let tree = tree.ok_or_else(|| ended(meter.exceeded()))?;
    let shape = meter.shape(&tree).map_err(ended)?;
    let nodes = tree.root_node().descendant_count() as u64;
    let cost = ParseCost { nodes, siblings: shape.siblings, ..meter.cost() };
    Ok(SyntaxTree {
        tree,
        shape,
        cost,
        queried: AtomicU64::new(0),
        passed: AtomicU64::new(0),
        exceeded: OnceLock::new(),
    })
}

fn tree_by(
    parser: &mut Parser,
    language: Language,
    text: &str,
    meter: &RefCell<ParseMeter<'_>>,
) -> Result<Option<Tree>, ParseError> {
    parser.set_language(&language.grammar().tables)?;
    // Otherwise a cancelled parse would be resumed.
    parser.reset();
    let mut ask = |_: &ParseState| {
        if meter.borrow_mut().step() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut ask);
    let deepest = language.settings().deepest;
    let end = deepest.map_or(text.len(), |deepest| depth::readable(text, deepest));
    let bytes = text.as_bytes().get(..end).unwrap_or_default();
    // Grammars of documents read a last line only with its break.
    let open = language.is_outline() && !text.ends_with('\n') && end == text.len();
    let mut piece = |at: usize, _| {
        let piece = bytes.get(at..(at + PIECE_BYTES).min(bytes.len())).unwrap_or_default();
        match piece {
            _ if !meter.borrow_mut().read(piece.len()) => &[],
            [] if open && at == bytes.len() => b"\n".as_slice(),
            piece => piece,
        }
    };
    let tree = parser.parse_with_options(&mut piece, None, Some(options));
    // A parse that was given no more text ends without a tree as well.
    let ended = meter.borrow().exceeded().is_some();
    let tree = tree.filter(|_| !ended);
    if tree.is_none() {
        // It keeps what it has built, which may be large.
        parser.reset();
    }
    Ok(tree)
}

/// The number of errors in a tree.
fn count_errors(tree: &Tree) -> usize {
    let mut cursor = tree.walk();
    let mut lost = 0;
    loop {
        let node = cursor.node();
        lost += usize::from(node.is_error() || node.is_missing());
        if node.has_error() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return lost;
            }
        }
    }
}

/// The language with that name or file name, and the tree of the text.
pub fn tree_of(language: &str, text: &str) -> Option<(Language, SyntaxTree)> {
    let language = Language::from_name(language).or_else(|| Language::from_path(language))?;
    Some((language, tree(language, text, &|| false).ok()?))
}

/// The line of the first syntax error, if there is one. The rest of the file is read all the same.
pub fn first_error(tree: &Tree) -> Option<u32> {
    if !tree.root_node().has_error() {
        return None;
    }
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        if node.is_error() || node.is_missing() {
            return Some(line_of(node));
        }
        // Only what holds an error is worth going into.
        if node.has_error() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return None;
            }
        }
    }
}

/// All definitions of a text, in order.
pub fn definitions(
    language: Language,
    path: &str,
    text: &str,
    tree: &SyntaxTree,
) -> Vec<LocatedDefinition> {
    let all = matches(tree, language.grammar().definitions(), tree.root_node(), text);
    let exported: HashSet<&str> = all
        .iter()
        .filter_map(|found| found.get("exported"))
        .map(|node| text_of(node, text))
        .collect();
    let hidden: Vec<(&str, Range<usize>)> = all
        .iter()
        .flat_map(|found| {
            let range = found.get("around").map(|node| node.byte_range());
            let names = found.captures.iter().filter(|(name, _)| *name == "hidden");
            names.filter_map(move |(_, node)| Some((symbol(text_of(*node, text)), range.clone()?)))
        })
        .collect();
    let ancestry = Ancestry::new(tree);
    let source = AnalyzedSource { path, language, text, tree };
    let reader = DefinitionReader::new(&source, &ancestry, exported, hidden);
    let settings = reader.settings;
    let mut open: Vec<EnclosingDefinition> = Vec::new();
    let mut definitions = Vec::new();
    for one in distinct(language, &all, text, &ancestry) {
        // Several names in one declaration are adjacent.
        open.retain(|level| level.range.end >= one.end && level.node != one.node.id());
        let (definition, level) = reader.read(&one, &open);
        definitions.extend(definition);
        open.push(level);
    }
    if !reader.settings.recover.heads.is_empty() && tree.root_node().has_error() {
        tree.count_work(text.len());
        recover::recover(reader.settings, path, text, &mut definitions);
    }
    own(&mut definitions);
    if reader.settings.clauses {
        definitions = join_clauses(definitions);
    }
    if let Some(most) = reader.settings.most {
        definitions = limit_definitions(definitions, most);
    }
    number(remove_repeats(definitions, settings.repeats))
}

/// `:name` is about `name`.
fn symbol(text: &str) -> &str {
    text.trim_matches([':', '"', '\''])
}

/// Sets the parent of methods defined outside of their type, if the type is in the same file.
fn own(definitions: &mut [LocatedDefinition]) {
    let owners: HashSet<&String> =
        definitions.iter().filter_map(|one| one.owner.as_ref()).collect();
    if owners.is_empty() {
        return;
    }
    let mut ids: HashMap<String, String> = HashMap::new();
    for LocatedDefinition { annotation, .. } in definitions.iter() {
        if owners.contains(&annotation.qualified_name) && !annotation.kind.is_callable() {
            let name = annotation.qualified_name.clone();
            ids.entry(name).or_insert_with(|| annotation.id.clone());
        }
    }
    for one in definitions.iter_mut() {
        if let Some(id) = one.owner.as_ref().and_then(|owner| ids.get(owner)) {
            one.annotation.parent = Some(id.clone());
        }
    }
}

/// Merges adjacent clauses into one definition. A separate type signature gives the parameter and result types; the
/// first clause gives the parameter names.
fn join_clauses(definitions: Vec<LocatedDefinition>) -> Vec<LocatedDefinition> {
    let mut all: Vec<LocatedDefinition> = Vec::with_capacity(definitions.len());
    let mut last: HashMap<usize, usize> = HashMap::new();
    let mut typed: HashSet<(usize, String)> = HashSet::new();
    for one in definitions {
        let before = last.get(&one.holder).and_then(|at| all.get_mut(*at));
        if let Some(before) = before.filter(|before| is_clause(before, &one)) {
            before.take_clause(one);
            continue;
        }
        // A class's default may be separate from its type, which has the documentation.
        let key = (one.holder, one.annotation.id.clone());
        if one.has_body && typed.contains(&key) {
            continue;
        }
        if !one.has_body && one.annotation.parent.is_some() {
            typed.insert(key);
        }
        last.insert(one.holder, all.len());
        all.push(one);
    }
    all
}

fn is_clause(before: &LocatedDefinition, one: &LocatedDefinition) -> bool {
    let count = |one: &LocatedDefinition| one.annotation.parameters.as_ref().map(Vec::len);
    before.annotation.id == one.annotation.id && (!before.has_body || count(before) == count(one))
}

impl LocatedDefinition {
    fn take_clause(&mut self, clause: Self) {
        let Annotation { end_line, parameters, .. } = clause.annotation;
        self.annotation.end_line = end_line;
        self.range.end = clause.range.end;
        if !self.has_body
            && let Some(mine) = &mut self.annotation.parameters
        {
            let theirs = parameters.unwrap_or_default();
            for (mine, named) in mine.iter_mut().zip(&theirs) {
                mine.name.clone_from(&named.name);
            }
            let known = mine.len();
            mine.extend(theirs.into_iter().skip(known));
        }
        self.has_body |= clause.has_body;
    }
}

/// Limits the number of definitions: keeps levels from the outside as long as a whole level fits, or the start of the
/// first level if not even that fits.
fn limit_definitions(
    mut definitions: Vec<LocatedDefinition>,
    most: usize,
) -> Vec<LocatedDefinition> {
    let mut depths: HashMap<String, usize> = HashMap::new();
    let mut levels: Vec<usize> = Vec::with_capacity(definitions.len());
    for LocatedDefinition { annotation, .. } in &definitions {
        let outer = annotation.parent.as_ref().and_then(|parent| depths.get(parent));
        let depth = outer.map_or(0, |outer| outer + 1);
        depths.insert(annotation.id.clone(), depth);
        levels.push(depth);
    }
    let mut counts = vec![0_usize; levels.iter().copied().max().unwrap_or(0) + 1];
    for level in &levels {
        counts[*level] += 1;
    }
    let mut all = 0;
    let fits = |count: &&usize| {
        all += **count;
        all <= most
    };
    let deepest = counts.iter().take_while(fits).count().saturating_sub(1);
    let mut levels = levels.into_iter();
    definitions.retain(|_| levels.next().is_some_and(|level| level <= deepest));
    definitions.truncate(most);
    definitions
}

/// Drops callables without a body if the same one has a body, keeping details found only there.
fn remove_repeats(definitions: Vec<LocatedDefinition>, repeats: Repeats) -> Vec<LocatedDefinition> {
    let key = |one: &LocatedDefinition| {
        let types = |all: &Vec<Parameter>| all.iter().map(|one| one.of.clone()).collect::<Vec<_>>();
        let types =
            one.annotation.parameters.as_ref().filter(|_| repeats == Repeats::Types).map(types);
        (one.annotation.id.clone(), types)
    };
    if repeats == Repeats::Never {
        return definitions;
    }
    let with_body: HashSet<_> = definitions.iter().filter(|one| one.has_body).map(key).collect();
    let mut said = HashMap::new();
    let mut kept = Vec::with_capacity(definitions.len());
    for one in definitions {
        let key = key(&one);
        if one.has_body || !with_body.contains(&key) {
            kept.push(one);
        } else {
            said.entry(key).or_insert(one.annotation);
        }
    }
    for one in kept.iter_mut().filter(|one| one.has_body) {
        let Some(declared) = said.get(&key(one)) else { continue };
        let mine = &mut one.annotation;
        if mine.description.is_none() {
            mine.description.clone_from(&declared.description);
            mine.doc.clone_from(&declared.doc);
        }
        let absent = |word: &&String| !mine.modifiers.contains(word);
        let words: Vec<String> = declared.modifiers.iter().filter(absent).cloned().collect();
        mine.modifiers.splice(0..0, words);
        let theirs = declared.parameters.iter().flatten();
        for (mine, theirs) in mine.parameters.iter_mut().flatten().zip(theirs) {
            mine.default = mine.default.take().or_else(|| theirs.default.clone());
            mine.optional |= theirs.optional;
        }
        if mine.visibility == Visibility::Public {
            mine.visibility = declared.visibility;
            mine.exported &= declared.exported;
        }
    }
    kept
}

/// Numbers definitions with the same name: the second `f` of a file is `f#2`, including its members.
fn number(mut definitions: Vec<LocatedDefinition>) -> Vec<LocatedDefinition> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for one in &mut definitions {
        let numbered = |id: &str, times: usize| {
            if times > 1 { format!("{id}#{times}") } else { id.to_owned() }
        };
        if let Some(parent) = &mut one.annotation.parent {
            // What holds it is the last one of that name that was read.
            *parent = numbered(parent, seen.get(parent).copied().unwrap_or(1));
        }
        let times = seen.entry(one.annotation.id.clone()).or_default();
        *times += 1;
        one.annotation.id = numbered(&one.annotation.id, *times);
    }
    definitions
}

#[cfg(test)]
mod shape_tests;
#[cfg(test)]
mod tests;
