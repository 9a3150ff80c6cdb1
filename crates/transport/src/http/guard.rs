//! Checks every request first: Host, Origin, token, rate limit; and adds CORS and security headers to responses.

use super::{
    HttpServerSetup, RouterState, State,
    authority::{HostAuthority, WebOrigin},
    body::{
        close_connection, error_response, is_over_long, keep_while_reading, refuse_over_long,
        retry_later_response,
    },
    listen::ConnectionPeer,
    oauth, opening,
    session_channel::is_of_request,
};
use crate::{
    Caller, CallerContext, CallerCredentials, ConnectionKind,
    access_control::{INVALID_API_KEY, whole_seconds},
};
use axum::{
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use docent_wire::{MessageError, code};
use hyper::body::Body as _;
use rmcp::ServerHandler;
use serde_json::json;
use std::{net::IpAddr, sync::Arc, time::Duration};
use tokio::time::timeout;

/// Request headers that a web page may send.
const ALLOWED_HEADERS: &str = "content-type, accept, authorization, last-event-id, mcp-protocol-version, \
                               mcp-session-id, mcp-method, mcp-name";
/// Response headers that a web page may read.
const EXPOSED_HEADERS: &str = "mcp-session-id, mcp-protocol-version, retry-after, www-authenticate";

/// Query parameters that carry tokens, where logs and other sites can see them.
const TOKEN_QUERY_NAMES: [&str; 3] = ["access_token", "token", "api_key"];
/// Timeout for looking up an unknown token.
const KEY_LOOKUP_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a request is not passed on.
enum AdmitError {
    /// It has been answered.
    Answered(Box<Response>),
    /// The token is unknown so far.
    UnknownToken(String),
    /// The token may be in the body.
    Unread,
}

/// Passes a request on with its [`CallerContext`] attached, or answers it.
pub(super) async fn check<H: ServerHandler>(
    shared: State<H>,
    request: Request,
    next: Next,
) -> Response {
    let web = &shared.web;
    let allowed_origin = match check_origin(web, request.headers(), request.uri()) {
        Ok(origin) => origin,
        Err(response) => return close_connection(*response),
    };
    let asked = request.headers().get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    let response = if request.method() == Method::OPTIONS {
        StatusCode::NO_CONTENT.into_response()
    } else {
        match admit(&shared, request).await {
            Ok((request, _)) if is_over_long(request.body(), web) => refuse_over_long(request, web),
            Ok((mut request, origin)) => {
                request.extensions_mut().insert(origin);
                // Kept until there is a response, so that the server does not close before it.
                let answering = shared.posts.token();
                let brings_answer = brings_answer(&request);
                let response = next.run(request).await;
                let is_whole = response.body().size_hint().exact().is_some();
                if brings_answer && !is_whole {
                    keep_while_reading(response, answering)
                } else {
                    response
                }
            }
            Err(response) => close_connection(*response),
        }
    };
    with_headers(response, allowed_origin, asked.as_ref())
}

/// Identifies the sender of a request, or answers it.
async fn admit<H: ServerHandler>(
    shared: &Arc<RouterState<H>>,
    request: Request,
) -> Result<(Request, CallerContext), Box<Response>> {
    let (request, token) = match identify_caller(shared, &request) {
        Ok(origin) => return Ok((request, origin)),
        Err(AdmitError::Answered(response)) => return Err(response),
        Err(AdmitError::UnknownToken(token)) => (request, token),
        Err(AdmitError::Unread) => {
            let (request, token) = opening::read_token(shared, request).await?;
            match greet(shared, &request, &token) {
                Err(refused) if refused.status() == StatusCode::UNAUTHORIZED => (request, token),
                greeted => return greeted.map(|origin| (request, origin)),
            }
        }
    };
    // The issuer may have published the key of the token since.
    let learned = timeout(KEY_LOOKUP_TIMEOUT, shared.web.access.fetch_unknown_keys(&token)).await;
    if !learned.unwrap_or(false) {
        return Err(Box::new(unauthorized(&shared.web, Some(&token))));
    }
    let origin = greet(shared, &request, &token)?;
    Ok((request, origin))
}

/// Whether the body of the response ends with the answer. Other streams stay open until the server ends them.
fn brings_answer(request: &Request) -> bool {
    let resumed = request.headers().get("last-event-id").and_then(|event| event.to_str().ok());
    request.method() == Method::POST || resumed.is_some_and(is_of_request)
}

fn check_origin(
    web: &HttpServerSetup,
    headers: &HeaderMap,
    uri: &Uri,
) -> Result<Option<HeaderValue>, Box<Response>> {
    let forbidden = |reason: &str| {
        let refusal = MessageError::new(None, code::INVALID_REQUEST, reason);
        Box::new(error_response(StatusCode::FORBIDDEN, &refusal))
    };
    let is_given_twice = |name: HeaderName| headers.get_all(name).iter().nth(1).is_some();
    let host = if is_given_twice(header::HOST) { None } else { named_host(headers, uri) };
    let Some(host) = host.filter(|host| host_is_ours(web, host)) else {
        return Err(forbidden("Host is not allowed: add it to server.allowed_hosts"));
    };
    if is_given_twice(header::ORIGIN) {
        return Err(forbidden("duplicate Origin header"));
    }
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(None) };
    if origin.to_str().is_ok_and(|origin| origin_is_allowed(web, origin, &host)) {
        return Ok(Some(origin.clone()));
    }
    Err(forbidden("Origin is not allowed: add it to server.cors.origins"))
}

