//! Access control as seen by a transport: who the caller is, and what it may open.

use crate::Certificate;
use docent_traffic::{ConnectionInfo, Hop, Tap, Traffic};
use docent_wire::{Dialect, Id, MessageError, code};
use futures::future::{BoxFuture, FutureExt, ready};
use rmcp::model::Extensions;
use serde_json::{Value, json};
use std::{
    fmt,
    net::{IpAddr, Ipv6Addr},
    sync::Arc,
    time::{Duration, SystemTime},
};

/// How a principal was authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PrincipalKind {
    /// Not at all.
    #[default]
    Anonymous,
    /// By a key in the configuration.
    Key,
    /// By a token of an authorization server.
    Oauth,
    /// By a client certificate.
    Certificate,
}

/// The authenticated identity of a caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The key's name, or `anonymous`.
    pub name: Arc<str>,
    /// Tool names, suites (`code:*`) or `*`.
    pub scopes: Arc<[String]>,
    /// How it was authenticated. The same name authenticated differently is another principal.
    pub kind: PrincipalKind,
    /// What its token grants.
    pub grant: Option<TokenGrant>,
}

/// What a token of an authorization server grants. A connection may stay open for longer, and under other settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenGrant {
    /// Scopes as the authorization server names them.
    pub scopes: Arc<[String]>,
    /// When it expires.
    pub until: SystemTime,
}

impl Principal {
    /// Whether both are the same principal, regardless of what each may use: a better token, or another policy, does
    /// not change the identity.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.name == other.name && self.kind == other.kind
    }

    /// A caller that has yet to present a token: may do nothing.
    pub(crate) fn unknown() -> Self {
        let kind = PrincipalKind::Anonymous;
        Self { name: "unknown".into(), scopes: Arc::from([]), kind, grant: None }
    }
}

/// The transport that a caller uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionKind {
    /// Pipes.
    Stdio,
    /// Streamable HTTP or a plain POST.
    Http,
    /// The older event stream with separate POST requests.
    Sse,
    /// A WebSocket of text frames.
    WebSocket,
}

impl ConnectionKind {
    /// Its name in configuration, logs and audit lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
            Self::WebSocket => "websocket",
        }
    }
}

/// The caller on a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The principal.
    pub principal: Principal,
    /// The transport.
    pub via: ConnectionKind,
    /// The remote address.
    pub remote: Option<IpAddr>,
}

impl Caller {
    /// The key for rate limits: a principal at an address.
    pub fn client_at_address(&self) -> ClientKey {
        let Principal { name, kind, .. } = &self.principal;
        ClientKey { principal: Arc::clone(name), kind: *kind, network: self.remote.map(network) }
    }

    /// The key for fair shares: a principal, from any number of addresses. Anonymous callers are distinguished by
    /// address; the one on pipes has none.
    pub fn client(&self) -> ClientKey {
        let is_known = self.principal.kind != PrincipalKind::Anonymous;
        let client = self.client_at_address();
        if is_known { ClientKey { network: None, ..client } } else { client }
    }

    /// Starts recording a connection of this caller.
    pub(crate) fn tap(&self, traffic: &Arc<Traffic>) -> Tap {
        let peer = self.principal.name.to_string();
        traffic.connection(ConnectionInfo { hop: Hop::Client, peer, via: self.via.name() })
    }
}

/// Identifies one client.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClientKey {
    principal: Arc<str>,
    kind: PrincipalKind,
    network: Option<IpAddr>,
}

impl fmt::Display for ClientKey {
    /// Different keys always have different texts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} ", self.kind)?;
        match self.network {
            Some(network) => write!(f, "{network} ")?,
            None => f.write_str("- ")?,
        }
        f.write_str(&self.principal)
    }
}

/// The unit that counts as one address: a host owns a whole /64 of IPv6, and IPv4 can be written as IPv6.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << 64))),
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// The caller and connection of a request; travels among the request's extensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallerContext {
    /// The sender.
    pub caller: Caller,
    /// The dialect of the request; `None` if the session determines it.
    pub dialect: Option<Dialect>,
    /// The caller wants pieces of the answer as they come.
    pub streams: bool,
    /// The number of the request in the traffic recording, if it is recorded.
    pub recorded: Option<u64>,
}

