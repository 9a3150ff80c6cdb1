//! A realistic configuration of each client.

use docent_registry::McpClient;

pub(crate) const REGISTRY: &str = include_str!("fixtures/registry.json");

pub(crate) fn of(client: McpClient) -> &'static str {
    match client {
        McpClient::ClaudeDesktop => include_str!("fixtures/claude-desktop.json"),
        McpClient::ClaudeCode => include_str!("fixtures/claude-code.json"),
        McpClient::VsCode => include_str!("fixtures/vscode.json"),
        McpClient::Cursor => include_str!("fixtures/cursor.json"),
        McpClient::Windsurf => include_str!("fixtures/windsurf.json"),
        McpClient::Zed => include_str!("fixtures/zed.json"),
        McpClient::Codex => include_str!("fixtures/codex.toml"),
        McpClient::GeminiCli => include_str!("fixtures/gemini.json"),
        McpClient::Goose => include_str!("fixtures/goose.yaml"),
    }
}
