//! Where an issuer's keys are: its metadata by RFC 8414 and by `OpenID` Connect Discovery.

use crate::{
    fetch::{DocumentFetcher, DocumentFetchError},
    issuer::TrustedIssuer,
    json,
    keys::{KeySetError, KeySet},
};
use serde_json::Value;
use std::time::Duration;

/// More than any issuer's document needs.
pub(crate) const MAX_DOCUMENT_BYTES: usize = 256 * 1024;

/// Why an issuer's keys can't be had.
#[derive(Debug, thiserror::Error)]
pub enum KeyDiscoveryError {
    /// The document was not read.
    #[error("{url} can't be read")]
    Fetch {
        /// The document's place.
        url: String,
        /// Why not.
        #[source]
        source: DocumentFetchError,
    },
    /// The document is too large to be one.
    #[error("{url} is larger than {MAX_DOCUMENT} bytes")]
    TooLarge {
        /// The document's place.
        url: String,
    },
    /// The document is no metadata.
    #[error(
        "{url} is no metadata of an issuer: it must be a JSON object with `issuer` and `jwks_uri`"
    )]
    NotMetadata {
        /// The document's place.
        url: String,
    },
    /// The document speaks for another issuer.
    #[error("{url} is of the issuer {found:?}; configure the issuer letter for letter")]
    OtherIssuer {
        /// The document's place.
        url: String,
        /// Whom it speaks for.
        found: String,
    },
    /// The keys are where anyone could change them.
    #[error("{url} names keys at {jwks_uri:?}, which is no https URL")]
    UnsafeKeys {
        /// The document's place.
        url: String,
        /// What it says.
        jwks_uri: String,
    },
    /// The keys can't be read.
    #[error("{url} can't be used")]
    Keys {
        /// The set's place.
        url: String,
        /// What is wrong.
        #[source]
        source: KeySetError,
    },
}

/// A set of keys as it was fetched.
#[derive(Debug)]
pub(crate) struct FetchedKeySet {
    pub(crate) keys: KeySet,
    pub(crate) left_out: usize,
    pub(crate) max_age: Option<Duration>,
}

/// Finds the place of the keys. A document that fails gives way to the next one; the first failure is the one told.
pub(crate) fn find_keys(issuer: &TrustedIssuer, fetch: &dyn DocumentFetcher) -> Result<String, KeyDiscoveryError> {
    let [first, others @ ..] = &places(issuer);
    match ask(issuer, first, fetch) {
        Ok(found) => Ok(found),
        Err(error) => others.iter().find_map(|url| ask(issuer, url, fetch).ok()).ok_or(error),
    }
}

pub(crate) fn read_keys(url: &str, fetch: &dyn DocumentFetcher) -> Result<FetchedKeySet, KeyDiscoveryError> {
    let (body, max_age) = read(url, fetch)?;
    let (keys, left_out) =
        KeySet::parse(&body).map_err(|source| KeyDiscoveryError::Keys { url: url.to_owned(), source })?;
    Ok(FetchedKeySet { keys, left_out, max_age })
}

/// RFC 8414 puts its name between host and path; `OpenID` issuers answer there or below their path.
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

fn ask(issuer: &TrustedIssuer, url: &str, fetch: &dyn DocumentFetcher) -> Result<String, KeyDiscoveryError> {
    let (body, _) = read(url, fetch)?;
    let document = json::object(&body);
    let field = |name| document.as_ref()?.get(name).and_then(Value::as_str);
    let (Some(found), Some(jwks_uri)) = (field("issuer"), field("jwks_uri")) else {
        return Err(KeyDiscoveryError::NotMetadata { url: url.to_owned() });
    };
    if found != issuer.name() {
        return Err(KeyDiscoveryError::OtherIssuer { url: url.to_owned(), found: found.to_owned() });
    }
    if !issuer.may_publish_at(jwks_uri) {
        let (url, jwks_uri) = (url.to_owned(), jwks_uri.to_owned());
        return Err(KeyDiscoveryError::UnsafeKeys { url, jwks_uri });
    }
    Ok(jwks_uri.to_owned())
}

fn read(url: &str, fetch: &dyn DocumentFetcher) -> Result<(Vec<u8>, Option<Duration>), KeyDiscoveryError> {
    let fetched =
        fetch.get(url).map_err(|source| KeyDiscoveryError::Fetch { url: url.to_owned(), source })?;
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
            let body = self.0.get(url).ok_or_else(|| DocumentFetchError::new("404"))?.clone().into_bytes();
            Ok(FetchedDocument { body, max_age: None })
        }
    }

    fn issuer(name: &str) -> TrustedIssuer {
        TrustedIssuer::check(IssuerSettings::new(name, vec!["https://docent.example.com".into()])).unwrap()
    }

    #[test]
    fn where_metadata_is_looked_for() {
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
        check(&[(OAUTH, slash)], Err("is of the issuer \"https://a.example/t/\""));
        check(&[(OAUTH, slash), (OPENID, good)], Ok("https://k.example/k"));
        let downgraded = r#"{"issuer":"https://a.example/t","jwks_uri":"http://127.0.0.1/k"}"#;
        check(&[(OAUTH, downgraded)], Err("which is no https URL"));
        let twice =
            r#"{"issuer":"https://a.example/t","jwks_uri":"https://k.example/k","issuer":"x"}"#;
        check(&[(OAUTH, twice)], Err("no metadata"));
        check(&[(OAUTH, r#"{"issuer":"https://a.example/t"}"#)], Err("no metadata"));
        check(&[(OAUTH, "<html>")], Err("no metadata"));
        let long = format!("{good}{}", " ".repeat(MAX_DOCUMENT));
        check(&[(OAUTH, &long)], Err("is larger than"));
        check(&[], Err("can't be read"));
    }
}
