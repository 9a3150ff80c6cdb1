//! Plain text: detects headings, lists and code by layout.

mod heading;
mod pages;

use crate::document::{BlockKind, DocumentWriter, ProseDocument};
use heading::PlainHeadingDetector;

/// Reads a text.
pub(crate) fn read(path: &str, text: &str) -> ProseDocument {
    let lines = pages::join_pages(text);
    let groups = groups(&lines);
    let base = base(&groups);
    let mut headings = PlainHeadingDetector::new(base);
    let mut writer = DocumentWriter::default();
    let mut title = None;
    let mut at = 0;
    while let Some(group) = groups.get(at) {
        let next = groups.get(at + 1).copied().unwrap_or_default();
        if title.is_none() && at < 6 && writer.first_heading().is_none() {
            title = centered_title(group, base);
            if title.is_some() {
                at += 1;
                continue;
            }
        }
        at += 1;
        let rest = match headings.take(group, next) {
            Some(heading) if heading.rest.is_empty() && is_contents(next) => &[],
            Some(heading) => {
                writer.heading(heading.level, &heading.text, None);
                heading.rest
            }
            None => group,
        };
        if rest.is_empty() || is_contents(rest) {
            continue;
        }
        if is_code(rest, base) {
            let start = at;
            while groups.get(at).is_some_and(|group| is_code(group, base)) {
                at += 1;
            }
            let more = groups.get(start..at).unwrap_or_default();
            writer.code("", &code(rest, more));
        } else if item(first(rest)).is_some() {
            let start = at;
            while groups.get(at).is_some_and(|group| continues_list(group, rest, base)) {
                at += 1;
            }
            let more = groups.get(start..at).unwrap_or_default();
            writer.plain(BlockKind::List, list(rest, more));
        } else {
            let lines: Vec<&str> = rest.iter().map(|line| line.trim()).collect();
            writer.plain(BlockKind::Paragraph, lines.join("\n"));
        }
    }
    writer.finish(title, path)
}

/// Groups of adjacent lines, without the blank lines between them.
fn groups<'a>(lines: &'a [&'a str]) -> Vec<&'a [&'a str]> {
    let split = lines.split(|line| line.trim().is_empty());
    split.filter(|group| !group.is_empty()).collect()
}

fn first<'a>(group: &[&'a str]) -> &'a str {
    group.first().copied().unwrap_or_default()
}

pub(super) fn indent(line: &str) -> usize {
    let blank = line.chars().take_while(|c| matches!(c, ' ' | '\t'));
    blank.map(|c| if c == '\t' { 8 } else { 1 }).sum()
}

/// The usual indentation of the text.
fn base(groups: &[&[&str]]) -> usize {
    let mut counts = [0_usize; 9];
    let long = groups.iter().filter(|group| group.len() > 1);
    for line in long.flat_map(|group| group.iter()) {
        if let Some(count) = counts.get_mut(indent(line)) {
            *count += 1;
        }
    }
    let most = counts.iter().enumerate().max_by_key(|(at, count)| (**count, usize::MAX - *at));
    most.map_or(0, |(at, _)| at)
}

/// A centered title.
fn centered_title(group: &[&str], base: usize) -> Option<String> {
    let centred = |line: &&str| {
        line.starts_with(' ') && indent(line) >= base + 8 && !line.trim().contains("   ")
    };
    let words = group.iter().any(|line| line.chars().any(char::is_alphabetic));
    (group.len() <= 3 && words && group.iter().all(centred)).then(|| group.join(" "))
}

/// A table of contents: the sections themselves say as much.
fn is_contents(group: &[&str]) -> bool {
    let led = |line: &&&str| line.contains(".....") || line.contains(". . . .");
    group.iter().filter(led).count() * 2 > group.len()
}

