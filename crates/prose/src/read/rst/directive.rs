//! Directives: code, notes, tables, contents and what Sphinx adds.

use super::{
    RstReader,
    compose::{RstNode, append, flat, join_texts, prefix_lines},
    lines::{dedent, end_of_indented, is_blank, next},
    lists::field,
    table::{Rows, csv},
};
use crate::document::{BlockKind, LinkedText};

/// Rows and cells of a list-table are bullets: `* - a`.
const BULLETS: [char; 3] = ['*', '-', '+'];

/// A parsed directive.
#[derive(Debug, Default)]
pub(super) struct Directive<'a> {
    pub(super) name: &'a str,
    pub(super) argument: &'a str,
    /// Lines that go on with the argument.
    pub(super) more: Vec<&'a str>,
    options: Vec<(&'a str, String)>,
    pub(super) body: Vec<&'a str>,
}

impl<'a> Directive<'a> {
    fn parse(name: &'a str, argument: &'a str, below: &[&'a str]) -> Self {
        let below = dedent(below);
        let is_option = |line: &str| field(line).is_some();
        let head =
            below.iter().position(|line| is_blank(line) || is_option(line)).unwrap_or(below.len());
        let more = below.get(..head).unwrap_or_default().to_vec();
        let mut at = head;
        let mut options = Vec::new();
        while let Some((name, value)) = below.get(at).and_then(|line| field(line)) {
            let end =
                at + 1 + below.iter().skip(at + 1).take_while(|line| line.starts_with(' ')).count();
            let rest = below.get(at + 1..end).unwrap_or_default().iter().map(|line| line.trim());
            let value = std::iter::once(value).chain(rest).collect::<Vec<_>>().join(" ");
            options.push((name, value.trim().to_owned()));
            at = end;
        }
        let body = below.get(at..).unwrap_or_default().to_vec();
        Self { name, argument, more, options, body }
    }

    pub(super) fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// The argument and all lines below it, where they are text.
    fn text(&self) -> Vec<&'a str> {
        let mut all = vec![self.argument];
        all.extend(self.more.iter().copied());
        all.extend(self.body.iter().copied());
        all
    }

    /// All lines below the argument.
    fn below(&self) -> Vec<&'a str> {
        let mut all = self.more.clone();
        all.extend(self.body.iter().copied());
        all
    }

    fn whole_argument(&self) -> String {
        std::iter::once(self.argument)
            .chain(self.more.iter().copied())
            .collect::<Vec<_>>()
            .join(" ")
    }
}

