//! Parses a signed token in compact form (RFC 7515). Nothing here is trusted: the signature is not checked.

use crate::{MAX_TOKEN_BYTES, algorithm::Algorithm, json, rejected::RejectionReason};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Map, Value};

/// A token's parts. The algorithm is known to be asymmetric, and the type to be that of an access token.
#[derive(Debug)]
pub(crate) struct UnverifiedToken<'a> {
    pub(crate) algorithm: Algorithm,
    pub(crate) key_id: Option<String>,
    /// Whether `typ` is `at+jwt`.
    pub(crate) declared: bool,
    pub(crate) claims: Map<String, Value>,
    /// The bytes covered by the signature.
    pub(crate) signed: &'a [u8],
    pub(crate) signature: Vec<u8>,
}

/// Parses a token. `jku`, `x5u`, `jwk` and `x5c` are not read: a token does not choose the key it is checked with.
pub(crate) fn parse(token: &str) -> Result<UnverifiedToken<'_>, RejectionReason> {
    if token.len() > MAX_TOKEN_BYTES {
        return Err(RejectionReason::TooLong);
    }
    let parts: Vec<&str> = token.splitn(6, '.').collect();
    let (header, payload, signature) = match parts[..] {
        [header, payload, signature] => (header, payload, signature),
        [_, _, _, _, _] => return Err(RejectionReason::Encrypted),
        _ => return Err(RejectionReason::Malformed("expected three dot-separated parts")),
    };
    let fields = json::object(&decode(header)?).ok_or(RejectionReason::Malformed(
        "its header is not a JSON object, or has a duplicate key",
    ))?;
    let (algorithm, declared) = read_header(&fields)?;
    let key_id = match fields.get("kid") {
        None => None,
        Some(Value::String(id)) => Some(id.clone()),
        Some(_) => return Err(RejectionReason::Malformed("its kid is not a string")),
    };
    let claims = json::object(&decode(payload)?).ok_or(RejectionReason::Malformed(
        "its claims are not a JSON object, or have a duplicate key",
    ))?;
    let covered = header.len() + 1 + payload.len();
    let signed = token.as_bytes().get(..covered).unwrap_or_default();
    let signature = decode(signature)?;
    Ok(UnverifiedToken { algorithm, key_id, declared, claims, signed, signature })
}

/// Decodes strictly: no padding, no spare bits, so that a token has one spelling.
fn decode(part: &str) -> Result<Vec<u8>, RejectionReason> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| RejectionReason::Malformed("a part is not base64url"))
}

fn read_header(fields: &Map<String, Value>) -> Result<(Algorithm, bool), RejectionReason> {
    if fields.contains_key("enc") {
        return Err(RejectionReason::Encrypted);
    }
    // No extension is supported, so a critical one is rejected (RFC 7515, section 4.1.11). `b64` changes what is
    // signed.
    if fields.contains_key("crit") || fields.contains_key("b64") {
        return Err(RejectionReason::Malformed("its header requires an unsupported extension"));
    }
    if fields.get("cty").is_some_and(|cty| cty.as_str().is_none_or(names_a_token)) {
        return Err(RejectionReason::Malformed("it contains another token"));
    }
    let algorithm = fields.get("alg").and_then(Value::as_str).and_then(Algorithm::parse);
    Ok((algorithm.ok_or(RejectionReason::BadAlgorithm)?, is_declared(fields.get("typ"))?))
}

/// Whether a content type names any kind of JWT or JWE.
fn names_a_token(cty: &str) -> bool {
    let kind = bare(cty);
    kind == "jwt" || kind == "jwe" || kind == "jose" || kind.ends_with("+jwt")
}

/// Whether a token declares itself an access token (RFC 9068, section 2.1), or an error if it declares something else.
fn is_declared(typ: Option<&Value>) -> Result<bool, RejectionReason> {
    let Some(typ) = typ else { return Ok(false) };
    match bare(typ.as_str().ok_or(RejectionReason::WrongType)?).as_str() {
        "at+jwt" => Ok(true),
        "jwt" => Ok(false),
        _ => Err(RejectionReason::WrongType),
    }
}

