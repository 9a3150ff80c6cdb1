//! The conformance fixture: `conformance --port P` serves every network transport on one listener, `--stdio` serves
//! pipes. With port 0 the system chooses a port; the first line on stderr has the address.

use clap::Parser;
use docent_testkit::conformance::host::{self, HostError};
use std::{error::Error, io::Write, process::ExitCode};
use tokio::{net::TcpListener, signal};
use tokio_util::sync::CancellationToken;

/// The transport to serve.
#[derive(Debug, Parser)]
struct ConformanceArgs {
    /// Serve HTTP, SSE and WebSocket on this port of 127.0.0.1.
    #[arg(long, required_unless_present = "stdio", conflicts_with = "stdio")]
    port: Option<u16>,
    /// Serve stdin and stdout.
    #[arg(long)]
    stdio: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
        .with_writer(std::io::stderr)
        .init();
    let closing = CancellationToken::new();
    tokio::spawn(close_on_signal(closing.clone()));
    let ended = match ConformanceArgs::parse().port {
        Some(port) => serve(port, closing).await,
        None => host::serve_stdio(closing).await,
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
            say(&format!("error: {error}{cause}"));
            ExitCode::FAILURE
        }
    }
}

async fn serve(port: u16, closing: CancellationToken) -> Result<(), HostError> {
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    say(&format!("listening on http://{}", listener.local_addr()?));
    host::serve(listener, closing).await
}

async fn close_on_signal(closing: CancellationToken) {
    let Ok(mut terminated) = signal::unix::signal(signal::unix::SignalKind::terminate()) else {
        return;
    };
    tokio::select! {
        _ = terminated.recv() => {}
        _ = signal::ctrl_c() => {}
    }
    closing.cancel();
}

fn say(line: &str) {
    // If stderr is closed, continue anyway.
    writeln!(std::io::stderr(), "{line}").ok();
}
