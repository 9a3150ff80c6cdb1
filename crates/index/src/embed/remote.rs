//! Remote models with an `OpenAI`-compatible API: Ollama, LM Studio, vLLM and others.

use super::{EmbedError, Embedder, EmbeddingInput, ModelIdentity, Vector};
use serde::{Deserialize, Serialize};
use std::{fmt, thread, time::Duration};
use ureq::{Agent, http::StatusCode};

/// Maximum number of attempts per request.
const MAX_ATTEMPTS: u32 = 4;
/// First retry delay; doubles with each retry.
const FIRST_RETRY_DELAY: Duration = Duration::from_millis(200);
/// Maximum retry delay, even if the endpoint asks for more.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(10);
/// Maximum text length per unit: models read a few hundred words, and some reject longer texts.
const MAX_TEXT_CHARS: usize = 2_000;
/// Maximum size of a response.
const MAX_RESPONSE_BYTES: u64 = 64 << 20;
/// Maximum length of an endpoint's message in errors.
const MAX_MESSAGE_CHARS: usize = 300;

/// Endpoint of a remote model.
#[derive(Clone, PartialEq, Eq)]
pub struct EmbeddingEndpoint {
    /// Base URL before `/embeddings`, such as `http://localhost:11434/v1`.
    pub url: String,
    /// Name of the model.
    pub model: String,
    /// Bearer token.
    pub key: Option<String>,
    /// Number of texts per request.
    pub batch: usize,
    /// Timeout of a request.
    pub timeout: Duration,
}

impl fmt::Debug for EmbeddingEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The key stays out of logs and panics.
        f.debug_struct("EmbeddingEndpoint")
            .field("url", &self.url)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

/// An embedder that calls an endpoint.
#[derive(Debug)]
pub struct RemoteEmbedder {
    endpoint: EmbeddingEndpoint,
    identity: ModelIdentity,
    agent: Agent,
}

#[derive(Serialize)]
struct EmbeddingRequest<'a> {
    model: &'a str,
    input: &'a [String],
    encoding_format: &'static str,
}

#[derive(Deserialize)]
struct EmbeddingResponse {
    data: Vec<EmbeddingItem>,
}

#[derive(Deserialize)]
struct EmbeddingItem {
    index: Option<usize>,
    embedding: Vec<f32>,
}

/// Result of a request.
enum EmbeddingAttempt {
    Done(Vec<Vec<f32>>),
    /// Retry, after the delay requested by the endpoint.
    Later(EmbedError, Option<Duration>),
}

impl RemoteEmbedder {
    /// Connects, and requests one vector to learn the dimensions of the model.
    pub fn connect(endpoint: EmbeddingEndpoint) -> Result<Self, EmbedError> {
        let config = Agent::config_builder()
            .timeout_global(Some(endpoint.timeout))
            .http_status_as_error(false)
            .max_redirects(0)
            // A proxy from the environment would see the key and every text.
            .proxy(None)
            .build();
        let identity = ModelIdentity { model: endpoint.model.clone(), dimensions: 0 };
        let mut remote = Self { endpoint, identity, agent: config.into() };
        let first = remote.send(&["docent".to_owned()])?;
        remote.identity.dimensions = first.first().map_or(0, Vec::len);
        if remote.identity.dimensions == 0 {
            return Err(remote.unexpected("its vectors are empty"));
        }
        Ok(remote)
    }

    fn url(&self) -> String {
        format!("{}/embeddings", self.endpoint.url.trim_end_matches('/'))
    }

    fn unexpected(&self, reason: impl Into<String>) -> EmbedError {
        EmbedError::Unexpected { url: self.url(), reason: reason.into() }
    }

    fn send(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut pause = FIRST_RETRY_DELAY;
        for _ in 1..MAX_ATTEMPTS {
            match self.try_once(texts)? {
                EmbeddingAttempt::Done(vectors) => return Ok(vectors),
                EmbeddingAttempt::Later(error, asked) => {
                    let wait = asked.unwrap_or(pause).min(MAX_RETRY_DELAY);
                    tracing::debug!(%error, ?wait, "retrying the embedding request");
                    thread::sleep(wait);
                    pause *= 2;
                }
            }
        }
        match self.try_once(texts)? {
            EmbeddingAttempt::Done(vectors) => Ok(vectors),
            EmbeddingAttempt::Later(error, _) => Err(error),
        }
    }

