//! The programs whose configuration is known: what their files are called inside and how they are written.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A program that keeps a list of MCP servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum McpClient {
    /// Claude's desktop program.
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

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileSyntax {
    /// As the standard has it.
    Json,
    /// With comments and trailing commas.
    JsonWithComments,
    Toml,
    Yaml,
}

/// What `${…}` means in a client's strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VariableSyntax {
    /// Nothing: the text is meant as it stands.
    Literal,
    /// `${VAR}` and `${VAR:-default}`.
    Braces,
    /// `${env:VAR}`.
    Prefixed,
    /// `$VAR` and `${VAR}`.
    Shell,
}

impl McpClient {
    /// All of them, in the order in which they are listed.
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

    /// As it is given on a command line.
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

    /// As people call it.
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

    /// The client of this name: its id, or what people also call it.
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

    /// The key under which its servers are.
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
            Self::VsCode | Self::Cursor | Self::Zed | Self::GeminiCli => FileSyntax::JsonWithComments,
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
