//! Checks the sandboxes of downstream servers, and what the servers can still do.

use super::{CheckStatus, DoctorReport, format_names};
use crate::{
    config::{Config, ConfigInputs, ConfiguredServer, SandboxLevel},
    sandbox::{self, GuardedAccess},
    servers,
};
use docent_net::Url;
use docent_registry::EntryTransport;
use docent_sandbox::{Confinement, ConfinementMode, PortSet, SandboxSupport};
use docent_screen::one_line;
use std::path::Path;

/// Adds a line per server, and what all servers together can reach and change.
pub(super) fn examine(
    config: &Config,
    inputs: &ConfigInputs,
    offered: &SandboxSupport,
    report: &mut DoctorReport,
) {
    for entry in &config.servers {
        let (mark, detail) = server(config, entry, offered);
        report.add("server", mark, format!("{}: {detail}", entry.server.name));
    }
    for name in unreadable_approvals(config) {
        let detail = format!(
            "{name}: the approval file is unreadable, and its tools are held back: list them with docent servers test {name}, and approve them with docent servers approve {name}"
        );
        report.add("server", CheckStatus::Warn, detail);
    }
    for odd in blocked_tools(config) {
        report.add("server", CheckStatus::Warn, odd);
    }
    for odd in ineffective_sandbox_settings(config) {
        report.add("server", CheckStatus::Warn, odd);
    }
    network(config, report);
    let (allowed, denied) = (&config.policy.commands, &config.policy.denied_commands);
    let allowed = match allowed.as_slice() {
        [] => "every program".to_owned(),
        some => some.join(", "),
    };
    let denied = match denied.as_slice() {
        [] => String::new(),
        some => format!(" but {}", some.join(", ")),
    };
    let detail = format!("{allowed}{denied} can be started as a server (policy.downstream)");
    report.add("programs", CheckStatus::Ok, detail);
    for exposed in sandbox::exposed_files(config, inputs) {
        report.add("configuration", CheckStatus::Warn, exposed.to_string());
    }
}

/// Returns servers whose approval file is unreadable.
fn unreadable_approvals(config: &Config) -> impl Iterator<Item = &str> {
    let memory = servers::approval_memory(config);
    let used = config.servers.iter().filter(|entry| !entry.of_a_project && !entry.server.disabled);
    let names = used.map(|entry| entry.server.name.as_str());
    names.filter(move |name| memory.load_any(name).is_some_and(|known| known.doubted))
}

/// Describes tools that are hidden from clients because they need approval or are unusable.
fn blocked_tools(config: &Config) -> Vec<String> {
    let memory = servers::approval_memory(config);
    let used = config.servers.iter().filter(|entry| !entry.of_a_project && !entry.server.disabled);
    let mut all = Vec::new();
    for entry in used {
        let name = &entry.server.name;
        let Some(known) = memory.load(&servers::spec_of(entry, config)) else { continue };
        let held: Vec<_> = known.undecided().map(|(tool, ..)| one_line(tool)).collect();
        if !held.is_empty() {
            all.push(format!(
                "{name}: held back: {}; review and approve with docent servers approve {name}",
                held.join(", ")
            ));
        }
        for (tool, why) in &known.left_out {
            all.push(format!("{name}: left out: {}: {}", one_line(tool), one_line(why)));
        }
    }
    all
}

/// Returns the servers that are programs, with their sandboxes. Servers on the network have none.
fn sandboxed_programs(
    config: &Config,
) -> impl Iterator<Item = (&ConfiguredServer, Option<&Path>, Confinement, ConfinementMode)> {
    let used = config.servers.iter().filter(|entry| !entry.of_a_project && !entry.server.disabled);
    let places = sandbox::changeable_paths(config, &[]);
    used.filter_map(move |entry| {
        let EntryTransport::Program { cwd, .. } = &entry.server.way else { return None };
        let cwd = cwd.as_deref().map(Path::new);
        let (confined, mode) =
            sandbox::of_a_server(config, &entry.extra, cwd, &GuardedAccess::default(), &places);
        Some((entry, cwd, confined, mode))
    })
}

/// Describes sandbox settings that have no effect.
fn ineffective_sandbox_settings(config: &Config) -> Vec<String> {
    let held = sandboxed_programs(config).filter(|(_, _, _, mode)| *mode != ConfinementMode::Off);
    let mut all: Vec<String> = held
        .flat_map(|(entry, cwd, confined, _)| {
            sandbox::left_out_paths(config, &entry.server.name, &entry.extra, cwd, &confined)
        })
        .collect();
    all.sort();
    all.dedup();
    all
}

