//! The order of messages on one connection, in every dialect.

use crate::{Dialect, Envelope, Id, MessageError, code};
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;

/// Whether a peer of a session-based revision must open with `initialize`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HandshakePolicy {
    /// Required.
    #[default]
    Required,
    /// Optional: a peer that skips it is served in the fallback dialect.
    Optional,
}

/// What to do with an envelope.
#[derive(Debug, PartialEq)]
pub enum GateDecision {
    /// Process it, in this dialect.
    Pass(Dialect),
    /// Process it as `initialize`: the peer asks for this dialect, and may present this token.
    Open(Dialect, Option<String>),
    /// Answer it immediately.
    Answer(Value),
    /// Reject it with this error.
    Refuse(MessageError),
    /// Ignore it; it expects no answer.
    Drop,
}

/// The state of one connection.
#[derive(Debug, Clone)]
pub struct ProtocolState {
    handshake: HandshakePolicy,
    dialect: Option<Dialect>,
    locked: bool,
    shut: bool,
}

impl ProtocolState {
    /// A new connection. A locked one accepts only an `initialize` that carries a token.
    pub fn new(handshake: HandshakePolicy, locked: bool) -> Self {
        Self { handshake, dialect: None, locked, shut: false }
    }

    /// The dialect in which messages of session-based revisions are read.
    pub fn dialect(&self) -> Dialect {
        self.dialect.unwrap_or(Dialect::FALLBACK)
    }

    /// Whether arrays of messages are allowed on this connection.
    pub fn has_batches(&self) -> bool {
        match self.dialect {
            Some(dialect) => dialect.has_batches(),
            None => self.handshake == HandshakePolicy::Optional,
        }
    }

    /// Whether the peer has yet to present a token.
    pub fn is_locked(&self) -> bool {
        self.locked
    }

    /// The token that came with `initialize` is valid.
    pub fn unlock(&mut self) {
        self.locked = false;
    }

    /// `initialize` was accepted: from now on this dialect applies.
    pub fn opened(&mut self, dialect: Dialect) {
        self.dialect = Some(dialect);
        self.shut = false;
    }

    /// Decides about one message. Only [`Self::opened`] and a `shutdown` change what follows.
    pub fn gate(&mut self, envelope: &Envelope<'_>) -> GateDecision {
        match envelope {
            Envelope::Response { .. } | Envelope::Notification { .. } if self.locked => {
                GateDecision::Drop
            }
            Envelope::Response { .. } | Envelope::Notification { .. } => {
                GateDecision::Pass(self.dialect())
            }
            Envelope::Request { id, method, params } => self.gate_request(id, method, *params),
        }
    }

    fn gate_request(&mut self, id: &Id, method: &str, params: Option<&str>) -> GateDecision {
        let refuse = |message: &str| {
            GateDecision::Refuse(MessageError::new(
                Some(id.clone()),
                code::INVALID_REQUEST,
                message,
            ))
        };
        let modern = params.and_then(modern_version);
        if method == "initialize" && modern.is_none() {
            let opening = InitializeFields::read(params);
            return GateDecision::Open(Dialect::negotiate(opening.version()), opening.token());
        }
        if self.locked {
            return refuse(
                "Authentication required: send initialize with params.auth {\"type\": \"bearer\", \"token\": …}",
            );
        }
        if self.shut {
            return refuse("Server not initialized: it was shut down; only initialize is served");
        }
        if let Some(version) = modern {
            // A version that does not exist is answered by the method's handler, which lists the supported ones.
            let dialect = Dialect::of_version(&version).unwrap_or(Dialect::V2026_07_28);
            if !dialect.has_method(method) {
                return GateDecision::Refuse(MessageError::unknown_method(
                    Some(id.clone()),
                    method,
                ));
            }
            return GateDecision::Pass(dialect);
        }
        if self.dialect.is_none() && self.handshake == HandshakePolicy::Required && method != "ping"
        {
            return refuse(
                "Server not initialized: send initialize first, or start the server with --handshake optional",
            );
        }
        if method == "shutdown" {
            self.shut = true;
            return GateDecision::Answer(Value::Null);
        }
        GateDecision::Pass(self.dialect())
    }
}

/// The protocol version that a request carries, as in the stateless revision.
pub fn modern_version(params: &str) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow, default, rename = "_meta")]
        meta: Option<VersionMeta<'a>>,
    }
    #[derive(Deserialize)]
    struct VersionMeta<'a> {
        #[serde(borrow, default, rename = "io.modelcontextprotocol/protocolVersion")]
        version: Option<Cow<'a, str>>,
    }
    // Most requests carry no metadata: a text search spares them a second parse. It searches for the end of the name
    // only, because some JSON writers escape the slash before it.
    if !params.contains("protocolVersion") {
        return None;
    }
    serde_json::from_str::<Params<'_>>(params).ok()?.meta?.version
}

/// The fields of `initialize` needed before it is accepted. Anything unreadable counts as absent.
#[derive(Default, Deserialize)]
struct InitializeFields {
    #[serde(default, rename = "protocolVersion", alias = "protocol_version")]
    version: Value,
    #[serde(default)]
    auth: Value,
}

impl InitializeFields {
    fn read(params: Option<&str>) -> Self {
        params.and_then(|params| serde_json::from_str(params).ok()).unwrap_or_default()
    }

