//! Untrusted tokens and key sets: none is accepted, and every error is one plain line.
#![no_main]

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use docent_auth::{
    DocumentFetchError, DocumentFetcher, FetchedDocument, IssuerSettings, TokenVerifier,
    TrustedIssuer,
};
use libfuzzer_sys::fuzz_target;
use std::{
    sync::{Arc, LazyLock},
    time::{Duration, SystemTime},
};

/// Returns the same document for every URL.
struct Says(Vec<u8>);

impl DocumentFetcher for Says {
    fn get(&self, _: &str) -> Result<FetchedDocument, DocumentFetchError> {
        Ok(FetchedDocument { body: self.0.clone(), max_age: None })
    }
}

/// The public key of RFC 8037, appendix A.2, under the name `k`.
const KEYS: &str = r#"{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;

static HOLDING: LazyLock<TokenVerifier> = LazyLock::new(|| verifier(KEYS.into(), true));

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

fn verifier(body: Vec<u8>, configured: bool) -> TokenVerifier {
    let mut settings = IssuerSettings::new("https://a.test", vec!["https://b.test".into()]);
    settings.jwks_uri = configured.then(|| "https://a.test/keys".into());
    let issuer = TrustedIssuer::check(settings).expect("settings");
    let verifier = TokenVerifier::new(vec![issuer], Arc::new(Says(body))).expect("one issuer");
    let failed = verifier.warm(now());
    assert!(failed.iter().all(|(_, error)| !error.to_string().is_empty()));
    verifier
}

fn refuse(token: &str) {
    let rejected = HOLDING.verify(token, now()).expect_err("no one signed this");
    let text = rejected.to_string();
    // The error is sent in a header, between quotation marks.
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\';
    assert!(text.bytes().all(is_plain), "{text}");
}

fuzz_target!(|bytes: &[u8]| {
    verifier(bytes.to_vec(), true);
    verifier(bytes.to_vec(), false);
    refuse(&String::from_utf8_lossy(bytes));
    // A header, claims and a signature, one per line, so that the fuzzer doesn't have to learn base64.
    let parts: Vec<String> =
        bytes.splitn(3, |byte| *byte == b'\n').map(|part| URL_SAFE_NO_PAD.encode(part)).collect();
    refuse(&parts.join("."));
});
