//! `cargo xtask bench repo`: what an analysis costs, compared with counting the same lines with tokei and parsing the
//! same files with tree-sitter, and whether the cost is linear in the number of files.

pub(super) mod copies;
pub(super) mod table;

use super::{
    peer::{eprint_step, folder},
    usage,
};
use crate::{
    corpus::{self, CorpusPackage},
    docent::{AnalyzeDepth, DocentProgram},
    install, machine,
    process::{self, OutputMode},
    tokei::Tokei,
    workspace::XtaskWorkspace,
};
use anyhow::{Context, Result};
use clap::ValueEnum;
use serde::Deserialize;
use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};
use table::{RepoTable, RepoTarget, TreeSection};

const TREES: &str = "tests/real/bench.toml";
const COMPILE_LIMIT: Duration = Duration::from_hours(1);
const PARSE_LIMIT: Duration = Duration::from_mins(5);
const TOKEI: &str = "tokei";
const TREE_SITTER: &str = "tree-sitter";
/// The size to which others are compared: below it, process startup weighs too much.
const REFERENCE_SIZE: &str = "10000 files";
const TREE_SIZES: [usize; 3] = [1_000, 10_000, 100_000];
/// Few rounds: the largest tree takes minutes, and CPU time hardly varies.
const GROWTH_ROUNDS: u32 = 3;

const NOTE: &str = "the median of the samples and their range; × is the figure divided by that of the one it names;\n  \
    CPU is user and system time of the whole process, and RSS its peak, as `wait4` counts them; every program\n  \
    ran once before it was measured, so that files come from the page cache, and programs take turns";

/// Options of `cargo xtask bench repo`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Run each program this many times.
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Measure these parts.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "large,deep,linear")]
    only: Vec<RepoBenchPart>,
    /// Measure this docent binary [default: build this workspace's].
    #[arg(long)]
    docent: Option<PathBuf>,
}

/// A part of the measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RepoBenchPart {
    /// Quick and standard on a large tree, compared with tokei.
    Large,
    /// Deep, compared with parsing with tree-sitter.
    Deep,
    /// All depths on trees of growing size.
    Linear,
}

/// Which trees to measure on.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Trees {
    /// Tens of thousands of files.
    large: CorpusPackage,
    /// One well-known project.
    project: CorpusPackage,
}

/// Measures, prints the tables and writes them to target/bench/repo.json.
pub(crate) fn run(workspace: &XtaskWorkspace, options: &Options, args: &[String]) -> Result<()> {
    let trees: Trees = corpus::expectations(workspace, TREES)?;
    let bench = RepoBench {
        workspace,
        docent: DocentProgram::given_or_built(workspace, options.docent.as_deref())?,
        rounds: options.rounds,
    };
    let mut table = RepoTable::new("Repository analysis", NOTE);
    table.describe("machine", machine::describe()?);
    table.describe("date", machine::now()?);
    table.describe("command", format!("cargo xtask bench {}", args.join(" ")));
    table.describe(
        "versions",
        format!("{}; tokei {}", bench.docent.version(workspace)?, install::TOKEI_VERSION),
    );
    table.describe("load average at the start", machine::load_average()?);
    for part in &options.only {
        table.push(match part {
            RepoBenchPart::Large => bench.large(&trees.large)?,
            RepoBenchPart::Deep => bench.deep(&trees.project)?,
            RepoBenchPart::Linear => bench.linear(&trees.project)?,
        });
    }
    table.describe("load average at the end", machine::load_average()?);
    write!(std::io::stdout(), "{table}")?;
    let path = folder(workspace, "")?.join("repo.json");
    fs::write(&path, serde_json::to_vec_pretty(&table.json())?)
        .with_context(|| format!("writing {}", path.display()))
}

struct RepoBench<'a> {
    workspace: &'a XtaskWorkspace,
    docent: DocentProgram,
    rounds: u32,
}

/// A measured program.
struct Contender {
    name: String,
    command: Command,
    /// The targets for its CPU time and its memory.
    aims: [Option<RepoTarget>; 2],
}

