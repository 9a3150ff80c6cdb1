//! A realistic configuration of each client.

use docent_registry::Client;

pub(crate) const REGISTRY: &str = include_str!("fixtures/registry.json");

pub(crate) fn of(client: Client) -> &'static str {
    match client {
        Client::ClaudeDesktop => include_str!("fixtures/claude-desktop.json"),
        Client::ClaudeCode => include_str!("fixtures/claude-code.json"),
        Client::VsCode => include_str!("fixtures/vscode.json"),
        Client::Cursor => include_str!("fixtures/cursor.json"),
        Client::Windsurf => include_str!("fixtures/windsurf.json"),
        Client::Zed => include_str!("fixtures/zed.json"),
        Client::Codex => include_str!("fixtures/codex.toml"),
        Client::GeminiCli => include_str!("fixtures/gemini.json"),
        Client::Goose => include_str!("fixtures/goose.yaml"),
    }
}
