//! Lists: bullets, numbers, remarks to code, and terms with definitions, nested in each other.

use super::blocks::{
    AsciidocBlockMetadata, AsciidocLineCursor, AsciidocReader, fence, interrupts, split_anchor,
};
use crate::read::{
    marks,
    tree::{ItemMarker, MAX_TREE_DEPTH, PageListItem, PageNode, anchor_of},
};

/// What marks an item.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Marker<'a> {
    /// The same for all items of one list.
    key: &'a str,
    /// The term that is defined, if one is.
    term: Option<&'a str>,
    /// The text after the mark.
    text: &'a str,
}

/// The mark that a line starts with.
pub(super) fn marker(line: &str) -> Option<Marker<'_>> {
    let start = line.trim_start();
    let (word, text) = start.split_once([' ', '\t']).unwrap_or((start, ""));
    let same = |c: char| word.chars().all(|other| other == c);
    let key = match word.chars().next()? {
        '*' if word.len() <= 10 && same('*') => word,
        '-' if word == "-" => word,
        '•' if word == "•" => word,
        '.' if word.len() <= 10 && same('.') => word,
        '<' if word
            .strip_prefix('<')
            .and_then(|rest| rest.strip_suffix('>'))
            .is_some_and(is_number) =>
        {
            "<>"
        }
        _ if word.strip_suffix('.').is_some_and(is_number) => "1.",
        c if c.is_ascii_alphabetic() && word.len() == 2 && word.ends_with('.') => "a.",
        _ => return definition(start),
    };
    let text = text.trim_start();
    (!text.is_empty()).then_some(Marker { key, term: None, text })
}

fn is_number(text: &str) -> bool {
    text == "." || (!text.is_empty() && text.len() < 6 && text.chars().all(|c| c.is_ascii_digit()))
}

/// `term:: text`.
fn definition(line: &str) -> Option<Marker<'_>> {
    if line.starts_with("//") || line.starts_with("include::") || line.starts_with("image::") {
        return None;
    }
    let mut from = 0;
    loop {
        let at = from + line.get(from..)?.find([':', ';'])?;
        let rest = line.get(at..)?;
        let c = rest.chars().next()?;
        let text = rest.trim_start_matches(c);
        let count = rest.len() - text.len();
        let fits = if c == ':' { (2..=4).contains(&count) } else { count == 2 };
        if at > 0 && fits && (text.is_empty() || text.starts_with([' ', '\t'])) {
            let key = rest.get(..count)?;
            return Some(Marker { key, term: line.get(..at), text: text.trim() });
        }
        from = at + count;
    }
}

