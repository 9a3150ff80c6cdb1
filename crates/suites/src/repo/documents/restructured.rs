//! reStructuredText, as docutils and Sphinx read it, line by line.

use super::draft::{DocumentFactsBuilder, LineCounter};

/// Directives with a code block, and their default language.
const CODE_DIRECTIVES: [(&str, &str); 14] = [
    ("code-block", ""),
    ("sourcecode", ""),
    ("code", ""),
    ("code-cell", ""),
    ("parsed-literal", ""),
    ("prompt", ""),
    ("console", "console"),
    ("doctest", "python"),
    ("testcode", "python"),
    ("testsetup", "python"),
    ("ipython", "python"),
    ("snippet", ""),
    ("highlight-block", ""),
    ("click:run", "python"),
];
/// Directives whose block is not shown as text.
const HIDDEN_DIRECTIVES: [&str; 14] = [
    "raw",
    "math",
    "graphviz",
    "digraph",
    "uml",
    "plantuml",
    "mermaid",
    "productionlist",
    "meta",
    "contents",
    "index",
    "highlight",
    "sectnum",
    "testoutput",
];
/// Directives whose block is prose.
const PROSE_DIRECTIVES: [&str; 30] = [
    "note",
    "warning",
    "tip",
    "important",
    "seealso",
    "admonition",
    "hint",
    "caution",
    "danger",
    "error",
    "attention",
    "topic",
    "sidebar",
    "versionadded",
    "versionchanged",
    "deprecated",
    "list-table",
    "table",
    "tab-set",
    "tab-item",
    "grid",
    "card",
    "dropdown",
    "margin",
    "glossary",
    "only",
    "epigraph",
    "rubric",
    "container",
    "todo",
];
/// Roles whose text names code.
const CODE_ROLES: [&str; 12] = [
    "class", "func", "meth", "attr", "mod", "exc", "data", "const", "obj", "file", "code",
    "literal",
];

/// Longer paragraphs are treated as data.
const MAX_PARAGRAPH_BYTES: usize = 50_000;

/// How the block of a directive was handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DirectiveBody {
    /// It was processed.
    Read,
    /// It is prose.
    Prose,
    /// The directive is unknown.
    Unknown,
}

/// Parses a document.
pub(super) fn read(draft: &mut DocumentFactsBuilder, text: &str) {
    let mut starts = vec![0];
    starts.extend(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1));
    let lines = text.lines().collect();
    let mut reader = RstFactsReader { draft, text, lines, starts, at: 0, styles: Vec::new() };
    while reader.at < reader.lines.len() {
        reader.step();
    }
}

/// Whether a text with an unclear name is in this format: it has directives or targets.
pub(super) fn looks_like(text: &str) -> bool {
    let is_mark = |line: &str| {
        let Some(mark) = line.trim_start().strip_prefix(".. ") else { return false };
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_:+".contains(c);
        mark.starts_with('_') && mark.contains(':')
            || mark
                .split_once("::")
                .is_some_and(|(name, _)| !name.is_empty() && name.chars().all(is_name))
    };
    text.lines().take(2_000).any(is_mark)
}

struct RstFactsReader<'d, 'a> {
    draft: &'d mut DocumentFactsBuilder,
    text: &'a str,
    lines: Vec<&'a str>,
    /// Start offset of each line.
    starts: Vec<usize>,
    at: usize,
    /// Title adornments, outermost first, and whether they also have an overline.
    styles: Vec<(char, bool)>,
}

