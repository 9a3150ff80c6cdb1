//! From source text to annotations. Pure: no files, no index.

mod names;
mod parameters;
mod read;
mod visibility;

use crate::{
    annotation::Annotation,
    language::{Language, line_of, matches, text_of},
};
use names::distinct;
pub(crate) use read::is_group;
use read::{Level, Reader};
use std::{
    collections::{HashMap, HashSet},
    ops::{ControlFlow, Range},
};
use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

/// Why a text gave no tree.
#[derive(Debug, thiserror::Error)]
pub enum ParseError {
    /// It was told to stop.
    #[error("parsing was stopped")]
    Stopped,
    /// The parser does not take the grammar.
    #[error("the grammar does not fit the parser")]
    Grammar(#[from] tree_sitter::LanguageError),
}

/// A definition with what search needs beside its annotation.
#[derive(Debug, Clone)]
pub struct Definition {
    /// What is said of it.
    pub annotation: Annotation,
    /// Where it stands in the text.
    pub range: Range<usize>,
    /// Whether it does what a trait asks for, and the trait says what that is.
    pub implements: bool,
    /// Whether more than its head is there.
    has_body: bool,
}

/// The syntax tree of a text. Asks `stopped` while it works.
pub fn tree(
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

/// The language of that name, or of files that are called like that, with the tree of the text.
pub fn tree_of(language: &str, text: &str) -> Option<(Language, Tree)> {
    let language = Language::named(language).or_else(|| Language::of(language))?;
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

/// Everything defined in a text, in its order.
pub fn definitions(language: Language, path: &str, text: &str, tree: &Tree) -> Vec<Definition> {
    let all = matches(language.grammar().definitions(), tree.root_node(), text);
    let exported: HashSet<&str> = all
        .iter()
        .filter_map(|found| found.get("exported"))
        .map(|node| text_of(node, text))
        .collect();
    let reader = Reader { language, settings: language.settings(), path, text, exported };
    let mut open: Vec<Level> = Vec::new();
    let mut definitions = Vec::new();
    for one in distinct(language, &all, text) {
        open.retain(|level| level.range.end >= one.node.end_byte());
        let (definition, level) = reader.read(&one, &open);
        definitions.extend(definition);
        open.push(level);
    }
    // In Java, one without a body is a method of its own that happens to share a name.
    number(if language == Language::Java { definitions } else { without_overloads(definitions) })
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
