//! The facts that patterns are recognized by: functions with bodies, types with members, tokens, comments.

use crate::{
    analysis::{
        AnalyzedSource,
        complexity::{self, FunctionFigures},
    },
    annotation::{Annotation, Kind},
    budget::WorkBudget,
    language::{line_of, text_of},
    parse::LocatedDefinition,
};
use std::{
    collections::{BTreeSet, HashMap, HashSet, hash_map::DefaultHasher},
    hash::{Hash as _, Hasher as _},
    ops::Range,
};
use tree_sitter::Node;

/// A function with its contents.
pub(super) struct Function<'a> {
    pub(super) about: &'a Annotation,
    pub(super) figures: FunctionFigures,
    pub(super) node: Node<'a>,
    pub(super) body: Option<Node<'a>>,
    /// Of the body.
    pub(super) text: &'a str,
    /// Whether it only reports that it is not implemented.
    raises_not_implemented: bool,
    /// The line that the body begins on.
    pub(super) row: u32,
    /// Its own returns, without those of nested functions.
    pub(super) returns: Vec<u32>,
}

impl Function<'_> {
    pub(super) fn has_modifier(&self, word: &str) -> bool {
        self.about.modifiers.iter().any(|one| one == word)
    }

    pub(super) fn has_decorator(&self, name: &str) -> bool {
        self.about.decorators.iter().any(|one| has_word(one, name))
    }

    /// Whether it is left to others to say what it does.
    pub(super) fn is_abstract(&self) -> bool {
        self.has_modifier("abstract")
            || self.has_decorator("abstractmethod")
            || self.raises_not_implemented
    }

    /// Whether it makes the object ready.
    pub(super) fn is_constructor(&self, of: &Type<'_>) -> bool {
        let name = self.about.name.as_str();
        matches!(name, "constructor" | "__init__" | "__construct" | "init" | "initialize")
            || name == of.about.name
    }
}

/// A named value of a type.
pub(super) struct FieldFacts<'a> {
    pub(super) name: &'a str,
    pub(super) line: u32,
    /// Where it is declared, as written.
    pub(super) text: &'a str,
}

/// A type with its members.
pub(super) struct Type<'a> {
    pub(super) about: &'a Annotation,
    /// Places in the list of functions.
    pub(super) methods: Vec<usize>,
    pub(super) fields: Vec<FieldFacts<'a>>,
    /// Names of what it is made from, or does.
    pub(super) bases: Vec<String>,
}

/// A token outside of comments.
pub(super) struct CodeToken {
    pub(super) line: u32,
    pub(super) hash: u64,
    /// The innermost enclosing function.
    pub(super) function: Option<usize>,
}

/// The facts of a file.
pub(super) struct FileFacts<'a> {
    pub(super) source: &'a AnalyzedSource<'a>,
    pub(super) functions: Vec<Function<'a>>,
    pub(super) types: Vec<Type<'a>>,
    pub(super) tokens: Vec<CodeToken>,
    pub(super) comments: Vec<Node<'a>>,
    pub(super) catches: Vec<Node<'a>>,
    /// Places in the list of types, by the name of what they are made from.
    made: HashMap<String, Vec<usize>>,
    work: &'a WorkBudget<'a>,
}

/// The positions of each word in a text, including comments and strings.
#[derive(Default)]
pub(super) struct WordIndex<'a> {
    places: HashMap<&'a str, WordOccurrences>,
}

/// The positions of one word.
#[derive(Default)]
struct WordOccurrences {
    /// Where it starts, in order.
    all: Vec<usize>,
    /// How many of them are called.
    calls: usize,
}

impl<'a> WordIndex<'a> {
    fn of(text: &'a str, work: &WorkBudget<'_>) -> Self {
        let mut words = Self::default();
        let mut rest = 0;
        while let Some(start) = text.get(rest..).and_then(|rest| rest.find(in_word)) {
            let start = rest + start;
            let after = text.get(start..).unwrap_or_default();
            let end = start + after.find(|c| !in_word(c)).unwrap_or(after.len());
            // `#private` and `$name` are words of their own as well.
            let sign = text.get(..start).filter(|before| before.ends_with(['#', '$']));
            let is_called = is_call(text.get(end..).unwrap_or_default());
            for start in [Some(start), sign.map(|_| start - 1)].into_iter().flatten() {
                let places = words.places.entry(text.get(start..end).unwrap_or_default());
                let places = places.or_default();
                places.all.push(start);
                places.calls += usize::from(is_called);
            }
            if !work.spend(end - rest) {
                break;
            }
            rest = end;
        }
        words
    }

