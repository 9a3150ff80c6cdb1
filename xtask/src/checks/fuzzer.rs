//! The step that runs mcp-fuzzer against the release binary over HTTP and stdio, and checks docent's output.

use super::{
    CheckContext,
    relay::{Relay, RelayedTraffic},
};
use crate::{
    install,
    process::{self, BackgroundProcess, OutputMode},
    report::CheckCounts,
};
use anyhow::{Context as _, Result};
use serde_json::Value;
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

const START_LIMIT: Duration = Duration::from_secs(20);
/// Limit for one run; a run takes about ten seconds.
const RUN_LIMIT: Duration = Duration::from_mins(5);
/// On shutdown, docent gives calls in flight five seconds.
const END_LIMIT: Duration = Duration::from_secs(6);
const SCRIPT: &str = "tests/fuzzer/run.py";
const REQUIREMENTS: &str = "tests/fuzzer/requirements.txt";
const PROJECT: &str = "tests/clients/project";

/// The name and the arguments of each run.
const RUNS: [(&str, &[&str]); 3] = [
    ("tools, realistic and aggressive", &["--mode", "tools", "--phase", "both", "--runs", "3"]),
    (
        "protocol, realistic",
        &["--mode", "protocol", "--protocol-phase", "realistic", "--runs-per-type", "3"],
    ),
    (
        "protocol, aggressive",
        &["--mode", "protocol", "--protocol-phase", "aggressive", "--runs-per-type", "3"],
    ),
];

/// Installs the fuzzer and returns its Python interpreter.
pub(super) fn environment(context: &CheckContext<'_>) -> Result<PathBuf> {
    install::python_environment(context.workspace, "fuzzer", &context.path(REQUIREMENTS))
}

pub(super) fn run(context: &CheckContext<'_>) -> Result<CheckCounts> {
    let bench = FuzzerSetup {
        python: environment(context)?,
        script: context.path(SCRIPT),
        docent: context.release_binary("docent")?,
        project: context.path(PROJECT),
    };
    let mut total = Vec::new();
    for transport in ["http", "stdio"] {
        for (name, arguments) in RUNS {
            let case = format!("{transport}: {name}");
            if context.filter.is_some_and(|word| !case.contains(word)) {
                continue;
            }
            let problems = match bench.fuzz(transport, arguments) {
                Ok((summary, problems)) => {
                    println!("{case}: {summary}");
                    problems
                }
                Err(problem) => vec![format!("{problem:#}")],
            };
            for problem in problems.iter().take(10) {
                println!("FAIL  {case}: {problem}");
            }
            total.push(if problems.is_empty() {
                CheckCounts::ONE_PASSED
            } else {
                CheckCounts::ONE_FAILED
            });
        }
    }
    Ok(total.into_iter().sum())
}

/// The programs of a run.
struct FuzzerSetup {
    python: PathBuf,
    script: PathBuf,
    docent: PathBuf,
    project: PathBuf,
}

impl FuzzerSetup {
    /// Does one run; returns the fuzzer's counts and docent's errors.
    fn fuzz(&self, transport: &str, arguments: &[&str]) -> Result<(String, Vec<String>)> {
        let place = tempfile::tempdir().context("making a folder for the project")?;
        let project = place.path().join("project");
        super::clients::copy_folder(&self.project, &project)?;
        let mut fuzzer = self.fuzzer(place.path());
        fuzzer.args(arguments).args(["--protocol", transport]);
        let (heard, excused, mut problems) = if transport == "http" {
            self.over_http(&mut fuzzer, &project)?
        } else {
            self.over_stdio(&mut fuzzer, place.path())?
        };
        let report = place.path().join("reports/run_summary.json");
        let report = fs::read(&report).with_context(|| format!("reading {}", report.display()))?;
        let (said, anomalies) =
            read_summary(&serde_json::from_slice(&report)?, heard.unaddressed + excused);
        problems.extend(anomalies);
        problems.extend(heard.problems);
        if heard.messages == 0 {
            problems.push("docent sent no messages".to_owned());
        }
        Ok((format!("{said}; {} messages of docent read", heard.messages), problems))
    }

