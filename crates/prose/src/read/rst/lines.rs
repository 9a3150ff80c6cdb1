//! Lines and their indentation.

/// Spaces before the text of a line. Tabs are gone by then.
pub(super) fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

pub(super) fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

/// The end of the indented lines from here, without trailing blank ones.
pub(super) fn end_of_indented(lines: &[&str], at: usize) -> usize {
    let rest = lines.get(at..).unwrap_or_default();
    let length = rest.iter().position(|line| !is_blank(line) && indent(line) == 0);
    let rest = rest.get(..length.unwrap_or(rest.len())).unwrap_or_default();
    let last = rest.iter().rposition(|line| !is_blank(line));
    at + last.map_or(0, |last| last + 1)
}

/// Removes the indentation shared by all lines.
pub(super) fn dedent<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let indents = lines.iter().filter(|line| !is_blank(line)).map(|line| indent(line));
    let least = indents.min().unwrap_or_default();
    lines.iter().map(|line| line.get(least..).unwrap_or_default()).collect()
}

/// The first line that is not blank, from here on.
pub(super) fn next(lines: &[&str], at: usize) -> usize {
    let rest = lines.get(at..).unwrap_or_default();
    at + rest.iter().position(|line| !is_blank(line)).unwrap_or(rest.len())
}

/// The character of a line that is nothing but one, as under a title.
pub(super) fn rule(line: &str) -> Option<char> {
    let line = line.trim_end();
    let first = line.chars().next().filter(char::is_ascii_punctuation)?;
    (line.len() >= 2 && line.bytes().all(|byte| char::from(byte) == first)).then_some(first)
}

/// A title with the lines over and under it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Title<'a> {
    pub(super) text: &'a str,
    pub(super) style: (char, bool),
    pub(super) lines: usize,
}

/// The title at this line, if any.
pub(super) fn title<'a>(lines: &[&'a str], at: usize) -> Option<Title<'a>> {
    let line = |n: usize| lines.get(at + n).copied().unwrap_or_default();
    if let Some(mark) = rule(line(0)) {
        let text = line(1).trim();
        let same = rule(line(2)) == Some(mark) && !text.is_empty() && rule(text).is_none();
        return same.then_some(Title { text, style: (mark, true), lines: 3 });
    }
    let text = line(0);
    let mark = rule(line(1)).filter(|_| !is_blank(text) && indent(text) == 0)?;
    let text = text.trim();
    let length = line(1).trim_end().len();
    (length >= 4 || length >= text.chars().count()).then_some(Title {
        text,
        style: (mark, false),
        lines: 2,
    })
}

/// A docutils id: lowercase, with one `-` for each run of other characters.
pub(super) fn identifier(text: &str) -> String {
    let mut id = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() {
            id.push(c);
        } else if !id.ends_with('-') && !id.is_empty() {
            id.push('-');
        }
    }
    id.truncate(id.trim_end_matches('-').len());
    id
}
