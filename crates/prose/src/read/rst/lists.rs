//! Bullet, enumerated, field, option and definition lists.

use super::{
    RstReader,
    compose::{RstNode, append, flat, join_texts, prefix_lines},
    lines::{dedent, end_of_indented, indent, is_blank, next, title},
};
use crate::document::{BlockKind, LinkedText};

/// The marker of an item, its width, and its Markdown form.
struct RstItemMark {
    kind: char,
    width: usize,
    shown: String,
}

impl RstReader<'_> {
    /// A list whose items have marks, fields or options, if one starts here.
    pub(super) fn list(&mut self, lines: &[&str], at: usize) -> Option<(usize, RstNode)> {
        let line = lines.get(at)?;
        if let Some(first) = bullet(line).or_else(|| enumerator(lines, at)) {
            return Some(self.marked(lines, at, &first));
        }
        if field(line).is_some() {
            return Some(self.fields(lines, at));
        }
        option(lines, at).is_some().then(|| self.options(lines, at))
    }

    fn marked(&mut self, lines: &[&str], at: usize, first: &RstItemMark) -> (usize, RstNode) {
        let mut items = Vec::new();
        let mut here = at;
        let mut end = at;
        while let Some(line) = lines.get(here) {
            let mark = bullet(line).or_else(|| enumerator(lines, here));
            let Some(mark) = mark.filter(|mark| mark.kind == first.kind) else { break };
            end = end_of_indented(lines, here + 1).max(here + 1);
            let below = lines.get(here + 1..end).unwrap_or_default();
            let own = item(line.get(mark.width..).unwrap_or_default(), below, mark.width);
            let text = flat(&self.nested(&own));
            let shown =
                if mark.shown == "#. " { format!("{}. ", items.len() + 1) } else { mark.shown };
            items.push(prefix_lines(&text, &shown, &" ".repeat(shown.len())));
            here = next(lines, end);
        }
        (end, RstNode::Block(BlockKind::List, join_texts(&items, "\n")))
    }

    fn fields(&mut self, lines: &[&str], at: usize) -> (usize, RstNode) {
        let mut items = Vec::new();
        let (mut here, mut end) = (at, at);
        while let Some((name, value)) = lines.get(here).and_then(|line| field(line)) {
            end = end_of_indented(lines, here + 1).max(here + 1);
            let own = item(value, lines.get(here + 1..end).unwrap_or_default(), 1);
            let text = flat(&self.nested(&own));
            let top = self.depth == 1;
            if top && name.eq_ignore_ascii_case("version") {
                self.version = Some(text.plain.clone()).filter(|version| !version.starts_with('$'));
            }
            here = next(lines, end);
            // File-wide Sphinx metadata is not content.
            if top
                && matches!(name, "orphan" | "tocdepth" | "nocomments" | "nosearch" | "no-search")
            {
                continue;
            }
            let name = self.inline(name);
            let shown = if text.plain.is_empty() { "" } else { ": " };
            let mut all = LinkedText::default();
            append(&mut all, &prefix_lines(&name, "- ", "  "));
            all.plain.push_str(shown);
            append(&mut all, &prefix_lines(&text, "", "  "));
            items.push(all);
        }
        (end, RstNode::Block(BlockKind::List, join_texts(&items, "\n")))
    }

    fn options(&mut self, lines: &[&str], at: usize) -> (usize, RstNode) {
        let mut items = Vec::new();
        let (mut here, mut end) = (at, at);
        while let Some((names, about)) = option(lines, here) {
            end = end_of_indented(lines, here + 1).max(here + 1);
            let own = item(about, lines.get(here + 1..end).unwrap_or_default(), 1);
            let text = flat(&self.nested(&own));
            items.push(prefix_lines(&text, &format!("- `{names}`: "), "  "));
            here = next(lines, end);
        }
        (end, RstNode::Block(BlockKind::List, join_texts(&items, "\n")))
    }

    /// Terms, each with an indented text right below.
    pub(super) fn definitions(
        &mut self,
        lines: &[&str],
        at: usize,
    ) -> Option<(usize, Vec<RstNode>)> {
        if !is_term(lines, at) {
            return None;
        }
        let term = lines.get(at).copied().unwrap_or_default();
        if let Some(said) = term.strip_suffix("::") {
            // A literal block without the blank line that it should have.
            let said = self.inline(&format!("{}:", said.trim_end()));
            let mut nodes = vec![RstNode::paragraph(said)];
            let end = self.literal(lines, at + 1, &mut nodes);
            return Some((end, nodes));
        }
        let mut items = Vec::new();
        let (mut here, mut end) = (at, at);
        while is_term(lines, here) && !lines.get(here).is_some_and(|line| line.ends_with("::")) {
            end = end_of_indented(lines, here + 1);
            let term = lines.get(here).copied().unwrap_or_default().to_owned();
            items.push(self.definition(&[&term], lines.get(here + 1..end).unwrap_or_default()));
            here = next(lines, end);
        }
        Some((end, vec![RstNode::Block(BlockKind::List, join_texts(&items, "\n"))]))
    }

    /// `- term: definition`
    pub(super) fn definition(&mut self, terms: &[&str], below: &[&str]) -> LinkedText {
        let terms: Vec<LinkedText> = terms
            .iter()
            .map(|term| self.inline(&format_classifiers(term.trim_end_matches(':'))))
            .collect();
        let mut all = prefix_lines(&join_texts(&terms, ", "), "- ", "  ");
        let nodes = self.nested(&dedent(below));
        let text = flat(&nodes);
        let inline = matches!(nodes.first(), Some(RstNode::Block(BlockKind::Paragraph, _)));
        all.plain.push_str(if inline { ": " } else { ":\n" });
        append(&mut all, &prefix_lines(&text, if inline { "" } else { "  " }, "  "));
        all
    }
}

