//! Escaping of text in a page. All report text goes through [`text`], [`path`] or [`prose`].

use crate::repo::render::characters::deceives;
pub(super) use crate::repo::render::markup::{MarkupBuffer, put};
use std::fmt::{self, Display, Write as _};

/// Escaped text, safe inside an element and a double-quoted attribute.
#[derive(Debug, Clone, Copy)]
pub(super) struct EscapedText<'a>(&'a str);

/// Escapes text.
pub(super) fn text(value: &str) -> EscapedText<'_> {
    EscapedText(value)
}

impl Display for EscapedText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|character| escape(character, f))
    }
}

/// An escaped path that may break after each part.
#[derive(Debug, Clone, Copy)]
pub(super) struct BreakablePath<'a>(&'a str);

/// Escapes a path.
pub(super) fn path(value: &str) -> BreakablePath<'_> {
    BreakablePath(value)
}

impl Display for BreakablePath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            escape(character, f)?;
            if matches!(character, '/' | '_' | '#') {
                f.write_str("<wbr>")?;
            }
        }
        Ok(())
    }
}

/// Escaped sentences with `code` between backticks.
#[derive(Debug, Clone, Copy)]
pub(super) struct CodeSpanText<'a>(&'a str);

/// Escapes sentences.
pub(super) fn prose(value: &str) -> CodeSpanText<'_> {
    CodeSpanText(value)
}

impl Display for CodeSpanText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some((before, code, after)) = code_span(rest) {
            write!(f, "{}<code>{}</code>", text(before), path(code))?;
            rest = after;
        }
        write!(f, "{}", text(rest))
    }
}

fn code_span(value: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = value.split_once('`')?;
    let (code, after) = rest.split_once('`')?;
    (!code.is_empty()).then_some((before, code, after))
}

fn escape(character: char, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match character {
        '&' => f.write_str("&amp;"),
        '<' => f.write_str("&lt;"),
        '>' => f.write_str("&gt;"),
        '"' => f.write_str("&quot;"),
        '\'' => f.write_str("&#39;"),
        '\n' | '\t' => f.write_char(character),
        _ if deceives(character) => f.write_char('\u{fffd}'),
        _ => f.write_char(character),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_outside_is_escaped() {
        let cases = [
            (text("a<b>&\"c'").to_string(), "a&lt;b&gt;&amp;&quot;c&#39;"),
            (text("gnp.\u{202e}sj\u{0}\u{1b}").to_string(), "gnp.\u{fffd}sj\u{fffd}\u{fffd}"),
            (path("a/<b>_c").to_string(), "a/<wbr>&lt;b&gt;_<wbr>c"),
            (prose("run `a/<b>` now").to_string(), "run <code>a/<wbr>&lt;b&gt;</code> now"),
            (prose("one ` alone <").to_string(), "one ` alone &lt;"),
            (prose("``").to_string(), "``"),
        ];
        for (got, want) in cases {
            assert_eq!(got, want);
        }
    }
}
