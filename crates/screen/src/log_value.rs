//! Finds the whole value of a name in a log line. All of it is redacted, so its look does not matter.

use crate::{
    forms::{span, window},
    search::is_marker,
};
use std::ops::Range;

/// Finds the value after the name that ends at `at`. The credentials of a header contain blanks, and continue to the
/// end of the line or of the string that contains the header. A header is written with a colon.
pub(crate) fn value_range(text: &str, mut at: usize, is_header: bool) -> Option<Range<usize>> {
    at += span(window(text, at, 8), 0, is_quoting);
    at += span(window(text, at, 64), 0, is_blank);
    let sign = *text.as_bytes().get(at)?;
    matches!(sign, b':' | b'=').then_some(())?;
    let is_header = is_header && sign == b':';
    at += 1;
    at += span(window(text, at, 64), 0, is_blank);
    let wrapped = wrapping(text, at);
    match quoted_value(text, at + wrapped) {
        // Parsers report signs: `unexpected token: "}"`.
        Some(inside) if !text.get(inside.clone()).is_some_and(has_letters) => None,
        Some(inside) if wrapped > 0 => Some(at..inside.end),
        Some(inside) => Some(inside),
        None => unquoted_value(text, at, is_header),
    }
}

/// Returns the length up to a blank, a quote or a separator.
pub(crate) fn value_length(text: &str) -> usize {
    let ends = |c: char| c.is_whitespace() || "\"'\\,&;}])[{".contains(c);
    text.find(ends).unwrap_or(text.len())
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// A quote or a backslash.
fn is_quoting(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'\\')
}

fn is_something(found: &str) -> bool {
    !(found.is_empty() || found == "null" || found == "None")
}

fn has_letters(found: &str) -> bool {
    found.bytes().any(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii())
}

/// Returns the quote at `at` and the number of backslashes before it: one in a string, three in a nested string.
fn quote(text: &str, at: usize) -> Option<(u8, usize)> {
    let depth = span(window(text, at, 8), 0, |byte| byte == b'\\');
    let quote = *text.as_bytes().get(at + depth)?;
    matches!(quote, b'"' | b'\'').then_some((quote, depth))
}

/// Returns the length of what precedes the quote of a literal: the prefix of `b"…"`, the name in `Some("…")`.
fn wrapping(text: &str, at: usize) -> usize {
    let ahead = window(text, at, 32);
    let word = span(ahead, 0, |byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let called = span(window(ahead, word, 1), 0, |byte| byte == b'(');
    let is_prefix = word <= 2 && span(ahead, 0, |byte| b"bBrRuUL".contains(&byte)) == word;
    let is_wrapping = (called == 1 || is_prefix) && quote(text, at + word + called).is_some();
    if is_wrapping { word + called } else { 0 }
}

/// Skips the scheme of credentials, which is not secret.
fn behind_scheme(text: &str, mut at: usize) -> usize {
    for scheme in ["bearer ", "basic "] {
        if window(text, at, scheme.len()).eq_ignore_ascii_case(scheme) {
            at += scheme.len() + span(window(text, at + scheme.len(), 64), 0, is_blank);
        }
    }
    at
}

/// Finds the contents of the quote at `at`; an unclosed one extends to the end of the line.
fn quoted_value(text: &str, at: usize) -> Option<Range<usize>> {
    let (quote, depth) = quote(text, at)?;
    let start = behind_scheme(text, at + depth + 1);
    if is_marker(text, start) {
        return None;
    }
    let rest = text.get(start..)?;
    let mut backslashes = 0_usize;
    let ends = |byte: u8| {
        let before = std::mem::take(&mut backslashes);
        if byte == b'\\' {
            backslashes = before + 1;
        }
        // After more backslashes than the opening quote has, it is part of the value, unless they escape each other.
        let is_closing = || before <= depth || (before - depth).is_multiple_of(2 * (depth + 1));
        matches!(byte, b'\n' | b'\r') || (byte == quote && is_closing())
    };
    let found = rest.get(..rest.bytes().position(ends).unwrap_or(rest.len()))?;
    let escape = found.bytes().rev().take(depth).take_while(|byte| *byte == b'\\').count();
    let found = found.get(..found.len() - escape)?;
    is_something(found).then(|| start..start + found.len())
}

/// Finds the value at `at` without quotes, or after empty quotes.
fn unquoted_value(text: &str, at: usize, is_header: bool) -> Option<Range<usize>> {
    let start = behind_scheme(text, at + span(window(text, at, 8), 0, is_quoting));
    let rest = text.get(start..)?;
    let word = value_length(rest);
    is_something(rest.get(..word)?).then_some(())?;
    if !is_header {
        return Some(start..start + word);
    }
    let line = rest.find(['"', '\'', '\\', '\n', '\r']).unwrap_or(rest.len());
    Some(start..start + line)
}
