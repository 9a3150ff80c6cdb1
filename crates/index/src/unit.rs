//! Searchable units, and their sources.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// Genre of a unit. Each has its own ranking weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Genre {
    /// A definition in source code.
    Code,
    /// A section of a document.
    Prose,
}

/// Line range of a unit, from 1, inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LineSpan {
    /// The first line.
    pub first: u32,
    /// The last line.
    pub last: u32,
}

/// A searchable piece of text. Fields that don't apply are empty.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct IndexUnit {
    /// Id, unique within its source.
    pub id: String,
    /// Kind: `function`, `class`, `section`.
    pub kind: String,
    /// Programming or natural language.
    pub language: String,
    /// Name of the definition, or title of the page.
    pub name: String,
    /// Declaration, or the headings that lead to a section.
    pub signature: String,
    /// Doc comment.
    pub doc: String,
    /// Its text.
    pub body: String,
    /// Line range.
    pub span: LineSpan,
    /// Opaque data of the caller; stored, not searched.
    pub extra: String,
}

/// A file or page with all of its units. A source is replaced as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexedSource {
    /// Collection.
    pub collection: String,
    /// Its path in that collection, with `/` between the parts.
    pub path: String,
    /// Genre of its units.
    pub genre: Genre,
    /// Digest, to detect changes.
    pub digest: Digest,
    /// Its units.
    pub units: Vec<IndexUnit>,
}

/// Hash of a source's content and of everything else that determines its units.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest([u8; 16]);

impl Digest {
    /// Hashes the parts in order, including their boundaries.
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
    fn a_digest_depends_on_contents_and_boundaries() {
        let whole = Digest::of(&[b"ab", b"c"]);
        assert_eq!(whole, Digest::of(&[b"ab", b"c"]));
        assert_ne!(whole, Digest::of(&[b"a", b"bc"]));
        assert_ne!(whole, Digest::of(&[b"ab", b"c", b""]));
    }
}
