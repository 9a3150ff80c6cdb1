//! The policy as typed: what a file may say about the network, files, tools, other programs and secrets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What docent may do. A project's own file can't set any of it.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawPolicy {
    /// What may be reached on the network.
    pub(super) network: RawNetwork,
    /// What is served inside the roots.
    pub(super) filesystem: RawFilesystem,
    /// Which tools may be used, by everybody.
    pub(super) tools: RawTools,
    /// Rules for some callers and some tools, asked in order before `policy.tools`; the first that matches decides, and bounds
    /// the calls that it lets through.
    pub(super) rules: Vec<RawRule>,
    /// Other programs.
    pub(super) downstream: RawDownstream,
    /// What is taken out of results, logs and audit lines.
    pub(super) redaction: RawRedaction,
    /// What the kernel holds docent to.
    pub(super) sandbox: RawSandbox,
}

/// What may be reached on the network: nothing that is not named.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawNetwork {
    /// Hosts, such as `docs.example.com`, `*.example.com` or `127.0.0.1:9000`; without a port, 80 and 443 are meant.
    pub(super) hosts: Vec<String>,
    /// Hosts that may lead to this machine or into its network, which others may not.
    pub(super) private_hosts: Vec<String>,
}

/// What is served inside the roots.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawFilesystem {
    /// Patterns, as in `.gitignore`, of what is not served, besides names of secrets such as `.env*` and `*.pem`.
    pub(super) deny: Vec<String>,
    /// Patterns of what is served though its name is one of a secret.
    pub(super) allow: Vec<String>,
}

/// Which tools may be used: tool names, suites (`web:*`) or `*`.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawTools {
    /// Only these, where any is named.
    pub(super) allow: Vec<String>,
    /// Not these; they are not shown either.
    pub(super) deny: Vec<String>,
    /// These after the person at the client has approved of the call.
    pub(super) approve: Vec<String>,
}

/// One rule.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawRule {
    /// How refusals call it.
    pub(super) name: Option<String>,
    /// Names of keys or certificates that it is about, or `oauth:ISSUER#SUBJECT`; none for everybody.
    pub(super) keys: Vec<String>,
    /// Scopes that it is about: whoever holds one of them, as written; none for everybody.
    pub(super) scopes: Vec<String>,
    /// Tool names, suites (`web:*`) or `*`.
    #[schemars(extend("x-default" = "needed"))]
    pub(super) tools: Vec<String>,
    /// What is done.
    // Without `with`, the schema is one of "this or null", which the list of keys does not look into.
    #[schemars(with = "Action", extend("x-default" = "needed"))]
    pub(super) action: Option<RuleAction>,
    /// Calls of all these tools together that one caller may make in a minute; other rates hold as well.
    #[schemars(range(min = 1))]
    pub(super) rate_per_minute: Option<u32>,
    /// Milliseconds that one call may take, where that is less than the tool has.
    #[schemars(range(min = 1))]
    pub(super) timeout_ms: Option<u64>,
}

/// What a rule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum RuleAction {
    /// The tool may be used.
    Allow,
    /// It is neither shown nor run.
    Deny,
    /// The person at the client is asked first.
    Approve,
}

/// Other programs.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawDownstream {
    /// Programs that `docent run`, and docent for its `mcp_servers`, may start, by name or path; none for any.
    pub(super) commands: Vec<String>,
    /// Programs that neither may start.
    pub(super) deny: Vec<String>,
}

/// What is taken out of results, logs and audit lines.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawRedaction {
    /// Whether secrets that are found by their look are taken out of results.
    pub(super) secrets: bool,
    /// Whether characters that a person can't see are made visible in results.
    pub(super) hidden: bool,
}

impl Default for RawRedaction {
    fn default() -> Self {
        Self { secrets: true, hidden: true }
    }
}

/// What the kernel holds docent to.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RawSandbox {
    /// `auto` takes what the kernel offers, `strict` refuses to start without all of it.
    pub(super) mode: SandboxMode,
    /// Whether other programs run in bubblewrap, where it is installed.
    pub(super) bubblewrap: bool,
    /// Further paths that may be read.
    pub(super) read: Vec<String>,
    /// Further paths that may be written.
    pub(super) write: Vec<String>,
}

impl Default for RawSandbox {
    fn default() -> Self {
        Self { mode: SandboxMode::Auto, bubblewrap: false, read: Vec::new(), write: Vec::new() }
    }
}

/// How much of the sandbox is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum SandboxMode {
    /// None.
    Off,
    /// What the kernel offers.
    Auto,
    /// All of it, or none of docent.
    Strict,
}
