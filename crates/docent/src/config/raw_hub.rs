//! The settings of the hub, as typed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the servers under `mcp_servers` are exposed.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawHub {
    /// How their tools are listed: `direct` lists all, `discover` lists four tools that find and call the others,
    /// `auto` picks one of the two by the token count of all definitions.
    pub(super) exposure: ToolExposure,
    /// The token count of all definitions above which `auto` picks `discover`.
    pub(super) auto_tokens: u32,
    /// Milliseconds that a list waits for servers that have never connected.
    pub(super) patience_ms: u64,
    /// Further files with servers: `.mcp.json`, `mcp.registry.json`, or the configuration of another client.
    pub(super) registries: Vec<String>,
    /// Limits of scripts.
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

/// Limits of scripts run by `execute_mcp_code`.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawCode {
    /// Timeout of a script in milliseconds, including its calls.
    pub(super) time_ms: u64,
    /// Maximum memory of a script.
    pub(super) memory_bytes: u64,
    /// Maximum number of calls.
    pub(super) calls: u32,
    /// Maximum number of concurrent calls.
    pub(super) calls_at_once: u32,
    /// Maximum size of what it returns and prints.
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

/// How the tools of servers are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Exposure")]
pub(super) enum ToolExposure {
    /// All tools.
    Direct,
    /// Four tools that find and call the others.
    Discover,
    /// One of the two, by size.
    Auto,
}
