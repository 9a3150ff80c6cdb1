//! `AsciiDoc`: blocks and inline marks, read line by line.

mod attributes;
mod blocks;
mod inline;
mod inline_macro;
mod lines;
mod list;
mod table;

use super::{
    marks,
    tree::{self, PageNode},
};
use crate::document::{DocumentWriter, ProseDocument};
use attributes::entry;
use blocks::{AsciidocReader, heading_of};

/// Reads a document.
pub(crate) fn read(path: &str, text: &str) -> ProseDocument {
    let text = marks::remove_marks(text);
    let lines = lines::lines(&text);
    let mut reader = AsciidocReader::default();
    let (title, version, body) = header(&mut reader, &lines);
    let mut nodes = Vec::new();
    if let Some(title) = &title {
        let anchor = None;
        nodes.push(PageNode::Heading { level: 1, text: title.clone(), anchor });
    }
    nodes.extend(reader.blocks(body));
    let mut writer = DocumentWriter::default();
    tree::write(&nodes, &mut writer);
    let title = title.map(|title| with_purpose(&marks::plain(&title), &nodes));
    let mut document = writer.finish(title, path);
    document.version = version.or_else(|| {
        let known = ["revnumber", "version"].iter().find_map(|name| reader.attributes.get(name));
        known.map(str::to_owned)
    });
    document.version = document
        .version
        .filter(|version| version.chars().any(|c| c.is_ascii_digit()) && version.len() < 40);
    document
}

/// Whether a text without a telling name is `AsciiDoc`: it has a title, and something else that nothing else has.
pub(crate) fn is_head(head: &[u8]) -> bool {
    let head = head.get(..16 << 10).unwrap_or(head);
    let head = String::from_utf8_lossy(head);
    let lines: Vec<&str> = head.lines().map(str::trim_end).collect();
    let title = lines
        .iter()
        .position(|line| !line.is_empty() && !line.starts_with("//") && entry(line).is_none());
    let Some(at) = title else { return false };
    let Some(title) = lines.get(at) else { return false };
    let below = lines.get(at + 1).copied();
    let titled = heading_of(title, below).is_some_and(|(level, _, taken)| {
        level == 1
            && !title.starts_with('#')
            && (taken == 1 || below.is_some_and(|line| line.starts_with('=')))
    });
    let rest = lines.get(at + 1..).unwrap_or_default();
    let is_typical = |pair: &[&str]| match pair {
        [line, below] => {
            entry(line).is_some()
                || (line.starts_with("[[") && line.ends_with("]]"))
                || (*line == "NAME" && *below == "----")
                || (line.starts_with('[') && line.ends_with(']') && blocks::fence(below).is_some())
                || line.starts_with("include::")
                || (line.is_empty() && *below == "----")
        }
        _ => false,
    };
    titled && rest.windows(2).any(is_typical)
}

/// The title, the version in the lines below it, and the lines after them.
fn header<'a>(
    reader: &mut AsciidocReader,
    lines: &'a [&'a str],
) -> (Option<String>, Option<String>, &'a [&'a str]) {
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        match entry(line) {
            Some((name, value)) if !value.is_some_and(|value| value.ends_with('\\')) => {
                reader.attributes.set(name, value);
            }
            _ if line.is_empty() || (line.starts_with("[[") && line.ends_with("]]")) => {}
            _ => break,
        }
        at += 1;
    }
    let below = lines.get(at + 1).copied();
    let title = lines.get(at).and_then(|line| heading_of(line, below));
    let Some((1, title, taken)) = title else {
        return (None, None, lines);
    };
    let mut version = None;
    at += taken;
    let from = at;
    while let Some(line) = lines.get(at) {
        let is_entry = entry(line).is_some();
        // Only an author and a revision follow directly below a title.
        if line.is_empty() || is_entry || at - from >= 2 || blocks::fence(line).is_some() {
            break;
        }
        version = version.or_else(|| revision(line));
        at += 1;
    }
    (Some(reader.inline(title)), version, lines.get(at..).unwrap_or_default())
}

/// `v1.2, 2024-01-01: remark`.
fn revision(line: &str) -> Option<String> {
    let first = line.split([',', ':']).next()?.trim();
    let number = first.strip_prefix('v').or(line.contains(',').then_some(first))?;
    let is_number = number.starts_with(|c: char| c.is_ascii_digit())
        && number.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+'));
    is_number.then(|| number.to_owned())
}

/// A manual page's title says what the page is about.
fn with_purpose(title: &str, nodes: &[PageNode]) -> String {
    let text = match nodes.get(1..3) {
        Some([PageNode::Heading { text: name, .. }, PageNode::Text(text)])
            if name.eq_ignore_ascii_case("name") =>
        {
            marks::plain(text)
        }
        _ => return title.to_owned(),
    };
    match text.split_once(" - ") {
        Some((_, purpose)) => format!("{title}: {purpose}"),
        None => title.to_owned(),
    }
}

#[cfg(test)]
mod tests;
