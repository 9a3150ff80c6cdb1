//! `cargo xtask screenshots`: takes screenshots of each inspector view for visual review.

use crate::{
    checks::inspector::InspectorChecks,
    docent::DocentProgram,
    install,
    process::{self, OutputMode},
    workspace::XtaskWorkspace,
};
use anyhow::{Context, Result};
use std::{fs, path::PathBuf, time::Duration};

const RUN_LIMIT: Duration = Duration::from_mins(15);

/// Options of `cargo xtask screenshots`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Use this docent binary [default: build this workspace's]
    #[arg(long)]
    docent: Option<PathBuf>,
    /// Take only screenshots whose name contains this word
    #[arg(long, short = 'k', value_name = "WORD")]
    only: Option<String>,
}

/// Takes the screenshots; true when none is missing.
pub(crate) fn run(workspace: &XtaskWorkspace, options: &Options) -> Result<bool> {
    let (page, chromium) = (InspectorChecks::install(workspace)?, install::chromium()?);
    let docent = DocentProgram::given_or_built(workspace, options.docent.as_deref())?;
    let folder = workspace.target.join("screenshots");
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let mut command = page.program("screenshots.mjs", docent.program(), &chromium);
    command.arg("--into").arg(&folder);
    if let Some(word) = &options.only {
        command.arg("--only").arg(word);
    }
    let done = process::run(&mut command, RUN_LIMIT, OutputMode::Shown)?;
    println!("screenshots are in {}", workspace.display_path(&folder));
    Ok(done.success)
}
