//! Requests with a body, or with a secret for a single host.

use crate::refusal::FetchRefusal;
use std::fmt;
use ureq::http::{HeaderName, HeaderValue};
use url::{Host, Url};

/// A request to one URL. With a body or a secret, it follows no redirect.
#[derive(Clone)]
pub struct FetchRequest {
    pub(crate) url: Url,
    pub(crate) accept: Option<&'static str>,
    pub(crate) body: Option<RequestBody>,
    secret: Option<SecretHeader>,
}

#[derive(Clone)]
pub(crate) struct RequestBody {
    pub(crate) media_type: &'static str,
    pub(crate) bytes: Vec<u8>,
}

#[derive(Clone)]
struct SecretHeader {
    header: &'static str,
    value: String,
}

impl FetchRequest {
    /// Creates a GET request.
    pub const fn get(url: Url) -> Self {
        Self { url, accept: None, body: None, secret: None }
    }

    /// Creates a POST request with a body of this media type.
    pub const fn post(url: Url, media_type: &'static str, bytes: Vec<u8>) -> Self {
        Self { url, accept: None, body: Some(RequestBody { media_type, bytes }), secret: None }
    }

    /// Sets the `Accept` header, such as `application/json`.
    #[must_use]
    pub const fn accept(mut self, media_types: &'static str) -> Self {
        self.accept = Some(media_types);
        self
    }

    /// Adds an authentication header. It is sent only to this URL, and only over an encrypted or local connection.
    #[must_use]
    pub fn secret(mut self, header: &'static str, value: impl Into<String>) -> Self {
        self.secret = Some(SecretHeader { header, value: value.into() });
        self
    }

    /// Whether a redirect would forward data meant for one host.
    pub(crate) const fn stays(&self) -> bool {
        self.body.is_some() || self.secret.is_some()
    }

    /// The secret header, if it may be sent.
    pub(crate) fn secret_header(&self) -> Result<Option<(HeaderName, HeaderValue)>, FetchRefusal> {
        let Some(secret) = &self.secret else { return Ok(None) };
        let host = || self.url.host_str().unwrap_or_default().to_owned();
        if self.url.scheme() != "https" && !is_this_machine(&self.url) {
            return Err(FetchRefusal::Unencrypted { host: host() });
        }
        let name = HeaderName::from_bytes(secret.header.as_bytes());
        let value = HeaderValue::from_str(&secret.value);
        // No further detail, which would repeat the secret.
        let (Ok(name), Ok(mut value)) = (name, value) else {
            return Err(FetchRefusal::BadSecret { host: host() });
        };
        value.set_sensitive(true);
        Ok(Some((name, value)))
    }
}

/// Whether the host is this machine, so that a secret needs no encryption.
fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(_)) | None => false,
    }
}

impl fmt::Debug for FetchRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FetchRequest")
            .field("url", &self.url.as_str())
            .field("body", &self.body.as_ref().map(|body| body.bytes.len()))
            .field("secret", &self.secret.as_ref().map(|secret| secret.header))
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, value: &str, want: Result<(), &str>) {
        let request = FetchRequest::get(Url::parse(url).unwrap()).secret("x-key", value);
        let got = request.secret_header().map(|_| ()).map_err(|refusal| refusal.to_string());
        match (&got, want) {
            (Ok(()), Ok(())) => {}
            (Err(message), Err(part)) if message.contains(part) && !message.contains(value) => {}
            _ => panic!("{url} {value:?}: {got:?}, not {want:?}"),
        }
        assert!(!format!("{request:?}").contains(value), "{request:?}");
    }

    #[test]
    fn a_secret_is_sent_encrypted_or_not_off_this_machine() {
        check("https://a.test/", "hunter2", Ok(()));
        check("http://127.0.0.1:9/", "hunter2", Ok(()));
        check("http://[::1]:9/", "hunter2", Ok(()));
        check("http://a.test/", "hunter2", Err("without encryption"));
        check("http://localhost/", "hunter2", Err("without encryption"));
        check("http://10.0.0.1/", "hunter2", Err("without encryption"));
        check("https://a.test/", "hunter2\r\nx: y", Err("invalid characters"));
        check("https://a.test/", "hunter\u{7f}", Err("invalid characters"));
    }
}
