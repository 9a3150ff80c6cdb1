//! From source text to annotations. Pure: no files, no index.

use super::{
    annotation::{Annotation, Kind, Parameter},
    comment::{describe, statement},
    language::{Language, Match, line_of, matches, text_of},
};
use std::{
    collections::{HashMap, HashSet},
    ops::{ControlFlow, Range},
};
use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

/// A signature longer than this is cut.
const LONGEST_SIGNATURE: usize = 300;
/// A snippet has at most this many lines.
const SNIPPET_LINES: usize = 8;
/// And at most this many bytes, for files that are one line.
const SNIPPET_BYTES: usize = 800;

/// Why a text gave no tree.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ParseError {
    /// It was told to stop.
    #[error("parsing was stopped")]
    Stopped,
    /// The parser does not take the grammar.
    #[error("the grammar does not fit the parser")]
    Grammar(#[from] tree_sitter::LanguageError),
}

/// A definition with what search needs beside its annotation.
#[derive(Debug, Clone)]
pub(crate) struct Definition {
    /// What is said of it.
    pub(crate) annotation: Annotation,
    /// Its first lines.
    pub(crate) snippet: String,
    /// Where it stands in the text.
    pub(crate) range: Range<usize>,
    /// Whether it does what a trait asks for, and the trait says what that is.
    pub(crate) implements: bool,
    /// Whether more than its head is there.
    has_body: bool,
}

/// The syntax tree of a text. Asks `stopped` while it works.
pub(crate) fn tree(
    language: Language,
    text: &str,
    stopped: &dyn Fn() -> bool,
) -> Result<Tree, ParseError> {
    let mut parser = Parser::new();
    parser.set_language(&language.grammar().tables)?;
    let mut ask =
        |_: &ParseState| if stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    let options = ParseOptions::new().progress_callback(&mut ask);
    let bytes = text.as_bytes();
    let mut chunk = |at: usize, _| bytes.get(at..).unwrap_or_default();
    parser.parse_with_options(&mut chunk, None, Some(options)).ok_or(ParseError::Stopped)
}

/// The line of the first syntax error, if there is one. The rest of the file is read all the same.
pub(crate) fn first_error(tree: &Tree) -> Option<u32> {
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

struct Found<'tree> {
    /// `None` for what only lends its name.
    kind: Option<Kind>,
    name: String,
    node: Node<'tree>,
    callable: Option<Node<'tree>>,
    /// The type that it belongs to, where it stands outside of it.
    within: Option<String>,
    pattern: usize,
}

/// Everything defined in a text, in its order.
pub(crate) fn definitions(
    language: Language,
    path: &str,
    text: &str,
    tree: &Tree,
) -> Vec<Definition> {
    let all = matches(&language.grammar().definitions, tree.root_node(), text);
    let exported: HashSet<&str> = all
        .iter()
        .filter_map(|found| found.get("exported"))
        .map(|node| text_of(node, text))
        .collect();
    let found = distinct(language, &all, text);
    let reader = Reader { language, path, text, exported };
    let mut open: Vec<Level> = Vec::new();
    let mut definitions = Vec::new();
    for one in found {
        open.retain(|level| level.range.end >= one.node.end_byte());
        let (definition, level) = reader.read(&one, &open);
        definitions.extend(definition);
        open.push(level);
    }
    // In Java, one without a body is a method of its own that happens to share a name.
    number(if language == Language::Java { definitions } else { without_overloads(definitions) })
}

/// One entry a node, outer ones first.
fn distinct<'tree>(language: Language, all: &[Match<'tree>], text: &str) -> Vec<Found<'tree>> {
    let mut by_node: HashMap<usize, Found<'tree>> = HashMap::new();
    for one in all {
        let head = one.captures.iter().find_map(|(name, node)| match Kind::captured(name) {
            Some(kind) => Some((Some(kind), *node)),
            None => (*name == "scope").then_some((None, *node)),
        });
        let (Some((kind, node)), Some(name)) = (head, one.get("name")) else { continue };
        let found = Found {
            kind,
            name: plain_name(language, name, text),
            node,
            callable: one.get("callable"),
            within: one.get("within").map(|node| receiver_name(text_of(node, text)).to_owned()),
            pattern: one.pattern,
        };
        let known = by_node.get(&node.id());
        if known.is_none_or(|known| known.pattern > found.pattern) {
            by_node.insert(node.id(), found);
        }
    }
    let mut found: Vec<Found<'tree>> = by_node.into_values().collect();
    found.sort_by_key(|one| (one.node.start_byte(), std::cmp::Reverse(one.node.end_byte())));
    found
}

