//! Encryption: rustls with ring, and the roots that are built in.

use rustls::{ClientConfig, RootCertStore, crypto::ring};
use std::sync::{Arc, OnceLock};

/// The settings of every encrypted connection. They are made once: the roots take room.
pub(crate) fn client() -> Result<Arc<ClientConfig>, String> {
    static MADE: OnceLock<Result<Arc<ClientConfig>, String>> = OnceLock::new();
    MADE.get_or_init(make).clone()
}

fn make() -> Result<Arc<ClientConfig>, String> {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS can't be set up: {error}"))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// What to do about a failed handshake, where its cause tells. What is no TLS at all is most often plain HTTP.
pub(crate) fn remedy(failure: &str) -> &'static str {
    if failure.contains("InvalidContentType") {
        "; nothing speaks TLS at that port: write http:// or ws:// if it is meant to be open"
    } else {
        ""
    }
}
