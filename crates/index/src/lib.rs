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

pub use query::{IndexSearchResults, UnitFilter, IndexHit, MatchedTerm, PathPatterns, UnitLocation, IndexQuery, AnalyzedQuery, ScoreParts, Snippet};
pub use rank::{units_named, search};
pub use shortlist::{ShortlistItem, Shortlist};
pub use store::{
    CandidateUnit, CandidateUnits, StoreChange, FoundUnit, NearbyTerms, StoreRepairs, UnitRow, CorpusStatistics, StoreStatus, IndexStore,
    IndexStoreError, SourceSummary, StoreView,
    embedded::{EmbeddedStore, LockWait, EmbeddedStoreSettings},
};
pub use synonyms::{SynonymError, Synonyms};
pub use unit::{Digest, Genre, IndexedSource, LineSpan, IndexUnit};
