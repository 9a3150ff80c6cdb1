//! An issuer's published keys (RFC 7517): selecting those that can check a signature, and checking it.

use crate::{algorithm::Algorithm, json};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde_json::{Map, Value};

/// Maximum keys in a set; more than any issuer uses.
pub(crate) const MAX_KEYS: usize = 100;
/// A shorter modulus can be factored; a longer one makes a check too expensive.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2048..=8192;

/// Keys that can check signatures, in the order of the set.
#[derive(Debug, Default)]
pub(crate) struct KeySet(Vec<VerificationKey>);

/// Why a key set is unusable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeySetError {
    /// Not an object with a list of `keys`, or one with a duplicate key.
    #[error("not a JSON Web Key Set")]
    NotAKeySet,
    /// Too many keys.
    #[error("it has more than {MAX_KEYS} keys")]
    TooManyKeys,
}

#[derive(Debug)]
struct VerificationKey {
    id: Option<String>,
    /// The algorithm that the key itself names.
    algorithm: Option<Algorithm>,
    material: KeyMaterial,
}

#[derive(Debug)]
enum KeyMaterial {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// The result of looking up a key for a token.
#[derive(Debug)]
pub(crate) enum KeyLookup<'a> {
    /// Keys with the name; one of them must verify the signature.
    Keys(Vec<CandidateKey<'a>>),
    /// The named key is for another algorithm.
    OtherAlgorithm,
    Nothing,
}

/// A key, and the algorithm to use it with.
#[derive(Debug)]
pub(crate) struct CandidateKey<'a> {
    key: &'a VerificationKey,
    algorithm: Algorithm,
}

impl KeySet {
    /// Parses a set. Keys of an unknown kind, for another use or too weak are skipped; the second value counts them.
    pub(crate) fn parse(body: &[u8]) -> Result<(Self, usize), KeySetError> {
        let set = json::object(body).ok_or(KeySetError::NotAKeySet)?;
        let listed = set.get("keys").and_then(Value::as_array).ok_or(KeySetError::NotAKeySet)?;
        if listed.len() > MAX_KEYS {
            return Err(KeySetError::TooManyKeys);
        }
        let keys: Vec<VerificationKey> =
            listed.iter().filter_map(Value::as_object).filter_map(VerificationKey::parse).collect();
        let left_out = listed.len() - keys.len();
        Ok((Self(keys), left_out))
    }

    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    /// The keys selected by a token's header. Without a name, exactly one key must match the algorithm.
    pub(crate) fn find(&self, id: Option<&str>, algorithm: Algorithm) -> KeyLookup<'_> {
        let named: Vec<&VerificationKey> =
            self.0.iter().filter(|key| id.is_none() || key.id.as_deref() == id).collect();
        let suiting: Vec<CandidateKey<'_>> = named
            .iter()
            .filter(|key| key.can_use(algorithm))
            .map(|key| CandidateKey { key, algorithm })
            .collect();
        match (suiting.len(), id) {
            (0, Some(_)) if !named.is_empty() => KeyLookup::OtherAlgorithm,
            (0, _) => KeyLookup::Nothing,
            (1, None) | (_, Some(_)) => KeyLookup::Keys(suiting),
            (_, None) => KeyLookup::Nothing,
        }
    }
}

impl CandidateKey<'_> {
    /// Whether the signature of these bytes was made with the private half.
    pub(crate) fn verify(&self, signed: &[u8], signature: &[u8]) -> bool {
        let checked = match (&self.key.material, self.algorithm) {
            (KeyMaterial::Rsa { n, e }, Algorithm::Rs256) => RsaPublicKeyComponents { n, e }
                .verify(&RSA_PKCS1_2048_8192_SHA256, signed, signature),
            (KeyMaterial::Rsa { n, e }, Algorithm::Ps256) => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PSS_2048_8192_SHA256, signed, signature)
            }
            (KeyMaterial::P256(point), Algorithm::Es256) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(signed, signature)
            }
            (KeyMaterial::P384(point), Algorithm::Es384) => {
                UnparsedPublicKey::new(&ECDSA_P384_SHA384_FIXED, point).verify(signed, signature)
            }
            (KeyMaterial::Ed25519(key), Algorithm::EdDsa) => {
                UnparsedPublicKey::new(&ED25519, key).verify(signed, signature)
            }
            _ => return false,
        };
        checked.is_ok()
    }
}

