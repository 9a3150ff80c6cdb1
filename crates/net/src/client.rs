//! The HTTP client: allowed hosts, checked addresses, bounded responses.

use crate::{
    address_syntax::{BadAddress, join_url},
    policy::NetworkPolicy,
    refusal::{FetchRefusal, GuardedFetchError},
    request::FetchRequest,
    resolve::{AddressLookup, GuardedResolver, SystemLookup},
    unpack::{self, BodyRead},
};
use percent_encoding::{AsciiSet, percent_encode};
use serde::{Deserialize, Serialize};
use std::{
    io,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};
use ureq::{
    Agent, AsSendBody,
    http::{self, HeaderMap},
    unversioned::transport::{Connector, DefaultConnector},
};
use url::Url;

/// The `User-Agent` header.
const USER_AGENT: &str = concat!("docent/", env!("CARGO_PKG_VERSION"));
/// The `Accept` header; servers with several forms of a page send the first match.
const ACCEPT: &str = "text/html,text/markdown,text/plain,application/pdf;q=0.9,*/*;q=0.5";
/// Maximum length of a validator that is sent back.
const MAX_VALIDATOR_BYTES: usize = 512;
/// Maximum length of a media type; the longest in use have about 80 bytes.
const MAX_MEDIA_TYPE_BYTES: usize = 127;
/// Maximum size of the headers; more ends the connection.
const MAX_HEADER_BYTES: usize = 64 << 10;

/// Limits of a fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchLimits {
    /// Time until connected.
    pub connect: Duration,
    /// Time from the lookup to the last byte, including redirects.
    pub total: Duration,
    /// Bytes of a response, before and after decompression.
    pub body: u64,
    /// Maximum number of redirects.
    pub redirects: usize,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            total: Duration::from_secs(30),
            body: 8 << 20,
            redirects: 5,
        }
    }
}

/// Cache validators of a page, sent back to ask for a newer version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheValidators {
    /// The `ETag` header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// The `Last-Modified` header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

/// How much of a response to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyLimit {
    /// All of it; a larger response is an error.
    AtMost(u64),
    /// Only the first bytes.
    First(u64),
}

/// A response with any status.
#[derive(Debug, Clone)]
pub struct FetchResponse {
    /// URL, after redirects.
    pub url: Url,
    /// Status code, such as 200.
    pub status: u16,
    /// Decompressed body. Empty unless the status is 2xx.
    pub body: Vec<u8>,
    headers: HeaderMap,
}

impl FetchResponse {
    /// The first header with this name, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// All headers with this name that are text.
    pub fn headers<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok())
    }

    /// The validators to send back next time.
    pub fn validators(&self) -> CacheValidators {
        let own = |name| {
            self.header(name).filter(|text| text.len() <= MAX_VALIDATOR_BYTES).map(str::to_owned)
        };
        CacheValidators { etag: own("etag"), last_modified: own("last-modified") }
    }

    /// The content type in lower case, without parameters; `None` if malformed.
    pub fn media_type(&self) -> Option<String> {
        let kind = self.header("content-type")?.split(';').next()?.trim();
        let (family, name) = kind.split_once('/')?;
        let is_one = kind.len() <= MAX_MEDIA_TYPE_BYTES && is_token(family) && is_token(name);
        is_one.then(|| kind.to_ascii_lowercase())
    }

    /// The `Retry-After` delay.
    pub fn retry_after(&self) -> Option<Duration> {
        let text = self.header("retry-after")?.trim();
        if let Ok(seconds) = text.parse() {
            return Some(Duration::from_secs(seconds));
        }
        let at = httpdate::parse_http_date(text).ok()?;
        Some(at.duration_since(SystemTime::now()).unwrap_or_default())
    }

    /// Target of a redirect; `None` if it is not a valid URL.
    pub fn redirect(&self) -> Result<Option<Url>, FetchRefusal> {
        let moved = matches!(self.status, 301 | 302 | 303 | 307 | 308);
        let Some(place) = self.headers.get(http::header::LOCATION).filter(|_| moved) else {
            return Ok(None);
        };
        // Some servers send unencoded letters, in the encoding of their paths.
        let place = percent_encode(place.as_bytes(), &AsciiSet::EMPTY).to_string();
        match join_url(&self.url, &place) {
            Ok(mut next) => {
                next.set_fragment(None);
                Ok(Some(next))
            }
            Err(BadAddress::Unreadable(_)) => Ok(None),
            Err(BadAddress::Refused(refusal)) => Err(refusal),
        }
    }
}

