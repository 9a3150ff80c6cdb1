//! Man pages: man(7) and mdoc(7) in roff, compressed or not.

mod condition;
mod escape;
mod glyph;
mod macros;
mod mdoc;
mod mdoc_line;
mod page;
mod source;
mod tbl;

use super::{
    marks,
    tree::{self, PageNode},
};
use crate::{
    document::{DocumentWriter, ProseDocument},
    format::Unreadable,
};
use flate2::read::MultiGzDecoder;
use macros::ManPageHeader;
use std::{borrow::Cow, io::Read};

/// Maximum unpacked bytes of a page.
const MAX_UNPACKED_BYTES: u64 = 16 << 20;
/// Signatures of page generators in comments, with their names.
const GENERATORS: [(&str, &str); 9] = [
    ("DocBook XSL", "DocBook"),
    ("Asciidoctor", "Asciidoctor"),
    ("Pod::Man", "Pod::Man"),
    ("help2man", "help2man"),
    ("scdoc", "scdoc"),
    ("Pandoc", "Pandoc"),
    ("pandoc", "Pandoc"),
    ("go-md2man", "go-md2man"),
    ("docutils", "Docutils"),
];

/// Reads a page.
pub(crate) fn read(path: &str, bytes: &[u8]) -> Result<ProseDocument, Unreadable> {
    let bytes = unpack(bytes)?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Unreadable::Empty);
    }
    if bytes.contains(&0) {
        return Err(Unreadable::Binary);
    }
    let text = decode(&bytes);
    let text = marks::remove_marks(&text);
    let (head, nodes) = if is_mdoc(&text) { mdoc::read(&text) } else { macros::read(&text) };
    let mut writer = DocumentWriter::default();
    tree::write(&nodes, &mut writer);
    let title = title(path, &head, &nodes);
    let mut document = writer.finish(title, path);
    document.version = version(&head.source);
    document.generator = generator(&text);
    if let (true, Some(page)) = (document.sections.is_empty(), &head.redirect) {
        return Ok(redirect(path, page));
    }
    Ok(document)
}

/// Whether a path is certainly a man page, by folder or extension.
pub(crate) fn is_named(path: &str) -> bool {
    let path = path.strip_suffix(".gz").unwrap_or(path);
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    if name.rsplit_once('.').is_some_and(|(_, ending)| matches!(ending, "man" | "mdoc")) {
        return true;
    }
    let in_manual = folders.split('/').any(|folder| {
        folder.strip_prefix("man").is_some_and(|rest| rest.is_empty() || is_section(rest))
    });
    in_manual && has_section(path)
}

/// Whether a file's name ends like that of a man page.
pub(crate) fn may_be_named(name: &str) -> bool {
    has_section(name.strip_suffix(".gz").unwrap_or(name))
}

/// Whether a file whose name ends like that of a man page begins like one. A log that was rotated does not.
pub(crate) fn man_page(path: &str, head: &[u8]) -> bool {
    if !has_section(path.strip_suffix(".gz").unwrap_or(path)) {
        return false;
    }
    let mut start = Vec::new();
    // A head may be cut anywhere: what can be unpacked of it decides.
    if head.starts_with(&[0x1f, 0x8b]) {
        let mut bounded = MultiGzDecoder::new(head).take(4096);
        let mut part = [0; 1024];
        while let Ok(count @ 1..) = bounded.read(&mut part) {
            start.extend_from_slice(part.get(..count).unwrap_or_default());
        }
    } else {
        start.extend_from_slice(head.get(..4096).unwrap_or(head));
    }
    let start = String::from_utf8_lossy(&start);
    let mut lines = start.lines().filter(|line| !line.trim().is_empty()).take(40).peekable();
    let first_is_roff = lines.peek().is_some_and(|line| line.starts_with(['.', '\'']));
    let is_macro_line = |line: &str| {
        [".TH", ".Dd", ".SH", ".Sh", "'\\\"", ".\\\"", ".so "]
            .iter()
            .any(|mark| line.starts_with(mark))
    };
    first_is_roff && lines.any(is_macro_line)
}

/// Whether a name ends in the section of a manual: `.1`, `.3pm`, `.8`.
fn has_section(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').is_some_and(|(stem, section)| !stem.is_empty() && is_section(section))
}

