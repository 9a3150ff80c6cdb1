//! The search engine: text analysis, lexical and vector retrieval, and ranking.
//!
//! Knows nothing of languages, documents or protocols: callers supply [`IndexedSource`]s of [`IndexUnit`]s.
//!
//! # Design
//!
//! A caller hands over sources of units: a function, a class, a section of a page, each with name, path, signature, doc and
//! body. `analysis` turns them into terms (identifiers split and whole, English stems, no stop words), `embed` into a vector of
//! 256 bytes. The embedded store keeps three things per unit under one row number: its terms in tantivy, its vector in a flat
//! file, and a record with its texts and term counts. `extra` of a unit is data that its caller gets back with a hit.
//!
//! 1. `rank::search` removes the words that only phrase the question, replaces unknown words by similar words of the
//!    vocabulary (`spelling`; the answer says so), and asks the embedder for a vector. Without a vector, words decide.
//! 2. `StoreView::candidates` takes the 200 best rows by BM25 and the 200 nearest vectors. Up to a million units every vector is
//!    compared; beyond that a graph (usearch) finds them.
//! 3. `rank::features` describes each candidate in 29 numbers; `weights.json` has their learned weights, for code and for
//!    prose. `fold` merges copies, and a logistic curve gives the similarity. In prose a heading that contains the exact name
//!    comes first (`exact`), a table of contents after what it lists (`contents`), and no document crowds out the others
//!    (`sources`).
//! 4. Only the hits are read completely: `snippet` finds their best lines, `matched` lists which words are in which fields.
//!
//! A generation is a manifest inside tantivy's own commit, so that both change at once or not at all. It names files that are
//! written once, synced, and sealed by a checksum. Readers keep their generation; a writer holds a lock that ends with its
//! process. Each file is verified before its first use; a damaged one closes the store until it is repaired. Checksums detect
//! damage, not malice: docent reads an index in a root only if it carries the mark of the user's key. The store contract in
//! `tests/it/contract.rs` is what every store must pass.
//!
//! The embedding table is trained in `models/`; building docent does not need that folder.

mod analysis;
pub mod embed;
mod query;
pub mod rank;
mod scan;
mod shortlist;
mod store;
mod synonyms;
mod unit;

pub use query::{
    AnalyzedQuery, IndexHit, IndexQuery, IndexSearchResults, MatchedTerm, PathPatterns, ScoreParts,
    Snippet, UnitFilter, UnitLocation,
};
pub use rank::{search, units_named};
pub use shortlist::{Shortlist, ShortlistItem};
pub use store::{
    CandidateUnit, CandidateUnits, CorpusStatistics, FoundUnit, IndexStore, IndexStoreError,
    NearbyTerms, SourceSummary, StoreChange, StoreRepairs, StoreStatus, StoreView, UnitRow,
    embedded::{EmbeddedStore, EmbeddedStoreSettings, LockWait},
};
pub use synonyms::{SynonymError, Synonyms};
pub use unit::{Digest, Genre, IndexUnit, IndexedSource, LineSpan};
