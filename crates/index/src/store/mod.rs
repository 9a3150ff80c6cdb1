//! Where units are kept and looked up. A store answers through a [`StoreView`] of one generation, so that what a question
//! finds does not change while it is ranked; every store passes the same contract.

pub(crate) mod embedded;

use crate::{
    analysis::TermCounts,
    embed::{EmbedError, ModelIdentity, Vector},
    query::{UnitFilter, AnalyzedQuery},
    unit::{Digest, Genre, IndexedSource, IndexUnit},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, io,
    path::PathBuf,
    sync::Arc,
};

/// Why a store can't do what it is asked.
#[derive(Debug, thiserror::Error)]
pub enum IndexStoreError {
    /// A file can't be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A file is not what was written. It is not served; [`IndexStore::repair`] starts anew.
    #[error("the index is damaged: {file}: {reason}")]
    Corrupt {
        /// Which one.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Another process has been writing for too long.
    #[error("another process is writing the index in {}{}", folder.display(), describe_holder(*holder))]
    Busy {
        /// Where the index is.
        folder: PathBuf,
        /// The process, where it is known.
        holder: Option<u32>,
    },
    /// The lexical index failed.
    #[error("the lexical index failed")]
    Lexical(#[from] tantivy::TantivyError),
    /// There are no vectors to be had.
    #[error(transparent)]
    Embedding(#[from] EmbedError),
    /// The graph of neighbours failed.
    #[error("{0}")]
    Graph(String),
    /// A filter's pattern is none.
    #[error("{pattern} is no path pattern")]
    Pattern {
        /// As it was given.
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

/// A change to what is known.
#[derive(Debug, Clone)]
pub enum StoreChange {
    /// A source is new or different: whatever was known of its path is replaced.
    Put(IndexedSource),
    /// A source is gone.
    Remove {
        /// Its collection.
        collection: String,
        /// Its path there.
        path: String,
    },
}

/// What a store holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreStatus {
    /// Counts the writes.
    pub generation: u64,
    /// Units that can be found.
    pub units: u64,
    /// Sources that are known.
    pub sources: u64,
    /// The model of its vectors.
    pub identity: ModelIdentity,
}

/// What [`IndexStore::repair`] had to do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoreRepairs {
    /// Why everything was thrown away; the sources must be put again.
    pub rebuilt: Option<String>,
    /// The model whose vectors were replaced.
    pub reembedded: Option<ModelIdentity>,
}

/// Keeps units and finds them again. Whatever one process writes, every other that has the store open sees.
pub trait IndexStore: Send + Sync + fmt::Debug {
    /// The collections that have sources.
    fn collections(&self) -> Result<BTreeSet<String>, IndexStoreError>;
    /// The digest of every source of a collection, by path.
    fn digests(&self, collection: &str) -> Result<BTreeMap<String, Digest>, IndexStoreError>;
    /// Makes all of the changes visible at once, as one generation, or none of them.
    fn write(&self, changes: &mut dyn Iterator<Item = StoreChange>) -> Result<StoreStatus, IndexStoreError>;
    /// The newest generation.
    fn view(&self) -> Result<Arc<dyn StoreView>, IndexStoreError>;
    /// Sees to it that the store can be used: throws it away where it is damaged or of another format, and makes its
    /// vectors anew where they are of another model.
    fn repair(&self) -> Result<StoreRepairs, IndexStoreError>;
    /// What it holds now.
    fn status(&self) -> Result<StoreStatus, IndexStoreError>;
}

/// One generation. It stays as it is for as long as it is held.
pub trait StoreView: Send + Sync + fmt::Debug {
    /// What it holds.
    fn status(&self) -> StoreStatus;
    /// The units that have most of a question's terms, and those nearest to its vector: at most so many of each.
    fn candidates(
        &self,
        question: &AnalyzedQuery,
        filter: &UnitFilter,
        most: usize,
    ) -> Result<CandidateUnits, IndexStoreError>;
    /// Whether the collections asked have units of a genre.
    fn has_genre(&self, genre: Genre, filter: &UnitFilter) -> bool;
    /// Whether a unit of the collections asked has a term, of one genre or of any.
    fn has(&self, term: &str, genre: Option<Genre>, filter: &UnitFilter) -> Result<bool, IndexStoreError>;
    /// Terms of letters alone that are near to one, and how many units have each, of whatever collection; in no order.
    fn vocabulary(&self, near: &NearbyTerms<'_>) -> Result<Vec<(String, u64)>, IndexStoreError>;
    /// A unit with everything that is known of it.
    fn unit(&self, row: UnitRow) -> Result<FoundUnit, IndexStoreError>;
    /// What a collection is made of, in no order.
    fn sources(&self, collection: &str) -> Result<Vec<SourceSummary>, IndexStoreError>;
}

/// Which terms of a vocabulary are near to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NearbyTerms<'a> {
    /// The one.
    pub term: &'a str,
    /// Letters that may differ: 0 to 2. Two that changed places count once.
    pub distance: u8,
    /// Whether the first letter must be the same.
    pub same_first: bool,
    /// How many are enough.
    pub most: usize,
}

/// A source, and what it is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceSummary {
    /// Its path.
    pub path: String,
    /// The name of its first unit; empty where it has none.
    pub title: String,
    /// The language of its units; empty where it has none.
    pub language: String,
    /// How many units of each kind it has.
    pub kinds: BTreeMap<String, u32>,
}

/// Names a unit within a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UnitRow(pub(crate) u32);

/// Units worth ranking, and what is needed to rank them.
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

/// What all units together look like.
#[derive(Debug, Clone, Default)]
pub struct CorpusStatistics {
    /// How many there are.
    pub(crate) units: u64,
    /// How many have each of the question's terms.
    pub(crate) holders: Vec<u64>,
    /// Terms in each field of the average unit.
    pub(crate) lengths: [f32; 5],
    /// How near a unit is to the question on average, and how much that varies.
    pub(crate) nearness: (f32, f32),
}

/// One unit worth ranking.
#[derive(Debug, Clone)]
pub struct CandidateUnit {
    pub(crate) row: UnitRow,
    pub(crate) genre: Genre,
    /// The same number for the units of one source.
    pub(crate) source: u64,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) signature: String,
    /// The question's terms in each field, or what stands for them.
    pub(crate) counts: Vec<TermCounts>,
    /// What each counts: less than 1 where something else stands for the term.
    pub(crate) shares: Vec<f32>,
    /// And its pairs of terms.
    pub(crate) pairs: Vec<TermCounts>,
    pub(crate) lengths: [u16; 5],
    pub(crate) vector: Option<Vector>,
}

/// A unit that was found, and where.
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
    /// The unit. A body longer than the store keeps is cut.
    pub unit: IndexUnit,
}