/// The host that a request names: in `Host`, in an absolute request target, or in both if they agree.
fn named_host(headers: &HeaderMap, uri: &Uri) -> Option<HostAuthority> {
    let target = uri.authority().map(|authority| HostAuthority::parse(authority.as_str()));
    let Some(header) = headers.get(header::HOST) else { return target? };
    let host = HostAuthority::parse(header.to_str().ok()?)?;
    match target {
        None => Some(host),
        Some(target) => target.filter(|target| *target == host),
    }
}

/// The owner of a name can point it anywhere; an address or a loopback name cannot be redirected.
fn host_is_ours(web: &HttpServerSetup, host: &HostAuthority) -> bool {
    let is_listed =
        |entry: &String| HostAuthority::parse(entry).is_some_and(|entry| host.is_listed_as(&entry));
    host.is_loopback() || host.is_address() || web.hosts.iter().any(is_listed)
}

/// Whether pages of an origin may call: those of this server itself, and configured ones.
fn origin_is_allowed(web: &HttpServerSetup, origin: &str, host: &HostAuthority) -> bool {
    let parsed = WebOrigin::parse(origin);
    let is_own = parsed
        .as_ref()
        .is_some_and(|own| own.is_of_host(host) && (own.is_https() || web.tls.is_none()));
    let is_listed = |allowed: &String| {
        let allowed = allowed.trim_end_matches('/');
        let listed = WebOrigin::parse(allowed);
        let is_same = listed.zip(parsed.as_ref()).is_some_and(|(one, other)| one.is_same(other));
        allowed == "*" || is_same || (parsed.is_none() && allowed == origin)
    };
    is_own || web.origins.iter().any(is_listed)
}

/// The credentials that a route requires.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TokenRequirement {
    /// None.
    Nothing,
    /// A token, which a WebSocket may send in `initialize`; until then it is locked.
    Later,
    /// A token, which may be in the body of an `initialize`.
    InBody,
    /// A token or a certificate, now.
    Now,
    /// Rejected: a token must not be in the URL.
    AnotherWay,
}

/// The requirement, and the credentials presented.
struct AccessRequest<'a> {
    via: ConnectionKind,
    remote: Option<IpAddr>,
    shown: CallerCredentials<'a>,
    asks: TokenRequirement,
    is_post: bool,
}

impl<'a> AccessRequest<'a> {
    fn of(web: &HttpServerSetup, request: &'a Request) -> Self {
        let (path, headers) = (request.uri().path(), request.headers());
        let is_get = request.method() == Method::GET;
        let is_post = request.method() == Method::POST;
        let is_socket =
            web.enabled.websocket && is_get && matches!(path, "/" | "/ws") && is_upgrade(headers);
        let is_open = matches!(path, "/healthz" | "/readyz")
            || (path == "/" && is_get && !is_socket)
            || web.pages.as_ref().is_some_and(|pages| pages.serve(path))
            || (is_get && web.protected_resource().is_some_and(|oauth| oauth.serves(path)));
        let has_header = headers.contains_key(header::AUTHORIZATION);
        let asks = if is_open {
            TokenRequirement::Nothing
        } else if has_header {
            TokenRequirement::Now
        } else if request.uri().query().is_some_and(has_token) {
            TokenRequirement::AnotherWay
        } else if is_socket {
            TokenRequirement::Later
        } else if is_post && takes_opening(web, path) && opening::may_carry_token(headers) {
            TokenRequirement::InBody
        } else {
            TokenRequirement::Now
        };
        let peer = request.extensions().get::<ConnectionPeer>();
        let certificate = peer.and_then(|peer| peer.certificate.as_deref());
        Self {
            via: match path {
                "/sse" | "/message" => ConnectionKind::Sse,
                _ if is_socket => ConnectionKind::WebSocket,
                _ => ConnectionKind::Http,
            },
            remote: peer.map(|peer| peer.remote),
            shown: CallerCredentials { token: bearer(headers), certificate },
            asks,
            is_post,
        }
    }

    fn caller(&self, principal: crate::Principal) -> Caller {
        Caller { principal, via: self.via, remote: self.remote }
    }
}

