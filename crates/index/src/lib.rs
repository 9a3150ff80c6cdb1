//! The search engine: text analysis, lexical and vector retrieval, and ranking.
//!
//! Knows nothing of languages, documents or protocols: callers supply [`IndexedSource`]s of [`IndexUnit`]s.

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
