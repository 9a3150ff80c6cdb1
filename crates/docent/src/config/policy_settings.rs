//! Resolves the policy, and rejects keys that a project file may not set.

use super::{
    PolicyConfig, RedactionConfig, SandboxConfig,
    error::{ConfigError, ConfigProblem, ValueSource},
    keys,
    layers::{IgnoredKey, MergedSettings, user_dir},
    raw_policy::{RawFilesystem, RawNetwork, RawPolicy, RawRule, RawSandbox, RawTools, RuleAction},
    resolve::{Resolver, is_loopback_host},
    standard_paths::{display_path, settings_file},
};
use docent_net::{HostRule, PolicySetting};
use docent_server::{PolicyRule, RuleLimits};
use docent_suites::files::AccessRules;
use std::{
    fmt::Write as _,
    net::IpAddr,
    num::NonZeroU32,
    path::{Component, PathBuf},
    time::Duration,
};

/// Keys that a project file may not set, because it may be untrusted; a trailing dot stands for a whole table.
const USER_ONLY_KEYS: [&str; 9] = [
    "policy.",
    "hub.registries",
    "audit.",
    "web.",
    "server.tls.",
    "server.oauth.",
    "server.allow_open",
    "server.allowed_hosts",
    "embedding.key_env",
];

/// Why a value of a project file is ignored although another value would be accepted.
pub(super) const OUTSIDE_PROJECT: &str = "outside the project";
pub(super) const NOT_THIS_MACHINE: &str = "not on this machine";

/// The key of the listener's address.
const HOST_KEY: &str = "server.host";

/// Maximum number of keys named in a warning.
const MAX_NAMED_KEYS: usize = 12;

/// A key that a project file sets but may not set.
pub(super) struct RefusedKey {
    key: String,
    /// Why this value is not accepted; `None` where the key is the user's alone.
    reason: Option<&'static str>,
}

/// Removes the keys that a project file may not set; the values of lower layers apply instead.
pub(super) fn without_keys(
    mut settings: MergedSettings,
    refused: Vec<RefusedKey>,
) -> Result<MergedSettings, ConfigError> {
    for RefusedKey { key, reason } in refused {
        let source = settings.origin(&key).clone();
        if !settings.ignore(&key, reason) {
            let message = format!("`{key}` is not allowed in a project file: remove it there");
            return Err(ConfigError::Problems(vec![ConfigProblem { source, message }]));
        }
    }
    Ok(settings)
}

/// Describes the ignored keys: which, in which file, and where they can be set.
pub(super) fn ignored_keys(ignored: &[IgnoredKey], settings_file: &str) -> Option<String> {
    let file = ignored.first()?.file.display();
    let named = ignored.iter().take(MAX_NAMED_KEYS).map(|one| match one.reason {
        Some(reason) => format!("`{}` ({reason})", one.key),
        None => format!("`{}`", one.key),
    });
    let mut keys = named.collect::<Vec<_>>().join(", ");
    if ignored.len() > MAX_NAMED_KEYS {
        // Writing to a text can't fail.
        write!(keys, " and {} more keys", ignored.len() - MAX_NAMED_KEYS).unwrap_or_default();
    }
    let them = if ignored.len() == 1 { "it" } else { "them" };
    Some(format!(
        "{file} sets {keys}, which docent ignores: a project file may not set {them}, because it could come from an \
         untrusted repository. Set {them} in {settings_file} or in the environment, or pass --config {file} if you trust it"
    ))
}

fn is_loopback(address: IpAddr) -> bool {
    address.is_loopback()
}

