//! A request that carries more than an address: a body, or a secret that is meant for one host alone.

use crate::refusal::FetchRefusal;
use std::fmt;
use ureq::http::{HeaderName, HeaderValue};
use url::{Host, Url};

/// A request to one address. Where it carries a body or a secret, it goes to no other.
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
    /// Asks for a page.
    pub const fn get(url: Url) -> Self {
        Self { url, accept: None, body: None, secret: None }
    }

    /// Sends a body of a media type.
    pub const fn post(url: Url, media_type: &'static str, bytes: Vec<u8>) -> Self {
        Self { url, accept: None, body: Some(RequestBody { media_type, bytes }), secret: None }
    }

    /// What the answer should be, such as `application/json`.
    #[must_use]
    pub const fn accept(mut self, media_types: &'static str) -> Self {
        self.accept = Some(media_types);
        self
    }

    /// A header that names whoever asks. It is sent to this address alone, and only where nobody on the way can read it.
    #[must_use]
    pub fn secret(mut self, header: &'static str, value: impl Into<String>) -> Self {
        self.secret = Some(SecretHeader { header, value: value.into() });
        self
    }

    /// Whether a redirect would hand on what is meant for one host.
    pub(crate) const fn stays(&self) -> bool {
        self.body.is_some() || self.secret.is_some()
    }

    /// The header of the secret, if it may be sent.
    pub(crate) fn secret_header(&self) -> Result<Option<(HeaderName, HeaderValue)>, FetchRefusal> {
        let Some(secret) = &self.secret else { return Ok(None) };
        let host = || self.url.host_str().unwrap_or_default().to_owned();
        if self.url.scheme() != "https" && !is_this_machine(&self.url) {
            return Err(FetchRefusal::Unencrypted { host: host() });
        }
        let name = HeaderName::from_bytes(secret.header.as_bytes());
        let value = HeaderValue::from_str(&secret.value);
        // What is wrong with it is not told in more detail: the detail would repeat it.
        let (Ok(name), Ok(mut value)) = (name, value) else {
            return Err(FetchRefusal::BadSecret { host: host() });
        };
        value.set_sensitive(true);
        Ok(Some((name, value)))
    }
}

/// A secret that never leaves this machine needs no encryption.
fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(_)) | None => false,
    }
}

impl fmt::Debug for FetchRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
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
            (Err(told), Err(part)) if told.contains(part) && !told.contains(value) => {}
            _ => panic!("{url} {value:?}: {got:?}, not {want:?}"),
        }
        assert!(!format!("{request:?}").contains(value), "{request:?}");
    }

    #[test]
    fn a_secret_is_sent_encrypted_or_not_off_this_machine() {
        check("https://a.test/", "hunter2", Ok(()));
        check("http://127.0.0.1:9/", "hunter2", Ok(()));
        check("http://[::1]:9/", "hunter2", Ok(()));
        check("http://a.test/", "hunter2", Err("is not encrypted"));
        check("http://localhost/", "hunter2", Err("is not encrypted"));
        check("http://10.0.0.1/", "hunter2", Err("is not encrypted"));
        check("https://a.test/", "hunter2\r\nx: y", Err("can't be sent"));
        check("https://a.test/", "hunter\u{7f}", Err("can't be sent"));
    }
}
