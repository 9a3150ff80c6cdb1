//! Reading hostile text costs in proportion to its length, in every language, or the text is skipped.
//!
//! Compares counts, not seconds: parser steps, bytes read by the lexer, nodes, siblings, work of queries and of
//! passes over text and tree, and bytes of annotations. A count may grow twelvefold when the text grows tenfold; counts
//! below the fixed part of the budget are ignored.
//!
//! `complexity_gate_large` reads every shape of a language at 1 and 10 kB with every analysis. Those whose counts grow most
//! are also read at 100 kB, and the worst of them at 1 MB: every limit grows with the length, so what is linear up to there
//! stays linear, and reading all shapes at 1 MB takes half an hour without optimization.

use crate::hostile::{self, HostileShape};
use docent_syntax::{
    Language,
    analysis::{
        AnalyzedSource, complexity, patterns,
        rules::{self, RuleAnalysis},
    },
    annotate,
    budget::{Limit, ParseBudget},
    documentation,
    parse::{self, ParseError},
    references::references,
};
use std::{cell::Cell, cmp::Reverse, time::Duration};

/// Maximum growth of a count for a text ten times as long.
const MAX_GROWTH: u64 = 12;
/// Maximum bytes of annotations: a fixed part, and a part per byte of text.
const MAX_ANSWER: (u64, u64) = (500_000, 100);
/// Maximum queries of one reading.
const MAX_QUERIES: u64 = 16;
/// The number of fastest-growing shapes per language read at 100 kB.
const BAD_SHAPES: usize = 3;
/// The number of them read at 1 MB.
const WORST_SHAPES: usize = 1;

/// A count, and the value below which it is ignored.
#[derive(Debug)]
struct WorkCount {
    name: &'static str,
    value: u64,
    least: u64,
}

/// The counts of one reading; `None` if the text was skipped.
fn counts(language: Language, text: &str, all: bool) -> Option<[WorkCount; 7]> {
    let tree = match parse::tree(language, text, &|| false) {
        Ok(tree) => tree,
        Err(ParseError::Exceeded(_)) => return None,
        Err(error) => panic!("{error}"),
    };
    let said = annotate::file(language, "a", text, &tree);
    if all && !language.is_outline() {
        let source = AnalyzedSource { path: "a", language, text, tree: &tree };
        references(language, "a", text, &tree, "a");
        complexity::measure(&source);
        patterns::find(&source, &|| false);
        rules::check(&source, RuleAnalysis::Patterns, &|| false);
        documentation(language.word(), text);
    }
    tree.check().ok()?;
    let (cost, base) = (tree.cost(), ParseBudget::new(0, &|| false));
    let answer = serde_json::to_string(&said).unwrap().len() as u64;
    let most_said = MAX_ANSWER.0 + MAX_ANSWER.1 * text.len() as u64;
    let counts = [
        ("steps", cost.steps, base.steps),
        ("lookahead", cost.lookahead, base.lookahead),
        ("nodes", cost.nodes, base.nodes),
        ("siblings", cost.siblings, ParseBudget::new(text.len(), &|| false).siblings),
        ("query", cost.query, MAX_QUERIES * base.query),
        ("work", cost.work, base.work),
        ("answer", answer, most_said),
    ];
    Some(counts.map(|(name, value, least)| WorkCount { name, value, least }))
}

/// Excessive growth.
type Problems = Vec<String>;

/// Reads a shape at sizes that are each ten times the one before. Returns how much its counts grow, in thousandths.
fn growth(
    language: Language,
    shape: &HostileShape,
    sizes: &[usize],
    all: bool,
    problems: &mut Problems,
) -> u64 {
    let mut most = 0;
    let mut before: Option<[WorkCount; 7]> = None;
    for (at, bytes) in sizes.iter().enumerate() {
        // What is skipped has stayed within a budget that grows with the length.
        let Some(large) = counts(language, &shape.text(*bytes), all) else {
            before = None;
            continue;
        };
        match before {
            Some(small) => {
                for (large, small) in large.iter().zip(small) {
                    let WorkCount { name, value, least } = large;
                    most = most.max(1000 * value / small.value.max(*least / 100).max(1));
                    if *value > (*least).max(MAX_GROWTH * small.value) {
                        let name = format!("{}, {bytes} bytes: {name}", shape.name);
                        problems.push(format!("{name} {} -> {value}", small.value));
                    }
                }
            }
            None if at > 0 => {
                problems.push(format!("{} is skipped when small, and read at {bytes}", shape.name));
            }
            None => {}
        }
        before = Some(large);
    }
    most
}

fn finish(language: Language, problems: &Problems) {
    assert!(problems.is_empty(), "{}: {problems:#?}", language.name());
}

/// Every shape at the sizes that are fast, as the index reads it.
fn check_small(language: Language) {
    let mut problems = Problems::new();
    for shape in hostile::shapes(language) {
        growth(language, &shape, &[1_000, 10_000], false, &mut problems);
    }
    finish(language, &problems);
}

