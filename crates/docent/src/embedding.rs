//! The configured embedder, and a substitute for when its endpoint is unreachable.

use crate::config::{Config, Secret};
use docent_index::embed::{
    Document, EmbedError, Embedder, Endpoint, Identity, Remote, Table, Vector,
};
use std::sync::{Arc, Mutex, PoisonError};

/// Connects to the configured endpoint, or returns the built-in table if there is none.
pub(crate) fn connect(config: &Config) -> Result<Arc<dyn Embedder>, EmbedError> {
    let Some(model) = &config.embedding else { return Ok(Table::built_in()) };
    let endpoint = Endpoint {
        url: model.url.clone(),
        model: model.model.clone(),
        key: model.key.as_ref().map(Secret::expose).map(str::to_owned),
        batch: model.batch,
        timeout: model.timeout,
    };
    Ok(Arc::new(Remote::connect(endpoint)?))
}

/// A model whose endpoint is unreachable. Search falls back to words, and the result reports why.
#[derive(Debug)]
pub(crate) struct Away {
    /// The model of the stored embeddings.
    identity: Identity,
    url: String,
    /// Returned to the first caller.
    error: Mutex<Option<EmbedError>>,
}

impl Away {
    pub(crate) fn new(config: &Config, identity: Identity, error: EmbedError) -> Self {
        let url = config.embedding.as_ref().map(|model| model.url.clone()).unwrap_or_default();
        Self { identity, url, error: Mutex::new(Some(error)) }
    }

    fn error(&self) -> EmbedError {
        let error = self.error.lock().unwrap_or_else(PoisonError::into_inner).take();
        error.unwrap_or_else(|| EmbedError::Unexpected {
            url: self.url.clone(),
            reason: "it was unreachable when docent started".into(),
        })
    }
}

impl Embedder for Away {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn documents(&self, _: &[Document<'_>]) -> Result<Vec<Vector>, EmbedError> {
        Err(self.error())
    }

    fn query(&self, _: &str) -> Result<Vector, EmbedError> {
        Err(self.error())
    }
}
