//! Runs the inspector: `docent inspect`, and the page of a running `docent serve`.

mod backend;
mod command;

pub(crate) use backend::{LocalBackend, LocalServer};
pub(crate) use command::{InspectFlags, InspectorListener, open_browser, run};

use crate::{config::LogFormat, logging};
use anyhow::Context as _;
use docent_inspector::{InspectorToken, PATH};
use docent_traffic::Traffic;
use docent_transport::http::ExtraRoutes;
use serde_json::json;
use std::{
    io::{self, Write as _},
    net::SocketAddr,
    sync::Arc,
};

/// Creates the message recorder of the inspector. Secrets are masked before anything is stored.
pub(crate) fn traffic() -> Arc<Traffic> {
    Traffic::new(logging::mask_text)
}

/// Creates the token for this launch.
pub(crate) fn token() -> anyhow::Result<InspectorToken> {
    InspectorToken::new().context("no random numbers available for the inspector's token")
}

/// Returns the inspector's pages for a listener.
pub(crate) fn pages(
    token: InspectorToken,
    clerk: LocalBackend,
    traffic: Arc<Traffic>,
) -> ExtraRoutes {
    ExtraRoutes { below: PATH, routes: docent_inspector::router(token, Arc::new(clerk), traffic) }
}

/// Returns the address of the inspector.
fn address(listener: SocketAddr, tls: bool, token: &InspectorToken) -> String {
    let scheme = if tls { "https" } else { "http" };
    format!("{scheme}://{listener}{PATH}/{}/", token.expose())
}

/// Prints the address of a server's inspector. The log would mask the token, which the user needs.
pub(crate) fn print_address(
    listener: SocketAddr,
    tls: bool,
    token: &InspectorToken,
    format: LogFormat,
) {
    let address = address(listener, tls, token);
    let line = match format {
        LogFormat::Text => format!("inspector: {address}"),
        LogFormat::Json => json!({"inspector": address}).to_string(),
    };
    // If stderr is closed, the address is dropped.
    writeln!(io::stderr(), "{line}").unwrap_or_default();
}
