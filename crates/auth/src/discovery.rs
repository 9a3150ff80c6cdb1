//! Locates an issuer's keys: metadata by RFC 8414 and by `OpenID` Connect Discovery.

use crate::{
    fetch::{DocumentFetchError, DocumentFetcher},
    issuer::TrustedIssuer,
    json,
    keys::{KeySet, KeySetError},
};
use serde_json::Value;
use std::time::Duration;

/// More than any issuer's document needs.
pub(crate) const MAX_DOCUMENT_BYTES: usize = 256 * 1024;

/// Why an issuer's keys cannot be obtained.
#[derive(Debug, thiserror::Error)]
pub enum KeyDiscoveryError {
    /// The document could not be read.
    #[error("cannot read {url}")]
    Fetch {
        /// The document's URL.
        url: String,
        /// The cause.
        #[source]
        source: DocumentFetchError,
    },
    /// The document is too large.
    #[error("{url} is larger than {MAX_DOCUMENT_BYTES} bytes")]
    TooLarge {
        /// The document's URL.
        url: String,
    },
    /// The document is not issuer metadata.
    #[error("{url} is not issuer metadata: it must be a JSON object with `issuer` and `jwks_uri`")]
    NotMetadata {
        /// The document's URL.
        url: String,
    },
    /// The document belongs to another issuer.
    #[error("{url} belongs to the issuer {found:?}; configure the issuer exactly like that")]
    OtherIssuer {
        /// The document's URL.
        url: String,
        /// The issuer it names.
        found: String,
    },
    /// The keys are at a URL that others could tamper with.
    #[error("{url} names keys at {jwks_uri:?}, which is not an https URL")]
    UnsafeKeys {
        /// The document's URL.
        url: String,
        /// The URL it names.
        jwks_uri: String,
    },
    /// The keys cannot be used.
    #[error("cannot use the keys of {url}")]
    Keys {
        /// The URL of the keys.
        url: String,
        /// The cause.
        #[source]
        source: KeySetError,
    },
}

/// A fetched key set.
#[derive(Debug)]
pub(crate) struct FetchedKeySet {
    pub(crate) keys: KeySet,
    pub(crate) left_out: usize,
    pub(crate) max_age: Option<Duration>,
}

/// Finds the URL of the keys. If one document fails, the next is tried; the first failure is reported.
pub(crate) fn find_keys(
    issuer: &TrustedIssuer,
    fetch: &dyn DocumentFetcher,
) -> Result<String, KeyDiscoveryError> {
    let [first, others @ ..] = &places(issuer);
    match ask(issuer, first, fetch) {
        Ok(found) => Ok(found),
        Err(error) => others.iter().find_map(|url| ask(issuer, url, fetch).ok()).ok_or(error),
    }
}

pub(crate) fn read_keys(
    url: &str,
    fetch: &dyn DocumentFetcher,
) -> Result<FetchedKeySet, KeyDiscoveryError> {
    let (body, max_age) = read(url, fetch)?;
    let (keys, left_out) = KeySet::parse(&body)
        .map_err(|source| KeyDiscoveryError::Keys { url: url.to_owned(), source })?;
    Ok(FetchedKeySet { keys, left_out, max_age })
}

/// The metadata URLs of an issuer: RFC 8414 puts its name between host and path; `OpenID` issuers answer there or below
/// their path.
fn places(issuer: &TrustedIssuer) -> [String; 3] {
    let mut root = issuer.url.clone();
    root.set_path("");
    let root = root.as_str().trim_end_matches('/');
    let path = issuer.url.path().trim_end_matches('/');
    [
        format!("{root}/.well-known/oauth-authorization-server{path}"),
        format!("{root}/.well-known/openid-configuration{path}"),
        format!("{root}{path}/.well-known/openid-configuration"),
    ]
}

fn ask(
    issuer: &TrustedIssuer,
    url: &str,
    fetch: &dyn DocumentFetcher,
) -> Result<String, KeyDiscoveryError> {
    let (body, _) = read(url, fetch)?;
    let document = json::object(&body);
    let field = |name| document.as_ref()?.get(name).and_then(Value::as_str);
    let (Some(found), Some(jwks_uri)) = (field("issuer"), field("jwks_uri")) else {
        return Err(KeyDiscoveryError::NotMetadata { url: url.to_owned() });
    };
    if found != issuer.name() {
        return Err(KeyDiscoveryError::OtherIssuer {
            url: url.to_owned(),
            found: found.to_owned(),
        });
    }
    if !issuer.may_publish_at(jwks_uri) {
        let (url, jwks_uri) = (url.to_owned(), jwks_uri.to_owned());
        return Err(KeyDiscoveryError::UnsafeKeys { url, jwks_uri });
    }
    Ok(jwks_uri.to_owned())
}