/// A media type in lower case, without the optional `application/` (RFC 7515, section 4.1.9).
fn bare(kind: &str) -> String {
    let kind = kind.to_ascii_lowercase();
    kind.strip_prefix("application/").map(str::to_owned).unwrap_or(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(header: &str, want: &Result<(Algorithm, bool), RejectionReason>) {
        let token = format!("{}.e30.AA", URL_SAFE_NO_PAD.encode(header));
        let got = parse(&token).map(|token| (token.algorithm, token.declared));
        assert_eq!(got, *want, "{header}");
    }

    const EXTENSION: RejectionReason =
        RejectionReason::Malformed("its header requires an unsupported extension");
    const NESTED: RejectionReason = RejectionReason::Malformed("it contains another token");

    #[test]
    fn headers() {
        check(r#"{"alg":"RS256"}"#, &Ok((Algorithm::Rs256, false)));
        check(r#"{"alg":"EdDSA","typ":"JWT"}"#, &Ok((Algorithm::EdDsa, false)));
        check(r#"{"alg":"ES256","typ":"at+jwt"}"#, &Ok((Algorithm::Es256, true)));
        check(r#"{"alg":"ES256","typ":"application/AT+JWT"}"#, &Ok((Algorithm::Es256, true)));
        check(r#"{"alg":"ES256","typ":"id+jwt"}"#, &Err(RejectionReason::WrongType));
        check(r#"{"alg":"ES256","typ":"dpop+jwt"}"#, &Err(RejectionReason::WrongType));
        check(r#"{"alg":"ES256","typ":"logout+jwt"}"#, &Err(RejectionReason::WrongType));
        check(r#"{"alg":"ES256","typ":""}"#, &Err(RejectionReason::WrongType));
        check(r#"{"alg":"ES256","typ":["at+jwt"]}"#, &Err(RejectionReason::WrongType));
        check(r#"{"alg":"none"}"#, &Err(RejectionReason::BadAlgorithm));
        check(r#"{"alg":"HS256"}"#, &Err(RejectionReason::BadAlgorithm));
        check(r#"{"alg":["RS256"]}"#, &Err(RejectionReason::BadAlgorithm));
        check("{}", &Err(RejectionReason::BadAlgorithm));
        check(r#"{"alg":"RS256","crit":["b64"],"b64":false}"#, &Err(EXTENSION));
        check(r#"{"alg":"RS256","crit":[]}"#, &Err(EXTENSION));
        check(r#"{"alg":"RS256","b64":false}"#, &Err(EXTENSION));
        check(r#"{"alg":"RS256","cty":"JWT"}"#, &Err(NESTED));
        check(r#"{"alg":"RS256","cty":"application/at+jwt"}"#, &Err(NESTED));
        check(r#"{"alg":"RS256","cty":7}"#, &Err(NESTED));
        check(r#"{"alg":"RS256","cty":"json"}"#, &Ok((Algorithm::Rs256, false)));
        check(r#"{"alg":"dir","enc":"A256GCM"}"#, &Err(RejectionReason::Encrypted));
        check(
            r#"{"alg":"RS256","kid":7}"#,
            &Err(RejectionReason::Malformed("its kid is not a string")),
        );
    }

    #[test]
    fn forms() {
        let parts = RejectionReason::Malformed("expected three dot-separated parts");
        let base64 = RejectionReason::Malformed("a part is not base64url");
        let good = URL_SAFE_NO_PAD.encode(r#"{"alg":"RS256"}"#);
        for (token, want) in [
            (String::new(), parts.clone()),
            ("a.b".to_owned(), parts.clone()),
            ("a.b.c.d".to_owned(), parts.clone()),
            ("a.b.c.d.e.f".to_owned(), parts),
            ("a.b.c.d.e".to_owned(), RejectionReason::Encrypted),
            ("\u{1f600}.e30.AA".to_owned(), base64.clone()),
            (format!("{good}.e30=.AA"), base64.clone()),
            // The last character has bits that belong to no byte.
            (format!("{good}.e30.AB"), base64.clone()),
            (format!("{good}.e30.A+"), base64.clone()),
            (format!("{good}.e30.AA\n"), base64),
            ("a".repeat(MAX_TOKEN_BYTES + 1), RejectionReason::TooLong),
        ] {
            assert_eq!(parse(&token).unwrap_err(), want, "{token}");
        }
        let token = format!("{good}.e30.AA");
        assert_eq!(parse(&token).unwrap().signed, format!("{good}.e30").as_bytes());
    }
}
