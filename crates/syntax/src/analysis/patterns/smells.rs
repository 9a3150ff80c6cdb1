//! Smells: properties that make functions and types hard to change.

use super::{
    Pattern, PatternConfidence,
    facts::{FileFacts, Function, Type, WordIndex, has_word, is_name},
};
use crate::{
    ancestry::Ancestry,
    annotation::{Kind, Parameter, Visibility},
    language::{Language, line_of, matches, text_of},
};
use std::{cell::LazyCell, collections::HashSet};
use tree_sitter::Node;

/// Maximum lines of a function.
const MAX_FUNCTION_LINES: u32 = 80;
/// Maximum parameters of a function.
const MAX_PARAMETERS: usize = 7;
/// Maximum nesting depth.
const MAX_NESTING: u32 = 5;
/// Maximum returns of a function that is also complex.
const MAX_RETURNS: usize = 7;
/// Cognitive complexity from which a function counts as complex.
const MIN_HARD_COMPLEXITY: u32 = 15;
/// Maximum operators in one condition.
const MAX_CONDITION_OPERATORS: usize = 5;

/// Finds all of them.
pub(super) fn find(facts: &FileFacts<'_>, found: &mut Vec<Pattern>) {
    let words = LazyCell::new(|| facts.words());
    for function in &facts.functions {
        if !facts.spend(1) {
            return;
        }
        found.extend(long_function(function));
        found.extend(long_parameter_list(facts, function));
        found.extend(deep_nesting(function));
        found.extend(many_returns(function));
        found.extend(flag_argument(facts, function));
        found.extend(dead_parameter(facts, function, &words));
    }
    for one in &facts.types {
        let bytes: usize = one.fields.iter().map(|field| field.text.len()).sum();
        if !facts.spend(bytes + one.methods.len()) {
            return;
        }
        found.extend(god_class(one));
        found.extend(data_class(facts, one));
    }
    found.extend(facts.catches.iter().filter_map(|node| empty_catch(facts, *node)));
    long_conditions(facts, found);
}

fn long_function(function: &Function<'_>) -> Option<Pattern> {
    let (length, cognitive) = (function.figures.length, function.figures.cognitive);
    if length <= MAX_FUNCTION_LINES {
        return None;
    }
    let confidence = match (length > 2 * MAX_FUNCTION_LINES, cognitive >= MIN_HARD_COMPLEXITY) {
        (true, true) => PatternConfidence::High,
        (false, true) => PatternConfidence::Medium,
        // Long but even: a table, a list of steps.
        (_, false) => PatternConfidence::Low,
    };
    let about = function.about;
    let message = format!("{} is {length} lines long.", about.qualified_name);
    let lines = vec![about.line, about.end_line];
    Some(
        Pattern::smell("long-function", confidence, lines, message)
            .with_fix("Extract related steps into named functions."),
    )
}

fn parameters<'a>(function: &'a Function<'_>) -> &'a [Parameter] {
    function.about.parameters.as_deref().unwrap_or_default()
}

fn long_parameter_list(facts: &FileFacts<'_>, function: &Function<'_>) -> Option<Pattern> {
    let all = parameters(function);
    let needed = all.iter().filter(|one| !one.optional && !one.name.starts_with('*')).count();
    // What overrides takes what it is given.
    let given = function.has_decorator("Override") || function.has_modifier("override");
    if all.len() < MAX_PARAMETERS || given {
        return None;
    }
    let by_name = facts.source.language == Language::Python && needed < MAX_PARAMETERS;
    let confidence = match (by_name, needed) {
        (true, _) => PatternConfidence::Low,
        (_, 10..) => PatternConfidence::High,
        _ => PatternConfidence::Medium,
    };
    let about = function.about;
    let message = format!("{} takes {} parameters.", about.qualified_name, all.len());
    Some(
        Pattern::smell("long-parameter-list", confidence, vec![about.line], message)
            .with_fix("Group related parameters into a type."),
    )
}

