//! The configured embedder, and a substitute for when its endpoint is unreachable.

use crate::config::{Config, SecretText};
use docent_index::embed::{
    EmbedError, Embedder, EmbeddingEndpoint, EmbeddingInput, EmbeddingTable, ModelIdentity,
    RemoteEmbedder, Vector,
};
use std::sync::{Arc, Mutex, PoisonError};

/// Connects to the configured endpoint, or returns the built-in table if there is none.
pub(crate) fn connect(config: &Config) -> Result<Arc<dyn Embedder>, EmbedError> {
    let Some(model) = &config.embedding else { return Ok(EmbeddingTable::built_in()) };
    let endpoint = EmbeddingEndpoint {
        url: model.url.clone(),
        model: model.model.clone(),
        key: model.key.as_ref().map(SecretText::expose).map(str::to_owned),
        batch: model.batch,
        timeout: model.timeout,
    };
    Ok(Arc::new(RemoteEmbedder::connect(endpoint)?))
}

/// A model whose endpoint is unreachable. Search falls back to words, and the result reports why.
#[derive(Debug)]
pub(crate) struct UnreachableModel {
    /// The model of the stored embeddings.
    identity: ModelIdentity,
    url: String,
    /// Returned to the first caller.
    error: Mutex<Option<EmbedError>>,
}

impl UnreachableModel {
    pub(crate) fn new(config: &Config, identity: ModelIdentity, error: EmbedError) -> Self {
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

impl Embedder for UnreachableModel {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn documents(&self, _: &[EmbeddingInput<'_>]) -> Result<Vec<Vector>, EmbedError> {
        Err(self.error())
    }

    fn query(&self, _: &str) -> Result<Vector, EmbedError> {
        Err(self.error())
    }
}
