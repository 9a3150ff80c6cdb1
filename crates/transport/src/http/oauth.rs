//! OAuth over HTTP: where to get a token (RFC 9728), why one was rejected (RFC 6750), and which scope is missing.

use super::{
    HttpServerSetup, RouterState, State,
    body::{error_response, json_bytes},
    page,
};
use crate::{AccessControl, CallerContext, MissingScope, PrincipalKind};
use axum::{
    http::{HeaderValue, StatusCode, Uri, header},
    response::Response,
};
use bytes::Bytes;
use docent_wire::{Envelope, Id, MessageError, WireFrame, code, read};
use rmcp::ServerHandler;
use serde::Deserialize;
use serde_json::Value;
use std::{
    borrow::Cow,
    sync::{Arc, RwLock},
};

/// The path of the metadata document.
pub(super) const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";
/// The same, for a resource with a path.
pub(super) const WELL_KNOWN_UNDER: &str = "/.well-known/oauth-protected-resource/{*resource}";
/// The challenge of a server without an authorization server.
const PLAIN_CHALLENGE: HeaderValue = HeaderValue::from_static("Bearer realm=\"docent\"");
/// The reason for a rejected token if there is no specific one.
const INVALID_TOKEN_MESSAGE: &str = "the token is not valid here";

/// Why the metadata of a resource is invalid.
#[derive(Debug, thiserror::Error)]
pub enum ProtectedResourceError {
    /// The resource is not a valid address of this server.
    #[error(
        "{0:?} is not an address of this server: write http:// or https://, a host, and a path"
    )]
    BadResource(String),
    /// The document describes another resource.
    #[error("the metadata's `resource` is not {0:?}: both must be the same")]
    OtherResource(String),
}

/// The OAuth metadata for clients without a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectedResource {
    document: Bytes,
    path: String,
    url: String,
    no_token: HeaderValue,
}

/// The current metadata, if any. It may be replaced while the server runs.
pub type LiveProtectedResource = Arc<RwLock<Option<Arc<ProtectedResource>>>>;

impl ProtectedResource {
    /// A resource URL as clients write it, and its RFC 9728 metadata document.
    pub fn new(resource: &str, metadata: &Value) -> Result<Self, ProtectedResourceError> {
        let bad = || ProtectedResourceError::BadResource(resource.to_owned());
        let address: Uri = resource.parse().map_err(|_| bad())?;
        let scheme = address.scheme_str().filter(|scheme| matches!(*scheme, "http" | "https"));
        let (Some(scheme), Some(authority), None) = (scheme, address.authority(), address.query())
        else {
            return Err(bad());
        };
        // It is written between quotation marks, and RFC 9728 forbids a fragment.
        if authority.as_str().contains('@') || resource.contains(['#', '"', '\\']) {
            return Err(bad());
        }
        if metadata.get("resource").and_then(Value::as_str) != Some(resource) {
            return Err(ProtectedResourceError::OtherResource(resource.to_owned()));
        }
        let path = format!("{WELL_KNOWN}{}", address.path().trim_end_matches('/'));
        let url = format!("{scheme}://{authority}{path}");
        let no_token = format!("Bearer realm=\"docent\", resource_metadata=\"{url}\"");
        let no_token = HeaderValue::from_str(&no_token).map_err(|_| bad())?;
        Ok(Self { document: metadata.to_string().into(), path, url, no_token })
    }

    /// The URL of the document.
    pub fn metadata_url(&self) -> &str {
        &self.url
    }

    /// Whether the document is at this path.
    pub(super) fn serves(&self, path: &str) -> bool {
        path.strip_prefix(WELL_KNOWN)
            .is_some_and(|rest| matches!(rest, "" | "/mcp") || path == self.path)
    }

    fn invalid(&self, why: &str) -> HeaderValue {
        let (url, why) = (&self.url, quotable(why));
        let text = format!(
            "Bearer realm=\"docent\", resource_metadata=\"{url}\", error=\"invalid_token\", \
             error_description=\"{why}\""
        );
        HeaderValue::from_str(&text).unwrap_or_else(|_| self.no_token.clone())
    }

    fn insufficient(&self, scope: &str) -> HeaderValue {
        let url = &self.url;
        let text = format!(
            "Bearer error=\"insufficient_scope\", scope=\"{scope}\", resource_metadata=\"{url}\", \
             error_description=\"the token lacks a required scope\""
        );
        HeaderValue::from_str(&text).unwrap_or_else(|_| self.no_token.clone())
    }
}

/// RFC 6749 and RFC 6750 allow no other characters in a scope or a description, and a quotation mark would end it.
fn quotable(text: &str) -> String {
    text.chars().filter(|c| matches!(c, '!' | '#'..='[' | ']'..='~' | ' ')).collect()
}

