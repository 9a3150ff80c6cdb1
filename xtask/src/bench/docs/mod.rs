//! `cargo xtask bench docs`: what it costs to update and search a documentation collection, compared with a program
//! around a search library and another documentation server, and how well each finds the right page.

mod docs_mcp_server;
mod manual;
mod tantivy;

use super::{
    peer::{eprint_step, folder},
    pipe::PipeServer,
    repo::table::{RepoTable, RepoTarget, TreeSection},
    usage::{self, ResourceUsage},
};
use crate::{
    corpus::{self, CorpusPackage, FetchOutcome},
    docent::DocentProgram,
    eval::docs::MANUAL,
    machine,
    workspace::XtaskWorkspace,
};
use anyhow::{Context, Result};
use clap::ValueEnum;
use docs_mcp_server::DocsMcpServer;
use manual::{ManualCollection, ManualQuestion};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    fs,
    io::Write as _,
    path::PathBuf,
    time::{Duration, Instant},
};
use tantivy::Tantivy;

const LARGE_COLLECTIONS_FILE: &str = "tests/real/docs.toml";
const DOCENT: &str = "docent";
const TANTIVY: &str = "tantivy";
const DOCS_MCP_SERVER: &str = "docs-mcp-server";
const TOOL: &str = "search_documentation";
const MAX_HITS: u32 = 20;
const NOTE: &str = "the median of the samples and their range; × is the figure divided by that of docent; CPU is user and\n  \
    system time of the whole process, and RSS its peak, as `wait4` counts them; files come from the page cache;\n  \
    tantivy reads every page into one document without tags, and always syncs from nothing";

/// Options of `cargo xtask bench docs`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Run each program this many times; docs-mcp-server runs once.
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Measure these parts; `large` is measured only if named.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "sync,queries")]
    only: Vec<DocsBenchPart>,
    /// Compare with these programs.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "tantivy,docs-mcp-server")]
    peers: Vec<DocsBaseline>,
    /// Ask this many terms of the manual's index.
    #[arg(long, default_value_t = 1000)]
    queries: usize,
    /// Measure this docent binary [default: build this workspace's].
    #[arg(long)]
    docent: Option<PathBuf>,
    /// Use this folder with the published docs-mcp-server [default: install it with npm].
    #[arg(long)]
    docs_mcp_server: Option<PathBuf>,
}

/// A part of the measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DocsBenchPart {
    /// A first sync, one with nothing changed, and one with one page changed.
    Sync,
    /// Questions: the terms of the manual's index.
    Queries,
    /// A sync of tens of thousands of pages.
    Large,
}

/// A program to compare with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DocsBaseline {
    /// A program around the search library.
    Tantivy,
    /// A documentation server.
    DocsMcpServer,
}

/// A collection that is too large to measure each time.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LargeCollection {
    package: CorpusPackage,
    folder: String,
}

/// Measures, prints the tables and writes them to target/bench/docs.json.
pub(crate) fn run(workspace: &XtaskWorkspace, options: &Options, args: &[String]) -> Result<()> {
    let docent = DocentProgram::given_or_built(workspace, options.docent.as_deref())?;
    let place = folder(workspace, "docs")?;
    let mut table = RepoTable::new("Documentation", NOTE);
    table.describe("machine", machine::describe()?);
    table.describe("date", machine::now()?);
    table.describe("command", format!("cargo xtask bench {}", args.join(" ")));
    let mut versions = vec![docent.version(workspace)?];
    let tantivy = if options.peers.contains(&DocsBaseline::Tantivy) {
        eprint_step("preparing tantivy");
        let tantivy = Tantivy::build(workspace, place.join("tantivy-index"))?;
        versions.push(format!("tantivy {}", tantivy.version()));
        Some(tantivy)
    } else {
        None
    };
    if options.peers.contains(&DocsBaseline::DocsMcpServer) {
        versions.push(format!("{DOCS_MCP_SERVER} {}", docs_mcp_server::VERSION));
    }
    table.describe("versions", versions.join("; "));
    table.describe("load average at the start", machine::load_average()?);
    let bench = DocsBench { workspace, options, docent, tantivy, place };
    if options.only.iter().any(|part| *part != DocsBenchPart::Large) {
        bench.manual(&mut table)?;
    }
    if options.only.contains(&DocsBenchPart::Large) {
        table.push(bench.large()?);
    }
    table.describe("load average at the end", machine::load_average()?);
    write!(std::io::stdout(), "{table}")?;
    let path = folder(workspace, "")?.join("docs.json");
    fs::write(&path, serde_json::to_vec_pretty(&table.json())?)
        .with_context(|| format!("writing {}", path.display()))
}

