//! Forged tokens: each is rejected for its own reason, and none makes docent query anyone but the issuer.

use crate::{
    issuer::{NAME, PublishedDocuments, at, claims, holding, settings, verifier},
    signer::{Signer, b64, public_forms, shared_secret_token},
};
use docent_auth::{Algorithm, MAX_TOKEN_BYTES, RejectionReason};
use serde_json::json;

struct Forger {
    signer: Signer,
    verifier: docent_auth::TokenVerifier,
}

impl Forger {
    fn new(algorithm: Algorithm) -> Self {
        let signer = Signer::new("k", algorithm);
        let verifier = holding(&[&signer]);
        Self { signer, verifier }
    }

    #[track_caller]
    fn check(&self, token: &str, want: &RejectionReason) {
        let rejected = self.verifier.verify(token, at(0)).unwrap_err();
        assert_eq!(rejected.reason, *want, "{token}");
        let text = rejected.to_string();
        assert!(!text.contains("passwd") && !text.contains("evil"), "{text}");
        // The text is sent in a header, between quotation marks.
        let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\';
        assert!(text.bytes().all(is_plain), "{text}");
    }

    /// A header with the right key's name and this algorithm.
    fn header(algorithm: &str) -> String {
        json!({"alg": algorithm, "kid": "k", "typ": "at+jwt"}).to_string()
    }
}

#[test]
fn no_signature() {
    let forger = Forger::new(Algorithm::Rs256);
    for name in ["none", "None", "NONE", "nOnE", ""] {
        let unsigned = format!("{}.{}.", b64(Forger::header(name)), b64(claims().to_string()));
        forger.check(&unsigned, &RejectionReason::BadAlgorithm);
    }
    let stripped = format!("{}.{}.", b64(Forger::header("RS256")), b64(claims().to_string()));
    forger.check(&stripped, &RejectionReason::BadSignature);
}

#[test]
fn the_public_key_as_a_shared_secret() {
    let forger = Forger::new(Algorithm::Rs256);
    let secrets = public_forms(&forger.signer);
    assert_eq!(secrets.len(), 6);
    for secret in secrets {
        for (name, want) in [
            ("HS256", RejectionReason::BadAlgorithm),
            ("RS256", RejectionReason::BadSignature),
            ("EdDSA", RejectionReason::BadAlgorithm),
        ] {
            let header = Forger::header(name);
            let token = shared_secret_token(&secret, &header, &claims().to_string());
            forger.check(&token, &want);
        }
    }
}

#[test]
fn a_published_secret_checks_nothing() {
    let secret = b"0123456789abcdef0123456789abcdef";
    let published = PublishedDocuments::new(&[]);
    let set = json!({"keys": [{"kty": "oct", "kid": "k", "k": b64(secret), "alg": "HS256"}]});
    published.put(crate::issuer::KEYS, &set, None);
    let verifier = verifier(settings(), &published);
    assert!(verifier.warm(at(0)).is_empty());
    for (name, want) in
        [("HS256", RejectionReason::BadAlgorithm), ("RS256", RejectionReason::UnknownKey)]
    {
        let token = shared_secret_token(secret, &Forger::header(name), &claims().to_string());
        assert_eq!(verifier.verify(&token, at(0)).unwrap_err().reason, want);
    }
}

#[test]
fn algorithms_that_are_not_the_keys() {
    let forger = Forger::new(Algorithm::Es256);
    for name in ["RS256", "PS256", "ES384", "EdDSA"] {
        forger.check(
            &forger.signer.sign(&Forger::header(name), &claims().to_string()),
            &RejectionReason::BadAlgorithm,
        );
    }
    let rsa = Forger::new(Algorithm::Rs256);
    let swapped = rsa.signer.sign(&Forger::header("PS256"), &claims().to_string());
    rsa.check(&swapped, &RejectionReason::BadSignature);
    let mut narrow = settings();
    narrow.algorithms = vec![Algorithm::Es256];
    let verifier = verifier(narrow, &PublishedDocuments::new(&[&rsa.signer]));
    assert!(verifier.warm(at(0)).is_empty());
    let refused = verifier.verify(&rsa.signer.token(&claims()), at(0)).unwrap_err();
    assert_eq!(refused.reason, RejectionReason::BadAlgorithm);
}

#[test]
fn key_names_lead_nowhere() {
    let forger = Forger::new(Algorithm::EdDsa);
    for kid in [
        "../../etc/passwd",
        "/dev/null",
        "k' UNION SELECT 'evil' --",
        "k\0",
        "K",
        "",
        "https://evil.example/keys",
        "|| sleep 10",
        "\u{202e}k",
    ] {
        let header = json!({"alg": "EdDSA", "kid": kid}).to_string();
        forger.check(
            &forger.signer.sign(&header, &claims().to_string()),
            &RejectionReason::UnknownKey,
        );
    }
}

#[test]
fn a_token_does_not_bring_its_key() {
    let (real, forged) = (Signer::new("k", Algorithm::Es256), Signer::new("k", Algorithm::Es256));
    let published = PublishedDocuments::new(&[&real]);
    let verifier = verifier(settings(), &published);
    assert!(verifier.warm(at(0)).is_empty());
    published.asked();
    for (kid, want) in [("k", RejectionReason::BadSignature), ("new", RejectionReason::UnknownKey)]
    {
        for (name, value) in [
            ("jwk", forged.jwk()),
            ("jku", json!("https://evil.example/keys")),
            ("x5u", json!("https://evil.example/chain")),
            ("x5c", json!(["MIIB"])),
        ] {
            let mut header = forged.header();
            header[name] = value;
            header["kid"] = json!(kid);
            let token = forged.sign(&header.to_string(), &claims().to_string());
            assert_eq!(verifier.verify(&token, at(60)).unwrap_err().reason, want, "{name}");
            verifier.refresh_keys(&token, at(60));
            let asked = published.asked();
            assert!(
                asked.iter().all(|url| url.starts_with("https://login.example.com/")),
                "{asked:?}"
            );
        }
    }
}

