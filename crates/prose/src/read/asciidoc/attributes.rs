//! Attributes of a document: the values of `{name}`.

use std::collections::HashMap;

/// Maximum depth of nested attribute references.
const MAX_SUBSTITUTION_DEPTH: usize = 5;
/// Maximum bytes that attributes may add to a text.
const MAX_GROWTH_BYTES: usize = 64 << 10;
/// Maximum bytes inserted by attributes in total.
const MAX_SUBSTITUTED_BYTES: usize = 8 << 20;
/// Maximum attributes kept.
const MAX_ATTRIBUTES: usize = 5_000;
/// Built-in attributes.
const BUILT_IN: [(&str, &str); 32] = [
    ("empty", ""),
    ("sp", " "),
    ("nbsp", " "),
    ("zwsp", ""),
    ("wj", ""),
    ("apos", "'"),
    ("quot", "\""),
    ("lsquo", "‘"),
    ("rsquo", "’"),
    ("ldquo", "“"),
    ("rdquo", "”"),
    ("deg", "°"),
    ("plus", "+"),
    ("brvbar", "¦"),
    ("vbar", "|"),
    ("amp", "&"),
    ("lt", "<"),
    ("gt", ">"),
    ("startsb", "["),
    ("endsb", "]"),
    ("caret", "^"),
    ("asterisk", "*"),
    ("tilde", "~"),
    ("backslash", "\\"),
    ("backtick", "`"),
    ("two-colons", "::"),
    ("two-semicolons", ";;"),
    ("cpp", "C++"),
    ("pp", "++"),
    ("litdd", "--"),
    ("blank", ""),
    ("cxx", "C++"),
];

/// Attribute names with their values.
#[derive(Debug, Clone, Default)]
pub(super) struct AsciidocAttributes {
    values: HashMap<String, String>,
    counters: HashMap<String, u32>,
    /// Bytes inserted so far.
    spent: usize,
}

/// The name and the value of a line that sets an attribute; without a value it is unset.
pub(super) fn entry(line: &str) -> Option<(&str, Option<&str>)> {
    let rest = line.strip_prefix(':')?;
    let (name, value) = rest.split_once(':')?;
    if !value.is_empty() && !value.starts_with([' ', '\t']) {
        return None;
    }
    let unset = name.starts_with('!') || name.ends_with('!');
    let name = name.trim_matches('!');
    let is_name =
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
    is_name.then(|| (name, (!unset).then(|| value.trim())))
}

impl AsciidocAttributes {
    /// Sets or unsets one.
    pub(super) fn set(&mut self, name: &str, value: Option<&str>) {
        let name = name.to_lowercase();
        match value {
            Some(value) if self.values.len() < MAX_ATTRIBUTES => {
                let value = self.expand(value);
                self.values.insert(name, value);
            }
            _ => {
                self.values.remove(&name);
            }
        }
    }

    /// The value of one that the document sets.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.values.get(&name.to_lowercase()).map(String::as_str)
    }

    /// Substitutes attributes in a text; unknown ones stay as written.
    pub(super) fn expand(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for _ in 0..MAX_SUBSTITUTION_DEPTH {
            if !text.contains('{') || self.spent > MAX_SUBSTITUTED_BYTES {
                break;
            }
            let next = self.expand_once(&text);
            // What stays as it was has cost nothing but reading it.
            self.spent += if next == text { 0 } else { next.len().min(MAX_GROWTH_BYTES) };
            if next == text || next.len() > text.len() + MAX_GROWTH_BYTES {
                break;
            }
            text = next;
        }
        text
    }

    fn expand_once(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            out.push_str(before);
            rest = after;
            if out.ends_with('\\') || out.len() > text.len() + MAX_GROWTH_BYTES {
                out.push('{');
                continue;
            }
            let end =
                after.char_indices().take(100).find(|(_, c)| matches!(c, '}' | '{' | '\n' | ' '));
            let end = end.map(|(end, _)| end);
            let name = end.filter(|end| after.get(*end..).is_some_and(|end| end.starts_with('}')));
            let name = name.and_then(|end| after.get(..end)).unwrap_or_default();
            match self.value(name) {
                Some(value) => {
                    out.push_str(&value);
                    rest = after.get(name.len() + 1..).unwrap_or_default();
                }
                None => out.push('{'),
            }
        }
        out.push_str(rest);
        out
    }

    fn value(&mut self, name: &str) -> Option<String> {
        if let Some(counter) = name.strip_prefix("counter:").or(name.strip_prefix("counter2:")) {
            let (counter, from) = counter.split_once(':').unwrap_or((counter, "1"));
            let from = from.parse().unwrap_or(1_u32);
            let known = self.counters.len() < MAX_ATTRIBUTES;
            let value = self.counters.entry(counter.to_owned()).or_insert(from.saturating_sub(1));
            *value = value.saturating_add(1);
            let shown = known && !name.starts_with("counter2");
            return Some(if shown { value.to_string() } else { String::new() });
        }
        if name.starts_with("set:") {
            return Some(String::new());
        }
        let known = BUILT_IN.iter().find(|(known, _)| *known == name);
        self.get(name).or(known.map(|(_, value)| *value)).map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_put_in_within_bounds() {
        let mut attributes = AsciidocAttributes::default();
        attributes.set("a", Some("one {b}"));
        attributes.set("b", Some("two"));
        attributes.set("loop", Some("{loop}{loop}"));
        let cases = [
            ("{a}", "one two"),
            ("{B} \\{b} {none} {", "two \\{b} {none} {"),
            ("{counter:x}{counter:x}", "12"),
            ("{plus}{empty}", "+"),
        ];
        for (text, want) in cases {
            assert_eq!(attributes.expand(text), want, "{text}");
        }
        for _ in 0..40 {
            attributes.set("loop", Some("{loop}{loop}x"));
        }
        assert!(attributes.expand("{loop}").len() < 4 * MAX_GROWTH_BYTES);
    }

    #[test]
    fn entries_are_distinguished_from_text() {
        assert_eq!(entry(":toc:"), Some(("toc", Some(""))));
        assert_eq!(entry(":!toc:"), Some(("toc", None)));
        assert_eq!(entry(":a-b: c: d"), Some(("a-b", Some("c: d"))));
        assert_eq!(entry(":a b: c"), None);
        assert_eq!(entry("::"), None);
    }
}