    /// Whether a word occurs in a range.
    pub(super) fn has(&self, range: &Range<usize>, word: &str) -> bool {
        let Some(places) = self.places.get(word) else { return false };
        let before = places.all.partition_point(|at| *at < range.start);
        places.all.get(before).is_some_and(|at| *at < range.end)
    }

    /// Whether a word is called in the text, and never used as a value.
    pub(super) fn is_only_called(&self, word: &str) -> bool {
        // One of them is the definition.
        self.places
            .get(word)
            .is_some_and(|places| places.calls > 1 && places.calls == places.all.len())
    }
}

/// Whether a text that follows a name calls it.
fn is_call(after: &str) -> bool {
    let after = after.trim_start();
    after.starts_with(['(', '<']) || after.starts_with("::<")
}

/// Maximum bytes of a body searched for patterns: bodies are nested.
const MAX_BODY_BYTES: usize = 50_000;
/// Maximum bytes of a field's declaration.
const MAX_FIELD_BYTES: usize = 2_000;

/// Functions without a name of their own.
const ANONYMOUS: [&str; 9] = [
    "lambda",
    "arrow_function",
    "function_expression",
    "generator_function",
    "closure_expression",
    "func_literal",
    "lambda_expression",
    "anonymous_function",
    "lambda_literal",
];

/// Declarations of fields.
const FIELDS: [&str; 4] =
    ["field_declaration", "public_field_definition", "field_definition", "property_declaration"];

const RETURNS: [&str; 2] = ["return_statement", "return_expression"];

const CATCHES: [&str; 3] = ["catch_clause", "except_clause", "catch_block"];

/// The owner of a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ByteOwner {
    Function(usize),
    Type(usize),
    Anonymous,
}

/// The nodes collected in the tree walk.
#[derive(Default)]
struct CollectedNodes<'a> {
    leaves: Vec<Node<'a>>,
    comments: Vec<Node<'a>>,
    catches: Vec<Node<'a>>,
    returns: Vec<Node<'a>>,
    fields: Vec<Node<'a>>,
    assignments: Vec<Node<'a>>,
    anonymous: Vec<Range<usize>>,
    impls: Vec<Node<'a>>,
    /// Ranges of callables, and the innermost node of each.
    wanted: HashSet<(usize, usize)>,
    callables: HashMap<(usize, usize), Node<'a>>,
}

