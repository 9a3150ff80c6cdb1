//! Stores of units. A store answers through a [`StoreView`] of one generation, so that results do not change while they are
//! ranked; every store passes the same contract tests.

pub(crate) mod embedded;

use crate::{
    analysis::TermCounts,
    embed::{EmbedError, ModelIdentity, Vector},
    query::{AnalyzedQuery, UnitFilter},
    unit::{Digest, Genre, IndexUnit, IndexedSource},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, io,
    path::PathBuf,
    sync::Arc,
};

/// Error of a store.
#[derive(Debug, thiserror::Error)]
pub enum IndexStoreError {
    /// A file can't be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A file is corrupt and not used; [`IndexStore::repair`] rebuilds the store.
    #[error("the index is corrupt: {file}: {reason}")]
    Corrupt {
        /// The file.
        file: String,
        /// What is wrong.
        reason: String,
    },
    /// Another process has been writing for too long.
    #[error("another process is writing the index in {}{}", folder.display(), describe_holder(*holder))]
    Busy {
        /// Folder of the index.
        folder: PathBuf,
        /// The process, if known.
        holder: Option<u32>,
    },
    /// The lexical index failed.
    #[error("the lexical index failed")]
    Lexical(#[from] tantivy::TantivyError),
    /// Embedding failed.
    #[error(transparent)]
    Embedding(#[from] EmbedError),
    /// The neighbor graph failed.
    #[error("{0}")]
    Graph(String),
    /// A path pattern of a filter is invalid.
    #[error("invalid path pattern {pattern}")]
    Pattern {
        /// The pattern as given.
        pattern: String,
        /// The cause.
        #[source]
        source: globset::Error,
    },
}

fn describe_holder(holder: Option<u32>) -> String {
    let advice = "try again when it has finished";
    match holder {
        Some(holder) => format!(" (process {holder}); {advice}, or end it"),
        None => format!("; {advice}"),
    }
}

/// A change to the store.
#[derive(Debug, Clone)]
pub enum StoreChange {
    /// Adds a source, replacing any previous one with its path.
    Put(IndexedSource),
    /// Removes a source.
    Remove {
        /// Its collection.
        collection: String,
        /// Its path there.
        path: String,
    },
}

/// Status of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreStatus {
    /// Number of writes.
    pub generation: u64,
    /// Number of units.
    pub units: u64,
    /// Number of sources.
    pub sources: u64,
    /// The model of its vectors.
    pub identity: ModelIdentity,
}

/// What [`IndexStore::repair`] did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoreRepairs {
    /// Why the store was cleared; all sources must be added again.
    pub rebuilt: Option<String>,
    /// The model whose vectors were replaced.
    pub reembedded: Option<ModelIdentity>,
}

/// Stores and finds units. Writes of one process are visible to all others that have the store open.
pub trait IndexStore: Send + Sync + fmt::Debug {
    /// The collections that have sources.
    fn collections(&self) -> Result<BTreeSet<String>, IndexStoreError>;
    /// The digest of every source of a collection, by path.
    fn digests(&self, collection: &str) -> Result<BTreeMap<String, Digest>, IndexStoreError>;
    /// Applies all changes atomically, as one generation.
    fn write(
        &self,
        changes: &mut dyn Iterator<Item = StoreChange>,
    ) -> Result<StoreStatus, IndexStoreError>;
    /// The newest generation.
    fn view(&self) -> Result<Arc<dyn StoreView>, IndexStoreError>;
    /// Makes the store usable: clears it if it is corrupt or has another format, and recomputes its vectors if they are
    /// of another model.
    fn repair(&self) -> Result<StoreRepairs, IndexStoreError>;
    /// Current status.
    fn status(&self) -> Result<StoreStatus, IndexStoreError>;
}

/// An immutable generation.
pub trait StoreView: Send + Sync + fmt::Debug {
    /// Status of the generation.
    fn status(&self) -> StoreStatus;
    /// The units with most of a query's terms, and those nearest to its vector: at most `most` of each.
    fn candidates(
        &self,
        question: &AnalyzedQuery,
        filter: &UnitFilter,
        most: usize,
    ) -> Result<CandidateUnits, IndexStoreError>;
    /// Whether the filtered collections have units of a genre.
    fn has_genre(&self, genre: Genre, filter: &UnitFilter) -> bool;
    /// Whether a unit in the filtered collections has a term, of one genre or any.
    fn has(
        &self,
        term: &str,
        genre: Option<Genre>,
        filter: &UnitFilter,
    ) -> Result<bool, IndexStoreError>;
    /// Terms of only letters similar to a term, with the number of units that have each, in any collection; unordered.
    fn vocabulary(&self, near: &NearbyTerms<'_>) -> Result<Vec<(String, u64)>, IndexStoreError>;
    /// Reads a unit.
    fn unit(&self, row: UnitRow) -> Result<FoundUnit, IndexStoreError>;
    /// The sources of a collection, unordered.
    fn sources(&self, collection: &str) -> Result<Vec<SourceSummary>, IndexStoreError>;
}

/// Search for similar terms in the vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NearbyTerms<'a> {
    /// The term.
    pub term: &'a str,
    /// Maximum edit distance: 0 to 2. A transposition counts once.
    pub distance: u8,
    /// Whether the first letter must be the same.
    pub same_first: bool,
    /// Maximum number of terms.
    pub most: usize,
}

/// Summary of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceSummary {
    /// Its path.
    pub path: String,
    /// Name of its first unit; may be empty.
    pub title: String,
    /// Language of its units; may be empty.
    pub language: String,
    /// Number of units by kind.
    pub kinds: BTreeMap<String, u32>,
}

/// Identifies a unit within a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UnitRow(pub(crate) u32);

/// Candidate units with the data needed to rank them.
#[derive(Debug, Clone, Default)]
pub struct CandidateUnits {
    pub(crate) units: Vec<CandidateUnit>,
    pub(crate) statistics: CorpusStatistics,
}

impl CandidateUnits {
    /// The units, in order.
    pub fn rows(&self) -> impl Iterator<Item = UnitRow> {
        self.units.iter().map(|unit| unit.row)
    }
}

/// Statistics over all units.
#[derive(Debug, Clone, Default)]
pub struct CorpusStatistics {
    /// Number of units.
    pub(crate) units: u64,
    /// Number of units with each of the query's terms.
    pub(crate) holders: Vec<u64>,
    /// Average number of terms in each field.
    pub(crate) lengths: [f32; 5],
    /// Mean and deviation of the similarity to the query.
    pub(crate) nearness: (f32, f32),
}

/// A candidate unit.
#[derive(Debug, Clone)]
pub struct CandidateUnit {
    pub(crate) row: UnitRow,
    pub(crate) genre: Genre,
    /// Number of its source.
    pub(crate) source: u64,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) signature: String,
    /// Occurrences of the query's terms, or their alternatives, in each field.
    pub(crate) counts: Vec<TermCounts>,
    /// Weight of each: less than 1 for an alternative.
    pub(crate) shares: Vec<f32>,
    /// Occurrences of pairs of terms.
    pub(crate) pairs: Vec<TermCounts>,
    pub(crate) lengths: [u16; 5],
    pub(crate) vector: Option<Vector>,
}

/// A unit with its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundUnit {
    /// The collection of its source.
    pub collection: String,
    /// The path of its source.
    pub path: String,
    /// Code or prose.
    pub genre: Genre,
    /// The digest of its source.
    pub digest: Digest,
    /// The unit; a long body is truncated.
    pub unit: IndexUnit,
}
