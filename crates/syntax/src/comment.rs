//! Doc comments: where a definition's comment is, its text without the marks around it, and its parts.

mod javadoc;
mod parts;

use crate::{
    ancestry::Ancestry,
    annotation::Doc,
    attributes,
    language::text_of,
    pack::{CommentSettings, DocumentationPlacement, LanguageSettings, Tags},
    parse::is_group,
};
use tree_sitter::Node;

/// A doc comment without its marks.
#[derive(Debug, Clone)]
pub(crate) struct Comment {
    /// Its text, without tags that repeat the signature.
    pub(crate) plain: String,
    /// The full text.
    whole: String,
}

impl Comment {
    /// Reads a comment without its marks; `None` if it is empty.
    pub(crate) fn read(settings: &LanguageSettings, whole: &str) -> Option<Self> {
        let CommentSettings { tags, html, .. } = settings.comments;
        let whole = if tags == Tags::At { with_at(whole) } else { whole.to_owned() };
        let plain = match tags {
            Tags::Headings => whole.clone(),
            Tags::At => collect_tag_text(&whole),
            Tags::Xml => parts::xml_text(&whole),
        };
        let plain = if html { javadoc::plain(&plain) } else { plain };
        let plain = plain.trim();
        (!plain.is_empty()).then(|| Self { plain: plain.to_owned(), whole })
    }

    /// Its parts.
    pub(crate) fn parts(&self, settings: &LanguageSettings) -> Doc {
        let CommentSettings { tags, html, .. } = settings.comments;
        parts::parts(tags, html, &self.whole, &self.plain)
    }
}

/// The doc comment of a definition, if it has one.
pub(crate) fn describe<'tree>(
    settings: &'static LanguageSettings,
    kin: &Ancestry<'tree>,
    node: Node<'tree>,
    text: &str,
) -> Option<Comment> {
    let whole = match settings.comments.place {
        _ if !settings.attributes.kind.is_empty() => {
            match attributes::read_documentation(
                settings,
                kin,
                statement(settings, kin, node),
                text,
            ) {
                attributes::AttributeText::Said(text) => dedent(&text),
                attributes::AttributeText::Hidden => return None,
                attributes::AttributeText::None => lines_above(settings, kin, node, text)?,
            }
        }
        DocumentationPlacement::Inside => dedent(&docstring(node, text)?),
        DocumentationPlacement::Above if settings.comments.marks.is_empty() => {
            lines_above(settings, kin, node, text)?
        }
        DocumentationPlacement::Above => {
            let above = marked_above(settings, kin, node, text);
            above.or_else(|| marked_after(settings, kin, node, text))?
        }
    };
    Comment::read(settings, &whole)
}

/// The statement that wraps a definition: an export, a declaration, a decorated definition.
pub(crate) fn statement<'tree>(
    settings: &LanguageSettings,
    kin: &Ancestry<'tree>,
    node: Node<'tree>,
) -> Node<'tree> {
    let mut outer = node;
    while let Some(parent) = kin.parent(outer).filter(|parent| wraps(settings, *parent)) {
        outer = parent;
    }
    outer
}

/// Whether a node only wraps its child.
pub(crate) fn wraps(settings: &LanguageSettings, parent: Node<'_>) -> bool {
    settings.wrappers.iter().any(|kind| kind == parent.kind()) && !is_group(parent)
}

/// Comments above that start with one of the marks. Attributes and plain comments may stand between them and what they
/// describe.
fn marked_above<'tree>(
    settings: &LanguageSettings,
    kin: &Ancestry<'tree>,
    node: Node<'tree>,
    text: &str,
) -> Option<String> {
    let comments = &settings.comments;
    let mut lines = Vec::new();
    let step = |node: Node<'tree>| kin.previous(node);
    let mut above = before(settings, kin, statement(settings, kin, node), &step);
    while let Some(sibling) = above {
        let said = text_of(sibling, text).trim();
        let is_comment = is_comment(settings, sibling);
        let passed = || comments.between.iter().any(|kind| kind == sibling.kind());
        let mark = comments.marks.iter().find(|mark| said.starts_with(mark.as_str()));
        match mark {
            Some(mark) if is_comment && !is_ruler(said, mark) => {
                if is_block(mark) {
                    lines.push(strip_block_marks(said));
                    // A second block above it is about something else; lines go on.
                    if !settings.comments.marks.iter().any(|mark| !mark.starts_with("/*")) {
                        break;
                    }
                } else {
                    lines.extend(strip_leads(said, mark));
                }
            }
            _ if is_comment && !said.starts_with("/*") => {}
            _ if passed() => {}
            _ if is_comment && lines.is_empty() && comments.marks.len() > 1 => {}
            _ => break,
        }
        above = before(settings, kin, sibling, &step);
    }
    lines.reverse();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The trailing comment, if its mark refers back.
fn marked_after<'tree>(
    settings: &LanguageSettings,
    kin: &Ancestry<'tree>,
    node: Node<'tree>,
    text: &str,
) -> Option<String> {
    let after = kin.next_named(statement(settings, kin, node))?;
    let said = text_of(after, text).trim();
    let mark = settings.comments.after.iter().find(|mark| said.starts_with(mark.as_str()))?;
    let mut lines = strip_leads(said, mark);
    lines.reverse();
    Some(lines.join("\n"))
}

