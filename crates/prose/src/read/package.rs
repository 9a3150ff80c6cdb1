//! Documents that are zip archives of XML files: their parts by name, with size limits.

use crate::{
    archive::zip::{self, ZipMember},
    format::Unreadable,
};
use docent_xml::{Document, Node};
use std::{cell::Cell, collections::HashMap};

/// Maximum bytes of a part: a thick book has five million letters.
const MAX_PART_BYTES: u64 = 32 << 20;
/// Maximum bytes of all parts read. Each may take fifty bytes in memory.
const MAX_TOTAL_BYTES: u64 = 128 << 20;

/// A document's parts.
pub(super) struct OfficePackage<'a> {
    format: &'static str,
    bytes: &'a [u8],
    members: HashMap<String, ZipMember>,
    left: Cell<u64>,
}

impl<'a> OfficePackage<'a> {
    /// Opens a document. The format is for messages.
    pub(super) fn open(format: &'static str, bytes: &'a [u8]) -> Result<Self, Unreadable> {
        if bytes.is_empty() {
            return Err(Unreadable::Empty);
        }
        // What is a compound file and not a zip archive is how offices store documents with a password.
        if bytes.starts_with(&[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]) {
            return Err(Unreadable::Encrypted);
        }
        let directory = zip::directory(bytes).map_err(|error| with_format(format, error))?;
        let mut members = HashMap::new();
        for member in directory.members {
            members.entry(member.name.clone()).or_insert(member);
        }
        Ok(Self { format, bytes, members, left: Cell::new(MAX_TOTAL_BYTES) })
    }

    /// The content of a part; `None` if it does not exist.
    pub(super) fn part(&self, name: &str) -> Result<Option<Vec<u8>>, Unreadable> {
        let Some(member) = self.members.get(name) else { return Ok(None) };
        let limit = MAX_PART_BYTES.min(self.left.get());
        let part = zip::part(self.bytes, member, limit);
        let part = part.map_err(|error| with_format(self.format, error))?;
        self.left.set(self.left.get().saturating_sub(part.len() as u64));
        Ok(Some(part))
    }

    /// The text of a part.
    pub(super) fn text(&self, name: &str) -> Result<Option<String>, Unreadable> {
        Ok(self.part(name)?.map(|bytes| decode(&bytes)))
    }

    /// The text of a required part.
    pub(super) fn read_required(&self, name: &str) -> Result<String, Unreadable> {
        self.text(name)?.ok_or_else(|| self.damaged(format!("it has no {name}")))
    }

    /// An error that describes the damage.
    pub(super) fn damaged(&self, reason: impl Into<String>) -> Unreadable {
        Unreadable::Damaged { format: self.format, reason: reason.into() }
    }

    /// Parses the text of a part.
    pub(super) fn xml<'t>(&self, name: &str, text: &'t str) -> Result<Document<'t>, Unreadable> {
        docent_xml::parse(text).map_err(|error| self.damaged(format!("{name}: {error}")))
    }
}

fn with_format(format: &'static str, error: Unreadable) -> Unreadable {
    match error {
        Unreadable::Damaged { reason, .. } => Unreadable::Damaged { format, reason },
        other => other,
    }
}

/// The text of an XML file: UTF-8, or UTF-16 by its mark.
fn decode(bytes: &[u8]) -> String {
    let wide = |order: fn([u8; 2]) -> u16| {
        let (pairs, _) = bytes.as_chunks::<2>();
        let units = pairs.iter().skip(1).map(|pair| order(*pair));
        let letters = char::decode_utf16(units);
        letters.map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    };
    match bytes {
        [0xff, 0xfe, ..] => wide(u16::from_le_bytes),
        [0xfe, 0xff, ..] => wide(u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes).trim_start_matches('\u{feff}').to_owned(),
    }
}

/// The first child of that name, whatever its namespace.
pub(super) fn child<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    node.children().find(|child| child.tag_name().name() == name)
}

/// An attribute by its local name, whatever its namespace.
pub(super) fn attribute<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    node.attributes().find(|attribute| attribute.name() == name).map(|attribute| attribute.value())
}

/// All text of an element.
pub(super) fn text_of(node: Node<'_, '_>) -> String {
    node.descendants().filter(Node::is_text).filter_map(|text| text.text()).collect()
}

/// The first element of that name anywhere in it.
pub(super) fn find<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    node.descendants().find(|node| node.tag_name().name() == name)
}
