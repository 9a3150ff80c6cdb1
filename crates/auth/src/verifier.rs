//! Checks tokens against the issuers that are trusted. `verify` reads what is held; only `refresh_keys` and `warm` ask an issuer.

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

/// The issuers that are trusted, and their keys.
pub struct TokenVerifier {
    trusted: Vec<IssuerWithKeys>,
    fetch: Arc<dyn DocumentFetcher>,
}

#[derive(Debug)]
struct IssuerWithKeys {
    issuer: TrustedIssuer,
    /// Shared with the verifier that this one goes on from, where somebody may still be asking.
    key_cache: Arc<IssuerKeyCache>,
}

impl TokenVerifier {
    /// Holds no keys yet: the first token, or `warm`, makes it ask for them.
    pub fn new(issuers: Vec<TrustedIssuer>, fetch: Arc<dyn DocumentFetcher>) -> Result<Self, IssuerSettingError> {
        let mut names = HashSet::new();
        if let Some(twice) = issuers.iter().find(|issuer| !names.insert(issuer.name())) {
            let reason = format!("{:?} stands twice; put its settings together", twice.name());
            return Err(IssuerSettingError::new("issuer", reason));
        }
        let trusted =
            issuers.into_iter().map(|issuer| IssuerWithKeys { issuer, key_cache: Arc::default() }).collect();
        Ok(Self { trusted, fetch })
    }

    /// Takes over the keys of issuers that another verifier trusts too and reads at the same place. From now on they are
    /// asked for in this one's own way.
    pub fn adopt_keys(&mut self, last: &Self) {
        for IssuerWithKeys { issuer, keyring } in &mut self.trusted {
            let known = last.find(issuer.name()).filter(|known| {
                // One without keys has asked in vain, and would wait before it asks again.
                known.issuer.settings.jwks_uri == issuer.settings.jwks_uri
                    && known.keyring.holds_keys()
            });
            if let Some(known) = known {
                *keyring = Arc::clone(&known.keyring);
            }
        }
    }

    /// Checks a token with the keys that are held. Reads no network.
    pub fn verify(&self, token: &str, now: SystemTime) -> Result<VerifiedToken, TokenRejection> {
        let (token, trusted) = self.parse(token)?;
        let keys = trusted.keyring.keys(now).ok_or(RejectionReason::NoKeys)?;
        let signed = match keys.find(token.key_id.as_deref(), token.algorithm) {
            KeyLookup::Keys(keys) => keys.iter().any(|key| key.verify(token.signed, &token.signature)),
            KeyLookup::OtherAlgorithm => return Err(RejectionReason::BadAlgorithm.into()),
            KeyLookup::Nothing => return Err(RejectionReason::UnknownKey.into()),
        };
        if !signed {
            return Err(RejectionReason::BadSignature.into());
        }
        Ok(claims::check(&token, &trusted.issuer, now)?)
    }

    /// Asks the token's issuer for its keys if that can help. Blocks. True says that a second `verify` has the key.
    ///
    /// An issuer is asked once at a time and at most once in 30 seconds, whatever the tokens say.
    pub fn refresh_keys(&self, token: &str, now: SystemTime) -> bool {
        let Ok((token, trusted)) = self.parse(token) else { return false };
        let has_it = |keys: &KeySet| {
            !matches!(keys.find(token.key_id.as_deref(), token.algorithm), Found::Nothing)
        };
        let IssuerWithKeys { issuer, key_cache: keyring } = trusted;
        let outcome = keyring.refresh(issuer, self.fetch.as_ref(), now, has_it);
        let held = keyring.keys(now);
        if let Some(Err(error)) = outcome {
            log_failure(issuer, &error, held.is_some());
        }
        held.is_some_and(|keys| has_it(&keys))
    }

    /// Asks every issuer whose keys are not at hand. Blocks. Returns those that could not be learned from, by name.
    pub fn warm(&self, now: SystemTime) -> Vec<(String, KeyDiscoveryError)> {
        let mut failed = Vec::new();
        for IssuerWithKeys { issuer, keyring } in &self.trusted {
            let outcome = keyring.refresh(issuer, self.fetch.as_ref(), now, |_| true);
            if let Some(Err(error)) = outcome {
                log_failure(issuer, &error, keyring.keys(now).is_some());
                failed.push((issuer.name().to_owned(), error));
            }
        }
        failed
    }

    /// What an issuer's scopes open now. `None` where the issuer is not trusted any more.
    pub fn opened_by(&self, issuer: &str, granted: &[String]) -> Option<Vec<String>> {
        let scopes = self.find(issuer)?.issuer.scopes();
        Some(scopes.apply(granted.iter().map(String::as_str)))
    }

    /// The scopes of an issuer that would open a tool, the narrowest first. One of them is enough.
    pub fn needed_for(&self, issuer: &str, tool: &str, suite: &str) -> Vec<String> {
        self.find(issuer)
            .map_or_else(Vec::new, |trusted| trusted.issuer.scopes().needed_for(tool, suite))
    }

    /// The names of the issuers, for `authorization_servers`.
    pub fn issuers(&self) -> impl Iterator<Item = &str> {
        self.trusted.iter().map(|trusted| trusted.issuer.name())
    }

    /// The scopes that mean something to one issuer or another, for `scopes_supported`. Sorted, each once.
    pub fn scopes_supported(&self) -> Vec<String> {
        let all = self.trusted.iter().flat_map(|trusted| trusted.issuer.scopes().supported());
        let mut all: Vec<String> = all.map(str::to_owned).collect();
        all.sort();
        all.dedup();
        all
    }

    /// A token that an issuer could have made: all that can be said before its signature is checked.
    fn parse<'t>(&self, token: &'t str) -> Result<(UnverifiedToken<'t>, &IssuerWithKeys), RejectionReason> {
        let token = jws::parse(token)?;
        let issuer = token.claims.get("iss").ok_or(RejectionReason::MissingClaim("iss"))?;
        let trusted =
            issuer.as_str().and_then(|name| self.find(name)).ok_or(RejectionReason::UnknownIssuer)?;
        if !trusted.issuer.settings.algorithms.contains(&token.algorithm) {
            return Err(RejectionReason::BadAlgorithm);
        }
        Ok((token, trusted))
    }

    /// An issuer's name is compared as it stands (RFC 8414, section 4).
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
        "issuer's keys not read; docent tries again in 30 s"
    );
}