/// Whether lines are indented further than text is, and look like code, a diagram or a table.
fn is_code(group: &[&str], base: usize) -> bool {
    let least = group.iter().map(|line| indent(line)).min().unwrap_or_default();
    if least < base + 2 || item(first(group)).is_some() {
        return false;
    }
    let code = group.iter().filter(|line| looks_like_code(line.trim())).count();
    let uneven = group.iter().any(|line| indent(line) > least + 1);
    code * 2 >= group.len() || (uneven && code * 4 >= group.len() && group.len() > 2)
}

fn looks_like_code(line: &str) -> bool {
    let starts = [
        "$ ", "# ", "% ", "> ", "//", "/*", "#!", "--", "<", "+-", "|", "{", "}", "@", "./", "C:",
        "S:",
    ];
    let ends = [';', '{', '}', '(', ')', '\\', '|', '>', '=', '+', ']'];
    let inside = ["::", "->", "=>", " = ", "==", "();", "&&", "||", "--", "://", "   "];
    let tool = ["./configure", "make", "cmake", "git", "cargo", "npm", "pip", "sudo", "apt", "cd"];
    let word = line.split_whitespace().next().unwrap_or_default();
    starts.iter().any(|start| line.starts_with(start))
        || line.ends_with(ends)
        || inside.iter().any(|part| line.contains(part))
        || (tool.contains(&word) && !line.ends_with('.'))
}

fn code(group: &[&str], more: &[&[&str]]) -> String {
    let all = || std::iter::once(group).chain(more.iter().copied());
    let least = all().flatten().map(|line| indent(line)).min().unwrap_or_default();
    let cut = |line: &&str| {
        let expanded = line.replace('\t', "        ");
        expanded.get(least..).unwrap_or_default().trim_end().to_owned()
    };
    let groups = all().map(|group| group.iter().map(cut).collect::<Vec<_>>().join("\n"));
    groups.collect::<Vec<_>>().join("\n\n")
}

/// The Markdown marker of a list item, and its text.
fn item(line: &str) -> Option<(String, &str)> {
    let line = line.trim_start();
    let (mark, rest) = line.split_once([' ', '\t'])?;
    let rest = rest.trim_start();
    if rest.is_empty() {
        return None;
    }
    if matches!(mark, "-" | "*" | "+" | "o" | "•" | "·" | "–") {
        // Dashes that go on are a rule or a diagram.
        return (!rest.starts_with(['-', '*', '=', '+'])).then(|| ("- ".to_owned(), rest));
    }
    let number = mark.trim_start_matches('(').strip_suffix(['.', ')'])?;
    let counts =
        number.len() <= 3 && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    let letter =
        number.len() == 1 && mark.ends_with(')') && number.bytes().all(|b| b.is_ascii_lowercase());
    (counts || letter).then(|| (format!("{number}. "), rest))
}

/// Whether lines belong to the list above them: more items, or text under one.
fn continues_list(group: &[&str], list: &[&str], base: usize) -> bool {
    let start = indent(first(list));
    let here = indent(first(group));
    if here + 1 < start || here > start + 8 {
        return false;
    }
    match item(first(group)) {
        // A number after bullets, at the edge and alone, is a heading's.
        Some((mark, _)) => {
            let bullets = item(first(list)).is_some_and(|(first, _)| first == "- ");
            !(bullets && mark != "- " && group.len() == 1 && here <= base)
        }
        None => here > start + 1 && !group.iter().any(|line| looks_like_code(line.trim())),
    }
}

fn list(group: &[&str], more: &[&[&str]]) -> String {
    let start = indent(first(group));
    let all = std::iter::once(group).chain(more.iter().copied());
    let mut out: Vec<String> = Vec::new();
    let mut hang = 2;
    for line in all.flatten() {
        // Two columns a level, however wide the page sets them.
        let level = indent(line).saturating_sub(start) / 2;
        match item(line) {
            Some((mark, rest)) => {
                let depth = level.min(4) * 2;
                hang = depth + mark.len();
                out.push(format!("{}{mark}{}", " ".repeat(depth), rest.trim_end()));
            }
            None => out.push(format!("{}{}", " ".repeat(hang), line.trim())),
        }
    }
    out.join("\n")
}

#[cfg(test)]
mod tests;
