//! Starts a conversation with a server: `initialize`, or `server/discover` for servers without sessions.

use crate::{
    DownstreamPeer, PeerRequest, ProtocolMode, RequestError,
    protocol_mode::{PLAIN_VERSION, STATELESS_VERSION},
};
use docent_dial::TransportFailure;
use docent_tool::Object;
use serde_json::{Value, json};

/// The newest revision with sessions, which is requested first.
const SESSION_VERSION: &str = "2025-11-25";
/// Error code for a revision that the server does not support.
const UNSUPPORTED_VERSION_CODE: i64 = -32022;
/// Error codes with which a server without sessions refuses a handshake: unknown method, parameters, request, missing
/// header fields, version.
const HANDSHAKE_REFUSAL_CODES: [i64; 5] =
    [-32601, -32602, -32600, -32020, UNSUPPORTED_VERSION_CODE];

/// A server's description of itself.
#[derive(Debug, Clone)]
pub struct HandshakeResult {
    /// Which protocol mode it uses.
    pub era: ProtocolMode,
    /// Its name and version.
    pub info: Value,
    /// Its capabilities.
    pub capabilities: Value,
    /// Its instructions for a model.
    pub instructions: Option<String>,
}

/// Detects which protocol mode a server uses, starting with the one that worked last time.
pub async fn handshake(
    peer: &DownstreamPeer,
    last: Option<&ProtocolMode>,
) -> Result<HandshakeResult, RequestError> {
    if last == Some(&ProtocolMode::Stateless) {
        // If the server has gone back to sessions, the handshake below detects it.
        match discover(peer).await {
            Err(
                RequestError::Rpc { .. }
                | RequestError::Failed(TransportFailure::Refused { status: 400..=499, .. }),
            ) => {}
            other => return other,
        }
    }
    match initialize(peer).await {
        Err(RequestError::Rpc { code, message, data })
            if HANDSHAKE_REFUSAL_CODES.contains(&code) =>
        {
            let refused = RequestError::Rpc { code, message, data };
            match discover(peer).await {
                Err(RequestError::Rpc { .. }) => Err(refused),
                other => other,
            }
        }
        Err(RequestError::Failed(TransportFailure::Refused { status: 400, text })) => {
            let refused = TransportFailure::Refused { status: 400, text };
            discover(peer).await.map_err(|_| refused.into())
        }
        other => other,
    }
}

async fn initialize(peer: &DownstreamPeer) -> Result<HandshakeResult, RequestError> {
    let mut params = Object::new();
    params.insert("protocolVersion".into(), SESSION_VERSION.into());
    params.insert("capabilities".into(), peer.capabilities.clone());
    params.insert("clientInfo".into(), own_name());
    let mut result = peer.request("initialize", PeerRequest::new(params)).await?;
    let version = result.get("protocolVersion").and_then(Value::as_str);
    let version = version.unwrap_or(SESSION_VERSION).to_owned();
    let opened = parse_handshake(ProtocolMode::Session(version), &mut result);
    peer.set_protocol(&opened.era);
    peer.notify("notifications/initialized", Object::new()).await?;
    if opened.era.version() == PLAIN_VERSION {
        // The earliest servers expect the older name of the notification.
        peer.notify("initialized", Object::new()).await?;
    }
    Ok(opened)
}

async fn discover(peer: &DownstreamPeer) -> Result<HandshakeResult, RequestError> {
    let mut params = Object::new();
    params.insert("_meta".into(), peer.stateless_meta().into_iter().collect());
    let mut result = match peer.request("server/discover", PeerRequest::new(params.clone())).await {
        // It supports this revision after all, so the request is repeated.
        Err(RequestError::Rpc { code: UNSUPPORTED_VERSION_CODE, data: Some(data), .. })
            if supports_our_revision(&data) =>
        {
            peer.request("server/discover", PeerRequest::new(params)).await?
        }
        other => other?,
    };
    let opened = parse_handshake(ProtocolMode::Stateless, &mut result);
    peer.set_protocol(&opened.era);
    Ok(opened)
}

/// Whether a server that refused a revision lists ours as supported.
fn supports_our_revision(data: &Value) -> bool {
    let supported = data.get("supported").and_then(Value::as_array);
    supported.into_iter().flatten().any(|version| version == STATELESS_VERSION)
}

fn parse_handshake(era: ProtocolMode, result: &mut Value) -> HandshakeResult {
    // The place in the stateless revision.
    let named = result.pointer_mut("/_meta/io.modelcontextprotocol~1serverInfo").map(Value::take);
    let mut take = |name: &str| result.get_mut(name).map(Value::take).unwrap_or_default();
    HandshakeResult {
        era,
        info: named.unwrap_or_else(|| take("serverInfo")),
        capabilities: take("capabilities"),
        instructions: take("instructions").as_str().map(str::to_owned),
    }
}
/// How docent introduces itself to servers.
pub(crate) fn own_name() -> Value {
    json!({"name": "docent", "version": env!("CARGO_PKG_VERSION")})
}