    /// Keeps the fuzzer away from the user's home and from other machines.
    fn fuzzer(&self, place: &Path) -> Command {
        let mut fuzzer = Command::new(&self.python);
        fuzzer.arg("-B").arg(&self.script).current_dir(place).env("HOME", place);
        fuzzer.args(["--seed", "7", "--no-network", "--no-corpus", "--timeout", "30"]);
        fuzzer.args(["--output-dir", "reports"]);
        fuzzer
    }

    fn over_http(
        &self,
        fuzzer: &mut Command,
        project: &Path,
    ) -> Result<(RelayedTraffic, u64, Vec<String>)> {
        let port = process::free_port()?;
        let mut command = Command::new(&self.docent);
        command.args(["serve", "--transport", "http", "--rate-limit", "0", "--port"]);
        command.arg(port.to_string()).arg("--root").arg(project).current_dir(project);
        let mut server = BackgroundProcess::listening(&mut command, port, START_LIMIT)?;
        let relay = Relay::start(port)?;
        fuzzer.args(["--endpoint", &format!("http://127.0.0.1:{}/mcp", relay.port())]);
        let (excused, mut problems) = run_fuzzer(fuzzer)?;
        // A docent that hangs or has crashed does not shut down cleanly.
        match server.terminate(END_LIMIT) {
            Ok(Some(status)) if status.success() => {}
            Ok(Some(status)) => problems.push(format!("docent ended with {status}")),
            Ok(None) => problems.push("docent did not end on SIGTERM".to_owned()),
            Err(problem) => problems.push(format!("docent is not running: {problem:#}")),
        }
        problems.extend(panics(&server.end()));
        Ok((relay.traffic(), excused, problems))
    }

    fn over_stdio(
        &self,
        fuzzer: &mut Command,
        place: &Path,
    ) -> Result<(RelayedTraffic, u64, Vec<String>)> {
        let script = place.join("docent.sh");
        fs::write(&script, STDIO_SCRIPT)?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
        let words = [&script, &self.docent].map(|path| process::shell_word(path));
        let endpoint = words.join(" ");
        fuzzer.args(["--endpoint", &endpoint]);
        let (excused, mut problems) = run_fuzzer(fuzzer)?;
        let read = |name: &str| fs::read(place.join(name)).unwrap_or_default();
        for status in String::from_utf8_lossy(&read("status")).lines() {
            if !ENDINGS.contains(&status) {
                problems.push(format!("docent ended with exit status {status}"));
            }
        }
        problems.extend(panics(&String::from_utf8_lossy(&read("stderr"))));
        let mut heard = RelayedTraffic::default();
        let said = read("stdout");
        for line in said.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            heard.read_message(line);
        }
        Ok((heard, excused, problems))
    }
}

/// Runs the fuzzer; returns how many exceptions it caused itself, and its problems.
fn run_fuzzer(fuzzer: &mut Command) -> Result<(u64, Vec<String>)> {
    let done = process::run(fuzzer, RUN_LIMIT, OutputMode::Kept)?;
    let mut problems = Vec::new();
    if !done.success {
        problems.push(format!("the fuzzer: {}\n{}", done.ending, process::tail(&done.text, 20)));
    }
    Ok((never_sent(&done.text), problems))
}

/// Counts calls with infinite numbers, which the fuzzer's own HTTP client rejects before they reach docent.
fn never_sent(log: &str) -> u64 {
    log.lines().map(|line| u64::from(line.ends_with(NOT_JSON))).sum()
}

/// The error of Python's JSON writer.
const NOT_JSON: &str = ": Out of range float values are not JSON compliant";

/// Runs docent and saves its output and exit status next to the script.
const STDIO_SCRIPT: &str = "#!/bin/sh\nplace=${0%/*}\n\
     { \"$1\" serve --rate-limit 0 --root \"$place/project\" 2>>\"$place/stderr\"; \
     echo $? >>\"$place/status\"; } | tee -a \"$place/stdout\"\n";

