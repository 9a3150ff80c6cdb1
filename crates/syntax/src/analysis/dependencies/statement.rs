//! The import statements of a file, as its language's query finds them.

use super::super::AnalyzedSource;
use crate::language::{QueryMatch, line_of, matches, text_of};
use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

/// One import as written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Statement {
    /// The imported name or path, on one line.
    pub(super) module: String,
    /// The imported names.
    pub(super) names: Vec<String>,
    /// Counted from 1.
    pub(super) line: u32,
    /// Whether the file declares the module.
    pub(super) declared: bool,
    /// Whether it is type-only.
    pub(super) type_only: bool,
    /// The start of the statement up to the module: the import keyword and its modifiers.
    pub(super) head: String,
    /// The explicit path of the module, if given.
    pub(super) path: Option<String>,
    /// Enclosing modules of the statement inside the file, outermost first.
    pub(super) inside: Vec<String>,
    /// Its range in the text.
    pub(super) at: usize,
}

/// The import statements of a file.
#[derive(Debug)]
pub(super) struct ImportStatements {
    /// In the order of the text.
    pub(super) imports: Vec<Statement>,
    /// Names of modules that the file contains or declares.
    pub(super) modules: HashSet<String>,
}

/// Ranges that change the meaning of imports inside them.
#[derive(Default)]
struct EnclosingRanges {
    modules: Vec<(Range<usize>, String)>,
    types: Vec<Range<usize>>,
}

/// All imports of a file, in order. Matches of several patterns on one statement are merged.
pub(super) fn read(source: &AnalyzedSource<'_>) -> ImportStatements {
    let mut all: Vec<Statement> = Vec::new();
    let mut by_node: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut by_place: HashMap<(usize, usize), usize> = HashMap::new();
    let mut loose: HashMap<usize, Vec<String>> = HashMap::new();
    let mut around = EnclosingRanges::default();
    let root = source.tree.root_node();
    for found in matches(source.tree, source.language.grammar().imports(), root, source.text) {
        let Some(node) = found.get("import").or_else(|| found.get("declared")) else {
            around.read(&found, source.text);
            continue;
        };
        let captured = found.captures.iter().filter(|(capture, _)| *capture == "name");
        // Symbols and keywords are names with a colon.
        let plain = |text: &str| one_line(text).trim_matches(':').to_owned();
        let names = captured.map(|(_, node)| plain(text_of(*node, source.text)));
        let Some(module) = found.get("module") else {
            loose.entry(node.id()).or_default().extend(names);
            continue;
        };
        let at = *by_place.entry((node.id(), module.start_byte())).or_insert_with(|| {
            by_node.entry(node.id()).or_default().push(all.len());
            all.push(statement(&found, source.text));
            all.len() - 1
        });
        all[at].names.extend(names);
        let path = found.get("path").map(|node| text_of(node, source.text).to_owned());
        all[at].path = all[at].path.take().or(path);
    }
    for (node, names) in loose {
        for at in by_node.get(&node).into_iter().flatten() {
            all[*at].names.extend(names.iter().cloned());
        }
    }
    all.sort_by_key(|one| one.at);
    let declared = all.iter().filter(|one| one.declared).map(|one| one.module.clone());
    let held = around.modules.iter().map(|(_, name)| name.clone());
    let modules = declared.chain(held).collect();
    around.apply(&mut all);
    ImportStatements { imports: all, modules }
}

fn statement(found: &QueryMatch<'_>, text: &str) -> Statement {
    let whole = found.get("import").or_else(|| found.get("declared"));
    let module = found.get("module");
    let (start, at) =
        (whole.map_or(0, |node| node.start_byte()), module.map_or(0, |node| node.start_byte()));
    let head = text.get(start..at).unwrap_or_default();
    // Where the parts of a path are nodes of their own, it goes from the first of them to the last.
    let parts = found.captures.iter().filter(|(capture, _)| *capture == "module");
    let end = parts.map(|(_, node)| node.end_byte()).max().unwrap_or(at);
    Statement {
        module: one_line(text.get(at..end).unwrap_or_default()),
        names: Vec::new(),
        line: module.map_or(0, line_of),
        declared: found.get("declared").is_some(),
        type_only: is_type_only(head),
        head: head.split_whitespace().take(4).collect::<Vec<_>>().join(" "),
        path: None,
        inside: Vec::new(),
        at,
    }
}

/// Comments at the end of a line would swallow what follows once it is on the same line.
fn one_line(text: &str) -> String {
    let several = text.contains('\n');
    let code = |line: &'_ str| match line.split_once("//") {
        Some((code, _)) if several => code.to_owned(),
        _ => line.to_owned(),
    };
    let lines: Vec<String> = text.lines().map(code).collect();
    lines.iter().flat_map(|line| line.split_whitespace()).collect::<Vec<_>>().join(" ")
}

/// `import type { A } from`, but not `import type from`, which takes a default called `type`.
fn is_type_only(head: &str) -> bool {
    let mut words = head.split_whitespace();
    if !matches!(words.next(), Some("import" | "export")) {
        return false;
    }
    match words.next() {
        Some("type" | "typeof") => words.next().is_some_and(|word| word != "from"),
        Some(word) => word.starts_with("type{") || word.starts_with("type*"),
        None => false,
    }
}

impl EnclosingRanges {
    fn read(&mut self, found: &QueryMatch<'_>, text: &str) {
        if let Some(node) = found.get("types") {
            self.types.push(node.byte_range());
        }
        if let (Some(node), Some(name)) = (found.get("scope"), found.get("within")) {
            self.modules.push((node.byte_range(), text_of(name, text).to_owned()));
        }
    }

    /// Both are in the order of the text, so that each range is opened and closed once.
    fn apply(mut self, statements: &mut [Statement]) {
        self.modules.sort_by_key(|(range, _)| range.start);
        self.types.sort_by_key(|range| range.start);
        let mut modules = self.modules.into_iter().peekable();
        let mut types = self.types.into_iter().peekable();
        let mut open: Vec<(usize, String)> = Vec::new();
        let mut types_end = 0;
        for one in statements {
            while let Some((range, name)) = modules.next_if(|(range, _)| range.start <= one.at) {
                close(&mut open, range.start);
                open.push((range.end, name));
            }
            close(&mut open, one.at);
            one.inside.extend(open.iter().take(MAX_MODULE_DEPTH).map(|(_, name)| name.clone()));
            while let Some(range) = types.next_if(|range| range.start <= one.at) {
                types_end = types_end.max(range.end);
            }
            one.type_only |= one.at < types_end;
        }
    }
}

/// Pops the modules that end before a position. Inner ones end first.
fn close(open: &mut Vec<(usize, String)>, at: usize) {
    while open.pop_if(|(end, _)| *end <= at).is_some() {}
}

/// Maximum nesting of modules; hand-written code stays below.
const MAX_MODULE_DEPTH: usize = 32;