impl<'a> FileFacts<'a> {
    pub(super) fn gather(
        source: &'a AnalyzedSource<'a>,
        definitions: &'a [LocatedDefinition],
        work: &'a WorkBudget<'a>,
    ) -> Self {
        let wanted = definitions.iter().map(|one| (one.callable.start, one.callable.end)).collect();
        let picked = CollectedNodes::walk(source, wanted, work);
        let mut functions: Vec<Function<'a>> = complexity::measure_functions(source, definitions)
            .into_iter()
            .map(|(at, figures)| function(source, &picked, &definitions[at], figures))
            .collect();
        mark_abstract(source.text, &mut functions);
        let mut types = types(source, definitions, &functions, &picked);
        let owners = ByteOwners::new(definitions, &functions, &types, &picked.anonymous);
        for (node, owner) in owners.of(&picked.returns) {
            if let Some(ByteOwner::Function(at)) = owner {
                functions[at].returns.push(line_of(node));
            }
        }
        for (node, owner) in owners.of(&picked.fields) {
            if let (Some(ByteOwner::Type(at)), Some(name)) = (owner, field_name(node)) {
                add_field(&mut types[at], text_of(name, source.text), node, source.text);
            }
        }
        let method_types: HashMap<usize, usize> = types
            .iter()
            .enumerate()
            .flat_map(|(at, one)| one.methods.iter().map(move |method| (*method, at)))
            .collect();
        for (node, owner) in owners.of(&picked.assignments) {
            let Some(left) = node.child_by_field_name("left") else { continue };
            let text = text_of(left, source.text);
            let own = text.strip_prefix("self.").or_else(|| text.strip_prefix("this."));
            match owner {
                Some(ByteOwner::Function(at)) => {
                    let of = method_types.get(&at).copied();
                    if let (Some(of), Some(name)) = (of, own.filter(|name| is_name(name))) {
                        add_field(&mut types[of], name, node, source.text);
                    }
                }
                Some(ByteOwner::Type(at)) if is_name(text) => {
                    add_field(&mut types[at], text, node, source.text);
                }
                _ => {}
            }
        }
        let token = |(node, owner): (Node<'_>, Option<ByteOwner>)| {
            let mut hasher = DefaultHasher::new();
            text_of(node, source.text).hash(&mut hasher);
            let in_body = |at: &usize| {
                functions[*at].body.is_some_and(|body| body.start_byte() <= node.start_byte())
            };
            let function = match owner {
                Some(ByteOwner::Function(at)) => Some(at).filter(in_body),
                _ => None,
            };
            CodeToken { line: line_of(node), hash: hasher.finish(), function }
        };
        let named = ByteOwners::new(definitions, &functions, &types, &[]);
        let tokens = named.of(&picked.leaves).into_iter().map(token).collect();
        let CollectedNodes { comments, catches, .. } = picked;
        let mut made: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, one) in types.iter().enumerate() {
            let bases: BTreeSet<&String> = one.bases.iter().collect();
            for base in bases {
                made.entry(base.clone()).or_default().push(at);
            }
        }
        Self { source, functions, types, tokens, comments, catches, made, work }
    }

    /// Counts visited bytes or items. `false` ends the search.
    pub(super) fn spend(&self, amount: usize) -> bool {
        self.work.spend(amount)
    }

    /// Whether the search is neither cancelled nor over budget.
    pub(super) fn goes_on(&self) -> bool {
        self.work.goes_on()
    }

    /// The positions of each word of the text.
    pub(super) fn words(&self) -> WordIndex<'a> {
        WordIndex::of(self.source.text, self.work)
    }

    /// The methods of a type.
    pub(super) fn methods<'s>(
        &'s self,
        of: &'s Type<'a>,
    ) -> impl Iterator<Item = &'s Function<'a>> {
        of.methods.iter().map(|at| &self.functions[*at])
    }

    /// Types that extend or implement the named one.
    pub(super) fn made_from<'s>(
        &'s self,
        name: &str,
    ) -> impl Iterator<Item = &'s Type<'a>> + use<'s, 'a> {
        self.made.get(name).into_iter().flatten().map(|at| &self.types[*at])
    }
}

fn add_field<'a>(of: &mut Type<'a>, name: &'a str, node: Node<'a>, text: &'a str) {
    // Classes with very many fields are recognized by fewer.
    if of.fields.len() < 200 && !of.fields.iter().any(|field| field.name == name) {
        let text = text_of(node, text);
        let text = text.get(..text.floor_char_boundary(MAX_FIELD_BYTES)).unwrap_or(text);
        of.fields.push(FieldFacts { name, line: line_of(node), text });
    }
}

