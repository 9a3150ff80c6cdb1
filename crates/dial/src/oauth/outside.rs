//! The requests that OAuth makes of servers that other servers name: only to addresses that the first one may lead to.

use crate::{Failure, courier::failure, tls};
use bytes::Bytes;
use reqwest::{
    Client, Response,
    dns::{Addrs, Name, Resolve, Resolving},
    redirect::{Attempt, Policy},
};
use rmcp::transport::auth::{
    OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRedirectPolicy, OAuthHttpRequest,
};
use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};
use tokio::net::lookup_host;
use url::{Host, Url};

const TIME: Duration = Duration::from_secs(30);
const BODY_BYTES: usize = 1024 * 1024;
const REDIRECTS: usize = 5;

/// How far inside an address is. A server leads no further inside than it is itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Depth {
    Public,
    Private,
    Loopback,
}

/// `None` for addresses that nobody may be led to: those of a link, where clouds keep their secrets, and of no one.
fn depth(address: IpAddr) -> Option<Depth> {
    match address.to_canonical() {
        IpAddr::V4(address) => depth_v4(address),
        IpAddr::V6(address) => {
            let first = address.segments()[0];
            if address.is_loopback() {
                Some(Depth::Loopback)
            } else if address.is_unspecified()
                || address.is_multicast()
                || first & 0xffc0 == 0xfe80
                // Addresses that stand for others, through relays.
                || first == 0x2002
                || address.segments().starts_with(&[0x2001, 0])
                || address.segments().starts_with(&[0x64, 0xff9b])
            {
                None
            } else if first & 0xfe00 == 0xfc00 {
                Some(Depth::Private)
            } else {
                Some(Depth::Public)
            }
        }
    }
}

fn depth_v4(address: Ipv4Addr) -> Option<Depth> {
    let [first, second, ..] = address.octets();
    if address.is_loopback() {
        Some(Depth::Loopback)
    } else if address.is_private() || first == 100 && (64..128).contains(&second) {
        Some(Depth::Private)
    } else if address.is_link_local()
        || address.is_multicast()
        || address.is_broadcast()
        || first == 0
        || first >= 240
        || first == 198 && matches!(second, 18 | 19)
    {
        None
    } else {
        Some(Depth::Public)
    }
}

/// Lets names through that lead no further inside than `deepest`.
#[derive(Debug, Clone, Copy)]
struct Guard {
    deepest: Depth,
}

impl Guard {
    fn allows(self, address: IpAddr) -> bool {
        depth(address).is_some_and(|depth| depth <= self.deepest)
    }