fn deep_nesting(function: &Function<'_>) -> Option<Pattern> {
    let nesting = function.figures.nesting;
    if nesting < MAX_NESTING {
        return None;
    }
    let confidence =
        if nesting > MAX_NESTING { PatternConfidence::High } else { PatternConfidence::Medium };
    let mut lines = vec![function.about.line];
    lines.extend(function.figures.why.first().map(|reason| reason.line));
    let name = &function.about.qualified_name;
    let message = format!("{name} is nested {nesting} levels deep.");
    Some(
        Pattern::smell("deep-nesting", confidence, lines, message)
            .with_fix("Return early, or extract the inner levels into a function."),
    )
}

fn many_returns(function: &Function<'_>) -> Option<Pattern> {
    let returns = &function.returns;
    if returns.len() < MAX_RETURNS || function.figures.cognitive < MIN_HARD_COMPLEXITY {
        return None;
    }
    let name = &function.about.qualified_name;
    let message = format!("{name} returns from {} places.", returns.len());
    let mut lines = vec![function.about.line];
    lines.extend(returns);
    Some(
        Pattern::smell("many-returns", PatternConfidence::Medium, lines, message)
            .with_fix("Split it into functions with a single result each."),
    )
}

fn is_flag(one: &Parameter) -> bool {
    let of = one.of.as_deref().unwrap_or_default();
    let default = one.default.as_deref().unwrap_or_default();
    // A value that is only passed on does not select behavior.
    let value = matches!(one.name.as_str(), "value" | "val" | "v" | "b" | "x");
    let typed = matches!(of, "bool" | "boolean" | "Boolean" | "Bool");
    (typed || matches!(default, "True" | "False" | "true" | "false")) && !value
}

/// A flag that selects most of a function's behavior: two functions in one.
fn flag_argument(facts: &FileFacts<'_>, function: &Function<'_>) -> Option<Pattern> {
    let flags: HashSet<&str> = parameters(function)
        .iter()
        .filter(|one| is_flag(one))
        .map(|one| one.name.as_str())
        .collect();
    let body = function.body.filter(|_| !flags.is_empty())?;
    let text = facts.source.text;
    let lines = |node: Node<'_>| node.end_position().row - node.start_position().row + 1;
    let last = body.named_child(u32::try_from(body.named_child_count()).ok()?.checked_sub(1)?)?;
    let first = body.named_child(0)?;
    let whole = last.end_position().row - first.start_position().row + 1;
    let mut cursor = body.walk();
    for node in body.named_children(&mut cursor) {
        if !facts.spend(1) {
            return None;
        }
        // Rust has expressions as statements.
        let node = if node.kind() == "expression_statement" { node.named_child(0)? } else { node };
        let parts =
            (node.child_by_field_name("condition"), node.child_by_field_name("alternative"));
        let (Some(condition), Some(other)) = parts else { continue };
        let chain = other.kind() == "elif_clause"
            || other.kind() == node.kind()
            || other.named_child(0).is_some_and(|one| one.kind() == node.kind());
        if chain {
            continue;
        }
        let asked = text_of(condition, text).trim_matches(['(', ')', ' ']);
        let asked = asked.trim_start_matches('!').trim_start_matches("not ");
        let Some(flag) = flags.get(asked) else { continue };
        if lines(node) < 6 || lines(node) * 10 < whole * 8 {
            continue;
        }
        let name = &function.about.qualified_name;
        let message = format!("{flag} makes {name} do one of two things.");
        let lines = vec![function.about.line, line_of(node)];
        return Some(
            Pattern::smell("flag-argument", PatternConfidence::Medium, lines, message)
                .with_fix("Split it into two functions with descriptive names."),
        );
    }
    None
}

