//! Parts written as XML elements, as in C# and Visual Basic.

use super::{one_line, summary};
use crate::annotation::{Doc, Said};

/// Top-level elements of a comment; all others are markup inside them.
const BLOCKS: [&str; 11] = [
    "summary",
    "remarks",
    "returns",
    "value",
    "param",
    "typeparam",
    "exception",
    "example",
    "permission",
    "seealso",
    "inheritdoc",
];

/// Elements that are markup. Anything else in angle brackets is a type.
const MARKUP: [&str; 24] = [
    "a",
    "b",
    "br",
    "c",
    "code",
    "description",
    "em",
    "i",
    "item",
    "li",
    "list",
    "listheader",
    "ol",
    "p",
    "para",
    "paramref",
    "see",
    "strong",
    "term",
    "tt",
    "typeparamref",
    "u",
    "ul",
    "include",
];

/// Elements that begin a paragraph.
const PARAGRAPHS: [&str; 6] = ["para", "list", "code", "p", "ul", "ol"];

/// An element of a comment.
struct XmlDocElement<'a> {
    /// Empty for text outside of elements.
    name: &'a str,
    attributes: &'a str,
    inner: &'a str,
}

/// The parts of a comment. The summary is empty without a summary element.
pub(super) fn parts(whole: &str) -> Doc {
    let mut doc = Doc::default();
    for block in blocks(whole) {
        let text = || one_line(&render_element(block.inner));
        match block.name {
            "summary" => doc.summary = summary(&render_element(block.inner)),
            "param" | "typeparam" => {
                let name = attribute(block.attributes, "name").unwrap_or_default().to_owned();
                doc.params.push(Said { name, text: text() });
            }
            "returns" | "value" => doc.returns = Some(text()).filter(|text| !text.is_empty()),
            "exception" => {
                let name = attribute(block.attributes, "cref").map(reference).unwrap_or_default();
                doc.raises.push(Said { name, text: text() });
            }
            _ => {}
        }
    }
    doc
}

/// The main text of a comment: its summary, remarks, and text outside of elements.
pub(in crate::comment) fn text(whole: &str) -> String {
    let said = |block: &XmlDocElement<'_>| matches!(block.name, "" | "summary" | "remarks");
    let paragraphs = blocks(whole).into_iter().filter(said);
    let paragraphs = paragraphs.map(|block| render_element(block.inner).trim().to_owned());
    paragraphs.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// The elements of a comment in their order.
fn blocks(whole: &str) -> Vec<XmlDocElement<'_>> {
    let mut blocks = Vec::new();
    let mut loose_from = 0;
    let mut at = 0;
    while let Some(found) = whole.get(at..).and_then(|rest| rest.find('<')) {
        let start = at + found;
        at = start + 1;
        let Some(tag) = XmlDocTag::read(whole.get(at..).unwrap_or_default()) else { continue };
        at += tag.length;
        if tag.closes || !BLOCKS.contains(&tag.name) {
            continue;
        }
        blocks.push(XmlDocElement {
            name: "",
            attributes: "",
            inner: whole.get(loose_from..start).unwrap_or_default(),
        });
        let rest = whole.get(at..).unwrap_or_default();
        let close = format!("</{}>", tag.name);
        // An unclosed element extends to the end.
        let (inner, length) = if tag.is_empty {
            ("", 0)
        } else {
            rest.split_once(&close)
                .map_or((rest, rest.len()), |(inner, _)| (inner, inner.len() + close.len()))
        };
        blocks.push(XmlDocElement { name: tag.name, attributes: tag.attributes, inner });
        at += length;
        loose_from = at;
    }
    let inner = whole.get(loose_from..).unwrap_or_default();
    blocks.push(XmlDocElement { name: "", attributes: "", inner });
    blocks
}

/// A tag, starting after its `<`.
struct XmlDocTag<'a> {
    name: &'a str,
    attributes: &'a str,
    closes: bool,
    is_empty: bool,
    /// Up to and with its `>`.
    length: usize,
}

impl<'a> XmlDocTag<'a> {
    /// `None` if it is not a tag: `a < b`, `List<int>` in running text.
    fn read(text: &'a str) -> Option<Self> {
        let (whole, _) = text.split_once('>')?;
        let closes = whole.starts_with('/');
        let inner = whole.trim_start_matches('/');
        let is_empty = inner.ends_with('/');
        let inner = inner.trim_end_matches('/');
        let end = inner.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(inner.len());
        let (name, attributes) = inner.split_at_checked(end)?;
        let known = BLOCKS.contains(&name) || MARKUP.contains(&name);
        let well = attributes.is_empty() || attributes.starts_with(char::is_whitespace);
        (known && well).then_some(Self {
            name,
            attributes,
            closes,
            is_empty,
            length: whole.len() + 1,
        })
    }
}

/// The visible text of an element's content.
fn render_element(inner: &str) -> String {
    let mut plain = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some((before, after)) = rest.split_once('<') {
        plain.push_str(before);
        let Some(tag) = XmlDocTag::read(after) else {
            plain.push('<');
            rest = after;
            continue;
        };
        if PARAGRAPHS.contains(&tag.name) {
            plain.push_str("\n\n");
        } else if !tag.closes && tag.is_empty {
            let of = |name| attribute(tag.attributes, name);
            let named = of("cref").map(reference).or_else(|| {
                of("name").or_else(|| of("langword")).or_else(|| of("href")).map(str::to_owned)
            });
            plain.push_str(&named.unwrap_or_default());
        }
        rest = after.get(tag.length..).unwrap_or_default();
    }
    plain.push_str(rest);
    let lines = decode_entities(&plain);
    lines.lines().map(str::trim).collect::<Vec<_>>().join("\n")
}

fn attribute<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    let (_, value) = attributes.split_once(&format!("{name}="))?;
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    value.strip_prefix(quote)?.split(quote).next()
}

/// `T:System.Collections.List{T}` is written `System.Collections.List<T>`.
fn reference(target: &str) -> String {
    let name = target.split_once(':').filter(|(kind, _)| kind.len() == 1);
    name.map_or(target, |(_, name)| name).replace('{', "<").replace('}', ">")
}

fn decode_entities(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        plain.push_str(before);
        let entity = after.split_once(';').and_then(|(name, after)| Some((entity(name)?, after)));
        let (shown, after) = entity.unwrap_or(('&', after));
        plain.push(shown);
        rest = after;
    }
    plain + rest
}

fn entity(name: &str) -> Option<char> {
    Some(match name {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        _ => {
            let digits = name.strip_prefix('#')?;
            let number = match digits.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => digits.parse(),
            };
            char::from_u32(number.ok()?)?
        }
    })
}
