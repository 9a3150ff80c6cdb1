//! The claims that a correctly signed token must have (RFC 7519, RFC 9068), and what is taken from them.

use crate::{
    issuer::{TrustedIssuer, plain},
    jws::UnverifiedToken,
    rejected::RejectionReason,
    scope,
};
use serde_json::{Map, Value};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Maximum bytes of a name taken from a token. It appears in logs and audit lines.
const MAX_NAME_BYTES: usize = 255;
/// Claims that name the client, those closest to RFC 9068 first.
const CLIENT_CLAIMS: [&str; 4] = ["client_id", "azp", "cid", "appid"];

/// The verified sender of a token, and what the token grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedToken {
    /// The issuer that vouches for the other fields.
    pub issuer: String,
    /// The subject. Two issuers may mean different people by the same subject.
    pub subject: String,
    /// The program that acts for the subject.
    pub client_id: Option<String>,
    /// The scopes as the issuer wrote them. What they grant may change during the token's lifetime.
    pub granted: Vec<String>,
    /// What they grant, in docent's own form.
    pub scopes: Vec<String>,
    /// When the token expires: its `exp` plus the leeway.
    pub expires: SystemTime,
}

/// Checks the claims of a token whose signature is valid.
pub(crate) fn check(
    token: &UnverifiedToken<'_>,
    issuer: &TrustedIssuer,
    now: SystemTime,
) -> Result<VerifiedToken, RejectionReason> {
    let claims = &token.claims;
    check_kind(token, issuer)?;
    let expires = check_times(claims, issuer.settings.leeway, now)?;
    if !is_for(claims, &issuer.settings.audiences)? {
        return Err(RejectionReason::WrongAudience);
    }
    let subject = name(claims, "sub")?.ok_or(RejectionReason::MissingClaim("sub"))?;
    let mut client_id = None;
    for claim in CLIENT_CLAIMS {
        if client_id.is_none() {
            client_id = name(claims, claim)?;
        }
    }
    let granted: Vec<String> = scope::granted(claims).into_iter().map(str::to_owned).collect();
    let scopes = issuer.scopes().apply(granted.iter().map(String::as_str));
    Ok(VerifiedToken {
        issuer: issuer.name().to_owned(),
        subject,
        client_id,
        granted,
        scopes,
        expires,
    })
}

/// Rejects tokens that are not bearer access tokens.
fn check_kind(token: &UnverifiedToken<'_>, issuer: &TrustedIssuer) -> Result<(), RejectionReason> {
    if token.claims.contains_key("cnf") {
        return Err(RejectionReason::Bound);
    }
    if token.declared {
        return Ok(());
    }
    // Claims that only an ID token or a logout token has; some issuers state the kind in a claim.
    let marked = ["at_hash", "c_hash", "s_hash", "events"]
        .iter()
        .any(|name| token.claims.contains_key(*name));
    let kind = token.claims.get("typ").and_then(Value::as_str);
    let other = kind.is_some_and(|kind| !kind.eq_ignore_ascii_case("Bearer"));
    if issuer.settings.typed_only || marked || other {
        return Err(RejectionReason::WrongType);
    }
    Ok(())
}

/// When the token expires, provided it is valid now.
fn check_times(
    claims: &Map<String, Value>,
    leeway: Duration,
    now: SystemTime,
) -> Result<SystemTime, RejectionReason> {
    let expires = time(claims, "exp")?.ok_or(RejectionReason::MissingClaim("exp"))?;
    let end = expires.checked_add(leeway).unwrap_or(expires);
    if end <= now {
        return Err(RejectionReason::Expired);
    }
    let latest = now.checked_add(leeway).unwrap_or(now);
    for claim in ["nbf", "iat"] {
        if time(claims, claim)?.is_some_and(|begins| begins > latest) {
            return Err(RejectionReason::NotYet);
        }
    }
    Ok(end)
}

/// Seconds since 1970, whole or fractional (RFC 7519, section 2). A time before 1970 counts as 1970.
fn time(
    claims: &Map<String, Value>,
    claim: &'static str,
) -> Result<Option<SystemTime>, RejectionReason> {
    let Some(value) = claims.get(claim) else { return Ok(None) };
    let since = match (value.as_u64(), value.as_f64()) {
        (Some(seconds), _) => Some(Duration::from_secs(seconds)),
        (None, Some(seconds)) => Duration::try_from_secs_f64(seconds.max(0.0)).ok(),
        (None, None) => None,
    };
    let time = since.and_then(|since| UNIX_EPOCH.checked_add(since));
    time.map(Some).ok_or(RejectionReason::BadClaim(claim))
}

/// Whether one of a token's audiences is a name of this resource.
fn is_for(claims: &Map<String, Value>, audiences: &[String]) -> Result<bool, RejectionReason> {
    let ours = |audience: &str| audiences.iter().any(|own| own == plain(audience));
    match claims.get("aud") {
        None => Err(RejectionReason::MissingClaim("aud")),
        Some(Value::String(audience)) => Ok(ours(audience)),
        Some(Value::Array(list)) if list.iter().all(Value::is_string) => {
            Ok(list.iter().filter_map(Value::as_str).any(ours))
        }
        Some(_) => Err(RejectionReason::BadClaim("aud")),
    }
}

/// A name that is safe in a log line.
fn name(
    claims: &Map<String, Value>,
    claim: &'static str,
) -> Result<Option<String>, RejectionReason> {
    let Some(value) = claims.get(claim) else { return Ok(None) };
    let fit = |text: &&str| {
        !text.is_empty() && text.len() <= MAX_NAME_BYTES && !text.chars().any(is_invisible)
    };
    let text = value.as_str().filter(fit).ok_or(RejectionReason::BadClaim(claim))?;
    Ok(Some(text.to_owned()))
}

/// Characters that end a line, or reorder or hide the text around them.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}