/// Fetches what a policy allows. Keeps no cookies and uses no proxy, which would resolve names by itself.
#[derive(Debug, Clone)]
pub struct GuardedClient {
    agent: Agent,
    policy: Arc<NetworkPolicy>,
    limits: FetchLimits,
    /// Deadline of the caller, regardless of the limits.
    until: Option<Instant>,
}

impl GuardedClient {
    /// Creates a client that uses the system resolver.
    pub fn new(policy: NetworkPolicy, limits: FetchLimits) -> Self {
        Self::with_lookup(policy, limits, Arc::new(SystemLookup))
    }

    /// Creates a client with another resolver. Addresses are still checked.
    pub fn with_lookup(
        policy: NetworkPolicy,
        limits: FetchLimits,
        lookup: Arc<dyn AddressLookup>,
    ) -> Self {
        Self::with_connector(policy, limits, lookup, DefaultConnector::default())
    }

    /// Creates a client with this connector.
    pub(crate) fn with_connector(
        policy: NetworkPolicy,
        limits: FetchLimits,
        lookup: Arc<dyn AddressLookup>,
        connector: impl Connector,
    ) -> Self {
        let config = Agent::config_builder()
            .proxy(None)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .max_response_header_size(MAX_HEADER_BYTES)
            .timeout_resolve(Some(limits.connect))
            .timeout_connect(Some(limits.connect))
            .user_agent(USER_AGENT)
            .accept(ACCEPT)
            .accept_encoding("gzip")
            .build();
        let guard = GuardedResolver { policy: policy.clone(), lookup };
        let agent = Agent::with_parts(config, connector, guard);
        Self { agent, policy: Arc::new(policy), limits, until: None }
    }

    /// The network policy.
    pub fn policy(&self) -> &NetworkPolicy {
        &self.policy
    }

    /// Returns the client with a deadline. All its requests share the time.
    #[must_use]
    pub fn until(&self, at: Instant) -> Self {
        let left = at.saturating_duration_since(Instant::now());
        let limits = FetchLimits { total: self.limits.total.min(left), ..self.limits };
        Self { limits, until: Some(self.until.map_or(at, |until| until.min(at))), ..self.clone() }
    }

    /// Returns the client for one of several sequential requests: a server that never answers leaves the others their
    /// share of the time.
    #[must_use]
    pub fn sharing(&self, requests: usize) -> Self {
        let now = Instant::now();
        let left = self.deadline().saturating_duration_since(now);
        let share = left / u32::try_from(requests.max(1)).unwrap_or(u32::MAX);
        self.until(now.checked_add(share).unwrap_or(now))
    }

    /// Fetches a page, following redirects. Each is checked like the first URL.
    pub fn get(
        &self,
        url: &Url,
        conditional: &CacheValidators,
    ) -> Result<FetchResponse, GuardedFetchError> {
        self.get_body(url, conditional, BodyLimit::AtMost(self.limits.body))
    }

    /// Fetches as much as requested, following redirects.
    pub fn get_body(
        &self,
        url: &Url,
        conditional: &CacheValidators,
        body: BodyLimit,
    ) -> Result<FetchResponse, GuardedFetchError> {
        let deadline = self.deadline();
        let mut at = url.clone();
        for _ in 0..=self.limits.redirects {
            let answer =
                self.fetch_hop(&FetchRequest::get(at.clone()), conditional, body, deadline)?;
            let Some(next) = answer.redirect()? else { return Ok(answer) };
            at = check_downgrade(&at, next)?;
        }
        let (url, last) = (url.to_string(), at.to_string());
        Err(FetchRefusal::Redirects { url, last, limit: self.limits.redirects }.into())
    }

