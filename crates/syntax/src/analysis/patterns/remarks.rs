//! Comments that mark unfinished work or contain commented-out code.

use super::{
    Pattern, PatternConfidence,
    facts::{FileFacts, has_word},
};
use crate::{
    language::{Language, line_of, text_of},
    parse,
};
use tree_sitter::Node;

/// Words that mark unfinished work.
const MARKS: [&str; 4] = ["TODO", "FIXME", "XXX", "HACK"];

/// Maximum lines listed.
const MAX_LISTED_LINES: usize = 20;

/// Minimum lines of commented-out code; fewer may be an example.
const MIN_CODE_LINES: usize = 2;

/// Maximum bytes of a comment checked for code.
const MAX_COMMENT_BYTES: usize = 20_000;

/// Statements that prose does not have by chance.
const STATEMENTS: [&str; 24] = [
    "assignment",
    "assignment_expression",
    "augmented_assignment",
    "return_statement",
    "if_statement",
    "for_statement",
    "for_in_statement",
    "enhanced_for_statement",
    "while_statement",
    "try_statement",
    "import_statement",
    "import_from_statement",
    "function_definition",
    "function_declaration",
    "function_item",
    "class_definition",
    "lexical_declaration",
    "variable_declaration",
    "local_variable_declaration",
    "let_declaration",
    "short_var_declaration",
    "call",
    "call_expression",
    "method_invocation",
];

/// Finds both.
pub(super) fn find(facts: &FileFacts<'_>, found: &mut Vec<Pattern>) {
    let text = facts.source.text;
    let marked = facts.comments.iter().flat_map(|node| marked_lines(*node, text));
    let lines: Vec<u32> = marked.collect();
    if !lines.is_empty() {
        let count = lines.len();
        let message = match count {
            1 => "A comment marks unfinished work.".to_owned(),
            _ => format!("{count} comments mark unfinished work."),
        };
        let lines = lines.into_iter().take(MAX_LISTED_LINES).collect();
        found.push(
            Pattern::smell("todo-markers", PatternConfidence::High, lines, message)
                .with_fix("Finish it, or reference an issue in the comment."),
        );
    }
    for block in blocks(facts) {
        let bytes = block.iter().map(|node| node.end_byte() - node.start_byte()).sum();
        if !facts.spend(bytes) {
            return;
        }
        if let Some((lines, count)) = code(facts.source.language, &block, text) {
            let message = format!("{count} lines of code are commented out.");
            found.push(
                Pattern::smell("commented-out-code", PatternConfidence::Medium, lines, message)
                    .with_fix("Delete it; version control keeps it."),
            );
        }
    }
}

fn marked_lines(node: Node<'_>, text: &str) -> Vec<u32> {
    let first = line_of(node);
    let lines = text_of(node, text).lines().zip(first..);
    let is_marked = |line: &str| MARKS.iter().any(|mark| begins_with_mark(line, mark));
    lines.filter(|(line, _)| is_marked(line)).map(|(_, number)| number).collect()
}

/// A mark is the first word, or has a colon or a name after it: prose may speak of one.
fn begins_with_mark(line: &str, mark: &str) -> bool {
    let start = line.trim_start_matches(|c: char| !c.is_alphanumeric());
    let first = start.strip_prefix(mark).is_some_and(|rest| {
        !rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
    });
    first
        || [":", "("].iter().any(|end| line.contains(&format!(" {mark}{end}")))
            && has_word(line, mark)
}

/// Comments on lines that follow each other, each with nothing before it.
fn blocks<'a>(facts: &FileFacts<'a>) -> Vec<Vec<Node<'a>>> {
    let text = facts.source.text;
    let marks = &facts.source.language.settings().comments.marks;
    let alone = |node: &Node<'_>| {
        let at = node.start_byte();
        let line = at.saturating_sub(node.start_position().column);
        text.get(line..at).unwrap_or_default().trim().is_empty()
    };
    let documents = |node: &Node<'_>| {
        let said = text_of(*node, text);
        marks.iter().any(|mark| said.starts_with(mark.as_str())) || said.starts_with("//!")
    };
    let mut blocks: Vec<Vec<Node<'a>>> = Vec::new();
    for node in facts.comments.iter().filter(|node| alone(node) && !documents(node)) {
        let column = node.start_position().column;
        let follows = |last: &Node<'_>| {
            last.start_position().row + 1 == node.start_position().row
                && last.start_position().column == column
        };
        match blocks.last_mut() {
            Some(block) if block.last().is_some_and(follows) => block.push(*node),
            _ => blocks.push(vec![*node]),
        }
    }
    blocks
}

/// First and last line of a block, and how many, where all of it is code.
fn code(language: Language, block: &[Node<'_>], text: &str) -> Option<(Vec<u32>, usize)> {
    let (first, last) = (block.first()?, block.last()?);
    let whole: Vec<&str> = block.iter().flat_map(|node| text_of(*node, text).lines()).collect();
    let bare: Vec<&str> = whole.iter().map(|line| strip_comment_mark(line)).collect();
    let filled = bare.iter().filter(|line| !line.trim().is_empty());
    let count = filled.clone().count();
    let strong = filled.filter(|line| looks_like_code(line)).count();
    let source = dedent(&bare);
    if count < MIN_CODE_LINES || strong * 2 < count || source.len() > MAX_COMMENT_BYTES {
        return None;
    }
    let tree = parse::tree(language, &source, &|| false).ok()?;
    let root = tree.root_node();
    if root.has_error() || !has_statements(root, count) {
        return None;
    }
    let end = u32::try_from(last.end_position().row).unwrap_or(u32::MAX).saturating_add(1);
    Some((vec![line_of(*first), end], count))
}

fn strip_comment_mark(line: &str) -> &str {
    let line = line.trim_end();
    let start = line.trim_start();
    let marks = ["///", "//", "#", "/*", "*/", "--"];
    let bare = marks.iter().find_map(|mark| start.strip_prefix(mark)).unwrap_or(line);
    bare.trim_end().strip_suffix("*/").unwrap_or(bare)
}

fn dedent(lines: &[&str]) -> String {
    let indent = |line: &&str| line.len() - line.trim_start().len();
    let filled = lines.iter().filter(|line| !line.trim().is_empty());
    let least = filled.map(indent).min().unwrap_or(0);
    let cut = |line: &&str| line.get(least..).unwrap_or_default().to_owned() + "\n";
    lines.iter().map(cut).collect()
}

/// Ends or is written as statements are.
fn looks_like_code(line: &str) -> bool {
    let line = line.trim();
    line.ends_with([';', '{', '}', ')', ']', ',', ':', '('])
        || line.contains(" = ")
        || line.contains(" := ")
}

/// Whether statements that prose does not have make up the text: at least one for every three lines.
fn has_statements(root: Node<'_>, lines: usize) -> bool {
    let mut cursor = root.walk();
    let mut seen = 0;
    loop {
        let kind = cursor.node().kind();
        seen += usize::from(STATEMENTS.contains(&kind));
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return seen > 0 && seen * 3 >= lines;
            }
        }
    }
}
