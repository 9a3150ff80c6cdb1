//! Front matter: metadata before the text of a file.

/// The fields read from front matter.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FrontMatter {
    pub(super) title: Option<String>,
    pub(super) version: Option<String>,
}

/// Splits a file into front matter and text. Front matter must be at the very start.
pub(super) fn split(text: &str) -> (FrontMatter, &str) {
    let (mark, sign) = match text.get(..4) {
        Some("---\n") => ("---", ':'),
        Some("+++\n") => ("+++", '='),
        _ => return (FrontMatter::default(), text),
    };
    let rest = text.get(4..).unwrap_or_default();
    // A rule has a blank line or running text behind it, front matter a key.
    let first = rest.lines().map(str::trim).find(|line| !line.starts_with('#'));
    if !first.is_some_and(|line| line == mark || key(line, sign).is_some() || line.starts_with('['))
    {
        return (FrontMatter::default(), text);
    }
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        let bare = line.trim_end();
        if bare == mark || (mark == "---" && bare == "...") {
            let inside = rest.get(..at).unwrap_or_default();
            let after = rest.get(at + line.len()..).unwrap_or_default();
            let front = FrontMatter {
                title: value(inside, "title", sign),
                version: value(inside, "version", sign),
            };
            return (front, after);
        }
        at += line.len();
    }
    (FrontMatter::default(), text)
}

/// The key and the rest of a line such as `title: Start here`.
fn key(line: &str, sign: char) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(sign)?;
    let key = key.trim_end().trim_matches(['"', '\'']);
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    (!key.is_empty() && key.chars().all(is_name)).then_some((key, value.trim()))
}

fn value(front: &str, wanted: &str, sign: char) -> Option<String> {
    let mut lines = front.lines();
    let found = lines.by_ref().find_map(|line| {
        let (name, value) = key(line, sign)?;
        (name.eq_ignore_ascii_case(wanted)).then_some(value)
    })?;
    let folded = matches!(found, "" | ">" | ">-" | ">+" | "|" | "|-" | "|+");
    let value = if folded {
        // The value of a block scalar is on the indented lines below.
        let below = lines.take_while(|line| line.starts_with([' ', '\t']));
        below.map(str::trim).collect::<Vec<_>>().join(" ")
    } else {
        unquote(found)
    };
    (!value.is_empty() && !value.starts_with(['{', '['])).then_some(value)
}

fn unquote(value: &str) -> String {
    for quote in ['"', '\''] {
        let Some(inner) = value.strip_prefix(quote) else { continue };
        let mut text = String::new();
        let mut rest = inner.chars().peekable();
        while let Some(c) = rest.next() {
            match c {
                '\\' if quote == '"' => text.extend(rest.next()),
                c if c == quote && rest.peek() == Some(&quote) && quote == '\'' => {
                    rest.next();
                    text.push(quote);
                }
                c if c == quote => break,
                c => text.push(c),
            }
        }
        return text;
    }
    value.split(" #").next().unwrap_or_default().trim().to_owned()
}
