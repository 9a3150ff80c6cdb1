//! docs-mcp-server, a peer that serves documentation over MCP, in its full-text mode, which needs no embedding
//! service key: installing it, indexing pages and asking questions.

use super::manual;
use crate::{
    bench::pipe::PipeServer,
    install::{self, NodeRuntime},
    workspace::XtaskWorkspace,
};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

pub(super) const VERSION: &str = "2.4.4";
const PACKAGE: &str = "@arabold/docs-mcp-server";
const TOOL: &str = "search_docs";
const LIBRARY: &str = "manual";
/// The same number as for docent: several hits may be on one page.
const MAX_HITS: u32 = 20;
const MAX_PAGES: &str = "100000";

/// An installed docs-mcp-server.
#[derive(Debug)]
pub(super) struct DocsMcpServer {
    node: PathBuf,
    script: PathBuf,
    /// The home folder for its user files. It reads documents only in subfolders of this one, and never below a folder
    /// named `target`.
    home: TempDir,
}

impl DocsMcpServer {
    /// Installs it from npm, or uses an existing copy.
    pub(super) fn install(workspace: &XtaskWorkspace, given: Option<&Path>) -> Result<Self> {
        let (node, folder) = if let Some(folder) = given {
            // A copy was compiled for the system's Node.
            (PathBuf::from("node"), fs::canonicalize(folder)?)
        } else {
            let NodeRuntime { program } = install::node(workspace)?;
            let pin = format!("{PACKAGE}@{VERSION}");
            let modules = install::npm_package(workspace, "bench-docs-mcp-server", &pin)?;
            (program, modules.join(PACKAGE))
        };
        let script = folder.join("dist/index.js");
        ensure!(script.is_file(), "{} is missing", script.display());
        let home = tempfile::Builder::new().prefix("docs-mcp-server-").tempdir()?;
        fs::create_dir(home.path().join("Documents"))?;
        Ok(Self { node, script, home })
    }

    /// Returns the command that builds a first index of all pages.
    pub(super) fn index(&self, pages: &Path) -> Result<Command> {
        let documents = self.home.path().join("Documents").join(LIBRARY);
        copy(pages, &documents)?;
        let mut command = self.command("scrape");
        command.arg(LIBRARY).arg(format!("file://{}", documents.display()));
        command.args(["--scrape-mode", "fetch", "--max-pages", MAX_PAGES]);
        Ok(command)
    }

    /// Starts a server over the index.
    pub(super) fn server(&self) -> Result<PipeServer> {
        let mut command = self.command("mcp");
        command.args(["--protocol", "stdio", "--read-only"]);
        PipeServer::start(command).map(|(server, _)| server)
    }

    fn command(&self, task: &str) -> Command {
        let mut command = Command::new(&self.node);
        command.arg(&self.script).arg(task);
        command.arg("--store-path").arg(self.home.path().join("store"));
        command.args(["--quiet", "--telemetry=false"]);
        command.env_clear().env("HOME", self.home.path()).env("DOCS_MCP_TELEMETRY", "false");
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        // It needs no browser to read files.
        command.env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1");
        command
    }
}

/// Asks a question and returns the pages found, best first.
pub(super) fn ask(server: &mut PipeServer, question: &str) -> Result<Vec<String>> {
    let arguments = json!({"library": LIBRARY, "query": question, "limit": MAX_HITS});
    pages(&server.call(TOOL, &arguments)?)
}

/// Parses the lines that name the source of each result.
fn pages(result: &Value) -> Result<Vec<String>> {
    let text = result["content"][0]["text"].as_str();
    let text = text.with_context(|| format!("{TOOL} answered {result}"))?;
    ensure!(result["isError"] != true, "{TOOL} answered {text}");
    let addresses = text.lines().filter_map(|line| {
        let (number, address) = line.strip_prefix("Result ")?.split_once(": ")?;
        number.parse::<u32>().ok().map(|_| address.trim())
    });
    Ok(addresses.map(manual::page_name).collect())
}

fn copy(pages: &Path, to: &Path) -> Result<()> {
    let mut cp = Command::new("cp");
    cp.arg("-r").arg(pages).arg(to);
    let done = cp.status().context("running cp")?;
    ensure!(done.success(), "copying {} failed ({done})", pages.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_parsed_from_the_text() {
        let check = |text: &str, expected: &[&str]| {
            let result = json!({"content": [{"type": "text", "text": text}]});
            assert_eq!(pages(&result).unwrap(), expected, "{text}");
        };
        check("", &[]);
        check("No results found for 'x' in manual.", &[]);
        let two = "\n-----\nResult 1: file:///a/b.html#x\n\nText.\n\n-----\nResult 2: file:///a/c.html\n\nResult of it: none\n";
        check(two, &["b.html", "c.html"]);
        assert!(pages(&json!({"content": []})).is_err());
        assert!(pages(&json!({"content": [{"text": "no"}], "isError": true})).is_err());
    }
}
