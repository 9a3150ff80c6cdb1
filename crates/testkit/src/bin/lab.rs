//! Evaluates and trains the index on real packages. `cargo xtask eval code` and `docs` fetch them and run this program.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "figures go to the terminal")]

use clap::{Args, Parser, Subcommand};
use docent_index::{Genre, rank::Weights};
use docent_testkit::{
    corpus::{self, JudgedCollection, JudgedQuestion},
    lab::{
        bench, learn,
        measure::{passing, table},
        phrasing::{self, Phrasing},
        runs::{FilledStore, QuestionRun},
    },
};
use std::{
    collections::BTreeMap,
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Any error ends the program with its message.
type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// The seed that assigns questions to the two halves.
const SEED: u64 = 7;

#[derive(Debug, Parser)]
#[command(about = "Evaluate and train the index")]
struct LabCli {
    #[command(subcommand)]
    task: LabCommand,
}

#[derive(Debug, Subcommand)]
enum LabCommand {
    /// Find definitions by their docstrings
    Code(SetSelection),
    /// Find pages by index terms
    Docs(SetSelection),
    /// Measure speed and memory
    Bench {
        #[command(flatten)]
        sets: SetSelection,
        /// Sizes of the index, in units
        #[arg(long = "units", required = true)]
        sizes: Vec<usize>,
    },
    /// Run one process of a benchmark: write or query a store and print its figures
    #[command(hide = true)]
    Step {
        #[command(flatten)]
        sets: SetSelection,
        /// The step to run
        #[arg(long)]
        act: BenchStep,
        /// The folder of the store
        #[arg(long)]
        folder: PathBuf,
        /// The size of the index, in units
        #[arg(long)]
        units: usize,
    },
}

/// The step that one process of a benchmark runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum BenchStep {
    Write,
    Ask,
    Tantivy,
    Usearch,
}

#[derive(Debug, Args)]
struct SetSelection {
    /// A package, as LANGUAGE=FOLDER
    #[arg(long = "set", value_name = "LANGUAGE=FOLDER", required = true)]
    packages: Vec<String>,
    /// Train the weights on the training half and write them to this file
    #[arg(long)]
    learn: Option<PathBuf>,
    /// Rephrase every question
    #[arg(long)]
    put: Option<QuestionStyle>,
    /// A file of hand-written questions with the pages of the manual that answer them
    #[arg(long)]
    questions: Option<PathBuf>,
}

/// How questions are phrased.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum QuestionStyle {
    Sentence,
    Misspelt,
}

/// One collection with its questions and their candidates.
struct EvaluatedCollection {
    name: String,
    language: String,
    learning: Vec<QuestionRun>,
    reporting: Vec<QuestionRun>,
    /// Questions about other collections, which this one can't answer.
    strange: Vec<QuestionRun>,
    /// Hand-written questions, used only for the report.
    own_words: Vec<QuestionRun>,
}

fn main() -> Result<()> {
    let (genre, sets) = match LabCli::parse().task {
        LabCommand::Code(sets) => (Genre::Code, sets),
        LabCommand::Docs(sets) => (Genre::Prose, sets),
        LabCommand::Bench { sets, sizes } => return time(&sets, &sizes),
        LabCommand::Step { sets, act, folder, units } => return step(&sets, act, &folder, units),
    };
    let own_words = sets.questions.as_deref().map(corpus::own_words).transpose()?;
    let asked = ask(&read(&sets)?, sets.put, &own_words.unwrap_or_default())?;
    let weights = match &sets.learn {
        Some(file) => teach(&asked, genre, file)?,
        None => Weights::of(genre).clone(),
    };
    report(&asked, genre, &weights);
    Ok(())
}

fn read(sets: &SetSelection) -> Result<Vec<JudgedCollection>> {
    let mut all = Vec::new();
    for set in &sets.packages {
        let (language, folder) = set.split_once('=').ok_or("a set is LANGUAGE=FOLDER")?;
        let folder = PathBuf::from(folder);
        let judged = if language == "english" {
            corpus::manual(&folder)?
        } else {
            corpus::code(&folder, language)?
        };
        if judged.questions.is_empty() {
            return Err(format!("{set} has no questions").into());
        }
        all.push(judged);
    }
    Ok(all)
}

