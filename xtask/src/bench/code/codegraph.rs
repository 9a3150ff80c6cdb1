//! codegraph, a peer that also builds a code index: installing and running it.

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
/// The folder of its index in a tree.
pub(super) const STATE: &str = ".codegraph";
const PACKAGE: &str = "@colbymchenry/codegraph";

/// An installed codegraph.
#[derive(Debug)]
pub(super) struct Codegraph {
    node: NodeRuntime,
    script: PathBuf,
    /// The home folder for its user files.
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

    /// Returns the command that builds a tree's first index, in the foreground, without prompts or telemetry.
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
