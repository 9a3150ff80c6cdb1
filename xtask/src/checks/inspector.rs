//! The step that drives the inspector's page in Chromium: the programs in `tests/inspector`.

use super::{CheckContext, tally};
use crate::{
    install::{self, NodeRuntime},
    process::{self, FinishedProcess, OutputMode},
    report::CheckCounts,
    workspace::XtaskWorkspace,
};
use anyhow::Result;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

const FOLDER: &str = "tests/inspector";
/// Each check has a shorter limit of its own.
const RUN_LIMIT: Duration = Duration::from_mins(30);

/// The test programs and their dependencies.
#[derive(Debug)]
pub(crate) struct InspectorChecks {
    node: NodeRuntime,
    modules: PathBuf,
    folder: PathBuf,
}

impl InspectorChecks {
    /// Installs the driver and the server under test, but not the browser.
    pub(crate) fn install(workspace: &XtaskWorkspace) -> Result<Self> {
        let (node, folder) = (install::node(workspace)?, workspace.root.join(FOLDER));
        let installed = install::npm_packages(workspace, &node, "inspector", &folder)?;
        Ok(Self { node, modules: installed.join("node_modules"), folder })
    }

    /// Returns the command that runs one program with this docent and browser.
    pub(crate) fn program(&self, name: &str, docent: &Path, chromium: &Path) -> Command {
        let mut command = Command::new(&self.node.program);
        command.arg(self.folder.join(name)).arg("--docent").arg(docent);
        command.arg("--modules").arg(&self.modules).env("CHROMIUM", chromium);
        command
    }

    /// Tests the page's modules that need no document, with Node's test runner.
    fn units(&self) -> Result<FinishedProcess> {
        let mut command = Command::new(&self.node.program);
        command.args(["--test", "--test-reporter=tap"]);
        let tests = fs::read_dir(self.folder.join("unit"))?;
        let mut tests: Vec<PathBuf> = tests
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| is_test(path))
            .collect();
        tests.sort();
        process::run(command.args(tests), RUN_LIMIT, OutputMode::Kept)
    }
}

fn is_test(path: &Path) -> bool {
    path.to_string_lossy().ends_with(".test.mjs")
}

pub(super) fn run(context: &CheckContext<'_>) -> Result<CheckCounts> {
    let page = InspectorChecks::install(context.workspace)?;
    let mut total = Vec::new();
    if context.filter.is_none() {
        let done = page.units()?;
        let counts = units(&done.text).with_status(done.success);
        if counts.failed > 0 {
            println!("{}\n({})", process::tail(&done.text, 60), done.ending);
        }
        println!("unit: {counts}");
        total.push(counts);
    }
    let chromium = match install::chromium() {
        Ok(chromium) => chromium,
        Err(problem) => {
            println!("skipped: {problem:#}");
            total.push(CheckCounts::ONE_SKIPPED);
            return Ok(total.into_iter().sum());
        }
    };
    let docent = context.release_binary("docent")?;
    let mut command = page.program("run.mjs", &docent, &chromium);
    if let Some(word) = context.filter {
        command.arg("--only").arg(word);
    }
    let done = process::run(&mut command, RUN_LIMIT, OutputMode::Kept)?;
    let cases = tally::cases(&done.text);
    let counts = tally::count(&cases).with_status(done.success);
    for case in &cases {
        if let tally::ReportedCase::Failed { name, why } = case {
            println!("FAIL  {name}: {why}");
        }
    }
    // A crashed program prints lines that are not cases.
    if !done.success && tally::count(&cases).failed == 0 {
        println!("{}\n({})", process::tail(&done.text, 20), done.ending);
    }
    println!("page: {counts}");
    total.push(counts);
    Ok(total.into_iter().sum())
}

/// Parses `# pass 12`, `# fail 0`, `# skipped 1`, the last lines of Node's test runner.
fn units(text: &str) -> CheckCounts {
    let of = |label: &str| {
        let mut lines = text.lines().rev();
        lines
            .find_map(|line| line.strip_prefix("# ")?.strip_prefix(label)?.trim().parse().ok())
            .unwrap_or(0)
    };
    CheckCounts {
        passed: of("pass "),
        failed: of("fail ") + of("cancelled "),
        skipped: of("skipped "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_of_a_test_run_are_parsed() {
        let text = "ok 1 - a\n# tests 5\n# suites 0\n# pass 3\n# fail 1\n# cancelled 0\n# skipped 1\n# todo 0\n";
        assert_eq!(units(text), CheckCounts { passed: 3, failed: 1, skipped: 1 });
        assert_eq!(units("node: bad option"), CheckCounts::default());
        assert_eq!(units("# cancelled 2\n").failed, 2);
    }

    #[test]
    fn only_tests_are_run() {
        assert!(is_test(Path::new("/a/schema.test.mjs")));
        assert!(!is_test(Path::new("/a/page.mjs")));
    }
}
