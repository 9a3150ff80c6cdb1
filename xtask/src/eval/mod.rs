//! `cargo xtask eval`: compares docent's findings in real trees with those of other programs and of people, and prints
//! one Markdown page. The human judgments are data under tests/real.

mod code;
pub(crate) mod docs;
mod licences;
mod lines;
mod links;

use crate::{
    corpus::{self, CorpusPackage, FetchOutcome},
    docent::DocentProgram,
    install, machine,
    report::CheckCounts,
    tokei::Tokei,
    workspace::XtaskWorkspace,
};
use anyhow::Result;
use clap::{Subcommand, ValueEnum};
use std::{
    fmt::Write as _,
    io::Write as _,
    path::{Path, PathBuf},
};

/// The suite to evaluate.
#[derive(Debug, Subcommand)]
pub(crate) enum Evaluation {
    /// Evaluate repository analysis: lines against tokei, licenses and broken links against human judgments
    Repo(Options),
    /// Evaluate code search: find each definition by the doc comment removed from it, in the lab and end to end
    Code(code::Options),
    /// Evaluate documentation search: find a manual's pages by terms of its printed index and by questions, in the lab
    /// and end to end
    Docs(docs::Options),
}

/// Options of `cargo xtask eval repo`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Evaluate these parts
    #[arg(long, value_enum, value_delimiter = ',', default_value = "lines,licences,links")]
    only: Vec<RepoEvalPart>,
    /// Evaluate this docent binary [default: build this workspace's]
    #[arg(long)]
    docent: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RepoEvalPart {
    /// Lines per language, compared with tokei
    Lines,
    /// Licenses, compared with human judgments
    Licences,
    /// Broken links, compared with human judgments
    Links,
}

/// State shared by the parts.
struct EvalContext<'a> {
    workspace: &'a XtaskWorkspace,
    docent: DocentProgram,
}

impl EvalContext<'_> {
    /// Fetches a package; if it is unavailable, notes that on the page and returns `None`.
    fn tree(&self, package: &CorpusPackage, page: &mut EvalReport) -> Result<Option<PathBuf>> {
        eprintln!("{package}");
        match corpus::fetch(self.workspace, package)? {
            FetchOutcome::Tree(tree) => Ok(Some(tree)),
            FetchOutcome::Unavailable(reason) => {
                page.skip(&format!("{package} can't be fetched ({reason})"));
                Ok(None)
            }
        }
    }
}

/// The printed page and the number of correct rows.
#[derive(Debug, Default)]
struct EvalReport {
    text: String,
    counts: CheckCounts,
}

impl EvalReport {
    fn line(&mut self, line: &str) {
        // Writing to a string cannot fail.
        writeln!(self.text, "{line}").ok();
    }

    /// Writes a table row; the last cell says whether it is correct.
    fn row(&mut self, cells: &[&str], right: bool) {
        self.count(right);
        let verdict = if right { "right" } else { "**wrong**" };
        self.line(&format!("| {} | {verdict} |", cells.join(" | ")));
    }

    fn count(&mut self, right: bool) {
        if right {
            self.counts.passed += 1;
        } else {
            self.counts.failed += 1;
        }
    }

    fn skip(&mut self, reason: &str) {
        self.counts.skipped += 1;
        self.line(&format!("skipped: {}", reason.replace('\n', " ")));
    }

    /// Starts a table, with an extra column for the verdicts.
    fn table(&mut self, columns: &[&str]) {
        self.line(&format!("\n| {} | |", columns.join(" | ")));
        self.line(&format!("|{}", "---|".repeat(columns.len() + 1)));
    }
}

/// Evaluates and prints; true when all rows are correct.
pub(crate) fn run(workspace: &XtaskWorkspace, evaluation: &Evaluation) -> Result<bool> {
    let options = match evaluation {
        Evaluation::Repo(options) => options,
        Evaluation::Code(options) => return code::evaluate(workspace, options),
        Evaluation::Docs(options) => return docs::evaluate(workspace, options),
    };
    let docent = DocentProgram::given_or_built(workspace, options.docent.as_deref())?;
    let context = EvalContext { workspace, docent };
    let mut page = EvalReport::default();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    page.line("## Repository analysis\n");
    page.line(&format!("- date: {}", machine::now()?));
    page.line(&format!("- command: cargo xtask {}", arguments.join(" ")));
    page.line(&format!(
        "- versions: {}; tokei {}",
        context.docent.version(workspace)?,
        install::TOKEI_VERSION
    ));
    for part in &options.only {
        match part {
            RepoEvalPart::Lines => {
                lines::evaluate(&context, &Tokei::install(workspace)?, &mut page)?;
            }
            RepoEvalPart::Licences => licences::evaluate(&context, &mut page)?,
            RepoEvalPart::Links => links::evaluate(&context, &mut page)?,
        }
    }
    write!(std::io::stdout(), "{}\n{}\n", page.text, page.counts)?;
    Ok(page.counts.failed == 0)
}

/// Prints the first lines of a page about search.
fn heading() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    println!("- date: {}", machine::now()?);
    println!("- machine: {}", machine::describe()?);
    println!("- command: cargo xtask {}\n", arguments.join(" "));
    Ok(())
}

/// Returns the path of a file of expectations.
fn data(file: &str) -> String {
    Path::new("tests/real").join(file).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_counts_its_rows() {
        let mut page = EvalReport::default();
        page.table(&["package", "found"]);
        page.row(&["a", "MIT"], true);
        page.row(&["b", "none"], false);
        page.skip("c can't be fetched (no\nnetwork)");
        let expected = "\n| package | found | |\n|---|---|---|\n| a | MIT | right |\n| b | none | **wrong** |\n\
                        skipped: c can't be fetched (no network)\n";
        assert_eq!(page.text, expected);
        assert_eq!(page.counts, CheckCounts { passed: 1, failed: 1, skipped: 1 });
    }
}
