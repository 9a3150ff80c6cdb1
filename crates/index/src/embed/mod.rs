//! Texts as points whose nearness is likeness of meaning. One trait; the table that is built in, and models that others
//! serve, stand behind it.

mod remote;
mod table;
mod vector;

pub use remote::{EmbeddingEndpoint, RemoteEmbedder};
pub use table::EmbeddingTable;
pub use vector::Vector;

use crate::unit::{Genre, IndexUnit};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Which model made a vector. Vectors of two identities can't be compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelIdentity {
    /// The model and its version.
    pub model: String,
    /// Numbers in a vector.
    pub dimensions: usize,
}

impl fmt::Display for ModelIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} dimensions)", self.model, self.dimensions)
    }
}

/// A unit as an embedder sees it.
#[derive(Debug, Clone, Copy)]
pub struct EmbeddingInput<'a> {
    /// The unit.
    pub unit: &'a IndexUnit,
    /// The path of its source.
    pub path: &'a str,
    /// Code or prose.
    pub genre: Genre,
}

/// Why there is no vector.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The endpoint can't be reached, also not after trying again.
    #[error(
        "the embedding endpoint {url} can't be reached: is it running, and is embedding.url right?"
    )]
    Unreachable {
        /// Its address.
        url: String,
        /// The cause.
        #[source]
        source: Box<ureq::Error>,
    },
    /// It answered with an error.
    #[error("the embedding endpoint {url} answered {status}: {message}")]
    Refused {
        /// Its address.
        url: String,
        /// The HTTP status.
        status: u16,
        /// What it said.
        message: String,
    },
    /// It answered with something else than embeddings.
    #[error("the embedding endpoint {url} answered with something else than embeddings: {reason}")]
    Unexpected {
        /// Its address.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// Makes vectors of texts.
pub trait Embedder: Send + Sync + fmt::Debug {
    /// Which model this is.
    fn identity(&self) -> &ModelIdentity;
    /// A vector for each unit, in order.
    fn documents(&self, documents: &[EmbeddingInput<'_>]) -> Result<Vec<Vector>, EmbedError>;
    /// A vector for a question.
    fn query(&self, text: &str) -> Result<Vector, EmbedError>;
    /// A vector for a few words, where that costs next to nothing.
    fn phrase(&self, text: &str) -> Option<Vector> {
        let _ = text;
        None
    }
}