fn read(
    url: &str,
    fetch: &dyn DocumentFetcher,
) -> Result<(Vec<u8>, Option<Duration>), KeyDiscoveryError> {
    let fetched = fetch
        .get(url)
        .map_err(|source| KeyDiscoveryError::Fetch { url: url.to_owned(), source })?;
    if fetched.body.len() > MAX_DOCUMENT_BYTES {
        return Err(KeyDiscoveryError::TooLarge { url: url.to_owned() });
    }
    Ok((fetched.body, fetched.max_age))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fetch::FetchedDocument, issuer::IssuerSettings};
    use std::collections::HashMap;

    struct Documents(HashMap<&'static str, String>);

    impl DocumentFetcher for Documents {
        fn get(&self, url: &str) -> Result<FetchedDocument, DocumentFetchError> {
            let body =
                self.0.get(url).ok_or_else(|| DocumentFetchError::new("404"))?.clone().into_bytes();
            Ok(FetchedDocument { body, max_age: None })
        }
    }

    fn issuer(name: &str) -> TrustedIssuer {
        TrustedIssuer::check(IssuerSettings::new(name, vec!["https://docent.example.com".into()]))
            .unwrap()
    }

    #[test]
    fn metadata_urls() {
        let names =
            ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"];
        for (name, path) in [("https://a.example", ""), ("https://a.example/", "")] {
            let [first, second, third] = places(&issuer(name));
            assert_eq!(first, format!("https://a.example{}{path}", names[0]));
            assert_eq!(second, format!("https://a.example{}", names[1]));
            assert_eq!(third, second);
        }
        for name in ["https://a.example:8443/t/1", "https://a.example:8443/t/1/"] {
            let [first, second, third] = places(&issuer(name));
            assert_eq!(first, format!("https://a.example:8443{}/t/1", names[0]));
            assert_eq!(second, format!("https://a.example:8443{}/t/1", names[1]));
            assert_eq!(third, format!("https://a.example:8443/t/1{}", names[1]));
        }
    }

    const OAUTH: &str = "https://a.example/.well-known/oauth-authorization-server/t";
    const INSERTED: &str = "https://a.example/.well-known/openid-configuration/t";
    const OPENID: &str = "https://a.example/t/.well-known/openid-configuration";

    #[track_caller]
    fn check(documents: &[(&'static str, &str)], want: Result<&str, &str>) {
        let held = documents.iter().map(|(url, body)| (*url, (*body).to_owned())).collect();
        let got = find_keys(&issuer("https://a.example/t"), &Documents(held));
        let got = got.map_err(|error| error.to_string());
        match want {
            Ok(want) => assert_eq!(got.as_deref(), Ok(want)),
            Err(part) => assert!(got.as_ref().unwrap_err().contains(part), "{got:?}"),
        }
    }

    #[test]
    fn metadata() {
        let good = r#"{"issuer":"https://a.example/t","jwks_uri":"https://k.example/k"}"#;
        for place in [OAUTH, INSERTED, OPENID] {
            check(&[(place, good)], Ok("https://k.example/k"));
        }
        let slash = r#"{"issuer":"https://a.example/t/","jwks_uri":"https://k.example/k"}"#;
        check(&[(OAUTH, slash)], Err("belongs to the issuer \"https://a.example/t/\""));
        check(&[(OAUTH, slash), (OPENID, good)], Ok("https://k.example/k"));
        let downgraded = r#"{"issuer":"https://a.example/t","jwks_uri":"http://127.0.0.1/k"}"#;
        check(&[(OAUTH, downgraded)], Err("which is not an https URL"));
        let twice =
            r#"{"issuer":"https://a.example/t","jwks_uri":"https://k.example/k","issuer":"x"}"#;
        check(&[(OAUTH, twice)], Err("is not issuer metadata"));
        check(&[(OAUTH, r#"{"issuer":"https://a.example/t"}"#)], Err("is not issuer metadata"));
        check(&[(OAUTH, "<html>")], Err("is not issuer metadata"));
        let long = format!("{good}{}", " ".repeat(MAX_DOCUMENT_BYTES));
        check(&[(OAUTH, &long)], Err("is larger than"));
        check(&[], Err("cannot read"));
    }
}
