//! Builds and runs the lab, the program that evaluates, trains and times the index.

use crate::{
    corpus, machine,
    process::{self, OutputMode},
    workspace::XtaskWorkspace,
};
use anyhow::{Result, ensure};
use std::{path::PathBuf, process::Command, time::Duration};

const COMPILE_LIMIT: Duration = Duration::from_hours(1);
const WORK_LIMIT: Duration = Duration::from_hours(2);
/// The file of learned weights.
const WEIGHTS: &str = "crates/index/src/rank/weights.json";
/// Hand-written questions, each with the pages of the manual that answer it.
pub(crate) const QUESTIONS: &str = "tests/eval/postgresql_questions.json";
/// The language of a manual's set.
const MANUAL: &str = "english";

/// The kind of text to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SearchMaterial {
    /// Packages without their doc comments.
    Code,
    /// A manual.
    Docs,
}

/// Options for the weights.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Train the weights on the training half first; rebuild docent to use them
    #[arg(long)]
    learn: bool,
}

/// Evaluates search and prints the tables.
pub(crate) fn evaluate(
    workspace: &XtaskWorkspace,
    material: SearchMaterial,
    options: &Options,
) -> Result<()> {
    let task = if material == SearchMaterial::Code { "code" } else { "docs" };
    let mut arguments = vec![task.to_owned()];
    arguments.extend(sets(workspace, material)?);
    if options.learn {
        let file = workspace.root.join(WEIGHTS).display().to_string();
        let teach = [arguments.clone(), vec!["--learn".to_owned(), file]].concat();
        run(workspace, &teach)?;
    }
    run(workspace, &arguments)
}

/// Times search and prints the table.
pub(crate) fn bench(workspace: &XtaskWorkspace, sizes: &[usize]) -> Result<()> {
    let mut arguments = vec!["bench".to_owned()];
    arguments.extend(sets(workspace, SearchMaterial::Code)?);
    arguments.extend(sets(workspace, SearchMaterial::Docs)?);
    for size in sizes {
        arguments.extend(["--units".to_owned(), size.to_string()]);
    }
    println!("- date: {}", machine::now()?);
    println!("- machine: {}", machine::describe()?);
    println!("- load: {}\n", machine::load_average()?);
    run(workspace, &arguments)
}

fn sets(workspace: &XtaskWorkspace, material: SearchMaterial) -> Result<Vec<String>> {
    let mut arguments = Vec::new();
    for (set, folder) in corpus::search_sets(workspace)? {
        if (set.language == MANUAL) == (material == SearchMaterial::Docs) {
            arguments.push("--set".to_owned());
            arguments.push(format!("{}={}", set.language, folder.display()));
        }
    }
    ensure!(!arguments.is_empty(), "none of the packages can be fetched");
    if material == SearchMaterial::Docs {
        arguments.push("--questions".to_owned());
        arguments.push(workspace.root.join(QUESTIONS).display().to_string());
    }
    Ok(arguments)
}

fn run(workspace: &XtaskWorkspace, arguments: &[String]) -> Result<()> {
    let mut command = Command::new(build(workspace)?);
    command.args(arguments);
    let done = process::run(&mut command, WORK_LIMIT, OutputMode::Shown)?;
    ensure!(done.success, "lab {} failed ({})", arguments.join(" "), done.ending);
    Ok(())
}

fn build(workspace: &XtaskWorkspace) -> Result<PathBuf> {
    eprintln!("building the lab");
    let mut cargo =
        workspace.cargo(["build", "--quiet", "--release", "--package", "docent-testkit"]);
    cargo.args(["--bin", "lab", "--features", "lab"]);
    let done = process::run(&mut cargo, COMPILE_LIMIT, OutputMode::Shown)?;
    ensure!(done.success, "cargo build failed ({})", done.ending);
    Ok(workspace.binary("release", "lab"))
}
