//! Authenticates a team's clients: access tokens of OAuth 2.1 issuers, and client certificates.
//!
//! Implements the resource server: it checks tokens and issues none. Must not know HTTP, tools or the configuration
//! file. Opens no connection: an issuer is read through the `DocumentFetcher` passed in.

mod algorithm;
mod certificate;
mod claims;
mod discovery;
mod fetch;
mod issuer;
mod json;
mod jws;
mod keyring;
mod keys;
mod rejected;
mod resource;
mod scope;
mod verifier;

pub use algorithm::Algorithm;
pub use certificate::{
    CertificateMatch, CertificateRule, CertificateRules, Fingerprint, fingerprint,
};
pub use claims::VerifiedToken;
pub use discovery::KeyDiscoveryError;
pub use fetch::{DocumentFetchError, DocumentFetcher, FetchedDocument};
pub use issuer::{IssuerSettingError, IssuerSettings, TrustedIssuer};
pub use keys::KeySetError;
pub use rejected::{RejectionReason, TokenRejection};
pub use resource::{metadata, metadata_url};
pub use scope::ScopeMap;
pub use verifier::TokenVerifier;

/// Maximum bytes of a token.
pub const MAX_TOKEN_BYTES: usize = 8 * 1024;
