//! Marks inside a paragraph: literals, roles, links, emphasis and substitutions.

use super::{compose::append, names::RstNames, roles};
use crate::document::LinkedText;

/// Maximum bytes of a role or substitution name.
const MAX_NAME_BYTES: usize = 100;

/// The context that marks of a document refer to.
pub(super) struct RstScope<'a> {
    pub(super) names: &'a RstNames,
    /// The ending of the documents beside this one, such as `.rst`.
    pub(super) ending: &'a str,
    /// Anonymous links seen so far.
    pub(super) anonymous: usize,
    /// Whether this is the text of a substitution.
    pub(super) substituting: bool,
}

/// A text with its marks read.
pub(super) fn read(text: &str, scope: &mut RstScope<'_>) -> LinkedText {
    let mut reader =
        RstInlineReader { text, at: 0, out: LinkedText::default(), scope, dead: [false; 4] };
    while let Some(rest) = reader.text.get(reader.at..) {
        let Some(found) = rest.find(['`', '*', '|', '_', '\\', '[', ':']) else {
            reader.out.plain.push_str(rest);
            break;
        };
        let (before, mark) = rest.split_at_checked(found).unwrap_or((rest, ""));
        reader.out.plain.push_str(before);
        reader.at += found;
        if !reader.mark(mark) {
            reader.out.plain.push_str(mark.get(..1).unwrap_or_default());
            reader.at += 1;
        }
    }
    reader.out
}

/// Marks whose end may be missing: if it is missing once, it is for all that follow.
#[derive(Clone, Copy)]
enum RstInlineMark {
    Literal,
    Strong,
    Emphasis,
    Phrase,
}

struct RstInlineReader<'a, 'b, 'c> {
    text: &'a str,
    at: usize,
    out: LinkedText,
    scope: &'b mut RstScope<'c>,
    dead: [bool; 4],
}

impl<'a> RstInlineReader<'a, '_, '_> {
    /// Reads the mark at this position. False if there is none.
    fn mark(&mut self, rest: &'a str) -> bool {
        match rest.as_bytes() {
            [b'\\', ..] => self.escape(rest),
            [b'`', b'`', ..] => self.starts(2) && self.literal(rest),
            [b'`', ..] => self.starts(1) && self.phrase(rest),
            [b'*', b'*', ..] => self.starts(2) && self.emphasis(rest, "**", RstInlineMark::Strong),
            [b'*', ..] => self.starts(1) && self.emphasis(rest, "*", RstInlineMark::Emphasis),
            [b'|', ..] => self.starts(1) && self.substitution(rest),
            [b'[', ..] => self.footnote(rest),
            [b':', ..] => self.starts(1) && self.role(rest),
            [b'_', b'`', ..] => self.starts(2) && self.target(rest),
            [b'_', ..] => self.reference(rest),
            _ => false,
        }
    }

    /// Whether a mark of this length may start here: separate from the text before, adjacent to the text after.
    fn starts(&self, length: usize) -> bool {
        let before = self.text.get(..self.at).and_then(|text| text.chars().next_back());
        let behind = self.text.get(self.at + length..).and_then(|text| text.chars().next());
        let apart = before.is_none_or(|c| c.is_whitespace() || "'\"([{<-/:–—‘“«¿¡".contains(c));
        apart && behind.is_some_and(|c| !c.is_whitespace())
    }

    fn escape(&mut self, rest: &str) -> bool {
        let Some(c) = rest.chars().nth(1) else { return false };
        if !c.is_whitespace() {
            self.out.plain.push(c);
        }
        self.at += 1 + c.len_utf8();
        true
    }

    /// Where the mark ends that starts at the beginning of `inside`.
    fn end(&mut self, inside: &str, close: &str, mark: RstInlineMark) -> Option<usize> {
        if self.dead.get(mark as usize).copied().unwrap_or(true) {
            return None;
        }
        let mut from = 0;
        while let Some(found) = inside.get(from..).and_then(|rest| rest.find(close)) {
            let at = from + found;
            let before = inside.get(..at).and_then(|text| text.chars().next_back());
            let behind = inside.get(at + close.len()..).and_then(|text| text.chars().next());
            let inner = before.is_some_and(|c| {
                !c.is_whitespace() && (c != '\\' || matches!(mark, RstInlineMark::Literal))
            });
            let outer =
                behind.is_none_or(|c| c.is_whitespace() || c == '\\' || !c.is_alphanumeric());
            if inner && outer {
                return Some(at);
            }
            from = at + close.len();
        }
        if let Some(dead) = self.dead.get_mut(mark as usize) {
            *dead = true;
        }
        None
    }

    fn literal(&mut self, rest: &str) -> bool {
        let inside = rest.get(2..).unwrap_or_default();
        let Some(end) = self.end(inside, "``", RstInlineMark::Literal) else { return false };
        roles::code(&mut self.out, inside.get(..end).unwrap_or_default(), None);
        self.at += end + 4;
        true
    }

    fn emphasis(&mut self, rest: &str, mark: &str, which: RstInlineMark) -> bool {
        let inside = rest.get(mark.len()..).unwrap_or_default();
        let Some(end) = self.end(inside, mark, which) else { return false };
        self.out.plain.push_str(&unescape(inside.get(..end).unwrap_or_default()));
        self.at += end + mark.len() * 2;
        true
    }

