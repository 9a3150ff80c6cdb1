//! The manifest of a generation. Stored in the lexical index's commit, so that both change at once.

use super::file::{ManifestFile, corrupt, is_plain};
use crate::{embed::ModelIdentity, store::IndexStoreError};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// Increment when the file format or the text analysis changes; an index of another format is rebuilt.
pub(super) const FORMAT_VERSION: u32 = 3;

/// A part: units that were written or merged together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ManifestPart {
    pub(super) id: u64,
    pub(super) units: u32,
    pub(super) sources: u32,
    pub(super) records: ManifestFile,
    /// Offset of the directory in the records file.
    pub(super) directory: u64,
    /// Hash of the directory.
    pub(super) directory_hash: String,
    /// Total number of terms in each field.
    pub(super) lengths: [u64; 5],
    pub(super) vectors: ManifestFile,
}

/// A graph over the vectors of all rows below `below`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GraphFile {
    pub(super) below: u32,
    pub(super) file: ManifestFile,
}

/// One generation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct IndexManifest {
    pub(super) format: u32,
    pub(super) generation: u64,
    pub(super) identity: ModelIdentity,
    pub(super) next_row: u32,
    pub(super) next_part: u64,
    pub(super) parts: Vec<ManifestPart>,
    /// Deleted rows and sources.
    pub(super) dead: Option<ManifestFile>,
    pub(super) graph: Option<GraphFile>,
}

impl IndexManifest {
    pub(super) fn new(identity: ModelIdentity) -> Self {
        Self {
            format: FORMAT_VERSION,
            generation: 0,
            identity,
            next_row: 0,
            next_part: 0,
            parts: Vec::new(),
            dead: None,
            graph: None,
        }
    }

    /// The files it needs.
    pub(super) fn files(&self) -> impl Iterator<Item = &ManifestFile> {
        let parts = self.parts.iter().flat_map(|part| [&part.records, &part.vectors]);
        parts.chain(&self.dead).chain(self.graph.as_ref().map(|graph| &graph.file))
    }

    /// Encodes it as text, after its hash.
    pub(super) fn encode(&self) -> String {
        let json = serde_json::to_string(self).expect("a manifest is plain data");
        format!("{:016x} {json}", xxh3_64(json.as_bytes()))
    }

    pub(super) fn decode(text: &str) -> Result<Self, IndexStoreError> {
        let wrong = |reason: &str| corrupt("manifest", reason);
        let (hash, json) = text.split_once(' ').ok_or_else(|| wrong("it has no checksum"))?;
        if format!("{:016x}", xxh3_64(json.as_bytes())) != hash {
            return Err(wrong("its checksum is wrong"));
        }
        let format = serde_json::from_str::<ManifestFormatVersion>(json).map(|found| found.format);
        if format.as_ref().is_ok_and(|format| *format != FORMAT_VERSION) {
            return Err(wrong("it was written by another version of docent"));
        }
        let manifest: Self =
            serde_json::from_str(json).map_err(|error| wrong(&error.to_string()))?;
        if manifest.files().any(|file| !is_plain(file.name.as_ref())) {
            return Err(wrong("it names a file outside the folder"));
        }
        Ok(manifest)
    }
}

#[derive(Deserialize)]
struct ManifestFormatVersion {
    format: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_comes_back_or_says_why_not() {
        let identity = ModelIdentity { model: "m".into(), dimensions: 4 };
        let manifest = IndexManifest::new(identity.clone());
        let text = manifest.encode();
        assert_eq!(IndexManifest::decode(&text).unwrap(), manifest);
        let said = |text: &str| IndexManifest::decode(text).unwrap_err().to_string();
        assert!(said(&text.replace("\"m\"", "\"n\"")).contains("checksum is wrong"));
        assert!(said("").contains("no checksum"));
        let other = IndexManifest { format: FORMAT_VERSION + 1, ..IndexManifest::new(identity) };
        assert!(said(&other.encode()).contains("another version"));
        for name in ["../elsewhere", "/elsewhere", "a/b", "..", ""] {
            let dead = ManifestFile { name: name.into(), bytes: 0, hash: String::new() };
            let leading_out = IndexManifest { dead: Some(dead), ..manifest.clone() };
            assert!(said(&leading_out.encode()).contains("outside the folder"), "{name}");
        }
    }
}
