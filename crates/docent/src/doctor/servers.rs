//! What holds servers behind docent, and what they may do all the same.

use super::{Mark, Report, words};
use crate::{
    config::{Config, Inputs, ServerEntry, Tightness as Level},
    sandbox::{self, Open},
};
use docent_net::Url;
use docent_registry::Way;
use docent_sandbox::{Mode, Offered, Ports};
use std::path::Path;

/// A line for each server, and what all of them together may reach and change.
pub(super) fn examine(config: &Config, inputs: &Inputs, offered: &Offered, report: &mut Report) {
    for entry in &config.servers {
        let (mark, detail) = server(config, entry, offered);
        report.add("server", mark, format!("{}: {detail}", entry.server.name));
    }
    let networked: Vec<&str> = used(config)
        .filter(|entry| has_network(config, entry))
        .map(|entry| entry.server.name.as_str())
        .collect();
    if !networked.is_empty() {
        let detail = format!(
            "{} the network, whatever hosts are named: `sandbox = {{ network = false }}` in an entry closes it",
            words(&networked, "the server %s has", "the servers %s have")
        );
        report.add("network", Mark::Ok, detail);
    }
    let (allowed, denied) = (&config.policy.commands, &config.policy.denied_commands);
    let allowed = match allowed.as_slice() {
        [] => "every program".to_owned(),
        some => some.join(", "),
    };
    let denied = match denied.as_slice() {
        [] => String::new(),
        some => format!(" but {}", some.join(", ")),
    };
    let detail = format!("{allowed}{denied} may be started as a server (policy.downstream)");
    report.add("programs", Mark::Ok, detail);
    for exposed in sandbox::exposed(config, inputs) {
        report.add("configuration", Mark::Warn, exposed.to_string());
    }
}

/// Those that may be started or connected to.
fn used(config: &Config) -> impl Iterator<Item = &ServerEntry> {
    config.servers.iter().filter(|entry| !entry.of_a_project && !entry.server.disabled)
}

/// Whether a program may use the network. A server that is on it already is not asked.
fn has_network(config: &Config, entry: &ServerEntry) -> bool {
    let Way::Program { cwd, .. } = &entry.server.way else { return false };
    let cwd = cwd.as_deref().map(Path::new);
    let (confined, mode) = sandbox::of_a_server(config, &entry.extra, cwd, &Open::default());
    mode == Mode::Off || confined.connect != Ports::None
}

/// How one is held, what that leaves it, and what strict would close.
fn server(config: &Config, entry: &ServerEntry, offered: &Offered) -> (Mark, String) {
    if entry.of_a_project {
        let why = "a project's own file names it, which may be somebody else's: it is not started";
        return (Mark::Warn, why.to_owned());
    }
    if entry.server.disabled {
        return (Mark::Ok, "disabled".to_owned());
    }
    let cwd = match &entry.server.way {
        Way::Program { cwd, .. } => cwd.as_deref().map(Path::new),
        Way::Remote { url, .. } => {
            // The rest of an address may hold a key.
            let host = Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
            let host = host.unwrap_or_else(|| "an address".to_owned());
            return (Mark::Ok, format!("at {host}, where docent's sandbox does not reach"));
        }
    };
    let level = sandbox::level(config, &entry.extra);
    if level == Level::Off {
        let what = "off: it reads credentials and writes wherever you may; write `sandbox = \"guarded\"` in its entry";
        return (Mark::Warn, what.to_owned());
    }
    let (confined, mode) = sandbox::of_a_server(config, &entry.extra, cwd, &Open::default());
    if mode == Mode::Off {
        let what =
            "off, because policy.sandbox.mode is: it reads credentials and writes wherever you may";
        return (Mark::Warn, what.to_owned());
    }
    let (mark, holds) = match docent_sandbox::plan(&confined, mode, offered) {
        Ok(planned) => {
            let missing: Vec<&str> = planned.missing().map(|control| control.name).collect();
            match missing.as_slice() {
                [] => (Mark::Ok, "in force around it is all that is asked for".to_owned()),
                some => (Mark::Warn, format!("not offered here: {}", some.join(", "))),
            }
        }
        Err(error) => (Mark::Fail, format!("it would not start: {error}")),
    };
    let network = match &confined.connect {
        Ports::Any => "uses the network".to_owned(),
        Ports::None => "has no network".to_owned(),
        Ports::Some(ports) => format!("uses the network on the ports {ports:?}"),
    };
    let detail = match level {
        Level::Strict => format!("strict; {holds}; it reads the roots and {network}"),
        _ => format!(
            "guarded; {holds}; it reads all but credentials, writes to the roots, temporary folders and caches, and {network}; \
             strict would leave it the roots to read, and of the network the ports that the policy names"
        ),
    };
    (mark, detail)
}
