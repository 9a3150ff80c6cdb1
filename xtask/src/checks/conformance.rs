//! The steps that run the protocol's conformance suite: server scenarios against the fixture server, security
//! scenarios against docent itself, and its client scenarios against docent's hub. Results must not fall below the floors.

use super::{CheckContext, Npm, tally};
use crate::{
    process::{self, BackgroundProcess, OutputMode},
    report::CheckCounts,
};
use anyhow::{Context as _, Result, anyhow, ensure};
use serde_json::Value;
use std::{fs, process::Command, time::Duration};

const FLOORS: &str = "tests/conformance/floor.json";
const SUITE: &str = "@modelcontextprotocol/conformance/dist/index.js";
const START_LIMIT: Duration = Duration::from_secs(20);
const RUN_LIMIT: Duration = Duration::from_mins(10);
const BUILD_LIMIT: Duration = Duration::from_hours(1);

/// The revisions, with the suite's arguments for each.
const RUNS: [(&str, &[&str]); 3] = [
    ("2025-06-18", &["--suite", "all", "--spec-version", "2025-06-18"]),
    ("2025-11-25", &["--suite", "all", "--spec-version", "2025-11-25"]),
    ("2026-07-28", &["--requirements", "2026-07-28"]),
];

/// The suite's access scenarios for servers: foreign Host and Origin, headers that disagree with the body, and
/// expired sessions. Its authorization scenarios are for clients and for authorization servers, and docent is
/// neither. The fixture passes its own in [`RUNS`]; these need none of the fixture's tools.
const SECURITY: [(&str, &str); 4] = [
    ("dns-rebinding-protection", "2025-11-25"),
    ("dns-rebinding-protection", "2026-07-28"),
    ("http-header-validation", "2026-07-28"),
    ("server-session-lifecycle", "2025-11-25"),
];
/// The combined floor of the [`SECURITY`] scenarios.
const SECURITY_FLOOR: &str = "docent";

/// The revisions of the client scenarios, authorization included, and their floors.
const CLIENT_RUNS: [(&str, &str); 2] =
    [("2025-11-25", "client-2025-11-25"), ("2026-07-28", "client-2026-07-28")];
/// Builds an example of the hub. `--workspace` avoids compiling crates again with fewer features.
const CLIENT: [&str; 3] = ["--workspace", "--example", "conformance_client"];

/// The fewest passed and the most failed checks that are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ConformanceFloor {
    passed: usize,
    failed: usize,
}

pub(super) fn run(context: &CheckContext<'_>) -> Result<CheckCounts> {
    let npm = context.npm()?;
    let floors = floors(context)?;
    let fixture = context.release_binary("conformance")?;
    let mut total = Vec::new();
    for (revision, arguments) in RUNS {
        let floor = floor(&floors, revision)?;
        let port = process::free_port()?;
        let mut server = BackgroundProcess::listening(
            Command::new(&fixture).args(["--port", &port.to_string()]),
            port,
            START_LIMIT,
        )?;
        let results = context.workspace.tools().join("conformance-results").join(revision);
        let mut suite = npm.script(&npm.modules().join(SUITE));
        suite.args(["server", "--url", &format!("http://127.0.0.1:{port}/mcp")]).args(arguments);
        suite.arg("-o").arg(&results);
        let done = process::run(&mut suite, RUN_LIMIT, OutputMode::Kept)?;
        let log = server.end();
        let Some(counts) = tally::conformance(&done.text) else {
            let said = process::tail(&done.text, 20);
            return Err(anyhow!(
                "{revision}: the suite ended without a total ({}):\n{said}",
                done.ending
            ));
        };
        for line in done.text.lines().filter(|line| line.starts_with('✗')) {
            println!("{revision}: {line}");
        }
        let (counts, verdict) = judge(counts, floor);
        println!("{revision}: {verdict}; details in {}", context.workspace.display_path(&results));
        if counts.failed > 0 {
            println!("the fixture's last lines:\n{}", process::tail(&log, 20));
        }
        total.push(counts);
    }
    let (counts, verdict) = judge(security(context, &npm)?, floor(&floors, SECURITY_FLOOR)?);
    println!("{SECURITY_FLOOR}: {verdict}");
    total.push(counts);
    Ok(total.into_iter().sum())
}

