//! A peer that takes an afternoon to write with a search library: benches/peers/tantivy.

use crate::{bench::peer::BaselineProgram, workspace::XtaskWorkspace};
use anyhow::{Context, Result, bail};
use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

/// The built program.
#[derive(Debug)]
pub(super) struct Tantivy {
    built: BaselineProgram,
    /// The folder of its index.
    index: PathBuf,
}

impl Tantivy {
    pub(super) fn build(workspace: &XtaskWorkspace, index: PathBuf) -> Result<Self> {
        Ok(Self { built: BaselineProgram::of(workspace, "tantivy")?, index })
    }

    pub(super) fn version(&self) -> &str {
        &self.built.version
    }

    /// Returns the command that builds an index of all pages from scratch.
    pub(super) fn index(&self, pages: &Path) -> Command {
        let mut command = Command::new(&self.built.program);
        command.arg("index").arg(pages).arg(&self.index);
        command
    }

    /// Starts a process that answers questions.
    pub(super) fn answering(&self) -> Result<LineProcess> {
        let mut command = Command::new(&self.built.program);
        command.arg("ask").arg(&self.index);
        LineProcess::start(command)
    }
}

/// A process that answers each line with a line. Dropping it ends the process.
#[derive(Debug)]
pub(super) struct LineProcess {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl LineProcess {
    fn start(mut command: Command) -> Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command
            .spawn()
            .with_context(|| format!("starting {}", command.get_program().display()))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("the child has no pipes");
        };
        Ok(Self { child, input, output: BufReader::new(output) })
    }

    /// Asks a question and returns the pages found, best first.
    pub(super) fn ask(&mut self, question: &str) -> Result<Vec<String>> {
        let line = question.replace('\n', " ") + "\n";
        self.input.write_all(line.as_bytes()).context("writing to the child")?;
        let mut said = String::new();
        self.output.read_line(&mut said).context("reading from the child")?;
        serde_json::from_str(&said).with_context(|| format!("the child said {said:?}"))
    }
}

impl Drop for LineProcess {
    fn drop(&mut self) {
        // It is fine if the process has already ended.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_answered_with_a_list() {
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            LineProcess::start(command).unwrap()
        };
        let mut child = shell("while read line; do echo \"[\\\"$line.html\\\"]\"; done");
        assert_eq!(child.ask("one").unwrap(), ["one.html"]);
        assert_eq!(child.ask("two\nthree").unwrap(), ["two three.html"]);
        assert!(shell("read line; echo no").ask("one").is_err());
        assert!(shell("read line").ask("one").unwrap_err().to_string().contains("said \"\""));
    }
}