/// Reports which programs may use the network, and on which ports.
fn network(config: &Config, report: &mut DoctorReport) {
    let (mut wholly, mut by_port) = (Vec::new(), Vec::new());
    for (entry, _, confined, mode) in sandboxed_programs(config) {
        let name = entry.server.name.as_str();
        let connect = if mode == ConfinementMode::Off { PortSet::Any } else { confined.connect };
        match connect {
            PortSet::Any => wholly.push(name),
            PortSet::Some(_) => by_port.push(name),
            PortSet::None => {}
        }
    }
    if !wholly.is_empty() {
        let detail = format!(
            "{} the whole network, not only allowed hosts: set `sandbox = {{ network = false }}` in an entry to block it",
            format_names(&wholly, "the server %s can use", "the servers %s can use")
        );
        report.add("network", CheckStatus::Ok, detail);
    }
    if !by_port.is_empty() {
        let detail = format!(
            "{} any host, but only on the ports of policy.network: the kernel filters by port, not by host",
            format_names(&by_port, "the server %s can reach", "the servers %s can reach")
        );
        report.add("network", CheckStatus::Ok, detail);
    }
}

/// Describes a server's sandbox, what it can still do, and what strict would block.
fn server(
    config: &Config,
    entry: &ConfiguredServer,
    offered: &SandboxSupport,
) -> (CheckStatus, String) {
    if entry.of_a_project {
        let why = "not started: set by a project file, which could come from an untrusted repo";
        return (CheckStatus::Warn, why.to_owned());
    }
    if entry.server.disabled {
        return (CheckStatus::Ok, "disabled".to_owned());
    }
    let cwd = match &entry.server.way {
        EntryTransport::Program { cwd, .. } => cwd.as_deref().map(Path::new),
        EntryTransport::Remote { url, .. } => {
            // The rest of an address may contain a key.
            let host = Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
            let host = host.unwrap_or_else(|| "an address".to_owned());
            return (CheckStatus::Ok, format!("at {host}, outside docent's sandbox"));
        }
    };
    let level = sandbox::level(config, &entry.extra);
    if level == SandboxLevel::Off {
        let what = "no sandbox: it can read credentials and write wherever you can; set `sandbox = \"guarded\"` in its entry";
        return (CheckStatus::Warn, what.to_owned());
    }
    let places = sandbox::changeable_paths(config, &[]);
    let (confined, mode) =
        sandbox::of_a_server(config, &entry.extra, cwd, &GuardedAccess::default(), &places);
    if mode == ConfinementMode::Off {
        let what = "no sandbox (policy.sandbox.mode is off): it can read credentials and write wherever you can";
        return (CheckStatus::Warn, what.to_owned());
    }
    let (mark, holds) = match docent_sandbox::plan(&confined, mode, offered) {
        Ok(planned) => {
            let missing: Vec<&str> = planned.missing().map(|control| control.name).collect();
            match missing.as_slice() {
                [] => (CheckStatus::Ok, "all controls active".to_owned()),
                some => (CheckStatus::Warn, format!("not available here: {}", some.join(", "))),
            }
        }
        Err(error) => (CheckStatus::Fail, format!("it would not start: {error}")),
    };
    let network = match &confined.connect {
        PortSet::Any => "uses the network".to_owned(),
        PortSet::None => "has no network".to_owned(),
        PortSet::Some(ports) => format!("uses the network on the ports {ports:?}"),
    };
    let mut named = config.policy.sandbox.write.clone();
    named.extend(sandbox::server_write_paths(config, &entry.extra, cwd));
    let named: Vec<String> = named.iter().map(|path| path.display().to_string()).collect();
    let named = named.join(", ");
    let detail = match (level, named.as_str()) {
        (SandboxLevel::Strict, "") => format!("strict; {holds}; it reads the roots and {network}"),
        (SandboxLevel::Strict, named) => {
            format!("strict; {holds}; it reads the roots, writes to {named}, and {network}")
        }
        (_, named) => {
            let named = if named.is_empty() { String::new() } else { format!(" and to {named}") };
            format!(
                "guarded; {holds}; it reads all but credentials, writes to the roots, temporary folders and caches{named}, \
                 and {network}; strict would allow only reading the roots, and the network ports in the policy"
            )
        }
    };
    (mark, detail)
}