impl VerificationKey {
    fn parse(fields: &Map<String, Value>) -> Option<Self> {
        // Anyone who reads the set could sign with a key whose private half it contains.
        if fields.contains_key("d") || fields.contains_key("k") {
            return None;
        }
        if fields.get("use").is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        if let Some(operations) = fields.get("key_ops") {
            let verifies = |list: &Vec<Value>| list.iter().any(|operation| operation == "verify");
            operations.as_array().filter(|list| verifies(list))?;
        }
        let id = match fields.get("kid") {
            None => None,
            Some(id) => Some(id.as_str()?.to_owned()),
        };
        let algorithm = match fields.get("alg") {
            None => None,
            Some(name) => Some(Algorithm::parse(name.as_str()?)?),
        };
        let key = Self { id, algorithm, material: KeyMaterial::parse(fields)? };
        // A key that names an algorithm for another kind of key is unusable.
        Algorithm::ALL.iter().any(|algorithm| key.can_use(*algorithm)).then_some(key)
    }

    fn can_use(&self, algorithm: Algorithm) -> bool {
        let of_its_kind = match self.material {
            KeyMaterial::Rsa { .. } => matches!(algorithm, Algorithm::Rs256 | Algorithm::Ps256),
            KeyMaterial::P256(_) => algorithm == Algorithm::Es256,
            KeyMaterial::P384(_) => algorithm == Algorithm::Es384,
            KeyMaterial::Ed25519(_) => algorithm == Algorithm::EdDsa,
        };
        of_its_kind && self.algorithm.is_none_or(|own| own == algorithm)
    }
}

impl KeyMaterial {
    /// Shared secrets (`oct`) are not supported: anyone who could check with one could sign with it.
    fn parse(fields: &Map<String, Value>) -> Option<Self> {
        match (text(fields, "kty")?, text(fields, "crv")) {
            ("RSA", _) => {
                let (n, e) = (number(fields, "n")?, number(fields, "e")?);
                let strong = RSA_BITS.contains(&bits(&n));
                // ring takes exponents up to 33 bits. An even exponent, or 1, cannot produce a signature.
                let sound =
                    (2..=33).contains(&bits(&e)) && e.last().is_some_and(|low| low % 2 == 1);
                (strong && sound).then_some(Self::Rsa { n, e })
            }
            ("EC", Some("P-256")) => point(fields, 32).map(Self::P256),
            ("EC", Some("P-384")) => point(fields, 48).map(Self::P384),
            ("OKP", Some("Ed25519")) => bytes(fields, "x", 32).map(Self::Ed25519),
            _ => None,
        }
    }
}

fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    fields.get(name)?.as_str()
}

/// A number without leading zeros.
fn number(fields: &Map<String, Value>, name: &str) -> Option<Vec<u8>> {
    let bytes = URL_SAFE_NO_PAD.decode(text(fields, name)?).ok()?;
    Some(bytes.into_iter().skip_while(|byte| *byte == 0).collect())
}

fn bits(number: &[u8]) -> usize {
    let spare = number.first().map_or(0, |first| first.leading_zeros() as usize);
    (number.len() * 8).saturating_sub(spare)
}

fn bytes(fields: &Map<String, Value>, name: &str, length: usize) -> Option<Vec<u8>> {
    let bytes = URL_SAFE_NO_PAD.decode(text(fields, name)?).ok()?;
    (bytes.len() == length).then_some(bytes)
}