impl CallerContext {
    /// The same for a member of a batch; members are recorded consecutively.
    pub(crate) fn nth(&self, at: usize) -> Self {
        let recorded = self.recorded.zip(u64::try_from(at).ok()).map(|(first, at)| first + at);
        Self { recorded, ..self.clone() }
    }

    /// Finds the origin among a request's extensions, in either place where transports put it.
    pub fn from_extensions(extensions: &Extensions) -> Option<&Self> {
        extensions.get::<Self>().or_else(|| {
            extensions
                .get::<http::request::Parts>()
                .and_then(|parts| parts.extensions.get::<Self>())
        })
    }
}

/// A slot for an open session or stream; dropping it makes room for the next.
pub type SlotGuard = Box<dyn Send + Sync>;

/// No capacity for another session or stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoCapacity {
    /// The exhausted resource, by its name in `limits`: `sessions` or `streams`.
    pub what: &'static str,
    /// The caller has used its fair share, and the rest is reserved for others.
    pub is_own_share: bool,
    /// When to try again.
    pub retry_after: Duration,
}

impl fmt::Display for NoCapacity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, is_own_share, retry_after } = self;
        let seconds = whole_seconds(*retry_after);
        if *is_own_share {
            write!(
                f,
                "This client has reached its share of {what}: close one, raise limits.{what}_per_client, \
                 or try again in {seconds} s"
            )
        } else {
            write!(
                f,
                "Too many {what} are open: close one, raise limits.{what}, or try again in {seconds} s"
            )
        }
    }
}

/// A wait in whole seconds, rounded up, for `Retry-After`.
pub(crate) fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0 || wait.is_zero())
}

/// The `data` of an error that states when to try again.
pub fn retry_data(wait: Duration) -> Value {
    let milliseconds = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1);
    json!({ "retryAfter": whole_seconds(wait), "retryAfterMs": milliseconds })
}

/// The credentials that a caller presents.
#[derive(Clone, Copy, Default)]
pub struct CallerCredentials<'a> {
    /// A bearer token.
    pub token: Option<&'a str>,
    /// A certificate that the TLS handshake has verified.
    pub certificate: Option<&'a Certificate>,
}

impl<'a> CallerCredentials<'a> {
    /// Only a token.
    pub fn token(token: &'a str) -> Self {
        Self { token: Some(token), certificate: None }
    }
}

impl fmt::Debug for CallerCredentials<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Never disclose the token, not even in logs.
        let token = self.token.map(|_| "…");
        f.debug_struct("CallerCredentials")
            .field("token", &token)
            .field("certificate", &self.certificate)
            .finish()
    }
}

/// The scope that a token lacks for a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingScope {
    /// The scope, or several separated by spaces.
    pub scope: String,
}

/// The error for a caller with an unknown token.
pub(crate) const INVALID_API_KEY: &str = "Invalid API key";

/// Access control of the server, used by every transport.
pub trait AccessControl: Send + Sync + 'static {
    /// Whether a caller must present a token.
    fn needs_token(&self) -> bool;
    /// Identifies the caller by its credentials. Without any: anonymous if that is allowed. `None` for an unknown caller,
    /// which [`fetch_unknown_keys`](Self::fetch_unknown_keys) may make known.
    fn identify(&self, shown: &CallerCredentials<'_>) -> Option<Principal>;
    /// Counts a caller that was rejected because it is unknown.
    fn count_unknown_caller(&self) {}
    /// Tries to resolve an unknown token, for example by fetching the key that signed it; `true` if identifying it
    /// again is worthwhile. Called at most once per request, after the request was counted.
    fn fetch_unknown_keys<'a>(&'a self, _token: &'a str) -> BoxFuture<'a, bool> {
        ready(false).boxed()
    }
    /// Why a token was rejected, in words that are safe to send to the client and contain nothing of the token.
    fn refusal_reason(&self, _token: &str) -> Option<String> {
        None
    }
    /// The scope that is missing for a tool. Checked before a call, for callers authenticated by a token of an
    /// authorization server. Other tools they may not use are hidden from them.
    fn missing_scope(&self, _caller: &Caller, _tool: &str) -> Option<MissingScope> {
        None
    }
    /// Counts one request; an error states how long to wait.
    fn admit(&self, caller: &Caller) -> Result<(), Duration>;
    /// Takes a slot for a session. If there is none, the transport may end an idle session.
    fn open_session(&self, caller: &Caller) -> Result<SlotGuard, NoCapacity>;
    /// Counts a session that was refused for lack of capacity.
    fn count_no_capacity(&self) {}
    /// Takes a slot for an open stream.
    fn open_stream(&self, caller: &Caller) -> Result<SlotGuard, NoCapacity>;
}