impl RstReader<'_> {
    pub(super) fn directive(
        &mut self,
        name: &str,
        argument: &str,
        below: &[&str],
        out: &mut Vec<RstNode>,
    ) {
        let directive = Directive::parse(name, argument, below);
        if self.object(&directive, out) {
            return;
        }
        match name {
            "code-block" | "code" | "sourcecode" | "code-cell" | "prompt" | "parsed-literal"
            | "testcode" | "doctest" | "testoutput" | "productionlist" | "math" | "ipython"
            | "graphviz" | "mermaid" | "highlight-block" | "jupyter-execute" | "terminal"
            | "console" => self.code(&directive, out),
            "literalinclude" | "include" | "kernel-include" => {
                // In angle brackets are files that docutils brings along.
                if !argument.starts_with('<') {
                    let mut text = LinkedText::default();
                    text.link(argument, argument);
                    out.push(RstNode::paragraph(text));
                }
            }
            "highlight" => language(argument).clone_into(&mut self.highlight),
            "toctree" => self.contents(&directive, out),
            "list-table" | "flat-table" | "csv-table" => self.rows(&directive, out),
            "table" => {
                self.said(argument, out);
                let nodes = self.nested(&directive.body);
                out.extend(nodes);
            }
            "image" | "figure" => {
                self.said(directive.option("alt").unwrap_or_default(), out);
                let nodes = self.nested(&directive.body);
                out.extend(nodes);
            }
            "rubric" | "centered" | "topic" | "sidebar" | "tab" | "tab-item" | "dropdown"
            | "grid-item-card" | "card" => {
                let heading = directive.whole_argument();
                let heading = self.inline(&heading).plain;
                if !heading.is_empty() {
                    out.push(RstNode::paragraph(LinkedText::new(format!("**{heading}**"))));
                }
                let nodes = self.nested(&directive.body);
                out.extend(nodes);
            }
            "glossary" => self.glossary(&directive, out),
            "default-domain" => argument.clone_into(&mut self.domain),
            "program" => argument.clone_into(&mut self.program),
            _ if self.note(&directive, out) || self.change(&directive, out) || is_silent(name) => {}
            _ => self.unknown(&directive, out),
        }
    }

    fn code(&mut self, directive: &Directive<'_>, out: &mut Vec<RstNode>) {
        let language = match directive.name {
            "parsed-literal" | "productionlist" | "testoutput" => "",
            "math" => "math",
            "testcode" | "doctest" | "ipython" | "jupyter-execute" => "python",
            "graphviz" => "dot",
            "mermaid" => "mermaid",
            _ if directive.argument.is_empty() => self.highlight.as_str(),
            _ => language(directive.argument),
        };
        let language = language.to_owned();
        if let Some(caption) = directive.option("caption") {
            self.said(caption, out);
        }
        let mut lines = Vec::new();
        if directive.name == "math" || directive.name == "productionlist" {
            lines.push(directive.argument);
        }
        let below = dedent(&directive.below());
        lines.extend(below);
        if directive.name == "parsed-literal" {
            let text = self.inline(&lines.join("\n")).plain.replace('`', "");
            out.push(RstNode::code(&language, &[&text]));
        } else {
            out.push(RstNode::code(&language, &lines));
        }
    }

    /// A paragraph, if there is anything to say.
    fn said(&mut self, text: &str, out: &mut Vec<RstNode>) {
        let text = self.inline(text);
        out.push(RstNode::paragraph(text));
    }

    /// A table of contents as links to the documents.
    fn contents(&mut self, directive: &Directive<'_>, out: &mut Vec<RstNode>) {
        let ending = self.scope.ending;
        let entries = directive.below();
        let entries = entries
            .iter()
            .map(|entry| entry.trim())
            .filter(|entry| !entry.is_empty() && *entry != "self");
        let items: Vec<LinkedText> = entries
            .map(|entry| {
                let (label, target) = super::roles::explicit(entry);
                let target = target.unwrap_or(entry);
                let mut text = LinkedText::new("- ");
                if target.contains("://") || target.contains('*') {
                    text.link(label, target);
                } else {
                    text.link(label, format!("{}{ending}", target.trim_end_matches(".rst")));
                }
                text
            })
            .collect();
        if let Some(caption) = directive.option("caption") {
            self.said(caption, out);
        }
        out.push(RstNode::Block(BlockKind::List, join_texts(&items, "\n")));
    }

    fn rows(&mut self, directive: &Directive<'_>, out: &mut Vec<RstNode>) {
        let title = directive.whole_argument();
        self.said(&title, out);
        if let Some(file) = directive.option("file").or_else(|| directive.option("url")) {
            let mut text = LinkedText::default();
            text.link(file, file);
            out.push(RstNode::paragraph(text));
        }
        let mut rows = if directive.name == "csv-table" {
            csv(&directive.body)
        } else {
            Self::bullets(&directive.body)
        };
        let mut head =
            directive.option("header-rows").and_then(|rows| rows.parse().ok()).unwrap_or(0_usize);
        if let Some(titles) = directive.option("header") {
            rows.splice(..0, csv(&[titles]));
            head += 1;
        }
        let head = head.min(rows.len());
        let node = self.table(&Rows { head, rows });
        if !directive.body.is_empty() {
            out.push(node);
        }
    }

    /// The rows of a list of lists.
    fn bullets(lines: &[&str]) -> Vec<Vec<String>> {
        let rows = items(&dedent(lines));
        rows.iter()
            .map(|row| {
                let cells = items(row);
                let text = |cell: &Vec<&str>| {
                    cell.join("\n").split_whitespace().collect::<Vec<_>>().join(" ")
                };
                cells.iter().map(text).collect()
            })
            .collect()
    }

    /// Notes and warnings.
    fn note(&mut self, directive: &Directive<'_>, out: &mut Vec<RstNode>) -> bool {
        let name = match directive.name {
            "note" => "Note",
            "warning" => "Warning",
            "tip" => "Tip",
            "hint" => "Hint",
            "important" => "Important",
            "caution" => "Caution",
            "danger" => "Danger",
            "attention" => "Attention",
            "error" => "Error",
            "seealso" => "See also",
            "todo" => "To do",
            "impl-detail" => "Implementation detail",
            "admonition" => "",
            _ => return false,
        };
        let (heading, lines) = if directive.name == "admonition" {
            (self.inline(&directive.whole_argument()).plain, directive.body.clone())
        } else {
            (name.to_owned(), directive.text())
        };
        let nodes = self.nested(&lines);
        let mut text = LinkedText::new(format!("**{heading}**\n\n"));
        append(&mut text, &flat(&nodes));
        out.push(RstNode::Block(BlockKind::Quote, prefix_lines(&text, "> ", "> ")));
        true
    }

    /// What changed in a version, in a line.
    fn change(&mut self, directive: &Directive<'_>, out: &mut Vec<RstNode>) -> bool {
        let what = match directive.name {
            "versionadded" | "version-added" => "Added in version",
            "versionchanged" | "version-changed" => "Changed in version",
            "deprecated" | "version-deprecated" | "deprecated-removed" => {
                "Deprecated since version"
            }
            "versionremoved" | "version-removed" => "Removed in version",
            _ => return false,
        };
        let (version, rest) =
            directive.argument.split_once(' ').unwrap_or((directive.argument, ""));
        let mut said = format!("{what} {version}");
        let mut rest = rest.trim();
        if directive.name == "deprecated-removed" {
            let (removed, more) = rest.split_once(' ').unwrap_or((rest, ""));
            said = format!("{said}, removed in version {removed}");
            rest = more.trim();
        }
        let mut lines = vec![rest];
        lines.extend(directive.below());
        let mut nodes = self.nested(&lines).into_iter();
        let mut text = LinkedText::new(said);
        let first = nodes.next();
        match first {
            Some(RstNode::Block(BlockKind::Paragraph, about)) => {
                text.plain.push_str(": ");
                append(&mut text, &about);
                out.push(RstNode::paragraph(text));
            }
            other => {
                text.plain.push('.');
                out.push(RstNode::paragraph(text));
                out.extend(other);
            }
        }
        out.extend(nodes);
        true
    }

    /// Terms with what they mean; several terms may share one meaning.
    fn glossary(&mut self, directive: &Directive<'_>, out: &mut Vec<RstNode>) {
        let lines = directive.below();
        let mut texts = Vec::new();
        let mut at = next(&lines, 0);
        while at < lines.len() {
            let start = at;
            while lines.get(at).is_some_and(|line| !is_blank(line) && !line.starts_with(' ')) {
                at += 1;
            }
            let end = end_of_indented(&lines, at).max(at).max(start + 1);
            let terms = lines.get(start..at).unwrap_or_default();
            let terms: Vec<&str> =
                terms.iter().copied().filter(|term| !term.starts_with("..")).collect();
            if !terms.is_empty() {
                texts.push(self.definition(&terms, lines.get(at..end).unwrap_or_default()));
            }
            at = next(&lines, end);
        }
        out.push(RstNode::Block(BlockKind::List, join_texts(&texts, "\n")));
    }

    /// A directive that only its own extension knows: what it says is kept.
    fn unknown(&mut self, directive: &Directive<'_>, out: &mut Vec<RstNode>) {
        let argument = directive.whole_argument();
        let wrapped = matches!(
            directive.name,
            "only" | "ifconfig" | "container" | "class" | "rst-class" | "tabs" | "compound"
        );
        if directive.body.iter().all(|line| is_blank(line)) && !argument.is_empty() && !wrapped {
            let text = self.inline(&argument).plain;
            out.push(RstNode::paragraph(LinkedText::new(format!("{}: {text}", directive.name))));
        } else if !wrapped {
            self.said(&argument, out);
        }
        let nodes = self.nested(&directive.body);
        out.extend(nodes);
    }
}

