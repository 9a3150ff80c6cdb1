//! Documentation search: the ranking in the lab, and docent end to end, from the pages to the answers on its standard
//! output, compared with plain BM25. tests/eval/docs.py asks docent the questions.

use super::heading;
use crate::{
    corpus::{self, FetchOutcome},
    docent::DocentProgram,
    lab::{self, QUESTIONS, SearchMaterial},
    process::{self, OutputMode},
    workspace::XtaskWorkspace,
};
use anyhow::{Context, Result};
use clap::ValueEnum;
use serde::Deserialize;
use std::{
    fmt::{self, Write as _},
    io::Write as _,
    path::PathBuf,
    process::Command,
    time::Duration,
};

/// The manual whose pages are searched.
pub(crate) const MANUAL: &str = "postgresql-doc-15";
const SCRIPT: &str = "tests/eval/docs.py";
const QUERIES: u32 = 1000;
const RUN_LIMIT: Duration = Duration::from_hours(1);

/// Options of `cargo xtask eval docs`.
#[derive(Debug, clap::Args)]
#[group(id = "docs")]
pub(crate) struct Options {
    #[command(flatten)]
    lab: lab::Options,
    /// Evaluate these parts
    #[arg(long, value_enum, value_delimiter = ',', default_value = "lab,whole")]
    only: Vec<DocsEvalPart>,
    /// Ask this many terms of the manual's index end to end, for the first rows
    #[arg(long, default_value_t = QUERIES)]
    queries: u32,
    /// Evaluate this docent binary [default: build this workspace's]
    #[arg(long, visible_alias = "bin")]
    docent: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DocsEvalPart {
    /// The ranking, on the terms of the manual's index
    Lab,
    /// docent end to end, on these terms and on questions
    Whole,
}

/// Evaluates and prints. No row counts as wrong: people compare the figures with the targets.
pub(super) fn evaluate(workspace: &XtaskWorkspace, options: &Options) -> Result<bool> {
    heading()?;
    if options.only.contains(&DocsEvalPart::Lab) {
        lab::evaluate(workspace, SearchMaterial::Docs, &options.lab)?;
    }
    if options.only.contains(&DocsEvalPart::Whole) {
        let text = evaluate_docent(workspace, options)?;
        write!(std::io::stdout(), "\n### docent end to end\n\n{text}")?;
    }
    Ok(true)
}

/// Returns the tables, or a line that says why they were skipped.
fn evaluate_docent(workspace: &XtaskWorkspace, options: &Options) -> Result<String> {
    let (set, tree) = match corpus::search_set(workspace, MANUAL)? {
        (set, FetchOutcome::Tree(tree)) => (set, tree),
        (set, FetchOutcome::Unavailable(reason)) => {
            return Ok(format!("skipped: {} can't be fetched ({reason})\n", set.package));
        }
    };
    let docent = DocentProgram::given_or_built(workspace, options.docent.as_deref())?;
    let version = docent.version(workspace)?;
    eprintln!("asking {version}");
    let mut python = Command::new("python3");
    // Write nothing into the repository.
    python.arg("-B").arg(workspace.root.join(SCRIPT));
    python.arg("--docent").arg(docent.program()).arg("--manual").arg(tree.join(&set.folder));
    python.arg("--questions").arg(workspace.root.join(QUESTIONS));
    python.args(["--queries", &options.queries.to_string()]);
    let said = process::run(&mut python, RUN_LIMIT, OutputMode::Kept)?.or_fail(SCRIPT)?;
    let figures = DocsEvalResults::parse(said.lines().last().unwrap_or_default())?;
    Ok(format!("- version: {version}\n- manual: {}\n{figures}", set.package))
}

/// The script's results.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DocsEvalResults {
    rows: Vec<DocsEvalRow>,
    /// The number of terms of the printed index that are asked.
    terms: u32,
    unanswerable: u32,
    unanswerable_without_hit: f64,
    answerable_with_hit: f64,
    /// The error of `docent docs sync`.
    sync_problem: Option<String>,
    sync_seconds: f64,
    query_ms_p50: f64,
    query_ms_p95: f64,
}

/// How well one program answered one set of questions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DocsEvalRow {
    set: String,
    subject: String,
    questions: u32,
    mrr10: f64,
    recall1: f64,
    recall5: f64,
    recall10: f64,
}

