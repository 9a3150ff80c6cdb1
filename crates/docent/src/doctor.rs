//! `docent doctor`: looks at what docent needs and reports the truth about each control. Changes nothing but the state
//! directory, which serving would make as well.

mod servers;

use crate::{
    config::{self, Config, ConfigInputs, ServerConfig, ToolLimitsConfig, TransportKind},
    dangling_settings, external_auth, serve,
    state::StateDir,
};
use docent_audit::WriteFailurePolicy;
use docent_files::{FileAccess, ManagedFolder};
use docent_sandbox::{
    ConfinementMode, ControlState, Launch, SandboxControl, SandboxError, SandboxSupport,
};
use docent_server::ExternalAuth;
use serde_json::{Value, json};
use std::{
    fmt::Write as _,
    io,
    net::{TcpListener, TcpStream, ToSocketAddrs},
    path::Path,
    process::Stdio,
    time::Duration,
};

/// How a check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckStatus {
    /// As it should be.
    Ok,
    /// Worth knowing; docent works.
    Warn,
    /// docent can't serve, or not as configured.
    Fail,
}

/// The result of one check.
#[derive(Debug)]
pub struct DoctorCheck {
    /// The name of the check.
    pub check: &'static str,
    /// How it went.
    pub mark: CheckStatus,
    /// What was found, and what to do about it.
    pub detail: String,
}

/// Every finding, in the order looked at.
#[derive(Debug, Default)]
pub struct DoctorReport(Vec<DoctorCheck>);

impl DoctorReport {
    fn add(&mut self, check: &'static str, mark: CheckStatus, detail: impl Into<String>) {
        self.0.push(DoctorCheck { check, mark, detail: detail.into() });
    }

    /// Whether anything failed.
    pub fn failed(&self) -> bool {
        self.0.iter().any(|finding| finding.mark == CheckStatus::Fail)
    }

    /// Formats the report as text.
    pub fn text(&self, colors: bool) -> String {
        let width = self.0.iter().map(|finding| finding.check.len()).max().unwrap_or(0);
        let mut text = String::new();
        for DoctorCheck { check, mark, detail } in &self.0 {
            let (word, color) = match mark {
                CheckStatus::Ok => ("ok  ", "32"),
                CheckStatus::Warn => ("warn", "33"),
                CheckStatus::Fail => ("fail", "31"),
            };
            let word = if colors { format!("\u{1b}[{color}m{word}\u{1b}[0m") } else { word.into() };
            // Indent further lines to the first one.
            let detail = detail.replace('\n', &format!("\n{:1$}", "", width + 8));
            writeln!(text, "{word}  {check:width$}  {detail}").unwrap_or_default();
        }
        text
    }

    /// Converts the report to JSON.
    pub fn json(&self) -> Value {
        let findings = self.0.iter().map(|DoctorCheck { check, mark, detail }| {
            let mark = match mark {
                CheckStatus::Ok => "ok",
                CheckStatus::Warn => "warn",
                CheckStatus::Fail => "fail",
            };
            json!({"check": check, "mark": mark, "detail": detail})
        });
        json!({"ok": !self.failed(), "findings": findings.collect::<Vec<_>>()})
    }
}

/// Runs every check.
pub fn examine(inputs: &ConfigInputs) -> DoctorReport {
    let mut report = DoctorReport::default();
    report.add("version", CheckStatus::Ok, format!("docent {}", env!("CARGO_PKG_VERSION")));
    report.add("platform", CheckStatus::Ok, platform());
    match Config::load(inputs) {
        Ok(config) => {
            files(&config, &mut report);
            state(&config, inputs, &mut report);
            listener(&config.server, &mut report);
            safety(&config, &mut report);
            limits(&config, &mut report);
            telemetry(&config, &mut report);
            policy(&config, &mut report);
            external_auth(&config, &mut report);
            let offered = SandboxSupport::look();
            servers::examine(&config, inputs, &offered, &mut report);
            sandbox(&config, &offered, &mut report);
        }
        Err(error) => {
            let mut detail = error.to_string();
            if let Some(cause) = std::error::Error::source(&error) {
                write!(detail, ": {cause}").unwrap_or_default();
            }
            report.add("configuration", CheckStatus::Fail, detail);
            for file in config::files_in_place(inputs).unwrap_or_default() {
                report.add(
                    "file",
                    CheckStatus::Warn,
                    format!("{} is read: fix it, or move it away", file.display()),
                );
            }
        }
    }
    report
}