    fn substitution(&mut self, rest: &str) -> bool {
        let inside = rest.get(1..).unwrap_or_default();
        let Some(end) = inside.find('|').filter(|end| *end <= MAX_NAME_BYTES) else { return false };
        let name = inside.get(..end).unwrap_or_default();
        let Some(value) = self.scope.names.substitution(name) else { return false };
        let after = inside.get(end + 1..).unwrap_or_default();
        let marks = after.bytes().take_while(|byte| *byte == b'_').count().min(2);
        let names = self.scope.names;
        let value = if self.scope.substituting {
            LinkedText::new(value)
        } else {
            // A substitution may contain marks, but not itself again.
            let mut scope = RstScope { names, substituting: true, ..*self.scope };
            read(value, &mut scope)
        };
        match names.target(name).filter(|_| marks > 0) {
            Some(target) => self.out.link(&value.plain, target),
            None => append(&mut self.out, &value),
        }
        self.at += end + 2 + marks;
        true
    }

    fn footnote(&mut self, rest: &str) -> bool {
        let inside = rest.get(1..).unwrap_or_default();
        // Only as far as a label goes: the rest may be long, and full of brackets.
        let length = inside.bytes().take(MAX_NAME_BYTES).position(|byte| b"[] \n".contains(&byte));
        let Some(end) = length.filter(|length| *length > 0).map(|length| length + 1) else {
            return false;
        };
        if !rest.get(end..).is_some_and(|rest| rest.starts_with("]_")) {
            return false;
        }
        self.out.plain.push_str(rest.get(..=end).unwrap_or_default());
        self.at += end + 2;
        true
    }

    /// `` :role:`content` ``
    fn role(&mut self, rest: &str) -> bool {
        let inside = rest.get(1..).unwrap_or_default();
        let length = inside.bytes().take(MAX_NAME_BYTES).position(|byte| byte == b'`');
        let Some(length) = length.and_then(|length| length.checked_sub(1)) else { return false };
        let name = inside.get(..length).unwrap_or_default();
        if !is_role(name) || !inside.get(length..).is_some_and(|rest| rest.starts_with(':')) {
            return false;
        }
        let content = inside.get(length + 2..).unwrap_or_default();
        let Some(end) = self.end(content, "`", RstInlineMark::Phrase) else { return false };
        roles::write(&mut self.out, name, content.get(..end).unwrap_or_default(), self.scope);
        self.at += 1 + length + 2 + end + 1;
        true
    }

    /// `` `content` `` as a link, followed by a role, or alone.
    fn phrase(&mut self, rest: &str) -> bool {
        let inside = rest.get(1..).unwrap_or_default();
        let Some(end) = self.end(inside, "`", RstInlineMark::Phrase) else { return false };
        let content = inside.get(..end).unwrap_or_default();
        let after = inside.get(end + 1..).unwrap_or_default();
        self.at += end + 2;
        if after.starts_with("__") {
            self.at += 2;
            self.link(content, true);
        } else if after.starts_with('_') {
            self.at += 1;
            self.link(content, false);
        } else {
            let role = after.strip_prefix(':').and_then(|rest| rest.split_once(':'));
            match role.filter(|(name, _)| name.len() <= MAX_NAME_BYTES && is_role(name)) {
                Some((name, _)) => {
                    self.at += name.len() + 2;
                    roles::write(&mut self.out, name, content, self.scope);
                }
                None => roles::code(&mut self.out, &unescape(content), None),
            }
        }
        true
    }

    fn link(&mut self, content: &str, anonymous: bool) {
        let (label, target) = roles::explicit(content);
        let label = unescape(label);
        let target = match target {
            Some(target) => {
                let named = target.strip_suffix('_').and_then(|name| self.scope.names.target(name));
                Some(named.unwrap_or(target).to_owned())
            }
            None if anonymous => {
                let n = self.scope.anonymous;
                self.scope.anonymous += 1;
                self.scope.names.anonymous(n).map(str::to_owned)
            }
            None => self.scope.names.target(&label).map(str::to_owned),
        };
        match target {
            Some(target) => self.out.link(&label, target),
            None => self.out.plain.push_str(&label),
        }
    }

    /// `` _`text` `` names a place.
    fn target(&mut self, rest: &str) -> bool {
        let inside = rest.get(2..).unwrap_or_default();
        let Some(end) = self.end(inside, "`", RstInlineMark::Phrase) else { return false };
        self.out.plain.push_str(inside.get(..end).unwrap_or_default());
        self.at += end + 3;
        true
    }

    /// `name_`, where the name is already written.
    fn reference(&mut self, rest: &str) -> bool {
        let marks = if rest.starts_with("__") { 2 } else { 1 };
        let behind = rest.get(marks..).and_then(|rest| rest.chars().next());
        if behind.is_some_and(|c| c.is_alphanumeric() || c == '_') {
            return false;
        }
        let linked = self.out.links.last().map_or(0, |link| link.label.end);
        let free = self.out.plain.get(linked..).unwrap_or_default();
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '+' | ':');
        let start =
            free.char_indices().rev().take(MAX_NAME_BYTES).take_while(|(_, c)| is_name(*c)).last();
        let Some((start, _)) = start else { return false };
        let name = free.get(start..).unwrap_or_default().to_owned();
        let target = if marks == 2 {
            let n = self.scope.anonymous;
            self.scope.anonymous += usize::from(self.scope.names.anonymous(n).is_some());
            self.scope.names.anonymous(n)
        } else {
            self.scope.names.target(&name)
        };
        let Some(target) = target.map(str::to_owned) else { return false };
        self.out.plain.truncate(linked + start);
        self.out.link(&name, target);
        self.at += marks;
        true
    }
}

fn is_role(name: &str) -> bool {
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '+' | ':');
    !name.is_empty() && name.chars().all(allowed)
}

/// Removes backslash escapes.
pub(super) fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => out.extend(rest.next().filter(|c| !c.is_whitespace())),
            c => out.push(c),
        }
    }
    out
}