struct DocsBench<'a> {
    workspace: &'a XtaskWorkspace,
    options: &'a Options,
    docent: DocentProgram,
    tantivy: Option<Tantivy>,
    /// The benchmark's own folder.
    place: PathBuf,
}

impl DocsBench<'_> {
    fn manual(&self, table: &mut RepoTable) -> Result<()> {
        let (set, fetched) = corpus::search_set(self.workspace, MANUAL)?;
        let tree = match fetched {
            FetchOutcome::Tree(tree) => tree.join(&set.folder),
            FetchOutcome::Unavailable(reason) => {
                anyhow::bail!("{} can't be fetched ({reason})", set.package)
            }
        };
        let collection = ManualCollection::copy(&tree, self.place.join("manual"), "postgresql")?;
        let questions = manual::questions(self.workspace, &tree, self.options.queries)?;
        let title = format!("{}, {} pages", set.package, collection.count);
        let mut sync = TreeSection::new(format!("Sync: {title}"), DOCENT);
        let mut asked = TreeSection::new(format!("Questions: {title}"), DOCENT);
        asked.describe(format!(
            "{} terms of the manual's printed index, one at a time over pipes; MRR@10 in % of the best",
            questions.len()
        ));
        self.sync(&collection, &mut sync)?;
        if self.options.only.contains(&DocsBenchPart::Queries) {
            self.queries(&collection, &questions, &mut asked)?;
        }
        if self.options.peers.contains(&DocsBaseline::DocsMcpServer) {
            eprint_step("once: docs-mcp-server");
            if let Err(problem) =
                self.docs_mcp_server(&collection, &questions, [&mut sync, &mut asked])
            {
                let reason = corpus::reason(&format!("{problem:#}"));
                sync.describe(format!("{DOCS_MCP_SERVER} was skipped: {reason}"));
            }
        }
        if self.options.only.contains(&DocsBenchPart::Sync) {
            table.push(sync);
        }
        if !asked.is_empty() {
            table.push(asked);
        }
        Ok(())
    }

    /// Measures syncs, and leaves everything up to date for the questions.
    fn sync(&self, collection: &ManualCollection, section: &mut TreeSection) -> Result<()> {
        let rounds = self.options.rounds.max(1);
        for round in 1..=rounds {
            eprint_step(&format!("round {round} of {rounds}: sync"));
            collection.forget()?;
            let sync = || usage::run(&mut self.docent.sync_docs(&collection.root));
            add(section, "from nothing", DOCENT, [Some(RepoTarget::AtMost(3000.0)), None], sync()?);
            if let Some(tantivy) = &self.tantivy {
                let used = usage::run(&mut tantivy.index(&collection.pages))?;
                add(section, "from nothing", TANTIVY, [None; 2], used);
            }
            let unchanged = [Some(RepoTarget::AtMost(200.0)), None];
            add(section, "nothing changed", DOCENT, unchanged, sync()?);
            collection.change(round)?;
            add(section, "one page changed", DOCENT, [None; 2], sync()?);
        }
        Ok(())
    }

    fn queries(
        &self,
        collection: &ManualCollection,
        questions: &[ManualQuestion],
        section: &mut TreeSection,
    ) -> Result<()> {
        eprint_step(&format!("{} questions", questions.len()));
        let (mut server, _) = PipeServer::start(self.docent.serve(&collection.root))?;
        ask(&mut server, "the first question loads what later ones share")?;
        measure(section, DOCENT, Some(RepoTarget::AtMost(5.0)), questions, |one| {
            ask(&mut server, one)
        })?;
        drop(server);
        if let Some(tantivy) = &self.tantivy {
            let mut child = tantivy.answering()?;
            child.ask("the first question opens the index")?;
            measure(section, TANTIVY, None, questions, |one| child.ask(one))?;
        }
        Ok(())
    }

    fn docs_mcp_server(
        &self,
        collection: &ManualCollection,
        questions: &[ManualQuestion],
        [sync, asked]: [&mut TreeSection; 2],
    ) -> Result<()> {
        let given = self.options.docs_mcp_server.as_deref();
        let peer = DocsMcpServer::install(self.workspace, given)?;
        let used = usage::run(&mut peer.index(&collection.pages)?)?;
        let mut server = peer.server()?;
        // It reports success even if it skipped all pages, and then fails to answer.
        docs_mcp_server::ask(&mut server, "the first question opens the store")?;
        add(sync, "from nothing", DOCS_MCP_SERVER, [None; 2], used);
        if self.options.only.contains(&DocsBenchPart::Queries) {
            let ask = |one: &str| docs_mcp_server::ask(&mut server, one);
            measure(asked, DOCS_MCP_SERVER, None, questions, ask)?;
        }
        Ok(())
    }

    fn large(&self) -> Result<TreeSection> {
        let large: LargeCollection = corpus::expectations(self.workspace, LARGE_COLLECTIONS_FILE)?;
        let tree = corpus::tree(self.workspace, &large.package)?.join(&large.folder);
        let collection = ManualCollection::copy(&tree, self.place.join("large"), "large")?;
        let title = format!("Sync: {}, {} pages", large.package, collection.count);
        let mut section = TreeSection::new(title, DOCENT);
        eprint_step("once: a large sync");
        let sync = || usage::run(&mut self.docent.sync_docs(&collection.root));
        let aims = [Some(RepoTarget::AtMost(90_000.0)), Some(RepoTarget::AtMost(500.0))];
        add(&mut section, "from nothing", DOCENT, aims, sync()?);
        add(&mut section, "nothing changed", DOCENT, [None; 2], sync()?);
        if let Some(tantivy) = &self.tantivy {
            let used = usage::run(&mut tantivy.index(&collection.pages))?;
            add(&mut section, "from nothing", TANTIVY, [None; 2], used);
        }
        Ok(section)
    }
}

