//! An in-memory issuer: what it publishes, for how long, and how often it was queried.

use crate::signer::Signer;
use docent_auth::{
    DocumentFetchError, DocumentFetcher, FetchedDocument, IssuerSettings, ScopeMap, TokenVerifier,
    TrustedIssuer,
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

pub(crate) const NAME: &str = "https://login.example.com/team";
pub(crate) const AUDIENCE: &str = "https://docent.example.com/mcp";
pub(crate) const METADATA: &str =
    "https://login.example.com/.well-known/oauth-authorization-server/team";
pub(crate) const KEYS: &str = "https://login.example.com/team/keys";

/// Seconds since 1970 at which the tests begin.
pub(crate) const START: u64 = 1_800_000_000;

pub(crate) fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(START + seconds)
}

/// The claims of a token that is good for half an hour from the start.
pub(crate) fn claims() -> Value {
    json!({
        "iss": NAME, "sub": "ann", "aud": AUDIENCE, "client_id": "agent", "scope": "mcp:read",
        "iat": START, "exp": START + 1800,
    })
}

#[derive(Default)]
pub(crate) struct PublishedDocuments {
    documents: Mutex<BTreeMap<String, FetchedDocument>>,
    asked: Mutex<Vec<String>>,
}

impl PublishedDocuments {
    pub(crate) fn new(signers: &[&Signer]) -> Arc<Self> {
        let published = Arc::new(Self::default());
        published.put(METADATA, &json!({"issuer": NAME, "jwks_uri": KEYS}), None);
        published.keys(signers, None);
        published
    }

    pub(crate) fn put(&self, url: &str, document: &Value, max_age: Option<Duration>) {
        let fetched = FetchedDocument { body: document.to_string().into_bytes(), max_age };
        self.documents.lock().unwrap().insert(url.to_owned(), fetched);
    }

    pub(crate) fn keys(&self, signers: &[&Signer], max_age: Option<Duration>) {
        let keys: Vec<Value> = signers.iter().map(|signer| signer.jwk()).collect();
        self.put(KEYS, &json!({"keys": keys}), max_age);
    }

    pub(crate) fn fall_silent(&self) {
        self.documents.lock().unwrap().clear();
    }

    /// The URLs requested since the last call.
    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

impl DocumentFetcher for PublishedDocuments {
    fn get(&self, url: &str) -> Result<FetchedDocument, DocumentFetchError> {
        self.asked.lock().unwrap().push(url.to_owned());
        let found = self.documents.lock().unwrap().get(url).cloned();
        found.ok_or_else(|| DocumentFetchError::new("no answer"))
    }
}

pub(crate) fn settings() -> IssuerSettings {
    let mut settings = IssuerSettings::new(NAME, vec![AUDIENCE.to_owned()]);
    let opens = BTreeMap::from([("mcp:read".into(), vec!["code:*".into(), "docs:*".into()])]);
    settings.scopes = ScopeMap::new(opens, false).unwrap();
    settings
}

pub(crate) fn verifier(
    settings: IssuerSettings,
    published: &Arc<PublishedDocuments>,
) -> TokenVerifier {
    let issuer = TrustedIssuer::check(settings).unwrap();
    TokenVerifier::new(vec![issuer], Arc::clone(published) as Arc<dyn DocumentFetcher>).unwrap()
}

/// A verifier that holds these keys.
pub(crate) fn holding(signers: &[&Signer]) -> TokenVerifier {
    let verifier = verifier(settings(), &PublishedDocuments::new(signers));
    assert!(verifier.warm(at(0)).is_empty());
    verifier
}
