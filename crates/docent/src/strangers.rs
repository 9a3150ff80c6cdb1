//! Authentication of callers without a configured key: token issuers and client certificates.

use crate::config::{Config, Oauth};
use anyhow::Context as _;
use docent_auth::{Certificates, Fetch, FetchError, Fetched, Issuer, Verifier, metadata};
use docent_net::{Client, HostRule, Limits, Policy, Url, Validators, parse_url};
use docent_server::Strangers;
use docent_transport::{
    http::OauthDoor,
    tls::{Tls, TlsFiles},
};
use std::{
    sync::Arc,
    thread,
    time::{Duration, SystemTime},
};

/// Builds the trusted issuers and certificate rules. Issuer keys that were fetched before stay valid.
pub(crate) fn of(config: &Config, last: &Strangers) -> anyhow::Result<Strangers> {
    let auth = &config.server.auth;
    let certificates = match auth.certificates.as_slice() {
        [] => None,
        rules => {
            let rules = Certificates::new(rules.to_vec()).context("server.auth.certificates")?;
            Some(Arc::new(rules))
        }
    };
    let oauth = config.server.oauth.as_ref();
    let mut tokens = oauth.map(|oauth| verifier(oauth, config)).transpose()?;
    if let Some((tokens, last)) = tokens.as_mut().zip(last.tokens.as_deref()) {
        tokens.go_on_from(last);
    }
    Ok(Strangers::new(tokens.map(Arc::new), certificates))
}

/// Fetches missing issuer keys in the background, before the first token arrives.
pub(crate) fn warm(strangers: &Strangers) {
    let Some(tokens) = strangers.tokens.clone() else { return };
    thread::spawn(move || {
        for (issuer, error) in tokens.warm(SystemTime::now()) {
            tracing::warn!(issuer, %error, "cannot fetch the keys of an issuer yet");
        }
    });
}

/// Returns the protected resource metadata for clients without a token.
pub(crate) fn door(
    config: &Config,
    strangers: &Strangers,
) -> anyhow::Result<Option<Arc<OauthDoor>>> {
    let Some((oauth, verifier)) = config.server.oauth.as_ref().zip(strangers.tokens.as_ref())
    else {
        return Ok(None);
    };
    let issuers: Vec<&str> = verifier.issuers().collect();
    let scopes = verifier.scopes_supported();
    let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
    let document = metadata(&oauth.resource, &issuers, &scopes, Some("docent"));
    let door = OauthDoor::new(&oauth.resource, &document).context("server.oauth.resource")?;
    Ok(Some(Arc::new(door)))
}

/// Loads the listener's certificate.
pub(crate) fn tls(config: &Config) -> anyhow::Result<Option<Arc<Tls>>> {
    let Some(tls) = &config.server.tls else { return Ok(None) };
    let loaded = Tls::load(TlsFiles {
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

fn verifier(oauth: &Oauth, config: &Config) -> anyhow::Result<Verifier> {
    let checked = oauth.issuers.iter().cloned().map(Issuer::check);
    let issuers = checked.collect::<Result<Vec<_>, _>>().context("server.oauth.issuers")?;
    let policy = network(oauth, config)?;
    let fetch = Guarded(Client::new(policy, Limits { body: 1 << 20, ..Limits::default() }));
    Verifier::new(issuers, Arc::new(fetch)).context("server.oauth.issuers")
}

/// Returns the network policy plus the issuers' hosts; other hosts that their metadata refers to must be in the policy.
fn network(oauth: &Oauth, config: &Config) -> anyhow::Result<Policy> {
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
struct Guarded(Client);

impl Fetch for Guarded {
    fn get(&self, url: &str) -> Result<Fetched, FetchError> {
        let url = parse_url(url).map_err(FetchError::new)?;
        let answer = self.0.get(&url, &Validators::default()).map_err(FetchError::new)?;
        if answer.status != 200 {
            return Err(FetchError::new(format!("{url} returned {}", answer.status)));
        }
        let max_age = answer.header("cache-control").and_then(max_age);
        Ok(Fetched { body: answer.body, max_age })
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
