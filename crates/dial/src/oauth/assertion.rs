//! Signed client assertions (RFC 7523), for servers that accept keys in place of secrets.

use super::now;
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use ring::{
    rand::SystemRandom,
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
        RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RsaEncoding, RsaKeyPair,
    },
};
use rustls::pki_types::{PrivateKeyDer, pem::PemObject};
use serde_json::json;

/// Lifetime of an assertion in seconds.
const ASSERTION_LIFETIME_SECONDS: u64 = 300;

/// A signature algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SigningAlgorithm {
    /// RSA with SHA-256.
    Rs256,
    /// RSA with SHA-384.
    Rs384,
    /// RSA with SHA-512.
    Rs512,
    /// The curve P-256 with SHA-256.
    Es256,
    /// The curve P-384 with SHA-384.
    Es384,
}

impl SigningAlgorithm {
    /// Parses the name of an algorithm in JSON Web Tokens.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Rs256, Self::Rs384, Self::Rs512, Self::Es256, Self::Es384]
            .into_iter()
            .find(|algorithm| algorithm.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Rs384 => "RS384",
            Self::Rs512 => "RS512",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
        }
    }
}

/// Signs an assertion for `client_id` that is valid for `audience` only. Errors reveal nothing about the key.
pub(super) fn sign_assertion(
    client_id: &str,
    audience: &str,
    key_pem: &str,
    algorithm: SigningAlgorithm,
) -> Result<String, String> {
    let random = SystemRandom::new();
    let mut number = [0_u8; 16];
    ring::rand::SecureRandom::fill(&random, &mut number)
        .map_err(|_| "cannot generate random bytes".to_owned())?;
    let header = json!({"alg": algorithm.name(), "typ": "client-authentication+jwt"});
    let claims = json!({
        "iss": client_id,
        "sub": client_id,
        "aud": audience,
        "iat": now(),
        "exp": now().saturating_add(ASSERTION_LIFETIME_SECONDS),
        "jti": BASE64_URL_SAFE_NO_PAD.encode(number),
    });
    let encode = |value: &serde_json::Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let text = format!("{}.{}", encode(&header), encode(&claims));
    let signature = sign(text.as_bytes(), key_pem, algorithm, &random)?;
    Ok(format!("{text}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature)))
}

fn sign(
    text: &[u8],
    key_pem: &str,
    algorithm: SigningAlgorithm,
    random: &SystemRandom,
) -> Result<Vec<u8>, String> {
    let wrong = || {
        format!(
            "the key can't sign with {}; it must be the private key, PKCS #8 in PEM",
            algorithm.name()
        )
    };
    let key = PrivateKeyDer::from_pem_slice(key_pem.as_bytes()).map_err(|_| wrong())?;
    let rsa: &dyn RsaEncoding = match algorithm {
        SigningAlgorithm::Rs256 => &RSA_PKCS1_SHA256,
        SigningAlgorithm::Rs384 => &RSA_PKCS1_SHA384,
        SigningAlgorithm::Rs512 => &RSA_PKCS1_SHA512,
        SigningAlgorithm::Es256 | SigningAlgorithm::Es384 => {
            let curve = if algorithm == SigningAlgorithm::Es256 {
                &ECDSA_P256_SHA256_FIXED_SIGNING
            } else {
                &ECDSA_P384_SHA384_FIXED_SIGNING
            };
            let pair =
                EcdsaKeyPair::from_pkcs8(curve, key.secret_der(), random).map_err(|_| wrong())?;
            let signature = pair.sign(random, text).map_err(|_| wrong())?;
            return Ok(signature.as_ref().to_vec());
        }
    };
    let pair = match &key {
        PrivateKeyDer::Pkcs1(der) => RsaKeyPair::from_der(der.secret_pkcs1_der()),
        other => RsaKeyPair::from_pkcs8(other.secret_der()),
    };
    let pair = pair.map_err(|_| wrong())?;
    let mut signature = vec![0; pair.public().modulus_len()];
    pair.sign(rsa, random, text, &mut signature).map_err(|_| wrong())?;
    Ok(signature)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::prelude::BASE64_STANDARD;
    use ring::signature::{ECDSA_P256_SHA256_FIXED, KeyPair, UnparsedPublicKey};

    #[test]
    fn statements_are_signed() {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let pem = format!(
            "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
            BASE64_STANDARD.encode(key.as_ref())
        );
        let text = sign_assertion("me", "https://as.test", &pem, SigningAlgorithm::Es256).unwrap();
        let parts: Vec<_> = text.split('.').collect();
        let [header, claims, signature] = parts.as_slice() else { panic!("{text}") };
        let decode = |part: &str| BASE64_URL_SAFE_NO_PAD.decode(part).unwrap();
        let claims_value: serde_json::Value = serde_json::from_slice(&decode(claims)).unwrap();
        assert_eq!(claims_value["aud"], "https://as.test");
        assert_eq!((&claims_value["iss"], &claims_value["sub"]), (&json!("me"), &json!("me")));
        let pair =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, key.as_ref(), &random)
                .unwrap();
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, pair.public_key())
            .verify(format!("{header}.{claims}").as_bytes(), &decode(signature))
            .unwrap();

        for (pem, algorithm) in [
            ("", SigningAlgorithm::Es256),
            ("secret", SigningAlgorithm::Rs256),
            (&pem, SigningAlgorithm::Rs256),
            (&pem, SigningAlgorithm::Es384),
        ] {
            let error = sign_assertion("me", "as", pem, algorithm).unwrap_err();
            assert!(error.contains("PKCS #8") && !error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn algorithms_have_names() {
        assert_eq!(SigningAlgorithm::parse("ES384"), Some(SigningAlgorithm::Es384));
        assert_eq!(SigningAlgorithm::parse("none"), None);
    }
}
