//! Which tokens pass, what they yield, and which claims are required.

use crate::{
    issuer::{AUDIENCE, NAME, PublishedDocuments, START, at, claims, holding, settings, verifier},
    signer::Signer,
};
use docent_auth::{
    Algorithm, IssuerSettings, RejectionReason, TokenVerifier, TrustedIssuer, VerifiedToken,
};
use serde_json::{Value, json};
use std::{sync::Arc, time::SystemTime};

#[test]
fn every_algorithm() {
    for algorithm in Algorithm::ALL {
        let signer = Signer::new("k", algorithm);
        let verified = holding(&[&signer]).verify(&signer.token(&claims()), at(10));
        let want = VerifiedToken {
            issuer: NAME.into(),
            subject: "ann".into(),
            client_id: Some("agent".into()),
            granted: vec!["mcp:read".into()],
            scopes: vec!["code:*".into(), "docs:*".into()],
            expires: at(1860),
        };
        assert_eq!(verified, Ok(want), "{algorithm}");
    }
}

/// A valid token's claims with one of them changed; `null` removes it.
fn with(name: &str, value: Value) -> Value {
    let mut claims = claims();
    if value.is_null() {
        claims.as_object_mut().unwrap().remove(name);
    } else {
        claims[name] = value;
    }
    claims
}

struct VerifierFixture {
    signer: Signer,
    verifier: TokenVerifier,
}

impl VerifierFixture {
    fn new(settings: IssuerSettings) -> Self {
        let signer = Signer::new("k", Algorithm::EdDsa);
        let verifier = verifier(settings, &PublishedDocuments::new(&[&signer]));
        assert!(verifier.warm(at(0)).is_empty());
        Self { signer, verifier }
    }

    #[track_caller]
    fn check(&self, claims: &Value, now: SystemTime, want: Option<&RejectionReason>) {
        let got = self.verifier.verify(&self.signer.token(claims), now);
        assert_eq!(got.err().map(|rejected| rejected.reason).as_ref(), want, "{claims}");
    }

    #[track_caller]
    fn check_untyped(&self, claims: &Value, want: Option<&RejectionReason>) {
        for typ in ["JWT", "jwt", ""] {
            let mut header = self.signer.header();
            header["typ"] = json!(typ);
            if typ.is_empty() {
                header.as_object_mut().unwrap().remove("typ");
            }
            let token = self.signer.sign(&header.to_string(), &claims.to_string());
            let got = self.verifier.verify(&token, at(0)).err().map(|rejected| rejected.reason);
            assert_eq!(got.as_ref(), want, "{typ:?} {claims}");
        }
    }
}

fn missing(name: &'static str) -> RejectionReason {
    RejectionReason::MissingClaim(name)
}

fn bad(name: &'static str) -> RejectionReason {
    RejectionReason::BadClaim(name)
}

#[test]
fn times() {
    let case = VerifierFixture::new(settings());
    case.check(&claims(), at(1859), None);
    case.check(&claims(), at(1860), Some(&RejectionReason::Expired));
    case.check(&with("exp", json!(-5)), at(0), Some(&RejectionReason::Expired));
    case.check(&with("exp", json!(0)), at(0), Some(&RejectionReason::Expired));
    #[expect(clippy::cast_precision_loss, reason = "well below 2^52")]
    let fraction = START as f64 + 0.5;
    case.check(&with("exp", json!(fraction)), at(60), None);
    case.check(&with("exp", json!(fraction)), at(61), Some(&RejectionReason::Expired));
    case.check(&with("exp", Value::Null), at(0), Some(&missing("exp")));
    for value in [json!("1900000000"), json!(u64::MAX), json!(1e300), json!([1]), json!(true)] {
        case.check(&with("exp", value), at(0), Some(&bad("exp")));
    }
    for claim in ["nbf", "iat"] {
        case.check(&with(claim, json!(START + 60)), at(0), None);
        case.check(&with(claim, json!(START + 61)), at(0), Some(&RejectionReason::NotYet));
        case.check(&with(claim, json!(START + 61)), at(1), None);
        case.check(&with(claim, json!("now")), at(0), Some(&bad(claim)));
        case.check(&with(claim, Value::Null), at(0), None);
        case.check(&with(claim, json!(-1)), at(0), None);
    }
}