/// Every shape with every analysis, and the worst of them at sizes that take long.
fn check_large(language: Language) {
    // Without optimization the large shapes of C take a quarter of an hour.
    if cfg!(debug_assertions) && matches!(language, Language::C | Language::Cpp) {
        return;
    }
    let mut problems = Problems::new();
    let mut shapes: Vec<(u64, HostileShape)> = hostile::shapes(language)
        .into_iter()
        .map(|shape| (growth(language, &shape, &[1_000, 10_000], true, &mut problems), shape))
        .collect();
    shapes.sort_by_key(|(growth, _)| Reverse(*growth));
    for (at, (_, shape)) in shapes.iter().enumerate().take(BAD_SHAPES) {
        let sizes = [10_000, 100_000, 1_000_000];
        let count = if at < WORST_SHAPES { 3 } else { 2 };
        growth(language, shape, &sizes[..count], true, &mut problems);
    }
    finish(language, &problems);
}

macro_rules! complexity_gate {
    ($($test:ident $language:ident;)*) => {
        mod complexity_gate_small {
            use super::*;

            $(#[test]
            fn $test() {
                check_small(Language::$language);
            })*

            #[test]
            fn every_language_has_a_gate() {
                let with = [$(Language::$language),*];
                assert_eq!(Language::ALL, with);
            }
        }

        mod complexity_gate_large {
            use super::*;

            $(#[test]
            #[ignore = "takes long without optimization: run by cargo xtask test --only hostile"]
            fn $test() {
                check_large(Language::$language);
            })*
        }
    };
}

complexity_gate! {
    typescript TypeScript;
    tsx Tsx;
    javascript JavaScript;
    python Python;
    rust Rust;
    go Go;
    java Java;
    c C;
    cpp Cpp;
    csharp CSharp;
    ruby Ruby;
    php Php;
    swift Swift;
    kotlin Kotlin;
    scala Scala;
    html Html;
    css Css;
    proto Proto;
    graphql GraphQl;
    bash Bash;
    lua Lua;
    sql Sql;
    elixir Elixir;
    haskell Haskell;
    zig Zig;
    dart Dart;
    json Json;
    yaml Yaml;
    toml Toml;
    markdown Markdown;
    dockerfile Dockerfile;
    hcl Hcl;
}

#[test]
fn complexity_gate_skips_what_was_quadratic() {
    let cases = [
        (Language::Python, "("),
        (Language::JavaScript, "("),
        (Language::C, "("),
        (Language::Rust, "{"),
    ];
    for (language, sign) in cases {
        let error = parse::tree(language, &sign.repeat(50_000), &|| false).unwrap_err();
        let ParseError::Exceeded(Limit::Siblings(most)) = error else { panic!("{error:?}") };
        let want = "skipped: parsing it exceeds the budget of";
        assert!(error.to_string().starts_with(want), "{error}");
        assert_eq!(most, ParseBudget::new(50_000, &|| false).siblings);
    }
}

#[test]
fn complexity_gate_ends_scanners_that_read_to_the_end() {
    // Without a count of what the lexer reads these take time with the square of their length.
    for (language, sign) in [(Language::Dart, "!"), (Language::Bash, ">")] {
        let error = parse::tree(language, &sign.repeat(100_000), &|| false).unwrap_err();
        assert!(matches!(error, ParseError::Exceeded(Limit::Lookahead(_))), "{error:?}");
    }
}

/// A parser that follows many readings of a deep text at once takes gigabytes for a few kilobytes of it.
#[test]
fn complexity_gate_bounds_the_memory_of_a_parse() {
    let cases = [
        (Language::Java, ""),
        (Language::CSharp, ""),
        (Language::CSharp, "("),
        (Language::TypeScript, ";"),
        (Language::Cpp, ""),
    ];
    for (language, end) in cases {
        let text = format!("{}{end}\n", "A<".repeat(30)).repeat(400);
        let error = parse::tree(language, &text, &|| false).unwrap_err();
        assert!(
            matches!(error, ParseError::Exceeded(Limit::Steps(_) | Limit::Memory(_))),
            "{language:?} {end}: {error:?}"
        );
    }
    let text = "fn f(a: u8) -> u8 {\n    g(a, [1, 2, 3])\n}\n".repeat(2000);
    let cost = parse::tree(Language::Rust, &text, &|| false).unwrap().cost();
    let per_byte = cost.memory / text.len() as u64;
    assert!((1..200).contains(&per_byte), "{per_byte} bytes of memory for each byte of text");
}

