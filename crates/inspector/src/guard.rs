//! Every request of the inspector passes here: from this machine, by a loopback name, of its own page, with the token.

use crate::{Inside, PATH, State};
use axum::{
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use docent_transport::Origin;
use std::net::IpAddr;

/// What a browser says of the page that a request is for.
const FETCH_SITE: &str = "sec-fetch-site";

/// Lets a request through, or says why not.
pub(crate) async fn check(state: State, request: Request, next: Next) -> Response {
    let refused = refuse(&state, &request);
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

fn refuse(inside: &Inside, request: &Request) -> Option<Response> {
    let remote = request.extensions().get::<Origin>().and_then(|origin| origin.caller.remote);
    if !remote.is_some_and(|remote| remote.to_canonical().is_loopback()) {
        return Some(forbidden("the inspector answers this machine alone"));
    }
    let headers = request.headers();
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    if !is_loopback(host) {
        return Some(forbidden("open the inspector by 127.0.0.1 or localhost"));
    }
    if !is_own(headers, host, request.method()) {
        return Some(forbidden("the inspector answers its own page alone"));
    }
    let below = request.uri().path().strip_prefix(PATH).unwrap_or_default();
    let token = below.trim_start_matches('/').split('/').next().unwrap_or_default();
    (!inside.token.is(token)).then(no_token)
}

/// A name can be made to point here by whoever owns it; these can't.
fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Whether a request is the page's own, or a person's who typed the address. What changes something, and every socket,
/// must name its origin.
fn is_own(headers: &HeaderMap, host: &str, method: &Method) -> bool {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let site = text(FETCH_SITE).is_none_or(|site| matches!(site, "same-origin" | "none"));
    let is_socket = headers.contains_key(header::UPGRADE);
    let origin = match text(header::ORIGIN.as_str()) {
        Some(origin) => origin.split_once("://").is_some_and(|(scheme, authority)| {
            matches!(scheme, "http" | "https") && authority == host
        }),
        None => method == Method::GET && !is_socket,
    };
    site && origin
}

pub(crate) fn no_token() -> Response {
    forbidden(
        "open the address that docent printed when it started: it holds the token of that launch",
    )
}

fn forbidden(told: &str) -> Response {
    (StatusCode::FORBIDDEN, format!("{told}\n")).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_names() {
        for (host, want) in [
            ("127.0.0.1:80", true),
            ("127.9.9.9", true),
            ("localhost:1", true),
            ("LOCALHOST", true),
            ("[::1]:80", true),
            ("evil.example", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example:80", false),
            ("10.0.0.1", false),
            ("", false),
        ] {
            assert_eq!(is_loopback(host), want, "{host}");
        }
    }

    #[track_caller]
    fn check(method: &Method, headers: &[(&'static str, &'static str)], want: bool) {
        let all = headers.iter().map(|(name, value)| {
            (name.parse::<header::HeaderName>().unwrap(), HeaderValue::from_static(value))
        });
        let map: HeaderMap = all.collect();
        assert_eq!(is_own(&map, "127.0.0.1:80", method), want, "{method} {headers:?}");
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
        check(&Method::POST, &[], false);
        check(&Method::POST, &[own], true);
        check(&Method::POST, &[("origin", "http://evil.example")], false);
    }
}
