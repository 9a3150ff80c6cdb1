//! What a transport asks of whoever guards the server, and what it tells of each caller.

use crate::Certificate;
use docent_traffic::{ConnectionInfo, Hop, Tap, Traffic};
use docent_wire::Dialect;
use futures::future::{BoxFuture, FutureExt, ready};
use rmcp::model::Extensions;
use serde_json::{Value, json};
use std::{
    fmt,
    net::{IpAddr, Ipv6Addr},
    sync::Arc,
    time::{Duration, SystemTime},
};

/// What a principal was known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PrincipalKind {
    /// Nothing.
    #[default]
    Anonymous,
    /// A key of the configuration.
    Key,
    /// A token of an authorization server.
    Oauth,
    /// A client's certificate.
    Certificate,
}

/// Who is calling, as far as keys tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The key's name, or `anonymous`.
    pub name: Arc<str>,
    /// Tool names, suites (`code:*`) or `*`.
    pub scopes: Arc<[String]>,
    /// What it was known by. The same name by another way is somebody else.
    pub kind: PrincipalKind,
    /// What the token that it was known by grants.
    pub grant: Option<TokenGrant>,
}

/// What a token of an authorization server grants. A connection may stay open for longer, and under other terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenGrant {
    /// Scopes, in the words of the authorization server.
    pub scopes: Arc<[String]>,
    /// When it ends.
    pub until: SystemTime,
}

impl Principal {
    /// Whether both are one caller, whatever each may use: a better token, or another policy, makes nobody a stranger.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.name == other.name && self.kind == other.kind
    }

    /// Somebody who has yet to show a token: may do nothing.
    pub(crate) fn unknown() -> Self {
        let kind = PrincipalKind::Anonymous;
        Self { name: "unknown".into(), scopes: Arc::from([]), kind, grant: None }
    }
}

/// How a caller reaches us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionKind {
    /// Pipes.
    Stdio,
    /// Streamable HTTP or a plain POST.
    Http,
    /// The older stream with posts beside it.
    Sse,
    /// A socket of text frames.
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

/// One end of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Who.
    pub principal: Principal,
    /// How.
    pub via: ConnectionKind,
    /// From where.
    pub remote: Option<IpAddr>,
}

impl Caller {
    /// What a rate counts by: a principal at an address.
    pub fn client_at_address(&self) -> ClientKey {
        let Principal { name, kind, .. } = &self.principal;
        ClientKey { principal: Arc::clone(name), kind: *kind, network: self.remote.map(network) }
    }

    /// What a fair share counts by: a principal, from however many addresses. Anonymous callers are told apart by
    /// their address, and the one on pipes has none.
    pub fn client(&self) -> ClientKey {
        let is_known = self.principal.kind != PrincipalKind::Anonymous;
        let client = self.client_at_address();
        if is_known { ClientKey { network: None, ..client } } else { client }
    }

    /// A connection of this caller's, to be recorded.
    pub(crate) fn tap(&self, traffic: &Arc<Traffic>) -> Tap {
        let peer = self.principal.name.to_string();
        traffic.connection(ConnectionInfo { hop: Hop::Client, peer, via: self.via.name() })
    }
}

/// What counts as one client.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClientKey {
    principal: Arc<str>,
    kind: PrincipalKind,
    network: Option<IpAddr>,
}

impl fmt::Display for ClientKey {
    /// Two keys have the same text only if they are the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} ", self.kind)?;
        match self.network {
            Some(network) => write!(f, "{network} ")?,
            None => f.write_str("- ")?,
        }
        f.write_str(&self.principal)
    }
}

/// What counts as one address: a host commands a whole /64 of IPv6, and IPv4 can be written as IPv6.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << 64))),
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// Travels with every request into the server, among the request's extensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallerContext {
    /// Who sent it.
    pub caller: Caller,
    /// The dialect it was read in; `None` where the session knows better.
    pub dialect: Option<Dialect>,
    /// The caller wants pieces of the answer as they come.
    pub streams: bool,
    /// The number of the request among recorded messages, where they are recorded.
    pub recorded: Option<u64>,
}

impl CallerContext {
    /// The same for a member of a batch, which are recorded in a row.
    pub(crate) fn nth(&self, at: usize) -> Self {
        let recorded = self.recorded.zip(u64::try_from(at).ok()).map(|(first, at)| first + at);
        Self { recorded, ..self.clone() }
    }

