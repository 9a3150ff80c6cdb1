//! Authentication of callers without a configured key: token issuers and client certificates.

use crate::config::{Config, OauthConfig};
use anyhow::Context as _;
use docent_auth::{
    CertificateRules, DocumentFetchError, DocumentFetcher, FetchedDocument, TokenVerifier,
    TrustedIssuer, metadata,
};
use docent_net::{
    CacheValidators, FetchLimits, GuardedClient, HostRule, NetworkPolicy, Url, parse_url,
};
use docent_server::ExternalAuth;
use docent_transport::{
    http::ProtectedResource,
    tls::{TlsFiles, TlsSettings},
};
use std::{
    sync::Arc,
    thread,
    time::{Duration, SystemTime},
};

/// Builds the trusted issuers and certificate rules. Issuer keys that were fetched before stay valid.
pub(crate) fn external_auth(config: &Config, last: &ExternalAuth) -> anyhow::Result<ExternalAuth> {
    let auth = &config.server.auth;
    let certificates = match auth.certificates.as_slice() {
        [] => None,
        rules => {
            let rules =
                CertificateRules::new(rules.to_vec()).context("server.auth.certificates")?;
            Some(Arc::new(rules))
        }
    };
    let oauth = config.server.oauth.as_ref();
    let mut tokens = oauth.map(|oauth| verifier(oauth, config)).transpose()?;
    if let Some((tokens, last)) = tokens.as_mut().zip(last.tokens.as_deref()) {
        tokens.adopt_keys(last);
    }
    Ok(ExternalAuth::new(tokens.map(Arc::new), certificates))
}

/// Fetches missing issuer keys in the background, before the first token arrives.
pub(crate) fn prefetch_keys(auth: &ExternalAuth) {
    let Some(tokens) = auth.tokens.clone() else { return };
    thread::spawn(move || {
        for (issuer, error) in tokens.warm(SystemTime::now()) {
            tracing::warn!(issuer, %error, "cannot fetch the keys of an issuer yet");
        }
    });
}

/// Returns the protected resource metadata for clients without a token.
pub(crate) fn protected_resource(
    config: &Config,
    auth: &ExternalAuth,
) -> anyhow::Result<Option<Arc<ProtectedResource>>> {
    let Some((oauth, verifier)) = config.server.oauth.as_ref().zip(auth.tokens.as_ref()) else {
        return Ok(None);
    };
    let issuers: Vec<&str> = verifier.issuers().collect();
    let scopes = verifier.scopes_supported();
    let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
    let document = metadata(&oauth.resource, &issuers, &scopes, Some("docent"));
    let door =
        ProtectedResource::new(&oauth.resource, &document).context("server.oauth.resource")?;
    Ok(Some(Arc::new(door)))
}

/// Loads the listener's certificate.
pub(crate) fn tls(config: &Config) -> anyhow::Result<Option<Arc<TlsSettings>>> {
    let Some(tls) = &config.server.tls else { return Ok(None) };
    let loaded = TlsSettings::load(TlsFiles {
        chain: tls.certificate.clone(),
        key: tls.key.clone(),
        client_ca: tls.client_ca.clone(),
        client_required: tls.client_required,
    })?;
    for warning in loaded.warnings() {
        tracing::warn!("{warning}");
    }
    Ok(Some(Arc::new(loaded)))
}

fn verifier(oauth: &OauthConfig, config: &Config) -> anyhow::Result<TokenVerifier> {
    let checked = oauth.issuers.iter().cloned().map(TrustedIssuer::check);
    let issuers = checked.collect::<Result<Vec<_>, _>>().context("server.oauth.issuers")?;
    let policy = network(oauth, config)?;
    let fetch = PolicyCheckedClient(GuardedClient::new(
        policy,
        FetchLimits { body: 1 << 20, ..FetchLimits::default() },
    ));
    TokenVerifier::new(issuers, Arc::new(fetch)).context("server.oauth.issuers")
}

/// Returns the network policy plus the issuers' hosts; other hosts that their metadata refers to must be in the policy.
fn network(oauth: &OauthConfig, config: &Config) -> anyhow::Result<NetworkPolicy> {
    let mut policy = config.policy.network.clone();
    let named =
        oauth.issuers.iter().flat_map(|issuer| [Some(&issuer.issuer), issuer.jwks_uri.as_ref()]);
    for url in named.flatten().filter_map(|text| Url::parse(text).ok()) {
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
            continue;
        };
        policy.hosts.push(HostRule::parse(&format!("{host}:{port}"))?.with_private());
    }
    Ok(policy)
}

/// Fetches an issuer's documents under the network policy.
struct PolicyCheckedClient(GuardedClient);

impl DocumentFetcher for PolicyCheckedClient {
    fn get(&self, url: &str) -> Result<FetchedDocument, DocumentFetchError> {
        let url = parse_url(url).map_err(DocumentFetchError::new)?;
        let answer =
            self.0.get(&url, &CacheValidators::default()).map_err(DocumentFetchError::new)?;
        if answer.status != 200 {
            return Err(DocumentFetchError::new(format!("{url} returned {}", answer.status)));
        }
        let max_age = answer.header("cache-control").and_then(max_age);
        Ok(FetchedDocument { body: answer.body, max_age })
    }
}

/// Parses how long a response may be cached.
fn max_age(header: &str) -> Option<Duration> {
    let mut directives = header.split(',').map(str::trim);
    let seconds = directives.find_map(|one| one.strip_prefix("max-age="))?;
    seconds.trim_matches('"').parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_read() {
        for (header, want) in [
            ("public, max-age=300, must-revalidate", Some(300)),
            ("max-age=\"5\"", Some(5)),
            ("no-store", None),
            ("max-age=soon", None),
        ] {
            assert_eq!(max_age(header), want.map(Duration::from_secs), "{header}");
        }
    }
}
