//! Verifies tokens against the trusted issuers. `verify` uses cached keys; only `refresh_keys` and `warm` query an issuer.

use crate::{
    claims::{self, VerifiedToken},
    discovery::KeyDiscoveryError,
    fetch::DocumentFetcher,
    issuer::{IssuerSettingError, TrustedIssuer},
    jws::{self, UnverifiedToken},
    keyring::IssuerKeyCache,
    keys::{KeyLookup, KeySet},
    rejected::{RejectionReason, TokenRejection},
};
use std::{collections::HashSet, error::Error, fmt, sync::Arc, time::SystemTime};

/// The trusted issuers, and their keys.
pub struct TokenVerifier {
    trusted: Vec<IssuerWithKeys>,
    fetch: Arc<dyn DocumentFetcher>,
}

#[derive(Debug)]
struct IssuerWithKeys {
    issuer: TrustedIssuer,
    /// Shared with the previous verifier, through which a query may still be running.
    key_cache: Arc<IssuerKeyCache>,
}

impl TokenVerifier {
    /// Starts without keys: the first token, or `warm`, fetches them.
    pub fn new(
        issuers: Vec<TrustedIssuer>,
        fetch: Arc<dyn DocumentFetcher>,
    ) -> Result<Self, IssuerSettingError> {
        let mut names = HashSet::new();
        if let Some(twice) = issuers.iter().find(|issuer| !names.insert(issuer.name())) {
            let reason = format!("{:?} is configured twice; merge the two entries", twice.name());
            return Err(IssuerSettingError::new("issuer", reason));
        }
        let trusted = issuers
            .into_iter()
            .map(|issuer| IssuerWithKeys { issuer, key_cache: Arc::default() })
            .collect();
        Ok(Self { trusted, fetch })
    }

    /// Adopts the keys of issuers that another verifier trusts too and reads from the same URL. From now on they are
    /// fetched in this one's own way.
    pub fn adopt_keys(&mut self, last: &Self) {
        for IssuerWithKeys { issuer, key_cache } in &mut self.trusted {
            let known = last.find(issuer.name()).filter(|known| {
                // An issuer without keys was queried in vain, and would wait before the next query.
                known.issuer.settings.jwks_uri == issuer.settings.jwks_uri
                    && known.key_cache.holds_keys()
            });
            if let Some(known) = known {
                *key_cache = Arc::clone(&known.key_cache);
            }
        }
    }

    /// Verifies a token with the cached keys, without network access.
    pub fn verify(&self, token: &str, now: SystemTime) -> Result<VerifiedToken, TokenRejection> {
        let (token, trusted) = self.parse(token)?;
        let keys = trusted.key_cache.keys(now).ok_or(RejectionReason::NoKeys)?;
        let signed = match keys.find(token.key_id.as_deref(), token.algorithm) {
            KeyLookup::Keys(keys) => {
                keys.iter().any(|key| key.verify(token.signed, &token.signature))
            }
            KeyLookup::OtherAlgorithm => return Err(RejectionReason::BadAlgorithm.into()),
            KeyLookup::Nothing => return Err(RejectionReason::UnknownKey.into()),
        };
        if !signed {
            return Err(RejectionReason::BadSignature.into());
        }
        Ok(claims::check(&token, &trusted.issuer, now)?)
    }

    /// Fetches the keys of the token's issuer if that can help. Blocks. True means that a second `verify` has the key.
    ///
    /// An issuer gets one query at a time and at most one in 30 seconds, whatever the tokens say.
    pub fn refresh_keys(&self, token: &str, now: SystemTime) -> bool {
        let Ok((token, trusted)) = self.parse(token) else { return false };
        let has_it = |keys: &KeySet| {
            !matches!(keys.find(token.key_id.as_deref(), token.algorithm), KeyLookup::Nothing)
        };
        let IssuerWithKeys { issuer, key_cache: keyring } = trusted;
        let outcome = keyring.refresh(issuer, self.fetch.as_ref(), now, has_it);
        let held = keyring.keys(now);
        if let Some(Err(error)) = outcome {
            log_failure(issuer, &error, held.is_some());
        }
        held.is_some_and(|keys| has_it(&keys))
    }

    /// Fetches the keys of every issuer that has none cached. Blocks. Returns the issuers that failed, by name.
    pub fn warm(&self, now: SystemTime) -> Vec<(String, KeyDiscoveryError)> {
        let mut failed = Vec::new();
        for IssuerWithKeys { issuer, key_cache } in &self.trusted {
            let outcome = key_cache.refresh(issuer, self.fetch.as_ref(), now, |_| true);
            if let Some(Err(error)) = outcome {
                log_failure(issuer, &error, key_cache.keys(now).is_some());
                failed.push((issuer.name().to_owned(), error));
            }
        }
        failed
    }

    /// What an issuer's scopes grant now. `None` if the issuer is no longer trusted.
    pub fn opened_by(&self, issuer: &str, granted: &[String]) -> Option<Vec<String>> {
        let scopes = self.find(issuer)?.issuer.scopes();
        Some(scopes.apply(granted.iter().map(String::as_str)))
    }

    /// The scopes of an issuer that grant a tool, the narrowest first. Any one of them is enough.
    pub fn needed_for(&self, issuer: &str, tool: &str, suite: &str) -> Vec<String> {
        self.find(issuer)
            .map_or_else(Vec::new, |trusted| trusted.issuer.scopes().needed_for(tool, suite))
    }

    /// The names of the issuers, for `authorization_servers`.
    pub fn issuers(&self) -> impl Iterator<Item = &str> {
        self.trusted.iter().map(|trusted| trusted.issuer.name())
    }

    /// The scopes of all issuers that grant something, for `scopes_supported`. Sorted, without duplicates.
    pub fn scopes_supported(&self) -> Vec<String> {
        let all = self.trusted.iter().flat_map(|trusted| trusted.issuer.scopes().supported());
        let mut all: Vec<String> = all.map(str::to_owned).collect();
        all.sort();
        all.dedup();
        all
    }

    /// A token that an issuer could have made, as far as is known before its signature is checked.
    fn parse<'t>(
        &self,
        token: &'t str,
    ) -> Result<(UnverifiedToken<'t>, &IssuerWithKeys), RejectionReason> {
        let token = jws::parse(token)?;
        let issuer = token.claims.get("iss").ok_or(RejectionReason::MissingClaim("iss"))?;
        let trusted = issuer
            .as_str()
            .and_then(|name| self.find(name))
            .ok_or(RejectionReason::UnknownIssuer)?;
        if !trusted.issuer.settings.algorithms.contains(&token.algorithm) {
            return Err(RejectionReason::BadAlgorithm);
        }
        Ok((token, trusted))
    }

    /// An issuer's name is compared verbatim (RFC 8414, section 4).
    fn find(&self, name: &str) -> Option<&IssuerWithKeys> {
        self.trusted.iter().find(|trusted| trusted.issuer.name() == name)
    }
}

impl fmt::Debug for TokenVerifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.issuers()).finish()
    }
}

fn log_failure(issuer: &TrustedIssuer, error: &KeyDiscoveryError, old_keys_count: bool) {
    let cause = error.source().map(ToString::to_string).unwrap_or_default();
    tracing::warn!(
        issuer = issuer.name(),
        %error,
        cause,
        old_keys_count,
        "cannot read the issuer's keys; retrying in 30 s"
    );
}
