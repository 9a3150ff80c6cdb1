//! `cargo xtask screenshots`: pictures of each view of the inspector, for people to look at.

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

/// What to take pictures of.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The docent to take pictures of; left out, this workspace's is built
    #[arg(long)]
    docent: Option<PathBuf>,
    /// Only pictures whose name holds this word
    #[arg(long, short = 'k', value_name = "WORD")]
    only: Option<String>,
}

/// Takes the pictures; true when none is missing.
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
    println!("pictures are in {}", workspace.shown(&folder));
    Ok(done.success)
}