/// `term : kind` as `term (kind)`.
fn format_classifiers(term: &str) -> String {
    match term.split_once(" : ") {
        Some((term, kind)) => format!("{} ({})", term.trim_end(), kind.trim()),
        None => term.to_owned(),
    }
}

/// The lines of an item: the text after its marker, and the indented lines below.
fn item<'a>(first: &'a str, below: &[&'a str], width: usize) -> Vec<&'a str> {
    let indents = below.iter().filter(|line| !is_blank(line)).map(|line| indent(line));
    let least = indents.min().unwrap_or(width);
    let cut = if width == 1 { least } else { least.min(width) };
    let mut all = vec![first.trim_start()];
    all.extend(below.iter().map(|line| line.get(cut..).unwrap_or_default()));
    all
}

fn bullet(line: &str) -> Option<RstItemMark> {
    let kind = line.chars().next().filter(|c| matches!(c, '-' | '*' | '+' | '•' | '‣'))?;
    let rest = line.get(kind.len_utf8()..)?;
    if !rest.is_empty() && !rest.starts_with(' ') {
        return None;
    }
    let spaces = rest.len() - rest.trim_start().len();
    Some(RstItemMark { kind, width: kind.len_utf8() + spaces, shown: "- ".to_owned() })
}

/// `1.`, `#.`, `(a)` and the like. The line below must be blank, indented, or the next item.
fn enumerator(lines: &[&str], at: usize) -> Option<RstItemMark> {
    let mark = number(lines.get(at)?)?;
    let below = lines.get(at + 1).copied().unwrap_or_default();
    let ends = is_blank(below) || indent(below) > 0 || number(below).is_some();
    (ends && title(lines, at).is_none()).then_some(mark)
}

fn number(line: &str) -> Option<RstItemMark> {
    let (word, rest) = line.split_once(' ')?;
    let inner = word.strip_prefix('(').unwrap_or(word);
    let inner = inner.strip_suffix([')', '.'])?;
    let digits =
        !inner.is_empty() && inner.len() <= 4 && inner.bytes().all(|byte| byte.is_ascii_digit());
    let letter = inner.len() == 1 && inner.bytes().all(|byte| byte.is_ascii_alphabetic());
    let roman =
        inner.len() <= 4 && !inner.is_empty() && inner.bytes().all(|byte| b"ivx".contains(&byte));
    if !(digits || letter || roman || inner == "#") || rest.trim().is_empty() {
        return None;
    }
    let kind = if digits || inner == "#" { '1' } else { 'a' };
    let spaces = rest.len() - rest.trim_start().len();
    Some(RstItemMark { kind, width: word.len() + 1 + spaces, shown: format!("{inner}. ") })
}

/// Name and value of `:name: value`.
pub(super) fn field(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix(':')?;
    if rest.starts_with([' ', ':', '`']) {
        return None;
    }
    // The name ends with a colon before a space; if it contains a role, the line is text.
    let end =
        rest.find(": ").or_else(|| rest.len().checked_sub(1).filter(|_| rest.ends_with(':')))?;
    let (name, value) = rest.split_at_checked(end)?;
    (name.len() <= 200 && !name.contains(":`"))
        .then_some((name, value.get(1..).unwrap_or_default().trim()))
}

/// Names and text of `-f, --file=NAME  text`.
fn option<'a>(lines: &[&'a str], at: usize) -> Option<(&'a str, &'a str)> {
    let line = lines.get(at)?;
    let name = line
        .strip_prefix("--")
        .or_else(|| line.strip_prefix('-'))
        .or_else(|| line.strip_prefix('/'))?;
    if !name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '?') {
        return None;
    }
    if let Some((names, about)) = line.split_once("  ") {
        return Some((names, about.trim()));
    }
    let below = lines.get(at + 1).copied().unwrap_or_default();
    let short = line.split(", ").all(|part| part.split(' ').count() <= 2);
    (short && !is_blank(below) && indent(below) > 0).then_some((line, ""))
}

fn is_term(lines: &[&str], at: usize) -> bool {
    let line = |n: usize| lines.get(at + n).copied().unwrap_or_default();
    let below = line(1);
    let term = line(0);
    let apart = !is_blank(term) && indent(term) == 0 && !is_blank(below) && indent(below) > 0;
    apart
        && !term.starts_with(".. ")
        && bullet(term).is_none()
        && number(term).is_none()
        && field(term).is_none()
}
