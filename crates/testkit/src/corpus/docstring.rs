//! Python string literals, as far as docstrings need them.

/// The value of one literal or several adjacent ones; `None` for bytes, f-strings and anything else.
pub(super) fn value(source: &str) -> Option<String> {
    let mut value = String::new();
    let mut rest = source;
    while !rest.is_empty() {
        let prefix = rest.find(['"', '\''])?;
        let (letters, quoted) = rest.split_at_checked(prefix)?;
        let letters = letters.to_ascii_lowercase();
        if !matches!(letters.as_str(), "" | "r" | "u") {
            return None;
        }
        let quote = quoted.get(..3).filter(|three| matches!(*three, "\"\"\"" | "'''"));
        let quote = quote.or_else(|| quoted.get(..1))?;
        let inner = quoted.get(quote.len()..)?;
        let end = closing(inner, quote)?;
        let (content, after) = inner.split_at_checked(end)?;
        if letters == "r" {
            value.push_str(content);
        } else {
            unescape(content, &mut value);
        }
        rest = after.get(quote.len()..)?.trim_start_matches([' ', '\t', '\n', '\\']);
    }
    Some(value)
}

/// Where the quotation ends. A backslash skips the next character, in raw strings too.
fn closing(inner: &str, quote: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in inner.char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if inner.get(at..).is_some_and(|rest| rest.starts_with(quote)) {
            return Some(at);
        }
    }
    None
}

fn unescape(content: &str, value: &mut String) {
    let mut rest = content;
    while let Some((before, after)) = rest.split_once('\\') {
        value.push_str(before);
        let Some(mark) = after.chars().next() else {
            value.push('\\');
            return;
        };
        let after_mark = after.get(mark.len_utf8()..).unwrap_or_default();
        let simple = match mark {
            '\n' => Some(""),
            '\\' => Some("\\"),
            '\'' => Some("'"),
            '"' => Some("\""),
            'a' => Some("\u{7}"),
            'b' => Some("\u{8}"),
            'f' => Some("\u{c}"),
            'n' => Some("\n"),
            'r' => Some("\r"),
            't' => Some("\t"),
            'v' => Some("\u{b}"),
            _ => None,
        };
        rest = match (simple, decode_escape(mark, after)) {
            (Some(text), _) => {
                value.push_str(text);
                after_mark
            }
            (None, Some((c, length))) => {
                value.push(c);
                after.get(length..).unwrap_or_default()
            }
            // An unknown escape is kept as it is.
            (None, None) => {
                value.push('\\');
                after
            }
        };
    }
    value.push_str(rest);
}

/// `x41`, `u0041`, `U00000041` and `101`: the character, and how many bytes name it.
fn decode_escape(mark: char, after: &str) -> Option<(char, usize)> {
    let (start, length, base) = match mark {
        'x' => (1, 2, 16),
        'u' => (1, 4, 16),
        'U' => (1, 8, 16),
        '0'..='7' => {
            let digits = after.bytes().take(3).take_while(|byte| matches!(byte, b'0'..=b'7'));
            (0, digits.count(), 8)
        }
        _ => return None,
    };
    let digits = after.get(start..start + length)?;
    let c = char::from_u32(u32::from_str_radix(digits, base).ok()?)?;
    Some((c, start + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_have_the_value_that_python_gives_them() {
        let cases = [
            (r#""""Says "it".""""#, Some(r#"Says "it"."#)),
            (r"'a\'b\n\\d\x41\u0042\103\q'", Some("a'b\n\\dABC\\q")),
            (r"r'a\nb\'c'", Some(r"a\nb\'c")),
            ("'a\\\nb'", Some("ab")),
            ("'a' \\\n  \"b\"", Some("ab")),
            ("U'ü'", Some("ü")),
            ("b'a'", None),
            ("f'a'", None),
            ("'open", None),
            ("name", None),
        ];
        for (source, want) in cases {
            assert_eq!(value(source).as_deref(), want, "{source}");
        }
    }
}