impl<'a> RstFactsReader<'_, 'a> {
    fn step(&mut self) {
        let line = self.line(self.at);
        let trimmed = line.trim();
        if trimmed.is_empty() {
            self.draft.gap();
            self.at += 1;
        } else if self.title() {
        } else if let Some(mark) = trimmed.strip_prefix(".. ") {
            self.explicit(mark);
        } else if trimmed == ".." {
            self.at = self.block_end(self.at);
        } else if trimmed == ":orphan:" {
            self.draft.link("orphan:", number(self.at), false);
            self.at += 1;
        } else if trimmed.starts_with(">>> ") {
            let end = self.paragraph_end(self.at);
            self.draft.code_block(number(self.at), "python", "", 0);
            self.at = end;
        } else {
            self.paragraph();
        }
    }

    fn line(&self, at: usize) -> &'a str {
        self.lines.get(at).copied().unwrap_or_default()
    }

    /// Parses a title if one starts here; returns whether it did.
    fn title(&mut self) -> bool {
        let (first, second, third) =
            (self.line(self.at), self.line(self.at + 1), self.line(self.at + 2));
        let over = adornment(first).filter(|mark| adornment(third) == Some(*mark));
        let (text, mark, is_over, length) = match (over, adornment(second)) {
            (Some(mark), None) if !second.trim().is_empty() => (second, mark, true, 3),
            (_, Some(mark))
                if adornment(first).is_none() && !first.starts_with(char::is_whitespace) =>
            {
                let long_enough =
                    second.trim_end().chars().count() >= first.trim_end().chars().count().min(4);
                if !long_enough {
                    return false;
                }
                (first, mark, false, 2)
            }
            _ => return false,
        };
        let style = (mark, is_over);
        let known = self.styles.iter().position(|other| *other == style);
        let level = known.unwrap_or_else(|| {
            self.styles.push(style);
            self.styles.len() - 1
        });
        let line = number(self.at + usize::from(is_over));
        let text: String = without_marks(text.trim());
        self.draft.heading(u8::try_from(level + 1).unwrap_or(u8::MAX), &text, line);
        self.at += length;
        true
    }

    /// Parses explicit markup after two dots: a target, substitution, directive or comment.
    fn explicit(&mut self, mark: &'a str) {
        let line = number(self.at);
        if let Some(target) = mark.strip_prefix('_') {
            self.target(target, line);
            self.at += 1;
            return;
        }
        let mark = match mark.strip_prefix('|').and_then(|rest| rest.split_once('|')) {
            Some((_, replaced)) => replaced.trim(),
            None => mark,
        };
        let end = self.block_end(self.at);
        let is_name = |name: &str| !name.is_empty() && !name.contains(char::is_whitespace);
        match mark.split_once("::").filter(|(name, _)| is_name(name)) {
            Some((name, argument)) => {
                let start = self.starts.get(self.at + 1).copied().unwrap_or(self.text.len());
                let stop = self.starts.get(end).copied().unwrap_or(self.text.len());
                let block = self.text.get(start..stop).unwrap_or_default();
                let body = directive(self.draft, name, argument.trim(), block, line + 1);
                if body == DirectiveBody::Read {
                    self.at = end;
                } else {
                    self.inline(argument, self.at);
                    self.at += 1;
                }
            }
            // A footnote is prose; a comment is not.
            None if mark.starts_with('[') => {
                self.inline(mark, self.at);
                self.at += 1;
            }
            None => self.at = end,
        }
    }

    fn target(&mut self, target: &str, line: u32) {
        let Some((name, place)) =
            target.rsplit_once(": ").or(target.strip_suffix(':').map(|name| (name, "")))
        else {
            return;
        };
        let name = name.trim().trim_matches('`');
        self.draft.anchor(name);
        self.draft.anchor(&name.replace(['_', ' ', '.'], "-"));
        let place = place.trim();
        if !place.is_empty() && !place.ends_with('_') {
            self.draft.link(place, line, false);
        }
    }

    /// Parses a paragraph and a literal block that may follow it.
    fn paragraph(&mut self) {
        let end = self.paragraph_end(self.at);
        let start = self.starts.get(self.at).copied().unwrap_or_default();
        let stop = self.starts.get(end).copied().unwrap_or(self.text.len());
        let text = self.text.get(start..stop).unwrap_or_default();
        self.inline(text, self.at);
        let announces = text.trim_end().ends_with("::");
        let indent = indent_of(self.line(end - 1));
        self.at = end;
        if announces {
            let first = (end..self.lines.len()).find(|at| !self.line(*at).trim().is_empty());
            let Some(first) = first.filter(|at| indent_of(self.line(*at)) > indent) else { return };
            let until = self.indented_end(first, indent);
            let stop = self.starts.get(until).copied().unwrap_or(self.text.len());
            let start = self.starts.get(first).copied().unwrap_or_default();
            let block = self.text.get(start..stop).unwrap_or_default();
            self.draft.code_block(number(first), "", block, number(first));
            self.at = until;
        }
    }

    /// Returns the first line after a paragraph; a list item or markup starts a new one.
    fn paragraph_end(&self, from: usize) -> usize {
        let is_end = |at: &usize| {
            let line = self.line(*at).trim();
            line.is_empty()
                || line.starts_with(".. ")
                || self.line(*at - 1).trim_end().ends_with("::")
        };
        (from + 1..self.lines.len()).find(is_end).unwrap_or(self.lines.len())
    }

    /// Returns the first line after an indented block.
    fn block_end(&self, from: usize) -> usize {
        self.indented_end(from + 1, indent_of(self.line(from)))
    }

    fn indented_end(&self, from: usize, indent: usize) -> usize {
        let is_end = |at: &usize| {
            let line = self.line(*at);
            !line.trim().is_empty() && indent_of(line) <= indent
        };
        (from..self.lines.len()).find(is_end).unwrap_or(self.lines.len())
    }

    /// Parses inline roles, links and code.
    fn inline(&mut self, text: &str, at: usize) {
        if text.len() > MAX_PARAGRAPH_BYTES {
            return self.draft.text(text);
        }
        let mut lines = LineCounter::of(text);
        let line_at = |place: usize, lines: &mut LineCounter<'_>| {
            u32::try_from(at).unwrap_or(u32::MAX).saturating_add(lines.at(place))
        };
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('`') {
            let place = text.len() - after.len();
            let (plain, role) = role_before(before);
            self.draft.text(plain);
            let literal = after.strip_prefix('`').and_then(|after| after.split_once("``"));
            if let Some((code, next)) = literal {
                self.draft.mention(code, line_at(place, &mut lines), false);
                self.draft.text(code);
                rest = next;
                continue;
            }
            let Some((quoted, next)) = after.split_once('`') else {
                rest = after;
                continue;
            };
            let line = line_at(place, &mut lines);
            rest = next;
            let (shown, target) = shown_and_target(quoted);
            self.draft.text(shown);
            match (role, target) {
                (Some(role), _) => self.role(role, target.unwrap_or(quoted), line),
                (None, Some(target)) if next.starts_with('_') && !target.ends_with('_') => {
                    self.draft.link(target, line, false);
                }
                _ => {}
            }
        }
        self.draft.text(rest);
        self.draft.gap();
    }

    fn role(&mut self, role: &str, target: &str, line: u32) {
        match role.rsplit(':').next().unwrap_or(role) {
            "doc" => self.draft.page(target, line),
            "ref" | "numref" => self.draft.link(&format!("ref:{target}"), line, false),
            "download" => self.draft.link(target, line, false),
            name if CODE_ROLES.contains(&name) => {
                self.draft.mention(target.trim_start_matches(['~', '!', '.']), line, false);
            }
            _ => {}
        }
    }
}

