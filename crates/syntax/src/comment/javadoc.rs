//! Javadoc as plain text: without inline tags and without markup.

/// HTML elements used in Javadoc. Anything else in angle brackets is a type.
const ELEMENTS: [&str; 31] = [
    "a",
    "b",
    "blockquote",
    "br",
    "caption",
    "code",
    "dd",
    "div",
    "dl",
    "dt",
    "em",
    "h1",
    "h2",
    "h3",
    "h4",
    "hr",
    "i",
    "img",
    "li",
    "ol",
    "p",
    "pre",
    "span",
    "strong",
    "sub",
    "sup",
    "table",
    "td",
    "th",
    "tr",
    "ul",
];

/// Elements that begin a paragraph.
const PARAGRAPHS: [&str; 8] = ["p", "blockquote", "div", "dl", "ol", "pre", "table", "ul"];

/// `{@code x}` and `{@link X}` become what they show; `<p>` begins a paragraph, other elements go.
pub(super) fn plain(comment: &str) -> String {
    let text = replace_elements(&replace_inline_tags(comment));
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let mut lines: Vec<&str> = Vec::new();
    for line in text.lines().map(str::trim_end) {
        if !line.is_empty() || lines.last().is_some_and(|last| !last.is_empty()) {
            lines.push(line);
        }
    }
    lines.join("\n")
}

/// `{@code x}` and `{@link X}` become what they show.
pub(super) fn replace_inline_tags(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, tag)) = rest.split_once("{@") {
        plain.push_str(before);
        let end = closing_brace(tag).unwrap_or(tag.len());
        let (inner, after) = tag.split_at_checked(end).unwrap_or((tag, ""));
        plain.push_str(&render_tag(inner));
        rest = after.strip_prefix('}').unwrap_or(after);
    }
    plain + rest
}

/// The end of the open tag; braces inside it are balanced.
fn closing_brace(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(at),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The visible text of `link Table#get(int, int) the getter`.
fn render_tag(tag: &str) -> String {
    let (name, content) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
    let content = content.trim();
    match name {
        "link" | "linkplain" => {
            // A label follows the target, whose parameters may contain spaces.
            let target = content.split(' ').next().unwrap_or(content);
            let parameters = target.contains('(').then(|| content.find(')')).flatten();
            let rest = content.get(parameters.unwrap_or(0)..).unwrap_or_default();
            match rest.split_once(' ') {
                Some((_, label)) => label.trim().to_owned(),
                None => content.trim_start_matches('#').replace('#', "."),
            }
        }
        "code" | "literal" | "value" | "index" | "summary" => content.to_owned(),
        _ => String::new(),
    }
}

fn replace_elements(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, tag)) = rest.split_once('<') {
        plain.push_str(before);
        let inner = tag.split('>').next().unwrap_or(tag);
        let name = inner.trim_start_matches('/').split(|c: char| !c.is_ascii_alphanumeric()).next();
        let name = name.unwrap_or_default().to_ascii_lowercase();
        if ELEMENTS.contains(&name.as_str()) && inner.len() < tag.len() {
            if PARAGRAPHS.contains(&name.as_str()) {
                plain.push_str("\n\n");
            }
            rest = tag.get(inner.len() + 1..).unwrap_or_default();
        } else {
            plain.push('<');
            rest = tag;
        }
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_and_markup_are_taken_away() {
        let cases = [
            ("Says {@code a < b} twice.", "Says a < b twice."),
            ("See {@link Table}.", "See Table."),
            ("See {@link Table#get(int, int)}.", "See Table.get(int, int)."),
            ("See {@link Table#get(int, int) the getter}.", "See the getter."),
            ("See {@linkplain Table its table}.", "See its table."),
            ("{@code Map<K, {}>} and {@inheritDoc}done", "Map<K, {}> and done"),
            ("{@code open", "open"),
            ("One.\n<p>Two <b>bold</b>.</p>", "One.\n\nTwo bold."),
            ("One.\n\n<p>\nTwo &lt;x&gt;", "One.\n\nTwo <x>"),
            ("A List<String> stays, a < b too", "A List<String> stays, a < b too"),
        ];
        for (comment, want) in cases {
            assert_eq!(plain(comment).trim(), want, "{comment}");
        }
    }
}
