//! OAuth's words on HTTP: where a token can be had (RFC 9728), why one was refused (RFC 6750), what one lacks.

use super::{
    Shared, State,
    body::{json_bytes, refused},
    page,
};
use crate::{Door, Lack, Origin, PrincipalKind};
use axum::{
    http::{HeaderValue, StatusCode, Uri, header},
    response::Response,
};
use bytes::Bytes;
use docent_wire::{Envelope, Frame, Id, Refusal, code, read};
use rmcp::ServerHandler;
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;

/// Where clients look for the document.
pub(super) const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";
/// The same, for a resource that has a path.
pub(super) const WELL_KNOWN_UNDER: &str = "/.well-known/oauth-protected-resource/{*resource}";
/// The challenge of a server that knows no authorization server.
const PLAIN: HeaderValue = HeaderValue::from_static("Bearer realm=\"docent\"");

/// Why a resource can't be offered.
#[derive(Debug, thiserror::Error)]
pub enum OauthError {
    /// It can't be reached by that address.
    #[error(
        "{0:?} is not an address of this server: write http:// or https://, a host, and a path"
    )]
    BadResource(String),
    /// The document speaks of another resource.
    #[error("the metadata's `resource` is not {0:?}: both must be the same")]
    OtherResource(String),
}

/// What clients without a token are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OauthDoor {
    document: Bytes,
    path: String,
    url: String,
    no_token: HeaderValue,
    bad_token: HeaderValue,
}

impl OauthDoor {
    /// A resource, as its clients write it, and its document as RFC 9728 has it.
    pub fn new(resource: &str, metadata: &Value) -> Result<Self, OauthError> {
        let bad = || OauthError::BadResource(resource.to_owned());
        let address: Uri = resource.parse().map_err(|_| bad())?;
        let scheme = address.scheme_str().filter(|scheme| matches!(*scheme, "http" | "https"));
        let (Some(scheme), Some(authority), None) = (scheme, address.authority(), address.query())
        else {
            return Err(bad());
        };
        // It is written between quotation marks, and RFC 9728 has no fragment in it.
        if authority.as_str().contains('@') || resource.contains(['#', '"', '\\']) {
            return Err(bad());
        }
        if metadata.get("resource").and_then(Value::as_str) != Some(resource) {
            return Err(OauthError::OtherResource(resource.to_owned()));
        }
        let path = format!("{WELL_KNOWN}{}", address.path().trim_end_matches('/'));
        let url = format!("{scheme}://{authority}{path}");
        let challenge = |more: &str| {
            let text = format!("Bearer realm=\"docent\", resource_metadata=\"{url}\"{more}");
            HeaderValue::from_str(&text).map_err(|_| bad())
        };
        let (no_token, bad_token) = (
            challenge("")?,
            challenge(
                ", error=\"invalid_token\", error_description=\"the token is not valid here\"",
            )?,
        );
        Ok(Self { document: metadata.to_string().into(), path, url, no_token, bad_token })
    }

    /// Where the document is.
    pub fn metadata_url(&self) -> &str {
        &self.url
    }

    /// Whether the document is at this path.
    pub(super) fn serves(&self, path: &str) -> bool {
        path.strip_prefix(WELL_KNOWN)
            .is_some_and(|rest| matches!(rest, "" | "/mcp") || path == self.path)
    }

    fn insufficient(&self, scope: &str) -> HeaderValue {
        let url = &self.url;
        let text = format!(
            "Bearer error=\"insufficient_scope\", scope=\"{scope}\", resource_metadata=\"{url}\", \
             error_description=\"the token lacks a scope\""
        );
        HeaderValue::from_str(&text).unwrap_or_else(|_| self.no_token.clone())
    }
}

/// What a refused caller may do about it.
pub(super) fn challenge(oauth: Option<&OauthDoor>, showed_token: bool) -> HeaderValue {
    match oauth {
        None => PLAIN,
        Some(oauth) if showed_token => oauth.bad_token.clone(),
        Some(oauth) => oauth.no_token.clone(),
    }
}

/// The document.
pub(super) async fn metadata<H: ServerHandler>(shared: State<H>, uri: Uri) -> Response {
    let Some(oauth) = shared.web.oauth.as_ref().filter(|oauth| oauth.serves(uri.path())) else {
        return page::nowhere().await;
    };
    let mut response = json_bytes(oauth.document.to_vec());
    let cached = HeaderValue::from_static("public, max-age=3600");
    response.headers_mut().insert(header::CACHE_CONTROL, cached);
    response
}

/// The answer to a post in which something is asked that the token does not allow. Nothing of it is done.
pub(super) fn lacking<H: ServerHandler>(
    shared: &Shared<H>,
    origin: &Origin,
    frame: &Frame<'_>,
) -> Option<Response> {
    // Other callers hear of it as JSON-RPC, from whoever they call, and are spared the look at their parameters.
    if origin.caller.principal.kind != PrincipalKind::Oauth {
        return None;
    }
    let door = &*shared.web.door;
    let (id, lack) = match frame {
        Frame::One(Ok(envelope)) => lack_of(door, origin, envelope),
        Frame::Batch(members) => {
            members.iter().flatten().find_map(|envelope| lack_of(door, origin, envelope))
        }
        Frame::One(Err(_)) | Frame::Empty => None,
    }?;
    // RFC 6749 has no other characters in a scope, and a quotation mark would end the parameter.
    let is_sayable = |c: &char| matches!(c, '!' | '#'..='[' | ']'..='~' | ' ');
    let scope: String = lack.scope.chars().filter(is_sayable).collect();
    let told = format!("Insufficient scope: ask for a token with the scope {scope}");
    let mut response =
        refused(StatusCode::FORBIDDEN, &Refusal::new(Some(id.clone()), code::SERVER, told));
    if let Some(oauth) = &shared.web.oauth {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, oauth.insufficient(&scope));
    }
    Some(response)
}

/// The same for a post that is not read yet.
pub(super) fn lacking_in<H: ServerHandler>(
    shared: &Shared<H>,
    origin: &Origin,
    bytes: &[u8],
) -> Option<Response> {
    (origin.caller.principal.kind == PrincipalKind::Oauth)
        .then(|| read(bytes))
        .and_then(|frame| lacking(shared, origin, &frame))
}

fn lack_of<'a>(
    door: &dyn Door,
    origin: &Origin,
    envelope: &'a Envelope<'_>,
) -> Option<(&'a Id, Lack)> {
    #[derive(Deserialize)]
    struct Target<'a> {
        #[serde(borrow, default)]
        name: Option<Cow<'a, str>>,
        #[serde(borrow, default)]
        uri: Option<Cow<'a, str>>,
    }
    let Envelope::Request { id, method, params } = envelope else { return None };
    let by_uri = match &**method {
        "tools/call" | "prompts/get" => false,
        "resources/read" => true,
        _ => return None,
    };
    let target = params.and_then(|params| serde_json::from_str::<Target<'_>>(params).ok());
    let target = target.and_then(|target| if by_uri { target.uri } else { target.name });
    door.lacks(&origin.caller, method, target.as_deref()).map(|lack| (id, lack))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(resource: &str, want: Option<&str>) {
        let made = OauthDoor::new(resource, &json!({ "resource": resource }));
        assert_eq!(made.ok().as_ref().map(OauthDoor::metadata_url), want, "{resource}");
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
        let made = OauthDoor::new("https://a.example/mcp", &other);
        assert!(matches!(made, Err(OauthError::OtherResource(_))), "{made:?}");
    }
}
