//! Sends HTTP requests to one server: pooled connections, configured headers, tokens, redirects that stay on the
//! server, and size limits for answers.

use crate::{TransportFailure, headers, sign_in::Challenge, sign_in::SignIn, tls};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use reqwest::{Client, Response};
use serde_json::Value;
use std::{error::Error as _, fmt, fmt::Write as _, sync::Arc, time::Duration};
use tokio::time::timeout;
use url::Url;

/// Settings for a server on the network.
#[derive(Clone)]
pub struct HttpSettings {
    /// Its URL.
    pub url: String,
    /// Headers of every request.
    pub headers: Vec<(String, String)>,
    /// The source of tokens. Without it, a 401 is reported as it is.
    pub sign_in: Option<Arc<dyn SignIn>>,
    /// Maximum bytes of a message.
    pub message_bytes: usize,
    /// Timeout for connecting.
    pub connect_timeout: Duration,
    /// How long an answer that has started may pause, and a notification may wait to be acknowledged. A request may
    /// wait for its answer, and a stream be silent, until it is abandoned.
    pub idle_timeout: Duration,
}

impl HttpSettings {
    /// Creates settings for `url` with limits for most servers: 10 MB, 10 s to connect, 30 s of silence.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            headers: Vec::new(),
            sign_in: None,
            message_bytes: 10_000_000,
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(30),
        }
    }
}

impl fmt::Debug for HttpSettings {
    /// Headers and the query of a URL may contain secrets.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        let origin = Url::parse(&self.url).map(|url| url.origin().ascii_serialization());
        formatter
            .debug_struct("HttpSettings")
            .field("origin", &origin.unwrap_or_default())
            .field("headers", &names)
            .field("message_bytes", &self.message_bytes)
            .finish_non_exhaustive()
    }
}

/// Maximum characters of a refusal's text.
const MAX_ERROR_TEXT_CHARS: usize = 300;
/// Maximum bytes read of a refusal to find that text or a JSON-RPC error.
const MAX_REFUSAL_BYTES: usize = 256 * 1024;
const MAX_REDIRECTS: usize = 3;
/// Maximum sign-ins for one request: a first token, and one with more scopes.
const MAX_CHALLENGES: usize = 2;

pub(crate) const JSON_CONTENT_TYPE: HeaderValue = HeaderValue::from_static("application/json");
pub(crate) const EVENT_STREAM_CONTENT_TYPE: HeaderValue =
    HeaderValue::from_static("text/event-stream");
pub(crate) const ACCEPTED_CONTENT_TYPES: HeaderValue =
    HeaderValue::from_static("application/json, text/event-stream");

/// A request that can be sent more than once.
#[derive(Clone)]
pub(crate) struct HttpRequestDraft {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) fields: HeaderMap,
    pub(crate) body: Bytes,
}

impl HttpRequestDraft {
    /// A POST of a message to `url`.
    pub(crate) fn post(url: &Url, body: Bytes, fields: HeaderMap) -> Self {
        let mut all = fields;
        all.insert(header::CONTENT_TYPE, JSON_CONTENT_TYPE);
        all.insert(header::ACCEPT, ACCEPTED_CONTENT_TYPES);
        Self { method: Method::POST, url: url.clone(), fields: all, body }
    }

    /// A GET of a stream.
    pub(crate) fn listen(url: &Url, fields: HeaderMap) -> Self {
        let mut all = fields;
        all.insert(header::ACCEPT, EVENT_STREAM_CONTENT_TYPE);
        Self { method: Method::GET, url: url.clone(), fields: all, body: Bytes::new() }
    }
}

pub(crate) struct HttpSender {
    client: Client,
    fields: HeaderMap,
    sign_in: Option<Arc<dyn SignIn>>,
    pub(crate) url: Url,
    pub(crate) message_bytes: usize,
    pub(crate) idle_timeout: Duration,
}

impl HttpSender {
    pub(crate) fn new(settings: &HttpSettings) -> Result<Self, TransportFailure> {
        let url = web_url(&settings.url, &["http", "https"])?;
        let fields =
            headers::parse_configured(&settings.headers).map_err(TransportFailure::Unreachable)?;
        let client = client(settings.connect_timeout)?;
        Ok(Self {
            client,
            fields,
            sign_in: settings.sign_in.clone(),
            url,
            message_bytes: settings.message_bytes,
            idle_timeout: settings.idle_timeout,
        })
    }