fn plain_name(language: Language, node: Node<'_>, text: &str) -> String {
    let name = text_of(node, text);
    match language {
        // `impl<T> Table<T>` is about `Table`.
        Language::Rust => name.split('<').next().unwrap_or(name).trim().to_owned(),
        _ => name.trim_matches(['"', '\'', '`']).to_owned(),
    }
}

/// `*Table[K, V]` is about `Table`.
fn receiver_name(of: &str) -> &str {
    let name = of.trim_matches(['*', '(', ')', ' ']);
    name.split('[').next().unwrap_or(name).trim()
}

/// A definition that others may lie in.
struct Level {
    range: Range<usize>,
    qualified: String,
    kind: Option<Kind>,
    exported: bool,
}

struct Reader<'a> {
    language: Language,
    path: &'a str,
    text: &'a str,
    exported: HashSet<&'a str>,
}

impl Reader<'_> {
    fn read(&self, found: &Found<'_>, open: &[Level]) -> (Option<Definition>, Level) {
        let around = open.last();
        let outer = around.map(|level| &level.qualified).or(found.within.as_ref());
        let qualified = match outer {
            Some(outer) => format!("{outer}{}{}", self.language.separator(), found.name),
            None => found.name.clone(),
        };
        // What `impl` holds are methods as well.
        let in_type = around.is_some_and(|level| level.kind.is_none_or(Kind::has_methods));
        let kind = found
            .kind
            .map(|kind| if kind == Kind::Function && in_type { Kind::Method } else { kind });
        let exported = self.is_exported(found, around);
        let level =
            Level { range: found.node.byte_range(), qualified: qualified.clone(), kind, exported };
        let inside_function = open.iter().any(|level| level.kind.is_some_and(Kind::is_callable));
        let Some(kind) = kind.filter(|kind| !(inside_function && *kind == Kind::Constant)) else {
            return (None, level);
        };
        let outer = statement(found.node);
        let callable = found.callable.filter(|_| kind.is_callable());
        let annotation = Annotation {
            id: format!("{}:{}:{qualified}", kind.singular(), self.path),
            kind,
            name: found.name.clone(),
            qualified_name: qualified,
            signature: self.signature(found),
            parameters: callable.map(|node| self.parameters(node, kind)),
            return_type: callable.and_then(|node| self.return_type(node)),
            description: describe(self.language, found.node, self.text),
            line: line_of(head(found.node)),
            end_line: last_line(found.node),
            exported,
        };
        let range = outer.start_byte()..outer.end_byte().max(found.node.end_byte());
        let snippet = snippet(self.text.get(range.clone()).unwrap_or_default());
        let has_body = callable.is_some_and(|node| node.child_by_field_name("body").is_some());
        let implements = self.language == Language::Rust && is_of_trait_implementation(found.node);
        (Some(Definition { annotation, snippet, range, implements, has_body }), level)
    }

    fn is_exported(&self, found: &Found<'_>, around: Option<&Level>) -> bool {
        let name = found.name.as_str();
        let inherits =
            around.is_none_or(|level| level.exported && !level.kind.is_some_and(Kind::is_callable));
        match self.language {
            Language::Python => {
                let dunder = name.starts_with("__") && name.ends_with("__");
                inherits && (dunder || !name.starts_with('_'))
            }
            Language::Rust => self.is_public(found, around),
            Language::Go => {
                let capital = |name: &str| name.starts_with(char::is_uppercase);
                inherits && capital(name) && found.within.as_deref().is_none_or(capital)
            }
            Language::Java => inherits && is_open(found, around),
            _ if around.is_some_and(|level| level.kind != Some(Kind::Module)) => {
                inherits && !self.is_private(found)
            }
            _ => statement(found.node).kind() == "export_statement" || self.exported.contains(name),
        }
    }

    fn is_private(&self, found: &Found<'_>) -> bool {
        let modifier =
            children(found.node).into_iter().find(|child| child.kind() == "accessibility_modifier");
        let modifier = modifier.map_or("public", |node| text_of(node, self.text));
        modifier != "public" || found.name.starts_with('#')
    }

    fn is_public(&self, found: &Found<'_>, around: Option<&Level>) -> bool {
        if found.kind.is_none() {
            return true;
        }
        // The items of a trait, and of its implementations, are as visible as the trait.
        let of_trait = around.is_some_and(|level| level.kind == Some(Kind::Trait));
        let implements = is_of_trait_implementation(found.node);
        let public = children(found.node).into_iter().any(|child| {
            child.kind() == "visibility_modifier" && text_of(child, self.text) == "pub"
        });
        let reachable =
            around.is_none_or(|level| level.exported && !level.kind.is_some_and(Kind::is_callable));
        reachable && (public || of_trait || implements)
    }

    /// The head of a definition on one line.
    fn signature(&self, found: &Found<'_>) -> String {
        let start = match found.node.kind() {
            "variable_declarator" => found.node.parent().unwrap_or(found.node).start_byte(),
            "type_spec" | "type_alias" | "const_spec" | "var_spec" => {
                statement(found.node).start_byte()
            }
            _ => head(found.node).start_byte(),
        };
        let body = found.callable.unwrap_or(found.node).child_by_field_name("body");
        let whole = found.node.end_byte();
        let end = body.map_or(whole, |body| body.start_byte());
        let head = self.text.get(start..end).unwrap_or_default();
        // What is a value and not a head ends with its first line.
        let is_head = body.is_some() || found.callable.is_some();
        let head = if is_head { head } else { head.lines().next().unwrap_or_default() };
        let line = head.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = line.trim_end_matches([' ', '{', ';', ',']).trim_end_matches("=>").trim_end();
        let line =
            if self.language == Language::Python { line.trim_end_matches(':') } else { line };
        cut(line, LONGEST_SIGNATURE)
    }

    fn parameters(&self, callable: Node<'_>, kind: Kind) -> Vec<Parameter> {
        let list = callable.child_by_field_name("parameters");
        let Some(list) = list else {
            // `x => x` has no list.
            let only = callable.child_by_field_name("parameter");
            return only
                .map(|node| Parameter { name: text_of(node, self.text).into(), of: None })
                .into_iter()
                .collect();
        };
        let mut parameters: Vec<Parameter> =
            children(list).into_iter().flat_map(|node| self.parameters_of(node)).collect();
        let receiver = self.language == Language::Python && kind == Kind::Method;
        if receiver
            && parameters.first().is_some_and(|first| matches!(first.name.as_str(), "self" | "cls"))
        {
            parameters.remove(0);
        }
        parameters
    }

    /// Go writes one type after several names, or none before it; Java puts the name of `String... all` a level deeper.
    fn parameters_of(&self, node: Node<'_>) -> Vec<Parameter> {
        let of = |node: Node<'_>| tidy(text_of(node, self.text));
        match node.kind() {
            "parameter_declaration" | "variadic_parameter_declaration" => {
                let dots = if node.kind().starts_with("variadic") { "..." } else { "" };
                let kind = node.child_by_field_name("type");
                let kind = kind.map(|node| format!("{dots}{}", of(node)));
                let mut cursor = node.walk();
                let names = node.children_by_field_name("name", &mut cursor);
                let mut parameters: Vec<Parameter> =
                    names.map(|name| Parameter { name: of(name), of: kind.clone() }).collect();
                if parameters.is_empty() {
                    parameters.push(Parameter { name: "_".into(), of: kind });
                }
                parameters
            }
            "spread_parameter" => {
                let parts: Vec<Node<'_>> = node.named_children(&mut node.walk()).collect();
                let name = parts.iter().find(|part| part.kind() == "variable_declarator");
                let annotations = ["modifiers", "annotation", "marker_annotation"];
                let kind = parts.iter().find(|part| !annotations.contains(&part.kind()));
                let kind = kind.map(|node| format!("{}...", of(*node)));
                name.map(|name| Parameter { name: of(*name), of: kind }).into_iter().collect()
            }
            _ => self.parameter(node).into_iter().collect(),
        }
    }

    fn parameter(&self, node: Node<'_>) -> Option<Parameter> {
        let skipped = [
            "comment",
            "line_comment",
            "block_comment",
            "self_parameter",
            "receiver_parameter",
            "attribute_item",
            "decorator",
        ];
        let marks = ["keyword_separator", "positional_separator"];
        if !node.is_named() || skipped.contains(&node.kind()) || marks.contains(&node.kind()) {
            return None;
        }
        let field = |name| node.child_by_field_name(name);
        let name = match node.kind() {
            "typed_parameter" => node.named_child(0)?,
            // Values that are not names: `1` is no parameter, but a pattern such as `{a, b}` is.
            _ => {
                field("pattern").or_else(|| field("name")).or_else(|| field("left")).unwrap_or(node)
            }
        };
        if text_of(name, self.text) == "this" {
            return None;
        }
        let of = field("type").map(|node| tidy(text_of(node, self.text)));
        Some(Parameter { name: tidy(text_of(name, self.text)), of })
    }

    fn return_type(&self, callable: Node<'_>) -> Option<String> {
        let field = match self.language {
            Language::Go => "result",
            Language::Java => "type",
            _ => "return_type",
        };
        callable.child_by_field_name(field).map(|node| tidy(text_of(node, self.text)))
    }
}