/// The comments at the end of some lines, for where there is no node to look above.
pub(crate) fn lines_before(lines: &[&str]) -> Option<String> {
    let is_comment = |line: &&&str| {
        ["--", "#"].iter().any(|lead| line.starts_with(lead)) && !line.starts_with("#!")
    };
    let mut said: Vec<String> = lines
        .iter()
        .rev()
        .take_while(is_comment)
        .map(|line| strip_line_lead(line.trim_end()))
        .collect();
    said.reverse();
    let said = said.join("\n").trim().to_owned();
    (!said.is_empty()).then_some(said)
}

/// The node before one, seen from beyond the edges of what only holds a list.
fn before<'tree>(
    settings: &LanguageSettings,
    kin: &Ancestry<'tree>,
    node: Node<'tree>,
    step: &dyn Fn(Node<'tree>) -> Option<Node<'tree>>,
) -> Option<Node<'tree>> {
    let edges = |node: Node<'_>| settings.comments.through.iter().any(|kind| kind == node.kind());
    let mut outer = node;
    let mut found = step(outer);
    while found.is_none()
        && let Some(parent) = kin.parent(outer).filter(|parent| edges(*parent))
    {
        outer = parent;
        found = step(outer);
    }
    let mut found = found?;
    while edges(found)
        && let Some(last) = found.child_count().checked_sub(1)
    {
        found = found.child(last)?;
    }
    Some(found)
}

/// Whether a node is a comment, under any name in the grammar.
pub(crate) fn is_comment(settings: &LanguageSettings, node: Node<'_>) -> bool {
    node.kind().contains("comment")
        || settings.comments.kinds.iter().any(|kind| kind == node.kind())
}

/// `////////` is a line across the page.
fn is_ruler(said: &str, mark: &str) -> bool {
    mark.starts_with("//") && said.starts_with("////")
}

