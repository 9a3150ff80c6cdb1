//! The fixture on docent's own server and transports.

use super::Fixture;
use docent_server::{Audit, Limits, Policy, Screening, Server, Setup, SetupError, Strangers};
use docent_transport::{
    http::{self, Bounds, Shown, Spoken, Web},
    stdio::{self, Stdio},
};
use docent_wire::Handshake;
use std::{collections::BTreeMap, io, sync::Arc, time::Duration};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

const NAME: &str = "docent-conformance";
/// The suite starts tasks to cancel them, so none may end by itself before.
const LONG_CALL: Duration = Duration::from_mins(10);

/// Why the fixture can't be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// The server can't be created.
    #[error("cannot create the fixture's server")]
    Setup(#[from] SetupError),
    /// The pipes or the listener failed.
    #[error("cannot serve the fixture")]
    Io(#[from] io::Error),
}

/// The fixture's server, without auth and without a rate limit.
pub fn server() -> Result<Arc<Server>, SetupError> {
    server_with(Limits {
        rate: None,
        tool_timeouts: BTreeMap::from([("slow_compute".to_owned(), LONG_CALL)]),
        ..Limits::default()
    })
}

/// The fixture's server with the given limits.
pub fn server_with(limits: Limits) -> Result<Arc<Server>, SetupError> {
    Server::new(Setup {
        name: NAME.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        title: Some("docent's conformance fixture".into()),
        instructions: Some(
            "The tools, resources and prompts that the conformance suite expects.".into(),
        ),
        providers: vec![Arc::new(Fixture::new())],
        keys: Vec::new(),
        strangers: Strangers::default(),
        auth_required: false,
        policy: Policy::default(),
        limits,
        audit: Audit::off(),
        screening: Screening::default(),
        list_page: 0,
        resource_page: 0,
        adopt_trace: None,
    })
}

/// Serves every network transport on one listener until `closing` is cancelled.
pub async fn serve(listener: TcpListener, closing: CancellationToken) -> Result<(), HostError> {
    let server = server()?;
    let (made, measured) = (Arc::clone(&server), Arc::clone(&server));
    let web = Web {
        door: server,
        spoken: Spoken { http: true, sse: true, websocket: true },
        name: NAME.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        hosts: Vec::new(),
        origins: Vec::new(),
        handshake: Handshake::Required,
        message_bytes: Limits::default().message_bytes,
        bounds: Bounds::default(),
        tally: Arc::default(),
        tls: None,
        oauth: Arc::default(),
        pages: None,
        traffic: None,
        metrics: Arc::new(move || measured.metrics()),
        tools: Arc::new(shown),
        stopped: closing.clone(),
        closing,
    };
    Ok(http::serve(listener, Arc::new(move || made.session()), web).await?)
}

/// Serves the process's own pipes until stdin ends.
pub async fn serve_stdio(closing: CancellationToken) -> Result<(), HostError> {
    let server = server()?;
    let setup = Stdio {
        door: Arc::clone(&server) as _,
        principal: None,
        traffic: None,
        handshake: Handshake::Required,
        message_bytes: Limits::default().message_bytes,
        closing,
    };
    Ok(stdio::serve(server.session(), setup).await?)
}

fn shown() -> Vec<Shown> {
    let fixture = Fixture::new();
    let tools = docent_tool::Provider::tools(&fixture);
    tools
        .iter()
        .map(|tool| tool.info())
        .map(|info| Shown { name: info.name, about: info.about })
        .collect()
}