/// The error for an `initialize` without a token, or with an unknown one, where no header can carry the reason.
pub(crate) fn unknown_caller_message(
    door: &dyn AccessControl,
    via: ConnectionKind,
    token: Option<&str>,
) -> String {
    let Some(token) = token else { return missing_token_message(via).to_owned() };
    let why = door.refusal_reason(token);
    why.map_or_else(|| INVALID_API_KEY.to_owned(), |why| format!("{INVALID_API_KEY}: {why}"))
}

/// On pipes, the reader usually is who started the server, and can change its settings.
fn missing_token_message(via: ConnectionKind) -> &'static str {
    match via {
        ConnectionKind::Stdio => {
            "Authentication required, because MCP_API_KEY (server.auth) is set: send initialize with \
             params.auth {\"type\": \"bearer\", \"token\": …}, or set MCP_AUTH_REQUIRED=false"
        }
        ConnectionKind::Http | ConnectionKind::Sse | ConnectionKind::WebSocket => {
            "Authentication required: send initialize with params.auth {\"type\": \"bearer\", \"token\": …}"
        }
    }
}

/// Counts one request of a caller.
pub(crate) fn count_request(
    access: &dyn AccessControl,
    caller: &Caller,
    id: &Id,
) -> Result<(), MessageError> {
    access.admit(caller).map_err(|wait| {
        let reason = format!("Rate limit exceeded: try again in {} s", whole_seconds(wait));
        MessageError::new(Some(id.clone()), code::SERVER, reason).with(retry_data(wait))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(name: &str, kind: PrincipalKind, remote: &str) -> Caller {
        let principal = Principal { name: name.into(), scopes: [].into(), kind, grant: None };
        Caller { principal, via: ConnectionKind::Http, remote: remote.parse().ok() }
    }

    #[test]
    fn a_client_is_a_principal_or_an_address() {
        let key = |remote| caller("a", PrincipalKind::Key, remote);
        let anonymous = |remote| caller("anonymous", PrincipalKind::Anonymous, remote);
        let same_rate =
            |one: &Caller, other: &Caller| one.client_at_address() == other.client_at_address();
        let cases = [
            (key(""), key(""), true, true),
            (key("10.0.0.1"), key("10.0.0.2"), false, true),
            (key("2001:db8::1"), key("2001:db8::ffff"), true, true),
            (key("::ffff:10.0.0.1"), key("10.0.0.1"), true, true),
            (key("10.0.0.1"), caller("a", PrincipalKind::Oauth, "10.0.0.1"), false, false),
            (key("10.0.0.1"), caller("b", PrincipalKind::Key, "10.0.0.1"), false, false),
            (anonymous("10.0.0.1"), anonymous("10.0.0.1"), true, true),
            (anonymous("10.0.0.1"), anonymous("10.0.0.2"), false, false),
            (anonymous("2001:db8::1"), anonymous("2001:db8:0:1::1"), false, false),
            (anonymous(""), anonymous("127.0.0.1"), false, false),
        ];
        for (one, other, rate, share) in cases {
            assert_eq!(same_rate(&one, &other), rate, "{one:?} {other:?}");
            assert_eq!(one.client() == other.client(), share, "{one:?} {other:?}");
            let same_text = one.client().to_string() == other.client().to_string();
            assert_eq!(same_text, share, "{one:?} {other:?}");
        }
    }

    #[test]
    fn a_wait_is_never_rounded_down() {
        for (milliseconds, seconds) in [(0, 1), (1, 1), (1000, 1), (1001, 2), (30_000, 30)] {
            let wait = Duration::from_millis(milliseconds);
            let expected = json!({"retryAfter": seconds, "retryAfterMs": milliseconds.max(1)});
            assert_eq!(retry_data(wait), expected);
        }
    }
}
