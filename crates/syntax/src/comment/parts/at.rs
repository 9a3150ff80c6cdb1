//! Parts that begin with `@param` and the like: Javadoc and its relatives in other languages.

use super::{bracketed, first_word, one_line, strip_dash, summary};
use crate::{
    annotation::{Doc, Said},
    comment::javadoc,
};

/// Tags that Doxygen writes with a backslash as well. Other words after a backslash are text.
const COMMANDS: [&str; 16] = [
    "arg",
    "brief",
    "deprecated",
    "details",
    "exception",
    "note",
    "param",
    "pre",
    "post",
    "result",
    "return",
    "returns",
    "retval",
    "see",
    "throws",
    "tparam",
];

/// Sentence starts that are not type names.
const SENTENCE_STARTS: [&str; 13] =
    ["A", "An", "Any", "Error", "For", "If", "In", "On", "The", "This", "Throws", "Will", "When"];

/// Types of PHP that are written in small letters.
const SMALL_TYPES: [&str; 16] = [
    "array", "bool", "boolean", "callable", "false", "float", "int", "integer", "iterable",
    "mixed", "null", "object", "self", "static", "string", "void",
];

/// Whether a line begins a tag.
pub(in crate::comment) fn is_tag(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with('@') || line.strip_prefix('\\').is_some_and(|line| is_command(tag_name(line)))
}

fn is_command(name: &str) -> bool {
    COMMANDS.contains(&name)
}

/// The name that a line begins with.
fn tag_name(line: &str) -> &str {
    let end = line.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(line.len());
    line.get(..end).unwrap_or_default()
}

/// The parts of a comment with tags. The summary is left empty unless a tag says it.
pub(super) fn parts(whole: &str, html: bool) -> Doc {
    let show = |text: &str| {
        let text = if html { javadoc::plain(text) } else { javadoc::replace_inline_tags(text) };
        one_line(&text)
    };
    let mut doc = Doc::default();
    for (tag, text) in blocks(whole) {
        match tag {
            "param" | "arg" | "argument" | "tparam" => doc.params.extend(param(&text, &show)),
            "return" | "returns" | "result" => {
                let text = show(strip_type(text.trim()));
                doc.returns = doc.returns.or(Some(text).filter(|text| !text.is_empty()));
            }
            "throws" | "throw" | "exception" | "raise" | "raises" => {
                doc.raises.extend(parse_raised(text.trim(), &show));
            }
            "deprecated" => doc.deprecated = Some(show(&text)),
            "brief" | "summary" if doc.summary.is_empty() => doc.summary = summary(&show(&text)),
            _ => {}
        }
    }
    doc
}

/// Each tag with its text.
fn blocks(whole: &str) -> Vec<(&str, String)> {
    let mut blocks: Vec<(&str, String)> = Vec::new();
    let mut fenced = false;
    for line in whole.lines() {
        let trimmed = line.trim_start();
        fenced ^= trimmed.starts_with("```");
        if !fenced && is_tag(trimmed) {
            let line = trimmed.get(1..).unwrap_or_default();
            let name = tag_name(line);
            blocks.push((name, line.get(name.len()..).unwrap_or_default().to_owned()));
        } else if let Some((name, text)) = blocks.last_mut() {
            // A brief ends with its paragraph; other tags may continue.
            if *name == "brief" && trimmed.is_empty() {
                blocks.push(("", String::new()));
            } else {
                text.push('\n');
                text.push_str(line);
            }
        }
    }
    blocks
}