    /// Addresses that are written out are resolved by nobody, so they are checked here.
    fn allows_url(self, url: &Url) -> bool {
        let literal = match url.host() {
            Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
            Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
            Some(Host::Domain(_)) => None,
            None => return false,
        };
        matches!(url.scheme(), "http" | "https")
            && literal.is_none_or(|address| self.allows(address))
    }
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = *self;
        Box::pin(async move {
            let found: Vec<SocketAddr> = lookup_host((name.as_str(), 0)).await?.collect();
            if found.iter().any(|address| !guard.allows(address.ip())) {
                return Err(refused().into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

fn refused() -> io::Error {
    io::Error::new(
        io::ErrorKind::PermissionDenied,
        "it is at an address inside this network, where the server may not lead",
    )
}

pub(super) struct Outside {
    following: Client,
    stopping: Client,
    guard: Guard,
}

impl Outside {
    /// For the server at `url`: a public one leads to public addresses alone.
    pub(super) async fn new(url: &Url) -> Result<Self, Failure> {
        let host = url.host_str().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let found = lookup_host((bare, 0)).await;
        let found = found.map_err(|error| Failure::Unreachable(format!("{host}: {error}")))?;
        let deepest = found.filter_map(|address| depth(address.ip())).max();
        let guard = Guard { deepest: deepest.unwrap_or(Depth::Public) };
        let follow = Policy::custom(move |attempt: Attempt<'_>| {
            if attempt.previous().len() > REDIRECTS || !guard.allows_url(attempt.url()) {
                attempt.error(refused())
            } else {
                attempt.follow()
            }
        });
        let tls = tls::client().map_err(Failure::Unreachable)?;
        let client = |policy: Policy| {
            Client::builder()
                .tls_backend_preconfigured((*tls).clone())
                .redirect(policy)
                .referer(false)
                .no_proxy()
                .timeout(TIME)
                .dns_resolver(Arc::new(guard))
                .user_agent(concat!("docent/", env!("CARGO_PKG_VERSION")))
                .build()
                .map_err(failure)
        };
        Ok(Self { following: client(follow)?, stopping: client(Policy::none())?, guard })
    }

    /// Posts a form. The body of the answer is short.
    pub(super) async fn form(&self, url: &Url, form: String) -> Result<(u16, Vec<u8>), Failure> {
        if !self.guard.allows_url(url) {
            return Err(Failure::Unauthorized(refused().to_string()));
        }
        let kind = "application/x-www-form-urlencoded";
        let request = self.stopping.post(url.clone()).header(http::header::CONTENT_TYPE, kind);
        let request = request.header(http::header::ACCEPT, "application/json").body(form);
        let response = request.send().await.map_err(failure)?;
        let status = response.status().as_u16();
        let body = body(response).await.map_err(|error| Failure::Malformed(error.to_string()))?;
        Ok((status, body))
    }
}

impl OAuthHttpClient for Outside {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let OAuthHttpRequest { request, redirect_policy, .. } = request;
            let client = match redirect_policy {
                OAuthHttpRedirectPolicy::Follow => &self.following,
                _ => &self.stopping,
            };
            let request = reqwest::Request::try_from(request.map(Bytes::from))?;
            if !self.guard.allows_url(request.url()) {
                return Err(refused().into());
            }
            let response = client.execute(request).await.map_err(reqwest::Error::without_url)?;
            let mut answer = http::Response::builder().status(response.status());
            for (name, value) in response.headers() {
                answer = answer.header(name, value);
            }
            Ok(answer.body(body(response).await?)?)
        })
    }
}

async fn body(mut response: Response) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(reqwest::Error::without_url)? {
        if body.len().saturating_add(chunk.len()) > BODY_BYTES {
            return Err(format!("an answer of more than {BODY_BYTES} bytes").into());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_depths() {
        let check = |address: &str, expected: Option<Depth>| {
            assert_eq!(depth(address.parse().unwrap()), expected, "{address}");
        };
        let (public, private, loopback) =
            (Some(Depth::Public), Some(Depth::Private), Some(Depth::Loopback));
        check("93.184.216.34", public);
        check("2606:4700::1", public);
        for address in
            ["10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "fd00::1", "::ffff:10.0.0.1"]
        {
            check(address, private);
        }
        for address in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
            check(address, loopback);
        }
        for address in [
            "169.254.169.254",
            "0.0.0.0",
            "255.255.255.255",
            "224.0.0.1",
            "240.0.0.1",
            "198.18.0.1",
            "fe80::1",
            "::",
            "ff02::1",
            "2002:7f00:1::",
            "2001::1",
            "64:ff9b::7f00:1",
            "::ffff:169.254.169.254",
        ] {
            check(address, None);
        }
    }

    #[test]
    fn nobody_is_led_further_inside() {
        let check = |deepest, url: &str, expected| {
            assert_eq!(Guard { deepest }.allows_url(&Url::parse(url).unwrap()), expected, "{url}");
        };
        check(Depth::Public, "https://as.test/token", true);
        check(Depth::Public, "https://127.0.0.1/token", false);
        check(Depth::Public, "http://2130706433/", false);
        check(Depth::Public, "https://10.0.0.1/", false);
        check(Depth::Private, "https://10.0.0.1/", true);
        check(Depth::Private, "https://[::1]/", false);
        check(Depth::Loopback, "http://[::1]/", true);
        check(Depth::Loopback, "http://169.254.169.254/", false);
        check(Depth::Loopback, "file:///etc/passwd", false);
    }

    #[tokio::test]
    async fn names_are_checked_where_they_lead() {
        let check = async |deepest, allowed: bool| {
            let found = Guard { deepest }.resolve("localhost".parse().unwrap()).await;
            assert_eq!(found.is_ok(), allowed);
        };
        check(Depth::Public, false).await;
        check(Depth::Private, false).await;
        check(Depth::Loopback, true).await;
    }
}
