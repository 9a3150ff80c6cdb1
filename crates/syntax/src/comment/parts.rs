//! The parts of a doc comment: summary, parameters, result, errors.
//!
//! Owns how each language family marks them; independent of syntax trees.

mod at;
mod headings;
mod markup;
mod xml;

use crate::{annotation::Doc, pack::Tags};
pub(super) use at::is_tag;
pub(super) use xml::text as xml_text;

/// A longer paragraph is summarized by its first sentence.
const MAX_SUMMARY_BYTES: usize = 200;

/// The parts of a comment. Unmarked text is its summary.
pub(super) fn parts(tags: Tags, html: bool, whole: &str, plain: &str) -> Doc {
    let mut doc = match tags {
        Tags::At => at::parts(whole, html),
        Tags::Xml => xml::parts(whole),
        Tags::Headings => headings::parts(whole),
    };
    if doc.summary.is_empty() {
        doc.summary = summary(plain);
    }
    doc
}

/// The first paragraph without markup, or its first sentence if that is long.
fn summary(text: &str) -> String {
    let paragraph = text.trim().split("\n\n").next().unwrap_or_default();
    let line = one_line(&markup::without(paragraph.trim_start_matches('#')));
    if line.len() <= MAX_SUMMARY_BYTES {
        return line;
    }
    match sentence_end(&line) {
        Some(end) => line.get(..end).unwrap_or(&line).to_owned(),
        None => line,
    }
}

/// The end of the first sentence. A dot not followed by a capital does not end one: `e.g. this`, `v1.2 and`.
fn sentence_end(line: &str) -> Option<usize> {
    line.match_indices(['.', '!', '?']).map(|(at, _)| at + 1).find(|end| {
        let rest = line.get(*end..).unwrap_or_default();
        rest.starts_with(' ') && rest.trim_start().starts_with(|c: char| !c.is_lowercase())
    })
}

/// Words with one space between them.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Removes the separator between a name and its description.
fn strip_dash(text: &str) -> &str {
    let text = text.trim();
    let text = text.strip_prefix("=>").unwrap_or(text);
    text.trim_start_matches(['-', '–', '—', ':']).trim_start()
}

/// Splits a leading pair of brackets: its content and the rest; brackets inside are balanced.
fn bracketed(text: &str, open: char, close: char) -> Option<(&str, &str)> {
    let inner = text.strip_prefix(open)?;
    let mut depth = 0_usize;
    for (at, c) in inner.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close && depth == 0 {
            return Some((inner.get(..at)?, inner.get(at + c.len_utf8()..)?));
        } else if c == close {
            depth -= 1;
        }
    }
    None
}

/// A first word, and what follows it.
fn first_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    text.split_once(char::is_whitespace).unwrap_or((text, ""))
}

#[cfg(test)]
mod tests;
