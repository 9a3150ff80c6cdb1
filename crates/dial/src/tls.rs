//! TLS: rustls with ring and built-in root certificates.

use rustls::{ClientConfig, InvalidMessage, RootCertStore, crypto::ring};
use std::{
    error::Error,
    io,
    sync::{Arc, OnceLock},
};

/// The error for a TLS connection to a server without TLS.
pub(crate) const NO_TLS_HINT: &str = "it does not use TLS on this port; write http:// instead of https://, or ws:// instead of wss://";

/// Returns the shared TLS configuration. It is created once, because the root certificates take memory.
pub(crate) fn client() -> Result<Arc<ClientConfig>, String> {
    static CLIENT_CONFIG: OnceLock<Result<Arc<ClientConfig>, String>> = OnceLock::new();
    CLIENT_CONFIG.get_or_init(make).clone()
}

fn make() -> Result<Arc<ClientConfig>, String> {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("cannot set up TLS: {error}"))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// Whether the server answered the handshake with something other than TLS.
pub(crate) fn is_missing(error: &(dyn Error + 'static)) -> bool {
    let what = error.downcast_ref::<rustls::Error>();
    if let Some(rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType)) = what {
        return true;
    }
    // The error that an I/O error wraps is not its source.
    let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    wrapped.is_some_and(|inner| is_missing(inner)) || error.source().is_some_and(is_missing)
}
