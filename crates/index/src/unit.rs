//! What can be found: units, and the sources they come from.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// What sort of text a unit is. Each is ranked by weights of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Genre {
    /// Something that is defined in source code.
    Code,
    /// A section of a document.
    Prose,
}

/// The lines of a source that a unit covers, counted from 1, the last one included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LineSpan {
    /// The first line.
    pub first: u32,
    /// The last line.
    pub last: u32,
}

/// A piece of text that can be found. Fields that don't apply are empty.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct IndexUnit {
    /// What its source calls it; no two units of a source share one.
    pub id: String,
    /// The sort of thing it is: `function`, `class`, `section`.
    pub kind: String,
    /// The programming language, or the natural one.
    pub language: String,
    /// The name of what is defined, or the title of the page.
    pub name: String,
    /// How it is declared, or the headings that lead to a section.
    pub signature: String,
    /// What its author says of it.
    pub doc: String,
    /// Its text.
    pub body: String,
    /// Where it stands.
    pub span: LineSpan,
    /// What whoever made it wants back with it. It is kept, and not searched.
    pub extra: String,
}

/// One file or page with all of its units. What is known of a source is replaced as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexedSource {
    /// The collection that it belongs to.
    pub collection: String,
    /// Its path in that collection, with `/` between the parts.
    pub path: String,
    /// How its units are ranked.
    pub genre: Genre,
    /// Tells whether it has changed.
    pub digest: Digest,
    /// What it holds.
    pub units: Vec<IndexUnit>,
}

/// The hash of a source's content, and of whatever else decides what its units are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest([u8; 16]);

impl Digest {
    /// Of the parts one after the other. Where one ends and the next begins counts.
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        let whole = hasher.finalize();
        let mut short = [0; 16];
        short.copy_from_slice(&whole[..16]);
        Self(short)
    }
}

impl Digest {
    pub(crate) const fn bytes(&self) -> &[u8; 16] {
        &self.0
    }

    pub(crate) const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_tells_contents_and_borders_apart() {
        let whole = Digest::of(&[b"ab", b"c"]);
        assert_eq!(whole, Digest::of(&[b"ab", b"c"]));
        assert_ne!(whole, Digest::of(&[b"a", b"bc"]));
        assert_ne!(whole, Digest::of(&[b"ab", b"c", b""]));
    }
}
