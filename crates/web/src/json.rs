//! Requests and parses untrusted JSON responses of bounded size.

use crate::{
    search::host_of,
    trouble::Trouble,
    words::{LONGEST_FACT, bounded, fold},
};
use docent_net::{Body, Client, Request, Response};
use serde::de::DeserializeOwned;

/// Maximum size of a response; one with twenty results has about 50 kB.
const LARGEST: u64 = 4 << 20;

/// Sends a request for JSON.
pub(crate) fn send(request: Request, client: &Client) -> Result<Response, Trouble> {
    Ok(client.send(&request.accept("application/json"), Body::AtMost(LARGEST))?)
}

/// Parses the response.
pub(crate) fn read<T: DeserializeOwned>(response: &Response) -> Result<T, Trouble> {
    serde_json::from_slice(&response.body).map_err(|error| {
        let what = response.media_type().unwrap_or_else(|| "no content type".to_owned());
        // It may quote a text of the response of any length.
        let error = bounded(&fold(&error.to_string()), LONGEST_FACT);
        Trouble::NotJson { host: host_of(&response.url), reason: format!("{error} ({what})") }
    })
}

/// Maps the status codes of an API with a key.
pub(crate) fn keyed(response: &Response, provider: &'static str) -> Result<(), Trouble> {
    let host = host_of(&response.url);
    match response.status {
        200 => Ok(()),
        status @ (401 | 403) => Err(Trouble::KeyRefused { host, provider, status }),
        // Brave returns this for an unknown key; the query is checked before it is sent.
        422 if provider == "brave" => Err(Trouble::KeyRefused { host, provider, status: 422 }),
        status @ (402 | 432 | 433) => Err(Trouble::UsedUp { host, status }),
        _ => Err(Trouble::of_status(&host, response)),
    }
}
