//! Marks within a line: fonts, links, macros and quotes become text with marks.

use crate::read::marks::{self, BOLD, CODE, ITALIC, ROMAN};
use std::cell::Cell;

/// Maximum bytes searched for the end of a mark.
const MAX_MARK_BYTES: usize = 2_000;
/// Maximum nesting of marks.
const MAX_MARK_DEPTH: usize = 6;

/// Converts a text to marks. Attributes are already substituted.
pub(super) fn convert_marks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    Inline { out: &mut out, depth: 0, search: &EndSearchBudget::of(text) }.write(text);
    out
}

/// The remaining budget for failed searches, so that unclosed marks cost no more than others.
#[derive(Debug)]
pub(super) struct EndSearchBudget {
    left: Cell<usize>,
}

impl EndSearchBudget {
    /// For a text.
    pub(super) const fn of(text: &str) -> Self {
        Self { left: Cell::new(8 * MAX_MARK_BYTES + 8 * text.len()) }
    }

    /// The text between two marks, the second not too far from the first.
    pub(super) fn between<'a>(&self, text: &'a str, open: &str, close: &str) -> Option<&'a str> {
        let rest = text.strip_prefix(open)?;
        rest.get(..self.find(rest, close)?)
    }

    /// Spends budget for a failed search.
    fn spend(&self, by: usize) {
        self.left.set(self.left.get().saturating_sub(by));
    }

    /// Where a mark is.
    pub(super) fn find(&self, text: &str, mark: &str) -> Option<usize> {
        let window = text.get(..floor(text, MAX_MARK_BYTES.min(self.left.get())))?;
        let found = window.find(mark);
        if found.is_none() {
            self.spend(window.len().max(1));
        }
        found
    }
}

struct Inline<'o> {
    out: &'o mut String,
    depth: usize,
    search: &'o EndSearchBudget,
}

