//! How documents of an issuer are read. The caller hands its guarded network client in; this crate opens no connection.

use std::{error::Error, time::Duration};

/// Reads a URL. Blocks; follows its own rules on hosts, redirects and time.
pub trait DocumentFetcher: Send + Sync {
    /// The body of a successful answer. Any status but 200 is an error.
    fn get(&self, url: &str) -> Result<FetchedDocument, DocumentFetchError>;
}

/// A document of an issuer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FetchedDocument {
    /// As it came.
    pub body: Vec<u8>,
    /// What the answer's `Cache-Control` grants.
    pub max_age: Option<Duration>,
}

/// Why a document could not be read.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct DocumentFetchError(Box<dyn Error + Send + Sync>);

impl DocumentFetchError {
    /// Keeps the cause.
    pub fn new(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(cause.into())
    }
}
