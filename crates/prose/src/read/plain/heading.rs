//! Detects headings in plain text.

use super::indent;

/// Maximum bytes of a heading.
const MAX_HEADING_BYTES: usize = 80;

/// A heading, and the lines of its group below it.
pub(super) struct PlainHeading<'a> {
    pub(super) level: u8,
    pub(super) text: String,
    pub(super) rest: &'a [&'a str],
}

/// Detects headings, based on the layout of the text before them.
pub(super) struct PlainHeadingDetector {
    base: usize,
    /// Characters that headings were underlined with, in the order they came in.
    marks: Vec<(char, bool)>,
}

impl PlainHeadingDetector {
    pub(super) fn new(base: usize) -> Self {
        Self { base, marks: Vec::new() }
    }

    /// The heading that a group starts with.
    pub(super) fn take<'a>(
        &mut self,
        group: &'a [&'a str],
        next: &[&str],
    ) -> Option<PlainHeading<'a>> {
        if let [over, title, under, rest @ ..] = group {
            let mark =
                rule(over).filter(|mark| rule(under) == Some(*mark) && rule(title).is_none());
            if let Some(mark) = mark.filter(|_| is_title(title)) {
                return Some(PlainHeading {
                    level: self.level(mark, true),
                    text: title.trim().to_owned(),
                    rest,
                });
            }
        }
        if let [title, under, rest @ ..] = group {
            let mark = rule(under).filter(|_| is_title(title) && rule(title).is_none());
            let fits = under.trim().chars().count() + 3 >= title.trim().chars().count();
            if let Some(mark) = mark.filter(|_| fits && indent(title) == indent(under)) {
                return Some(PlainHeading {
                    level: self.level(mark, false),
                    text: title.trim().to_owned(),
                    rest,
                });
            }
        }
        let [line] = group else { return None };
        let level = self
            .numbered(line, next)
            .or_else(|| self.shouted(line))
            .or_else(|| self.outdented(line))?;
        Some(PlainHeading { level, text: line.trim().to_owned(), rest: &[] })
    }

    fn level(&mut self, mark: char, over: bool) -> u8 {
        let known = self.marks.iter().position(|known| *known == (mark, over));
        let at = known.unwrap_or_else(|| {
            self.marks.push((mark, over));
            self.marks.len() - 1
        });
        u8::try_from(at + 1).unwrap_or(6).min(6)
    }

    /// `1.2 Title`, alone between blank lines.
    fn numbered(&self, line: &str, next: &[&str]) -> Option<u8> {
        let depth = number(line).filter(|_| indent(line) <= self.base.min(3) && is_title(line))?;
        // A list with blank lines between its items has the next number right below.
        let listed = next.len() == 1 && next.first().and_then(|next| number(next)) == Some(depth);
        (depth > 1 || !listed).then(|| u8::try_from(depth).unwrap_or(6).min(6))
    }

    /// Nothing but capitals, alone between blank lines.
    fn shouted(&self, line: &str) -> Option<u8> {
        let letters = line.chars().filter(|c| c.is_alphabetic()).count();
        let shouts = letters >= 3
            && !line.chars().any(char::is_lowercase)
            && letters * 2 > line.trim().len();
        let few = line.split_whitespace().count() <= 8;
        let above = u8::from(!self.marks.is_empty());
        (shouts && few && indent(line) <= self.base && is_title(line)).then_some(1 + above)
    }

    /// At the left edge of a text that is indented.
    fn outdented(&self, line: &str) -> Option<u8> {
        let starts = line.starts_with(char::is_uppercase);
        (self.base >= 2 && starts && is_title(line) && !line.contains("   ")).then_some(1)
    }
}

/// The character of a line that is nothing but one of those that underline.
fn rule(line: &str) -> Option<char> {
    let line = line.trim();
    let first = line.chars().next()?;
    let marks = ['=', '-', '~', '*', '#', '^', '+'];
    (marks.contains(&first) && line.len() >= 3 && line.chars().all(|c| c == first)).then_some(first)
}

fn is_title(line: &str) -> bool {
    let line = line.trim();
    line.len() <= MAX_HEADING_BYTES
        && line.chars().any(char::is_alphabetic)
        && !line.ends_with(['.', ',', ';', ':'])
        && !line.contains("....")
        && !line.contains(" . .")
}

/// How many numbers a line starts with, as two in `1.2 Title` and `A.1. Title`.
fn number(line: &str) -> Option<usize> {
    let (number, title) = line.trim().split_once(' ')?;
    if number == "Appendix" {
        return Some(1);
    }
    let dotted = number.contains('.');
    let parts: Vec<&str> = number.trim_end_matches('.').split('.').collect();
    let is_part = |(at, part): (usize, &&str)| {
        let digits = (1..=3).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        let letter =
            at == 0 && dotted && part.len() == 1 && part.bytes().all(|b| b.is_ascii_uppercase());
        digits || letter
    };
    let titled = title.trim_start().starts_with(|c: char| c.is_uppercase() || c == '"' || c == '`');
    (titled && parts.iter().enumerate().all(is_part)).then_some(parts.len())
}
