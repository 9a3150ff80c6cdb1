//! Roff escapes within a line: named characters, fonts, and motions, which are dropped.

use super::glyph::glyph;
use crate::read::marks::{BOLD, CODE, ITALIC, NO_SPACE, ROMAN};
use std::str::Chars;

/// Maximum characters of a name or argument of an escape.
const MAX_ESCAPE_CHARS: usize = 200;

/// Converts escapes to text with marks. Fonts persist across lines.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fonts {
    current: char,
    previous: char,
}

impl Default for Fonts {
    fn default() -> Self {
        Self { current: ROMAN, previous: ROMAN }
    }
}

impl Fonts {
    /// Text with marks.
    pub(super) fn text(&mut self, line: &str) -> String {
        if !line.contains('\\') {
            return line.to_owned();
        }
        let mut out = String::with_capacity(line.len());
        let mut rest = line.chars();
        while let Some(c) = rest.next() {
            if c == '\\' { self.escape(&mut rest, &mut out) } else { out.push(c) }
        }
        out
    }

    /// The font by its roff name; gives its mark.
    pub(super) fn change(&mut self, name: &str) -> char {
        let font = match name {
            "P" | "" => self.previous,
            "B" | "3" | "BI" | "4" | "b" => BOLD,
            "I" | "2" | "i" => ITALIC,
            name if name.starts_with('C') || name == "L" => CODE,
            _ => ROMAN,
        };
        self.previous = self.current;
        self.current = font;
        font
    }

    fn escape(&mut self, rest: &mut Chars<'_>, out: &mut String) {
        let Some(c) = rest.next() else { return };
        match c {
            '-' => out.push('-'),
            'e' | '\\' => out.push('\\'),
            ' ' | '~' | '0' => out.push(' '),
            't' => out.push('\t'),
            '(' => push_glyph(out, &name_of_two(rest)),
            '[' => push_glyph(out, &until(rest, ']')),
            'C' => push_glyph(out, &quoted(rest)),
            'N' => push_glyph(out, &format!("char{}", quoted(rest))),
            'f' => {
                let font = self.change(&named(rest));
                out.push(font);
            }
            'F' | 'g' | 'k' | 'm' | 'M' | 'n' | 'O' | 'V' | 'Y' | '*' | '$' => {
                named(rest);
            }
            's' => size(rest),
            'h' => {
                let by = quoted(rest);
                let back = by.starts_with('-');
                if !back && by.chars().any(|c| matches!(c, '1'..='9')) && !by.starts_with("\\w") {
                    out.push(' ');
                }
            }
            'o' | 'b' | 'Z' => {
                let inner = quoted(rest);
                let text = Self::default().text(&inner);
                out.push_str(&text);
            }
            'A' | 'B' | 'D' | 'H' | 'l' | 'L' | 'R' | 'S' | 'v' | 'w' | 'x' | 'X' => {
                quoted(rest);
            }
            'c' => out.push(NO_SPACE),
            'E' => self.escape(rest, out),
            '\'' | '´' => out.push('\''),
            '`' => out.push('`'),
            // Nothing to see: breaks that may be, thin spaces, marks of blocks.
            '&' | ')' | '%' | ':' | '/' | ',' | '|' | '^' | '!' | '?' | 'a' | 'd' | 'u' | 'r'
            | 'p' | 'z' | '{' | '}' => {}
            other if other.is_control() => {}
            other => out.push(other),
        }
    }
}

fn push_glyph(out: &mut String, name: &str) {
    match glyph(name) {
        Some(glyph) => out.push_str(&glyph),
        // Better a name that can be read than a gap.
        None if name.len() > 2 => out.extend(name.chars().filter(|c| !c.is_control())),
        None => {}
    }
}

fn name_of_two(rest: &mut Chars<'_>) -> String {
    rest.take(2).collect()
}

fn until(rest: &mut Chars<'_>, end: char) -> String {
    let text = rest.as_str();
    let at = text.char_indices().take(MAX_ESCAPE_CHARS).find(|(_, c)| *c == end).map(|(at, _)| at);
    let Some(at) = at else { return String::new() };
    *rest = text.get(at + end.len_utf8()..).unwrap_or_default().chars();
    text.get(..at).unwrap_or_default().to_owned()
}

/// A name of one character, of two after `(`, or of any length in brackets.
pub(super) fn named(rest: &mut Chars<'_>) -> String {
    match rest.next() {
        Some('(') => name_of_two(rest),
        Some('[') => until(rest, ']'),
        Some(c) => c.to_string(),
        None => String::new(),
    }
}

/// The text between two equal delimiters.
fn quoted(rest: &mut Chars<'_>) -> String {
    rest.next().map(|quote| until(rest, quote)).unwrap_or_default()
}

/// A change of size: `\s+1`, `\s10`, `\s(10`, `\s[10]`, `\s'10'`.
fn size(rest: &mut Chars<'_>) {
    let mut after = rest.as_str().trim_start_matches(['+', '-']);
    match after.chars().next() {
        Some('(') => after = after.get(3..).unwrap_or_default(),
        Some('[') => after = after.split_once(']').map_or("", |(_, after)| after),
        Some('\'') => after = after.splitn(3, '\'').nth(2).unwrap_or_default(),
        // Two digits are one number only up to 39.
        Some('1'..='3') => {
            after = after.get(1..).unwrap_or_default();
            after = after.strip_prefix(|c: char| c.is_ascii_digit()).unwrap_or(after);
        }
        Some(c) if c.is_ascii_digit() => after = after.get(1..).unwrap_or_default(),
        _ => {}
    }
    *rest = after.chars();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::marks::plain;

    #[test]
    fn escapes_become_text() {
        let cases = [
            (r"\-\-all\&.", "--all."),
            (r"a\(emb\[aq]c\*(xx", "a—b'c"),
            (r"\s-1SMALL\s0 \s10x\s+2y", "SMALL xy"),
            (r"\fBbold\fR \f(CWx\fP \f[I]y\f[]", "bold x y"),
            (r"\h'-04'\(bu\h'+03'text", "• text"),
            (r"C:\edir\\x", r"C:\dir\x"),
            (r"\w'abc'u\v'1'\D'l 1 1'z", "uz"),
            (r"\o'ab'\zc\N'65'", "abcA"),
            (r"hy\%phen\:ated\~x\0y", "hyphenated x y"),
            (r"open \[", "open "),
            (r"open \(", "open "),
            (r"open \h'", "open "),
            (r"open \s(é", "open "),
            (r"end\", "end"),
        ];
        for (line, want) in cases {
            assert_eq!(plain(&Fonts::default().text(line)), want, "{line}");
        }
    }

    #[test]
    fn fonts_go_back_to_the_one_before() {
        let mut fonts = Fonts::default();
        assert_eq!(fonts.text(r"\fIa\fBb\fPc"), "\u{3}a\u{2}b\u{3}c");
        assert_eq!(fonts.text(r"\fRd"), "\u{1}d");
    }
}