/// Questions about other topics, which no manual answers.
const UNANSWERABLE_QUESTIONS: &[&str] = &[
    "sourdough starter feeding schedule",
    "offside rule in football",
    "how to prune apple trees in winter",
    "mortgage interest deduction",
    "guitar chords for beginners",
    "symptoms of vitamin d deficiency",
    "train from Vienna to Prague",
    "best hiking boots for wide feet",
    "how to knit a scarf",
    "who painted the sistine chapel",
    "marinade for grilled salmon",
    "kubernetes ingress annotations",
    "react useEffect cleanup",
    "css flexbox centering",
    "swift optional chaining",
    "docker compose healthcheck",
];

/// There are few hand-written questions, so each has the weight of this many index terms.
const OWN_WORDS_COUNT: usize = 10;

fn ask(
    all: &[JudgedCollection],
    put: Option<QuestionStyle>,
    own_words: &[JudgedQuestion],
) -> Result<Vec<EvaluatedCollection>> {
    let mut asked = Vec::new();
    for (n, judged) in all.iter().enumerate() {
        eprintln!(
            "{}: {} sources, {} questions",
            judged.name,
            judged.sources.len(),
            judged.questions.len()
        );
        let filled = FilledStore::new(judged)?;
        let (mut learning, mut reporting) = corpus::split(judged.questions.clone(), SEED);
        // Split first, so that the halves don't depend on the phrasing.
        for half in [&mut learning, &mut reporting] {
            match put {
                Some(QuestionStyle::Sentence) => phrasing::put(half, Phrasing::Sentence),
                Some(QuestionStyle::Misspelt) => phrasing::put(half, Phrasing::Misspelt),
                None => {}
            }
        }
        let elsewhere = all.iter().enumerate().filter(|(other, _)| *other != n);
        let mut strange: Vec<JudgedQuestion> = elsewhere
            .flat_map(|(_, other)| other.questions.iter().step_by(1 + other.questions.len() / 20))
            .map(|question| JudgedQuestion { text: question.text.clone(), answers: Vec::new() })
            .collect();
        if strange.is_empty() {
            let none =
                |text: &&str| JudgedQuestion { text: (*text).to_owned(), answers: Vec::new() };
            strange = UNANSWERABLE_QUESTIONS.iter().map(none).collect();
        }
        let (taught, own_words) = corpus::split(own_words.to_vec(), SEED);
        let taught = filled.ask(&taught)?;
        let taught = taught.iter().flat_map(|run| std::iter::repeat_n(run, OWN_WORDS_COUNT));
        asked.push(EvaluatedCollection {
            name: judged.name.clone(),
            language: judged.language.clone(),
            learning: filled.ask(&learning)?.into_iter().chain(taught.cloned()).collect(),
            own_words: filled.ask(&own_words)?,
            reporting: filled.ask(&reporting)?,
            strange: filled.ask(&strange)?,
        });
    }
    Ok(asked)
}

fn teach(asked: &[EvaluatedCollection], genre: Genre, file: &PathBuf) -> Result<Weights> {
    let learning: Vec<QuestionRun> = asked.iter().flat_map(|one| one.learning.clone()).collect();
    let strange: Vec<QuestionRun> = asked.iter().flat_map(|one| one.strange.clone()).collect();
    let learned = learn::weights(&learning);
    // A definition has one right answer, but a page has many right sections, so missing one doesn't matter.
    let recall = if genre == Genre::Code { 2.0 } else { 0.3 };
    let curve = learn::calibration(&learning, &strange, &learned, recall);
    let weights = learn::as_weights(&learned, curve);
    let mut kept: BTreeMap<String, Weights> = serde_json::from_str(&fs::read_to_string(file)?)?;
    let name = if genre == Genre::Code { "code" } else { "prose" };
    kept.insert(name.to_owned(), weights.clone());
    fs::write(file, serde_json::to_string_pretty(&kept)? + "\n")?;
    println!("trained on {} questions, written to {}", learning.len(), file.display());
    Ok(weights)
}

