//! Pretty-prints JSON text without parsing its values: a number keeps every digit that the server wrote.

use serde::de::IgnoredAny;

/// Puts each member on a line of its own; `None` if the text is not a JSON object or array.
pub(crate) fn pretty(text: &str) -> Option<String> {
    let text = text.trim();
    if !text.starts_with(['{', '[']) || serde_json::from_str::<IgnoredAny>(text).is_err() {
        return None;
    }
    let mut out = String::with_capacity(text.len() * 2);
    let mut depth = 0_usize;
    let (mut in_string, mut escaped) = (false, false);
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        if in_string {
            out.push(c);
            (in_string, escaped) = (escaped || c != '"', !escaped && c == '\\');
            continue;
        }
        match c {
            '"' => {
                in_string = true;
                out.push(c);
            }
            '{' | '[' => {
                out.push(c);
                while letters.next_if(char::is_ascii_whitespace).is_some() {}
                // Empty objects and arrays stay on one line.
                if let Some(end) = letters.next_if(|c| matches!(c, '}' | ']')) {
                    out.push(end);
                } else {
                    depth += 1;
                    new_line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => out.push(c),
        }
    }
    Some(out)
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: Option<&str>) {
        assert_eq!(pretty(text).as_deref(), want, "{text}");
    }

    #[test]
    fn json_is_laid_out() {
        check("{}", Some("{}"));
        check(" [ ] ", Some("[]"));
        check("[1,[ ],{\"a\" : null}]", Some("[\n  1,\n  [],\n  {\n    \"a\": null\n  }\n]"));
        check(r#"{"a":"{,\":\\"}"#, Some("{\n  \"a\": \"{,\\\":\\\\\"\n}"));
        // Not a digit is lost, nor a key that is there twice.
        check(
            "[123456789012345678901234567890,1.10]",
            Some("[\n  123456789012345678901234567890,\n  1.10\n]"),
        );
        check(r#"{"a":1,"a":2}"#, Some("{\n  \"a\": 1,\n  \"a\": 2\n}"));
    }

    #[test]
    fn other_text_is_not() {
        for text in ["", "5", "\"a\"", "{", "[1,]", "{a: 1}", "[note] done", "{} {}"] {
            check(text, None);
        }
        // Nesting that no parser follows.
        check(&"[".repeat(100_000), None);
    }
}
