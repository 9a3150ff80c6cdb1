//! The step that puts real, scripted and broken MCP servers behind the release binary: the programs in `tests/hub`.

use super::{CheckContext, tally};
use crate::{
    install::{self, NodeRuntime},
    process::{self, OutputMode},
    report::CheckCounts,
};
use anyhow::Result;
use std::{path::PathBuf, process::Command, time::Duration};

const FOLDER: &str = "tests/hub";
const REQUIREMENTS: &str = "tests/hub/requirements.txt";
/// Each program has a shorter limit of its own, after which it reports what it was waiting for.
const RUN_LIMIT: Duration = Duration::from_mins(30);

const PROGRAMS: [&str; 6] = ["strictness", "fidelity", "hops", "eras", "faults", "discover"];

/// The downstream servers.
pub(super) struct HubTestServers {
    node: NodeRuntime,
    modules: PathBuf,
    python: PathBuf,
}

impl HubTestServers {
    /// Installs the npm and the Python servers.
    pub(super) fn install(context: &CheckContext<'_>) -> Result<Self> {
        let node = install::node(context.workspace)?;
        let pins = context.path(FOLDER);
        let folder = install::npm_packages(context.workspace, &node, "hub", &pins)?;
        let python = install::python_environment(
            context.workspace,
            "hub-python",
            &context.path(REQUIREMENTS),
        )?;
        Ok(Self { node, modules: folder.join("node_modules"), python })
    }
}

pub(super) fn run(context: &CheckContext<'_>) -> Result<CheckCounts> {
    let servers = HubTestServers::install(context)?;
    let docent = context.release_binary("docent")?;
    let mut total = Vec::new();
    for (program, word) in select_programs(context.filter) {
        let mut command = Command::new(&servers.python);
        command.arg("-B").arg(context.path(FOLDER).join(program).with_extension("py"));
        command.arg("--docent").arg(&docent).arg("--node").arg(&servers.node.program);
        command.arg("--modules").arg(&servers.modules).arg("--python").arg(&servers.python);
        command.args(word.map(|word| format!("-k={word}")));
        let done = process::run(&mut command, RUN_LIMIT, OutputMode::Kept)?;
        let cases = tally::cases(&done.text);
        let counts = tally::count(&cases).with_status(done.success);
        for case in &cases {
            if let tally::ReportedCase::Failed { name, why } = case {
                println!("FAIL  {program} {name}: {why}");
            }
        }
        // A crashed program prints lines that are not cases.
        if !done.success && counts.failed == 1 {
            println!("{}\n({})", process::tail(&done.text, 20), done.ending);
        }
        println!("{program}: {counts}");
        total.push(counts);
    }
    Ok(total.into_iter().sum())
}

/// Selects the programs and the filter for their cases: a filter that names a program selects all its cases.
fn select_programs(filter: Option<&str>) -> Vec<(&'static str, Option<&str>)> {
    if let Some(program) = PROGRAMS.iter().find(|program| filter == Some(program)) {
        return vec![(program, None)];
    }
    PROGRAMS.iter().map(|program| (*program, filter)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_names_a_program_or_cases() {
        assert_eq!(select_programs(Some("eras")), [("eras", None)]);
        assert_eq!(select_programs(None).len(), PROGRAMS.len());
        let found = select_programs(Some("progress"));
        assert_eq!(found.len(), PROGRAMS.len());
        assert!(found.iter().all(|(_, word)| *word == Some("progress")), "{found:?}");
    }
}