/// The items of a bullet list, without their marks.
fn items<'a>(lines: &[&'a str]) -> Vec<Vec<&'a str>> {
    let mut items: Vec<Vec<&str>> = Vec::new();
    for line in lines {
        let marked =
            line.strip_prefix(BULLETS).filter(|rest| rest.is_empty() || rest.starts_with(' '));
        match (marked, items.last_mut()) {
            // The mark and one space; more belongs to a nested list's indentation.
            (Some(rest), _) => items.push(vec![rest.get(1..).unwrap_or_default()]),
            (None, Some(item)) => item.push(
                line.get(2..).filter(|_| line.starts_with("  ")).unwrap_or(line.trim_start()),
            ),
            (None, None) => {}
        }
    }
    items.iter().map(|item| dedent(item)).collect()
}

/// Sphinx's names for languages that others call otherwise.
fn language(name: &str) -> &str {
    match name.split_whitespace().next().unwrap_or_default() {
        "none" | "text" | "default" => "",
        "python3" | "py3" | "pycon" | "pycon3" => "python",
        "shell-session" => "console",
        name => name,
    }
}

/// Directives without visible content.
fn is_silent(name: &str) -> bool {
    matches!(
        name,
        "index"
            | "cssclass"
            | "raw"
            | "meta"
            | "sectionauthor"
            | "codeauthor"
            | "moduleauthor"
            | "tabularcolumns"
            | "contents"
            | "sectnum"
            | "default-role"
            | "role"
            | "testsetup"
            | "testcleanup"
            | "header"
            | "footer"
            | "target-notes"
            | "title"
            | "date"
            | "local"
            | "highlightlang"
            | "audit-event"
            | "availability-index"
            | "plot"
    )
}
