//! The policy as typed: the keys for the network, files, tools, other programs and secrets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What docent may do. Not allowed in a project file.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawPolicy {
    /// Allowed hosts.
    pub(super) network: RawNetwork,
    /// Files served inside the roots.
    pub(super) filesystem: RawFilesystem,
    /// Tools that callers may use.
    pub(super) tools: RawTools,
    /// Rules for some callers and tools, checked in order before `policy.tools`; the first match decides, and limits
    /// the calls that it allows.
    pub(super) rules: Vec<RawRule>,
    /// Other programs.
    pub(super) downstream: RawDownstream,
    /// What is masked in results, logs and audit entries.
    pub(super) redaction: RawRedaction,
    /// docent's own sandbox.
    pub(super) sandbox: RawSandbox,
}

/// Allowed hosts. Everything else is blocked.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawNetwork {
    /// Hosts, such as `docs.example.com`, `*.example.com` or `127.0.0.1:9000`; without a port, 80 and 443 are allowed.
    pub(super) hosts: Vec<String>,
    /// Hosts that may also resolve to this machine or its private network.
    pub(super) private_hosts: Vec<String>,
}

/// Files served inside the roots.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawFilesystem {
    /// Patterns, as in `.gitignore`, of files not to serve, in addition to likely secrets such as `.env*` and `*.pem`.
    pub(super) deny: Vec<String>,
    /// Patterns of files to serve although their names suggest a secret.
    pub(super) allow: Vec<String>,
}

/// Which tools may be used: tool names, suites (`web:*`) or `*`.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawTools {
    /// If set, only these are allowed.
    pub(super) allow: Vec<String>,
    /// Denied, and hidden from lists.
    pub(super) deny: Vec<String>,
    /// Allowed after the user at the client approves the call.
    pub(super) approve: Vec<String>,
}

/// A rule.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawRule {
    /// Name of the rule, shown when it denies a call.
    pub(super) name: Option<String>,
    /// Names of keys or certificates, or `oauth:ISSUER#SUBJECT`; empty for all callers.
    pub(super) keys: Vec<String>,
    /// Scopes, matched literally against those of the caller; empty for all callers.
    pub(super) scopes: Vec<String>,
    /// Tool names, suites (`web:*`) or `*`.
    #[schemars(extend("x-default" = "needed"))]
    pub(super) tools: Vec<String>,
    /// What the rule does.
    // Without `with`, the schema is "this or null", which `keys` does not expand.
    #[schemars(with = "RuleAction", extend("x-default" = "needed"))]
    pub(super) action: Option<RuleAction>,
    /// Calls of these tools per minute per caller, counted together; other limits also apply.
    #[schemars(range(min = 1))]
    pub(super) rate_per_minute: Option<u32>,
    /// Timeout of one call in milliseconds, if shorter than the tool's.
    #[schemars(range(min = 1))]
    pub(super) timeout_ms: Option<u64>,
}

/// The action of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum RuleAction {
    /// Allow the tool.
    Allow,
    /// Hide and deny the tool.
    Deny,
    /// Ask the user at the client first.
    Approve,
}

/// Other programs.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawDownstream {
    /// Programs that `docent run` and `mcp_servers` may start, by name or path; empty for any.
    pub(super) commands: Vec<String>,
    /// Programs that they may not start.
    pub(super) deny: Vec<String>,
}

/// What is masked in results, logs and audit entries.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawRedaction {
    /// Whether text that looks like a secret is masked in results.
    pub(super) secrets: bool,
    /// Whether invisible characters are made visible in results.
    pub(super) hidden: bool,
}

impl Default for RawRedaction {
    fn default() -> Self {
        Self { secrets: true, hidden: true }
    }
}

/// docent's own sandbox.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawSandbox {
    /// `auto` uses what the kernel offers, `strict` refuses to start unless all controls are available.
    pub(super) mode: SandboxMode,
    /// Whether other programs run in bubblewrap, if it is installed.
    pub(super) bubblewrap: bool,
    /// Additional paths to read.
    pub(super) read: Vec<String>,
    /// Additional paths to write.
    pub(super) write: Vec<String>,
}

impl Default for RawSandbox {
    fn default() -> Self {
        Self { mode: SandboxMode::Auto, bubblewrap: false, read: Vec::new(), write: Vec::new() }
    }
}

/// The mode of the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum SandboxMode {
    /// No sandbox.
    Off,
    /// All controls that the kernel offers.
    Auto,
    /// All controls, or refuse to start.
    Strict,
}