impl<'a> CollectedNodes<'a> {
    fn walk(
        source: &AnalyzedSource<'a>,
        wanted: HashSet<(usize, usize)>,
        work: &WorkBudget<'_>,
    ) -> Self {
        let mut picked = Self { wanted, ..Self::default() };
        let mut cursor = source.tree.walk();
        loop {
            let node = cursor.node();
            if !work.spend(1) {
                return picked;
            }
            let into = picked.pick(node);
            if into && cursor.goto_first_child() {
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return picked;
                }
            }
        }
    }

    /// Whether to go into the node.
    fn pick(&mut self, node: Node<'a>) -> bool {
        let kind = node.kind();
        let range = (node.start_byte(), node.end_byte());
        if self.wanted.contains(&range) {
            self.callables.insert(range, node);
        }
        if node.is_named() {
            if kind.contains("comment") {
                self.comments.push(node);
                return false;
            }
            match kind {
                _ if CATCHES.contains(&kind) => self.catches.push(node),
                _ if RETURNS.contains(&kind) => self.returns.push(node),
                _ if FIELDS.contains(&kind) => self.fields.push(node),
                "assignment" | "assignment_expression" => self.assignments.push(node),
                "impl_item" => self.impls.push(node),
                _ if ANONYMOUS.contains(&kind) => self.anonymous.push(node.byte_range()),
                _ => {}
            }
        }
        if node.child_count() == 0 {
            self.leaves.push(node);
        }
        true
    }
}

fn function<'a>(
    source: &AnalyzedSource<'a>,
    picked: &CollectedNodes<'a>,
    definition: &'a LocatedDefinition,
    figures: FunctionFigures,
) -> Function<'a> {
    let range = definition.callable.clone();
    let known = picked.callables.get(&(range.start, range.end)).copied();
    // What was recovered from text that can't be read has no node.
    let node = known.unwrap_or_else(|| source.tree.root_node());
    let settings = source.language.settings();
    let body = settings.fields.body.iter().find_map(|name| node.child_by_field_name(name));
    let text = body.map_or("", |body| text_of(body, source.text));
    let text = text.get(..text.floor_char_boundary(MAX_BODY_BYTES)).unwrap_or(text);
    let row = line_of(body.unwrap_or(node));
    Function {
        about: &definition.annotation,
        figures,
        node,
        body,
        text,
        raises_not_implemented: false,
        row,
        returns: Vec::new(),
    }
}

/// Notes which functions without branches say that they are not implemented. Bodies lie in each other, so that the text
/// is searched once.
fn mark_abstract(text: &str, functions: &mut [Function<'_>]) {
    let said: Vec<usize> = text.match_indices("NotImplementedError").map(|(at, _)| at).collect();
    for function in functions.iter_mut().filter(|one| one.figures.cyclomatic == 1) {
        let start = function.body.map_or(0, |body| body.start_byte());
        let end = start + function.text.len();
        let next = said.get(said.partition_point(|at| *at < start));
        function.raises_not_implemented = next.is_some_and(|at| *at < end);
    }
}

fn types<'a>(
    source: &AnalyzedSource<'a>,
    definitions: &'a [LocatedDefinition],
    functions: &[Function<'a>],
    picked: &CollectedNodes<'a>,
) -> Vec<Type<'a>> {
    let is_type = |one: &&LocatedDefinition| one.annotation.kind.has_methods();
    let mut types: Vec<Type<'a>> = definitions
        .iter()
        .filter(is_type)
        .map(|one| {
            let bases = bases(&one.annotation);
            Type { about: &one.annotation, methods: Vec::new(), fields: Vec::new(), bases }
        })
        .collect();
    let names: HashMap<&str, usize> =
        types.iter().enumerate().map(|(at, one)| (one.about.qualified_name.as_str(), at)).collect();
    for (at, function) in functions.iter().enumerate() {
        let about = function.about;
        let tail = format!("{}{}", source.language.separator(), about.name);
        let outer = about.qualified_name.strip_suffix(&tail);
        if let Some(of) = outer.and_then(|outer| names.get(outer)) {
            types[*of].methods.push(at);
        }
    }
    // Rust says apart from a type what it does.
    for node in &picked.impls {
        let part = |name| node.child_by_field_name(name).map(|node| text_of(node, source.text));
        if let (Some(what), Some(of)) = (part("trait"), part("type"))
            && let Some(at) = names.get(short_name(of).as_str())
        {
            types[*at].bases.push(short_name(what));
        }
    }
    types
}

