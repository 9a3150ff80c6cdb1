//! Parses documentation files into documents and chunks.
//!
//! Pure: takes bytes, opens no files, reads no clock. Owns formats and how documents are built from
//! sections and blocks; must not know collections, an index or a protocol.
//!
//! # Design
//!
//! `ProseFormat` is detected by file name, or by how the file begins. One module per format turns bytes into a `ProseDocument`:
//! sections under headings, each with its anchor and page, and blocks of Markdown with their links. `chunks` cuts between
//! blocks, keeps lists, code and tables with the sentence that introduces them, and gives every section at least one chunk.
//! Indexes, redirects and search pages are marked as boilerplate and not searched.
#![cfg_attr(test, expect(clippy::disallowed_methods, reason = "tests make their own files"))]

mod archive;
mod chunk;
mod document;
mod encoding;
mod format;
mod read;

pub use archive::{Archive, ArchiveEntry, ArchiveLimits, ArchiveProblems};
pub use chunk::{Chunk, chunks};
pub use document::{
    BlockKind, DocumentBlock, DocumentSection, DocumentWriter, LinkedText, ProseDocument, TextLink,
};
pub use encoding::marked_up as decode_markup;
pub use format::{ProseFormat, Unreadable};
