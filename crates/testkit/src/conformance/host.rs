//! The fixture on docent's own server and transports.

use super::ConformanceFixture;
use docent_server::{
    AuditSink, ExternalAuth, McpServer, Screening, ServerLimits, ServerSetup, ServerSetupError,
    ToolPolicy,
};
use docent_transport::{
    http::{self, EnabledProtocols, HttpLimits, HttpServerSetup, ToolSummary},
    stdio::{self, Stdio},
};
use docent_wire::HandshakePolicy;
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
    Setup(#[from] ServerSetupError),
    /// The pipes or the listener failed.
    #[error("cannot serve the fixture")]
    Io(#[from] io::Error),
}

/// The fixture's server, without auth and without a rate limit.
pub fn server() -> Result<Arc<McpServer>, ServerSetupError> {
    server_with(ServerLimits {
        rate: None,
        tool_timeouts: BTreeMap::from([("slow_compute".to_owned(), LONG_CALL)]),
        ..ServerLimits::default()
    })
}

/// The fixture's server with the given limits.
pub fn server_with(limits: ServerLimits) -> Result<Arc<McpServer>, ServerSetupError> {
    McpServer::new(ServerSetup {
        name: NAME.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        title: Some("docent's conformance fixture".into()),
        instructions: Some(
            "The tools, resources and prompts that the conformance suite expects.".into(),
        ),
        providers: vec![Arc::new(ConformanceFixture::new())],
        keys: Vec::new(),
        external_auth: ExternalAuth::default(),
        auth_required: false,
        policy: ToolPolicy::default(),
        limits,
        audit: AuditSink::off(),
        screening: Screening::default(),
        list_page: 0,
        resource_page: 0,
        adopt_trace_parent: None,
    })
}

/// Serves every network transport on one listener until `closing` is cancelled.
pub async fn serve(listener: TcpListener, closing: CancellationToken) -> Result<(), HostError> {
    let server = server()?;
    let (made, measured) = (Arc::clone(&server), Arc::clone(&server));
    let web = HttpServerSetup {
        access: server,
        enabled: EnabledProtocols { http: true, sse: true, websocket: true },
        name: NAME.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        hosts: Vec::new(),
        origins: Vec::new(),
        handshake: HandshakePolicy::Required,
        message_bytes: ServerLimits::default().message_bytes,
        limits: HttpLimits::default(),
        stats: Arc::default(),
        tls: None,
        protected: Arc::default(),
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
        handshake: HandshakePolicy::Required,
        message_bytes: ServerLimits::default().message_bytes,
        closing,
    };
    Ok(stdio::serve(server.session(), setup).await?)
}

fn shown() -> Vec<ToolSummary> {
    let fixture = ConformanceFixture::new();
    let tools = docent_tool::ToolProvider::tools(&fixture);
    tools
        .iter()
        .map(|tool| tool.info())
        .map(|info| ToolSummary { name: info.name, about: info.description })
        .collect()
}
