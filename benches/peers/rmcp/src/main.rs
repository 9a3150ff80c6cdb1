//! A bare echo server on the SDK, over pipes (`--stdio`) or Streamable HTTP (`--port P`).

use axum::serve::ListenerExt as _;
use rmcp::{
    ServerHandler, ServiceExt as _,
    handler::server::{router::tool::ToolRouter, wrapper::Parameters},
    schemars, tool, tool_handler, tool_router,
    transport::{
        stdio_pipes,
        streamable_http_server::{StreamableHttpService, session::local::LocalSessionManager},
    },
};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct EchoArgs {
    message: String,
}

/// Keeps its router, because building the schema for each call would cost more than the call.
#[derive(Clone)]
struct Echo {
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Echo {
    #[tool(description = "Answers with the message it was given")]
    async fn echo(&self, Parameters(EchoArgs { message }): Parameters<EchoArgs>) -> String {
        message
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Echo {}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let echo = Echo { tool_router: Echo::tool_router() };
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--stdio"] => {
            echo.serve(stdio_pipes()).await?.waiting().await?;
        }
        ["--port", port] => {
            let service: StreamableHttpService<Echo, LocalSessionManager> =
                StreamableHttpService::new(
                    move || Ok(echo.clone()),
                    Default::default(),
                    Default::default(),
                );
            let router = axum::Router::new().nest_service("/mcp", service);
            let address = format!("127.0.0.1:{port}");
            // Without TCP_NODELAY every answer waits for the client's delayed acknowledgement.
            let listener = tokio::net::TcpListener::bind(address).await?.tap_io(|stream| {
                if let Err(error) = stream.set_nodelay(true) {
                    eprintln!("cannot set TCP_NODELAY: {error}");
                }
            });
            axum::serve(listener, router).await?;
        }
        _ => return Err("usage: rmcp-peer --stdio | --port PORT".into()),
    }
    Ok(())
}
