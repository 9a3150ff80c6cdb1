//! HTTP client for OAuth requests to servers that another server names, restricted to addresses that it may lead to.

use crate::{TransportFailure, http_sender::transport_failure, tls};
use bytes::Bytes;
use reqwest::{
    Client, Response,
    dns::{Addrs, Name, Resolve, Resolving},
    redirect::{Attempt, Policy},
};
use rmcp::transport::auth::{
    OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRedirectPolicy, OAuthHttpRequest,
};
use serde::Deserialize;
use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::net::lookup_host;
use url::{Host, Url};

const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_BODY_BYTES: usize = 1024 * 1024;
const MAX_REDIRECTS: usize = 5;

/// How internal an address is. A server must not lead to addresses that are more internal than its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum NetworkDepth {
    Public,
    Private,
    Loopback,
}

/// Returns `None` for addresses that are always forbidden: link-local ones, where clouds serve secrets, and reserved
/// ones.
fn depth(address: IpAddr) -> Option<NetworkDepth> {
    match address.to_canonical() {
        IpAddr::V4(address) => depth_v4(address),
        IpAddr::V6(address) => {
            let first = address.segments()[0];
            if address.is_loopback() {
                Some(NetworkDepth::Loopback)
            } else if address.is_unspecified()
                || address.is_multicast()
                || first & 0xffc0 == 0xfe80
                // Addresses that are relayed to others.
                || first == 0x2002
                || address.segments().starts_with(&[0x2001, 0])
                || address.segments().starts_with(&[0x64, 0xff9b])
            {
                None
            } else if first & 0xfe00 == 0xfc00 {
                Some(NetworkDepth::Private)
            } else {
                Some(NetworkDepth::Public)
            }
        }
    }
}

fn depth_v4(address: Ipv4Addr) -> Option<NetworkDepth> {
    let [first, second, ..] = address.octets();
    if address.is_loopback() {
        Some(NetworkDepth::Loopback)
    } else if address.is_private() || first == 100 && (64..128).contains(&second) {
        Some(NetworkDepth::Private)
    } else if address.is_link_local()
        || address.is_multicast()
        || address.is_broadcast()
        || first == 0
        || first >= 240
        || first == 198 && matches!(second, 18 | 19)
    {
        None
    } else {
        Some(NetworkDepth::Public)
    }
}

/// Returns how internal a server is. The outermost of its addresses counts, because anyone may publish an internal
/// address next to a public one.
fn deepest(addresses: impl Iterator<Item = IpAddr>) -> NetworkDepth {
    addresses.filter_map(depth).min().unwrap_or(NetworkDepth::Public)
}

/// Resolves only names whose addresses are not more internal than `deepest`.
#[derive(Debug, Clone, Copy)]
struct NetworkDepthGuard {
    deepest: NetworkDepth,
}

impl NetworkDepthGuard {
    fn allows(self, address: IpAddr) -> bool {
        depth(address).is_some_and(|depth| depth <= self.deepest)
    }

