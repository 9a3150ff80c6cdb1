//! A POST without an `Authorization` header: read only to find the token of an `initialize`.
//!
//! The token authenticates this one request. Later requests send theirs in the header: a session id is not
//! authentication.

use super::{
    RouterState,
    body::{is_json, retry_later_response},
    guard::unauthorized,
    listen::ConnectionPeer,
    mcp::SESSION_HEADER,
};
use axum::{
    body::{Body, to_bytes},
    extract::Request,
    http::{HeaderMap, StatusCode},
    response::Response,
};
use docent_wire::{GateDecision, HandshakePolicy, ProtocolState, WireFrame, read};
use hyper::body::Body as _;
use rmcp::ServerHandler;
use std::{net::Ipv4Addr, sync::Arc, time::Duration};
use tokio::time::timeout;

/// Maximum bytes of an `initialize` from an unknown sender.
const MAX_OPENING_BYTES: usize = 64 * 1024;
/// Timeout for the body, as on a WebSocket.
const OPENING_TIMEOUT: Duration = Duration::from_secs(5);
const TOO_MANY_OPENINGS: &str =
    "Too many unauthenticated callers: send the token in the Authorization header, or try again";

/// Whether the body may carry the token: a POST that starts a connection.
pub(super) fn may_carry_token(headers: &HeaderMap) -> bool {
    is_json(headers) && !headers.contains_key(SESSION_HEADER)
}

/// The request with its body read, and the token of its `initialize`. Anything else is answered.
pub(super) async fn read_token<H: ServerHandler>(
    shared: &Arc<RouterState<H>>,
    request: Request,
) -> Result<(Request, String), Box<Response>> {
    let remote = request.extensions().get::<ConnectionPeer>().map(|peer| peer.remote);
    let Some(_place) = shared.locked.take(remote.unwrap_or(Ipv4Addr::UNSPECIFIED.into())) else {
        shared.web.access.count_no_capacity();
        let status = StatusCode::SERVICE_UNAVAILABLE;
        return Err(Box::new(retry_later_response(
            status,
            TOO_MANY_OPENINGS.to_owned(),
            OPENING_TIMEOUT,
        )));
    };
    let refused = || Box::new(unauthorized(&shared.web, None));
    let (parts, body) = request.into_parts();
    let limit = MAX_OPENING_BYTES.min(shared.web.message_bytes);
    if body.size_hint().lower() > limit as u64 {
        return Err(refused());
    }
    let bytes = timeout(OPENING_TIMEOUT, to_bytes(body, limit)).await;
    let bytes = bytes.ok().and_then(Result::ok).ok_or_else(refused)?;
    let token = token_of(&bytes).ok_or_else(refused)?;
    Ok((Request::from_parts(parts, Body::from(bytes)), token))
}

/// The token of an `initialize`; `None` for every other message.
fn token_of(bytes: &[u8]) -> Option<String> {
    let WireFrame::One(Ok(envelope)) = read(bytes) else { return None };
    match ProtocolState::new(HandshakePolicy::Required, true).gate(&envelope) {
        GateDecision::Open(_, token) => token,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_initialize_carries_a_token() {
        let auth = r#""auth":{"type":"bearer","token":"t"}"#;
        let initialize =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{{auth}}}}}"#);
        let modern = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
        let cases = [
            (initialize.clone(), Some("t")),
            (format!("[{initialize}]"), None),
            (initialize.replace(r#""id":1,"#, ""), None),
            (initialize.replace("bearer", "basic"), None),
            (initialize.replace("initialize", "tools/list"), None),
            (initialize.replace(auth, &format!("{auth},{modern}")), None),
            (initialize.replace(auth, ""), None),
            (initialize.replace(r#""t""#, "7"), None),
            ("{".into(), None),
            (String::new(), None),
        ];
        for (body, want) in cases {
            assert_eq!(token_of(body.as_bytes()).as_deref(), want, "{body}");
        }
    }
}
