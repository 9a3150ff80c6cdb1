//! The blocks of a body: titles, paragraphs, literal blocks, quotations and explicit markup.

use super::{
    MAX_BLOCK_DEPTH, RstReader,
    compose::{RstNode, flat, prefix_lines},
    lines::{dedent, end_of_indented, identifier, indent, is_blank, next, rule, title},
    names::{label, normal},
    table,
};
use crate::document::{BlockKind, LinkedText};

impl RstReader<'_> {
    /// Reads lines from top to bottom.
    pub(super) fn body(&mut self, lines: &[&str], out: &mut Vec<RstNode>) {
        if self.depth >= MAX_BLOCK_DEPTH {
            let text: Vec<&str> =
                lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
            out.push(RstNode::paragraph(LinkedText::new(text.join("\n"))));
            return;
        }
        self.depth += 1;
        let mut at = next(lines, 0);
        while at < lines.len() {
            let before = out.len();
            let end = self.block(lines, at, out).max(at + 1);
            if out.len() > before {
                // A label names the element directly below it.
                self.label = None;
            }
            at = next(lines, end);
        }
        self.depth -= 1;
    }

    /// Reads the next block, and returns where it ends.
    fn block(&mut self, lines: &[&str], at: usize, out: &mut Vec<RstNode>) -> usize {
        let line = lines.get(at).copied().unwrap_or_default();
        if indent(line) > 0 {
            return self.quotation(lines, at, out);
        }
        if line == ".." || line.starts_with(".. ") {
            return self.explicit(lines, at, out);
        }
        if line.starts_with("__ ") {
            return at + 1;
        }
        if let Some((end, node)) = self.list(lines, at) {
            out.push(node);
            return end;
        }
        if line.starts_with(">>> ") || line == ">>>" {
            let end = paragraph_end(lines, at);
            out.push(RstNode::code("python", lines.get(at..end).unwrap_or_default()));
            return end;
        }
        if line.starts_with("| ") || line == "|" {
            return self.line_block(lines, at, out);
        }
        if let Some((end, rows)) = table::grid(lines, at).or_else(|| table::simple(lines, at)) {
            out.push(self.table(&rows));
            return end;
        }
        if let Some(title) = title(lines, at).filter(|_| self.depth <= 3) {
            self.section(title.text, title.style, out);
            return at + title.lines;
        }
        if rule(line).is_some_and(|_| line.len() >= 4)
            && lines.get(at + 1).is_none_or(|line| is_blank(line))
        {
            return at + 1;
        }
        if let Some((end, nodes)) = self.definitions(lines, at) {
            out.extend(nodes);
            return end;
        }
        self.paragraph(lines, at, out)
    }

    fn section(&mut self, text: &str, style: (char, bool), out: &mut Vec<RstNode>) {
        let known = self.styles.iter().position(|known| *known == style);
        let at = known.unwrap_or_else(|| {
            self.styles.push(style);
            self.styles.len() - 1
        });
        self.level = u8::try_from(at + 1).unwrap_or(6).min(6);
        let heading = self.inline(text).plain.replace('`', "");
        let anchor = self.label.take().and_then(|label| self.fresh(label));
        let anchor = anchor.or_else(|| self.fresh(identifier(&heading)));
        out.push(RstNode::Section(self.level, heading, anchor));
    }

    fn paragraph(&mut self, lines: &[&str], at: usize, out: &mut Vec<RstNode>) -> usize {
        let end = paragraph_end(lines, at);
        let own: Vec<&str> =
            lines.get(at..end).unwrap_or_default().iter().map(|line| line.trim()).collect();
        let text = own.join("\n");
        let Some(before) = text.strip_suffix("::") else {
            let text = self.inline(&text);
            out.push(RstNode::paragraph(text));
            return end;
        };
        let said = match before.trim_end() {
            "" => String::new(),
            said if said.len() < before.len() => said.to_owned(),
            said => format!("{said}:"),
        };
        let text = self.inline(&said);
        out.push(RstNode::paragraph(text));
        self.literal(lines, end, out)
    }

    /// The code block after `::`.
    pub(super) fn literal(&mut self, lines: &[&str], from: usize, out: &mut Vec<RstNode>) -> usize {
        let start = next(lines, from);
        let Some(first) = lines.get(start) else { return from };
        let end = if indent(first) > 0 {
            end_of_indented(lines, start)
        } else {
            // Not indented, every line starts with the same mark.
            let mark = first.chars().next().filter(char::is_ascii_punctuation);
            let Some(mark) = mark else { return from };
            let quoted = lines.get(start..).unwrap_or_default().iter();
            start + quoted.take_while(|line| line.starts_with(mark)).count()
        };
        let code = dedent(lines.get(start..end).unwrap_or_default());
        out.push(RstNode::code(&self.highlight, &code));
        end
    }

    fn quotation(&mut self, lines: &[&str], at: usize, out: &mut Vec<RstNode>) -> usize {
        let end = end_of_indented(lines, at);
        let nodes = self.nested(&dedent(lines.get(at..end).unwrap_or_default()));
        let is_text = |node: &RstNode| matches!(node, RstNode::Block(BlockKind::Paragraph, _));
        // Lists and code are often indented without being quoted.
        if nodes.iter().all(is_text) {
            out.push(RstNode::Block(BlockKind::Quote, prefix_lines(&flat(&nodes), "> ", "> ")));
        } else {
            out.extend(nodes);
        }
        end
    }

    fn line_block(&mut self, lines: &[&str], at: usize, out: &mut Vec<RstNode>) -> usize {
        let end = paragraph_end(lines, at);
        let own = lines.get(at..end).unwrap_or_default().iter();
        let own: Vec<&str> =
            own.map(|line| line.strip_prefix('|').unwrap_or(line).trim()).collect();
        let text = self.inline(&own.join("\n"));
        out.push(RstNode::paragraph(text));
        end
    }

    /// Everything that starts with two dots.
    fn explicit(&mut self, lines: &[&str], at: usize, out: &mut Vec<RstNode>) -> usize {
        let line = lines.get(at).copied().unwrap_or_default();
        let rest = line.get(2..).unwrap_or_default().trim_start();
        if rest.is_empty() && lines.get(at + 1).is_none_or(|line| is_blank(line)) {
            return at + 1;
        }
        let end = end_of_indented(lines, at + 1).max(at + 1);
        let below = lines.get(at + 1..end).unwrap_or_default();
        if let Some((name, value)) = label(rest) {
            if value.is_empty() && below.is_empty() {
                // Of several labels the first counts.
                self.label = self.label.take().or_else(|| Some(normal(name)));
            }
            return end;
        }
        if let Some((name, text)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            let mut all = vec![text.trim_start()];
            all.extend(dedent(below));
            let text = flat(&self.nested(&all));
            out.push(RstNode::paragraph(prefix_lines(&text, &format!("[{name}] "), "")));
            return end;
        }
        if rest.starts_with('|') || rest.starts_with("__:") {
            return end;
        }
        if let Some((name, argument)) = directive_name(rest) {
            self.directive(name, argument, below, out);
        }
        end
    }
}

/// Where the lines end that are not blank, from here on.
pub(super) fn paragraph_end(lines: &[&str], at: usize) -> usize {
    let rest = lines.get(at..).unwrap_or_default();
    at + rest.iter().position(|line| is_blank(line)).unwrap_or(rest.len())
}

/// Name and argument of `name:: argument`.
fn directive_name(rest: &str) -> Option<(&str, &str)> {
    let (name, argument) = rest.split_once("::")?;
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.' | '+');
    let named = !name.is_empty() && name.chars().all(allowed);
    let apart = argument.is_empty() || argument.starts_with(' ');
    (named && apart).then_some((name, argument.trim()))
}