/// An unused parameter, if no interface dictates the signature.
fn dead_parameter<'a>(
    facts: &FileFacts<'_>,
    function: &Function<'_>,
    words: &LazyCell<WordIndex<'a>, impl FnOnce() -> WordIndex<'a>>,
) -> Option<Pattern> {
    let about = function.about;
    let body = function.body?;
    let own = match about.kind {
        Kind::Function => !about.exported && about.parent.is_none(),
        // Elsewhere, what is private by name or file may still be asked for by a type.
        _ => about.visibility == Visibility::Private && has_private_methods(facts.source.language),
    };
    let plain = own && about.decorators.is_empty() && !function.is_abstract();
    if !plain {
        return None;
    }
    let mut cursor = body.walk();
    let statements = body.named_children(&mut cursor).filter(|one| !one.is_extra());
    if statements.take(2).count() < 2 {
        return None;
    }
    // Parameters before a used one keep its position.
    let last = parameters(function).last()?;
    let name = last.name.trim_start_matches("mut ");
    let range = body.byte_range();
    let used = [name, "locals", "arguments"].iter().any(|word| words.has(&range, word));
    let of_none = last.of.as_deref().is_some_and(|of| of.contains("PhantomData"));
    if used || of_none || !is_name(name) || name.starts_with('_') {
        return None;
    }
    if !words.is_only_called(&about.name) || !facts.goes_on() {
        return None;
    }
    let message = format!("The parameter {name} of {} is unused.", about.qualified_name);
    Some(
        Pattern::smell("dead-parameter", PatternConfidence::Medium, vec![about.line], message)
            .with_fix("Remove it."),
    )
}

fn has_private_methods(language: Language) -> bool {
    matches!(language, Language::Java | Language::TypeScript | Language::Tsx | Language::JavaScript)
}

fn god_class(one: &Type<'_>) -> Option<Pattern> {
    let length = one.about.end_line.saturating_sub(one.about.line) + 1;
    let is_constant = |text: &str| has_word(text, "static") && has_word(text, "final");
    let fields = one.fields.iter().filter(|field| !is_constant(field.text)).count();
    let methods = one.methods.len();
    if one.about.name.ends_with("Test") || one.about.name.ends_with("Tests") {
        return None;
    }
    if methods < 25 || fields < 10 || length < 500 {
        return None;
    }
    let confidence = if methods >= 50 && length >= 1000 {
        PatternConfidence::High
    } else {
        PatternConfidence::Medium
    };
    let name = &one.about.qualified_name;
    let message = format!("{name} has {methods} methods and {fields} fields on {length} lines.");
    let lines = vec![one.about.line, one.about.end_line];
    Some(
        Pattern::smell("god-class", confidence, lines, message)
            .with_fix("Extract groups of fields and their methods into separate types."),
    )
}

/// A class with only fields and accessors.
fn data_class(facts: &FileFacts<'_>, one: &Type<'_>) -> Option<Pattern> {
    let plain =
        one.about.kind == Kind::Class && one.about.decorators.is_empty() && one.bases.is_empty();
    let record = one.about.signature.contains("record ");
    if !plain || record || one.fields.len() < 3 || one.methods.len() < 4 {
        return None;
    }
    let is_access = |function: &Function<'_>| {
        let name = function.about.name.as_str();
        let word = ["get", "set", "is"].iter().find_map(|word| name.strip_prefix(word));
        let named =
            word.is_some_and(|rest| rest.starts_with(|c: char| c.is_uppercase() || c == '_'));
        let property = function.has_decorator("property")
            || function.has_modifier("get")
            || function.has_modifier("set");
        (named || property) && function.figures.cyclomatic == 1 && function.figures.length <= 4
    };
    let is_standard = |function: &Function<'_>| {
        let name = function.about.name.as_str();
        function.is_constructor(one) && function.figures.cyclomatic == 1
            || matches!(
                name,
                "toString" | "equals" | "hashCode" | "__repr__" | "__str__" | "__eq__" | "__hash__"
            )
    };
    let all: Vec<&Function<'_>> = facts.methods(one).collect();
    let ways = all.iter().filter(|function| is_access(function)).count();
    if ways < 4 || !all.iter().all(|function| is_access(function) || is_standard(function)) {
        return None;
    }
    let name = &one.about.qualified_name;
    let fields = one.fields.len();
    let message = format!("{name} has {fields} fields and only accessors.");
    let fix = "Move the logic that uses its fields into it, or make it a record.";
    Some(
        Pattern::smell("data-class", PatternConfidence::Medium, vec![one.about.line], message)
            .with_fix(fix),
    )
}

