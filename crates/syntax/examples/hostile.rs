//! CPU time and counts of each stage of reading hostile text: shows where cost grows faster than the text.
//!
//!     cargo run --release -p docent-syntax --example hostile -- [KILOBYTES [LANGUAGE [SHAPE]]]
//!
//! Prints one line for each shape, slowest stage last, and the limit where the text is skipped.
#![expect(clippy::disallowed_methods, reason = "the example reads its own CPU time")]
#![expect(clippy::print_stdout, reason = "a program that prints what it measured")]

#[path = "../tests/it/hostile.rs"]
mod hostile;

use docent_syntax::{
    Language,
    analysis::{
        AnalyzedSource, complexity,
        dependencies::{self, RepositoryFiles},
        patterns,
        rules::{self, RuleAnalysis},
    },
    annotate, documentation, parse,
    references::references,
};
use std::fs;

/// CPU time of this thread in milliseconds.
fn cpu_milliseconds() -> u64 {
    let all = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = all.split_whitespace().next().and_then(|first| first.parse::<u64>().ok());
    nanoseconds.unwrap_or(0) / 1_000_000
}

/// Measures stages one after the other.
#[derive(Default)]
struct Stages {
    done: Vec<(&'static str, u64)>,
}

impl Stages {
    fn run<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        let before = cpu_milliseconds();
        let result = work();
        self.done.push((name, cpu_milliseconds() - before));
        result
    }

    /// All stages that took at least a millisecond.
    fn show(&self) -> String {
        let total: u64 = self.done.iter().map(|(_, time)| time).sum();
        let slow = self.done.iter().filter(|(_, time)| *time > 0);
        let parts: Vec<String> = slow.map(|(name, time)| format!("{name} {time}")).collect();
        format!("{total} ms ({})", parts.join(", "))
    }
}

fn measure(language: Language, text: &str) -> String {
    let path = "a.x";
    let mut stages = Stages::default();
    let tree = match stages.run("parse", || parse::tree(language, text, &|| false)) {
        Ok(tree) => tree,
        Err(error) => return format!("{} {error}", stages.show()),
    };
    let source = AnalyzedSource { path, language, text, tree: &tree };
    stages.run("definitions", || parse::definitions(language, path, text, &tree));
    stages.run("annotate", || annotate::file(language, path, text, &tree));
    if !language.is_outline() {
        stages.run("references", || references(language, path, text, &tree, "a"));
        stages.run("complexity", || complexity::measure(&source));
        stages.run("patterns", || patterns::find(&source, &|| false));
        stages.run("security", || rules::check(&source, RuleAnalysis::Security, &|| false));
        stages.run("rules", || rules::check(&source, RuleAnalysis::Patterns, &|| false));
        let files =
            RepositoryFiles::new(std::iter::once("a.x".to_owned()), |_: &str| None, |_, _| None);
        stages.run("imports", || dependencies::imports(&source, &files));
        stages.run("docs", || documentation(language.word(), text));
    }
    let skipped = tree.check().err().map(|error| error.to_string()).unwrap_or_default();
    format!("{} {skipped} {:?}", stages.show(), tree.cost())
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let size: usize = arguments.next().and_then(|size| size.parse().ok()).unwrap_or(50);
    let (only, shape) = (arguments.next(), arguments.next());
    for language in Language::ALL {
        if only.as_deref().is_some_and(|only| only != "all" && only != language.word()) {
            continue;
        }
        for one in hostile::shapes(*language) {
            if shape.as_deref().is_some_and(|shape| shape != one.name) {
                continue;
            }
            let line = measure(*language, &one.text(size * 1000));
            println!("{} / {} / {size} kB: {line}", language.word(), one.name);
        }
    }
}
