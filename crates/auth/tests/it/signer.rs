//! Keys that sign, and the tokens that they make.

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use docent_auth::Algorithm;
use ring::{
    hmac,
    rand::SystemRandom,
    rsa::PublicKeyComponents,
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
        Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RSA_PSS_SHA256, RsaEncoding, RsaKeyPair,
    },
};
use serde_json::{Value, json};

const TEST_KEY: &str = include_str!("../keys/rsa-2048.test-key.pem");

/// The private half of a key.
pub(crate) enum Pair {
    Rsa(Box<RsaKeyPair>, &'static dyn RsaEncoding),
    Ec(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
}

/// A key with its name and algorithm.
pub(crate) struct Signer {
    pub(crate) kid: String,
    pub(crate) algorithm: Algorithm,
    pub(crate) pair: Pair,
}

pub(crate) fn b64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The bytes between the lines of a PEM file.
fn der(pem: &str) -> Vec<u8> {
    let body: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
    STANDARD.decode(body).unwrap()
}

fn ec(algorithm: &'static ring::signature::EcdsaSigningAlgorithm) -> Pair {
    let random = SystemRandom::new();
    let key = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
    Pair::Ec(EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random).unwrap())
}

fn rsa(encoding: &'static dyn RsaEncoding) -> Pair {
    Pair::Rsa(Box::new(RsaKeyPair::from_pkcs8(&der(TEST_KEY)).unwrap()), encoding)
}

impl Signer {
    /// A new key, but for RSA, which is slow to make: there it is always the test key.
    pub(crate) fn new(kid: &str, algorithm: Algorithm) -> Self {
        let pair = match algorithm {
            Algorithm::Rs256 => rsa(&RSA_PKCS1_SHA256),
            Algorithm::Ps256 => rsa(&RSA_PSS_SHA256),
            Algorithm::Es256 => ec(&ECDSA_P256_SHA256_FIXED_SIGNING),
            Algorithm::Es384 => ec(&ECDSA_P384_SHA384_FIXED_SIGNING),
            Algorithm::EdDsa => {
                let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
                Pair::Ed(Ed25519KeyPair::from_pkcs8(key.as_ref()).unwrap())
            }
        };
        Self { kid: kid.to_owned(), algorithm, pair }
    }

    /// The public half, as an issuer publishes it.
    pub(crate) fn jwk(&self) -> Value {
        let mut key = match &self.pair {
            Pair::Rsa(pair, _) => {
                let PublicKeyComponents::<Vec<u8>> { n, e } = pair.public().into();
                json!({"kty": "RSA", "n": b64(n), "e": b64(e)})
            }
            Pair::Ec(pair) => {
                let point = &pair.public_key().as_ref()[1..];
                let (x, y) = point.split_at(point.len() / 2);
                let crv = if x.len() == 32 { "P-256" } else { "P-384" };
                json!({"kty": "EC", "crv": crv, "x": b64(x), "y": b64(y)})
            }
            Pair::Ed(pair) => {
                json!({"kty": "OKP", "crv": "Ed25519", "x": b64(pair.public_key())})
            }
        };
        key["kid"] = json!(self.kid);
        key
    }

    /// The usual header.
    pub(crate) fn header(&self) -> Value {
        json!({"alg": self.algorithm.name(), "kid": self.kid, "typ": "at+jwt"})
    }

    /// A token with the usual header.
    pub(crate) fn token(&self, claims: &Value) -> String {
        self.sign(&self.header().to_string(), &claims.to_string())
    }

    /// A token of any two texts.
    pub(crate) fn sign(&self, header: &str, claims: &str) -> String {
        let signed = format!("{}.{}", b64(header), b64(claims));
        let signature = self.signature(signed.as_bytes());
        format!("{signed}.{}", b64(signature))
    }

    fn signature(&self, signed: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Rsa(pair, encoding) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(*encoding, &random, signed, &mut signature).unwrap();
                signature
            }
            Pair::Ec(pair) => pair.sign(&random, signed).unwrap().as_ref().to_vec(),
            Pair::Ed(pair) => pair.sign(signed).as_ref().to_vec(),
        }
    }
}

/// A token that is signed with a shared secret.
pub(crate) fn shared_secret_token(secret: &[u8], header: &str, claims: &str) -> String {
    let signed = format!("{}.{}", b64(header), b64(claims));
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), signed.as_bytes());
    format!("{signed}.{}", b64(tag))
}

/// The public half of the RSA test key in the forms that forgers use as a secret.
pub(crate) fn public_forms(signer: &Signer) -> Vec<Vec<u8>> {
    let Pair::Rsa(pair, _) = &signer.pair else { return Vec::new() };
    let PublicKeyComponents::<Vec<u8>> { n, .. } = pair.public().into();
    let pkcs1 = pair.public().as_ref().to_vec();
    let pem = format!(
        "-----BEGIN RSA PUBLIC KEY-----\n{}\n-----END RSA PUBLIC KEY-----\n",
        STANDARD.encode(&pkcs1)
    );
    let jwk = signer.jwk().to_string();
    vec![b64(&n).into_bytes(), n, pkcs1, pem.into_bytes(), jwk.into_bytes(), Vec::new()]
}