    fn version(&self) -> &str {
        self.version.as_str().unwrap_or_default()
    }

    fn token(&self) -> Option<String> {
        let is_bearer =
            |kind: &Value| kind.as_str().is_some_and(|kind| kind.eq_ignore_ascii_case("bearer"));
        let shown = self.auth.get("type").is_none_or(is_bearer).then(|| self.auth.get("token"))?;
        shown.and_then(Value::as_str).map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{WireFrame, read};

    const MODERN: &str = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;

    fn say(talk: &mut ProtocolState, method: &str, params: &str) -> String {
        let frame = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        let WireFrame::One(Ok(envelope)) = read(frame.as_bytes()) else { panic!("{frame}") };
        match talk.gate(&envelope) {
            GateDecision::Pass(dialect) => format!("pass {}", dialect.version()),
            GateDecision::Open(dialect, token) => {
                talk.opened(dialect);
                format!("open {} {}", dialect.version(), token.unwrap_or_default())
            }
            GateDecision::Answer(value) => format!("answer {value}"),
            GateDecision::Refuse(refusal) => format!("refuse {} {}", refusal.code, refusal.message),
            GateDecision::Drop => "drop".to_owned(),
        }
    }

    #[track_caller]
    fn check(mut talk: ProtocolState, lines: &[(&str, &str, &str)]) {
        for (method, params, want) in lines {
            let got = say(&mut talk, method, params);
            assert!(got.starts_with(want), "{method} {params}: {got}");
        }
    }

    #[test]
    fn the_handshake_comes_first() {
        check(
            ProtocolState::new(HandshakePolicy::Required, false),
            &[
                (
                    "tools/list",
                    "{}",
                    "refuse -32600 Server not initialized: send initialize first, or start the server with --handshake optional",
                ),
                ("ping", "{}", "pass"),
                ("tools/list", MODERN, "pass 2026-07-28"),
                ("ping", MODERN, "refuse -32601"),
                ("initialize", MODERN, "refuse -32601"),
                ("resources/subscribe", MODERN, "refuse -32601"),
                ("shutdown", "{}", "refuse"),
                ("initialize", r#"{"protocolVersion":"2024-11-05"}"#, "open 2024-11-05"),
                ("tools/list", "{}", "pass 2024-11-05"),
                ("tools/list", MODERN, "pass 2026-07-28"),
            ],
        );
    }

    #[test]
    fn the_handshake_may_be_optional() {
        check(
            ProtocolState::new(HandshakePolicy::Optional, false),
            &[("tools/list", "{}", "pass 2025-11-25")],
        );
    }

    #[test]
    fn an_opening_without_a_version_is_served_in_the_fallback() {
        for params in
            ["{}", "null", "[]", r#"{"protocolVersion":7}"#, r#"{"protocolVersion":"2099-01-01"}"#]
        {
            check(
                ProtocolState::new(HandshakePolicy::Required, false),
                &[("initialize", params, "open 2025-11-25")],
            );
        }
    }

    #[test]
    fn after_shutdown_only_initialize_is_served() {
        check(
            ProtocolState::new(HandshakePolicy::Required, false),
            &[
                ("initialize", r#"{"protocolVersion":"1.0"}"#, "open 1.0"),
                ("shutdown", "{}", "answer null"),
                ("ping", "{}", "refuse"),
                ("tools/list", MODERN, "refuse"),
                ("initialize", r#"{"protocolVersion":"1.0"}"#, "open 1.0"),
                ("ping", "{}", "pass 1.0"),
            ],
        );
    }

    #[test]
    fn a_locked_connection_accepts_only_initialize() {
        check(
            ProtocolState::new(HandshakePolicy::Optional, true),
            &[
                ("tools/list", "{}", "refuse -32600 Authentication required"),
                ("tools/list", MODERN, "refuse"),
                ("ping", "{}", "refuse"),
                ("initialize", r#"{"auth":{"type":"bearer","token":"s"}}"#, "open 2025-11-25 s"),
                ("initialize", r#"{"auth":{"token":"s"}}"#, "open 2025-11-25 s"),
            ],
        );
        let mut talk = ProtocolState::new(HandshakePolicy::Required, true);
        let note =
            Envelope::Notification { method: "notifications/initialized".into(), params: None };
        assert_eq!(talk.gate(&note), GateDecision::Drop);
    }

    #[test]
    fn a_version_is_found_however_its_name_is_written() {
        let cases = [
            (MODERN, Some("2026-07-28")),
            (
                r#"{"_meta":{"io.modelcontextprotocol\/protocolVersion":"2026-07-28"}}"#,
                Some("2026-07-28"),
            ),
            (r#"{"_meta":{"protocolVersion":"2026-07-28"}}"#, None),
            (r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#, None),
            (r#"{"text":"io.modelcontextprotocol/protocolVersion"}"#, None),
            (r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":7}}"#, None),
            ("{}", None),
        ];
        for (params, want) in cases {
            assert_eq!(modern_version(params).as_deref(), want, "{params}");
        }
    }

    #[test]
    fn batches_follow_the_dialect() {
        let mut talk = ProtocolState::new(HandshakePolicy::Required, false);
        assert!(!talk.has_batches());
        talk.opened(Dialect::V2025_03_26);
        assert!(talk.has_batches());
        talk.opened(Dialect::V2025_06_18);
        assert!(!talk.has_batches());
    }
}
