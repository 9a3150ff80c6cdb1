//! Health checks, the landing page, and metrics for Prometheus.

use super::{
    State,
    body::{close_connection, json},
    guard::is_upgrade,
    ws,
};
use crate::CallerContext;
use axum::{
    extract::{Extension, Request},
    http::{HeaderValue, StatusCode, header},
    response::{Html, IntoResponse, Response},
};
use docent_wire::Dialect;
use rmcp::ServerHandler;
use serde_json::json;
use uuid::Uuid;

/// Allows nothing but the page's own inline style and script.
fn content_policy(nonce: Uuid) -> String {
    format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-{nonce}'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'"
    )
}

/// `GET /`: a WebSocket, the landing page or the health document, depending on the request.
pub(super) async fn root<H: ServerHandler>(
    shared: State<H>,
    origin: Extension<CallerContext>,
    request: Request,
) -> Response {
    if shared.web.enabled.websocket && is_upgrade(request.headers()) {
        return ws::upgrade(shared, origin, request).await;
    }
    let header_text =
        |name| request.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    if header_text(header::ACCEPT).is_some_and(|accept| accept.contains("text/html")) {
        let host = header_text(header::HOST).unwrap_or("127.0.0.1");
        return page(&shared, host);
    }
    json(&json!({
        "status": "healthy",
        "service": shared.web.name,
        "version": shared.web.version,
        "protocol": format!("MCP {}", Dialect::V2026_07_28.version()),
    }))
}

/// Liveness: the process is running.
pub(super) async fn healthz() -> &'static str {
    "ok\n"
}

/// Any other path. Its body was not read.
pub(super) async fn not_found() -> Response {
    let message = "not found: see GET /\n";
    close_connection((StatusCode::NOT_FOUND, message).into_response())
}

/// Readiness: the process accepts requests.
pub(super) async fn readyz<H: ServerHandler>(shared: State<H>) -> Response {
    if shared.web.closing.is_cancelled() {
        return (StatusCode::SERVICE_UNAVAILABLE, "closing\n").into_response();
    }
    "ready\n".into_response()
}

/// Prometheus text.
pub(super) async fn metrics<H: ServerHandler>(shared: State<H>) -> Response {
    let mime = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    let text = (shared.web.metrics)() + &shared.web.stats.text();
    ([(header::CONTENT_TYPE, mime)], text).into_response()
}

fn page<H: ServerHandler>(shared: &State<H>, host: &str) -> Response {
    let web = &shared.web;
    let tools = if web.access.needs_token() { Vec::new() } else { (web.tools)() };
    let row = |tool: &super::ToolSummary| {
        let (name, about) = (escape(&tool.name), escape(&tool.about));
        format!("<tr><td><code>{name}</code></td><td>{about}</td></tr>")
    };
    let rows = tools.iter().map(row).collect::<Vec<_>>().concat();
    let way = |(title, text): &(&str, String)| {
        let text = escape(text);
        format!(
            "<section><h3>{title}</h3><button type=\"button\">Copy</button><pre>{text}</pre></section>"
        )
    };
    let ways = snippets(web.enabled, web.access.needs_token(), host)
        .iter()
        .map(way)
        .collect::<Vec<_>>()
        .concat();
    let served = match (rows.is_empty(), web.access.needs_token()) {
        (_, true) => "<p>Listing tools requires a token.</p>".to_owned(),
        (true, false) => "<p>No tools are served.</p>".to_owned(),
        (false, false) => format!("<table>{rows}</table>"),
    };
    let nonce = Uuid::new_v4();
    let html = include_str!("page.html")
        .replace("{name}", &escape(&web.name))
        .replace("{version}", &escape(&web.version))
        .replace("{served}", &served)
        .replace("{snippets}", &ways)
        .replace("{nonce}", &nonce.to_string())
        .replace("{script}", include_str!("page.js"));
    let mut response = Html(html).into_response();
    if let Ok(csp) = HeaderValue::from_str(&content_policy(nonce)) {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, csp);
    }
    response
}

/// Connection snippets to copy.
fn snippets(
    spoken: super::EnabledProtocols,
    needs_token: bool,
    host: &str,
) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    let auth = if needs_token { " \\\n  -H 'Authorization: Bearer YOUR-TOKEN'" } else { "" };
    if spoken.http {
        let mut entry = json!({ "type": "http", "url": format!("http://{host}/mcp") });
        if needs_token {
            entry["headers"] = json!({ "Authorization": "Bearer YOUR-TOKEN" });
        }
        let config = serde_json::to_string_pretty(&json!({ "mcpServers": { "docent": entry } }))
            .unwrap_or_default();
        all.push(("Claude Code (.mcp.json), Cursor (.cursor/mcp.json)", config));
        let config = serde_json::to_string_pretty(&json!({ "servers": { "docent": entry } }))
            .unwrap_or_default();
        all.push(("VS Code (.vscode/mcp.json)", config));
        let message = r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}"#;
        all.push((
            "curl",
            format!("curl -s http://{host}/mcp \\\n  -H 'Content-Type: application/json'{auth} \\\n  -d '{message}'"),
        ));
    }
    if spoken.sse {
        all.push(("Server-sent events", format!("curl -N http://{host}/sse{auth}")));
    }
    if spoken.websocket {
        all.push(("WebSocket", format!("new WebSocket('ws://{host}/ws', 'mcp')")));
    }
    all
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
