//! Encryption: rustls with ring, and the roots that are built in.

use rustls::{ClientConfig, InvalidMessage, RootCertStore, crypto::ring};
use std::{
    error::Error,
    io,
    sync::{Arc, OnceLock},
};

/// What is wrong where TLS is spoken to a server that has none.
pub(crate) const NO_TLS_HINT: &str = "it does not speak TLS on this port; write http:// in the place of https://, or ws:// in the place of wss://";

/// The settings of every encrypted connection. They are made once: the roots take room.
pub(crate) fn client() -> Result<Arc<ClientConfig>, String> {
    static CLIENT_CONFIG: OnceLock<Result<Arc<ClientConfig>, String>> = OnceLock::new();
    CLIENT_CONFIG.get_or_init(make).clone()
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

/// Whether the other side answered a handshake with something else.
pub(crate) fn is_missing(error: &(dyn Error + 'static)) -> bool {
    let what = error.downcast_ref::<rustls::Error>();
    if let Some(rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType)) = what {
        return true;
    }
    // What an I/O error wraps is not its source.
    let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    wrapped.is_some_and(|inner| is_missing(inner)) || error.source().is_some_and(is_missing)
}
