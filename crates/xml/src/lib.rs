//! Parses untrusted XML in time and memory proportional to its length.
//!
//! The parser itself limits only the number of nodes: it compares each attribute with the previous ones, copies
//! namespaces to each element that declares one, and expands entities repeatedly. A pass before parsing refuses input
//! that would cost more than its length.

pub use roxmltree::{Attribute, Document, Node};

use roxmltree::ParsingOptions;
use std::collections::HashSet;

/// Maximum number of elements, texts and comments per file; each takes many times its length in memory.
pub const MAX_NODES: u32 = 4_000_000;
/// Maximum number of attributes per element.
const MAX_ATTRIBUTES: usize = 256;
/// Maximum number of namespace prefixes per file. Office formats use about fifty.
const MAX_PREFIXES: usize = 256;
/// Maximum number of inherited namespaces, over all elements.
const MAX_INHERITED_NAMESPACES: usize = 4_000_000;
/// Maximum number of equals signs; the parser reserves an attribute for each.
const MAX_EQUALS_SIGNS: usize = 16_000_000;

/// Why XML is rejected.
#[derive(Debug, thiserror::Error)]
pub enum XmlError {
    /// Not well-formed XML.
    #[error("{0}")]
    Parse(#[from] roxmltree::Error),
    /// Parsing would cost far more than its length.
    #[error("refused: too many {0}")]
    TooCostly(&'static str),
    /// It declares entities, which can expand without limit.
    #[error("refused: it declares entities; write out their values")]
    Entities,
}

/// Parses a file of at most [`MAX_NODES`] nodes. Allows a document type without entities, as old files have.
pub fn parse(text: &str) -> Result<Document<'_>, XmlError> {
    parse_within(text, MAX_NODES)
}

/// Parses a file of at most `nodes` nodes.
pub fn parse_within(text: &str, nodes: u32) -> Result<Document<'_>, XmlError> {
    check_structure(text, nodes as usize)?;
    let options =
        ParsingOptions { allow_dtd: true, nodes_limit: nodes, ..ParsingOptions::default() };
    Ok(Document::parse_with_options(text, options)?)
}

fn check_structure(text: &str, nodes: usize) -> Result<(), XmlError> {
    if text.contains("<!DOCTYPE") && text.contains("<!ENTITY") {
        return Err(XmlError::Entities);
    }
    // An element has a start tag and an end tag.
    if text.bytes().filter(|byte| *byte == b'<').count() > nodes.saturating_mul(2) {
        return Err(XmlError::TooCostly("elements"));
    }
    if text.bytes().filter(|byte| *byte == b'=').count() > MAX_EQUALS_SIGNS {
        return Err(XmlError::TooCostly("attributes"));
    }
    let mut prefixes = HashSet::new();
    let mut declared: usize = 0;
    // No tag contains `<`, so each is seen completely. Other matches are in comments and the like.
    for tag in text.split('<').skip(1) {
        let mut attributes = 0;
        for name in names(tag) {
            attributes += 1;
            if name == "xmlns" || name.starts_with("xmlns:") {
                prefixes.insert(name);
                declared += 1;
            }
        }
        if attributes > MAX_ATTRIBUTES {
            return Err(XmlError::TooCostly("attributes in one element"));
        }
        let handed_down = declared.saturating_mul(prefixes.len());
        if prefixes.len() > MAX_PREFIXES || handed_down > MAX_INHERITED_NAMESPACES {
            return Err(XmlError::TooCostly("namespaces"));
        }
    }
    Ok(())
}

/// The names of a tag's attributes. Includes everything the parser accepts; may omit what it rejects.
fn names(tag: &str) -> impl Iterator<Item = &str> {
    let start = tag.find(|letter: char| letter.is_ascii_whitespace() || letter == '>');
    let mut rest = start.map_or("", |start| tag.split_at(start).1);
    std::iter::from_fn(move || {
        let (name, after) = rest.split_once('=')?;
        let value = after.trim_ascii_start();
        let quote = value.chars().next().filter(|letter| matches!(letter, '"' | '\''))?;
        rest = value.get(1..)?.split_once(quote)?.1;
        // After the end of the tag, this is text.
        (!name.contains('>')).then(|| name.trim_ascii())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    fn numbered(count: usize, one: impl Fn(usize) -> String) -> String {
        let all: Vec<String> = (0..count).map(one).collect();
        all.concat()
    }

    fn attributes(count: usize) -> String {
        numbered(count, |number| format!(" a{number}='>'"))
    }

    #[test]
    fn ordinary_files_are_read() {
        let text = "<?xml version='1.0'?>\n<!DOCTYPE ncx PUBLIC '-//x' \"y\">\n\
            <a xmlns='u' xmlns:w = \"v=w\" w:b='1'>x = \"y\" <!-- <b c='d'> --><w:c/><![CDATA[<e f=\"g\">]]></a>";
        let document = parse(text).unwrap();
        assert_eq!(document.root_element().attribute(("v=w", "b")), Some("1"));
        assert_eq!(document.descendants().filter(Node::is_element).count(), 2);
        // A document with pictures declares two namespaces at each.
        let picture = "<p:pic xmlns:p='p'><a:blip xmlns:a='a'/></p:pic>".repeat(20_000);
        parse(&format!("<w:body xmlns:w='w'>{picture}</w:body>")).unwrap();
        parse(&format!("<a{}/>", attributes(MAX_ATTRIBUTES))).unwrap();
        // Text is not an attribute.
        parse(&format!("<a>{}</a>", "x = 'y', ".repeat(1000))).unwrap();
        assert!(matches!(parse("<a"), Err(XmlError::Parse(_))));
    }

    #[test]
    fn entities_are_refused_wherever_they_are_declared() {
        let body = "<a>&x;</a>";
        for declared in ["<!ENTITY x 'y'>", "<!ELEMENT a ANY>\n<!ENTITY x \"<b c='d'/>\">"] {
            let message = refusal(&format!("<!DOCTYPE a [{declared}]>{body}"));
            assert!(message.contains("entities"), "{message}");
        }
        assert!(matches!(parse(body), Err(XmlError::Parse(_))));
    }

    #[test]
    fn what_costs_more_than_its_length_is_refused_at_once() {
        let message = refusal(&format!("<a>x<b{}/></a>", attributes(400_000)));
        assert!(message.contains("attributes in one element"), "{message}");
        let nested = numbered(3000, |number| format!("<a xmlns:n{number}='u{number}'>"));
        assert!(refusal(&nested).contains("namespaces"));
        let shared = numbered(200, |number| format!(" xmlns:p{number}='u'"));
        let handed = format!("<a{shared}>{}</a>", "<b xmlns:p0='v'/>".repeat(30_000));
        assert!(refusal(&handed).contains("namespaces"));
        assert!(refusal(&"<a>".repeat(3 * MAX_NODES as usize)).contains("elements"));
        assert!(parse_within("<a><b/><c/><d/></a>", 3).is_err());
    }
}