/// What a type's head says it is made from.
fn bases(about: &Annotation) -> Vec<String> {
    if matches!(about.kind, Kind::Struct | Kind::Trait) {
        return Vec::new();
    }
    let head = about.signature.as_str();
    let after_name = head.split_once(about.name.as_str()).map_or("", |(_, after)| after);
    let after_name = match after_name.strip_prefix('<').map(|_| after_name) {
        Some(generic) => generic.split_once("> ").map_or("", |(_, after)| after),
        None => after_name,
    };
    let list = after_name.trim();
    let list = list.strip_prefix('(').and_then(|list| list.strip_suffix(')')).unwrap_or(list);
    let list = list.replace(" extends ", ",").replace(" implements ", ",");
    let list = list.trim_start_matches("extends ").trim_start_matches("implements ");
    let mut depth = 0_i32;
    let parts = list.split(|c: char| {
        depth += i32::from(matches!(c, '<' | '[' | '(')) - i32::from(matches!(c, '>' | ']' | ')'));
        c == ',' && depth == 0
    });
    let parts = parts.filter(|part| !part.contains('='));
    parts.map(short_name).filter(|name| is_name(name)).collect()
}

/// `a.b.Name<T>` is called `Name`.
pub(super) fn short_name(of: &str) -> String {
    let name = of.split(['<', '[', '(']).next().unwrap_or(of).trim();
    name.rsplit(['.', ':', '\\', ' ', '&', '*']).next().unwrap_or(name).to_owned()
}

fn field_name(node: Node<'_>) -> Option<Node<'_>> {
    let name = node.child_by_field_name("name").or_else(|| node.child_by_field_name("property"));
    name.or_else(|| node.child_by_field_name("declarator")?.child_by_field_name("name"))
}

/// Whether a text is one name.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '#')
}

/// Whether a text has a word in it, whole.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    !word.is_empty()
        && text.match_indices(word).any(|(at, _)| {
            let before = text.get(..at).and_then(|before| before.chars().next_back());
            let after = text.get(at + word.len()..).and_then(|after| after.chars().next());
            !before.is_some_and(in_word) && !after.is_some_and(in_word)
        })
}

fn in_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Finds the owner of a node: the innermost enclosing function or type.
struct ByteOwners {
    /// In the order of the text, outer ones first.
    ranges: Vec<(Range<usize>, ByteOwner)>,
}

impl ByteOwners {
    fn new(
        definitions: &[LocatedDefinition],
        functions: &[Function<'_>],
        types: &[Type<'_>],
        anonymous: &[Range<usize>],
    ) -> Self {
        let by_id: HashMap<&str, &LocatedDefinition> =
            definitions.iter().map(|one| (one.annotation.id.as_str(), one)).collect();
        let mut ranges: Vec<(Range<usize>, ByteOwner)> =
            anonymous.iter().map(|range| (range.clone(), ByteOwner::Anonymous)).collect();
        let whole = types.iter().enumerate();
        ranges.extend(whole.filter_map(|(at, one)| {
            Some((by_id.get(one.about.id.as_str())?.range.clone(), ByteOwner::Type(at)))
        }));
        let own = functions.iter().enumerate();
        ranges.extend(own.map(|(at, one)| (one.node.byte_range(), ByteOwner::Function(at))));
        // Of one range, the function with a name comes last and wins.
        let rank = |owner: ByteOwner| usize::from(matches!(owner, ByteOwner::Function(_)));
        ranges.sort_by_key(|(range, owner)| {
            (range.start, std::cmp::Reverse(range.end), rank(*owner))
        });
        Self { ranges }
    }

    /// Nodes are given, and come back, in the order of the text.
    fn of<'a>(&self, nodes: &[Node<'a>]) -> Vec<(Node<'a>, Option<ByteOwner>)> {
        let mut open: Vec<&(Range<usize>, ByteOwner)> = Vec::new();
        let mut next = self.ranges.iter().peekable();
        let mut all = Vec::with_capacity(nodes.len());
        for node in nodes {
            let at = node.start_byte();
            while let Some(range) = next.next_if(|(range, _)| range.start <= at) {
                while open.pop_if(|(outer, _)| outer.end <= range.0.start).is_some() {}
                open.push(range);
            }
            while open.pop_if(|(range, _)| range.end <= at).is_some() {}
            all.push((*node, open.last().map(|(_, owner)| *owner)));
        }
        all
    }
}
