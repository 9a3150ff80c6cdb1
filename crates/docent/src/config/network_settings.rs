//! Resolves the settings of certificates, tokens, the audit log and web search.

use super::{
    ApiKey as ClientKey, AuditConfig, OauthConfig, TlsConfig, WebConfig,
    raw::RawAudit,
    raw_network::{
        RawCertificate, RawIssuer, RawOauth, RawPages, RawProvider, RawTls, RawWeb, WebProvider,
    },
    resolve::{Resolver, SecretText},
};
use docent_auth::{
    Algorithm, CertificateMatch, CertificateRule, IssuerSettings, ScopeMap, TrustedIssuer,
};
use docent_net::{Url, parse_url};
use docent_web::{ProviderKey, SearchProvider};
use std::{path::PathBuf, time::Duration};

impl Resolver<'_> {
    pub(super) fn tls(&mut self, raw: RawTls) -> Option<TlsConfig> {
        const CERTIFICATE: &str = "server.tls.certificate";
        let path =
            |of: &Self, key: &str, text: Option<String>| text.map(|text| of.path(key, &text));
        let certificate = path(self, CERTIFICATE, raw.certificate);
        let key = path(self, "server.tls.key", raw.key);
        let client_ca = path(self, "server.tls.client_ca", raw.client_ca);
        match (certificate, key) {
            (Some(certificate), Some(key)) => {
                if raw.client_required && client_ca.is_none() {
                    let what =
                        "needs `server.tls.client_ca`: the authorities whose clients are accepted";
                    self.problem("server.tls.client_required", what);
                }
                self.files.extend([certificate.clone(), key.clone()]);
                self.files.extend(client_ca.clone());
                Some(TlsConfig {
                    certificate,
                    key,
                    client_ca,
                    client_required: raw.client_required,
                })
            }
            (None, None) => {
                if client_ca.is_some() || raw.client_required {
                    let what = "needs `server.tls.certificate` and `server.tls.key`";
                    self.problem("server.tls.client_ca", what);
                }
                None
            }
            (Some(_), None) => {
                self.problem(CERTIFICATE, "needs `server.tls.key` beside it");
                None
            }
            (None, Some(_)) => {
                self.problem("server.tls.key", "needs `server.tls.certificate` beside it");
                None
            }
        }
    }

    pub(super) fn oauth(&mut self, raw: RawOauth) -> Option<OauthConfig> {
        const RESOURCE: &str = "server.oauth.resource";
        if raw.issuers.is_empty() {
            if raw.resource.is_some() {
                self.problem(
                    RESOURCE,
                    "needs `server.oauth.issuers`: the issuers whose tokens are accepted",
                );
            }
            return None;
        }
        let Some(resource) = raw.resource else {
            let what = "need `server.oauth.resource`: the public address of this server";
            self.problem("server.oauth.issuers", what);
            return None;
        };
        if docent_auth::metadata_url(&resource).is_none() {
            let what = format!("is {resource:?}; write https://host/path without a query");
            self.problem(RESOURCE, what);
        }
        let mut issuers = Vec::new();
        for (at, raw) in raw.issuers.into_iter().enumerate() {
            issuers.extend(self.issuer(at, raw, &resource));
        }
        Some(OauthConfig { resource, issuers })
    }

    fn issuer(&mut self, at: usize, raw: RawIssuer, resource: &str) -> Option<IssuerSettings> {
        const KEY: &str = "server.oauth.issuers";
        let mut audiences = vec![resource.to_owned()];
        audiences.extend(raw.audiences);
        let map = match ScopeMap::new(raw.scopes.into_iter().collect(), raw.passthrough) {
            Ok(map) => map,
            Err(error) => {
                self.problem(KEY, format!("[{at}]: {error}"));
                return None;
            }
        };
        let mut settings = IssuerSettings {
            jwks_uri: raw.jwks_uri,
            scopes: map,
            typed_only: raw.typed_only,
            ..IssuerSettings::new(raw.issuer, audiences)
        };
        if let Some(leeway) = raw.leeway_ms {
            settings.leeway = Duration::from_millis(leeway);
        }
        let named: Option<Vec<Algorithm>> =
            raw.algorithms.iter().map(|name| Algorithm::parse(name)).collect();
        match named {
            Some(named) if named.is_empty() => {}
            Some(named) => settings.algorithms = named,
            None => {
                let known = Algorithm::ALL.map(Algorithm::name).join(", ");
                self.problem(KEY, format!("[{at}]: `algorithms`: write some of {known}"));
                return None;
            }
        }
        if let Err(error) = TrustedIssuer::check(settings.clone()) {
            self.problem(KEY, format!("[{at}]: {error}"));
            return None;
        }
        Some(settings)
    }

    pub(super) fn certificates(
        &mut self,
        raw: Vec<RawCertificate>,
        keys: &[ClientKey],
        has_authority: bool,
    ) -> Vec<CertificateRule> {
        const KEY: &str = "server.auth.certificates";
        let mut rules = Vec::new();
        for (at, raw) in raw.into_iter().enumerate() {
            let matches = match (raw.fingerprint, raw.subject) {
                (Some(fingerprint), None) => CertificateMatch::Fingerprint(fingerprint),
                (None, Some(subject)) => CertificateMatch::Name(subject),
                _ => {
                    let what = format!("[{at}] needs exactly one of `fingerprint` and `subject`");
                    self.problem(KEY, what);
                    continue;
                }
            };
            rules.push(CertificateRule { name: raw.name, matches, scopes: raw.scopes });
        }
        let taken = |name: &str| name == "anonymous" || keys.iter().any(|key| key.name == name);
        if let Some(rule) = rules.iter().find(|rule| taken(&rule.name)) {
            let what = format!("has a rule named {:?}, as a key is; names must differ", rule.name);
            self.problem(KEY, what);
        }
        if !rules.is_empty() && !has_authority {
            let what =
                "need `server.tls.client_ca`: the authorities whose certificates are accepted";
            self.problem(KEY, what);
        }
        if let Err(error) = docent_auth::CertificateRules::new(rules.clone()) {
            self.problem(KEY, error.to_string());
        }
        rules
    }

    pub(super) fn audit(&mut self, raw: RawAudit) -> AuditConfig {
        let key = self.read_secret("audit", raw.key_env, raw.key_file);
        AuditConfig {
            enabled: raw.enabled,
            file: raw.file.map(|file| self.path("audit.file", &file)),
            settings: docent_audit::AuditLogSettings {
                max_bytes: raw.max_bytes,
                keep: usize::try_from(raw.keep).unwrap_or(usize::MAX),
                on_full: raw.on_full.into(),
                key: key.map(|key| key.expose().as_bytes().to_vec()),
                sync: raw.sync,
            },
        }
    }

    pub(super) fn web(&mut self, raw: RawWeb) -> WebConfig {
        let RawWeb { providers, searxng, brave, tavily, duckduckgo } = raw;
        let mut asked = Vec::new();
        for provider in providers {
            let found = match provider {
                WebProvider::DuckDuckGo => self.pages(&duckduckgo),
                WebProvider::SearXng => self.searxng(&searxng),
                WebProvider::Brave => {
                    let (base, key) = self.provider("web.brave", &brave);
                    let own = || SearchProvider::brave(key.clone()).ok();
                    base.map_or_else(own, |base| {
                        Some(SearchProvider::Brave { base, key: key.clone() })
                    })
                }
                WebProvider::Tavily => {
                    let (base, key) = self.provider("web.tavily", &tavily);
                    let own = || SearchProvider::tavily(key.clone()).ok();
                    base.map_or_else(own, |base| {
                        Some(SearchProvider::Tavily { base, key: key.clone() })
                    })
                }
            };
            asked.extend(found);
        }
        WebConfig { providers: asked }
    }

    fn searxng(&mut self, raw: &RawProvider) -> Option<SearchProvider> {
        if raw.url.is_none() {
            let what = "names searxng, which has no default address: set `web.searxng.url`";
            self.problem("web.providers", what);
        }
        let (base, key) = self.provider("web.searxng", raw);
        base.map(|base| SearchProvider::SearXng { base, key })
    }

    fn pages(&mut self, raw: &RawPages) -> Option<SearchProvider> {
        let html = self.url("web.duckduckgo.html_url", raw.html_url.as_deref());
        let lite = self.url("web.duckduckgo.lite_url", raw.lite_url.as_deref());
        let SearchProvider::DuckDuckGo { html: own_html, lite: own_lite } =
            SearchProvider::duckduckgo().ok()?
        else {
            return None;
        };
        Some(SearchProvider::DuckDuckGo {
            html: html.unwrap_or(own_html),
            lite: lite.unwrap_or(own_lite),
        })
    }

    fn provider(&mut self, table: &str, raw: &RawProvider) -> (Option<Url>, Option<ProviderKey>) {
        let base = self.url(&format!("{table}.url"), raw.url.as_deref());
        let key = self.read_secret(table, raw.key_env.clone(), raw.key_file.clone());
        (base, key.and_then(|key| ProviderKey::parse(key.expose())))
    }

    fn url(&mut self, key: &str, text: Option<&str>) -> Option<Url> {
        match parse_url(text?) {
            Ok(url) if url.password().is_some() || !url.username().is_empty() => {
                self.problem(
                    key,
                    "contains a user name or a password: use `key_env` or `key_file` instead",
                );
                None
            }
            Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Some(url),
            Ok(_) => {
                self.problem(key, "must be a URL that begins with http:// or https://");
                None
            }
            Err(error) => {
                self.problem(key, format!("is not a valid URL: {error}"));
                None
            }
        }
    }

    /// Reads a secret from a variable or a file. It is masked from then on.
    fn read_secret(
        &mut self,
        table: &str,
        env: Option<String>,
        file: Option<String>,
    ) -> Option<SecretText> {
        let text = match (env, file) {
            (None, None) => return None,
            (Some(variable), None) => {
                let held = self.inputs.environment.get(&variable).map(str::to_owned);
                if held.is_none() {
                    let what =
                        format!("names the environment variable {variable}, which is not set");
                    self.problem(&format!("{table}.key_env"), what);
                }
                held?
            }
            (None, Some(file)) => {
                let key = format!("{table}.key_file");
                let path: PathBuf = self.path(&key, &file);
                match self.secret_file(&path) {
                    Ok(text) => text,
                    Err(error) => {
                        self.problem(&key, format!("cannot read {}: {error}", path.display()));
                        return None;
                    }
                }
            }
            (Some(_), Some(_)) => {
                let what = "is set beside `key_file`: keep one of them";
                self.problem(&format!("{table}.key_env"), what);
                return None;
            }
        };
        let secret = self.secret(&format!("{table}.key_env"), text)?;
        self.secrets.push(secret.clone());
        Some(secret)
    }
}
