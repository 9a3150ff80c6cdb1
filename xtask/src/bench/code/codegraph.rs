//! A peer that also builds an index of code: how it is installed and how it indexes a tree.

use crate::{
    install::{self, NodeRuntime},
    workspace::XtaskWorkspace,
};
use anyhow::{Result, ensure};
use std::{
    path::{Path, PathBuf},
    process::Command,
};

pub(super) const VERSION: &str = "1.6.1";
/// Where it keeps its index in a tree.
pub(super) const STATE: &str = ".codegraph";
const PACKAGE: &str = "@colbymchenry/codegraph";

/// The program, ready to run.
#[derive(Debug)]
pub(super) struct Codegraph {
    node: NodeRuntime,
    script: PathBuf,
    /// What it writes for its user goes here.
    home: PathBuf,
}

impl Codegraph {
    pub(super) fn install(workspace: &XtaskWorkspace, home: PathBuf) -> Result<Self> {
        let node = install::node(workspace)?;
        let pin = format!("{PACKAGE}@{VERSION}");
        let script = install::npm_package(workspace, "bench-codegraph", &pin)?
            .join(PACKAGE)
            .join("npm-shim.js");
        ensure!(script.is_file(), "{} is missing", script.display());
        Ok(Self { node, script, home })
    }

    /// A first index of a tree, in the foreground, without asking and without telling anybody.
    pub(super) fn index(&self, tree: &Path) -> Command {
        let mut command = Command::new(&self.node.program);
        command.arg(&self.script).args(["init", "--yes"]).arg(tree).current_dir(tree);
        command.env("HOME", &self.home).env("NO_COLOR", "1").env("DO_NOT_TRACK", "1");
        for word in ["NO_DAEMON", "NO_UPDATE_CHECK", "NO_DOWNLOAD"] {
            command.env(format!("CODEGRAPH_{word}"), "1");
        }
        command.env("CODEGRAPH_TELEMETRY", "0");
        command
    }
}