/// `{type} [name=default] text`, `type $name text`, `[Type] name text`, `name [Type] text`, `[in] name text`.
fn param(text: &str, show: &dyn Fn(&str) -> String) -> Option<Said> {
    let mut rest = text;
    // Doxygen's direction follows the tag directly.
    if let Some((direction, after)) = bracketed(rest, '[', ']')
        && direction.split(',').all(|one| matches!(one.trim(), "in" | "out"))
    {
        rest = after;
    }
    let rest = rest.trim_start();
    let (typed, rest) = match bracketed(rest, '{', '}') {
        Some((_, after)) => (true, after.trim_start()),
        None => (false, rest),
    };
    let (name, said) = match bracketed(rest, '[', ']') {
        Some((inner, after)) if typed || !is_type(inner) => {
            (inner.split('=').next().unwrap_or(inner).trim(), after)
        }
        Some((_, after)) => first_word(after),
        None => after_php_type(rest).unwrap_or_else(|| first_word(rest)),
    };
    let said = match bracketed(said.trim_start(), '[', ']') {
        Some((inner, after)) if is_type(inner) => after,
        _ => said,
    };
    let name = name.trim_end_matches([':', ',']).trim_start_matches('`').trim_end_matches('`');
    let text = show(strip_dash(said));
    (!name.is_empty()).then(|| Said { name: name.to_owned(), text })
}

/// Whether brackets hold a type and not a name that may be left out.
fn is_type(inner: &str) -> bool {
    let first = inner.trim_start().chars().next();
    !inner.contains('=')
        && (first.is_some_and(|c| c.is_uppercase() || c == '#')
            || inner.contains([',', '<', '|'])
            || matches!(inner, "nil" | "true" | "false" | "void"))
}

/// PHP marks names with a dollar, and puts a type before them that may hold spaces.
fn after_php_type(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0_i32;
    for (at, c) in text.char_indices() {
        match c {
            '<' | '(' | '{' | '[' => depth += 1,
            '>' | ')' | '}' | ']' => depth -= 1,
            '$' if depth == 0 => {
                let before = text.get(..at)?.trim_end_matches(['&', '.']);
                let starts = before.is_empty() || before.ends_with(char::is_whitespace);
                let of = before.trim();
                let is_type =
                    depth == 0 && (!of.contains(' ') || of.contains(['<', '(', '{', '|']));
                return (starts && is_type).then(|| first_word(text.get(at..).unwrap_or_default()));
            }
            _ => {}
        }
    }
    None
}

/// The description of a result, without the leading type.
fn strip_type(text: &str) -> &str {
    let braces = bracketed(text, '{', '}').filter(|_| !text.starts_with("{@"));
    if let Some((_, after)) = braces.or_else(|| bracketed(text, '[', ']')) {
        return strip_dash(after);
    }
    let (first, rest) = first_word(text);
    let small = |one: &str| SMALL_TYPES.contains(&one.trim_start_matches('?'));
    let is_type = first.split('|').all(|one| small(one.trim_end_matches("[]")))
        || (first.len() > 1 && first.starts_with(['?', '\\', '$']))
        || (first.contains('|') && !rest.is_empty());
    let sentence = rest.trim_start().starts_with(|c: char| c.is_uppercase());
    if is_type && sentence { rest.trim_start() } else { strip_dash(text) }
}

/// `{Type} text`, `[Type] text`, `Type text`; a sentence names no type.
fn parse_raised(text: &str, show: &dyn Fn(&str) -> String) -> Option<Said> {
    let braces = bracketed(text, '{', '}').filter(|_| !text.starts_with("{@"));
    let (name, rest) = braces.or_else(|| bracketed(text, '[', ']')).unwrap_or_else(|| {
        let (first, rest) = first_word(text);
        let is_name =
            first.contains(['\\', ':', '.', '_']) || first.starts_with(|c: char| c.is_uppercase());
        let is_name = is_name && !SENTENCE_STARTS.contains(&first) && !first.ends_with('.');
        if is_name { (first, rest) } else { ("", text) }
    });
    let said = Said {
        name: name.trim_matches([':', ',', ' ', '`']).to_owned(),
        text: show(strip_dash(rest)),
    };
    (!said.name.is_empty() || !said.text.is_empty()).then_some(said)
}