    /// Finds the origin among a request's extensions, wherever the transport could put it.
    pub fn from_extensions(extensions: &Extensions) -> Option<&Self> {
        extensions.get::<Self>().or_else(|| {
            extensions
                .get::<http::request::Parts>()
                .and_then(|parts| parts.extensions.get::<Self>())
        })
    }
}

/// Kept for as long as a session or a stream is open; dropping it makes room for the next.
pub type SlotGuard = Box<dyn Send + Sync>;

/// There is no room for another session or stream now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoCapacity {
    /// What there is no room for, by its name in `limits`: `sessions` or `streams`.
    pub what: &'static str,
    /// The caller holds its fair share, and what is left is kept for others.
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
                "This client has its share of {what} open: close one, raise limits.{what}_per_client, \
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

/// A wait in whole seconds, as `Retry-After` has it: never less than the wait.
pub(crate) fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0 || wait.is_zero())
}

/// The `data` of an error that says when to try again.
pub fn retry_data(wait: Duration) -> Value {
    let milliseconds = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1);
    json!({ "retryAfter": whole_seconds(wait), "retryAfterMs": milliseconds })
}

/// What a caller shows at the door.
#[derive(Clone, Copy, Default)]
pub struct CallerCredentials<'a> {
    /// A bearer token.
    pub token: Option<&'a str>,
    /// A certificate that the TLS handshake has verified.
    pub certificate: Option<&'a Certificate>,
}

impl<'a> CallerCredentials<'a> {
    /// A token and nothing else.
    pub fn token(token: &'a str) -> Self {
        Self { token: Some(token), certificate: None }
    }
}

impl fmt::Debug for CallerCredentials<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A token is told to nobody, logs included.
        let token = self.token.map(|_| "…");
        f.debug_struct("Shown")
            .field("token", &token)
            .field("certificate", &self.certificate)
            .finish()
    }
}

/// What a token would need for what was asked with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingScope {
    /// The scope, or several with spaces between.
    pub scope: String,
}

/// What a caller hears that nobody is known by.
pub(crate) const INVALID_API_KEY: &str = "Invalid API key";

/// Guards the server. Every transport asks it the same questions.
pub trait AccessControl: Send + Sync + 'static {
    /// Whether a caller must show a token.
    fn needs_token(&self) -> bool;
    /// Who shows this. Without a token or a certificate: anonymous where none is needed. `None` is a refusal.
    fn identify(&self, shown: &CallerCredentials<'_>) -> Option<Principal>;
    /// Finds out more about a token that nobody was identified by, such as the key that signed it; `true` says that it
    /// is worth identifying again. Asked once a request, after the request was counted.
    fn fetch_unknown_keys<'a>(&'a self, _token: &'a str) -> BoxFuture<'a, bool> {
        ready(false).boxed()
    }
    /// Why nobody is known by a token: words that may go back to whoever sent it, and hold nothing of it.
    fn refusal_reason(&self, _token: &str) -> Option<String> {
        None
    }
    /// Which scope is missing for a tool. Asked before it is called, about callers that were known by a token of an
    /// authorization server. What else they may not use is not there for them.
    fn missing_scope(&self, _caller: &Caller, _tool: &str) -> Option<MissingScope> {
        None
    }
    /// Counts one request; an error says how long to wait.
    fn admit(&self, caller: &Caller) -> Result<(), Duration>;
    /// Takes a seat for a session. Where there is none, a session that makes room may be found.
    fn open_session(&self, caller: &Caller) -> Result<SlotGuard, NoCapacity>;
    /// Counts one who wanted a session and got none.
    fn count_no_capacity(&self) {}
    /// Takes a seat for an open stream.
    fn open_stream(&self, caller: &Caller) -> Result<SlotGuard, NoCapacity>;
}

/// What a caller hears that nobody is known by, where no header can carry the reason.
pub(crate) fn unknown_caller_message(door: &dyn AccessControl, token: Option<&str>) -> String {
    let why = token.and_then(|token| door.refusal_reason(token));
    why.map_or_else(|| INVALID_API_KEY.to_owned(), |why| format!("{STRANGER}: {why}"))
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
    fn a_wait_is_never_told_shorter_than_it_is() {
        for (milliseconds, seconds) in [(0, 1), (1, 1), (1000, 1), (1001, 2), (30_000, 30)] {
            let wait = Duration::from_millis(milliseconds);
            let told = json!({"retryAfter": seconds, "retryAfterMs": milliseconds.max(1)});
            assert_eq!(retry_data(wait), told);
        }
    }
}