/// The challenge for a rejected caller. If it presented a token, it includes the reason.
pub(super) fn challenge(web: &HttpServerSetup, token: Option<&str>) -> HeaderValue {
    let Some(oauth) = web.protected_resource() else { return PLAIN_CHALLENGE };
    let Some(token) = token else { return oauth.no_token.clone() };
    oauth.invalid(web.access.refusal_reason(token).as_deref().unwrap_or(INVALID_TOKEN_MESSAGE))
}

/// The document.
pub(super) async fn metadata<H: ServerHandler>(shared: State<H>, uri: Uri) -> Response {
    let Some(oauth) = shared.web.protected_resource().filter(|oauth| oauth.serves(uri.path()))
    else {
        return page::not_found().await;
    };
    let mut response = json_bytes(oauth.document.to_vec());
    let cached = HeaderValue::from_static("public, max-age=3600");
    response.headers_mut().insert(header::CACHE_CONTROL, cached);
    response
}

/// The response to a request that includes something its token does not allow. None of it is executed.
pub(super) fn missing_scope_response<H: ServerHandler>(
    shared: &RouterState<H>,
    origin: &CallerContext,
    frame: &WireFrame<'_>,
) -> Option<Response> {
    // Other callers get a JSON-RPC error from the handler, and their parameters need not be parsed here.
    if origin.caller.principal.kind != PrincipalKind::Oauth {
        return None;
    }
    let door = &*shared.web.access;
    let (id, lack) = match frame {
        WireFrame::One(Ok(envelope)) => missing_scope_of_call(door, origin, envelope),
        WireFrame::Batch(members) => members
            .iter()
            .flatten()
            .find_map(|envelope| missing_scope_of_call(door, origin, envelope)),
        WireFrame::One(Err(_)) | WireFrame::Empty => None,
    }?;
    let scope = quotable(&lack.scope);
    let message = format!("Insufficient scope: ask for a token with the scope {scope}");
    let mut response = error_response(
        StatusCode::FORBIDDEN,
        &MessageError::new(Some(id.clone()), code::SERVER, message),
    );
    if let Some(oauth) = shared.web.protected_resource() {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, oauth.insufficient(&scope));
    }
    Some(response)
}

/// The same for a request that is not parsed yet.
pub(super) fn missing_scope_in_frame<H: ServerHandler>(
    shared: &RouterState<H>,
    origin: &CallerContext,
    bytes: &[u8],
) -> Option<Response> {
    (origin.caller.principal.kind == PrincipalKind::Oauth)
        .then(|| read(bytes))
        .and_then(|frame| missing_scope_response(shared, origin, &frame))
}

fn missing_scope_of_call<'a>(
    door: &dyn AccessControl,
    origin: &CallerContext,
    envelope: &'a Envelope<'_>,
) -> Option<(&'a Id, MissingScope)> {
    #[derive(Deserialize)]
    struct CalledTool<'a> {
        #[serde(borrow)]
        name: Cow<'a, str>,
    }
    let Envelope::Request { id, method, params: Some(params) } = envelope else { return None };
    if method != "tools/call" {
        return None;
    }
    let call = serde_json::from_str::<CalledTool<'_>>(params).ok()?;
    door.missing_scope(&origin.caller, &call.name).map(|lack| (id, lack))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(resource: &str, want: Option<&str>) {
        let made = ProtectedResource::new(resource, &json!({ "resource": resource }));
        assert_eq!(made.ok().as_ref().map(ProtectedResource::metadata_url), want, "{resource}");
    }

    #[test]
    fn a_resource_has_its_document_beside_it() {
        let at = |rest: &str| format!("https://a.example{WELL_KNOWN}{rest}");
        check("https://a.example/mcp", Some(&at("/mcp")));
        check("https://a.example", Some(&at("")));
        check("https://a.example/", Some(&at("")));
        check("https://a.example/b/mcp", Some(&at("/b/mcp")));
        check(
            "http://127.0.0.1:8080/mcp",
            Some("http://127.0.0.1:8080/.well-known/oauth-protected-resource/mcp"),
        );
        for bad in [
            "",
            "/mcp",
            "a.example",
            "ftp://a.example/mcp",
            "https://u:p@a.example/mcp",
            "https://a.example/mcp?x=1",
            "https://a.example/mcp#x",
            "https://a.example/\"x",
            "https://a.example/\\x",
            "https://a.example/m\r\nx: y",
        ] {
            check(bad, None);
        }
    }

    #[test]
    fn the_document_is_the_resource_s_own() {
        let other = json!({ "resource": "https://b.example/mcp" });
        let made = ProtectedResource::new("https://a.example/mcp", &other);
        assert!(matches!(made, Err(ProtectedResourceError::OtherResource(_))), "{made:?}");
    }
}