fn is_section(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| matches!(c, '1'..='9' | 'n' | 'l'))
        && text.len() <= 12
        && chars.all(|c| c.is_ascii_alphabetic())
}

fn unpack(bytes: &[u8]) -> Result<Cow<'_, [u8]>, Unreadable> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(Cow::Borrowed(bytes));
    }
    let mut all = Vec::new();
    let read = MultiGzDecoder::new(bytes).take(MAX_UNPACKED_BYTES + 1).read_to_end(&mut all);
    if u64::try_from(all.len()).is_ok_and(|length| length > MAX_UNPACKED_BYTES) {
        return Err(Unreadable::TooLarge { limit: MAX_UNPACKED_BYTES });
    }
    match read {
        Ok(_) => Ok(Cow::Owned(all)),
        Err(error) => Err(Unreadable::Damaged { format: "gzip", reason: error.to_string() }),
    }
}

/// Decodes UTF-8 if valid; else Latin-1, as in old pages.
fn decode(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text.trim_start_matches('\u{feff}')),
        Err(_) => Cow::Owned(bytes.iter().copied().map(char::from).collect()),
    }
}

fn is_mdoc(text: &str) -> bool {
    let starts = |line: &str, marks: &[&str]| marks.iter().any(|mark| line.starts_with(mark));
    let first = text
        .lines()
        .find(|line| starts(line, &[".Dd", ".Dt ", ".Sh ", ".Bl ", ".TH", ".SH", ".PP", ".TP"]));
    first.is_some_and(|line| starts(line, &[".D", ".Sh", ".Bl"]))
}

fn generator(text: &str) -> Option<&'static str> {
    let comments = text.lines().take(30).filter(|line| line.contains("\\\""));
    let comments: Vec<&str> = comments.collect();
    let made = |name: &str| comments.iter().any(|line| line.contains(name));
    GENERATORS.into_iter().find(|(mark, _)| made(mark)).map(|(_, name)| name)
}

/// A version number in the page's source; unlike a date, it has a dot.
fn version(source: &str) -> Option<String> {
    let is_version = |word: &&str| {
        let number = word.trim_start_matches(['v', 'V']);
        number.starts_with(|c: char| c.is_ascii_digit())
            && (number.contains('.') || source.split_whitespace().count() == 2)
            && !number.contains('/')
            && number.split('-').count() < 3
    };
    source.split_whitespace().rev().find(is_version).map(str::to_owned)
}

/// `ls(1): list directory contents`.
fn title(path: &str, head: &ManPageHeader, nodes: &[PageNode]) -> Option<String> {
    let file = path.rsplit('/').next().unwrap_or(path);
    let file = file.strip_suffix(".gz").unwrap_or(file);
    let file = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let text = nodes.iter().take(6).find_map(|node| match node {
        PageNode::Text(text) => Some(marks::plain(text).replace('\n', " ")),
        _ => None,
    });
    let text = text.unwrap_or_default();
    let parted = [" - ", " — ", " – ", " -- "]
        .into_iter()
        .filter_map(|dash| text.split_once(dash))
        .min_by_key(|(names, _)| names.len());
    let (names, about) = parted.unwrap_or(("", ""));
    let head_name = head.name.trim();
    let mut known = names.split([',', ' ']).map(str::trim).chain([file]);
    let name = known.find(|name| name.eq_ignore_ascii_case(head_name)).unwrap_or(head_name);
    if name.is_empty() {
        return None;
    }
    let section = &head.section;
    let section = if section.is_empty() { String::new() } else { format!("({section})") };
    let about = about.trim();
    Some(if about.is_empty() {
        format!("{name}{section}")
    } else {
        format!("{name}{section}: {about}")
    })
}

/// Reports the target of a redirecting page.
fn redirect(path: &str, page: &str) -> ProseDocument {
    let name = page.rsplit('/').next().unwrap_or(page);
    let mut writer = DocumentWriter::default();
    let text = format!("See {}.", marks::link(name, name));
    tree::write(&[PageNode::Text(text)], &mut writer);
    let mut document = writer.finish(None, path);
    document.problems.push(format!("it only refers to {name}; read that page instead"));
    document
}

#[cfg(test)]
mod tests;
