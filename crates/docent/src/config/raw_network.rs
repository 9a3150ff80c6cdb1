//! The settings of TLS, OAuth and web search, as typed.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// TLS for the network transports. Off without a certificate.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawTls {
    /// The certificate chain, as PEM.
    pub(super) certificate: Option<String>,
    /// Its private key, as PEM.
    pub(super) key: Option<String>,
    /// The authorities whose client certificates are accepted, as PEM.
    pub(super) client_ca: Option<String>,
    /// Whether clients without a certificate are rejected in the TLS handshake.
    pub(super) client_required: bool,
}

/// OAuth access tokens. Off without an issuer.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawOauth {
    /// The public address of this server, such as `https://docent.example.com/mcp`; tokens must be issued for it.
    pub(super) resource: Option<String>,
    /// The issuers whose tokens are accepted.
    pub(super) issuers: Vec<RawIssuer>,
}

/// An issuer of tokens.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawIssuer {
    /// The issuer's address, exactly as in its tokens.
    #[schemars(extend("x-default" = "needed"))]
    pub(super) issuer: String,
    /// Further accepted audiences of its tokens.
    pub(super) audiences: Vec<String>,
    /// The address of its keys (JWKS).
    #[schemars(extend("x-default" = "from its metadata"))]
    pub(super) jwks_uri: Option<String>,
    /// Accepted signature algorithms: `RS256`, `PS256`, `ES256`, `ES384` or `EdDSA`.
    #[schemars(extend("x-default" = "each of them"))]
    pub(super) algorithms: Vec<String>,
    /// Allowed clock difference in milliseconds, five minutes at most.
    #[schemars(extend("x-default" = "60000"))]
    pub(super) leeway_ms: Option<u64>,
    /// Maps its scopes to tool names, suites (`code:*`) or `*`.
    pub(super) scopes: IndexMap<String, Vec<String>>,
    /// Whether its scopes that are tool names, suites or `*` apply as they are.
    pub(super) passthrough: bool,
    /// Whether to accept only tokens of type `at+jwt`.
    pub(super) typed_only: bool,
}

/// A client certificate. Set exactly one of `fingerprint` and `subject`.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawCertificate {
    /// The name in audit entries.
    #[schemars(extend("x-default" = "needed"))]
    pub(super) name: String,
    /// The SHA-256 of the certificate, in hexadecimal.
    pub(super) fingerprint: Option<String>,
    /// A name in the certificate, such as `ci.example.com` or `*.example.com`.
    pub(super) subject: Option<String>,
    /// The scopes: tool names, suites (`code:*`) or `*`.
    #[schemars(extend("x-default" = "needed"))]
    pub(super) scopes: Vec<String>,
}

/// Web search. The providers' hosts must also be in `policy.network.hosts`.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawWeb {
    /// The providers to try, in this order.
    pub(super) providers: Vec<WebProvider>,
    /// An instance of `SearXNG`.
    pub(super) searxng: RawProvider,
    /// Brave Search.
    pub(super) brave: RawProvider,
    /// Tavily.
    pub(super) tavily: RawProvider,
    /// `DuckDuckGo`.
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

/// A search provider.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawProvider {
    /// The address.
    #[schemars(extend("x-default" = "the provider's address"))]
    pub(super) url: Option<String>,
    /// The environment variable with the key.
    pub(super) key_env: Option<String>,
    /// The file with the key.
    pub(super) key_file: Option<String>,
}

/// The two pages of a provider without an API; the second is the fallback.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawPages {
    /// The address of the first page.
    #[schemars(extend("x-default" = "the provider's address"))]
    pub(super) html_url: Option<String>,
    /// The address of the fallback page.
    #[schemars(extend("x-default" = "the provider's address"))]
    pub(super) lite_url: Option<String>,
}

/// The search providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum WebProvider {
    /// Needs no key.
    DuckDuckGo,
    /// Requires an address.
    SearXng,
    /// Needs a key.
    Brave,
    /// Needs a key.
    Tavily,
}
