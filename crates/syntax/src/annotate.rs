//! All annotations of a file: its definitions with calls and complexity, and its
//! imports.

use crate::{
    analysis::{AnalyzedSource, complexity},
    annotation::Annotation,
    language::{Language, line_of, matches, text_of},
    parse::{self, SyntaxTree},
};
use serde::Serialize;
use std::collections::HashSet;

/// Maximum called names kept per definition.
const MAX_CALLED_NAMES: usize = 200;

/// All annotations of a file.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileAnnotations {
    /// Path of the file.
    pub file: String,
    /// Its language.
    pub language: Language,
    /// The modules that it imports, as written.
    pub imports: Vec<String>,
    /// Its definitions, in order.
    pub annotations: Vec<Annotation>,
    /// The line of its first syntax error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub syntax_error_line: Option<u32>,
}

/// A call in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedCall {
    /// The name of what is called.
    pub name: String,
    /// Byte offset.
    pub at: usize,
    /// Line.
    pub line: u32,
}

/// All calls in a text, in order.
pub fn calls(language: Language, text: &str, tree: &SyntaxTree) -> Vec<NamedCall> {
    if language.is_outline() {
        return Vec::new();
    }
    let found = matches(tree, language.grammar().calls(), tree.root_node(), text);
    let call = |one: &crate::language::QueryMatch<'_>| {
        let name = one.get("name")?;
        let at = name.start_byte();
        Some(NamedCall { name: text_of(name, text).to_owned(), at, line: line_of(name) })
    };
    let mut all: Vec<NamedCall> = found.iter().filter_map(call).collect();
    all.sort_by_key(|call| call.at);
    all.dedup();
    all
}

/// Annotates a whole file.
pub fn file(language: Language, path: &str, text: &str, tree: &SyntaxTree) -> FileAnnotations {
    let mut definitions = parse::definitions(language, path, text, tree);
    let mut seen: Vec<HashSet<String>> = vec![HashSet::new(); definitions.len()];
    let (mut open, mut next): (Vec<usize>, usize) = (Vec::new(), 0);
    for call in calls(language, text, tree) {
        // A call belongs to the innermost definition around it.
        while definitions.get(next).is_some_and(|one| one.range.start <= call.at) {
            open.push(next);
            next += 1;
        }
        while open.pop_if(|n| definitions[*n].range.end <= call.at).is_some() {}
        if let Some(&n) = open.last().filter(|n| seen[**n].len() < MAX_CALLED_NAMES)
            && seen[n].insert(call.name.clone())
        {
            definitions[n].annotation.calls.push(call.name);
        }
    }
    let source = AnalyzedSource { path, language, text, tree };
    for (n, figures) in complexity::figures(&source, &definitions) {
        definitions[n].annotation.complexity = Some(figures);
    }
    FileAnnotations {
        file: path.to_owned(),
        language,
        imports: imports(language, text, tree),
        annotations: definitions.into_iter().map(|one| one.annotation).collect(),
        syntax_error_line: parse::first_error(tree),
    }
}

fn imports(language: Language, text: &str, tree: &SyntaxTree) -> Vec<String> {
    if language.is_outline() {
        return Vec::new();
    }
    let found = matches(tree, language.grammar().imports(), tree.root_node(), text);
    let mut seen = HashSet::new();
    let modules = found.iter().filter_map(|one| one.get("module"));
    let modules =
        modules.map(|node| text_of(node, text).split_whitespace().collect::<Vec<_>>().join(" "));
    modules.filter(|module| seen.insert(module.clone())).collect()
}
