//! Tokenizes manifests that are programs, so that their literal parts can be read. Must not know their meaning, and
//! runs nothing.

use std::ops::Range;

/// Comment syntax of a language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommentStyle {
    /// `// …` and `/* … */`.
    Slashes,
    /// `# …`.
    Hash,
}

/// A token of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScriptToken<'t> {
    /// Letters, digits, `_` and `@`.
    Word(&'t str),
    /// A quoted string.
    Text(&'t str),
    /// Any other character.
    Sign(char),
    /// End of line.
    End,
}

/// A tokenized program.
#[derive(Debug)]
pub(super) struct TokenizedScript<'t> {
    tokens: Vec<ScriptToken<'t>>,
    /// Index of the closing bracket for each opening one; otherwise the number of tokens.
    closing: Vec<usize>,
}

impl<'t> TokenizedScript<'t> {
    /// Tokenizes a program.
    pub(super) fn new(text: &'t str, comments: CommentStyle) -> Self {
        let tokens = tokenize(text, comments);
        let mut closing = vec![tokens.len(); tokens.len()];
        let mut open: Vec<(char, usize)> = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            match token {
                ScriptToken::Sign('(') => open.push((')', at)),
                ScriptToken::Sign('[') => open.push((']', at)),
                ScriptToken::Sign('{') => open.push(('}', at)),
                ScriptToken::Sign(sign @ (')' | ']' | '}')) => {
                    // An unmatched closing bracket is skipped.
                    if open.last().is_some_and(|(wanted, _)| wanted == sign)
                        && let Some((_, start)) = open.pop()
                    {
                        closing[start] = at;
                    }
                }
                _ => {}
            }
        }
        Self { tokens, closing }
    }

    /// Returns the range of all tokens.
    pub(super) fn tokens(&self) -> &[ScriptToken<'t>] {
        &self.tokens
    }

    /// Returns the token at an index.
    pub(super) fn get(&self, at: usize) -> Option<ScriptToken<'t>> {
        self.tokens.get(at).copied()
    }

    /// Returns the word at an index.
    pub(super) fn word(&self, at: usize) -> Option<&'t str> {
        match self.get(at) {
            Some(ScriptToken::Word(word)) => Some(word),
            _ => None,
        }
    }

    /// Returns the string at an index.
    pub(super) fn text(&self, at: usize) -> Option<&'t str> {
        match self.get(at) {
            Some(ScriptToken::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Whether this character is at an index.
    pub(super) fn is(&self, at: usize, sign: char) -> bool {
        self.get(at) == Some(ScriptToken::Sign(sign))
    }

    /// Returns the range inside the brackets at an index; empty if there is none.
    pub(super) fn inside(&self, at: usize) -> Range<usize> {
        match self.closing.get(at) {
            Some(end) if *end < self.tokens.len() => at + 1..*end,
            _ => at + 1..at + 1,
        }
    }

    /// Returns the index after the matching bracket, or after this single token.
    pub(super) fn after(&self, at: usize) -> usize {
        let end = self.closing.get(at).filter(|end| **end < self.tokens.len());
        end.unwrap_or(&at) + 1
    }

    /// Splits at commas outside nested brackets; drops line ends.
    pub(super) fn parts(&self, range: Range<usize>) -> Vec<Vec<usize>> {
        let mut parts: Vec<Vec<usize>> = vec![Vec::new()];
        let mut at = range.start;
        while at < range.end {
            let next = self.after(at).min(range.end);
            if self.is(at, ',') {
                parts.push(Vec::new());
            } else if self.get(at) != Some(ScriptToken::End)
                && let Some(part) = parts.last_mut()
            {
                part.extend(at..next);
            }
            at = next;
        }
        parts.retain(|part| !part.is_empty());
        parts
    }

    /// Splits into statements at line ends, unless a bracket or comma continues the line. Braces contain their own
    /// statements.
    pub(super) fn statements(&self, range: Range<usize>) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let (mut start, mut at) = (range.start, range.start);
        while at < range.end {
            let carried = at > start && self.is(at - 1, ',');
            let ends = match self.tokens[at] {
                ScriptToken::End => !carried,
                ScriptToken::Sign('{' | '}' | ';') => true,
                _ => false,
            };
            if ends {
                if at > start {
                    found.push(start..at);
                }
                start = at + 1;
            }
            let round = self.is(at, '(') || self.is(at, '[');
            at = if round { self.after(at) } else { at + 1 };
        }
        if start < range.end {
            found.push(start..range.end);
        }
        found
    }

    /// Reads a list of strings only: `["a", 'b']`, with the bracket at this index.
    pub(super) fn list(&self, at: usize) -> Option<Vec<&'t str>> {
        let closed = self.after(at) > at + 1 && !self.is(at, '{');
        let mut texts = Vec::new();
        for token in self.tokens.get(self.inside(at)).filter(|_| closed)? {
            match token {
                ScriptToken::Text(text) => texts.push(*text),
                ScriptToken::End | ScriptToken::Sign(',') => {}
                _ => return None,
            }
        }
        Some(texts)
    }
}

/// Whether a string contains interpolation.
pub(super) fn is_computed(text: &str) -> bool {
    text.contains("#{") || text.contains('$') || text.contains("\\(")
}