    fn try_once(&self, texts: &[String]) -> Result<EmbeddingAttempt, EmbedError> {
        let url = self.url();
        let request = EmbeddingRequest {
            model: &self.endpoint.model,
            input: texts,
            encoding_format: "float",
        };
        let mut call = self.agent.post(&url).content_type("application/json");
        if let Some(key) = &self.endpoint.key {
            call = call.header("authorization", format!("Bearer {key}"));
        }
        let body =
            serde_json::to_string(&request).map_err(|error| self.unexpected(error.to_string()))?;
        let mut answer = match call.send(body) {
            Ok(answer) => answer,
            Err(source) => {
                let error = EmbedError::Unreachable { url, source: Box::new(source) };
                return Ok(EmbeddingAttempt::Later(error, None));
            }
        };
        let status = answer.status();
        let asked = answer.headers().get("retry-after").and_then(|value| value.to_str().ok());
        let asked = asked.and_then(|value| value.parse().ok()).map(Duration::from_secs);
        let read = answer.body_mut().with_config().limit(MAX_RESPONSE_BYTES).read_to_string();
        let text = match read {
            Ok(text) => text,
            Err(source) => {
                let error = EmbedError::Unreachable { url, source: Box::new(source) };
                return Ok(EmbeddingAttempt::Later(error, None));
            }
        };
        if status.is_success() {
            return self.vectors(&text, texts.len()).map(EmbeddingAttempt::Done);
        }
        let message = text.chars().take(MAX_MESSAGE_CHARS).collect();
        let error = EmbedError::Refused { url, status: status.as_u16(), message };
        if status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error() {
            return Ok(EmbeddingAttempt::Later(error, asked));
        }
        Err(error)
    }

    fn vectors(&self, text: &str, count: usize) -> Result<Vec<Vec<f32>>, EmbedError> {
        let reply: EmbeddingResponse =
            serde_json::from_str(text).map_err(|error| self.unexpected(error.to_string()))?;
        if reply.data.len() != count {
            return Err(self.unexpected(format!("{} vectors for {count} texts", reply.data.len())));
        }
        let mut ordered = vec![Vec::new(); count];
        for (at, one) in reply.data.into_iter().enumerate() {
            let index = one.index.unwrap_or(at);
            let dimensions = self.identity.dimensions;
            if dimensions != 0 && one.embedding.len() != dimensions {
                let got = one.embedding.len();
                return Err(self.unexpected(format!(
                    "{got} dimensions instead of {dimensions} as before: restart docent"
                )));
            }
            let slot = ordered.get_mut(index);
            *slot.ok_or_else(|| self.unexpected(format!("unknown text index {index}")))? =
                one.embedding;
        }
        Ok(ordered)
    }
}

fn text_of(document: &EmbeddingInput<'_>) -> String {
    let unit = document.unit;
    let parts = [&unit.name, document.path, &unit.signature, &unit.doc, &unit.body];
    let said: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let mut text = said.join("\n");
    text.truncate(text.floor_char_boundary(MAX_TEXT_CHARS));
    text
}

impl Embedder for RemoteEmbedder {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn documents(&self, documents: &[EmbeddingInput<'_>]) -> Result<Vec<Vector>, EmbedError> {
        let mut vectors = Vec::with_capacity(documents.len());
        for batch in documents.chunks(self.endpoint.batch.max(1)) {
            let texts: Vec<String> = batch.iter().map(text_of).collect();
            vectors.extend(self.send(&texts)?.iter().map(|numbers| Vector::new(numbers)));
        }
        Ok(vectors)
    }

    fn query(&self, text: &str) -> Result<Vector, EmbedError> {
        let numbers = self.send(&[text.to_owned()])?;
        Ok(Vector::new(numbers.first().map_or(&[], Vec::as_slice)))
    }
}

#[cfg(test)]
mod tests;