    /// Sends a request, signs in if the server requires it, and follows allowed redirects. The answer may have any
    /// other status.
    pub(crate) async fn send(
        &self,
        draft: &HttpRequestDraft,
    ) -> Result<Response, TransportFailure> {
        let mut url = draft.url.clone();
        let (mut redirects, mut challenges) = (0, 0);
        loop {
            let token = match &self.sign_in {
                Some(sign_in) => sign_in.token().await,
                None => None,
            };
            let response = self.attempt(draft, &url, token.as_deref()).await?;
            let status = response.status().as_u16();
            if (300..400).contains(&status) && status != 304 {
                redirects += 1;
                url = self.redirected(&response, &url, redirects)?;
                continue;
            }
            let header = challenge(&response);
            if !(status == 401 || status == 403 && header.contains("insufficient_scope")) {
                return Ok(response);
            }
            let Some(sign_in) = &self.sign_in else {
                return if status == 401 { Err(key_refused_error()) } else { Ok(response) };
            };
            challenges += 1;
            if challenges > MAX_CHALLENGES {
                return Err(TransportFailure::Unauthorized(format!(
                    "the server still answers {status} after sign-in; check the account's permissions"
                )));
            }
            let challenge = Challenge { status, www_authenticate: header, refused: token };
            sign_in.challenged(challenge).await?;
        }
    }

    async fn attempt(
        &self,
        draft: &HttpRequestDraft,
        url: &Url,
        token: Option<&str>,
    ) -> Result<Response, TransportFailure> {
        let mut fields = self.fields.clone();
        for (name, value) in &draft.fields {
            fields.insert(name.clone(), value.clone());
        }
        if let Some(token) = token {
            let mut value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| {
                TransportFailure::Unauthorized(
                    "the token contains characters that are not allowed in a header".into(),
                )
            })?;
            value.set_sensitive(true);
            fields.insert(header::AUTHORIZATION, value);
        }
        let request = self.client.request(draft.method.clone(), url.clone()).headers(fields);
        let request =
            if draft.body.is_empty() { request } else { request.body(draft.body.clone()) };
        request.send().await.map_err(transport_failure)
    }

    /// Returns the target of a redirect. A POST may only be repeated as a POST, and tokens must not leave this server.
    fn redirected(
        &self,
        response: &Response,
        from: &Url,
        count: usize,
    ) -> Result<Url, TransportFailure> {
        let status = response.status().as_u16();
        let refused = |text: String| TransportFailure::Refused { status, text };
        let target = response.headers().get(header::LOCATION).and_then(|to| to.to_str().ok());
        let Some(target) = target.and_then(|to| from.join(to).ok()) else {
            return Err(refused("a redirect without a valid location".to_owned()));
        };
        let shown = target.as_str().split(['?', '#']).next().unwrap_or_default();
        if target.origin() != self.url.origin() {
            return Err(refused(format!(
                "a redirect to another server, {shown}, which is not followed; configure that address if it is intended"
            )));
        }
        if !matches!(status, 307 | 308) {
            return Err(refused(format!(
                "a redirect to {shown} that would turn a POST into a GET; configure that address if it is intended"
            )));
        }
        if count > MAX_REDIRECTS {
            return Err(refused(format!("more than {MAX_REDIRECTS} redirects")));
        }
        Ok(target)
    }

    /// Reads the whole body, which must not pause for long nor be longer than `limit`.
    pub(crate) async fn body(
        &self,
        mut response: Response,
        limit: usize,
    ) -> Result<Vec<u8>, TransportFailure> {
        let too_long = || TransportFailure::Malformed(format!("it is longer than {limit} bytes"));
        let announced = response.content_length().and_then(|length| usize::try_from(length).ok());
        if announced.is_some_and(|length| length > limit) {
            return Err(too_long());
        }
        let mut body = Vec::with_capacity(announced.unwrap_or(0));
        loop {
            let chunk = timeout(self.idle_timeout, response.chunk()).await.map_err(|_| {
                let waited = self.idle_timeout.as_secs_f32();
                TransportFailure::Lost(format!(
                    "the answer stalled for {waited} s after {} bytes",
                    body.len()
                ))
            })?;
            let Some(chunk) = chunk.map_err(transport_failure)? else { return Ok(body) };
            if body.len().saturating_add(chunk.len()) > limit {
                return Err(too_long());
            }
            body.extend_from_slice(&chunk);
        }
    }

    /// Reads a refusal: a JSON-RPC error, if it contains one, and text for people.
    pub(crate) async fn refusal(&self, response: Response) -> HttpRefusal {
        let status = response.status().as_u16();
        let after = response.headers().get(header::RETRY_AFTER).and_then(|at| at.to_str().ok());
        let after = after.map(|after| format!(" (retry after {} s)", shorten(after)));
        // The status is reported even if the body can't be read.
        let limit = self.message_bytes.min(MAX_REFUSAL_BYTES);
        let body = self.body(response, limit).await.unwrap_or_default();
        let message = serde_json::from_slice::<Value>(&body).ok().filter(is_error);
        let mut text = shorten(&String::from_utf8_lossy(&body));
        text.push_str(&after.unwrap_or_default());
        HttpRefusal {
            message,
            failure: TransportFailure::Refused { status, text: text.trim().to_owned() },
        }
    }
}

/// A response with an error status.
pub(crate) struct HttpRefusal {
    pub(crate) message: Option<Value>,
    pub(crate) failure: TransportFailure,
}

fn is_error(message: &Value) -> bool {
    let error = message.get("error");
    error.is_some_and(|error| error.get("code").is_some_and(Value::is_i64))
}