impl AsciidocReader {
    /// A list, with those nested in it. `keys` are those of the lists around it.
    pub(super) fn list<'a>(
        &mut self,
        lines: &mut AsciidocLineCursor<'a>,
        keys: &mut Vec<&'a str>,
        about: &AsciidocBlockMetadata,
    ) -> Vec<PageNode> {
        let Some(key) = lines.peek().and_then(marker).map(|marker| marker.key) else {
            return Vec::new();
        };
        keys.push(key);
        let mut items = Vec::new();
        let mut number = about.named.get("start").and_then(|start| start.parse().ok()).unwrap_or(1);
        let mut anchor = about.id.clone();
        loop {
            let place = lines.place();
            lines.skip_blank();
            // An anchor may stand above an item. An item is not an anchor: the list has to take it.
            while let Some(line) = lines.peek()
                && line.starts_with('[')
                && line.ends_with(']')
                && marker(line).is_none()
                && lines.peek_after().is_some()
            {
                if let Some(id) = line.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]")) {
                    anchor = Some(id.to_owned());
                }
                lines.next();
            }
            let next = lines.peek().and_then(marker);
            // Beyond what may be nested, every item is one of the innermost list.
            let own = next.as_ref().is_some_and(|marker| {
                marker.key == key || (keys.len() >= MAX_TREE_DEPTH && !keys.contains(&marker.key))
            });
            let Some(next) = next.filter(|_| own) else {
                lines.back(place);
                break;
            };
            lines.next();
            items.push(match next.term {
                Some(_) => self.term(&next, anchor.take(), lines, keys),
                None => self.item(&next, number, lines, keys),
            });
            number += 1;
        }
        keys.pop();
        items
    }

    fn item<'a>(
        &mut self,
        marker: &Marker<'a>,
        number: u32,
        lines: &mut AsciidocLineCursor<'a>,
        keys: &mut Vec<&'a str>,
    ) -> PageNode {
        let key = marker.key;
        let mut text = marker.text.to_owned();
        let mark = if key == "-" || key == "•" || key.starts_with('*') {
            ItemMarker::Bullet
        } else {
            ItemMarker::Number(number)
        };
        for (mark, shown) in [("[ ] ", "☐ "), ("[x] ", "☑ "), ("[*] ", "☑ ")] {
            if let Some(rest) = text.strip_prefix(mark) {
                text = format!("{shown}{rest}");
                break;
            }
        }
        more(&mut text, lines);
        let body = self.body(&text, lines, keys);
        PageNode::Item(PageListItem { mark, anchor: None, own: false, body })
    }

    /// A term; several that follow each other share a definition.
    fn term<'a>(
        &mut self,
        first: &Marker<'a>,
        anchor: Option<String>,
        lines: &mut AsciidocLineCursor<'a>,
        keys: &mut Vec<&'a str>,
    ) -> PageNode {
        let key = keys.last().copied().unwrap_or_default();
        let (inner, term) = split_anchor(first.term.unwrap_or_default());
        let mut anchor = anchor.or(inner.map(str::to_owned));
        let mut terms = vec![self.inline(term.trim())];
        let mut text = first.text.to_owned();
        while text.is_empty() && terms.len() < 100 {
            let place = lines.place();
            lines.skip_blank();
            let same = lines.peek().and_then(marker).filter(|other| other.key == key);
            let Some(Marker { term: Some(other), text: more, .. }) = same else {
                lines.back(place);
                break;
            };
            lines.next();
            let (inner, other) = split_anchor(other);
            anchor = anchor.or(inner.map(str::to_owned));
            terms.push(self.inline(other.trim()));
            more.clone_into(&mut text);
        }
        if text.is_empty() {
            let place = lines.place();
            lines.skip_blank();
            let starts_block = lines.peek().is_none_or(|line| {
                line == "+"
                    || interrupts(line)
                    || marker(line).is_some()
                    || line.starts_with(['=', '.'])
            });
            if starts_block {
                lines.back(place);
            } else if let Some(line) = lines.next() {
                line.trim().clone_into(&mut text);
            }
        }
        if !text.is_empty() {
            more(&mut text, lines);
        }
        let body = self.body(&text, lines, keys);
        let term = terms.join(&format!("{}, ", marks::ROMAN));
        let anchor = anchor.or_else(|| anchor_of(&marks::plain(&term)));
        PageNode::Item(PageListItem { mark: ItemMarker::Term(term), anchor, own: true, body })
    }

    /// What belongs to an item: its text, blocks after `+`, nested lists, and code that is indented.
    fn body<'a>(
        &mut self,
        text: &str,
        lines: &mut AsciidocLineCursor<'a>,
        keys: &mut Vec<&'a str>,
    ) -> Vec<PageNode> {
        let mut body = Vec::new();
        if !text.is_empty() {
            body.push(PageNode::Text(self.inline(text)));
        }
        loop {
            let place = lines.place();
            let apart = lines.skip_blank();
            let Some(line) = lines.peek() else { break };
            if line == "+" {
                lines.next();
                // Its lists are its own: they end with it.
                self.depth += 1;
                let nodes = self.block(lines);
                self.depth -= 1;
                body.extend(nodes);
                continue;
            }
            if let Some(next) = marker(line) {
                if keys.contains(&next.key) || keys.len() >= MAX_TREE_DEPTH {
                    lines.back(place);
                    break;
                }
                body.extend(self.list(lines, keys, &AsciidocBlockMetadata::default()));
                continue;
            }
            let literal = apart && line.starts_with([' ', '\t']);
            let attached = body.is_empty() && fence(line).is_some();
            if literal || attached {
                self.depth += 1;
                let nodes = self.block(lines);
                self.depth -= 1;
                body.extend(nodes);
                continue;
            }
            lines.back(place);
            break;
        }
        body
    }
}

/// The lines that go on with the text of an item.
fn more(text: &mut String, lines: &mut AsciidocLineCursor<'_>) {
    while let Some(line) = lines.peek() {
        if line.trim().is_empty() || line == "+" || interrupts(line) || marker(line).is_some() {
            break;
        }
        text.push('\n');
        text.push_str(line.trim());
        lines.next();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn item_markers_are_distinguished_from_text() {
        let cases = [
            ("* a", Some(("*", None, "a"))),
            ("  ** b", Some(("**", None, "b"))),
            ("- c", Some(("-", None, "c"))),
            (". d", Some((".", None, "d"))),
            ("12. e", Some(("1.", None, "e"))),
            ("<1> f", Some(("<>", None, "f"))),
            ("term:: text", Some(("::", Some("term"), "text"))),
            ("-a::", Some(("::", Some("-a"), ""))),
            ("a::b::: c", Some((":::", Some("a::b"), "c"))),
            ("term;; x", Some((";;", Some("term"), "x"))),
            ("*bold* text", None),
            ("std::vec is", None),
            ("*", None),
            ("::", None),
        ];
        for (line, want) in cases {
            let got = marker(line).map(|marker| (marker.key, marker.term, marker.text));
            assert_eq!(got, want, "{line}");
        }
    }
}