/// Returns a count with its noun.
fn count(count: usize, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

/// Picks the singular or plural sentence, and puts the names in place of `%s`.
fn format_names(names: &[&str], one: &str, several: &str) -> String {
    let sentence = if names.len() == 1 { one } else { several };
    sentence.replace("%s", &names.join(", "))
}

fn platform() -> String {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let (os, machine) = (std::env::consts::OS, std::env::consts::ARCH);
    format!("{os} {} {machine}", kernel.trim()).replace("  ", " ")
}

fn files(config: &Config, report: &mut DoctorReport) {
    let files: Vec<String> = config.files().iter().map(|file| file.display().to_string()).collect();
    let detail = match files.as_slice() {
        [] => "no file; using defaults, environment and flags".to_owned(),
        files => format!("read {}", files.join(", then ")),
    };
    report.add("configuration", CheckStatus::Ok, detail);
    for warning in &config.warnings {
        report.add("configuration", CheckStatus::Warn, warning.clone());
    }
    for root in &config.roots {
        report.add("root", CheckStatus::Ok, root.display().to_string());
    }
    match serve::suites(config) {
        Ok(suites) => {
            for problem in dangling_settings::dangling_settings(config, &suites.providers) {
                report.add("configuration", CheckStatus::Warn, problem);
            }
        }
        Err(error) => report.add("root", CheckStatus::Fail, format!("{error:#}")),
    }
}

fn state(config: &Config, inputs: &ConfigInputs, report: &mut DoctorReport) {
    let state = match StateDir::open(config) {
        Ok(state) => state,
        Err(error) => return report.add("state", CheckStatus::Fail, error.to_string()),
    };
    let place = state.path().display();
    if state.in_root() {
        report.add("state", CheckStatus::Ok, format!("{place} is writable"));
    } else {
        let read_only = || format!("the root is read-only; using {place}");
        let detail = state.unusable_root_reason().map_or_else(read_only, str::to_owned);
        report.add("state", CheckStatus::Warn, detail);
    }
    if config.audit.enabled {
        let file = state.audit_file(config);
        writable("audit", &file, "audit.file", report);
        report.add("audit", CheckStatus::Ok, audit_log_status(config));
        let writers = crate::sandbox::writers(&file, config, inputs.home.as_deref());
        if !writers.is_empty() {
            let detail = format!(
                "{} can write to it too: set audit.file to a path outside the roots, such as ~/.local/state/docent/audit.jsonl",
                format_names(&writers, "the server %s", "the servers %s")
            );
            report.add("audit", CheckStatus::Warn, detail);
        }
    } else {
        report.add("audit", CheckStatus::Warn, "off: calls are not recorded (audit.enabled)");
    }
    if let Some(file) = &config.server.logging.file {
        writable("log file", file, "server.logging.file", report);
    }
}

/// Describes the audit settings.
fn audit_log_status(config: &Config) -> String {
    let settings = &config.audit.settings;
    let full = match settings.on_full {
        WriteFailurePolicy::Refuse => "a call that can't be recorded is refused",
        WriteFailurePolicy::Drop => "a call that can't be recorded continues and is counted",
    };
    let synced = if settings.sync { "synced" } else { "not synced" };
    let key = match &settings.key {
        Some(_) => "the hash chain has a key",
        None => "the hash chain has no key: anyone who can write the file can forge it",
    };
    format!(
        "{full} (audit.on_full); {synced} to disk before the answer (audit.sync); {key} (audit.key_file)"
    )
}

/// Tries to open a file for appending; removes it again if the attempt created it.
fn writable(check: &'static str, file: &Path, key: &str, report: &mut DoctorReport) {
    let existed = file.exists();
    let folder = ManagedFolder::resolve(file.parent().unwrap_or(Path::new(".")));
    let name = file.file_name().unwrap_or_default();
    let opened =
        folder.make(FileAccess::Private).and_then(|()| folder.append(name, FileAccess::Private));
    match opened {
        Ok(_) => {
            if !existed {
                // Failing to remove it only leaves an empty file.
                folder.remove(name).unwrap_or_default();
            }
            report.add(check, CheckStatus::Ok, format!("{} is writable", file.display()));
        }
        Err(error) => {
            let detail = format!("cannot write to {}: {error} (set {key})", file.display());
            report.add(check, CheckStatus::Fail, detail);
        }
    }
}

fn listener(server: &ServerConfig, report: &mut DoctorReport) {
    let listens = !server_is_on_pipes(server);
    let place = format!("{}:{}", server.host, server.port);
    let host = server.host.trim_start_matches('[').trim_end_matches(']');
    let unused = if listens { "" } else { " (not used: stdio is the only transport)" };
    match TcpListener::bind((host, server.port)) {
        Ok(_) => report.add("port", CheckStatus::Ok, format!("{place} is free{unused}")),
        Err(error) => {
            let mark = if listens { CheckStatus::Fail } else { CheckStatus::Warn };
            let what = match error.kind() {
                io::ErrorKind::AddrInUse => "is in use; choose another with --port".to_owned(),
                _ => format!("cannot be bound: {error}"),
            };
            report.add("port", mark, format!("{place} {what}{unused}"));
        }
    }
}

/// Whether stdio is the only transport.
fn server_is_on_pipes(server: &ServerConfig) -> bool {
    server.transports.iter().all(|way| *way == TransportKind::Stdio)
}

fn safety(config: &Config, report: &mut DoctorReport) {
    let ServerConfig { auth, host, .. } = &config.server;
    match config.check_serving() {
        Err(error) => report.add("auth", CheckStatus::Fail, error.to_string()),
        Ok(()) if auth.required => {
            let keys = auth.keys.iter().map(|key| key.name.as_str());
            let certified = auth.certificates.iter().map(|rule| rule.name.as_str());
            let issuers = config.server.oauth.iter().flat_map(|oauth| &oauth.issuers);
            let issuers = issuers.map(|issuer| issuer.issuer.as_str());
            let names: Vec<&str> = keys.chain(certified).chain(issuers).collect();
            report.add(
                "auth",
                CheckStatus::Ok,
                format!("required; accepted: {}", names.join(", ")),
            );
        }
        Ok(()) if server_is_on_pipes(&config.server) => {
            report.add("auth", CheckStatus::Ok, "not required; stdio is the only transport");
        }
        Ok(()) if config.server.binds_loopback() => {
            report.add(
                "auth",
                CheckStatus::Ok,
                format!("not required; {host} is reachable from this machine only"),
            );
        }
        // `check_serving` rejects everything else.
        Ok(()) => {
            let detail =
                format!("not required, and {host} is open to the network (server.allow_open)");
            report.add("auth", CheckStatus::Warn, detail);
        }
    }
    for key in auth.keys.iter().filter(|key| key.token.expose().len() < 16) {
        let detail =
            format!("the key {:?} is shorter than 16 characters and easy to guess", key.name);
        report.add("auth", CheckStatus::Warn, detail);
    }
    if config.server.cors.enabled && config.server.cors.origins.iter().any(|origin| origin == "*") {
        report.add(
            "origins",
            CheckStatus::Warn,
            "any web page may call this server (server.cors.origins is *)",
        );
    }
}

fn limits(config: &Config, report: &mut DoctorReport) {
    let limits = &config.limits;
    let rate = config.server.rate_limit.map_or("no rate limit".to_owned(), |rate| {
        let (requests, window) = (rate.requests, rate.window.as_millis());
        let stdio = if rate.holds_on_stdio { "" } else { " on the network" };
        format!("{requests} requests per {window} ms{stdio}")
    });
    let detail = format!(
        "{} bytes per message, {} bytes per page, {} ms per call, {rate}, {} calls in flight, {} sessions, {} streams",
        limits.message_bytes,
        limits.page_bytes,
        limits.tool_timeout.as_millis(),
        limits.calls_in_flight,
        limits.sessions,
        limits.streams,
    );
    report.add("limits", CheckStatus::Ok, detail);
    let own: Vec<String> = limits.tools.iter().map(|(name, own)| bounds(name, own)).collect();
    if !own.is_empty() {
        report.add("limits", CheckStatus::Ok, format!("per tool: {}", own.join("; ")));
    }
}

/// Describes the limits of one tool.
fn bounds(name: &str, own: &ToolLimitsConfig) -> String {
    let rate = own.rate_per_minute.map(|rate| format!("{rate} calls per minute per client"));
    let timeout = own.timeout.map(|timeout| format!("{} ms per call", timeout.as_millis()));
    let both: Vec<String> = rate.into_iter().chain(timeout).collect();
    format!("{name} {}", both.join(", "))
}

/// Reports what the policy allows docent to do.
fn policy(config: &Config, report: &mut DoctorReport) {
    let policy = &config.policy;
    let network = match policy.network.hosts.len() {
        0 => format!(
            "off (no hosts allowed); to allow one, add it to policy.network.hosts in {}",
            policy.network.setting
        ),
        1 => "1 host rule for docent's own tools".to_owned(),
        count => format!("{count} host rules for docent's own tools"),
    };
    report.add("network", CheckStatus::Ok, network);
    report.add("files", CheckStatus::Ok, denied_files(config));
    let rules = count(policy.tools.rules.len(), "rule");
    report.add("policy", CheckStatus::Ok, format!("{rules} in addition to the scopes of keys"));
    let (mark, detail) = match (policy.redaction.secrets, policy.redaction.hidden) {
        (true, true) => {
            (CheckStatus::Ok, "results have secrets masked and hidden characters visible")
        }
        (true, false) => {
            (CheckStatus::Warn, "hidden characters reach the model (policy.redaction.hidden)")
        }
        (false, true) => (CheckStatus::Warn, "secrets reach the model (policy.redaction.secrets)"),
        (false, false) => (CheckStatus::Warn, "secrets and hidden characters reach the model"),
    };
    report.add("redaction", mark, detail);
}

/// Checks certificates and issuers as serving would.
fn external_auth(config: &Config, report: &mut DoctorReport) {
    match (external_auth::tls(config), &config.server.tls) {
        (Ok(Some(loaded)), Some(tls)) => {
            let detail = format!("certificate {}", tls.certificate.display());
            report.add("tls", CheckStatus::Ok, detail);
            for warning in loaded.warnings() {
                report.add("tls", CheckStatus::Warn, warning);
            }
        }
        (Ok(_), _) => {
            let detail = "off; use a TLS proxy if the listener is reachable from other machines";
            report.add("tls", CheckStatus::Ok, detail);
        }
        (Err(error), _) => report.add("tls", CheckStatus::Fail, format!("{error:#}")),
    }
    if let Err(error) = external_auth::external_auth(config, &ExternalAuth::default()) {
        report.add("auth", CheckStatus::Fail, format!("{error:#}"));
    }
}

/// Describes the files inside the roots that are not served.
fn denied_files(config: &Config) -> String {
    let shown = config.show_json();
    let patterns = |key: &str| -> Vec<String> {
        let all = shown[key]["value"].as_array().into_iter().flatten();
        all.filter_map(|one| one.as_str().map(str::to_owned)).collect()
    };
    let own = match patterns("policy.filesystem.deny").as_slice() {
        [] => String::new(),
        own => format!(
            ", and {} from policy.filesystem.deny: {}",
            count(own.len(), "pattern"),
            own.join(", ")
        ),
    };
    let lifted = match patterns("policy.filesystem.allow").as_slice() {
        [] => String::new(),
        lifted => format!("; allowed nevertheless: {}", lifted.join(", ")),
    };
    format!(
        "not served: files that usually hold secrets (.env*, private keys, credentials){own}{lifted}"
    )
}

fn telemetry(config: &Config, report: &mut DoctorReport) {
    let Some(endpoint) = &config.telemetry.otlp_endpoint else { return };
    let host = endpoint.trim_start_matches("http://").split('/').next().unwrap_or_default();
    let host = if host.contains(':') { host.to_owned() } else { format!("{host}:80") };
    let reached = host.to_socket_addrs().and_then(|mut addresses| {
        let address = addresses.next().ok_or(io::ErrorKind::AddrNotAvailable)?;
        TcpStream::connect_timeout(&address, Duration::from_secs(1))
    });
    match reached {
        Ok(_) => report.add("telemetry", CheckStatus::Ok, format!("{endpoint} is listening")),
        Err(error) => {
            report.add("telemetry", CheckStatus::Warn, format!("cannot reach {endpoint}: {error}"));
        }
    }
}

/// Reports what the kernel offers, which controls are active while serving, and whether strict mode would start.
fn sandbox(config: &Config, offered: &SandboxSupport, report: &mut DoctorReport) {
    let kernel = match offered.landlock {
        0 => "no Landlock in this kernel".to_owned(),
        abi => format!("Landlock ABI {abi}"),
    };
    let seccomp = if offered.seccomp { "seccomp" } else { "no seccomp" };
    let wrap = offered.bubblewrap.as_ref();
    let wrap = wrap.map_or("no bubblewrap".to_owned(), |path| path.display().to_string());
    report.add("sandbox", CheckStatus::Ok, format!("{kernel}, {seccomp}, {wrap}"));
    let (confinement, mode) =
        (crate::sandbox::own_confinement(config), crate::sandbox::mode(config));
    match docent_sandbox::plan(&confinement, mode, offered) {
        Ok(planned) => {
            for SandboxControl { name, state, detail } in planned.controls {
                let (mark, state) = match state {
                    ControlState::InForce => (CheckStatus::Ok, "active"),
                    ControlState::NotOffered => (CheckStatus::Warn, "not available"),
                    // The control is off, not what it would restrict.
                    ControlState::Off => (CheckStatus::Warn, "not restricted"),
                };
                let detail = format!("{name}: {state} while serving ({mode}); {detail}");
                report.add("sandbox", mark, detail);
            }
        }
        Err(error) => report.add("sandbox", CheckStatus::Fail, error.to_string()),
    }
    if mode != ConfinementMode::Strict {
        let strict = docent_sandbox::plan(&confinement, ConfinementMode::Strict, offered);
        let detail = match strict {
            Ok(_) => "strict mode would start here".to_owned(),
            Err(error) => format!("strict mode would refuse to start: {error}"),
        };
        report.add("sandbox", CheckStatus::Ok, detail);
    }
    if config.policy.sandbox.bubblewrap && mode != ConfinementMode::Off {
        let (mark, detail) = bubblewrap(config, mode);
        report.add("sandbox", mark, format!("bubblewrap: {detail}"));
    }
}

/// Checks whether programs start in bubblewrap. It may be installed and still not work: some systems don't allow
/// unprivileged user namespaces.
fn bubblewrap(config: &Config, mode: ConfinementMode) -> (CheckStatus, String) {
    // The one program that is certainly installed.
    let launch = std::env::current_exe().map(|docent| {
        let launch =
            Launch::new(docent, ["--version"], crate::sandbox::program_confinement(config), mode);
        Launch { bubblewrap: true, ..launch }
    });
    let launch = launch.map_err(SandboxError::NoLauncher);
    let mut ready = match launch.and_then(|launch| launch.command()) {
        Ok(ready) => ready,
        Err(error) => return (CheckStatus::Fail, error.to_string()),
    };
    if let Some(missing) = ready.report.missing().find(|control| control.name == "bubblewrap") {
        return (CheckStatus::Warn, format!("{}; other programs start without it", missing.detail));
    }
    match ready.command.stdin(Stdio::null()).output() {
        Ok(ran) if ran.status.success() => {
            (CheckStatus::Ok, "active for other programs; a test program started in it".to_owned())
        }
        Ok(ran) => {
            let words = String::from_utf8_lossy(&ran.stderr);
            (CheckStatus::Fail, format!("programs don't start in it: {}", words.trim()))
        }
        Err(error) => (CheckStatus::Fail, format!("cannot start it: {error}")),
    }
}