impl DocsEvalResults {
    /// Parses a line of JSON.
    fn parse(line: &str) -> Result<Self> {
        serde_json::from_str(line).with_context(|| format!("{SCRIPT} printed {line:?}"))
    }
}

impl fmt::Display for DocsEvalResults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { terms, sync_seconds, query_ms_p50, query_ms_p95, .. } = self;
        let sync = match &self.sync_problem {
            Some(problem) => format!("failed, the pages were read later: {problem}"),
            None => format!("{sync_seconds:.2} s"),
        };
        writeln!(f, "- docs sync: {sync}")?;
        writeln!(
            f,
            "- all {terms} terms and the questions over stdio: p50 {query_ms_p50:.1} ms, p95 {query_ms_p95:.1} ms\n"
        )?;
        f.write_str(
            "| set | questions | | MRR@10 | R@1 | R@5 | R@10 |\n|---|--:|---|--:|--:|--:|--:|\n",
        )?;
        for row in &self.rows {
            writeln!(
                f,
                "| {} | {} | {} | {:.3} | {:.3} | {:.3} | {:.3} |",
                row.set,
                row.questions,
                row.subject,
                row.mrr10,
                row.recall1,
                row.recall5,
                row.recall10
            )?;
        }
        f.write_char('\n')?;
        let share = |part: f64| format!("{:.0} %", part * 100.0);
        writeln!(
            f,
            "Of {} questions that the manual can't answer, {} get no hit with a score of 0.7 or more; of those that it \
             answers, {} get one.",
            self.unanswerable,
            share(self.unanswerable_without_hit),
            share(self.answerable_with_hit)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::{collections::BTreeSet, fs, os::unix::fs::PermissionsExt as _, path::Path};

    fn figures() -> Value {
        json!({
            "rows": [
                {"set": "index terms", "subject": "docent", "questions": 1000, "mrr10": 0.8432, "recall1": 0.76,
                 "recall5": 0.94, "recall10": 0.9725},
                {"set": "index terms", "subject": "BM25", "questions": 1000, "mrr10": 0.7, "recall1": 0.6,
                 "recall5": 0.9, "recall10": 1.0},
            ],
            "terms": 2998, "unanswerable": 6, "unanswerable_without_hit": 0.8333, "answerable_with_hit": 0.5,
            "sync_problem": null, "sync_seconds": 1.5, "query_ms_p50": 4.04, "query_ms_p95": 9.0,
        })
    }

    #[track_caller]
    fn check(figures: &Value, expected: &[&str]) {
        let text = DocsEvalResults::parse(&figures.to_string()).unwrap().to_string();
        for line in expected {
            assert!(text.lines().any(|found| found == *line), "no {line:?} in\n{text}");
        }
    }

    #[test]
    fn the_line_becomes_tables() {
        check(
            &figures(),
            &[
                "- docs sync: 1.50 s",
                "- all 2998 terms and the questions over stdio: p50 4.0 ms, p95 9.0 ms",
                "| set | questions | | MRR@10 | R@1 | R@5 | R@10 |",
                "| index terms | 1000 | docent | 0.843 | 0.760 | 0.940 | 0.973 |",
                "| index terms | 1000 | BM25 | 0.700 | 0.600 | 0.900 | 1.000 |",
                "Of 6 questions that the manual can't answer, 83 % get no hit with a score of 0.7 or more; of those that it answers, 50 % get one.",
            ],
        );
        let mut failed = figures();
        failed["sync_problem"] = json!("no such command");
        check(&failed, &["- docs sync: failed, the pages were read later: no such command"]);
    }

    #[test]
    fn output_without_figures_is_shown() {
        let mut lacking = figures();
        lacking.as_object_mut().unwrap().remove("rows");
        for line in ["", "Traceback", "[]", "{}", &lacking.to_string()] {
            let problem = DocsEvalResults::parse(line).unwrap_err().to_string();
            assert!(problem.contains(SCRIPT), "{problem}");
        }
    }

    /// A fake docent: finds the page named by the first word of a question with a high score, and fails to sync.
    const FAKE: &str = r#"
import json, sys
if sys.argv[1] == "docs":
    sys.exit("nothing to sync")
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        result = {}
        if asked["method"] == "tools/call":
            page = asked["params"]["arguments"]["query"].split()[0] + ".html"
            hits = [{"metadata": {"source": f"postgresql/{name}"}, "score": 0.9} for name in ["other.html", page]]
            result = {"structuredContent": {"results": hits}}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"#;

    #[test]
    fn the_script_asks_and_ranks() {
        let place = tempfile::tempdir().unwrap();
        let (manual, docent) = (place.path().join("manual"), place.path().join("docent"));
        fs::create_dir(&manual).unwrap();
        let index = r#"<dl><dt>copy, <a href="copy.html">C</a></dt><dt>lock table, <a href="lock.html">L</a></dt></dl>"#;
        for (file, text) in [
            ("bookindex.html", index),
            ("copy.html", "<h1>COPY</h1><p>Moves rows.</p>"),
            ("lock.html", "<h1>LOCK</h1><p>Locks a table.</p>"),
        ] {
            fs::write(manual.join(file), text).unwrap();
        }
        let asked = json!([
            {"question": "how are rows moved?", "kind": "how-to", "pages": ["copy.html"]},
            {"question": "what about the weather?", "kind": "unanswerable", "pages": []},
        ]);
        fs::write(place.path().join("asked.json"), asked.to_string()).unwrap();
        // docent is started without a PATH.
        let mut where_is = Command::new("python3");
        where_is.args(["-c", "import sys; print(sys.executable)"]);
        let python = process::run(&mut where_is, Duration::from_mins(1), OutputMode::Kept).unwrap();
        fs::write(&docent, format!("#!{}{FAKE}", python.text.trim())).unwrap();
        fs::set_permissions(&docent, fs::Permissions::from_mode(0o755)).unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(SCRIPT);
        let mut python = Command::new("python3");
        python.arg("-B").arg(script).arg("--docent").arg(&docent).arg("--manual").arg(&manual);
        python.arg("--questions").arg(place.path().join("asked.json"));
        let said = process::run(&mut python, Duration::from_mins(2), OutputMode::Kept).unwrap();
        let said = said.or_fail(SCRIPT).unwrap();
        let figures = DocsEvalResults::parse(said.lines().last().unwrap()).unwrap();
        let text = figures.to_string();
        for row in [
            "- docs sync: failed, the pages were read later: nothing to sync",
            "| index terms | 2 | docent | 0.500 | 0.000 | 1.000 | 1.000 |",
            "| index terms | 2 | BM25 | 1.000 | 1.000 | 1.000 | 1.000 |",
            "| index terms of two words or more | 1 | docent | 0.500 | 0.000 | 1.000 | 1.000 |",
            "| questions | 1 | docent | 0.000 | 0.000 | 0.000 | 0.000 |",
            "| questions | 1 | BM25 | 1.000 | 1.000 | 1.000 | 1.000 |",
        ] {
            assert!(text.lines().any(|line| line == row), "no {row} in\n{text}");
        }
        assert!(
            text.contains("Of 1 questions that the manual can't answer, 0 % get no hit"),
            "{text}"
        );
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct WrittenManualQuestion {
        question: String,
        kind: String,
        pages: Vec<String>,
        #[serde(default)]
        typo: bool,
    }

    #[test]
    fn the_questions_are_of_every_kind_and_unique() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let text = fs::read(root.join(QUESTIONS)).unwrap();
        let all: Vec<WrittenManualQuestion> = serde_json::from_slice(&text).unwrap();
        let texts: BTreeSet<&str> = all.iter().map(|one| one.question.as_str()).collect();
        assert_eq!(texts.len(), all.len());
        for one in &all {
            let pages: BTreeSet<&String> = one.pages.iter().collect();
            assert_eq!(pages.len(), one.pages.len(), "{one:?}");
            let is_page = |page: &String| Path::new(page).extension() == Some("html".as_ref());
            assert!(one.pages.len() <= 3 && one.pages.iter().all(is_page), "{one:?}");
            assert_eq!(one.pages.is_empty(), one.kind == "unanswerable", "{one:?}");
        }
        let count =
            |is: &dyn Fn(&WrittenManualQuestion) -> bool| all.iter().filter(|one| is(one)).count();
        assert!(count(&|one| !one.pages.is_empty()) >= 80);
        assert_eq!(count(&|one| one.typo), 10);
        assert_eq!(count(&|one| one.kind == "identifier"), 10);
        assert_eq!(count(&|one| one.kind == "unanswerable"), 6);
    }
}
