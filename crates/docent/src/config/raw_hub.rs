//! How other MCP servers are shown, as typed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the servers under `mcp_servers` are shown.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawHub {
    /// What of their tools a list shows: `direct` everything, `discover` four tools that find and call the others,
    /// `auto` one or the other by how many tokens everything would take.
    pub(super) exposure: ToolExposure,
    /// The tokens of all definitions from which on `auto` lists four tools instead.
    pub(super) auto_tokens: u32,
    /// How long a list waits for servers that have never been seen.
    pub(super) patience_ms: u64,
    /// More files that name servers: `.mcp.json`, `mcp.registry.json`, or the configuration of another client.
    pub(super) registries: Vec<String>,
    /// Bounds of scripts.
    pub(super) code: RawCode,
}

impl Default for RawHub {
    fn default() -> Self {
        Self {
            exposure: ToolExposure::Auto,
            auto_tokens: 10_000,
            patience_ms: 10_000,
            registries: Vec::new(),
            code: RawCode::default(),
        }
    }
}

/// Bounds of scripts that `execute_mcp_code` runs.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawCode {
    /// How long one may run, calls included.
    pub(super) time_ms: u64,
    /// How much memory it may use.
    pub(super) memory_bytes: u64,
    /// How many calls it may make.
    pub(super) calls: u32,
    /// How many of them at once.
    pub(super) calls_at_once: u32,
    /// How much it may return and print.
    pub(super) output_bytes: u64,
}

impl Default for RawCode {
    fn default() -> Self {
        Self {
            time_ms: 30_000,
            memory_bytes: 64 << 20,
            calls: 100,
            calls_at_once: 16,
            output_bytes: 256 << 10,
        }
    }
}

/// What of the servers' tools a list shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum ToolExposure {
    /// Everything.
    Direct,
    /// Four tools that find and call the others.
    Discover,
    /// One or the other, by size.
    Auto,
}
