//! Certificates, tokens of teams, and the web, as typed.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Encryption of the network transports. Without a certificate there is none.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawTls {
    /// The certificate and those that vouch for it, as PEM.
    pub(super) certificate: Option<String>,
    /// Its private key, as PEM.
    pub(super) key: Option<String>,
    /// The authorities whose client certificates are accepted, as PEM.
    pub(super) client_ca: Option<String>,
    /// Whether a client without a certificate is turned away before it says a word.
    pub(super) client_required: bool,
}

/// Access tokens of OAuth issuers. Without an issuer there are none.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawOauth {
    /// The address by which clients know this server, such as `https://docent.example.com/mcp`; tokens must be made for it.
    pub(super) resource: Option<String>,
    /// Whom tokens are accepted from.
    pub(super) issuers: Vec<RawIssuer>,
}

/// Whom tokens are accepted from.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawIssuer {
    /// Its address, letter for letter as its tokens have it.
    #[schemars(extend("x-default" = "needed"))]
    pub(super) issuer: String,
    /// Other names of this server that its tokens may be made for.
    pub(super) audiences: Vec<String>,
    /// Where its keys are.
    #[schemars(extend("x-default" = "found by its metadata"))]
    pub(super) jwks_uri: Option<String>,
    /// How its tokens may be signed: `RS256`, `PS256`, `ES256`, `ES384` or `EdDSA`.
    #[schemars(extend("x-default" = "each of them"))]
    pub(super) algorithms: Vec<String>,
    /// Milliseconds by which its clock and this one may differ, five minutes at most.
    #[schemars(extend("x-default" = "60000"))]
    pub(super) leeway_ms: Option<u64>,
    /// What its scopes open, by scope: tool names, suites (`code:*`) or `*`.
    pub(super) scopes: IndexMap<String, Vec<String>>,
    /// Whether its scopes that are tool names, suites or `*` count as they are.
    pub(super) passthrough: bool,
    /// Whether only tokens count that call themselves access tokens (`at+jwt`).
    pub(super) typed_only: bool,
}

/// A client certificate. Exactly one of `fingerprint` and `subject` says which.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawCertificate {
    /// The name that audit lines carry.
    #[schemars(extend("x-default" = "needed"))]
    pub(super) name: String,
    /// The SHA-256 of the certificate, in hexadecimal.
    pub(super) fingerprint: Option<String>,
    /// A name that it has, such as `ci.example.com` or `*.example.com`.
    pub(super) subject: Option<String>,
    /// What it may use: a tool name, a suite (`code:*`) or `*`.
    #[schemars(extend("x-default" = "needed"))]
    pub(super) scopes: Vec<String>,
}

/// Search of the web. Its hosts must be named in `policy.network.hosts` as well.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawWeb {
    /// Who is asked, in this order, until one answers.
    pub(super) providers: Vec<WebProvider>,
    /// An instance of `SearXNG`.
    pub(super) searxng: RawProvider,
    /// Brave's search.
    pub(super) brave: RawProvider,
    /// Tavily's search.
    pub(super) tavily: RawProvider,
    /// `DuckDuckGo`'s pages.
    pub(super) duckduckgo: RawPages,
}

impl Default for RawWeb {
    fn default() -> Self {
        Self {
            providers: vec![WebProvider::DuckDuckGo],
            searxng: RawProvider::default(),
            brave: RawProvider::default(),
            tavily: RawProvider::default(),
            duckduckgo: RawPages::default(),
        }
    }
}

/// A provider of search results.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawProvider {
    /// Where it is.
    #[schemars(extend("x-default" = "its own address"))]
    pub(super) url: Option<String>,
    /// The environment variable that holds its key.
    pub(super) key_env: Option<String>,
    /// The file that holds its key.
    pub(super) key_file: Option<String>,
}

/// Two pages, of which the second is asked where the first is of no use.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawPages {
    /// The first.
    #[schemars(extend("x-default" = "its own address"))]
    pub(super) html_url: Option<String>,
    /// The second.
    #[schemars(extend("x-default" = "its own address"))]
    pub(super) lite_url: Option<String>,
}

/// Who can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum WebProvider {
    /// Needs no key.
    DuckDuckGo,
    /// Needs an address.
    SearXng,
    /// Needs a key.
    Brave,
    /// Needs a key.
    Tavily,
}