/// The error for a 401 when credentials are configured.
fn key_refused_error() -> TransportFailure {
    let text = "it rejected the key; check the Authorization header that is sent to it";
    TransportFailure::Refused { status: 401, text: text.to_owned() }
}

fn challenge(response: &Response) -> String {
    let fields = response.headers().get_all(header::WWW_AUTHENTICATE);
    let values: Vec<_> = fields.iter().filter_map(|value| value.to_str().ok()).collect();
    values.join(", ")
}

/// Creates a connection pool without redirects, without proxies from the environment, and with `TCP_NODELAY`.
pub(crate) fn client(connect_timeout: Duration) -> Result<Client, TransportFailure> {
    let tls = tls::client().map_err(TransportFailure::Unreachable)?;
    Client::builder()
        .tls_backend_preconfigured((*tls).clone())
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .no_proxy()
        .tcp_nodelay(true)
        .connect_timeout(connect_timeout)
        .user_agent(concat!("docent/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(transport_failure)
}

/// Parses a URL with one of these schemes.
pub(crate) fn web_url(text: &str, schemes: &[&str]) -> Result<Url, TransportFailure> {
    let wrong = |why: &str| {
        TransportFailure::Unreachable(format!(
            "its address {why}; write it as {}://host/path",
            schemes.join(":// or ")
        ))
    };
    let url = Url::parse(text).map_err(|error| wrong(&format!("is not a valid URL ({error})")))?;
    if !schemes.contains(&url.scheme()) {
        return Err(wrong(&format!("has the unsupported scheme `{}`", url.scheme())));
    }
    if !url.has_host() {
        return Err(wrong("has no host"));
    }
    Ok(url)
}

/// Converts a client error. URLs are left out, because their queries may contain secrets.
pub(crate) fn transport_failure(error: reqwest::Error) -> TransportFailure {
    let unsent = error.is_connect() || error.is_builder();
    if tls::is_missing(&error) {
        return TransportFailure::Unreachable(tls::NO_TLS_HINT.to_owned());
    }
    let error = error.without_url();
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let text = inner.to_string();
        if !message.ends_with(&text) {
            // Writing to a string does not fail.
            let _ignored = write!(message, ": {text}");
        }
        cause = inner.source();
    }
    if unsent { TransportFailure::Unreachable(message) } else { TransportFailure::Lost(message) }
}

/// Shortens a server's text for people: one line, without control characters.
pub(crate) fn shorten(text: &str) -> String {
    let mut short = String::new();
    let mut words = text.split(|letter: char| letter.is_whitespace() || letter.is_control());
    while short.chars().count() < MAX_ERROR_TEXT_CHARS {
        let Some(word) = words.next() else { return short };
        if word.is_empty() {
            continue;
        }
        if !short.is_empty() {
            short.push(' ');
        }
        short.extend(word.chars().take(MAX_ERROR_TEXT_CHARS));
    }
    let mut cut: String = short.chars().take(MAX_ERROR_TEXT_CHARS).collect();
    cut.push('…');
    cut
}

/// Returns the content type of an answer, without parameters.
pub(crate) fn content_type(response: &Response) -> String {
    let value = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = value.and_then(|value| value.split(';').next()).unwrap_or_default();
    kind.trim().to_ascii_lowercase()
}

/// Adds a header whose value comes from the server; an invalid value is left out.
pub(crate) fn insert_if_valid(fields: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        fields.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_checked() {
        let check = |text: &str, expected: Option<&str>| match (
            web_url(text, &["http", "https"]),
            expected,
        ) {
            (Ok(_), None) => {}
            (Err(failure), Some(expected)) => {
                assert!(failure.to_string().contains(expected), "{failure}");
            }
            (found, _) => panic!("{text}: {found:?}"),
        };
        check("http://127.0.0.1:1/mcp", None);
        check("https://host/?key=1", None);
        check("host/mcp", Some("not a valid URL"));
        check("ftp://host/", Some("scheme `ftp`"));
        check("file:///etc/passwd", Some("scheme `file`"));
        check("http://", Some("not a valid URL"));
    }

    #[test]
    fn texts_are_shortened() {
        assert_eq!(shorten("  a\n\tb\u{1b}[0m  "), "a b [0m");
        assert_eq!(shorten(""), "");
        assert_eq!(shorten(&"é".repeat(5000)).chars().count(), MAX_ERROR_TEXT_CHARS + 1);
        assert_eq!(shorten(&"ab ".repeat(5000)).chars().count(), MAX_ERROR_TEXT_CHARS + 1);
    }

    #[test]
    fn settings_show_no_secrets() {
        let mut settings = HttpSettings::new("https://me:secret@host/mcp?key=secret");
        settings.headers.push(("Authorization".into(), "Bearer secret".into()));
        let shown = format!("{settings:?}");
        assert!(shown.contains("https://host\"") && shown.contains("Authorization"), "{shown}");
        assert!(!shown.contains("secret"), "{shown}");
    }
}