impl RepoBench<'_> {
    fn large(&self, package: &CorpusPackage) -> Result<TreeSection> {
        let tree = self.tree(package)?;
        let tokei = Tokei::install(self.workspace)?;
        let mut section = TreeSection::new(format!("Large tree: {package}"), TOKEI);
        section.describe(self.describe(&tree, &tokei)?);
        let memory = Some(RepoTarget::AtMost(300.0));
        let mut contenders = vec![
            Contender { name: TOKEI.to_owned(), command: tokei.count(&tree), aims: [None; 2] },
            self.contender(
                &tree,
                AnalyzeDepth::Quick,
                [Some(RepoTarget::TimesBaseAtMost(1.2)), memory],
            ),
            self.contender(
                &tree,
                AnalyzeDepth::Standard,
                [Some(RepoTarget::TimesBaseAtMost(1.5)), memory],
            ),
        ];
        self.take_turns(&mut contenders, &mut section)?;
        // Its time is judged below, on a project of common size; only its memory is judged here.
        let mut deep = self.contender(&tree, AnalyzeDepth::Deep, [None, memory]);
        eprint_step("once: docent deep");
        section.add_run(&deep.name, usage::run(&mut deep.command)?, deep.aims);
        Ok(section)
    }

    fn deep(&self, package: &CorpusPackage) -> Result<TreeSection> {
        let tree = self.tree(package)?;
        let parse = parser(self.workspace)?;
        let mut command = Command::new(&parse);
        command.arg(&tree);
        let said = process::run(&mut command, PARSE_LIMIT, OutputMode::Kept)?.or_fail("parse")?;
        let mut section = TreeSection::new(format!("Deep: {package}"), TREE_SITTER);
        section.describe(format!(
            "tree-sitter: {} in Python, JavaScript, TypeScript and Rust read and parsed once, on one thread, the trees \
             dropped",
            said.trim()
        ));
        let mut contenders = vec![
            Contender { name: TREE_SITTER.to_owned(), command, aims: [None; 2] },
            self.contender(
                &tree,
                AnalyzeDepth::Deep,
                [Some(RepoTarget::TimesBaseAtMost(3.0)), None],
            ),
        ];
        self.take_turns(&mut contenders, &mut section)?;
        Ok(section)
    }

    fn linear(&self, package: &CorpusPackage) -> Result<TreeSection> {
        let tree = self.tree(package)?;
        let files = copies::files(&tree)?;
        let place = tempfile::Builder::new()
            .prefix("copies-")
            .tempdir_in(corpus::folder(self.workspace))
            .context("making a folder for the copies")?;
        let mut section = TreeSection::new(format!("Growth: copies of {package}"), REFERENCE_SIZE);
        section.describe(format!(
            "trees: copies of its {} files in numbered folders, with an evenly thinned last copy",
            files.len()
        ));
        for size in TREE_SIZES {
            let folder = place.path().join(size.to_string());
            eprint_step(&format!("copying {size} files"));
            copies::fill(&folder, &tree, &files, size)?;
            corpus::init_repository(&folder)?;
            self.measure_size(&folder, size, &mut section)?;
            fs::remove_dir_all(&folder)?;
        }
        Ok(section)
    }

    /// Measures every depth on a tree of this size.
    fn measure_size(&self, folder: &Path, size: usize, section: &mut TreeSection) -> Result<()> {
        let aim = (Some(&size) == TREE_SIZES.last()).then_some(RepoTarget::TimesBaseAtMost(1.25));
        let count = f64::from(u32::try_from(size)?);
        // The copies share their contents with the tree, so only their names are new to the page cache.
        usage::run(&mut self.docent.analysis(folder, AnalyzeDepth::Quick))?;
        for depth in [AnalyzeDepth::Quick, AnalyzeDepth::Standard, AnalyzeDepth::Deep] {
            let mut analysis = self.docent.analysis(folder, depth);
            let (subject, word) = (format!("{size} files"), depth.word());
            for round in 1..=self.rounds.min(GROWTH_ROUNDS) {
                eprint_step(&format!("round {round}: {word}, {subject}"));
                let used = usage::run(&mut analysis)?;
                let sample = used.cpu.as_secs_f64() * 1e6 / count;
                section.add(&format!("CPU per file, {word} (µs)"), &subject, aim, sample);
                section.add(&format!("peak RSS, {word} (MB)"), &subject, None, used.peak_mb);
            }
        }
        Ok(())
    }

    /// Runs each program once unmeasured, and then all of them in turn.
    fn take_turns(&self, contenders: &mut [Contender], section: &mut TreeSection) -> Result<()> {
        for round in 0..=self.rounds {
            for Contender { name, command, aims } in &mut *contenders {
                eprint_step(&format!("round {round} of {}: {name}", self.rounds));
                let used = usage::run(command)?;
                if round > 0 {
                    section.add_run(name, used, *aims);
                }
            }
        }
        Ok(())
    }

    fn contender(
        &self,
        tree: &Path,
        depth: AnalyzeDepth,
        aims: [Option<RepoTarget>; 2],
    ) -> Contender {
        let command = self.docent.analysis(tree, depth);
        Contender { name: format!("docent {}", depth.word()), command, aims }
    }

    fn tree(&self, package: &CorpusPackage) -> Result<PathBuf> {
        eprint_step(&format!("fetching {package}"));
        corpus::tree(self.workspace, package)
    }

    /// Describes what both programs see, because they should do the same work.
    fn describe(&self, tree: &Path, tokei: &Tokei) -> Result<String> {
        let report = self.docent.report(tree, AnalyzeDepth::Quick)?;
        let languages = report["languages"].as_array().map(Vec::as_slice).unwrap_or_default();
        let known: u64 = languages.iter().filter_map(|language| language["files"].as_u64()).sum();
        Ok(format!(
            "tree: {} files, {} bytes, {} languages; files of a known language: {} by tokei, {known} by docent",
            report["structure"]["files"],
            report["structure"]["bytes"],
            languages.len(),
            // Not from its JSON, which is large: see `ResourceUsage::peak_mb`.
            tokei.files(tree)?
        ))
    }
}

/// Builds the example of the suites crate that only parses.
pub(super) fn parser(workspace: &XtaskWorkspace) -> Result<PathBuf> {
    eprint_step("building the parser");
    let mut build = workspace.cargo(["build", "--release", "-p", "docent-suites"]);
    build.args(["--example", "parse"]);
    process::run(&mut build, COMPILE_LIMIT, OutputMode::Kept)?.or_fail("cargo build")?;
    Ok(workspace.binary("release/examples", "parse"))
}
