//! `docent config import`: converts a security policy in YAML (network, filesystem, commands, tools, audit) to keys of
//! docent.toml. Anything without an equivalent is reported.

use super::{
    edit,
    layers::{ConfigInputs, user_dir},
    regular,
};
use anyhow::Context as _;
use docent_net::{HostRule, NetworkPolicy};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::{
    collections::BTreeMap,
    net::Ipv6Addr,
    path::{Path, PathBuf},
};

/// Maximum size of a policy file.
const MAX_POLICY_FILE_BYTES: u64 = 1 << 20;

/// The policy in its own format.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct ImportedPolicy {
    #[serde(rename = "version")]
    _version: Option<Value>,
    network: ImportedNetwork,
    filesystem: ImportedFilesystem,
    commands: ImportedCommands,
    tools: ImportedTools,
    audit: ImportedAudit,
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct ImportedNetwork {
    allowed_ranges: Vec<String>,
    allowed_endpoints: Vec<ImportedEndpoint>,
    blocked_ports: Vec<u16>,
    allow_dns: Option<bool>,
    dns_allowlist: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ImportedEndpoint {
    host: String,
    #[serde(default)]
    ports: Vec<u16>,
    #[serde(default, rename = "description")]
    _description: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct ImportedFilesystem {
    allowed_paths: Vec<String>,
    denied_paths: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct ImportedCommands {
    blocked: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct ImportedTools {
    timeout: Option<u64>,
    rate_limits: BTreeMap<String, u32>,
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct ImportedAudit {
    log_file: Option<String>,
    log_level: Option<String>,
    include: Vec<String>,
}

/// The result of an import.
#[derive(Debug, Default)]
pub(crate) struct PolicyImport {
    /// Keys and their values, in the order of the policy.
    pub(crate) keys: Map<String, Value>,
    /// What was dropped or changed its meaning, and why.
    pub(crate) notes: Vec<String>,
}

/// Reads a policy.
pub(crate) fn read(file: &Path, inputs: &ConfigInputs) -> anyhow::Result<PolicyImport> {
    let text = regular::read_argument(file, MAX_POLICY_FILE_BYTES)
        .with_context(|| format!("cannot read {}", file.display()))?;
    let foreign: ImportedPolicy = serde_saphyr::from_str(&text).with_context(|| {
        format!(
            "unsupported policy in {}: expected the sections network, filesystem, commands, tools and audit",
            file.display()
        )
    })?;
    let mut imported = PolicyImport::default();
    imported.network(&foreign.network);
    imported.filesystem(&foreign.filesystem, inputs);
    if !foreign.commands.blocked.is_empty() {
        imported.set("policy.downstream.deny", json!(foreign.commands.blocked));
    }
    imported.tools(&foreign.tools);
    imported.audit(&foreign.audit, inputs);
    Ok(imported)
}

/// Writes the keys to a file, by default the user's own; keys that it sets already are kept.
pub(crate) fn write(
    imported: &mut PolicyImport,
    to: Option<&Path>,
    inputs: &ConfigInputs,
) -> anyhow::Result<PathBuf> {
    let path = if let Some(path) = to {
        inputs.working_dir.join(path)
    } else {
        let folder = user_dir(inputs);
        edit::config_file_in(&folder.context("no home directory; name a file with --to")?)
    };
    let kept = edit::add_keys(&path, &imported.keys)?;
    for key in kept {
        imported.keys.shift_remove(&key);
        imported.notes.push(format!("`{key}` is already set in {} and was kept", path.display()));
    }
    Ok(path)
}

impl PolicyImport {
    fn set(&mut self, key: &str, value: Value) {
        self.keys.insert(key.to_owned(), value);
    }

    fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Converts endpoints to host rules. Drops blocked ports, and endpoints that no rule can express: a file with them
    /// would stop the next start.
    fn hosts(&mut self, endpoints: &[ImportedEndpoint], blocked: &[u16]) -> Vec<String> {
        let mut hosts = Vec::new();
        for ImportedEndpoint { host, ports, .. } in endpoints {
            let host = host.trim();
            let is_bare = host.parse::<Ipv6Addr>().is_ok();
            let host = if is_bare { format!("[{host}]") } else { host.to_owned() };
            let at = |port: &u16| format!("{host}:{port}");
            let rules =
                if ports.is_empty() { vec![host.clone()] } else { ports.iter().map(at).collect() };
            for rule in rules {
                let ports = match HostRule::parse(&rule) {
                    Ok(rule) => {
                        NetworkPolicy { hosts: vec![rule], ..NetworkPolicy::default() }.ports()
                    }
                    Err(error) => {
                        self.note(format!("network.allowed_endpoints: {error}; dropped"));
                        continue;
                    }
                };
                let (shut, open): (Vec<u16>, Vec<u16>) =
                    ports.into_iter().partition(|port| blocked.contains(port));
                for port in &shut {
                    self.note(format!("network.blocked_ports: {port} of {rule} was dropped"));
                }
                if shut.is_empty() {
                    hosts.push(rule);
                } else {
                    hosts.extend(open.iter().map(at));
                }
            }
        }
        hosts
    }

    fn network(&mut self, network: &ImportedNetwork) {
        let hosts = self.hosts(&network.allowed_endpoints, &network.blocked_ports);
        let is_endpoint = |name: &str| {
            network.allowed_endpoints.iter().any(|one| one.host.trim().eq_ignore_ascii_case(name))
        };
        let unnamed = |name: &&String| !is_endpoint(name.trim());
        let looked_up: Vec<&String> = network.dns_allowlist.iter().filter(unnamed).collect();
        if !looked_up.is_empty() {
            self.note(format!("network.dns_allowlist names {looked_up:?}, which is not an endpoint: docent resolves only allowed hosts"));
        }
        if network.allow_dns == Some(false) && !hosts.is_empty() {
            self.note("network.allow_dns is false: docent resolves the allowed hosts; use IP addresses to avoid DNS");
        }
        if !network.allowed_ranges.is_empty() {
            self.note(format!("network.allowed_ranges {:?} was dropped: docent has no rules for ranges; add single addresses to policy.network.hosts, or names that resolve to them to policy.network.private_hosts", network.allowed_ranges));
        }
        if !network.blocked_ports.is_empty() {
            self.note("network.blocked_ports was dropped: only listed ports are allowed, and none of these is listed");
        }
        if !hosts.is_empty() {
            self.set("policy.network.hosts", json!(hosts));
        }
    }

    fn filesystem(&mut self, filesystem: &ImportedFilesystem, inputs: &ConfigInputs) {
        let mut roots = Vec::new();
        for path in &filesystem.allowed_paths {
            let Some(expanded) = expand(path, inputs) else {
                self.note(format!(
                    "filesystem.allowed_paths: {path:?} uses a variable that is not set; dropped"
                ));
                continue;
            };
            let folder = expanded.trim_end_matches("/**").trim_end_matches("/*");
            if folder.contains(['*', '?', '[']) {
                self.note(format!("filesystem.allowed_paths: {path:?} was dropped: a root is a folder, not a pattern"));
            } else if Path::new(folder).is_dir() {
                roots.push(folder.to_owned());
            } else {
                self.note(format!("filesystem.allowed_paths: {folder} does not exist and was dropped; add it to roots once it does"));
            }
        }
        if !roots.is_empty() {
            self.set("roots", json!(roots));
        }
        let mut denied = Vec::new();
        for path in &filesystem.denied_paths {
            let Some(expanded) = expand(path, inputs) else {
                self.note(format!(
                    "filesystem.denied_paths: {path:?} uses a variable that is not set; dropped"
                ));
                continue;
            };
            let pattern = expanded.trim_end_matches("/**");
            let anywhere = pattern.trim_start_matches("**/");
            // A slash inside a pattern anchors it to the root, unless it starts with **.
            let pattern = if anywhere.contains('/') { pattern } else { anywhere }.to_owned();
            if Path::new(&pattern).is_absolute() {
                self.note(format!("filesystem.denied_paths: {path:?} is absolute, but patterns here are relative to each root: check it"));
            }
            denied.push(pattern);
        }
        if !denied.is_empty() {
            self.set("policy.filesystem.deny", json!(denied));
        }
    }

    fn tools(&mut self, tools: &ImportedTools) {
        if let Some(seconds) = tools.timeout {
            self.set("limits.tool_timeout_ms", json!(seconds.saturating_mul(1000).max(1)));
        }
        let mut denied = Vec::new();
        for (tool, rate) in &tools.rate_limits {
            if *rate == 0 {
                denied.push(tool.clone());
            } else if tool.contains('*') {
                // Such a rule would have to allow the tools, and so override what the file denies.
                self.note(format!("tools.rate_limits: {tool:?} was dropped, because a limit for several tools needs a rule that also decides about them: add one to policy.rules with rate_per_minute = {rate} and an action"));
            } else if tool == "default" {
                self.set("server.rate_limit.requests", json!(rate));
                self.note("tools.rate_limits.default became server.rate_limit.requests, which counts all requests of a client");
            } else {
                self.set(&format!("limits.tools.{tool}.rate_per_minute"), json!(rate));
            }
        }
        if !denied.is_empty() {
            self.set("policy.tools.deny", json!(denied));
        }
    }

    fn audit(&mut self, audit: &ImportedAudit, inputs: &ConfigInputs) {
        if let Some(file) = &audit.log_file {
            match expand(file, inputs) {
                Some(file) => self.set("audit.file", json!(file)),
                None => {
                    self.note(format!("audit.log_file: {file:?} uses a variable that is not set"));
                }
            }
        }
        if let Some(level) = &audit.log_level {
            match level.to_ascii_lowercase().as_str() {
                "warning" => self.set("server.logging.level", json!("warn")),
                "critical" => self.set("server.logging.level", json!("error")),
                level @ ("error" | "warn" | "info" | "debug" | "trace") => {
                    self.set("server.logging.level", json!(level));
                }
                _ => self.note(format!("audit.log_level {level:?} has no equivalent")),
            }
        }
        if !audit.include.is_empty() {
            self.note("audit.include is not needed: every entry has all fields, and arguments as a digest");
        }
    }
}

/// Expands variables; `None` if one is not set.
fn expand(text: &str, inputs: &ConfigInputs) -> Option<String> {
    let mut parts = text.split("${");
    let mut expanded = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once('}')?;
        let home = || inputs.home.as_deref().and_then(Path::to_str).filter(|_| name == "HOME");
        expanded.push_str(inputs.environment.get(name).or_else(home)?);
        expanded.push_str(rest);
    }
    Some(expanded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const POLICY: &str = r#"
version: "1.0"
network:
  allowed_ranges: ["127.0.0.0/8"]
  allowed_endpoints:
    - host: "lite.duckduckgo.com"
      ports: [443]
      description: "search"
    - host: example.org
  blocked_ports: [22]
  allow_dns: true
  dns_allowlist: ["lite.duckduckgo.com", "other.example.org"]
filesystem:
  allowed_paths: ["${HOME}/projects/**", "${HOME}/*/src", "${UNSET}/x"]
  denied_paths: ["**/.ssh/**", "**/*.pem", "**/secrets/**"]
commands:
  blocked: [curl, wget]
tools:
  timeout: 20
  rate_limits: {default: 60, web_search: 20, write: 0, "web:*": 30}
audit:
  log_file: "${HOME}/audit.log"
  log_level: WARNING
  include: [timestamp]
"#;

    fn inputs(home: &Path) -> ConfigInputs {
        let home = home.to_owned();
        ConfigInputs { working_dir: home.clone(), home: Some(home), ..ConfigInputs::default() }
    }

    #[test]
    fn a_policy_becomes_keys_and_notes() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("projects")).unwrap();
        let file = home.path().join("policy.yaml");
        fs::write(&file, POLICY).unwrap();
        let inputs = inputs(home.path());
        let mut imported = read(&file, &inputs).unwrap();
        let projects = home.path().join("projects");
        let want = json!({
            "policy.network.hosts": ["lite.duckduckgo.com:443", "example.org"],
            "roots": [projects],
            "policy.filesystem.deny": [".ssh", "*.pem", "secrets"],
            "policy.downstream.deny": ["curl", "wget"],
            "limits.tool_timeout_ms": 20000,
            "server.rate_limit.requests": 60,
            "limits.tools.web_search.rate_per_minute": 20,
            "policy.tools.deny": ["write"],
            "audit.file": home.path().join("audit.log"),
            "server.logging.level": "warn",
        });
        assert_eq!(Value::Object(imported.keys.clone()), want);
        for want in [
            "other.example.org",
            "127.0.0.0/8",
            "blocked_ports",
            "/*/src",
            "${UNSET}",
            "default became",
            "rate_per_minute = 30",
            "audit.include",
        ] {
            assert!(imported.notes.iter().any(|note| note.contains(want)), "{want}");
        }
        assert_eq!(imported.notes.len(), 8, "{:#?}", imported.notes);
        // The written file loads as a configuration with the same values.
        let path = write(&mut imported, None, &inputs).unwrap();
        assert_eq!(path, home.path().join(".config/docent/docent.toml"));
        let config = crate::config::Config::load(&inputs).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(config.policy.network.hosts.len(), 2);
        assert_eq!(config.roots, [projects.canonicalize().unwrap()]);
        assert_eq!(config.limits.tool_timeout.as_secs(), 20);
        assert_eq!(config.policy.denied_commands, ["curl", "wget"]);
        // A second time changes nothing.
        let before = fs::read_to_string(&path).unwrap();
        let mut again = read(&file, &inputs).unwrap();
        write(&mut again, None, &inputs).unwrap();
        assert!(again.keys.is_empty());
        assert_eq!(fs::read_to_string(&path).unwrap(), before);
    }

    #[test]
    fn endpoints_become_hosts_that_can_be_named() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("policy.yaml");
        for (network, hosts, notes) in [
            (
                "allowed_endpoints: [{host: a.test, ports: [22, 443]}, {host: b.test}], blocked_ports: [22, 80]",
                &["a.test:443", "b.test:443"][..],
                &["22 of a.test:22", "80 of b.test", "blocked_ports was dropped"][..],
            ),
            (
                "allowed_endpoints: [{host: '::1', ports: [8080]}, {host: 'fd00::5:1'}, {host: '[::1]', ports: [9]}]",
                &["[::1]:8080", "[fd00::5:1]", "[::1]:9"],
                &[],
            ),
            (
                "allowed_endpoints: [{host: 'a.test:22'}], blocked_ports: [22]",
                &[],
                &["22 of a.test:22", "blocked_ports was dropped"],
            ),
            (
                "allowed_endpoints: [{host: 'https://a.test'}, {host: '*'}, {host: b.test, ports: [0, 80]}]",
                &["b.test:80"],
                &["host rule \"https://a.test\"", "host rule \"*\"", "host rule \"b.test:0\""],
            ),
            (
                "allowed_endpoints: [{host: example.org}], dns_allowlist: [example.o, Example.org]",
                &["example.org"],
                &["names [\"example.o\"], which is not an endpoint"],
            ),
        ] {
            fs::write(&file, format!("network: {{{network}}}\n")).unwrap();
            let imported = read(&file, &inputs(home.path())).unwrap();
            let want = (!hosts.is_empty()).then(|| json!(hosts));
            assert_eq!(imported.keys.get("policy.network.hosts"), want.as_ref(), "{network}");
            assert!(NetworkPolicy::parse(hosts.iter().copied()).is_ok(), "{network}");
            for want in notes {
                assert!(imported.notes.iter().any(|note| note.contains(want)), "{want}");
            }
            assert_eq!(imported.notes.len(), notes.len(), "{:#?}", imported.notes);
        }
    }

    #[test]
    fn a_denied_path_with_a_slash_counts_in_every_folder() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("policy.yaml");
        let paths = r#"["**/.kube/config", "**/a/b/**", "**/.ssh/**", "build/out"]"#;
        fs::write(&file, format!("filesystem:\n  denied_paths: {paths}\n")).unwrap();
        let inputs = inputs(home.path());
        let mut imported = read(&file, &inputs).unwrap();
        let want = json!(["**/.kube/config", "**/a/b", ".ssh", "build/out"]);
        assert_eq!(imported.keys["policy.filesystem.deny"], want);
        write(&mut imported, None, &inputs).unwrap();
        let config = crate::config::Config::load(&inputs).unwrap_or_else(|error| panic!("{error}"));
        for (path, is_denied) in [
            (".kube/config", true),
            ("sub/.kube/config", true),
            ("x/a/b/c", true),
            ("build/out", true),
            ("sub/build/out", false),
        ] {
            assert_eq!(config.policy.files.denied(path, false).is_some(), is_denied, "{path}");
        }
    }

    #[test]
    fn an_invalid_policy_is_reported() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("policy.yaml");
        for (text, want) in [
            ("a: [", "unsupported policy in"),
            ("netwerk: {}", "netwerk"),
            ("network: {allowed_hosts: [a]}", "allowed_hosts"),
            ("tools: {timeout: -1}", "unsupported policy in"),
        ] {
            fs::write(&file, text).unwrap();
            let error = format!("{:#}", read(&file, &inputs(home.path())).unwrap_err());
            assert!(error.contains(want), "{text}: {error}");
        }
        assert!(read(&home.path().join("none"), &inputs(home.path())).is_err());
    }
}