/// Admits a caller that is authenticated or need not be.
fn identify_caller<H: ServerHandler>(
    shared: &Arc<RouterState<H>>,
    request: &Request,
) -> Result<CallerContext, AdmitError> {
    let web = &shared.web;
    let visit = AccessRequest::of(web, request);
    let known = match visit.asks {
        TokenRequirement::AnotherWay => None,
        // The body may still present a token.
        TokenRequirement::InBody
            if web.access.needs_token() && visit.shown.certificate.is_none() =>
        {
            None
        }
        TokenRequirement::Nothing
        | TokenRequirement::Later
        | TokenRequirement::InBody
        | TokenRequirement::Now => web.access.identify(&visit.shown),
    };
    let is_unread = known.is_none() && visit.asks == TokenRequirement::InBody;
    let is_refused = known.is_none()
        && matches!(visit.asks, TokenRequirement::Now | TokenRequirement::AnotherWay);
    let is_locked = known.is_none() && visit.asks == TokenRequirement::Later;
    let caller = visit.caller(known.unwrap_or_else(crate::Principal::unknown));
    // Guesses at a token are counted too, by remote address, as are callers that may still make one.
    if is_refused || is_locked || visit.is_post {
        count(web, &caller).map_err(AdmitError::Answered)?;
    }
    if is_unread {
        return Err(AdmitError::Unread);
    }
    if !is_refused {
        return Ok(CallerContext { caller, dialect: None, streams: false, recorded: None });
    }
    Err(match visit.shown.token {
        Some(token) => AdmitError::UnknownToken(token.to_owned()),
        None => AdmitError::Answered(Box::new(unauthorized(web, None))),
    })
}

/// Identifies a caller again, now with this token.
fn greet<H: ServerHandler>(
    shared: &Arc<RouterState<H>>,
    request: &Request,
    token: &str,
) -> Result<CallerContext, Box<Response>> {
    let web = &shared.web;
    let visit = AccessRequest::of(web, request);
    let Some(principal) =
        web.access.identify(&CallerCredentials { token: Some(token), ..visit.shown })
    else {
        return Err(Box::new(unauthorized(web, Some(token))));
    };
    let caller = visit.caller(principal);
    if visit.is_post {
        count(web, &caller)?;
    }
    Ok(CallerContext { caller, dialect: None, streams: false, recorded: None })
}

fn count(web: &HttpServerSetup, caller: &Caller) -> Result<(), Box<Response>> {
    web.access.admit(caller).map_err(|wait| Box::new(too_many(wait)))
}

/// Whether a POST to this path may start a connection.
fn takes_opening(web: &HttpServerSetup, path: &str) -> bool {
    match path {
        "/" | "/mcp" | "/rpc" => web.enabled.http,
        "/message" => web.enabled.sse,
        _ => false,
    }
}

/// Whether a query string seems to contain a token.
fn has_token(query: &str) -> bool {
    let names = query.split('&').filter_map(|pair| pair.split('=').next());
    names
        .into_iter()
        .any(|name| TOKEN_QUERY_NAMES.iter().any(|taken| taken.eq_ignore_ascii_case(name)))
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// Whether a request asks for an upgrade to WebSocket.
pub(super) fn is_upgrade(headers: &HeaderMap) -> bool {
    let asked = headers.get(header::UPGRADE).and_then(|value| value.to_str().ok());
    asked.is_some_and(|asked| asked.eq_ignore_ascii_case("websocket"))
}

/// Refuses a request without valid credentials, and counts it.
pub(super) fn unauthorized(web: &HttpServerSetup, token: Option<&str>) -> Response {
    web.access.count_unknown_caller();
    let mut response = super::body::json(&json!({ "detail": INVALID_API_KEY }));
    *response.status_mut() = StatusCode::UNAUTHORIZED;
    response.headers_mut().insert(header::WWW_AUTHENTICATE, oauth::challenge(web, token));
    response
}

fn too_many(wait: Duration) -> Response {
    let reason = format!("Rate limit exceeded: try again in {} s", whole_seconds(wait));
    retry_later_response(StatusCode::TOO_MANY_REQUESTS, reason, wait)
}

fn with_headers(
    mut response: Response,
    origin: Option<HeaderValue>,
    asked: Option<&HeaderValue>,
) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Some(origin) = origin {
        let fixed: [(HeaderName, &'static str); 3] = [
            (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, DELETE, OPTIONS"),
            (header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS),
            (header::ACCESS_CONTROL_MAX_AGE, "600"),
        ];
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed_headers(asked));
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.append(header::VARY, HeaderValue::from_static("origin"));
        headers.extend(fixed.map(|(name, value)| (name, HeaderValue::from_static(value))));
    }
    response
}

/// The fixed list, and any headers for tool arguments that the page asks for.
fn allowed_headers(asked: Option<&HeaderValue>) -> HeaderValue {
    let asked = asked.and_then(|asked| asked.to_str().ok()).unwrap_or_default();
    let arguments = asked
        .split(',')
        .map(str::trim)
        .filter(|name| name.to_ascii_lowercase().starts_with("mcp-param-"));
    let all = std::iter::once(ALLOWED_HEADERS).chain(arguments).collect::<Vec<_>>().join(", ");
    HeaderValue::from_str(&all).unwrap_or(HeaderValue::from_static(ALLOWED_HEADERS))
}