    /// Literal addresses are not resolved, so they are checked here.
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

impl Resolve for NetworkDepthGuard {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = *self;
        Box::pin(async move {
            let found: Vec<SocketAddr> = lookup_host((name.as_str(), 0)).await?.collect();
            if found.iter().any(|address| !guard.allows(address.ip())) {
                return Err(internal_address_error().into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

fn internal_address_error() -> io::Error {
    io::Error::new(
        io::ErrorKind::PermissionDenied,
        "it has an internal address, which the server must not lead to",
    )
}

pub(super) struct GuardedHttpClient {
    redirecting: Client,
    non_redirecting: Client,
    guard: NetworkDepthGuard,
    /// URLs of metadata documents, and the issuers that they claim.
    claims: Mutex<Vec<(Url, String)>>,
}

impl GuardedHttpClient {
    /// Creates a client for the server at `url`: a public one may lead only to public addresses.
    pub(super) async fn new(url: &Url) -> Result<Self, TransportFailure> {
        let host = url.host_str().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let found = lookup_host((bare, 0)).await;
        let found =
            found.map_err(|error| TransportFailure::Unreachable(format!("{host}: {error}")))?;
        let guard = NetworkDepthGuard { deepest: deepest(found.map(|address| address.ip())) };
        let follow = Policy::custom(move |attempt: Attempt<'_>| {
            if attempt.previous().len() > MAX_REDIRECTS || !guard.allows_url(attempt.url()) {
                attempt.error(internal_address_error())
            } else {
                attempt.follow()
            }
        });
        let tls = tls::client().map_err(TransportFailure::Unreachable)?;
        let client = |policy: Policy| {
            Client::builder()
                .tls_backend_preconfigured((*tls).clone())
                .redirect(policy)
                .referer(false)
                .no_proxy()
                .timeout(REQUEST_TIMEOUT)
                .dns_resolver(Arc::new(guard))
                .user_agent(concat!("docent/", env!("CARGO_PKG_VERSION")))
                .build()
                .map_err(transport_failure)
        };
        Ok(Self {
            redirecting: client(follow)?,
            non_redirecting: client(Policy::none())?,
            guard,
            claims: Mutex::default(),
        })
    }

    /// Whether an issuer was claimed at one of its own URLs. Otherwise a server could claim another issuer and get its
    /// tokens: the SDK trusts the claim if the URL has an unknown form.
    pub(super) fn is_vouched_for(&self, issuer: &str) -> bool {
        let claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        claims.iter().any(|(place, claimed)| claimed == issuer && is_place_of(place, issuer))
    }

    /// Records the issuer that a metadata document claims.
    fn record_issuer(&self, place: Url, body: &[u8]) {
        #[derive(Deserialize)]
        struct IssuerClaim {
            issuer: String,
        }
        if let Ok(IssuerClaim { issuer }) = serde_json::from_slice(body) {
            self.claims.lock().unwrap_or_else(PoisonError::into_inner).push((place, issuer));
        }
    }

    /// Posts a form, and reads the answer up to a limit.
    pub(super) async fn post_form(
        &self,
        url: &Url,
        form: String,
    ) -> Result<(u16, Vec<u8>), TransportFailure> {
        if !self.guard.allows_url(url) {
            return Err(TransportFailure::Unauthorized(internal_address_error().to_string()));
        }
        let kind = "application/x-www-form-urlencoded";
        let request =
            self.non_redirecting.post(url.clone()).header(http::header::CONTENT_TYPE, kind);
        let request = request.header(http::header::ACCEPT, "application/json").body(form);
        let response = request.send().await.map_err(transport_failure)?;
        let status = response.status().as_u16();
        let body = read_body(response)
            .await
            .map_err(|error| TransportFailure::Malformed(error.to_string()))?;
        Ok((status, body))
    }
}

impl OAuthHttpClient for GuardedHttpClient {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let OAuthHttpRequest { request, redirect_policy, .. } = request;
            let client = match redirect_policy {
                OAuthHttpRedirectPolicy::Follow => &self.redirecting,
                _ => &self.non_redirecting,
            };
            let request = reqwest::Request::try_from(request.map(Bytes::from))?;
            if !self.guard.allows_url(request.url()) {
                return Err(internal_address_error().into());
            }
            let asked = (request.method() == http::Method::GET).then(|| request.url().clone());
            let response = client.execute(request).await.map_err(reqwest::Error::without_url)?;
            let mut answer = http::Response::builder().status(response.status());
            for (name, value) in response.headers() {
                answer = answer.header(name, value);
            }
            let asked = asked.filter(|_| response.status().is_success());
            let body = read_body(response).await?;
            if let Some(place) = asked {
                self.record_issuer(place, &body);
            }
            Ok(answer.body(body)?)
        })
    }
}

/// Whether `place` is a metadata URL of the issuer by RFC 8414 or `OpenID` Connect.
fn is_place_of(place: &Url, issuer: &str) -> bool {
    let Ok(issuer) = Url::parse(issuer) else { return false };
    let path = issuer.path().trim_end_matches('/');
    let known = ["oauth-authorization-server", "openid-configuration"];
    place.origin() == issuer.origin()
        && known.iter().any(|kind| {
            let known = format!("/.well-known/{kind}");
            place.path() == format!("{known}{path}") || place.path() == format!("{path}{known}")
        })
}

async fn read_body(
    mut response: Response,
) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(reqwest::Error::without_url)? {
        if body.len().saturating_add(chunk.len()) > MAX_BODY_BYTES {
            return Err(format!("an answer of more than {MAX_BODY_BYTES} bytes").into());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issuer_has_its_own_metadata_urls() {
        for (place, issuer, expected) in [
            ("https://a.test/.well-known/oauth-authorization-server", "https://a.test", true),
            ("https://a.test/.well-known/openid-configuration", "https://a.test/", true),
            ("https://a.test/.well-known/oauth-authorization-server/t", "https://a.test/t", true),
            ("https://a.test/t/.well-known/openid-configuration", "https://a.test/t/", true),
            ("https://a.test/x/.well-known/as", "https://a.test", false),
            ("https://a.test/.well-known/oauth-authorization-server/u", "https://a.test/t", false),
            ("https://b.test/.well-known/oauth-authorization-server", "https://a.test", false),
            ("http://a.test/.well-known/oauth-authorization-server", "https://a.test", false),
            ("https://a.test/.well-known/oauth-authorization-server", "a.test", false),
        ] {
            let place = Url::parse(place).unwrap();
            assert_eq!(is_place_of(&place, issuer), expected, "{place} {issuer}");
        }
    }

    #[test]
    fn a_server_is_as_far_inside_as_the_outermost_of_its_addresses() {
        for (addresses, expected) in [
            (&["127.0.0.1", "::1"][..], NetworkDepth::Loopback),
            (&["10.0.0.1", "127.0.0.1"], NetworkDepth::Private),
            (&["127.0.0.1", "93.184.216.34"], NetworkDepth::Public),
            (&["169.254.169.254"], NetworkDepth::Public),
            (&[], NetworkDepth::Public),
        ] {
            let parsed = addresses.iter().map(|address| address.parse().unwrap());
            assert_eq!(deepest(parsed), expected, "{addresses:?}");
        }
    }

    #[test]
    fn addresses_have_depths() {
        let check = |address: &str, expected: Option<NetworkDepth>| {
            assert_eq!(depth(address.parse().unwrap()), expected, "{address}");
        };
        let (public, private, loopback) =
            (Some(NetworkDepth::Public), Some(NetworkDepth::Private), Some(NetworkDepth::Loopback));
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
    fn urls_must_not_lead_further_inside() {
        let check = |deepest, url: &str, expected| {
            assert_eq!(
                NetworkDepthGuard { deepest }.allows_url(&Url::parse(url).unwrap()),
                expected,
                "{url}"
            );
        };
        check(NetworkDepth::Public, "https://as.test/token", true);
        check(NetworkDepth::Public, "https://127.0.0.1/token", false);
        check(NetworkDepth::Public, "http://2130706433/", false);
        check(NetworkDepth::Public, "https://10.0.0.1/", false);
        check(NetworkDepth::Private, "https://10.0.0.1/", true);
        check(NetworkDepth::Private, "https://[::1]/", false);
        check(NetworkDepth::Loopback, "http://[::1]/", true);
        check(NetworkDepth::Loopback, "http://169.254.169.254/", false);
        check(NetworkDepth::Loopback, "file:///etc/passwd", false);
    }

    #[tokio::test]
    async fn names_are_checked_where_they_lead() {
        let check = async |deepest, allowed: bool| {
            let found = NetworkDepthGuard { deepest }.resolve("localhost".parse().unwrap()).await;
            assert_eq!(found.is_ok(), allowed);
        };
        check(NetworkDepth::Public, false).await;
        check(NetworkDepth::Private, false).await;
        check(NetworkDepth::Loopback, true).await;
    }
}
