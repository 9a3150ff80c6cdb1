//! The lines of a document after comments are dropped and conditions decided.

use super::attributes::{AsciidocAttributes, entry};

/// A line of dashes, dots and the like that starts and ends a block of code, which keeps its comments.
pub(super) fn verbatim(line: &str) -> bool {
    let fence = |c: char| line.len() >= 4 && line.chars().all(|other| other == c);
    fence('-') || fence('.') || fence('+') || line.starts_with("```")
}

/// The lines that count.
pub(super) fn lines(text: &str) -> Vec<&str> {
    let mut kept = Vec::new();
    let mut attributes = AsciidocAttributes::default();
    let mut code: Option<&str> = None;
    let mut comment: Option<&str> = None;
    // For every condition that is open, whether its lines are kept.
    let mut open: Vec<bool> = Vec::new();
    let mut dropped = 0_usize;
    for line in text.lines() {
        let line = line.trim_end();
        if let Some(end) = comment {
            if line == end {
                comment = None;
            }
            continue;
        }
        if let Some(condition) = condition(line, &attributes) {
            match condition {
                ConditionalDirective::Open(keep) => {
                    open.push(keep);
                    dropped += usize::from(!keep);
                }
                ConditionalDirective::Line(text) => {
                    if dropped == 0 {
                        kept.extend(text);
                    }
                }
                ConditionalDirective::Close => {
                    if open.pop() == Some(false) {
                        dropped -= 1;
                    }
                }
            }
            continue;
        }
        if dropped > 0 {
            continue;
        }
        if let Some(fence) = code {
            let ends = line == fence || (fence.starts_with("```") && line == "```");
            if ends {
                code = None;
            }
            kept.push(line);
            continue;
        }
        if line.len() >= 4 && line.chars().all(|c| c == '/') {
            comment = Some(line);
            continue;
        }
        if line.starts_with("//") && !line.starts_with("///") {
            continue;
        }
        if verbatim(line) && !underlines(kept.last().copied(), line) {
            code = Some(line);
        }
        if let Some((name, value)) = entry(line) {
            attributes.set(name, value);
        }
        kept.push(line);
    }
    kept
}

/// Whether a line is the second of a title.
pub(super) fn underlines(title: Option<&str>, line: &str) -> bool {
    let Some(title) = title else { return false };
    let Some(first) = line.chars().next() else { return false };
    let (length, width) = (title.chars().count(), line.len());
    matches!(first, '=' | '-' | '~' | '^' | '+')
        && width >= 2
        && line.chars().all(|c| c == first)
        && length.abs_diff(width) <= 1
        && title.starts_with(|c: char| {
            c.is_alphanumeric() || matches!(c, '`' | '_' | '\'' | '"' | '<' | '{' | '$' | '-' | '(')
        })
        && title.contains(char::is_alphanumeric)
}

enum ConditionalDirective<'a> {
    Open(bool),
    Line(Option<&'a str>),
    Close,
}

fn condition<'a>(
    line: &'a str,
    attributes: &AsciidocAttributes,
) -> Option<ConditionalDirective<'a>> {
    if !line.ends_with(']') {
        return None;
    }
    let (directive, rest) = line.split_once("::")?;
    let (names, text) = rest.strip_suffix(']')?.split_once('[')?;
    let set = |name: &str| attributes.get(name.trim()).is_some();
    let any =
        if names.contains('+') { names.split('+').all(set) } else { names.split(',').any(set) };
    let keep = match directive {
        "ifdef" => any,
        "ifndef" => !any,
        "ifeval" => return Some(ConditionalDirective::Open(false)),
        "endif" => return Some(ConditionalDirective::Close),
        _ => return None,
    };
    Some(if text.is_empty() {
        ConditionalDirective::Open(keep)
    } else {
        ConditionalDirective::Line(keep.then_some(text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_conditions_are_gone() {
        let cases = [
            ("a\n// no\n////\nno\n////\nb", "a/b"),
            (
                "----\n// code\n////\n----",
                "----/// code/////////----".replace("/////////", "//////").as_str(),
            ),
            (":x: 1\nifdef::x[]\na\nendif::[]\nifndef::x[]\nb\nendif::x[]\nc", ":x: 1/a/c"),
            ("ifdef::x,y[]\nifdef::z[]\na\nendif::[]\nb\nendif::[]\nc", "c"),
            ("ifndef::x[one line]\nifdef::x[two]", "one line"),
            ("endif::[]\na\nifdef::x[]\nnever closed", "a"),
            ("////\nnever closed", ""),
        ]
        .map(|(text, want)| (text.to_owned(), want.to_owned()));
        for (text, want) in cases {
            assert_eq!(lines(&text).join("/"), want, "{text}");
        }
    }

    #[test]
    fn titles_are_underlined_with_a_line_as_long() {
        assert!(underlines(Some("NAME"), "----"));
        assert!(underlines(Some("git-log(1)"), "=========="));
        assert!(!underlines(Some("A sentence that is long"), "----"));
        assert!(!underlines(Some("----"), "----"));
        assert!(!underlines(None, "----"));
    }
}