fn tokenize(text: &str, comments: CommentStyle) -> Vec<ScriptToken<'_>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '\n' => {
                tokens.push(ScriptToken::End);
                1
            }
            '#' if comments == CommentStyle::Hash => rest.find('\n').unwrap_or(rest.len()),
            '/' if comments == CommentStyle::Slashes && rest.starts_with("//") => {
                rest.find('\n').unwrap_or(rest.len())
            }
            '/' if comments == CommentStyle::Slashes && rest.starts_with("/*") => {
                rest.find("*/").map_or(rest.len(), |at| at + 2)
            }
            '"' | '\'' => {
                let (inside, length) = quoted(rest, c);
                tokens.push(ScriptToken::Text(inside));
                length
            }
            c if is_word(c) => {
                let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                tokens.push(ScriptToken::Word(rest.get(..length).unwrap_or_default()));
                length
            }
            c if c.is_whitespace() => c.len_utf8(),
            c => {
                tokens.push(ScriptToken::Sign(c));
                c.len_utf8()
            }
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    tokens
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '@'
}

/// Returns a quoted string and its length including quotes. Triple quotes end at three, single ones at the end of the
/// line at the latest.
fn quoted(rest: &str, quote: char) -> (&str, usize) {
    let three: String = std::iter::repeat_n(quote, 3).collect();
    if let Some(inside) = rest.strip_prefix(&three) {
        let end = inside.find(&three).unwrap_or(inside.len());
        return (inside.get(..end).unwrap_or_default(), (end + 6).min(rest.len()));
    }
    let mut escaped = false;
    let mut depth = 0_usize;
    let mut last = ' ';
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            // Interpolations may contain quotes.
            '{' if matches!(last, '#' | '$') && quote == '"' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            '\n' => return (rest.get(1..at).unwrap_or_default(), at),
            _ if c == quote && !escaped && depth == 0 => {
                return (rest.get(1..at).unwrap_or_default(), at + 1);
            }
            _ => {}
        }
        escaped = c == '\\' && !escaped;
        last = c;
    }
    (rest.get(1..).unwrap_or_default(), rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn join_tokens(script: &TokenizedScript<'_>, range: Range<usize>) -> String {
        let words: Vec<_> = script.tokens()[range]
            .iter()
            .map(|token| match token {
                ScriptToken::Word(word) => (*word).to_owned(),
                ScriptToken::Text(text) => format!("<{text}>"),
                ScriptToken::Sign(sign) => sign.to_string(),
                ScriptToken::End => "/".to_owned(),
            })
            .collect();
        words.join(" ")
    }

    #[test]
    fn programs_are_taken_apart() {
        let cases = [
            ("a 'b' // c\nd(\"e\")", CommentStyle::Slashes, "a <b> / d ( <e> )"),
            ("a /* 'b' */ c", CommentStyle::Slashes, "a c"),
            ("gem 'x' # y\n@v \"1\"", CommentStyle::Hash, "gem <x> / @v <1>"),
            (r#"a "b\"c" d"#, CommentStyle::Hash, r#"a <b\"c> d"#),
            ("a \"#{b[\"c\"]}\" d", CommentStyle::Hash, "a <#{b[\"c\"]}> d"),
            ("a \"\"\"b\n'c\"\"\" d", CommentStyle::Hash, "a <b\n'c> d"),
            ("it's\nnext", CommentStyle::Hash, "it <s> / next"),
            ("\"open", CommentStyle::Hash, "<open>"),
            ("é: ü", CommentStyle::Hash, "é : ü"),
        ];
        for (text, comments, want) in cases {
            let script = TokenizedScript::new(text, comments);
            assert_eq!(join_tokens(&script, 0..script.tokens().len()), want, "{text}");
        }
    }

    #[test]
    fn brackets_hold_together() {
        let script = TokenizedScript::new("f(a, [b, c], {d}) ]g(\nh", CommentStyle::Hash);
        let parts: Vec<_> = script
            .parts(script.inside(1))
            .iter()
            .map(|part| join_tokens(&script, part[0]..part[part.len() - 1] + 1))
            .collect();
        assert_eq!(parts, ["a", "[ b , c ]", "{ d }"]);
        let end = script.tokens().len();
        assert_eq!(script.inside(end - 3), end - 2..end - 2);
        assert_eq!(script.after(end - 3), end - 2);
    }

    #[test]
    fn statements_end_with_their_line() {
        let text = "a 'x',\n  b: 1\nc(\n'y'\n) { d\ne }\nf; g";
        let script = TokenizedScript::new(text, CommentStyle::Hash);
        let found: Vec<_> = script
            .statements(0..script.tokens().len())
            .into_iter()
            .map(|range| join_tokens(&script, range))
            .collect();
        assert_eq!(found, ["a <x> , / b : 1", "c ( / <y> / )", "d", "e", "f", "g"]);
    }

    #[test]
    fn lists_hold_texts_alone() {
        let cases = [
            ("['a', \"b\",\n]", Some(vec!["a", "b"])),
            ("['a'] + b", Some(vec!["a"])),
            ("['a', b]", None),
            ("('a')", Some(vec!["a"])),
            ("{'a'}", None),
            ("['a'", None),
        ];
        for (text, want) in cases {
            assert_eq!(TokenizedScript::new(text, CommentStyle::Hash).list(0), want, "{text}");
        }
    }
}
