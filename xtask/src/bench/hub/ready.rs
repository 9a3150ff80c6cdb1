//! How soon a gateway in front of many servers answers `tools/list`, the first time and with its cache.

use super::{
    HubBench,
    gateway::{Gateway, GatewayTransport, InstalledGateway},
    gateway_home::{BenchDownstream, BenchExposure, GatewayHome},
    listing,
};
use crate::bench::{
    message::ECHO,
    peer::eprint_step,
    pipe::PipeServer,
    repo::table::{RepoTarget, TreeSection},
};
use anyhow::Result;
use serde_json::Value;
use std::time::{Duration, Instant};

const SERVER_COUNT: usize = 20;
const LISTING_TIMEOUT: Duration = Duration::from_mins(1);
const RUNS: [&str; 2] = ["first run", "second run"];

/// Adds the section.
pub(super) fn measure(bench: &HubBench<'_>) -> TreeSection {
    let mut section = TreeSection::new(
        format!("Ready: {SERVER_COUNT} servers, over stdio"),
        Gateway::Docent.display_name(),
    );
    section.describe(
        "from exec to the first answer of `tools/list`, and to the first with the tools of all servers; a second run \
         has the cache of the first"
            .to_owned(),
    );
    let mut left = Vec::new();
    for gateway in bench.gateways.iter().filter(|gateway| gateway.has(GatewayTransport::Stdio)) {
        match bench.problem(*gateway) {
            Some(problem) => section.lack(gateway.display_name(), problem),
            None => left.push(*gateway),
        }
    }
    for round in 1..=bench.rounds {
        eprint_step(&format!("round {round} of {}: ready", bench.rounds));
        left.retain(|gateway| {
            let Some(installed) = bench.installed(*gateway) else { return false };
            match turn(bench, installed) {
                Ok(found) => add(&mut section, gateway.display_name(), found),
                Err(problem) => section.lack(gateway.display_name(), &format!("{problem:#}")),
            }
            // A gateway that failed is not tried again.
            !section.lacks(gateway.display_name())
        });
    }
    section
}

/// Milliseconds to the first list and to the complete one, for each run.
type ReadyTimes = [(f64, f64); RUNS.len()];

fn turn(bench: &HubBench<'_>, gateway: &InstalledGateway<'_>) -> Result<ReadyTimes> {
    let place =
        GatewayHome::new(BenchDownstream::many(&bench.echo, SERVER_COUNT), BenchExposure::Direct)?;
    let mut found = [(0.0, 0.0); RUNS.len()];
    for run in &mut found {
        let began = Instant::now();
        let (mut server, _) = PipeServer::start(gateway.on_pipes(&place))?;
        let (first, last) = match listing::until(&mut server, LISTING_TIMEOUT, is_whole) {
            Ok((_, first, last)) => (first, last),
            Err(problem) => return Err(server.explain(problem)),
        };
        let milliseconds = |at: Instant| at.duration_since(began).as_secs_f64() * 1e3;
        *run = (milliseconds(first), milliseconds(last));
        server.end()?;
    }
    Ok(found)
}

fn is_whole(tools: &[Value]) -> bool {
    tools.iter().filter(|tool| listing::name(tool).ends_with(ECHO)).count() >= SERVER_COUNT
}

fn add(section: &mut TreeSection, subject: &str, found: ReadyTimes) {
    let ours = subject == Gateway::Docent.display_name();
    for (run, (first, whole)) in RUNS.into_iter().zip(found) {
        let aim = if ours && run != RUNS[0] { Some(RepoTarget::AtMost(30.0)) } else { None };
        section.add(&format!("{run}, first list (ms)"), subject, aim, first);
        section.add(&format!("{run}, whole list (ms)"), subject, aim, whole);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_complete_list_has_a_tool_of_each_server() {
        let mut tools: Vec<Value> =
            (1..SERVER_COUNT).map(|number| json!({"name": format!("s{number}__echo")})).collect();
        tools.push(json!({"name": "search_code"}));
        assert!(!is_whole(&tools));
        tools.push(json!({"name": "s0_echo"}));
        assert!(is_whole(&tools));
    }

    #[test]
    fn the_second_run_has_the_target() {
        let mut section = TreeSection::new("Ready", "docent");
        add(&mut section, "docent", [(40.0, 900.0), (20.0, 31.0)]);
        let text = section.to_string();
        for row in [
            "| first run, first list (ms) | docent | 40.0 | 40.0 – 40.0 | 1 | 1.00 |  |",
            "| second run, first list (ms) | docent | 20.0 | 20.0 – 20.0 | 1 | 1.00 | ≤ 30: yes |",
            "| second run, whole list (ms) | docent | 31.0 | 31.0 – 31.0 | 1 | 1.00 | ≤ 30: no |",
        ] {
            assert!(text.contains(row), "{text}");
        }
    }
}