/// What an interface holds is public unless it says otherwise.
fn is_open(found: &Found<'_>, around: Option<&Level>) -> bool {
    let modifiers = children(found.node).into_iter().find(|child| child.kind() == "modifiers");
    let has = |word: &str| {
        modifiers.is_some_and(|node| children(node).iter().any(|child| child.kind() == word))
    };
    let of_interface = around.is_some_and(|level| level.kind == Some(Kind::Interface));
    found.kind == Some(Kind::Module) || has("public") || (of_interface && !has("private"))
}

/// Where a definition begins to say what it is: after the annotations that Java writes before the modifiers.
fn head(node: Node<'_>) -> Node<'_> {
    let modifiers = |child: &Node<'_>| child.kind() == "modifiers";
    let Some(first) = node.child(0).filter(modifiers) else { return node };
    let is_annotation = |child: &Node<'_>| child.kind().ends_with("annotation");
    let word = children(first).into_iter().find(|child| !is_annotation(child));
    let has_annotation = first.child(0).as_ref().is_some_and(is_annotation);
    match word {
        _ if !has_annotation => node,
        Some(word) => word,
        None => node.child(1).unwrap_or(node),
    }
}

/// Whether an item stands in `impl Trait for …`.
fn is_of_trait_implementation(node: Node<'_>) -> bool {
    node.parent().and_then(|list| list.parent()).is_some_and(|holder| {
        holder.kind() == "impl_item" && holder.child_by_field_name("trait").is_some()
    })
}

/// One line, without the colon that leads a type.
fn tidy(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.strip_prefix(':').unwrap_or(&line).trim().to_owned()
}

fn children(node: Node<'_>) -> Vec<Node<'_>> {
    node.children(&mut node.walk()).collect()
}

fn last_line(node: Node<'_>) -> u32 {
    let end = node.end_position();
    // A node that takes its line break along ends on the line before.
    let row =
        if end.column == 0 && end.row > node.start_position().row { end.row - 1 } else { end.row };
    u32::try_from(row).unwrap_or(u32::MAX).saturating_add(1)
}

fn snippet(text: &str) -> String {
    let lines = text.lines().take(SNIPPET_LINES).collect::<Vec<_>>().join("\n");
    cut(&lines, SNIPPET_BYTES)
}

/// At most so many bytes, at the end of a character, and a mark where something is missing.
fn cut(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let end = (0..=bytes).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}…", text.get(..end).unwrap_or_default())
}

/// Declarations without a body say nothing where the same function has one.
fn without_overloads(definitions: Vec<Definition>) -> Vec<Definition> {
    let with_body = definitions.iter().filter(|one| one.has_body);
    let bodies: HashSet<String> = with_body.map(|one| one.annotation.id.clone()).collect();
    definitions
        .into_iter()
        .filter(|one| one.has_body || !bodies.contains(&one.annotation.id))
        .collect()
}

/// Tells definitions of one name apart: the second `f` of a file is `f#2`.
fn number(mut definitions: Vec<Definition>) -> Vec<Definition> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for one in &mut definitions {
        let times = seen.entry(one.annotation.id.clone()).or_default();
        *times += 1;
        if *times > 1 {
            one.annotation.id = format!("{}#{times}", one.annotation.id);
        }
    }
    definitions
}

#[cfg(test)]
mod tests;
