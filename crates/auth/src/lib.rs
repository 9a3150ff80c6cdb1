//! Authenticates a team's clients: access tokens of OAuth 2.1 issuers, and client certificates.
//!
//! Implements the resource server: it checks tokens and issues none. Must not know HTTP, tools or the configuration
//! file. Opens no connection: an issuer is read through the `Fetch` passed in.

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
pub use certificate::{CertificateRule, Certificates, Fingerprint, Match, fingerprint};
pub use claims::Verified;
pub use discovery::LearnError;
pub use fetch::{Fetch, FetchError, Fetched};
pub use issuer::{BadSetting, Issuer, IssuerSettings};
pub use keys::BadKeySet;
pub use rejected::{Reason, Rejected};
pub use resource::{metadata, metadata_url};
pub use scope::ScopeMap;
pub use verifier::Verifier;

/// Maximum bytes of a token.
pub const MAX_TOKEN: usize = 8 * 1024;
