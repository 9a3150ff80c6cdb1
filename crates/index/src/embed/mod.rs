//! Embeddings: vectors whose similarity reflects meaning. One trait, with a built-in table and remote models behind it.

mod remote;
mod table;
mod vector;

pub use remote::{EmbeddingEndpoint, RemoteEmbedder};
pub use table::EmbeddingTable;
pub use vector::Vector;

use crate::unit::{Genre, IndexUnit};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The model of a vector. Vectors of different models can't be compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelIdentity {
    /// The model and its version.
    pub model: String,
    /// Number of dimensions.
    pub dimensions: usize,
}

impl fmt::Display for ModelIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} dimensions)", self.model, self.dimensions)
    }
}

/// A unit to embed.
#[derive(Debug, Clone, Copy)]
pub struct EmbeddingInput<'a> {
    /// The unit.
    pub unit: &'a IndexUnit,
    /// The path of its source.
    pub path: &'a str,
    /// Code or prose.
    pub genre: Genre,
}

/// Why embedding failed.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The endpoint can't be reached, after retries.
    #[error(
        "cannot reach the embedding endpoint {url}: is it running, and is embedding.url correct?"
    )]
    Unreachable {
        /// URL of the endpoint.
        url: String,
        /// The cause.
        #[source]
        source: Box<ureq::Error>,
    },
    /// The endpoint returned an error.
    #[error("the embedding endpoint {url} returned status {status}: {message}")]
    Refused {
        /// URL of the endpoint.
        url: String,
        /// The HTTP status.
        status: u16,
        /// Its message.
        message: String,
    },
    /// The response is not valid.
    #[error("the embedding endpoint {url} returned an invalid response: {reason}")]
    Unexpected {
        /// URL of the endpoint.
        url: String,
        /// What is wrong.
        reason: String,
    },
}

/// Converts texts into vectors.
pub trait Embedder: Send + Sync + fmt::Debug {
    /// The model.
    fn identity(&self) -> &ModelIdentity;
    /// Embeds units, in order.
    fn documents(&self, documents: &[EmbeddingInput<'_>]) -> Result<Vec<Vector>, EmbedError>;
    /// Embeds a query.
    fn query(&self, text: &str) -> Result<Vector, EmbedError>;
    /// Embeds a few words, if that is cheap.
    fn phrase(&self, text: &str) -> Option<Vector> {
        let _ = text;
        None
    }
}
