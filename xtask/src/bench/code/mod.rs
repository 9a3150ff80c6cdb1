//! `cargo xtask bench code`: what a project's index costs compared with parsing it and with a peer's index, how soon an
//! edit can be found, how fast a question is answered, and what a very large number of files costs.

mod codegraph;
mod questions;
mod trees;

use super::{
    peer::{eprint_step, folder},
    pipe::PipeServer,
    repo::{
        self,
        table::{RepoTable, RepoTarget, TreeSection},
    },
    usage,
};
use crate::{
    corpus,
    docent::DocentProgram,
    machine,
    process::{self, OutputMode},
    workspace::XtaskWorkspace,
};
use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use codegraph::Codegraph;
pub(super) use questions::percentile;
use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

const PACKAGE: &str = "django";
const PARSE_LIMIT: Duration = Duration::from_mins(5);
const TREE_SITTER: &str = "tree-sitter";
const INDEX: &str = "docent index";
const SERVE: &str = "docent serve";
const SEARCH: &str = "docent search";
/// The folder of docent's index in a tree.
const STATE: &str = ".docent";
const EDIT_COUNT: u32 = 20;
const EDIT_LIMIT: Duration = Duration::from_secs(30);
/// The pause between two edits, and before a server counts as idle, so that work caused by the last change has ended.
const SETTLE_TIME: Duration = Duration::from_secs(1);
const POLL_INTERVAL: Duration = Duration::from_millis(2);
const QUERY_COUNT: usize = 200;
const SEARCH_COUNT: usize = 20;
const NOTE: &str = "the median of the samples and their range; × is the figure divided by that of the one it names;\n  \
    CPU is user and system time of the whole process, and RSS its peak, as `wait4` counts them; files come from the\n  \
    page cache; before each cold index, the last one was removed";

/// Options of `cargo xtask bench code`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Run each program this many times; the peer runs once.
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Measure these parts.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "cold,edits,queries,search,idle,many"
    )]
    only: Vec<CodeBenchPart>,
    /// Watch an idle server for this many seconds.
    #[arg(long, default_value_t = 60)]
    idle_seconds: u32,
    /// Measure this docent binary [default: build this workspace's].
    #[arg(long)]
    docent: Option<PathBuf>,
}

/// A part of the measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CodeBenchPart {
    /// A first index, compared with parsing and with a peer.
    Cold,
    /// The time from an edit to the answer that contains it.
    Edits,
    /// Questions to a running server.
    Queries,
    /// Questions to a new process each.
    Search,
    /// The CPU time of an idle server.
    Idle,
    /// An index of 100,000 files, and an update without a change.
    Many,
}

/// Measures, prints the tables and writes them to target/bench/code.json.
pub(crate) fn run(workspace: &XtaskWorkspace, options: &Options, args: &[String]) -> Result<()> {
    let package = corpus::search_package(workspace, PACKAGE)?;
    let docent = DocentProgram::given_or_built(workspace, options.docent.as_deref())?;
    let mut table = RepoTable::new("The index of code", NOTE);
    table.describe("machine", machine::describe()?);
    table.describe("date", machine::now()?);
    table.describe("command", format!("cargo xtask bench {}", args.join(" ")));
    let docents = docent.version(workspace)?;
    table.describe("versions", format!("{docents}; codegraph {}", codegraph::VERSION));
    table.describe("load average at the start", machine::load_average()?);
    let place = folder(workspace, "code")?;
    let tree = place.join(PACKAGE);
    let files = trees::copy(&corpus::tree(workspace, &package)?, &tree)?;
    let bench = CodeBench { workspace, options, docent, place, tree, files };
    if options.only.contains(&CodeBenchPart::Cold) {
        table.push(bench.cold(&package.to_string())?);
    }
    let mut work = TreeSection::without_base(format!("At work: {package}"));
    for part in &options.only {
        match part {
            CodeBenchPart::Edits => bench.edits(&mut work)?,
            CodeBenchPart::Queries => bench.queries(&mut work)?,
            CodeBenchPart::Search => bench.search(&mut work)?,
            CodeBenchPart::Idle => bench.idle(&mut work)?,
            CodeBenchPart::Cold | CodeBenchPart::Many => {}
        }
    }
    if !work.is_empty() {
        table.push(work);
    }
    if options.only.contains(&CodeBenchPart::Many) {
        table.push(bench.many()?);
    }
    table.describe("load average at the end", machine::load_average()?);
    write!(std::io::stdout(), "{table}")?;
    let path = folder(workspace, "")?.join("code.json");
    fs::write(&path, serde_json::to_vec_pretty(&table.json())?)
        .with_context(|| format!("writing {}", path.display()))
}

