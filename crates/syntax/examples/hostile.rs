//! CPU time of each stage of reading hostile text, for two sizes: shows where cost grows faster than the text.
//!
//!     cargo run --release -p docent-syntax --example hostile -- [KILOBYTES [LANGUAGE [SHAPE]]]
#![expect(clippy::disallowed_methods, reason = "the example reads its own CPU time")]
#![expect(clippy::print_stdout, reason = "a program that prints what it measured")]

#[path = "../tests/it/hostile.rs"]
mod hostile;

use docent_syntax::{
    Language,
    analysis::{
        Source, complexity,
        dependencies::{self, Files},
        patterns,
        rules::{self, Analysis},
    },
    annotate, documentation, parse,
    references::references,
};
use std::fs;

/// Nanoseconds that this thread has computed.
fn spent() -> u64 {
    let all = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    all.split_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or(0)
}

fn milliseconds<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let before = spent();
    let done = work();
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let time = (spent() - before) as f64 / 1e6;
    (done, time)
}

const STAGES: [&str; 9] = [
    "parse",
    "definitions",
    "annotate",
    "references",
    "complexity",
    "patterns",
    "rules",
    "imports",
    "docs",
];

/// Milliseconds of each stage, and why the text was skipped if it was.
fn measure(language: Language, text: &str) -> (Vec<f64>, String) {
    let path = "a.x";
    let (tree, first) = milliseconds(|| parse::tree(language, text, &|| false));
    let tree = match tree {
        Ok(tree) => tree,
        Err(error) => return (vec![first], error.to_string()),
    };
    let source = Source { path, language, text, tree: &tree };
    let mut all = vec![first];
    all.push(milliseconds(|| parse::definitions(language, path, text, &tree)).1);
    all.push(milliseconds(|| annotate::file(language, path, text, &tree)).1);
    if !language.is_outline() {
        all.push(milliseconds(|| references(language, path, text, &tree, "a")).1);
        all.push(milliseconds(|| complexity::measure(&source)).1);
        all.push(milliseconds(|| patterns::find(&source)).1);
        let check = |analysis| rules::check(&source, analysis, &|| false).len();
        all.push(milliseconds(|| (check(Analysis::Security), check(Analysis::Patterns))).1);
        let files = Files::new(std::iter::once("a.x".to_owned()), |_: &str| None, |_, _| None);
        all.push(milliseconds(|| dependencies::imports(&source, &files)).1);
        all.push(milliseconds(|| documentation(language.word(), text)).1);
    }
    (all, String::new())
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
            let (small, _) = measure(*language, &one.text(size * 250));
            let (large, skipped) = measure(*language, &one.text(size * 1000));
            let mut told = Vec::new();
            for (at, large) in large.iter().enumerate() {
                let small = small.get(at).copied().unwrap_or_default();
                let ratio = large / small.max(0.05);
                if shape.is_some() || *large > 5.0 && ratio > 7.0 {
                    told.push(format!("{} {small:.1} -> {large:.1} ms ({ratio:.0}x)", STAGES[at]));
                }
            }
            if !told.is_empty() || !skipped.is_empty() {
                println!("{} / {}: {} {skipped}", language.word(), one.name, told.join(", "));
            }
        }
    }
}
