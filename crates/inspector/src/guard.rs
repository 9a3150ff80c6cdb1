//! Access checks for every inspector request: loopback peer, loopback host name, own page, valid token.

use crate::{InspectorState, PATH, State};
use axum::{
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use docent_transport::{
    CallerContext,
    http::{HostAuthority, WebOrigin},
};

/// Header in which a browser states the relation of the requesting page to this origin.
const FETCH_SITE: &str = "sec-fetch-site";

/// Maximum body size of a request to the inspector's API.
pub(crate) const MAX_BODY_BYTES: usize = 2 * 1024 * 1024;

/// Passes a request on, or rejects it with the reason.
pub(crate) async fn check(state: State, request: Request, next: Next) -> Response {
    let refused = rejection(&state, &request);
    let mut response = match refused {
        Some(refused) => refused,
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn rejection(inside: &InspectorState, request: &Request) -> Option<Response> {
    let remote =
        request.extensions().get::<CallerContext>().and_then(|origin| origin.caller.remote);
    if !remote.is_some_and(|remote| remote.to_canonical().is_loopback()) {
        return Some(forbidden("the inspector accepts local connections only"));
    }
    let headers = request.headers();
    let named =
        headers.get(header::HOST).and_then(|host| HostAuthority::parse(host.to_str().ok()?));
    let Some(host) = named.filter(HostAuthority::is_loopback) else {
        return Some(forbidden("open the inspector at 127.0.0.1 or localhost"));
    };
    if !is_own(headers, &host, request.method()) {
        return Some(forbidden("the inspector accepts requests from its own page only"));
    }
    let below = request.uri().path().strip_prefix(PATH).unwrap_or_default();
    let token = below.trim_start_matches('/').split('/').next().unwrap_or_default();
    if !inside.token.is(token) {
        return Some(no_token());
    }
    is_over_long(request).then(too_long)
}

/// Whether the announced body length exceeds the API's limit.
fn is_over_long(request: &Request) -> bool {
    let length = request.headers().get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    length.is_some_and(|length| length > MAX_BODY_BYTES)
}

fn too_long() -> Response {
    let close = [(header::CONNECTION, HeaderValue::from_static("close"))];
    let reason = format!("request body too large: the limit is {MAX_BODY_BYTES} bytes\n");
    (StatusCode::PAYLOAD_TOO_LARGE, close, reason).into_response()
}

/// Whether a request comes from the page itself or from a URL typed by the user. Requests that change state, and all
/// sockets, must send their origin.
fn is_own(headers: &HeaderMap, host: &HostAuthority, method: &Method) -> bool {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let site = text(FETCH_SITE).is_none_or(|site| matches!(site, "same-origin" | "none"));
    let is_socket = headers.contains_key(header::UPGRADE);
    let origin = match text(header::ORIGIN.as_str()) {
        Some(origin) => WebOrigin::parse(origin).is_some_and(|origin| origin.is_of_host(host)),
        None => method == Method::GET && !is_socket,
    };
    site && origin
}

pub(crate) fn no_token() -> Response {
    forbidden("Link expired. Open the URL docent printed at startup.")
}

fn forbidden(reason: &str) -> Response {
    (StatusCode::FORBIDDEN, format!("{reason}\n")).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_that_is_announced_too_long_is_refused_before_it_comes() {
        for (length, want) in [
            (MAX_BODY_BYTES.to_string(), false),
            ((MAX_BODY_BYTES + 1).to_string(), true),
            (String::new(), false),
        ] {
            let mut request = Request::default();
            if !length.is_empty() {
                request.headers_mut().insert(header::CONTENT_LENGTH, length.parse().unwrap());
            }
            assert_eq!(is_over_long(&request), want, "{length}");
        }
        let response = too_long();
        assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
        assert_eq!(response.headers()[header::CONNECTION], "close");
    }

    #[track_caller]
    fn check(method: &Method, headers: &[(&'static str, &'static str)], want: bool) {
        let all = headers.iter().map(|(name, value)| {
            (name.parse::<header::HeaderName>().unwrap(), HeaderValue::from_static(value))
        });
        let map: HeaderMap = all.collect();
        let host = HostAuthority::parse("127.0.0.1:80").unwrap();
        assert_eq!(is_own(&map, &host, method), want, "{method} {headers:?}");
    }

    #[test]
    fn own_requests() {
        let own = ("origin", "http://127.0.0.1:80");
        check(&Method::GET, &[], true);
        check(&Method::GET, &[("sec-fetch-site", "none")], true);
        check(&Method::GET, &[("sec-fetch-site", "same-origin"), own], true);
        check(&Method::GET, &[("sec-fetch-site", "same-site")], false);
        check(&Method::GET, &[("sec-fetch-site", "cross-site")], false);
        check(&Method::GET, &[("upgrade", "websocket")], false);
        check(&Method::GET, &[("upgrade", "websocket"), own], true);
        check(&Method::GET, &[("origin", "null")], false);
        check(&Method::GET, &[("origin", "http://127.0.0.1:81")], false);
        check(&Method::GET, &[("origin", "file://127.0.0.1:80")], false);
        check(&Method::GET, &[("origin", "http://127.0.0.1:80@evil.example")], false);
        check(&Method::GET, &[("origin", "http://[::ffff:127.0.0.1]:80")], false);
        check(&Method::POST, &[], false);
        check(&Method::POST, &[own], true);
        check(&Method::POST, &[("origin", "http://evil.example")], false);
    }
}