fn report(asked: &[EvaluatedCollection], genre: Genre, weights: &Weights) {
    let mut by_language: BTreeMap<&str, Vec<&EvaluatedCollection>> = BTreeMap::new();
    for one in asked {
        by_language.entry(&one.language).or_default().push(one);
    }
    for (language, all) in by_language {
        let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
        let runs: Vec<QuestionRun> = all.iter().flat_map(|one| one.reporting.clone()).collect();
        println!("### {language} ({})\n\n{}", names.join(", "), table(&runs, genre, weights));
    }
    let own_words: Vec<QuestionRun> = asked.iter().flat_map(|one| one.own_words.clone()).collect();
    if !own_words.is_empty() {
        println!("### Hand-written questions\n\n{}", table(&own_words, genre, weights));
    }
    let good: Vec<QuestionRun> = asked.iter().flat_map(|one| one.reporting.clone()).collect();
    let bad: Vec<QuestionRun> = asked.iter().flat_map(|one| one.strange.clone()).collect();
    println!(
        "### Results above a threshold\n\n| threshold | questions answered | hits right | hits per question | questions without an answer that get a hit |\n|---|---|---|---|---|"
    );
    for threshold in [0.3, 0.5, 0.7, 0.9] {
        let found = passing(&good, &bad, weights, threshold);
        println!(
            "| {threshold} | {} | {} | {:.2} | {} |",
            share(found.answered.1, found.answered.0),
            share(found.hits.1, found.hits.0),
            ratio(found.hits.0, found.answered.0),
            share(found.fooled.1, found.fooled.0),
        );
    }
    println!();
}

fn step(sets: &SetSelection, act: BenchStep, folder: &Path, units: usize) -> Result<()> {
    let judged = read(sets)?;
    let questions = bench::questions(&judged);
    let sources = if act == BenchStep::Ask { Vec::new() } else { bench::sources(&judged, units) };
    // Drop the questions, so that they don't count as the index's memory.
    drop(judged);
    let figures = match act {
        BenchStep::Write => bench::write(folder, sources)?,
        BenchStep::Ask => bench::ask(folder, &questions)?,
        BenchStep::Tantivy => bench::tantivy_alone(folder, &sources, &questions)?,
        BenchStep::Usearch => bench::usearch_alone(&sources, &questions)?,
    };
    println!("{}", serde_json::to_string(&figures)?);
    Ok(())
}

fn time(sets: &SetSelection, sizes: &[usize]) -> Result<()> {
    println!(
        "| units | | units/s | open ms | first ms | p50 ms | p95 ms | own memory B/unit | files in memory B/unit | disk B/unit | text B/unit | edit ms |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    for &units in sizes {
        let folder = tempfile::tempdir()?;
        let run = |act, folder: &Path| child(sets, act, folder, units);
        let written = run(BenchStep::Write, folder.path())?;
        let asked = run(BenchStep::Ask, folder.path())?;
        println!(
            "| {units} | docent | {:.0} | {:.1} | {:.1} | {:.2} | {:.2} | {:.0} | {:.0} | {:.0} | {:.0} | {:.1} |",
            written.rate,
            asked.open,
            asked.first,
            asked.median,
            asked.slow,
            asked.own,
            asked.mapped,
            written.disk,
            written.text,
            asked.edit
        );
        let folder = tempfile::tempdir()?;
        let tantivy = run(BenchStep::Tantivy, folder.path())?;
        println!(
            "| {units} | tantivy alone | {:.0} | {:.1} | | {:.2} | {:.2} | | | {:.0} | | |",
            tantivy.rate, tantivy.open, tantivy.median, tantivy.slow, tantivy.disk
        );
        if units <= MAX_GRAPH_VECTORS {
            let usearch = run(BenchStep::Usearch, folder.path())?;
            println!(
                "| {units} | usearch alone, recall {:.2} | {:.0} | | | {:.2} | {:.2} | | | | | |",
                usearch.recall.unwrap_or_default(),
                usearch.rate,
                usearch.median,
                usearch.slow
            );
        }
    }
    Ok(())
}

/// Building the graph for more vectors than this takes an hour on two cores.
const MAX_GRAPH_VECTORS: usize = 100_000;

fn child(
    sets: &SetSelection,
    act: BenchStep,
    folder: &Path,
    units: usize,
) -> Result<bench::SizeMeasurements> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["step", "--units", &units.to_string(), "--folder"]).arg(folder);
    command.args(["--act", &format!("{act:?}").to_lowercase()]);
    command.args(sets.packages.iter().flat_map(|set| ["--set", set]));
    let output = command.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("{act:?} failed ({})", output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

#[expect(clippy::cast_precision_loss, reason = "counts are small")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

fn share(part: usize, whole: usize) -> String {
    format!("{:.1} %", 100.0 * ratio(part, whole))
}