#[test]
fn what_is_said_twice_or_asks_for_more() {
    let forger = Forger::new(Algorithm::EdDsa);
    let good = claims().to_string();
    let header = Forger::header("EdDSA");
    let twice =
        RejectionReason::Malformed("its claims are not a JSON object, or have a duplicate key");
    for extra in [r#""aud":"x","#, r#""sub":"evil","#, r#""a":{"b":1,"b":2},"#] {
        let text = good.replacen('{', &format!("{{{extra}"), 1);
        forger.check(&forger.signer.sign(&header, &text), &twice);
    }
    forger.check(&forger.signer.sign(&header, "[]"), &twice);
    forger.check(&forger.signer.sign(&header, &"[".repeat(4000)), &twice);
    let text = header.replacen('{', r#"{"alg":"none","#, 1);
    let want =
        RejectionReason::Malformed("its header is not a JSON object, or has a duplicate key");
    forger.check(&forger.signer.sign(&text, &good), &want);
    for extra in [r#""crit":["b64"],"b64":false,"#, r#""crit":["exp"],"exp":1,"#, r#""b64":false,"#]
    {
        let text = header.replacen('{', &format!("{{{extra}"), 1);
        let want = RejectionReason::Malformed("its header requires an unsupported extension");
        forger.check(&forger.signer.sign(&text, &good), &want);
    }
    let nested = forger.signer.sign(r#"{"alg":"EdDSA","kid":"k","cty":"JWT"}"#, &good);
    forger.check(&nested, &RejectionReason::Malformed("it contains another token"));
    forger.check("eyJ.a.b.c.d", &RejectionReason::Encrypted);
}

#[test]
fn other_issuers_and_other_kinds() {
    let forger = Forger::new(Algorithm::EdDsa);
    for issuer in [
        json!("https://evil.example"),
        json!(format!("{NAME}/")),
        json!(NAME.to_uppercase()),
        json!([NAME]),
        json!(null),
        json!("https://login.example.com"),
    ] {
        let mut claims = claims();
        claims["iss"] = issuer;
        forger.check(&forger.signer.token(&claims), &RejectionReason::UnknownIssuer);
    }
    let mut claims = claims();
    claims["nonce"] = json!("n");
    claims["at_hash"] = json!("x");
    for typ in ["id+jwt", "id_token", "refresh+jwt", "dpop+jwt", "secevent+jwt", "at+jwt "] {
        let header = json!({"alg": "EdDSA", "kid": "k", "typ": typ}).to_string();
        forger
            .check(&forger.signer.sign(&header, &claims.to_string()), &RejectionReason::WrongType);
    }
}

#[test]
fn a_payload_under_another_tokens_signature() {
    for algorithm in Algorithm::ALL {
        let forger = Forger::new(algorithm);
        let good = forger.signer.token(&claims());
        let mut parts: Vec<&str> = good.split('.').collect();
        let other = b64(claims().to_string().replace("ann", "eve"));
        parts[1] = &other;
        forger.check(&parts.join("."), &RejectionReason::BadSignature);
    }
}

#[test]
fn sizes() {
    let forger = Forger::new(Algorithm::EdDsa);
    let mut claims = claims();
    claims["fill"] = json!("x".repeat(MAX_TOKEN_BYTES));
    forger.check(&forger.signer.token(&claims), &RejectionReason::TooLong);
    forger.check(&"\u{1f600}".repeat(4000), &RejectionReason::TooLong);
    let most = (0..MAX_TOKEN_BYTES).rev().find(|size| {
        claims["fill"] = json!("x".repeat(*size));
        forger.signer.token(&claims).len() <= MAX_TOKEN_BYTES
    });
    claims["fill"] = json!("x".repeat(most.unwrap()));
    assert!(forger.verifier.verify(&forger.signer.token(&claims), at(0)).is_ok());
}

/// Changes every byte of a valid token, cuts it everywhere, and inserts a byte at every position.
#[test]
fn no_change_passes() {
    for algorithm in [Algorithm::EdDsa, Algorithm::Rs256] {
        let forger = Forger::new(algorithm);
        let good = forger.signer.token(&claims());
        assert!(forger.verifier.verify(&good, at(0)).is_ok());
        let refused = |text: &str| {
            let passed = text != good && forger.verifier.verify(text, at(0)).is_ok();
            assert!(!passed, "{text}");
            forger.verifier.refresh_keys(text, at(0));
        };
        for place in 0..good.len() {
            for byte in [b'A', b'B', b'-', b'.', b'=', b' ', 0, b'\n', good.as_bytes()[place] ^ 1] {
                let mut bytes = good.clone().into_bytes();
                bytes[place] = byte;
                refused(&String::from_utf8_lossy(&bytes));
                bytes = good.clone().into_bytes();
                bytes.insert(place, byte);
                refused(&String::from_utf8_lossy(&bytes));
            }
            refused(good.get(..place).unwrap());
            refused(good.get(place + 1..).unwrap());
            refused(&good.replacen('.', "..", place % 3));
            let mut wide = good.clone();
            wide.insert(place, '\u{e9}');
            refused(&wide);
        }
        refused(&format!("{good}="));
        refused(&format!("{good}A"));
        refused(&format!(" {good}"));
    }
}