/// An empty handler without an explanation.
fn empty_catch(facts: &FileFacts<'_>, node: Node<'_>) -> Option<Pattern> {
    let text = facts.source.text;
    let body = node.child_by_field_name("body").or_else(|| {
        node.named_children(&mut node.walk()).filter(|one| one.kind().contains("block")).last()
    })?;
    let is_nothing =
        |one: &Node<'_>| one.kind() == "pass_statement" || text_of(*one, text) == "...";
    let empty = body.named_children(&mut body.walk()).all(|one| is_nothing(&one));
    // A comment may be between the head and the block.
    let said = text_of(node, text);
    let explained = said.contains("//") || said.contains("/*") || said.contains('#');
    let head = text.get(node.start_byte()..body.start_byte()).unwrap_or_default();
    let on_purpose =
        ["ignore", "expected", "unused", "_)", "(_"].iter().any(|word| head.contains(word));
    let broad = ["Exception", "BaseException", "Throwable"].iter().any(|name| has_word(head, name));
    let python = node.kind() == "except_clause";
    let bare = python && head.trim() == "except:";
    if !empty || explained || on_purpose || (python && !broad && !bare) {
        return None;
    }
    let confidence = match (broad || bare, head.contains('(') || python) {
        (true, _) => PatternConfidence::High,
        (false, true) => PatternConfidence::Medium,
        (false, false) => PatternConfidence::Low,
    };
    let message = "An error is caught and ignored without an explanation.".to_owned();
    Some(
        Pattern::smell("empty-catch", confidence, vec![line_of(node)], message)
            .with_fix("Handle it, log it, or explain in a comment why it can be ignored."),
    )
}

/// Conditions that mix many operators.
fn long_conditions(facts: &FileFacts<'_>, found: &mut Vec<Pattern>) {
    let source = facts.source;
    let root = source.tree.root_node();
    let marks = matches(source.tree, source.language.grammar().branches(), root, source.text);
    let kin = Ancestry::new(source.tree);
    let mut logic: Vec<Node<'_>> = marks.iter().filter_map(|mark| mark.get("logic")).collect();
    logic.sort_by_key(|node| (node.start_byte(), std::cmp::Reverse(node.end_byte())));
    logic.dedup_by_key(|node| node.id());
    let mut at = 0;
    while let Some(outer) = logic.get(at) {
        let inside = logic.iter().skip(at).take_while(|node| node.start_byte() < outer.end_byte());
        let count = inside.clone().count();
        if !facts.spend(count) {
            return;
        }
        let operator = |node: &Node<'_>| {
            node.child_by_field_name("operator").map(|node| text_of(node, source.text))
        };
        let first = operator(outer);
        let mixed = inside.clone().any(|node| operator(node) != first);
        let least = if mixed { MAX_CONDITION_OPERATORS } else { 2 * MAX_CONDITION_OPERATORS };
        let rows = outer.end_position().row - outer.start_position().row;
        // A function that is handed over in between is not part of the condition.
        let dense = rows <= 2 * count;
        if count >= least && dense && is_condition(&kin, *outer) {
            let message = format!("One condition with {} operands.", count + 1);
            found.push(
                Pattern::smell(
                    "long-condition",
                    PatternConfidence::Medium,
                    vec![line_of(*outer)],
                    message,
                )
                .with_fix("Name its parts, or extract a function with a descriptive name."),
            );
        }
        at += count;
    }
}

/// Whether an expression decides which way to go.
fn is_condition<'tree>(kin: &Ancestry<'tree>, node: Node<'tree>) -> bool {
    let mut inner = node;
    for _ in 0..4 {
        let Some(parent) = kin.parent(inner) else { return false };
        if parent.child_by_field_name("condition") == Some(inner) {
            return !parent.kind().starts_with("ternary");
        }
        if !parent.kind().starts_with("parenthesized") && parent.kind() != "not_operator" {
            return false;
        }
        inner = parent;
    }
    false
}
