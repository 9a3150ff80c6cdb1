//! Builds and runs the docent binary.

use crate::{
    process::{self, OutputMode},
    workspace::XtaskWorkspace,
};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};
use tempfile::TempDir;

const COMPILE_LIMIT: Duration = Duration::from_hours(1);
const QUESTION_LIMIT: Duration = Duration::from_secs(30);
/// Enough for the largest test tree on a slow machine.
const ANALYSIS_LIMIT: Duration = Duration::from_mins(10);

/// The depth of an analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AnalyzeDepth {
    Quick,
    Standard,
    Deep,
}

impl AnalyzeDepth {
    /// The command-line value.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Standard => "standard",
            Self::Deep => "deep",
        }
    }
}

/// A docent binary with its own home folder.
#[derive(Debug)]
pub(crate) struct DocentProgram {
    program: PathBuf,
    /// Contains only what docent writes there; deleted when this is dropped.
    home: TempDir,
}

impl DocentProgram {
    /// Uses an existing binary.
    pub(crate) fn at(program: PathBuf) -> Result<Self> {
        let home = tempfile::tempdir().context("making a home for docent")?;
        Ok(Self { program, home })
    }

    /// Uses the given binary, or builds this workspace's in release mode.
    pub(crate) fn given_or_built(workspace: &XtaskWorkspace, given: Option<&Path>) -> Result<Self> {
        if let Some(program) = given {
            ensure!(program.is_file(), "{} is not a file", program.display());
            return Self::at(fs::canonicalize(program)?);
        }
        eprintln!("building docent");
        // Both packages at once, as the tests build them: cargo unifies features over the packages of one build.
        let packages = ["build", "--release", "-p", "docent", "-p", "docent-testkit"];
        let mut build = workspace.cargo(packages);
        process::run(&mut build, COMPILE_LIMIT, OutputMode::Kept)?.or_fail("cargo build")?;
        Self::at(workspace.binary("release", "docent"))
    }

    /// Returns docent's version and the checked-out commit.
    pub(crate) fn version(&self, workspace: &XtaskWorkspace) -> Result<String> {
        let mut command = Command::new(&self.program);
        command.arg("--version");
        let said = process::run(&mut command, QUESTION_LIMIT, OutputMode::Kept)?;
        let said = said.or_fail("docent --version")?;
        let mut git = Command::new("git");
        git.args(["rev-parse", "--short", "HEAD"]).current_dir(&workspace.root);
        let commit = process::run(&mut git, QUESTION_LIMIT, OutputMode::Kept)?;
        let commit = if commit.success { commit.text } else { "no commit yet".to_owned() };
        Ok(format!("{} ({})", said.trim(), commit.trim()))
    }

    /// The executable.
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// Returns the command that analyzes a tree and prints the report.
    pub(crate) fn analysis(&self, tree: &Path, depth: AnalyzeDepth) -> Command {
        let mut command = self.command();
        command.args(["analyze", "--depth", depth.word(), "--format", "json"]).arg(tree);
        command
    }

    /// Returns the command that updates the search index of a tree.
    pub(crate) fn index(&self, tree: &Path) -> Command {
        let mut command = self.command();
        command.arg("index").arg(tree).current_dir(tree);
        command
    }

    /// Returns the command that searches a tree; the closest hit is an answer, whatever its score.
    pub(crate) fn search(&self, question: &str, tree: &Path) -> Command {
        let mut command = self.command();
        command.args(["search", "--threshold", "0", "--", question]).arg(tree).current_dir(tree);
        command
    }

    /// Returns the command that updates the documentation index of a folder's configuration.
    pub(crate) fn sync_docs(&self, root: &Path) -> Command {
        let mut command = self.command();
        command.args(["docs", "sync"]).current_dir(root);
        command
    }

    /// Returns the command of a stdio server without rate limits.
    pub(crate) fn serve(&self, tree: &Path) -> Command {
        let mut command = self.command();
        command.args(["serve", "--rate-limit", "0", "--root"]).arg(tree).current_dir(tree);
        command
    }

    /// Returns a command that runs with this home folder in this project.
    pub(crate) fn of_user(&self, home: &Path, root: &Path) -> Command {
        let mut command = self.command();
        command.env("HOME", home).current_dir(root);
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command
    }

    /// Returns a command with an empty configuration.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env_clear().env("HOME", self.home.path()).env("NO_COLOR", "1");
        command
    }

    /// Analyzes a tree and parses the JSON report.
    pub(crate) fn report(&self, tree: &Path, depth: AnalyzeDepth) -> Result<Value> {
        let place = tempfile::tempdir().context("making a folder for the report")?;
        let file = place.path().join("report.json");
        let analysis = self.analysis(tree, depth);
        // Standard error is used for the failure message, so the report goes to a file.
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "file=$1; shift; exec \"$@\" >\"$file\"", "sh"]).arg(&file);
        command.arg(analysis.get_program()).args(analysis.get_args());
        command
            .env_clear()
            .envs(analysis.get_envs().filter_map(|(key, value)| Some((key, value?))));
        let done = process::run(&mut command, ANALYSIS_LIMIT, OutputMode::Kept)?;
        let what = format!("docent analyze --depth {} {}", depth.word(), tree.display());
        done.or_fail(&what)?;
        let text = fs::read(&file).with_context(|| format!("reading what {what} printed"))?;
        serde_json::from_slice(&text).with_context(|| format!("reading what {what} printed"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn the_report_is_standard_output_alone() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("docent");
        let script = "#!/bin/sh\necho progress >&2\n[ -d \"$6\" ] || exit 2\n\
                      echo \"{\\\"said\\\": \\\"$*\\\", \\\"home\\\": \\\"$HOME\\\"}\"\n";
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let docent = DocentProgram::at(program).unwrap();
        let said = format!("analyze --depth deep --format json {}", folder.path().display());
        let found = docent.report(folder.path(), AnalyzeDepth::Deep).unwrap();
        assert_eq!(found, json!({"said": said, "home": docent.home.path()}));
        let problem =
            docent.report(Path::new("/nowhere"), AnalyzeDepth::Quick).unwrap_err().to_string();
        assert!(
            problem.contains("--depth quick /nowhere") && problem.contains("progress"),
            "{problem}"
        );
    }
}
