//! Requests and parses untrusted JSON responses of bounded size.

use crate::{
    error::ProviderError,
    search::host_of,
    text::{MAX_FACT_CHARS, fold, truncate},
};
use docent_net::{BodyLimit, FetchRequest, FetchResponse, GuardedClient};
use serde::de::DeserializeOwned;

/// Maximum size of a response; one with twenty results has about 50 kB.
const MAX_RESPONSE_BYTES: u64 = 4 << 20;

/// Sends a request for JSON.
pub(crate) fn send(
    request: FetchRequest,
    client: &GuardedClient,
) -> Result<FetchResponse, ProviderError> {
    Ok(client.send(&request.accept("application/json"), BodyLimit::AtMost(MAX_RESPONSE_BYTES))?)
}

/// Parses the response.
pub(crate) fn read<T: DeserializeOwned>(response: &FetchResponse) -> Result<T, ProviderError> {
    serde_json::from_slice(&response.body).map_err(|error| {
        let what = response.media_type().unwrap_or_else(|| "no content type".to_owned());
        // It may quote a text of the response of any length.
        let error = truncate(&fold(&error.to_string()), MAX_FACT_CHARS);
        ProviderError::NotJson { host: host_of(&response.url), reason: format!("{error} ({what})") }
    })
}

/// Maps the status codes of an API with a key.
pub(crate) fn keyed(response: &FetchResponse, provider: &'static str) -> Result<(), ProviderError> {
    let host = host_of(&response.url);
    match response.status {
        200 => Ok(()),
        status @ (401 | 403) => Err(ProviderError::KeyRefused { host, provider, status }),
        // Brave returns this for an unknown key; the query is checked before it is sent.
        422 if provider == "brave" => {
            Err(ProviderError::KeyRefused { host, provider, status: 422 })
        }
        status @ (402 | 432 | 433) => Err(ProviderError::UsedUp { host, status }),
        _ => Err(ProviderError::of_status(&host, response)),
    }
}