    /// Fetches a page, and returns a redirect to the caller.
    pub fn get_once(
        &self,
        url: &Url,
        conditional: &CacheValidators,
    ) -> Result<FetchResponse, GuardedFetchError> {
        let deadline = self.deadline();
        self.fetch_hop(
            &FetchRequest::get(url.clone()),
            conditional,
            BodyLimit::AtMost(self.limits.body),
            deadline,
        )
    }

    /// Sends a request. Follows redirects, after a check, only if the request carries nothing but its URL.
    pub fn send(
        &self,
        request: &FetchRequest,
        body: BodyLimit,
    ) -> Result<FetchResponse, GuardedFetchError> {
        let (deadline, nothing) = (self.deadline(), CacheValidators::default());
        let mut request = request.clone();
        let first = request.url.clone();
        for _ in 0..=self.limits.redirects {
            let answer = self.fetch_hop(&request, &nothing, body, deadline)?;
            let Some(next) = answer.redirect()? else { return Ok(answer) };
            if request.stays() {
                let to = format!("{}://{}", next.scheme(), host_of(&next));
                return Err(FetchRefusal::Forwarded { from: host_of(&request.url), to }.into());
            }
            request.url = check_downgrade(&request.url, next)?;
        }
        let (url, last) = (first.to_string(), request.url.to_string());
        Err(FetchRefusal::Redirects { url, last, limit: self.limits.redirects }.into())
    }

    /// The deadline. A limit beyond the clock's range counts as a day.
    fn deadline(&self) -> Instant {
        let now = Instant::now();
        let at = now.checked_add(self.limits.total).unwrap_or(now + Duration::from_hours(24));
        self.until.map_or(at, |until| until.min(at))
    }

