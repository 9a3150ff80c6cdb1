//! Doc comments: where a definition's comment is, and its text without the marks around it.

mod javadoc;

use super::language::{Language, text_of};
use tree_sitter::Node;

/// The doc comment of a definition as plain text, if it has one.
pub(crate) fn describe(language: Language, node: Node<'_>, text: &str) -> Option<String> {
    let raw = match language {
        Language::Python => docstring(node, text)?,
        Language::Rust => rust_lines(node, text)?,
        Language::Go => lines_above(node, text)?,
        Language::Java | Language::TypeScript | Language::Tsx | Language::JavaScript => {
            block_above(node, text)?.to_owned()
        }
    };
    let clean = match language {
        Language::Python => dedent(&raw),
        Language::Rust | Language::Go => raw,
        Language::Java => javadoc::plain(&without_tags(&without_stars(&raw))),
        Language::TypeScript | Language::Tsx | Language::JavaScript => {
            script_text(&without_stars(&raw))
        }
    };
    let clean = clean.trim();
    (!clean.is_empty()).then(|| clean.to_owned())
}

/// The statement that a definition is the heart of: an export, a declaration, a decorated definition.
pub(crate) fn statement(node: Node<'_>) -> Node<'_> {
    let mut outer = node;
    while let Some(parent) = outer.parent() {
        let wraps = match parent.kind() {
            // In Go's groups, each member speaks for itself.
            "type_declaration" | "const_declaration" | "var_declaration" => {
                parent.child(1).is_some_and(|child| child == outer)
            }
            kind => matches!(
                kind,
                "export_statement"
                    | "ambient_declaration"
                    | "lexical_declaration"
                    | "variable_declaration"
                    | "decorated_definition"
                    | "expression_statement"
            ),
        };
        if !wraps {
            break;
        }
        outer = parent;
    }
    outer
}

fn block_above<'a>(node: Node<'_>, text: &'a str) -> Option<&'a str> {
    let mut above = statement(node).prev_named_sibling()?;
    while matches!(above.kind(), "decorator" | "line_comment") {
        above = above.prev_named_sibling()?;
    }
    let comment = text_of(above, text);
    let is_comment = matches!(above.kind(), "comment" | "block_comment");
    (is_comment && comment.starts_with("/**")).then_some(comment)
}

/// The comments on the lines directly above, which is what Go calls documentation.
fn lines_above(node: Node<'_>, text: &str) -> Option<String> {
    let mut below = statement(node);
    let mut lines = Vec::new();
    while let Some(comment) = below.prev_named_sibling().filter(|one| one.kind() == "comment") {
        let adjacent = comment.end_position().row + 1 == below.start_position().row;
        let code_before = comment.prev_named_sibling().is_some_and(|before| {
            before.end_position().row == comment.start_position().row && before.kind() != "comment"
        });
        if !adjacent || code_before {
            break;
        }
        let said = text_of(comment, text);
        match said.strip_prefix("//") {
            Some(line) if is_directive(line) => {}
            Some(line) => lines.push(line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned()),
            None => lines.push(without_stars(said)),
        }
        below = comment;
    }
    lines.reverse();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// `//go:build`, `//nolint:all`: for tools, not for readers.
fn is_directive(line: &str) -> bool {
    let small = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let rest = line.trim_start_matches(small);
    rest.len() < line.len() && rest.strip_prefix(':').is_some_and(|after| after.starts_with(small))
}

fn rust_lines(node: Node<'_>, text: &str) -> Option<String> {
    let mut lines = Vec::new();
    let mut above = node.prev_sibling();
    while let Some(sibling) = above {
        let comment = text_of(sibling, text).trim();
        match sibling.kind() {
            "line_comment" if comment.starts_with("///") && !comment.starts_with("////") => {
                let line = comment.trim_start_matches('/');
                lines.push(line.strip_prefix(' ').unwrap_or(line).to_owned());
            }
            "block_comment" if comment.starts_with("/**") => lines.push(without_stars(comment)),
            // Attributes and plain comments may stand between a doc comment and what it describes.
            "attribute_item" | "line_comment" | "block_comment" => {}
            _ => break,
        }
        above = sibling.prev_sibling();
    }
    lines.reverse();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn docstring(node: Node<'_>, text: &str) -> Option<String> {
    let body = node.child_by_field_name("body")?;
    let first = body.named_children(&mut body.walk()).find(|child| child.kind() != "comment")?;
    let string = if first.kind() == "expression_statement" { first.named_child(0)? } else { first };
    if string.kind() != "string" {
        return None;
    }
    let mut cursor = string.walk();
    let parts = string.named_children(&mut cursor).filter(|part| part.kind() == "string_content");
    Some(parts.map(|part| text_of(part, text)).collect())
}

/// Takes away `/**`, `*/` and the stars at the start of lines.
fn without_stars(comment: &str) -> String {
    let inner = comment.trim().trim_start_matches('/').trim_end_matches('/').trim_matches('*');
    let line = |line: &str| {
        let line = line.trim();
        let line = line.strip_prefix('*').unwrap_or(line);
        line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned()
    };
    inner.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Ends before the first block tag such as `@param`: what follows repeats the signature.
fn without_tags(comment: &str) -> String {
    comment
        .lines()
        .take_while(|line| !line.trim_start().starts_with('@'))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Where tags alone are written, the text is in one of them.
fn script_text(comment: &str) -> String {
    let lead = without_tags(comment);
    if !lead.trim().is_empty() {
        return lead;
    }
    let tagged = |tag: &str| {
        let mut lines =
            comment.lines().skip_while(|line| line.split_whitespace().next() != Some(tag));
        let first = lines.next()?.trim_start().strip_prefix(tag)?.trim().to_owned();
        let rest = without_tags(&lines.collect::<Vec<_>>().join("\n"));
        Some(format!("{first}\n{rest}")).filter(|text| !text.trim().is_empty())
    };
    ["@description", "@desc", "@summary"].into_iter().find_map(tagged).unwrap_or(lead)
}

/// Takes away the indentation that all lines but the first share.
fn dedent(text: &str) -> String {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let shared =
        text.lines().skip(1).filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or(0);
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default().trim().to_owned();
    let rest = lines.map(|line| line.get(shared..).unwrap_or_default().trim_end().to_owned());
    std::iter::once(first).chain(rest).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_taken_away() {
        let cases = [
            ("/** One line */", "One line"),
            ("/**\n * First.\n *\n *   indented\n */", "First.\n\n  indented"),
            ("/** Says.\n * @param a it\n * @returns it */", "Says."),
            ("/** @internal */", ""),
            ("/***/", ""),
            (
                "/** @name a\n * @description\n * Says.\n *\n * More.\n * @returns it */",
                "Says.\n\nMore.",
            ),
            ("/** @summary Short.\n * @description Long. */", "Long."),
        ];
        for (comment, want) in cases {
            assert_eq!(script_text(&without_stars(comment)).trim(), want, "{comment}");
        }
    }

    #[test]
    fn directives_are_told_from_words() {
        for line in ["go:build linux", "nolint:errcheck"] {
            assert!(is_directive(line), "{line}");
        }
        for line in [" go:build", "TODO: more", "http://a", "Deprecated: b", ":x", "", "note: c"] {
            assert!(!is_directive(line), "{line}");
        }
    }

    #[test]
    fn shared_indentation_is_taken_away() {
        let cases = [
            ("One line.", "One line."),
            ("Head.\n\n    Body\n      deeper\n    ", "Head.\n\nBody\n  deeper\n"),
            ("\n    Late.\n    ", "\nLate.\n"),
            ("Odd.\n  ü\n ö", "Odd.\n ü\nö"),
        ];
        for (text, want) in cases {
            assert_eq!(dedent(text), want, "{text:?}");
        }
    }
}
