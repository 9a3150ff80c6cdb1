//! The search engine: text analysis, lexical and vector retrieval, and ranking.
//!
//! Knows nothing of languages, documents or protocols: callers supply [`Source`]s of [`Unit`]s.

mod analysis;
pub mod embed;
mod query;
pub mod rank;
mod scan;
mod shortlist;
mod store;
mod synonyms;
mod unit;

pub use query::{Answer, Filter, Hit, Matched, Paths, Place, Query, Question, ScoreParts, Snippet};
pub use rank::{named, search};
pub use shortlist::{Item, Shortlist};
pub use store::{
    Candidate, Candidates, Change, Found, Nearby, Repairs, Row, Statistics, Status, Store,
    StoreError, Tally, View,
    embedded::{Embedded, LockWait, Settings},
};
pub use synonyms::{SynonymError, Synonyms};
pub use unit::{Digest, Genre, Source, Span, Unit};