/// A point in uncompressed form. Whether it lies on the curve is checked with each signature.
fn point(fields: &Map<String, Value>, length: usize) -> Option<Vec<u8>> {
    let (x, y) = (bytes(fields, "x", length)?, bytes(fields, "y", length)?);
    Some([&[4], x.as_slice(), y.as_slice()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn b64(bytes: &[u8]) -> String {
        URL_SAFE_NO_PAD.encode(bytes)
    }

    fn rsa(bits: usize) -> Value {
        let mut n = vec![0xff; bits / 8];
        if !bits.is_multiple_of(8) {
            n.insert(0, (1 << (bits % 8)) - 1);
        }
        json!({"kty": "RSA", "kid": "a", "n": b64(&n), "e": "AQAB"})
    }

    fn with(mut key: Value, name: &str, value: impl Into<Value>) -> Value {
        key[name] = value.into();
        key
    }

    #[track_caller]
    fn check(key: &Value, suits: &[Algorithm]) {
        let set = json!({"keys": [key]}).to_string();
        let (set, left_out) = KeySet::parse(set.as_bytes()).unwrap();
        assert_eq!(set.len() + left_out, 1);
        let found =
            |algorithm: &Algorithm| matches!(set.find(None, *algorithm), KeyLookup::Keys(_));
        let got: Vec<Algorithm> = Algorithm::ALL.into_iter().filter(found).collect();
        assert_eq!(got, suits, "{key}");
    }

    #[test]
    fn kinds_and_uses() {
        use Algorithm::{EdDsa, Es256, Es384, Ps256, Rs256};
        let (p256, p384) = (b64(&[1; 32]), b64(&[1; 48]));
        let ec = |crv: &str, part: &str| json!({"kty": "EC", "crv": crv, "x": part, "y": part});
        let ed = json!({"kty": "OKP", "crv": "Ed25519", "x": p256});
        check(&rsa(2048), &[Rs256, Ps256]);
        check(&rsa(8192), &[Rs256, Ps256]);
        check(&rsa(2047), &[]);
        check(&rsa(1024), &[]);
        check(&rsa(8200), &[]);
        let padded = b64(&[vec![0; 128], vec![0xff; 128]].concat());
        check(&with(rsa(2048), "n", padded), &[]);
        for weak in ["AQ", "Ag", "", "AQAA", "____________"] {
            check(&with(rsa(2048), "e", weak), &[]);
        }
        check(&with(rsa(2048), "alg", "PS256"), &[Ps256]);
        check(&with(rsa(2048), "alg", "ES256"), &[]);
        check(&with(rsa(2048), "alg", "HS256"), &[]);
        check(&with(rsa(2048), "alg", "RSA-OAEP"), &[]);
        check(&with(rsa(2048), "use", "sig"), &[Rs256, Ps256]);
        check(&with(rsa(2048), "use", "enc"), &[]);
        check(&with(rsa(2048), "key_ops", json!(["verify"])), &[Rs256, Ps256]);
        check(&with(rsa(2048), "key_ops", json!(["encrypt"])), &[]);
        check(&with(rsa(2048), "key_ops", "verify"), &[]);
        check(&with(rsa(2048), "d", "AQAB"), &[]);
        check(&with(rsa(2048), "kid", 7), &[]);
        check(&ec("P-256", &p256), &[Es256]);
        check(&ec("P-384", &p384), &[Es384]);
        check(&ec("P-256", &p384), &[]);
        check(&ec("P-521", &b64(&[1; 66])), &[]);
        check(&ec("secp256k1", &p256), &[]);
        check(&ed, &[EdDsa]);
        check(&with(ed.clone(), "crv", "X25519"), &[]);
        check(&with(ed.clone(), "x", p384), &[]);
        check(&with(ed, "alg", "Ed25519"), &[EdDsa]);
        check(&json!({"kty": "oct", "k": "c2VjcmV0"}), &[]);
        check(&json!({"kty": "oct", "k": "c2VjcmV0", "alg": "HS256"}), &[]);
        check(&json!({"kty": "new"}), &[]);
        check(&json!({}), &[]);
        check(&json!("key"), &[]);
    }

    #[test]
    fn choosing() {
        let set = json!({"keys": [rsa(2048), with(rsa(2048), "kid", "b")]}).to_string();
        let (set, _) = KeySet::parse(set.as_bytes()).unwrap();
        let find = |id, algorithm| match set.find(id, algorithm) {
            KeyLookup::Keys(keys) => keys.len().to_string(),
            KeyLookup::OtherAlgorithm => "other".to_owned(),
            KeyLookup::Nothing => "nothing".to_owned(),
        };
        assert_eq!(find(Some("a"), Algorithm::Rs256), "1");
        assert_eq!(find(Some("a"), Algorithm::EdDsa), "other");
        assert_eq!(find(Some("c"), Algorithm::Rs256), "nothing");
        assert_eq!(find(Some(""), Algorithm::Rs256), "nothing");
        assert_eq!(find(None, Algorithm::Rs256), "nothing", "two suit, and none is named");
    }

    #[test]
    fn sets() {
        let many = |count| json!({"keys": vec![rsa(2048); count]}).to_string();
        for (set, want) in [
            ("{\"keys\":[]}".to_owned(), Ok(0)),
            (many(MAX_KEYS), Ok(MAX_KEYS)),
            (many(MAX_KEYS + 1), Err(KeySetError::TooManyKeys)),
            ("{\"keys\":[],\"keys\":[]}".to_owned(), Err(KeySetError::NotAKeySet)),
            ("{\"keys\":{}}".to_owned(), Err(KeySetError::NotAKeySet)),
            ("{}".to_owned(), Err(KeySetError::NotAKeySet)),
            ("[]".to_owned(), Err(KeySetError::NotAKeySet)),
            ("<html>".to_owned(), Err(KeySetError::NotAKeySet)),
        ] {
            assert_eq!(KeySet::parse(set.as_bytes()).map(|(set, _)| set.len()), want);
        }
    }
}