/// Runs the suite's client scenarios. The suite starts the client itself, once per scenario.
pub(super) fn run_client(context: &CheckContext<'_>) -> Result<CheckCounts> {
    let npm = context.npm()?;
    let floors = floors(context)?;
    let mut cargo = context.workspace.cargo(["build"].into_iter().chain(CLIENT));
    let built = process::run(&mut cargo, BUILD_LIMIT, OutputMode::Shown)?;
    ensure!(built.success, "building the client failed ({})", built.ending);
    let client = context.workspace.binary("debug/examples", "conformance_client");
    let mut total = Vec::new();
    for (revision, name) in CLIENT_RUNS {
        let floor = floor(&floors, name)?;
        let results = context.workspace.tools().join("conformance-results").join(name);
        let mut suite = npm.script(&npm.modules().join(SUITE));
        suite.args(["client", "--suite", "all", "--spec-version", revision]);
        // The suite runs the command in a shell.
        suite.arg("--command").arg(process::shell_word(&client)).arg("-o").arg(&results);
        let done = process::run(&mut suite, RUN_LIMIT, OutputMode::Kept)?;
        let Some(counts) = tally::conformance(&done.text) else {
            let said = process::tail(&done.text, 20);
            return Err(anyhow!(
                "{name}: the suite ended without a total ({}):\n{said}",
                done.ending
            ));
        };
        for line in done.text.lines().filter(|line| line.starts_with('✗')) {
            println!("{name}: {line}");
        }
        let (counts, verdict) = judge(counts, floor);
        println!("{name}: {verdict}; details in {}", context.workspace.display_path(&results));
        total.push(counts);
    }
    Ok(total.into_iter().sum())
}

fn floors(context: &CheckContext<'_>) -> Result<Value> {
    let text =
        fs::read_to_string(context.path(FLOORS)).with_context(|| format!("reading {FLOORS}"))?;
    serde_json::from_str(&text).with_context(|| format!("reading {FLOORS}"))
}

/// Runs the [`SECURITY`] scenarios against the release binary.
fn security(context: &CheckContext<'_>, npm: &Npm) -> Result<CheckCounts> {
    let project = tempfile::tempdir().context("making a folder for the project")?;
    let port = process::free_port()?;
    let mut docent = Command::new(context.release_binary("docent")?);
    docent.args(["serve", "--transport", "http", "--rate-limit", "0", "--port"]);
    docent.arg(port.to_string()).arg("--root").arg(project.path());
    docent.current_dir(project.path()).env("HOME", project.path());
    let _server = BackgroundProcess::listening(&mut docent, port, START_LIMIT)?;
    let mut total = Vec::new();
    for (scenario, revision) in SECURITY {
        let mut suite = npm.script(&npm.modules().join(SUITE));
        suite.args(["server", "--url", &format!("http://127.0.0.1:{port}/mcp")]);
        suite.args(["--scenario", scenario, "--spec-version", revision]);
        let done = process::run(&mut suite, RUN_LIMIT, OutputMode::Kept)?;
        let Some(counts) = tally::scenario(&done.text) else {
            let said = process::tail(&done.text, 20);
            return Err(anyhow!("{scenario} {revision}: no result ({}):\n{said}", done.ending));
        };
        if counts.failed > 0 {
            println!("{scenario} {revision}:\n{}", process::tail(&done.text, 40));
        }
        println!("{scenario} {revision}: {counts}");
        total.push(counts);
    }
    Ok(total.into_iter().sum())
}

fn floor(floors: &Value, revision: &str) -> Result<ConformanceFloor> {
    let number = |key: &str| {
        let found = floors[revision][key].as_u64().and_then(|number| usize::try_from(number).ok());
        found.with_context(|| format!("{FLOORS} has no number at {revision}.{key}"))
    };
    Ok(ConformanceFloor { passed: number("passed")?, failed: number("failed")? })
}

/// Failed checks up to the floor are known and count as skipped; falling below it is a failure even if no check failed.
fn judge(found: CheckCounts, floor: ConformanceFloor) -> (CheckCounts, String) {
    let CheckCounts { passed, failed, .. } = found;
    let known = failed.min(floor.failed);
    let mut counts = CheckCounts { passed, failed: failed - known, skipped: known };
    let mut verdict = format!("{found} (floor {} passed, {} failed)", floor.passed, floor.failed);
    if passed < floor.passed {
        counts = counts.with_status(false);
        verdict.push_str(": fewer passed than the floor");
    } else if passed > floor.passed || failed < floor.failed {
        verdict.push_str(": better than the floor; raise it");
    }
    (counts, verdict)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_compared_with_the_floor() {
        let check =
            |passed, failed, floor: (usize, usize), expected: (usize, usize, usize), word: &str| {
                let floor = ConformanceFloor { passed: floor.0, failed: floor.1 };
                let (counts, verdict) = judge(CheckCounts { passed, failed, skipped: 0 }, floor);
                assert_eq!((counts.passed, counts.failed, counts.skipped), expected, "{verdict}");
                assert!(verdict.contains(word), "{verdict}");
            };
        check(56, 0, (56, 0), (56, 0, 0), "56 passed, 0 failed");
        check(55, 0, (56, 0), (55, 1, 0), "fewer");
        check(55, 1, (56, 0), (55, 1, 0), "fewer");
        check(57, 0, (56, 0), (57, 0, 0), "raise it");
        check(56, 2, (56, 1), (56, 1, 1), "floor");
    }

    #[test]
    fn floors_are_read_by_revision() {
        let floors = serde_json::json!({"2025-06-18": {"passed": 56, "failed": 0}});
        assert_eq!(
            floor(&floors, "2025-06-18").unwrap(),
            ConformanceFloor { passed: 56, failed: 0 }
        );
        assert!(
            floor(&floors, "2026-07-28").unwrap_err().to_string().contains("2026-07-28.passed")
        );
    }
}
