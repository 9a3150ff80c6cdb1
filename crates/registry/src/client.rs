//! The supported clients: the structure and the syntax of their configuration files.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A client program with a list of MCP servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum McpClient {
    /// Claude Desktop.
    ClaudeDesktop,
    /// Claude Code.
    ClaudeCode,
    /// Visual Studio Code.
    VsCode,
    /// Cursor.
    Cursor,
    /// Windsurf.
    Windsurf,
    /// Zed.
    Zed,
    /// Codex.
    Codex,
    /// Gemini CLI.
    GeminiCli,
    /// Goose.
    Goose,
}

/// Syntax of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileSyntax {
    /// Standard JSON.
    Json,
    /// JSON with comments and trailing commas.
    JsonWithComments,
    Toml,
    Yaml,
}

/// Variable syntax in a client's strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VariableSyntax {
    /// No variables: the text is literal.
    Literal,
    /// `${VAR}` and `${VAR:-default}`.
    Braces,
    /// `${env:VAR}`.
    Prefixed,
    /// `$VAR` and `${VAR}`.
    Shell,
}

impl McpClient {
    /// All clients, in the order in which they are listed.
    pub const ALL: [Self; 9] = [
        Self::ClaudeDesktop,
        Self::ClaudeCode,
        Self::VsCode,
        Self::Cursor,
        Self::Windsurf,
        Self::Zed,
        Self::Codex,
        Self::GeminiCli,
        Self::Goose,
    ];

    /// Returns the id for the command line.
    pub const fn id(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "claude-desktop",
            Self::ClaudeCode => "claude-code",
            Self::VsCode => "vscode",
            Self::Cursor => "cursor",
            Self::Windsurf => "windsurf",
            Self::Zed => "zed",
            Self::Codex => "codex",
            Self::GeminiCli => "gemini",
            Self::Goose => "goose",
        }
    }

    /// Returns the name for people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "Claude Desktop",
            Self::ClaudeCode => "Claude Code",
            Self::VsCode => "VS Code",
            Self::Cursor => "Cursor",
            Self::Windsurf => "Windsurf",
            Self::Zed => "Zed",
            Self::Codex => "Codex",
            Self::GeminiCli => "Gemini CLI",
            Self::Goose => "Goose",
        }
    }

    /// Parses the name of a client: its id, or a common name.
    pub fn parse(name: &str) -> Option<Self> {
        let plain: String =
            name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
        Some(match plain.as_str() {
            "claudedesktop" => Self::ClaudeDesktop,
            "claudecode" | "claude" => Self::ClaudeCode,
            "vscode" | "code" | "visualstudiocode" => Self::VsCode,
            "cursor" => Self::Cursor,
            "windsurf" => Self::Windsurf,
            "zed" => Self::Zed,
            "codex" => Self::Codex,
            "gemini" | "geminicli" => Self::GeminiCli,
            "goose" => Self::Goose,
            _ => return None,
        })
    }

    /// Returns the key of its block of servers.
    pub(crate) const fn block(self) -> &'static str {
        match self {
            Self::ClaudeDesktop
            | Self::ClaudeCode
            | Self::Cursor
            | Self::Windsurf
            | Self::GeminiCli => "mcpServers",
            Self::VsCode => "servers",
            Self::Zed => "context_servers",
            Self::Codex => "mcp_servers",
            Self::Goose => "extensions",
        }
    }

    pub(crate) const fn syntax(self) -> FileSyntax {
        match self {
            Self::ClaudeDesktop | Self::ClaudeCode | Self::Windsurf => FileSyntax::Json,
            Self::VsCode | Self::Cursor | Self::Zed | Self::GeminiCli => {
                FileSyntax::JsonWithComments
            }
            Self::Codex => FileSyntax::Toml,
            Self::Goose => FileSyntax::Yaml,
        }
    }

    pub(crate) const fn variables(self) -> VariableSyntax {
        match self {
            Self::ClaudeDesktop | Self::Zed | Self::Codex | Self::Goose => VariableSyntax::Literal,
            Self::ClaudeCode => VariableSyntax::Braces,
            Self::VsCode | Self::Cursor | Self::Windsurf => VariableSyntax::Prefixed,
            Self::GeminiCli => VariableSyntax::Shell,
        }
    }
}

impl fmt::Display for McpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title())
    }
}