/// The comments on the lines directly above.
fn lines_above<'tree>(
    settings: &LanguageSettings,
    kin: &Ancestry<'tree>,
    node: Node<'tree>,
    text: &str,
) -> Option<String> {
    let step = |node: Node<'tree>| kin.previous_named(node);
    let mut below = statement(settings, kin, node);
    let mut lines = Vec::new();
    while let Some(above) = before(settings, kin, below, &step) {
        let between = settings.comments.between.iter().any(|kind| kind == above.kind());
        if !is_comment(settings, above) && !between {
            break;
        }
        let adjacent = end_row(above) + 1 == below.start_position().row;
        let code_before = kin.previous_named(above).is_some_and(|before| {
            end_row(before) == above.start_position().row && !is_comment(settings, before)
        });
        if !adjacent || code_before {
            break;
        }
        let said = text_of(above, text).trim_end();
        if !between && !said.starts_with("#!") {
            match said.strip_prefix("//") {
                Some(line) if is_directive(line) => {}
                _ if is_block(said) => lines.push(strip_block_marks(said)),
                _ => lines.push(strip_line_lead(said)),
            }
        }
        below = above;
    }
    lines.reverse();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The last row with something of the node on it: some grammars take the line break along.
pub(crate) fn end_row(node: Node<'_>) -> usize {
    let end = node.end_position();
    if end.column == 0 && end.row > node.start_position().row { end.row - 1 } else { end.row }
}

/// Whether a comment is a block and not a line.
pub(crate) fn is_block(said: &str) -> bool {
    ["/*", "<!--", "--[", "{-", "(*", "=begin"].iter().any(|lead| said.starts_with(lead))
}

/// The text of a comment, whether it is a block or a line.
pub(crate) fn strip_marks(said: &str) -> String {
    if is_block(said) {
        return strip_block_marks(said);
    }
    said.lines().map(|line| strip_line_lead(line.trim_start())).collect::<Vec<_>>().join("\n")
}

/// Removes the start of a line comment, and one space.
fn strip_line_lead(line: &str) -> String {
    let leads = ["///", "//!", "//", "---", "--", "##", "#", "%%", "%", ";;", ";"];
    let rest = leads.iter().find_map(|lead| line.strip_prefix(lead)).unwrap_or(line);
    rest.strip_prefix(' ').unwrap_or(rest).trim_end().to_owned()
}

/// The lines of one node, last first: some grammars have one for a run of line comments.
fn strip_leads(said: &str, mark: &str) -> Vec<String> {
    let first = said.strip_prefix(mark).unwrap_or(said);
    let first = first.lines().next().unwrap_or_default();
    let first = first.strip_prefix(' ').unwrap_or(first).trim_end().to_owned();
    let rest = said.lines().skip(1).map(|line| strip_line_lead(line.trim_start()));
    let mut lines: Vec<String> = std::iter::once(first).chain(rest).collect();
    lines.reverse();
    lines
}

/// Removes the marks around a block comment of any language.
fn strip_block_marks(said: &str) -> String {
    if said.starts_with("/*") {
        return strip_stars(said);
    }
    let marks = [("<!--", "-->"), ("{-", "-}"), ("--[", "]"), ("(*", "*)"), ("=begin", "=end")];
    let inner = marks.iter().find_map(|(open, close)| {
        let inner = said.strip_prefix(open)?;
        let inner = inner.trim_start_matches(['[', '=', '|', '*', '-']);
        Some(inner.trim_end().strip_suffix(close)?.trim_end_matches([']', '=', '-']))
    });
    dedent(inner.unwrap_or(said)).trim().to_owned()
}

/// `//go:build`, `//nolint:all`: for tools, not for readers.
fn is_directive(line: &str) -> bool {
    let small = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let rest = line.trim_start_matches(small);
    rest.len() < line.len() && rest.strip_prefix(':').is_some_and(|after| after.starts_with(small))
}

/// Doxygen takes `\param` for `@param`.
fn with_at(comment: &str) -> String {
    let line = |line: &str| {
        let inner = line.trim_start();
        let tag = inner
            .strip_prefix('\\')
            .filter(|tag| tag.starts_with(|c: char| c.is_ascii_lowercase()));
        let indent = line.get(..line.len() - inner.len()).unwrap_or_default();
        tag.map_or_else(|| line.to_owned(), |tag| format!("{indent}@{tag}"))
    };
    comment.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// HTML text without tags and with common entities decoded, on one line.
pub(crate) fn strip_markup(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, tag)) = rest.split_once('<') {
        plain.push_str(before);
        rest = tag.split_once('>').map_or("", |(_, after)| after);
    }
    plain.push_str(rest);
    let plain = plain.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    let plain = plain.replace("&nbsp;", " ").replace("&amp;", "&");
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn docstring(node: Node<'_>, text: &str) -> Option<String> {
    let described = node.named_child(0).filter(|first| first.kind() == "description");
    if let Some(description) = described {
        return Some(text_of(description, text).trim_matches('"').to_owned());
    }
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

/// Removes `/**`, `*/` and the stars at the start of lines.
fn strip_stars(comment: &str) -> String {
    let inner = comment.trim().trim_start_matches('/').trim_end_matches('/').trim_matches('*');
    // Doxygen's `/*!`.
    let inner = inner.strip_prefix('!').unwrap_or(inner);
    let line = |line: &str| {
        let line = line.trim();
        let line = line.strip_prefix('*').unwrap_or(line);
        line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned()
    };
    inner.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Ends before the first block tag such as `@param`: what follows repeats the signature.
fn strip_tags(comment: &str) -> String {
    comment.lines().take_while(|line| !parts::is_tag(line)).collect::<Vec<_>>().join("\n")
}

/// If a comment has only tags, the text is taken from one of them.
fn collect_tag_text(comment: &str) -> String {
    let lead = strip_tags(comment);
    if !lead.trim().is_empty() {
        return lead;
    }
    let tagged = |tag: &str| {
        let names = |line: &str| {
            let word = line.split_whitespace().next()?.strip_prefix(['@', '\\'])?;
            (word == tag).then_some(())
        };
        let mut lines = comment.lines().skip_while(|line| names(line).is_none());
        let first = lines.next()?.trim_start().get(1..)?.strip_prefix(tag)?.trim().to_owned();
        let rest = strip_tags(&lines.collect::<Vec<_>>().join("\n"));
        Some(format!("{first}\n{rest}")).filter(|text| !text.trim().is_empty())
    };
    ["description", "desc", "summary", "brief"].into_iter().find_map(tagged).unwrap_or(lead)
}

/// Removes the indentation shared by all lines but the first.
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
            assert_eq!(collect_tag_text(&strip_stars(comment)).trim(), want, "{comment}");
        }
    }

    #[test]
    fn directives_are_distinguished_from_words() {
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