    fn fetch_hop(
        &self,
        request: &FetchRequest,
        conditional: &CacheValidators,
        body: BodyLimit,
        deadline: Instant,
    ) -> Result<FetchResponse, GuardedFetchError> {
        let url = &request.url;
        // Check before the lookup, which checks the sent URL again.
        self.policy.check(url)?;
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(self.timeout_error(url));
        }
        let mut head = http::Request::builder().uri(url.as_str());
        for (name, value) in [
            ("if-none-match", conditional.etag.as_deref()),
            ("if-modified-since", conditional.last_modified.as_deref()),
            ("accept", request.accept),
            ("content-type", request.body.as_ref().map(|sent| sent.media_type)),
        ] {
            if let Some(value) = value {
                head = head.header(name, value);
            }
        }
        if let Some((name, value)) = request.secret_header()? {
            head = head.header(name, value);
        }
        let answer = match &request.body {
            None => self.call(head.method("GET").body(()), left),
            Some(sent) => self.call(head.method("POST").body(sent.bytes.as_slice()), left),
        };
        let answer = answer.map_err(|error| self.failed(url, error))?;
        let (head, content) = answer.into_parts();
        let mut response = FetchResponse {
            url: url.clone(),
            status: head.status.as_u16(),
            body: Vec::new(),
            headers: head.headers,
        };
        if head.status.is_success() {
            response.body = self.read(url, &response.headers, content, body, deadline)?;
        }
        Ok(response)
    }

    fn call(
        &self,
        request: http::Result<http::Request<impl AsSendBody>>,
        left: Duration,
    ) -> Result<http::Response<ureq::Body>, ureq::Error> {
        let request = self.agent.configure_request(request?).timeout_global(Some(left)).build();
        self.agent.run(request)
    }

    fn read(
        &self,
        url: &Url,
        headers: &HeaderMap,
        content: ureq::Body,
        body: BodyLimit,
        deadline: Instant,
    ) -> Result<Vec<u8>, GuardedFetchError> {
        let garbled = |source| GuardedFetchError::Garbled { url: url.to_string(), source };
        let packed = match headers.get(http::header::CONTENT_ENCODING).map(|it| it.to_str()) {
            None => false,
            Some(Ok(coding)) if coding.eq_ignore_ascii_case("identity") => false,
            Some(Ok(coding)) if is_gzip(coding) => true,
            Some(_) => {
                let reason = "it has an unsupported content encoding";
                return Err(garbled(io::Error::new(io::ErrorKind::InvalidData, reason)));
            }
        };
        let (BodyLimit::AtMost(limit) | BodyLimit::First(limit)) = body;
        match unpack::read_bounded(content.into_reader(), packed, limit, Some(deadline)) {
            Ok(BodyRead::Whole(bytes)) => Ok(bytes),
            Ok(BodyRead::Cut(bytes)) if body == BodyLimit::First(limit) => Ok(bytes),
            Ok(BodyRead::Cut(_)) => {
                Err(GuardedFetchError::TooLarge { url: url.to_string(), limit })
            }
            Ok(BodyRead::Late) => Err(self.timeout_error(url)),
            Err(error) => match ureq::Error::from(error) {
                ureq::Error::Io(error) if error.kind() == io::ErrorKind::InvalidInput => {
                    Err(garbled(error))
                }
                other => Err(self.failed(url, other)),
            },
        }
    }

    fn timeout_error(&self, url: &Url) -> GuardedFetchError {
        GuardedFetchError::TimedOut { host: host_of(url), limit: self.limits.total }
    }

    fn failed(&self, url: &Url, error: ureq::Error) -> GuardedFetchError {
        match error {
            ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => {
                GuardedFetchError::TimedOut { host: host_of(url), limit: self.limits.connect }
            }
            ureq::Error::Timeout(_) => self.timeout_error(url),
            ureq::Error::Other(inner) => match inner.downcast::<FetchRefusal>() {
                Ok(refusal) => GuardedFetchError::Refused(*refusal),
                Err(inner) => unreachable(url, ureq::Error::Other(inner)),
            },
            // An error of this page, not of the host: others may work, this one never will.
            other @ (ureq::Error::BadUri(_)
            | ureq::Error::Http(_)
            | ureq::Error::Protocol(_)
            | ureq::Error::LargeResponseHeader(..)) => {
                GuardedFetchError::Garbled { url: url.to_string(), source: other.into_io() }
            }
            other => unreachable(url, other),
        }
    }
}

/// Whether a text is an HTTP token: RFC 9110, section 5.6.2.
fn is_token(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_part)
}

fn is_gzip(coding: &str) -> bool {
    coding.eq_ignore_ascii_case("gzip") || coding.eq_ignore_ascii_case("x-gzip")
}

/// Refuses redirects from https to http.
fn check_downgrade(from: &Url, to: Url) -> Result<Url, FetchRefusal> {
    if from.scheme() == "https" && to.scheme() == "http" {
        return Err(FetchRefusal::Downgrade { from: from.to_string(), to: to.to_string() });
    }
    Ok(to)
}

fn unreachable(url: &Url, error: ureq::Error) -> GuardedFetchError {
    GuardedFetchError::Unreachable { host: host_of(url), source: Box::new(error) }
}

fn host_of(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}

/// Formats an error and its causes on one line.
pub(crate) fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        text.push_str(": ");
        text.push_str(&source.to_string());
        cause = source.source();
    }
    text
}

