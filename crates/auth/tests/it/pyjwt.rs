//! Tokens that another implementation made: see `fixtures/make.py`.

use crate::issuer::{KEYS, PublishedDocuments, at, settings, verifier};
use docent_auth::RejectionReason;
use serde_json::Value;

#[test]
fn tokens_of_pyjwt() {
    let made: Value = serde_json::from_str(include_str!("../fixtures/pyjwt.json")).unwrap();
    let published = PublishedDocuments::new(&[]);
    published.put(KEYS, &made["jwks"], None);
    let verifier = verifier(settings(), &published);
    assert!(verifier.warm(at(0)).is_empty());
    let tokens = made["tokens"].as_object().unwrap();
    assert_eq!(tokens.len(), 8);
    for (name, token) in tokens {
        let got = verifier.verify(token.as_str().unwrap(), at(0));
        match name.as_str() {
            "RS512" | "HS256" | "none" => {
                assert_eq!(got.unwrap_err().reason, RejectionReason::BadAlgorithm, "{name}");
            }
            _ => {
                let found = got.unwrap();
                assert_eq!(found.subject, "ann", "{name}");
                assert_eq!(found.client_id.as_deref(), Some("agent"), "{name}");
                assert_eq!(found.scopes, ["code:*", "docs:*"], "{name}");
            }
        }
    }
}