#[test]
fn complexity_gate_names_the_limit_that_is_exceeded() {
    let text = "def f(a):\n    return g(a)\n".repeat(200);
    let within = |change: &dyn Fn(&mut ParseBudget<'_>)| {
        let never = || false;
        let mut budget = ParseBudget::new(text.len(), &never);
        change(&mut budget);
        match parse::tree_within(Language::Python, &text, budget) {
            Ok(_) => "read".to_owned(),
            Err(error) => error.to_string(),
        }
    };
    let cases = [
        (within(&|_| ()), "read"),
        (within(&|budget| budget.steps = 1_000), "the budget of 1000 steps of the parser"),
        (
            within(&|budget| budget.lookahead = 2_000),
            "the budget of 2000 bytes that the lexer may read",
        ),
        (within(&|budget| budget.memory = 50_000), "the budget of 0 MB of memory"),
        (within(&|budget| budget.nodes = 100), "the budget of 100 nodes"),
        (within(&|budget| budget.bytes = 100), "the budget of 100 bytes"),
        (within(&|budget| budget.time = Duration::ZERO), "the budget of 0 s"),
    ];
    for (found, want) in cases {
        assert!(found.ends_with(want), "{found}");
    }
}

#[test]
fn complexity_gate_stops_when_cancelled() {
    let text = "f(a, b)\n".repeat(20_000);
    let asked = Cell::new(0_u32);
    let cancelled = || {
        asked.set(asked.get() + 1);
        asked.get() > 10
    };
    let error = parse::tree(Language::Python, &text, &cancelled).unwrap_err();
    assert!(matches!(error, ParseError::Stopped), "{error:?}");
    assert!(asked.get() < 20, "asked {} times more", asked.get());
}

/// How often the hook is called before the work ends, where it says so from the call of that number on.
fn calls_until_stopped(first: u32, work: &dyn Fn(&dyn Fn() -> bool)) -> u32 {
    let asked = Cell::new(0_u32);
    work(&|| {
        asked.set(asked.get() + 1);
        asked.get() >= first
    });
    asked.get()
}

#[test]
fn complexity_gate_stops_the_preprocessor_when_cancelled() {
    let count = 20_000;
    let nested = format!("@;\nint x = {}1{};", "AAA(\n".repeat(count), ")\n".repeat(count));
    let flat = format!("@;\n{}", "#if A\n} AAA int f() {\n#endif\n".repeat(count));
    for text in [nested, flat] {
        let parse = |cancelled: &dyn Fn() -> bool| {
            let error = parse::tree(Language::C, &text, cancelled).unwrap_err();
            assert!(matches!(error, ParseError::Stopped | ParseError::Exceeded(_)), "{error:?}");
        };
        for first in [1, 2, 3, 5, 8] {
            let calls = calls_until_stopped(first, &parse);
            assert!(calls <= first + 2, "called {calls} times, stopped from {first} on");
        }
    }
}

#[test]
fn complexity_gate_stops_patterns_when_cancelled() {
    let text = HostileShape::new("functions", "", "function f%(a, b) { g(); h(a); }\nf%(1);\n", "");
    let text = text.text(300_000);
    let tree = parse::tree(Language::JavaScript, &text, &|| false).unwrap();
    let source =
        AnalyzedSource { path: "a.js", language: Language::JavaScript, text: &text, tree: &tree };
    let mut found = 0;
    let all = Cell::new(0);
    let find = |stopped: &dyn Fn() -> bool| all.set(patterns::find(&source, stopped).len());
    for first in [1, 3, 5, 100] {
        let calls = calls_until_stopped(first, &find);
        assert!(calls <= first, "called {calls} times, stopped from {first} on");
        assert!(all.get() >= found, "more is found in more time");
        found = all.get();
    }
    assert!(found > 1_000, "{found} parameters are dead");
    assert!(tree.check().is_ok(), "what is cancelled has not exceeded its budget");
}

#[test]
fn complexity_gate_lets_large_files_of_ordinary_code_pass() {
    let cases = [
        (
            Language::Python,
            "def f(a, b=1):\n    if a:\n        return [g(x) for x in a]\n    return {'k': b}\n\n",
        ),
        (
            Language::JavaScript,
            "export function f(a, b) {\n  if (a) { return a.map((x) => g(x)); }\n  return { k: b };\n}\n",
        ),
        (
            Language::C,
            "static const unsigned char table[] = { 0x01, 0x02, 0x03, 0x04 };\nint f(int a) { return g(a) + 1; }\n",
        ),
        (
            Language::Rust,
            "pub const A: [u8; 4] = [1, 2, 3, 4];\n/// Says.\npub fn f(a: u8) -> u8 { g(a) + 1 }\n",
        ),
        (Language::Json, "{\"a\": [1, 2, {\"b\": \"c\"}]}\n"),
    ];
    for (language, part) in cases {
        let text = part.repeat(300_000 / part.len());
        let tree = parse::tree(language, &text, &|| false).unwrap();
        assert_eq!(parse::first_error(&tree), None, "{}", language.name());
        annotate::file(language, "a", &text, &tree);
        tree.check().unwrap();
    }
}