#[test]
fn audiences() {
    let case = VerifierFixture::new(settings());
    let slash = format!("{AUDIENCE}/");
    case.check(&with("aud", json!(slash)), at(0), None);
    case.check(&with("aud", json!(["https://a.example", AUDIENCE])), at(0), None);
    for other in [
        json!("https://docent.example.com"),
        json!("https://docent.example.com/mcp/evil"),
        json!("https://docent.example.com/MCP"),
        json!("https://docent.example.com/mcp//"),
        json!("https://docent.example.com.evil.net/mcp"),
        json!(""),
        json!([]),
        json!(["https://a.example"]),
    ] {
        case.check(&with("aud", other), at(0), Some(&RejectionReason::WrongAudience));
    }
    case.check(&with("aud", Value::Null), at(0), Some(&missing("aud")));
    for odd in [json!([AUDIENCE, 7]), json!({"a": AUDIENCE}), json!(true), json!([[AUDIENCE]])] {
        case.check(&with("aud", odd), at(0), Some(&bad("aud")));
    }
    let mut slashed = settings();
    slashed.audiences = vec![slash.clone()];
    VerifierFixture::new(slashed).check(&with("aud", json!(AUDIENCE)), at(0), None);
}

#[test]
fn names() {
    let case = VerifierFixture::new(settings());
    case.check(&with("sub", Value::Null), at(0), Some(&missing("sub")));
    for name in ["sub", "client_id"] {
        for value in [
            json!(""),
            json!(7),
            json!("a\nb"),
            json!("a\u{202e}b"),
            json!("a\u{200b}"),
            json!("x".repeat(256)),
        ] {
            case.check(&with(name, value), at(0), Some(&bad(name)));
        }
        case.check(&with(name, json!("Zoë|auth0/7")), at(0), None);
    }
    for (claim, want) in [("azp", Some("a")), ("cid", Some("a")), ("appid", Some("a")), ("x", None)]
    {
        let mut claims = with("client_id", Value::Null);
        claims[claim] = json!("a");
        let verified = case.verifier.verify(&case.signer.token(&claims), at(0)).unwrap();
        assert_eq!(verified.client_id.as_deref(), want, "{claim}");
    }
}

#[test]
fn other_kinds_of_token() {
    let case = VerifierFixture::new(settings());
    case.check_untyped(&claims(), None);
    case.check_untyped(&with("typ", json!("Bearer")), None);
    for (claim, value) in [
        ("at_hash", json!("x")),
        ("c_hash", json!("x")),
        ("s_hash", json!("x")),
        ("events", json!({})),
        ("typ", json!("ID")),
        ("typ", json!("Refresh")),
    ] {
        case.check_untyped(&with(claim, value), Some(&RejectionReason::WrongType));
    }
    case.check(&with("cnf", json!({"jkt": "x"})), at(0), Some(&RejectionReason::Bound));
    let mut strict = settings();
    strict.typed_only = true;
    let strict = VerifierFixture::new(strict);
    strict.check(&claims(), at(0), None);
    strict.check_untyped(&claims(), Some(&RejectionReason::WrongType));
}

#[test]
fn a_scope_that_the_map_does_not_name_opens_nothing() {
    let case = VerifierFixture::new(settings());
    let token = case.signer.token(&with("scope", json!("* code:* admin")));
    assert!(case.verifier.verify(&token, at(0)).unwrap().scopes.is_empty());
    assert_eq!(case.verifier.needed_for(NAME, "search", "docs"), ["mcp:read"]);
    assert!(case.verifier.needed_for("https://a.example", "search", "docs").is_empty());
    assert_eq!(case.verifier.scopes_supported(), ["mcp:read"]);
    let granted = ["admin", "mcp:read"].map(str::to_owned);
    let opened = |issuer| case.verifier.opened_by(issuer, &granted);
    assert_eq!(opened(NAME), Some(vec!["code:*".to_owned(), "docs:*".to_owned()]));
    assert_eq!(opened("https://a.example"), None);
}

#[test]
fn an_issuer_vouches_with_its_own_keys_alone() {
    let (ours, theirs) = (Signer::new("k", Algorithm::EdDsa), Signer::new("k", Algorithm::EdDsa));
    let published = PublishedDocuments::new(&[&ours]);
    let other = "https://id.example.net";
    let keys = "https://id.example.net/keys";
    published.put(keys, &json!({"keys": [theirs.jwk()]}), None);
    let mut second = IssuerSettings::new(other, vec![AUDIENCE.to_owned()]);
    second.jwks_uri = Some(keys.to_owned());
    let issuers = [settings(), second].map(|settings| TrustedIssuer::check(settings).unwrap());
    let verifier = TokenVerifier::new(issuers.to_vec(), Arc::clone(&published) as _).unwrap();
    assert!(verifier.warm(at(0)).is_empty());
    let from_other = with("iss", json!(other));
    assert_eq!(verifier.verify(&ours.token(&claims()), at(0)).unwrap().issuer, NAME);
    assert_eq!(verifier.verify(&theirs.token(&from_other), at(0)).unwrap().issuer, other);
    for forged in [theirs.token(&claims()), ours.token(&from_other)] {
        assert_eq!(
            verifier.verify(&forged, at(0)).unwrap_err().reason,
            RejectionReason::BadSignature
        );
    }
    let twice = [settings(), settings()].map(|settings| TrustedIssuer::check(settings).unwrap());
    assert!(TokenVerifier::new(twice.to_vec(), published).is_err());
}