struct CodeBench<'a> {
    workspace: &'a XtaskWorkspace,
    options: &'a Options,
    docent: DocentProgram,
    /// The benchmark's own folder.
    place: PathBuf,
    /// A copy of the package, and the files in it.
    tree: PathBuf,
    files: Vec<PathBuf>,
}

impl CodeBench<'_> {
    fn cold(&self, package: &str) -> Result<TreeSection> {
        let mut section = TreeSection::new(format!("A first index: {package}"), TREE_SITTER);
        let mut parse = Command::new(repo::parser(self.workspace)?);
        parse.arg(&self.tree);
        let said = process::run(&mut parse, PARSE_LIMIT, OutputMode::Kept)?.or_fail("parse")?;
        section.describe(format!("tree-sitter: {} parsed once, on one thread", said.trim()));
        for round in 1..=self.options.rounds {
            eprint_step(&format!("round {round} of {}: {TREE_SITTER}", self.options.rounds));
            section.add_run(TREE_SITTER, usage::run(&mut parse)?, [None; 2]);
            eprint_step(&format!("round {round} of {}: {INDEX}", self.options.rounds));
            trees::forget(&self.tree, STATE)?;
            let used = usage::run(&mut self.docent.index(&self.tree))?;
            let aims = [Some(RepoTarget::TimesBaseAtMost(2.5)), Some(RepoTarget::AtMost(400.0))];
            section.add_run(INDEX, used, aims);
        }
        eprint_step("once: codegraph");
        match self.codegraph() {
            Ok(used) => {
                section.add_run(
                    "codegraph",
                    used,
                    [Some(RepoTarget::TimesAtLeast(4.0, INDEX)), None],
                );
            }
            Err(problem) => {
                let reason = corpus::reason(&format!("{problem:#}"));
                section.describe(format!("codegraph was skipped: {reason}"));
            }
        }
        Ok(section)
    }

    fn codegraph(&self) -> Result<usage::ResourceUsage> {
        let home = self.place.join("home");
        fs::create_dir_all(&home)?;
        let codegraph = Codegraph::install(self.workspace, home)?;
        trees::forget(&self.tree, codegraph::STATE)?;
        let used = usage::run(&mut codegraph.index(&self.tree));
        // Remove its files from the tree that docent is asked about.
        trees::forget(&self.tree, codegraph::STATE)?;
        used
    }

    /// Starts a server whose index of the tree is up to date.
    fn server(&self) -> Result<PipeServer> {
        usage::run(&mut self.docent.index(&self.tree))?;
        let (mut server, _) = PipeServer::start(self.docent.serve(&self.tree))?;
        ask(&mut server, "the first question loads what later ones share")?;
        thread::sleep(SETTLE_TIME);
        Ok(server)
    }

    fn edits(&self, section: &mut TreeSection) -> Result<()> {
        let modules: Vec<&PathBuf> = self.files.iter().filter(|file| is_module(file)).collect();
        let every = modules.len() / (EDIT_COUNT as usize + 1);
        ensure!(every > 0, "{} has too few modules", self.tree.display());
        let mut server = self.server()?;
        eprint_step(&format!("{EDIT_COUNT} edits"));
        for (number, file) in (0..=EDIT_COUNT).zip(modules.into_iter().step_by(every)) {
            let waited = edit(&mut server, &self.tree.join(file), &trees::unique_word(number))
                .with_context(|| format!("editing {}", file.display()))?;
            // The first edit would reach a server whose watcher is still starting.
            if number > 0 {
                let measure = "an edited file can be found (ms)";
                section.add(measure, SERVE, Some(RepoTarget::AtMost(200.0)), milliseconds(waited));
            }
            thread::sleep(SETTLE_TIME);
        }
        Ok(())
    }

    fn queries(&self, section: &mut TreeSection) -> Result<()> {
        let questions = questions::ask_for(&self.tree, &self.files, QUERY_COUNT)?;
        let mut server = self.server()?;
        eprint_step(&format!("{QUERY_COUNT} questions"));
        let mut samples = Vec::new();
        for question in &questions {
            let began = Instant::now();
            ask(&mut server, question)?;
            samples.push(milliseconds(began.elapsed()));
        }
        for sample in &samples {
            section.add("a question, p50 (ms)", SERVE, Some(RepoTarget::AtMost(5.0)), *sample);
        }
        section.add("a question, p95 (ms)", SERVE, None, percentile(&samples, 95));
        Ok(())
    }

    fn search(&self, section: &mut TreeSection) -> Result<()> {
        usage::run(&mut self.docent.index(&self.tree))?;
        eprint_step(&format!("{SEARCH_COUNT} searches"));
        for question in questions::ask_for(&self.tree, &self.files, SEARCH_COUNT)? {
            let used = usage::run(&mut self.docent.search(&question, &self.tree))?;
            let measure = "a question to a new process (ms)";
            section.add(measure, SEARCH, Some(RepoTarget::AtMost(80.0)), milliseconds(used.wall));
        }
        Ok(())
    }

    fn idle(&self, section: &mut TreeSection) -> Result<()> {
        let seconds = self.options.idle_seconds;
        let _server = self.server()?;
        eprint_step(&format!("watching for {seconds} s"));
        let before = usage::cpu()?;
        let began = Instant::now();
        thread::sleep(Duration::from_secs(u64::from(seconds)));
        let used = usage::cpu()?.saturating_sub(before);
        let share = 100.0 * used.as_secs_f64() / began.elapsed().as_secs_f64();
        let measure = format!("CPU while nothing happens for {seconds} s (%)");
        section.add(&measure, SERVE, Some(RepoTarget::AtMost(0.1)), share);
        Ok(())
    }

    fn many(&self) -> Result<TreeSection> {
        eprint_step("making many files");
        let tree = trees::many(self.workspace, &self.place.join("many"))?;
        let count = trees::FOLDERS * trees::FILES_IN_FOLDER;
        let mut section = TreeSection::without_base(format!("Many files: {count}"));
        section.describe(format!(
            "tree: small Python modules in {} folders, each with one function and one class",
            trees::FOLDERS
        ));
        trees::forget(&tree, STATE)?;
        eprint_step("once: a first index");
        self.index_many(&tree, "a first index", None, &mut section)?;
        for round in 1..=self.options.rounds {
            eprint_step(&format!("round {round} of {}: no change", self.options.rounds));
            self.index_many(&tree, "no change", Some(RepoTarget::AtMost(2.0)), &mut section)?;
        }
        trees::forget(&tree, STATE)?;
        Ok(section)
    }

    fn index_many(
        &self,
        tree: &Path,
        subject: &str,
        aim: Option<RepoTarget>,
        section: &mut TreeSection,
    ) -> Result<()> {
        let used = usage::run(&mut self.docent.index(tree))?;
        section.add("wall time (s)", subject, aim, used.wall.as_secs_f64());
        section.add("CPU (s)", subject, None, used.cpu.as_secs_f64());
        section.add("peak RSS (MB)", subject, None, used.peak_mb);
        Ok(())
    }
}

/// Asks a question and returns the names found.
fn ask(server: &mut PipeServer, question: &str) -> Result<Vec<String>> {
    questions::names(&server.call(questions::TOOL, &questions::query(question))?)
}

/// Writes a function into a file and asks until it is found; returns how long that took.
fn edit(server: &mut PipeServer, file: &Path, name: &str) -> Result<Duration> {
    let began = Instant::now();
    trees::append(file, name)?;
    while !ask(server, name)?.iter().any(|found| found == name) {
        ensure!(began.elapsed() < EDIT_LIMIT, "{name} was not found in {EDIT_LIMIT:?}");
        thread::sleep(POLL_INTERVAL);
    }
    Ok(began.elapsed())
}

fn is_module(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ending == "py")
        && file.file_stem() != Some("__init__".as_ref())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_python_files_other_than_init() {
        for (file, expected) in
            [("a/b.py", true), ("a/__init__.py", false), ("a/b.pyi", false), ("py", false)]
        {
            assert_eq!(is_module(Path::new(file)), expected, "{file}");
        }
    }
}