/// Accepted exits: by itself, by SIGTERM and by SIGKILL, because the fuzzer ends the processes it started.
const ENDINGS: [&str; 3] = ["0", "143", "137"];

fn panics(log: &str) -> impl Iterator<Item = String> {
    log.lines().filter(|line| line.contains("panicked")).map(str::to_owned)
}

/// Returns the fuzzer's counts and the problems that are certainly docent's. The fuzzer writes infinite numbers, which
/// JSON does not have; docent rejects such a message without an id, and the fuzzer reports that as no response.
/// `excused` exceptions are of that kind.
fn read_summary(report: &Value, mut excused: u64) -> (String, Vec<String>) {
    let mut problems = Vec::new();
    let status = report["status"].as_str().unwrap_or("no status");
    if status != "completed" {
        problems.push(format!("the fuzzer did not complete: {status}"));
    }
    let mut runs = 0;
    for kind in ["tools", "protocols"] {
        runs += report[kind]["total_runs"].as_u64().unwrap_or(0);
        for key in ["by_name", "by_type"] {
            for (name, one) in report[kind][key].as_object().into_iter().flatten() {
                for bad in ["anomaly", "crashed", "exceptions"] {
                    let mut times = one["outcomes"][bad].as_u64().unwrap_or(0);
                    if bad == "exceptions" {
                        let both = times.min(excused);
                        (times, excused) = (times - both, excused - both);
                    }
                    if times > 0 {
                        problems.push(format!("{name}: {times} × {bad}"));
                    }
                }
            }
        }
    }
    if runs == 0 {
        problems.push("nothing was fuzzed".to_owned());
    }
    let findings = &report["findings"]["by_category"];
    (format!("{runs} runs; not counted: {findings}"), problems)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn summaries_are_judged() {
        let check = |report: Value, expected: &[&str]| {
            assert_eq!(read_summary(&report, 2).1, expected, "{report}");
        };
        let outcomes = |bad: &str, times: u32| {
            json!({"status": "completed", "tools": {"total_runs": 6, "by_name": {
                "outline": {"outcomes": {"server_rejected": 6, bad: times}},
            }}})
        };
        check(outcomes("accepted_malformed", 3), &[]);
        check(outcomes("crashed", 0), &[]);
        check(outcomes("crashed", 2), &["outline: 2 × crashed"]);
        check(outcomes("anomaly", 1), &["outline: 1 × anomaly"]);
        check(outcomes("exceptions", 2), &[]);
        check(outcomes("exceptions", 5), &["outline: 3 × exceptions"]);
        check(json!({"status": "completed", "protocols": {"total_runs": 9}}), &[]);
        check(json!({"status": "completed"}), &["nothing was fuzzed"]);
        check(
            json!({"status": "blocked", "tools": {"total_runs": 1}}),
            &["the fuzzer did not complete: blocked"],
        );
    }

    #[test]
    fn calls_that_never_left_the_fuzzer_are_counted() {
        let log = "12 - tool_client - WARNING - Exception calling tool outline: Out of range float values are \
                   not JSON compliant\nException calling tool outline: timed out\n";
        assert_eq!((never_sent(log), never_sent("")), (1, 0));
    }

    #[test]
    fn the_output_of_a_child_on_pipes_is_saved() {
        let place = tempfile::tempdir().unwrap();
        let (script, program) = (place.path().join("docent.sh"), place.path().join("program"));
        fs::write(&program, "#!/bin/sh\necho \"$*\"; echo complaint >&2; exit 4\n").unwrap();
        fs::write(&script, STDIO_SCRIPT).unwrap();
        for file in [&script, &program] {
            fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let done = process::run(Command::new(&script).arg(&program), RUN_LIMIT, OutputMode::Kept);
        let read = |name: &str| fs::read_to_string(place.path().join(name)).unwrap();
        let said = format!("serve --rate-limit 0 --root {}/project\n", place.path().display());
        assert_eq!((done.unwrap().text, read("stdout")), (said.clone(), said));
        assert_eq!((read("stderr").as_str(), read("status").as_str()), ("complaint\n", "4\n"));
    }
}
