//! Handwritten reports for tests: a rich one, and an absurd one.

use crate::repo::{render::figures::to_f64, report::*};

/// A deep report with all parts.
pub(in super::super) fn rich() -> Report {
    serde_json::from_str(include_str!("sample.json")).unwrap()
}

/// Names of 200 characters, 500 folders, one language, zero files.
pub(in super::super) fn absurd() -> Report {
    let long = "very_long_name_without_any_break_".repeat(7);
    let tree = (0..500_u64)
        .map(|at| Branch { path: format!("{long}{at}/"), files: at, bytes: at * at * 977 })
        .collect();
    let mut report = rich();
    report.name.clone_from(&long);
    report.structure = Structure { tree, ..Structure::default() };
    report.languages.truncate(1);
    report.presence = Presence::default();
    report.manifests = (0..60)
        .map(|at| Manifest {
            path: format!("{long}/{at}/Cargo.toml"),
            name: Some(format!("{long}{at}")),
            ecosystem: "Cargo".into(),
            ..Manifest::default()
        })
        .collect();
    if let Some(dependencies) = &mut report.dependencies {
        dependencies.internal = (0..500_u64)
            .map(|at| InternalEdge {
                from: format!("{long}/{}/Cargo.toml", at % 150),
                to: format!("{long}/{}/Cargo.toml", (at * 7 + 3) % 200),
            })
            .collect();
    }
    if let Some(history) = &mut report.history {
        history.months = vec![Month { month: "2026-11".into(), commits: 1 }];
        history.hot_spots = (0..50)
            .map(|at| HotSpot {
                path: format!("{long}/{at}.rs"),
                changes: 1,
                complexity: 1,
                lines: 0,
                score: 100.0,
            })
            .collect();
        for owner in &mut history.owners {
            owner.name.clone_from(&long);
        }
    }
    if let Some(coverage) = &mut report.coverage {
        coverage.folders = (0..200)
            .map(|at| Covered {
                name: format!("{long}{at}/"),
                public: 200,
                documented: at,
                percent: to_f64(at) / 2.0,
            })
            .collect();
    }
    if let Some(links) = &mut report.links {
        links.broken = (0..120)
            .map(|at| BrokenLink {
                path: format!("{long}/{at}.md"),
                line: at,
                target: long.clone(),
                problem: LinkProblem::MissingFile,
                suggestion: Some(long.clone()),
            })
            .collect();
        links.broken_count = 90_000;
    }
    for gap in &mut report.gaps {
        gap.gap.clone_from(&long);
    }
    report
}

/// Fields with fixed values: a poisoned one would not deserialize.
const KINDS: [&str; 6] = ["kind", "depth", "nature", "severity", "purpose", "problem"];

/// Returns a report with `poison` appended to every string, except kinds and depths.
pub(in super::super) fn poisoned(report: &Report, poison: &str) -> Report {
    fn spoil(value: &mut serde_json::Value, poison: &str) {
        match value {
            serde_json::Value::String(text) => text.push_str(poison),
            serde_json::Value::Array(all) => all.iter_mut().for_each(|one| spoil(one, poison)),
            serde_json::Value::Object(all) => {
                let symbol = all.contains_key("symbol");
                all.iter_mut()
                    .filter(|(key, _)| !KINDS.contains(&&***key) || (symbol && *key == "kind"))
                    .for_each(|(_, one)| spoil(one, poison));
            }
            _ => {}
        }
    }
    let mut value = serde_json::to_value(report).unwrap();
    spoil(&mut value, poison);
    serde_json::from_value(value).unwrap()
}

/// Returns every string in a report, except kinds and the values of these keys.
pub(in super::super) fn words(report: &Report, but: &[&str]) -> Vec<String> {
    fn collect(value: &serde_json::Value, but: &[&str], words: &mut Vec<String>) {
        match value {
            serde_json::Value::String(text) => words.push(text.clone()),
            serde_json::Value::Array(all) => all.iter().for_each(|one| collect(one, but, words)),
            serde_json::Value::Object(all) => all
                .iter()
                .filter(|(key, _)| !KINDS.contains(&&***key) && !but.contains(&&***key))
                .for_each(|(_, one)| collect(one, but, words)),
            _ => {}
        }
    }
    let mut words = Vec::new();
    collect(&serde_json::to_value(report).unwrap(), but, &mut words);
    words
}