impl GuardedFetchError {
    /// The error and its causes on one line.
    pub fn to_chain(&self) -> String {
        error_chain(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn https_does_not_lead_to_http() {
        for (from, to, want) in [
            ("https://a.test/", "https://b.test/", true),
            ("http://a.test/", "https://a.test/", true),
            ("http://a.test/", "http://b.test/", true),
            ("https://a.test/", "http://a.test/", false),
        ] {
            let got = check_downgrade(&Url::parse(from).unwrap(), Url::parse(to).unwrap());
            assert_eq!(got.is_ok(), want, "{from} {to}");
        }
    }

    /// What is heard is the same for every request: without the check, it would be followed to the last one.
    #[test]
    fn an_encrypted_page_is_not_left_for_one_that_is_not() {
        let answer = "HTTP/1.1 301 X\r\nlocation: http://127.0.0.1/\r\ncontent-length: 0\r\n\r\n";
        let policy = NetworkPolicy::parse(["127.0.0.1"]).unwrap();
        let client =
            GuardedClient::hearing(policy, FetchLimits::default(), answer.as_bytes().to_vec());
        let url = Url::parse("https://127.0.0.1/").unwrap();
        let got = client.get_body(&url, &CacheValidators::default(), BodyLimit::First(9));
        let sent = client.send(&FetchRequest::get(url), BodyLimit::First(9));
        for error in [got.unwrap_err(), sent.unwrap_err()] {
            assert!(
                matches!(error, GuardedFetchError::Refused(FetchRefusal::Downgrade { .. })),
                "{error:?}"
            );
        }
    }

    #[test]
    fn headers_are_read() {
        let response = |pairs: &[(&'static str, &'static str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.append(*name, http::HeaderValue::from_static(value));
            }
            let url = Url::parse("https://a.test/x/y").unwrap();
            FetchResponse { url, status: 301, body: Vec::new(), headers }
        };
        let typed = |text| response(&[("content-type", text)]).media_type();
        assert_eq!(typed("Text/HTML; charset=utf-8").as_deref(), Some("text/html"));
        for none in [" ;", "html", "/", "text/", "text/html, text/html", "text/ht ml", "a/b/c"] {
            assert_eq!(typed(none), None, "{none}");
        }
        for (length, is_one) in [(127, true), (128, false)] {
            let long: &str = Box::leak(format!("{:x<length$}", "text/").into_boxed_str());
            assert_eq!(typed(long).is_some(), is_one, "{length}");
        }
        let wait = |text| response(&[("retry-after", text)]).retry_after();
        assert_eq!(wait("7"), Some(Duration::from_secs(7)));
        assert_eq!(wait("Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::ZERO));
        assert!(wait("Fri, 31 Dec 2100 23:59:59 GMT").unwrap() > Duration::from_hours(1));
        assert_eq!(wait("soon"), None);
        let to = |text| response(&[("location", text)]).redirect();
        assert_eq!(to("../z#part"), Ok(Some(Url::parse("https://a.test/z").unwrap())));
        assert_eq!(to("https://["), Ok(None));
        assert_eq!(
            to("//2130706433/"),
            Err(FetchRefusal::Notation { address: [127, 0, 0, 1].into() })
        );
        let raw = |place: &[u8]| {
            let mut answer = response(&[]);
            answer.headers.append("location", http::HeaderValue::from_bytes(place).unwrap());
            answer.redirect()
        };
        for (place, want) in [
            ("/wiki/Köln?ö#ö".as_bytes(), "https://a.test/wiki/K%C3%B6ln?%C3%B6"),
            (b"/wiki/K\xf6ln", "https://a.test/wiki/K%F6ln"),
            ("//bücher.example/%20 ".as_bytes(), "https://xn--bcher-kva.example/%20"),
        ] {
            assert_eq!(raw(place), Ok(Some(Url::parse(want).unwrap())));
        }
        let notation = Err(FetchRefusal::Notation { address: [127, 0, 0, 1].into() });
        assert_eq!(raw("//\u{ff11}27.0.0.1/".as_bytes()), notation);
        let long = Box::leak("x".repeat(MAX_VALIDATOR_BYTES + 1).into_boxed_str());
        let pairs = response(&[("etag", long), ("last-modified", "then")]).validators();
        assert_eq!(pairs, CacheValidators { etag: None, last_modified: Some("then".to_owned()) });
    }
}