/// Parses a directive with its block.
pub(super) fn directive(
    draft: &mut DocumentFactsBuilder,
    name: &str,
    argument: &str,
    block: &str,
    first: u32,
) -> DirectiveBody {
    let line = first.saturating_sub(1);
    let (options, skipped) = options_of(block);
    let option =
        |wanted: &str| options.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
    if let Some((_, usual)) = CODE_DIRECTIVES.iter().find(|(code, _)| *code == name) {
        let language = if argument.is_empty() { usual } else { argument };
        let code = block.splitn(skipped + 1, '\n').last().unwrap_or_default();
        let start = first.saturating_add(u32::try_from(skipped).unwrap_or(u32::MAX));
        draft.code_block(line, language, code, start);
        return DirectiveBody::Read;
    }
    match name {
        "image" | "figure" | "thumbnail" => {
            draft.link(argument, line, true);
            return if name == "figure" { DirectiveBody::Prose } else { DirectiveBody::Read };
        }
        "include" | "literalinclude" | "mdinclude" => {
            draft.include(argument, line);
            if !argument.starts_with('<') {
                draft.link(argument, line, false);
            }
            if name == "literalinclude" {
                draft.code_block(line, option("language").unwrap_or_default(), "", first);
            }
        }
        "toctree" => {
            let entries = (first..).zip(block.lines().map(str::trim)).skip(skipped);
            for (number, entry) in entries.filter(|(_, entry)| !entry.is_empty()) {
                draft.page(shown_and_target(entry).1.unwrap_or(entry), number);
            }
        }
        "autosummary" | "click" | "argparse" | "jinja" | "eval-rst" | "swagger" | "openapi"
        | "graphql" => {
            draft.include(name, line);
        }
        _ if name.starts_with("auto") || name.starts_with("doxygen") => {
            draft.include(name, line);
            return DirectiveBody::Prose;
        }
        _ if HIDDEN_DIRECTIVES.contains(&name) => {}
        _ if PROSE_DIRECTIVES.contains(&name) => return DirectiveBody::Prose,
        _ => return DirectiveBody::Unknown,
    }
    DirectiveBody::Read
}