impl Inline<'_> {
    fn write(&mut self, text: &str) {
        let mut rest = text;
        let mut before = ' ';
        while let Some(c) = rest.chars().next() {
            // Long stretches without any mark are the rule.
            let plain = next_mark(rest, before);
            if plain > 0 {
                let (text, after) = rest.split_at(plain);
                self.out.push_str(text);
                before = text.chars().next_back().unwrap_or(before);
                rest = after;
                continue;
            }
            let taken = self.taken(rest, before).filter(|taken| *taken > 0);
            let taken = taken.unwrap_or_else(|| {
                self.out.push(c);
                c.len_utf8()
            });
            let (done, after) = rest.split_at(taken.min(rest.len()));
            before = done.chars().next_back().unwrap_or(before);
            rest = after;
        }
    }

    /// Writes the mark that a text starts with; says how many bytes it takes.
    fn taken(&mut self, text: &str, before: char) -> Option<usize> {
        match text.chars().next()? {
            '\\' => {
                let next =
                    text.chars().nth(1).filter(|c| special(*c) || c.is_ascii_alphabetic())?;
                if next.is_ascii_alphabetic() && macro_at(text.get(1..)?).is_none() {
                    return None;
                }
                self.out.push(next);
                Some(1 + next.len_utf8())
            }
            '+' => self.passed(text, before),
            '$' => {
                let inner = self.search.between(text, "$$", "$$")?;
                self.out.push_str(inner);
                Some(inner.len() + 4)
            }
            '`' | '*' | '_' | '#' => self.font(text, before),
            '"' | '\'' => self.quoted(text),
            '[' => self.bracket(text),
            '<' => self.reference(text),
            '(' => self.index_term(text),
            '-' => {
                let after = text.strip_prefix("-- ")?;
                if before != ' ' {
                    return None;
                }
                self.out.push_str("— ");
                Some(text.len() - after.len())
            }
            '&' => {
                let (entity, shown) = entity(text)?;
                self.out.push_str(&shown);
                Some(entity)
            }
            _ => super::inline_macro::write(self.out, text, self.search),
        }
    }

    /// Text that is to be left alone.
    fn passed(&mut self, text: &str, before: char) -> Option<usize> {
        for fence in ["+++", "++", "+"] {
            let Some(inner) = self.search.between(text, fence, fence) else { continue };
            if fence == "+" && !stands_apart(inner, before, text.get(inner.len() + 2..)?) {
                continue;
            }
            self.out.push_str(inner);
            return Some(inner.len() + 2 * fence.len());
        }
        None
    }

    fn font(&mut self, text: &str, before: char) -> Option<usize> {
        let mark = text.chars().next()?;
        let font = match mark {
            '`' => CODE,
            '*' => BOLD,
            '_' => ITALIC,
            _ => ROMAN,
        };
        // Two quotes of either kind are those of a typewriter.
        if let Some(inner) = self.search.between(text, "``", "''") {
            self.out.push('“');
            self.nested(inner, ROMAN);
            self.out.push('”');
            return Some(inner.len() + 4);
        }
        let double = mark.to_string().repeat(2);
        if let Some(inner) =
            self.search.between(text, &double, &double).filter(|inner| !inner.is_empty())
        {
            self.nested(inner, font);
            return Some(inner.len() + 4);
        }
        let single = mark.to_string();
        let mut end = 1;
        // The first mark that ends a word ends the font.
        while end < MAX_MARK_BYTES {
            let at = end + self.search.find(text.get(end..)?, &single)?;
            let inner = text.get(1..at)?;
            if stands_apart(inner, before, text.get(at + 1..)?) {
                self.nested(inner, font);
                return Some(at + 1);
            }
            end = at + 1;
        }
        self.search.spend(end);
        None
    }

    fn nested(&mut self, inner: &str, font: char) {
        if font == CODE {
            let inner =
                inner.strip_prefix('+').and_then(|inner| inner.strip_suffix('+')).unwrap_or(inner);
            let mut text = String::new();
            if inner.contains(':') || inner.contains("<<") {
                Inline { out: &mut text, depth: MAX_MARK_DEPTH, search: self.search }.code(inner);
            } else {
                inner.clone_into(&mut text);
            }
            self.out.push_str(&marks::font(CODE, &text));
            return;
        }
        if font != ROMAN {
            self.out.push(font);
        }
        if self.depth >= MAX_MARK_DEPTH {
            self.out.push_str(inner);
        } else {
            Inline { out: self.out, depth: self.depth + 1, search: self.search }.write(inner);
        }
        if font != ROMAN {
            self.out.push(ROMAN);
        }
    }

    /// In code only links and references are more than text.
    fn code(&mut self, text: &str) {
        let link = ["link:", "xref:", "<<"].iter().any(|mark| text.starts_with(mark));
        let taken = if !link {
            None
        } else if text.starts_with('<') {
            self.reference(text)
        } else {
            super::inline_macro::write(self.out, text, self.search)
        };
        let rest = text.get(taken.unwrap_or_default()..).unwrap_or_default();
        self.out.push_str(rest);
    }

    /// `"`quoted`"` in curved quotes.
    fn quoted(&mut self, text: &str) -> Option<usize> {
        let (open, close, left, right) = if text.starts_with('"') {
            ("\"`", "`\"", '“', '”')
        } else {
            ("'`", "`'", '‘', '’')
        };
        let inner = self.search.between(text, open, close)?;
        self.out.push(left);
        self.nested(inner, ROMAN);
        self.out.push(right);
        Some(inner.len() + 4)
    }

    /// Anchors and roles say nothing; other brackets are text.
    fn bracket(&mut self, text: &str) -> Option<usize> {
        let entry = self.search.between(text, "[[[", "]]]");
        if let Some(reference) = entry.filter(|inner| !inner.contains("]]")) {
            // An entry of a bibliography.
            let label = reference.rsplit(',').next().unwrap_or(reference).trim();
            self.out.push('[');
            self.out.push_str(label);
            self.out.push(']');
            return Some(reference.len() + 6);
        }
        if let Some(inner) = self.search.between(text, "[[", "]]") {
            return Some(inner.len() + 4);
        }
        let inner = self.search.between(text, "[", "]")?;
        let after = text.get(inner.len() + 2..)?;
        let is_role = inner.starts_with(['.', '#', '%'])
            || inner.chars().all(|c| c.is_ascii_alphanumeric() || "-_. ".contains(c));
        (is_role && !inner.is_empty() && after.starts_with(['#', '*', '_', '`']))
            .then_some(inner.len() + 2)
    }

    /// `<<id,text>>`.
    fn reference(&mut self, text: &str) -> Option<usize> {
        let inner = self.search.between(text, "<<", ">>").filter(|inner| !inner.is_empty())?;
        let (id, label) = inner.split_once(',').unwrap_or((inner, ""));
        let id = id.trim();
        let target = if id.contains(['#', '/', '.']) { id.to_owned() } else { format!("#{id}") };
        let label = if label.trim().is_empty() { id.trim_start_matches('#') } else { label.trim() };
        self.out.push_str(&marks::link(&target, &marks::plain(&marked_once(label))));
        Some(inner.len() + 4)
    }

    /// `((term))` is shown, `(((term)))` is not.
    fn index_term(&mut self, text: &str) -> Option<usize> {
        if let Some(inner) = self.search.between(text, "(((", ")))") {
            return Some(inner.len() + 6);
        }
        if let Some(inner) = self.search.between(text, "((", "))") {
            self.out.push_str(inner);
            return Some(inner.len() + 4);
        }
        let (mark, sign) = [("(C)", '©'), ("(R)", '®'), ("(TM)", '™')]
            .into_iter()
            .find(|(mark, _)| text.starts_with(mark))?;
        self.out.push(sign);
        Some(mark.len())
    }
}

