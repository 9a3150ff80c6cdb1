//! Stores of units. A store answers through a [`View`] of one generation, so that results do not change while they are
//! ranked; every store passes the same contract tests.

pub(crate) mod embedded;

use crate::{
    analysis::TermCounts,
    embed::{EmbedError, Identity, Vector},
    query::{Filter, Question},
    unit::{Digest, Genre, Source, Unit},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, io,
    path::PathBuf,
    sync::Arc,
};

/// Error of a store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file can't be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A file is corrupt and not used; [`Store::repair`] rebuilds the store.
    #[error("the index is corrupt: {file}: {reason}")]
    Damaged {
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
pub enum Change {
    /// Adds a source, replacing any previous one with its path.
    Put(Source),
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
pub struct Status {
    /// Number of writes.
    pub generation: u64,
    /// Number of units.
    pub units: u64,
    /// Number of sources.
    pub sources: u64,
    /// The model of its vectors.
    pub identity: Identity,
}

/// What [`Store::repair`] did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Repairs {
    /// Why the store was cleared; all sources must be added again.
    pub rebuilt: Option<String>,
    /// The model whose vectors were replaced.
    pub embedded_anew: Option<Identity>,
}

/// Stores and finds units. Writes of one process are visible to all others that have the store open.
pub trait Store: Send + Sync + fmt::Debug {
    /// The collections that have sources.
    fn collections(&self) -> Result<BTreeSet<String>, StoreError>;
    /// The digest of every source of a collection, by path.
    fn digests(&self, collection: &str) -> Result<BTreeMap<String, Digest>, StoreError>;
    /// Applies all changes atomically, as one generation.
    fn write(&self, changes: &mut dyn Iterator<Item = Change>) -> Result<Status, StoreError>;
    /// The newest generation.
    fn view(&self) -> Result<Arc<dyn View>, StoreError>;
    /// Makes the store usable: clears it if it is corrupt or has another format, and recomputes its vectors if they are
    /// of another model.
    fn repair(&self) -> Result<Repairs, StoreError>;
    /// Current status.
    fn status(&self) -> Result<Status, StoreError>;
}

/// An immutable generation.
pub trait View: Send + Sync + fmt::Debug {
    /// Status of the generation.
    fn status(&self) -> Status;
    /// The units with most of a query's terms, and those nearest to its vector: at most `most` of each.
    fn candidates(
        &self,
        question: &Question,
        filter: &Filter,
        most: usize,
    ) -> Result<Candidates, StoreError>;
    /// Whether the filtered collections have units of a genre.
    fn has_genre(&self, genre: Genre, filter: &Filter) -> bool;
    /// Whether a unit in the filtered collections has a term, of one genre or any.
    fn has(&self, term: &str, genre: Option<Genre>, filter: &Filter) -> Result<bool, StoreError>;
    /// Terms of only letters similar to a term, with the number of units that have each, in any collection; unordered.
    fn vocabulary(&self, near: &Nearby<'_>) -> Result<Vec<(String, u64)>, StoreError>;
    /// Reads a unit.
    fn unit(&self, row: Row) -> Result<Found, StoreError>;
    /// The sources of a collection, unordered.
    fn sources(&self, collection: &str) -> Result<Vec<Tally>, StoreError>;
}

/// Search for similar terms in the vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nearby<'a> {
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
pub struct Tally {
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
pub struct Row(pub(crate) u32);

/// Candidate units with the data needed to rank them.
#[derive(Debug, Clone, Default)]
pub struct Candidates {
    pub(crate) units: Vec<Candidate>,
    pub(crate) statistics: Statistics,
}

impl Candidates {
    /// The units, in order.
    pub fn rows(&self) -> impl Iterator<Item = Row> {
        self.units.iter().map(|unit| unit.row)
    }
}

/// Statistics over all units.
#[derive(Debug, Clone, Default)]
pub struct Statistics {
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
pub struct Candidate {
    pub(crate) row: Row,
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
pub struct Found {
    /// The collection of its source.
    pub collection: String,
    /// The path of its source.
    pub path: String,
    /// Code or prose.
    pub genre: Genre,
    /// The digest of its source.
    pub digest: Digest,
    /// The unit; a long body is truncated.
    pub unit: Unit,
}