impl Resolver<'_> {
    /// Whether a key is set by a project file, which may come with an untrusted repository.
    pub(super) fn is_of_a_project(&self, key: &str) -> bool {
        let ValueSource::File(file) = self.settings.origin(key) else { return false };
        let named = self.inputs.flags.config_file.is_some();
        let user = user_dir(self.inputs);
        !named && !user.is_some_and(|user| file.starts_with(user))
    }

    /// Returns the folder of the project whose file sets a key.
    pub(super) fn project_of(&self, key: &str) -> Option<PathBuf> {
        let ValueSource::File(file) = self.settings.origin(key) else { return None };
        let folder = file.parent().filter(|_| self.is_of_a_project(key))?;
        folder.canonicalize().ok()
    }

    /// Checks that a log file set by a project file is inside the project.
    pub(super) fn log_file(&mut self, raw: Option<String>) -> Option<PathBuf> {
        const KEY: &str = "server.logging.file";
        let path = self.path(KEY, &raw?);
        let climbs =
            path.is_symlink() || path.components().any(|part| part == Component::ParentDir);
        // Missing folders are created below the first existing one.
        let folder = path.ancestors().skip(1).find_map(|folder| folder.canonicalize().ok());
        let is_outside =
            |project: PathBuf| climbs || !folder.is_some_and(|at| at.starts_with(project));
        if self.is_of_a_project(KEY) && path.metadata().is_ok_and(|found| !found.is_file()) {
            let what = format!("is {}, which is not a regular file: remove it", path.display());
            self.problem(KEY, what);
        }
        if self.project_of(KEY).is_some_and(is_outside) {
            self.refuse(KEY, Some(OUTSIDE_PROJECT));
        }
        Some(path)
    }

    /// Records that a project file sets a key that it may not set.
    pub(super) fn refuse(&mut self, key: &str, reason: Option<&'static str>) {
        if !self.refused.iter().any(|refused| refused.key == key) {
            self.refused.push(RefusedKey { key: key.to_owned(), reason });
        }
    }

    /// Rejects keys that a project file may not set. Runs first: nothing that such a key names may be read.
    pub(super) fn reserved(&mut self) {
        let host = self.settings.tree()["server"]["host"].as_str().unwrap_or_default().to_owned();
        // An invalid host is reported elsewhere.
        let is_near =
            host.contains('/') || host.parse().is_ok_and(is_loopback) || is_loopback_host(&host);
        let keys = self.settings.origins().map(|(key, _)| key.to_owned());
        let own: Vec<String> = keys.filter(|key| self.is_of_a_project(key)).collect();
        // If the project exposes the server, its address is dropped first; the rest is judged without it.
        let opens_it = self.is_of_a_project(HOST_KEY);
        for key in &own {
            let is_in = |reserved: &&str| match reserved.strip_suffix('.') {
                Some(table) => key == table || key.starts_with(*reserved),
                None => key == *reserved,
            };
            // An empty table sets nothing.
            let sets = keys::settings().any(|one| key.starts_with(one.path));
            // If other machines can connect, only the user decides who may.
            let is_door = key.starts_with("server.") && !key.starts_with("server.logging.");
            let opens = is_door && !is_near && (!opens_it || key == HOST_KEY);
            let reason = match key.as_str() {
                _ if USER_ONLY_KEYS.iter().any(is_in) => None,
                HOST_KEY if opens => Some(NOT_THIS_MACHINE),
                _ if opens => Some("docent listens beyond this machine"),
                "server.auth.required" if self.disables_auth() => {
                    Some("it turns off the auth that you set up")
                }
                "server.auth.certificates" if self.is_of_a_project("server.tls.client_ca") => {
                    Some("they need server.tls")
                }
                "server.cors.origins" if !self.origins_are_near() => Some(NOT_THIS_MACHINE),
                _ if key.starts_with("mcp_servers.") && self.settings.replaces_another(key) => {
                    Some("your own settings have a server of that name")
                }
                _ => continue,
            };
            if sets {
                self.refuse(key, reason);
            }
        }
    }

    /// Whether auth is turned off although the user has set keys, certificates or issuers.
    fn disables_auth(&self) -> bool {
        const KNOWN: [&str; 4] = [
            "server.auth.token",
            "server.auth.keys",
            "server.auth.certificates",
            "server.oauth.issuers",
        ];
        let is_off = self.settings.tree()["server"]["auth"]["required"] == false;
        let is_the_user_s = |key: &&str| {
            *self.settings.origin(key) != ValueSource::Default && !self.is_of_a_project(key)
        };
        is_off && KNOWN.iter().any(is_the_user_s)
    }

    /// Whether all allowed origins are on this machine.
    fn origins_are_near(&self) -> bool {
        let origins = self.settings.tree()["server"]["cors"]["origins"].as_array();
        let is_local = |origin: &str| {
            let host = origin.split_once("://").map(|(_, host)| host.trim_end_matches('/'));
            // An invalid origin is reported elsewhere.
            host.map_or(origin != "*" && origin != "null", is_loopback_host)
        };
        origins.into_iter().flatten().all(|origin| origin.as_str().is_some_and(is_local))
    }

    pub(super) fn policy(&mut self, raw: RawPolicy) -> PolicyConfig {
        let files = self.file_rules(&raw.filesystem);
        let mut rules = Vec::new();
        for (at, rule) in raw.rules.into_iter().enumerate() {
            rules.extend(self.rule(at, rule));
        }
        rules.extend(self.shared_rules(raw.tools));
        PolicyConfig {
            network: self.network(&raw.network),
            files,
            tools: docent_server::ToolPolicy { rules },
            commands: raw.downstream.commands,
            denied_commands: raw.downstream.deny,
            redaction: RedactionConfig {
                secrets: raw.redaction.secrets,
                hidden: raw.redaction.hidden,
            },
            sandbox: self.sandbox(&raw.sandbox),
        }
    }

    fn network(&mut self, raw: &RawNetwork) -> docent_net::NetworkPolicy {
        let mut hosts = Vec::new();
        for (key, named, private) in [
            ("policy.network.hosts", &raw.hosts, false),
            ("policy.network.private_hosts", &raw.private_hosts, true),
        ] {
            for host in named {
                match HostRule::parse(host) {
                    Ok(rule) if private => hosts.push(rule.with_private()),
                    Ok(rule) => hosts.push(rule),
                    Err(error) => self.problem(key, error.to_string()),
                }
            }
        }
        docent_net::NetworkPolicy { hosts, setting: self.policy_setting() }
    }

    /// Returns where hosts are allowed, or can be.
    fn policy_setting(&self) -> PolicySetting {
        let keys = ["policy.network.hosts", "policy.network.private_hosts"];
        let set = keys.into_iter().find_map(|key| match self.settings.origin(key) {
            ValueSource::File(file) => Some(PolicySetting::File(display_path(file, self.inputs))),
            ValueSource::Environment(name) => Some(PolicySetting::Variable(name.clone())),
            _ => None,
        });
        set.unwrap_or_else(|| PolicySetting::File(settings_file(self.inputs)))
    }

    fn file_rules(&mut self, raw: &RawFilesystem) -> AccessRules {
        fn patterns(all: &[String]) -> impl Iterator<Item = &str> {
            all.iter().map(String::as_str)
        }
        for (key, all) in
            [("policy.filesystem.deny", &raw.deny), ("policy.filesystem.allow", &raw.allow)]
        {
            if let Err(error) = AccessRules::new(patterns(all), []) {
                self.problem(key, error.to_string());
            }
        }
        AccessRules::new(patterns(&raw.deny), patterns(&raw.allow)).unwrap_or_default()
    }

    fn rule(&mut self, at: usize, raw: RawRule) -> Option<PolicyRule> {
        const KEY: &str = "policy.rules";
        let name = match &raw.name {
            Some(name) => format!("{KEY}[{at}] {name:?}"),
            None => format!("{KEY}[{at}]"),
        };
        let Some(action) = raw.action else {
            self.problem(KEY, format!("[{at}] needs an `action`: allow, deny or approve"));
            return None;
        };
        if raw.tools.is_empty() {
            let what = "needs `tools`: names, suites such as \"web:*\", or \"*\" for everything";
            self.problem(KEY, format!("[{at}] {what}"));
            return None;
        }
        let label = format!("[{at}]");
        for text in raw.tools.iter().chain(&raw.scopes) {
            self.scope(KEY, &label, text);
        }
        let bounds = RuleLimits {
            rate_per_minute: raw.rate_per_minute.and_then(NonZeroU32::new),
            timeout: raw.timeout_ms.map(Duration::from_millis),
        };
        if action == RuleAction::Deny && bounds != RuleLimits::default() {
            let what = "denies, so `rate_per_minute` and `timeout_ms` have no effect: \
                        leave them out, or write action = \"allow\"";
            self.problem(KEY, format!("[{at}] {what}"));
        }
        let action = match action {
            RuleAction::Allow => docent_server::PolicyAction::Allow,
            RuleAction::Deny => docent_server::PolicyAction::Deny,
            RuleAction::Approve => docent_server::PolicyAction::Approve,
        };
        Some(PolicyRule {
            name,
            keys: raw.keys,
            scopes: raw.scopes,
            tools: raw.tools,
            action,
            bounds,
        })
    }

    /// Converts the tool lists to rules for everyone: denied tools first, and with an allow list, nothing else.
    fn shared_rules(&mut self, raw: RawTools) -> Vec<PolicyRule> {
        use docent_server::PolicyAction::{Allow, Approve, Deny};
        let has_allowed = !raw.allow.is_empty();
        let mut rules = Vec::new();
        for (key, tools, action) in [
            ("policy.tools.deny", raw.deny, Deny),
            ("policy.tools.approve", raw.approve, Approve),
            ("policy.tools.allow", raw.allow, Allow),
        ] {
            for text in &tools {
                self.scope(key, "holds", text);
            }
            if !tools.is_empty() {
                rules.push(PolicyRule::for_everybody(key, tools, action));
            }
        }
        if has_allowed {
            let name = "policy.tools.allow, which doesn't name it";
            rules.push(PolicyRule::for_everybody(name, vec!["*".into()], Deny));
        }
        rules
    }

    fn sandbox(&self, raw: &RawSandbox) -> SandboxConfig {
        let all = |key: &str, paths: &[String]| -> Vec<PathBuf> {
            paths.iter().map(|path| self.path(key, path)).collect()
        };
        SandboxConfig {
            mode: raw.mode,
            bubblewrap: raw.bubblewrap,
            read: all("policy.sandbox.read", &raw.read),
            write: all("policy.sandbox.write", &raw.write),
        }
    }
}
