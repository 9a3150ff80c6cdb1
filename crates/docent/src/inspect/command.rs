//! `docent inspect`: serves the inspector on its own listener, for docent itself or for one other server.

use super::{LocalBackend, address, pages, token, traffic};
use crate::{
    config::{self, Config, ConfigInputs},
    logging, sandbox, serve,
    servers::{self, HubResources, ServerDialer},
    shell::{
        args::{ServerTarget, TargetFlags},
        spec,
    },
};
use anyhow::Context as _;
use clap::Args;
use docent_hub::ServerTransport;
use docent_inspector::InspectorToken;
use docent_server::{AuditSink, McpServer};
use docent_traffic::{Capture, Traffic};
use docent_transport::http::{self, HttpServerSetup};
use std::{
    io::{self, IsTerminal as _},
    net::{Ipv4Addr, TcpListener},
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};
use tokio_util::sync::CancellationToken;

/// The flags of `docent inspect`.
#[derive(Args, Default)]
pub(crate) struct InspectFlags {
    /// Configured server to inspect [default: docent itself]
    #[arg(value_name = "SERVER")]
    name: Option<String>,
    /// Port to listen on; 0 picks a free port
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Print the address without opening a browser
    #[arg(long)]
    no_open: bool,
    /// Capture full message payloads from the start
    #[arg(long)]
    payloads: bool,
    #[command(flatten)]
    target: TargetFlags,
}

/// The inspector's listener, opened before the sandbox is entered.
pub(crate) struct InspectorListener {
    pub(crate) listener: TcpListener,
    pub(crate) token: InspectorToken,
    pub(crate) traffic: Arc<Traffic>,
}

/// Serves the inspector until it is stopped.
pub(crate) fn run(flags: &InspectFlags) -> anyhow::Result<()> {
    let inputs = config::inputs(flags.target.flags())?;
    let mut config = Config::load(&inputs)?;
    // Serve only the inspector.
    config.server.transports.clear();
    config.server.host = Ipv4Addr::LOCALHOST.to_string();
    config.server.tls = None;
    config.server.inspector = true;
    let names: Vec<String> = config.servers.iter().map(|one| one.server.name.clone()).collect();
    let words: Vec<String> = flags.name.iter().cloned().collect();
    let (target, rest) = flags.target.resolve_one(&words, &names)?;
    if let Some(word) = rest.first() {
        return Err(crate::shell::args::unknown_server(word, &names).into());
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, flags.port)).with_context(|| {
        format!("cannot listen on port {}: choose another with --port, or 0 for any", flags.port)
    })?;
    let traffic = traffic();
    traffic.set(Capture { on: true, payloads: flags.payloads });
    let opened = InspectorListener { listener, token: token()?, traffic };
    // Start the browser now, because the sandbox prevents it later.
    show(&opened, flags.no_open)?;
    if target == ServerTarget::Docent {
        inspect_docent(&config, inputs, opened)
    } else {
        inspect_server(&target, &config, inputs, opened)
    }
}

/// Prints the address, and opens it if this is a terminal.
fn show(opened: &InspectorListener, no_open: bool) -> anyhow::Result<()> {
    let address = address(opened.listener.local_addr()?, false, &opened.token);
    crate::cli::print(&format!("{address}\n"))?;
    if !no_open && io::stdout().is_terminal() {
        open_browser(&address);
    }
    Ok(())
}

/// Opens an address in the system's browser, if there is one.
pub(crate) fn open_browser(address: &str) {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(opener);
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    drop(command.spawn());
}

fn inspect_docent(
    config: &Config,
    inputs: ConfigInputs,
    opened: InspectorListener,
) -> anyhow::Result<()> {
    let means = servers::serving_resources(config, inputs.environment.clone())?;
    let in_force = sandbox::enter(config)?;
    let guard = logging::init(config)?;
    sandbox::log_sandbox(&in_force);
    serve::run(config, inputs, serve::ServerStart { means, inspect: Some(opened) })?;
    drop(guard);
    Ok(())
}

fn inspect_server(
    target: &ServerTarget,
    config: &Config,
    inputs: ConfigInputs,
    opened: InspectorListener,
) -> anyhow::Result<()> {
    let given = spec(target, config)?;
    let starts = |way: &ServerTransport| matches!(way, ServerTransport::Program { .. });
    let wanted = starts(&given.transport)
        || servers::all_specs(config).iter().any(|one| starts(&one.transport));
    let keeper = if wanted { Some(servers::keeper(config, &inputs.environment)?) } else { None };
    let means = HubResources::new(config, keeper, inputs.environment);
    let _guard = logging::init(config)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let served = runtime.block_on(async {
        let audit = AuditSink::off();
        let server = McpServer::new(serve::setup(config, Vec::new(), audit))?;
        let dial = Arc::new(ServerDialer::new(config.clone(), means));
        let clerk = LocalBackend { inside: None, given: Some(given), dial };
        let closing = CancellationToken::new();
        tokio::spawn(serve::close_on_signal(closing.clone()));
        let InspectorListener { listener, token, traffic } = opened;
        let web = HttpServerSetup {
            pages: Some(pages(token, clerk, traffic)),
            stopped: closing.clone(),
            closing,
            ..serve::web(config, &server, Vec::new())
        };
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        http::serve(listener, Arc::new(move || server.session()), web).await?;
        Ok(())
    });
    runtime.shutdown_timeout(Duration::from_millis(100));
    served
}