/// Returns the options at the start of a block and the number of lines before its contents.
fn options_of(block: &str) -> (Vec<(&str, &str)>, usize) {
    let mut options = Vec::new();
    let mut lines = 0;
    for line in block.lines() {
        let option = line.trim().strip_prefix(':').and_then(|option| option.split_once(':'));
        match option {
            Some((name, value)) => options.push((name, value.trim())),
            None if line.trim().is_empty() && !options.is_empty() => {}
            None => break,
        }
        lines += 1;
    }
    (options, lines)
}

/// Splits `text <target>`.
fn shown_and_target(quoted: &str) -> (&str, Option<&str>) {
    let inner = quoted.trim_end().strip_suffix('>').and_then(|quoted| quoted.rsplit_once('<'));
    inner.map_or((quoted, None), |(shown, target)| (shown, Some(target.trim())))
}

/// A role at the end of a text: `see :doc:`.
fn role_before(text: &str) -> (&str, Option<&str>) {
    let found = text.strip_suffix(':').and_then(|text| {
        let start =
            text.rfind(|c: char| c.is_whitespace() || "([\"'*/".contains(c)).map_or(0, |at| at + 1);
        let role = text.get(start..)?.strip_prefix(':')?;
        (!role.is_empty()).then_some((text.get(..start)?, role))
    });
    found.map_or((text, None), |(before, role)| (before, Some(role)))
}

/// Returns the line number, from 1.
fn number(at: usize) -> u32 {
    u32::try_from(at + 1).unwrap_or(u32::MAX)
}

/// Returns the adornment character of an underline.
fn adornment(line: &str) -> Option<char> {
    let line = line.trim_end();
    let mark = line.chars().next().filter(char::is_ascii_punctuation)?;
    (line.len() >= 2 && line.chars().all(|c| c == mark) && (line.len() > 3 || mark != '.'))
        .then_some(mark)
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Strips roles and quotation marks from a title.
fn without_marks(title: &str) -> String {
    let mut plain = String::new();
    let mut rest = title;
    while let Some((before, after)) = rest.split_once('`') {
        plain.push_str(role_before(before).0);
        rest = after;
    }
    plain.push_str(rest);
    plain.replace("**", "")
}
