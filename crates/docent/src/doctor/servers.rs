//! Checks the sandboxes of downstream servers, and what the servers can still do.

use super::{Mark, Report, words};
use crate::{
    config::{Config, Inputs, ServerEntry, Tightness as Level},
    sandbox::{self, Open},
    servers,
};
use docent_net::Url;
use docent_registry::Way;
use docent_sandbox::{Confinement, Mode, Offered, Ports};
use docent_screen::one_line;
use std::path::Path;

/// Adds a line per server, and what all servers together can reach and change.
pub(super) fn examine(config: &Config, inputs: &Inputs, offered: &Offered, report: &mut Report) {
    for entry in &config.servers {
        let (mark, detail) = server(config, entry, offered);
        report.add("server", mark, format!("{}: {detail}", entry.server.name));
    }
    for name in doubted(config) {
        let detail = format!(
            "{name}: the approval file is unreadable, and its tools are held back: list them with docent servers test {name}, and approve them with docent servers approve {name}"
        );
        report.add("server", Mark::Warn, detail);
    }
    for odd in kept_from_clients(config) {
        report.add("server", Mark::Warn, odd);
    }
    for odd in left_out(config) {
        report.add("server", Mark::Warn, odd);
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
    report.add("programs", Mark::Ok, detail);
    for exposed in sandbox::exposed(config, inputs) {
        report.add("configuration", Mark::Warn, exposed.to_string());
    }
}

/// Returns servers whose approval file is unreadable.
fn doubted(config: &Config) -> impl Iterator<Item = &str> {
    let memory = servers::memory(config);
    let used = config.servers.iter().filter(|entry| !entry.of_a_project && !entry.server.disabled);
    let names = used.map(|entry| entry.server.name.as_str());
    names.filter(move |name| memory.kept(name).is_some_and(|known| known.doubted))
}

/// Describes tools that are hidden from clients because they need approval or are unusable.
fn kept_from_clients(config: &Config) -> Vec<String> {
    let memory = servers::memory(config);
    let used = config.servers.iter().filter(|entry| !entry.of_a_project && !entry.server.disabled);
    let mut all = Vec::new();
    for entry in used {
        let name = &entry.server.name;
        let Some(known) = memory.load(&servers::one(entry, config)) else { continue };
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
fn held(config: &Config) -> impl Iterator<Item = (&ServerEntry, Option<&Path>, Confinement, Mode)> {
    let used = config.servers.iter().filter(|entry| !entry.of_a_project && !entry.server.disabled);
    let places = sandbox::changeable(config, &[]);
    used.filter_map(move |entry| {
        let Way::Program { cwd, .. } = &entry.server.way else { return None };
        let cwd = cwd.as_deref().map(Path::new);
        let (confined, mode) =
            sandbox::of_a_server(config, &entry.extra, cwd, &Open::default(), &places);
        Some((entry, cwd, confined, mode))
    })
}

/// Describes sandbox settings that have no effect.
fn left_out(config: &Config) -> Vec<String> {
    let held = held(config).filter(|(_, _, _, mode)| *mode != Mode::Off);
    let mut all: Vec<String> = held
        .flat_map(|(entry, cwd, confined, _)| {
            sandbox::left_out(config, &entry.server.name, &entry.extra, cwd, &confined)
        })
        .collect();
    all.sort();
    all.dedup();
    all
}

/// Reports which programs may use the network, and on which ports.
fn network(config: &Config, report: &mut Report) {
    let (mut wholly, mut by_port) = (Vec::new(), Vec::new());
    for (entry, _, confined, mode) in held(config) {
        let name = entry.server.name.as_str();
        let connect = if mode == Mode::Off { Ports::Any } else { confined.connect };
        match connect {
            Ports::Any => wholly.push(name),
            Ports::Some(_) => by_port.push(name),
            Ports::None => {}
        }
    }
    if !wholly.is_empty() {
        let detail = format!(
            "{} the whole network, not only allowed hosts: set `sandbox = {{ network = false }}` in an entry to block it",
            words(&wholly, "the server %s can use", "the servers %s can use")
        );
        report.add("network", Mark::Ok, detail);
    }
    if !by_port.is_empty() {
        let detail = format!(
            "{} any host, but only on the ports of policy.network: the kernel filters by port, not by host",
            words(&by_port, "the server %s can reach", "the servers %s can reach")
        );
        report.add("network", Mark::Ok, detail);
    }
}

/// Describes a server's sandbox, what it can still do, and what strict would block.
fn server(config: &Config, entry: &ServerEntry, offered: &Offered) -> (Mark, String) {
    if entry.of_a_project {
        let why = "not started: set by a project file, which could come from an untrusted repo";
        return (Mark::Warn, why.to_owned());
    }
    if entry.server.disabled {
        return (Mark::Ok, "disabled".to_owned());
    }
    let cwd = match &entry.server.way {
        Way::Program { cwd, .. } => cwd.as_deref().map(Path::new),
        Way::Remote { url, .. } => {
            // The rest of an address may contain a key.
            let host = Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
            let host = host.unwrap_or_else(|| "an address".to_owned());
            return (Mark::Ok, format!("at {host}, outside docent's sandbox"));
        }
    };
    let level = sandbox::level(config, &entry.extra);
    if level == Level::Off {
        let what = "no sandbox: it can read credentials and write wherever you can; set `sandbox = \"guarded\"` in its entry";
        return (Mark::Warn, what.to_owned());
    }
    let places = sandbox::changeable(config, &[]);
    let (confined, mode) =
        sandbox::of_a_server(config, &entry.extra, cwd, &Open::default(), &places);
    if mode == Mode::Off {
        let what =
            "no sandbox (policy.sandbox.mode is off): it can read credentials and write wherever you can";
        return (Mark::Warn, what.to_owned());
    }
    let (mark, holds) = match docent_sandbox::plan(&confined, mode, offered) {
        Ok(planned) => {
            let missing: Vec<&str> = planned.missing().map(|control| control.name).collect();
            match missing.as_slice() {
                [] => (Mark::Ok, "all controls active".to_owned()),
                some => (Mark::Warn, format!("not available here: {}", some.join(", "))),
            }
        }
        Err(error) => (Mark::Fail, format!("it would not start: {error}")),
    };
    let network = match &confined.connect {
        Ports::Any => "uses the network".to_owned(),
        Ports::None => "has no network".to_owned(),
        Ports::Some(ports) => format!("uses the network on the ports {ports:?}"),
    };
    let mut named = config.policy.sandbox.write.clone();
    named.extend(sandbox::own_writes(config, &entry.extra, cwd));
    let named: Vec<String> = named.iter().map(|path| path.display().to_string()).collect();
    let named = named.join(", ");
    let detail = match (level, named.as_str()) {
        (Level::Strict, "") => format!("strict; {holds}; it reads the roots and {network}"),
        (Level::Strict, named) => {
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
