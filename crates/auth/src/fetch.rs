//! Reading documents of an issuer. The caller passes in its guarded network client; this crate opens no connection.

use std::{error::Error, time::Duration};

/// Reads a URL. Blocks; applies its own rules on hosts, redirects and timeouts.
pub trait DocumentFetcher: Send + Sync {
    /// The body of a successful response. Any status but 200 is an error.
    fn get(&self, url: &str) -> Result<FetchedDocument, DocumentFetchError>;
}

/// A document of an issuer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FetchedDocument {
    /// The body, unchanged.
    pub body: Vec<u8>,
    /// The lifetime granted by the response's `Cache-Control`.
    pub max_age: Option<Duration>,
}

/// Why a document could not be read.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct DocumentFetchError(Box<dyn Error + Send + Sync>);

impl DocumentFetchError {
    /// Wraps the cause.
    pub fn new(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(cause.into())
    }
}