/// Adds the resources used by one run, with the targets for its time and memory.
fn add(
    section: &mut TreeSection,
    what: &str,
    subject: &str,
    aims: [Option<RepoTarget>; 2],
    used: ResourceUsage,
) {
    let [wall, peak] = aims;
    section.add(&format!("{what}, wall time (ms)"), subject, wall, milliseconds(used.wall));
    section.add(&format!("{what}, CPU (ms)"), subject, None, milliseconds(used.cpu));
    section.add(&format!("{what}, peak RSS (MB)"), subject, peak, used.peak_mb);
}

/// Asks all questions, one at a time.
fn measure(
    section: &mut TreeSection,
    subject: &str,
    aim: Option<RepoTarget>,
    questions: &[ManualQuestion],
    mut ask: impl FnMut(&str) -> Result<Vec<String>>,
) -> Result<()> {
    let (mut samples, mut found) = (Vec::new(), Vec::new());
    for (question, _) in questions {
        let began = Instant::now();
        found.push(ask(question).with_context(|| format!("asking {subject} for {question:?}"))?);
        samples.push(milliseconds(began.elapsed()));
    }
    for sample in &samples {
        section.add("a question, p50 (ms)", subject, aim, *sample);
    }
    let slow = super::code::percentile(&samples, 95);
    section.add("a question, p95 (ms)", subject, None, slow);
    let mean = manual::mean_reciprocal_rank(questions, &found);
    section.add("MRR@10 (%)", subject, None, mean);
    Ok(())
}

/// Asks a question and returns the pages found, best first.
fn ask(server: &mut PipeServer, question: &str) -> Result<Vec<String>> {
    pages(&server.call(TOOL, &json!({"query": question, "max_results": MAX_HITS}))?)
}

fn pages(result: &Value) -> Result<Vec<String>> {
    let results = result["structuredContent"]["results"].as_array();
    let results = results.with_context(|| format!("{TOOL} answered {result}"))?;
    let sources = results.iter().filter_map(|one| one["metadata"]["source"].as_str());
    Ok(sources.map(manual::page_name).collect())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn pages_are_parsed_from_the_results() {
        let source = |source: &str| json!({"metadata": {"source": source}, "score": 0.9});
        let result =
            json!({"structuredContent": {"results": [source("a/b.html"), source("c.html")]}});
        assert_eq!(pages(&result).unwrap(), ["b.html", "c.html"]);
        let problem = pages(&json!({"isError": true})).unwrap_err().to_string();
        assert!(problem.contains("isError"), "{problem}");
    }

    #[test]
    fn every_subject_has_its_rows() {
        let mut section = TreeSection::new("Pages", DOCENT);
        let questions = [("q".to_owned(), ["a.html".to_owned()].into())];
        let answer = |_: &str| Ok(vec!["b.html".to_owned(), "a.html".to_owned()]);
        measure(&mut section, DOCENT, Some(RepoTarget::AtMost(1e6)), &questions, answer).unwrap();
        let text = section.to_string();
        assert!(text.contains("| MRR@10 (%) | docent | 50.0 |"), "{text}");
        assert!(text.contains("≤ 1000000: yes"), "{text}");
        let fails = |_: &str| anyhow::bail!("no luck");
        let problem = measure(&mut section, TANTIVY, None, &questions, fails).unwrap_err();
        assert!(format!("{problem:#}").contains("tantivy for \"q\": no luck"), "{problem:#}");
    }

    #[test]
    fn the_large_collection_is_pinned() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let large: LargeCollection =
            toml::from_str(&fs::read_to_string(root.join(LARGE_COLLECTIONS_FILE)).unwrap())
                .unwrap();
        assert_eq!((large.package.sha256.len(), large.folder.is_empty()), (64, false));
    }
}
