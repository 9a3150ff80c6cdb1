//! Code search: the ranking in the lab, and docent end to end, from the files to the answers on its standard output.
//! tests/eval/code.py asks docent the questions, because it can parse Python with Python's own parser.

use super::heading;
use crate::{
    corpus::{self, FetchOutcome},
    docent::DocentProgram,
    lab::{self, SearchMaterial},
    process::{self, OutputMode},
    workspace::XtaskWorkspace,
};
use anyhow::{Context, Result};
use clap::ValueEnum;
use serde_json::{Map, Value};
use std::{io::Write as _, path::PathBuf, process::Command, time::Duration};

const SCRIPT: &str = "tests/eval/code.py";
const PACKAGE: &str = "django";
const QUERIES: u32 = 1000;
const RUN_LIMIT: Duration = Duration::from_hours(1);

/// The script's figures and their column titles.
const COLUMNS: [(&str, &str); 10] = [
    ("package", "package"),
    ("queries", "questions"),
    ("ndcg10", "NDCG@10"),
    ("recall1", "R@1"),
    ("recall10", "R@10"),
    ("no_shared_name_word", "questions without a word of the name"),
    ("ndcg10_no_shared_name_word", "NDCG@10 of these"),
    ("index_seconds", "index (s)"),
    ("query_ms_p50", "p50 (ms)"),
    ("query_ms_p95", "p95 (ms)"),
];

/// Options of `cargo xtask eval code`.
#[derive(Debug, clap::Args)]
#[group(id = "code")]
pub(crate) struct Options {
    #[command(flatten)]
    lab: lab::Options,
    /// Evaluate these parts
    #[arg(long, value_enum, value_delimiter = ',', default_value = "lab,whole")]
    only: Vec<CodeEvalPart>,
    /// Ask docent this many questions end to end
    #[arg(long, default_value_t = QUERIES)]
    queries: u32,
    /// Evaluate this docent binary [default: build this workspace's]
    #[arg(long)]
    docent: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CodeEvalPart {
    /// The ranking, on packages of six languages
    Lab,
    /// docent end to end, on Django
    Whole,
}

/// Evaluates and prints. No row counts as wrong: people compare the figures with the targets.
pub(super) fn evaluate(workspace: &XtaskWorkspace, options: &Options) -> Result<bool> {
    heading()?;
    if options.only.contains(&CodeEvalPart::Lab) {
        lab::evaluate(workspace, SearchMaterial::Code, &options.lab)?;
    }
    if options.only.contains(&CodeEvalPart::Whole) {
        let text = evaluate_docent(workspace, options)?;
        write!(std::io::stdout(), "\n### docent end to end\n\n{text}")?;
    }
    Ok(true)
}

/// Returns the table, or a line that says why it was skipped.
fn evaluate_docent(workspace: &XtaskWorkspace, options: &Options) -> Result<String> {
    let package = corpus::search_package(workspace, PACKAGE)?;
    let tree = match corpus::fetch(workspace, &package)? {
        FetchOutcome::Tree(tree) => tree,
        FetchOutcome::Unavailable(reason) => {
            return Ok(format!("skipped: {package} can't be fetched ({reason})\n"));
        }
    };
    let docent = DocentProgram::given_or_built(workspace, options.docent.as_deref())?;
    let version = docent.version(workspace)?;
    eprintln!("asking {version} {} questions", options.queries);
    let mut python = Command::new("python3");
    // Write nothing into the repository.
    python.arg("-B").arg(workspace.root.join(SCRIPT));
    python.arg("--docent").arg(docent.program()).arg("--tree").arg(&tree);
    python.args(["--package", &format!("{}=={}", package.name, package.version)]);
    python.args(["--queries", &options.queries.to_string()]);
    let said = process::run(&mut python, RUN_LIMIT, OutputMode::Kept)?.or_fail(SCRIPT)?;
    let line = said.lines().last().unwrap_or_default();
    Ok(format!("- version: {version}\n\n{}", table(line)?))
}

/// Formats the figures of a JSON line as a table with one row.
fn table(line: &str) -> Result<String> {
    let figures: Map<String, Value> =
        serde_json::from_str(line).with_context(|| format!("{SCRIPT} printed {line:?}"))?;
    let cell = |key: &str| match figures.get(key) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(value) => Ok(value.to_string()),
        None => anyhow::bail!("{SCRIPT} printed no {key}: {line}"),
    };
    let titles: Vec<&str> = COLUMNS.iter().map(|(_, title)| *title).collect();
    let cells = COLUMNS.iter().map(|(key, _)| cell(key)).collect::<Result<Vec<_>>>()?;
    Ok(format!(
        "| {} |\n|{}\n| {} |\n",
        titles.join(" | "),
        "---|".repeat(COLUMNS.len()),
        cells.join(" | ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_line_becomes_a_row() {
        let mut figures = json!({
            "package": "django==5.2.19", "queries": 1000, "ndcg10": 0.61, "recall1": 0.4, "recall10": 0.8,
            "ndcg10_no_shared_name_word": 0.3, "no_shared_name_word": 212, "index_seconds": 2.5,
            "query_ms_p50": 4.1, "query_ms_p95": 9.0,
        });
        let text = table(&figures.to_string()).unwrap();
        let row = "| django==5.2.19 | 1000 | 0.61 | 0.4 | 0.8 | 212 | 0.3 | 2.5 | 4.1 | 9.0 |";
        assert_eq!(text.lines().last(), Some(row));
        assert!(text.starts_with("| package | questions | NDCG@10 |"), "{text}");
        figures.as_object_mut().unwrap().remove("recall1");
        let problem = table(&figures.to_string()).unwrap_err().to_string();
        assert!(problem.contains("no recall1"), "{problem}");
        assert!(table("Traceback").is_err());
    }
}