/// A label without its own marks.
pub(super) fn marked_once(label: &str) -> String {
    let mut out = String::new();
    Inline { out: &mut out, depth: MAX_MARK_DEPTH, search: &EndSearchBudget::of(label) }
        .write(label);
    out
}

fn special(c: char) -> bool {
    matches!(c, '\\' | '+' | '$' | '`' | '*' | '_' | '#' | '"' | '\'' | '[' | '<' | '(' | '-' | '&')
}

/// Where the next mark, or the next word that may be a macro, begins.
fn next_mark(text: &str, before: char) -> usize {
    let mut last = before;
    for (at, c) in text.char_indices() {
        let starts = c.is_ascii_alphabetic() && !last.is_alphanumeric();
        if special(c) || (starts && macro_at(text.get(at..).unwrap_or_default()).is_some()) {
            return at;
        }
        last = c;
    }
    text.len()
}

/// Whether a text starts with the name of a macro: gives the name.
pub(super) fn macro_at(text: &str) -> Option<&str> {
    let end = text.char_indices().take(14).find(|(_, c)| *c == ':')?.0;
    let name = text.get(..end)?;
    super::inline_macro::NAMES.contains(&name).then_some(name)
}

fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Whether a mark is at word boundaries.
fn stands_apart(inner: &str, before: char, after: &str) -> bool {
    let edge = |c: char| c.is_whitespace();
    !inner.is_empty()
        && !inner.starts_with(edge)
        && !inner.ends_with(edge)
        && !before.is_alphanumeric()
        && !after.starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

fn entity(text: &str) -> Option<(usize, String)> {
    let end = text.char_indices().take(10).find(|(_, c)| *c == ';')?.0;
    let inner = text.get(1..end)?;
    let shown = match inner {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "nbsp" => ' ',
        "quot" => '"',
        "apos" => '\'',
        "mdash" => '—',
        "ndash" => '–',
        "hellip" => '…',
        "copy" => '©',
        _ => {
            let code = inner.strip_prefix('#')?;
            let code = match code.strip_prefix(['x', 'X']) {
                Some(code) => u32::from_str_radix(code, 16).ok()?,
                None => code.parse().ok()?,
            };
            char::from_u32(code).filter(|c| !c.is_control())?
        }
    };
    Some((inner.len() + 2, shown.to_string()))
}
