//! Line counts per language, compared with those of the tokei binary for the same tree.

use super::{EvalContext, EvalReport, data};
use crate::{
    corpus::{self, CorpusPackage},
    docent::AnalyzeDepth,
    tokei::{LanguageLines, LineCounts, Tokei},
};
use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LineExpectations {
    tree: Vec<LineCountTree>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LineCountTree {
    package: CorpusPackage,
    /// Intended differences.
    #[serde(default)]
    differs: Vec<ExpectedDifference>,
}

/// A language for which docent intentionally differs from tokei.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedDifference {
    language: String,
    lines: LineCounts,
    reason: String,
}

pub(super) fn evaluate(
    context: &EvalContext<'_>,
    tokei: &Tokei,
    page: &mut EvalReport,
) -> Result<()> {
    let expectations: LineExpectations =
        corpus::expectations(context.workspace, &data("lines.toml"))?;
    page.line("\n### Lines by language, as tokei counts them");
    for tree in &expectations.tree {
        page.line(&format!("\n{}:", tree.package));
        let Some(folder) = context.tree(&tree.package, page)? else { continue };
        let report = context.docent.report(&folder, AnalyzeDepth::Standard)?;
        let ours = languages(&report).with_context(|| tree.package.to_string())?;
        let rows = compare(&ours, &tokei.languages(&folder)?, &tree.differs);
        page.table(&["language", "docent: code, comments, blanks", "tokei", "difference in lines"]);
        for row in &rows {
            let (ours, theirs) = (row.ours.unwrap_or_default(), row.theirs.unwrap_or_default());
            let difference = i128::from(ours.total()) - i128::from(theirs.total());
            page.row(
                &[
                    &row.language,
                    &format_lines(row.ours),
                    &format_lines(row.theirs),
                    &difference.to_string(),
                ],
                row.right,
            );
        }
        for difference in &tree.differs {
            page.line(&format!(
                "\n{} differs intentionally: {}",
                difference.language, difference.reason
            ));
        }
    }
    Ok(())
}

/// Reads the line counts per language from a report.
fn languages(report: &Value) -> Result<BTreeMap<String, LineCounts>> {
    let languages = report["languages"].as_array().context("the report has no languages")?;
    let named = languages.iter().filter_map(|language| {
        Some((language["name"].as_str()?.to_owned(), LineCounts::of(&language["lines"])))
    });
    Ok(named.collect())
}

/// One language's counts by docent and by tokei.
#[derive(Debug, PartialEq, Eq)]
struct LanguageRow {
    language: String,
    ours: Option<LineCounts>,
    theirs: Option<LineCounts>,
    right: bool,
}

fn compare(
    ours: &BTreeMap<String, LineCounts>,
    theirs: &BTreeMap<String, LanguageLines>,
    differs: &[ExpectedDifference],
) -> Vec<LanguageRow> {
    let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    let row = |language: &String| {
        let ours = ours.get(language).copied();
        let theirs = theirs.get(language).map(|counted| counted.lines);
        let meant = differs.iter().find(|difference| difference.language == *language);
        // One program lists languages without lines and the other doesn't, so they are equal.
        let expected = meant.map_or(theirs.unwrap_or_default(), |difference| difference.lines);
        let right = ours.unwrap_or_default() == expected;
        LanguageRow { language: language.clone(), ours, theirs, right }
    };
    names.into_iter().map(row).collect()
}

fn format_lines(lines: Option<LineCounts>) -> String {
    match lines {
        Some(LineCounts { code, comments, blanks }) => format!("{code}, {comments}, {blanks}"),
        None => "none".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn lines(code: u64) -> LineCounts {
        LineCounts { code, comments: 1, blanks: 2 }
    }

    #[test]
    fn languages_are_read_from_a_report() {
        let report = json!({"languages": [
            {"name": "Rust", "lines": {"code": 5, "comments": 1, "blanks": 2}},
            {"name": "Modelica", "lines": null},
        ]});
        let expected =
            [("Modelica".to_owned(), LineCounts::default()), ("Rust".to_owned(), lines(5))];
        assert_eq!(languages(&report).unwrap(), BTreeMap::from(expected));
        assert!(languages(&json!({})).is_err());
    }

    #[test]
    fn every_language_of_either_side_is_compared() {
        let ours =
            [("A", lines(1)), ("B", lines(2)), ("C", LineCounts::default()), ("D", lines(0))];
        let ours = ours.map(|(name, lines)| (name.to_owned(), lines)).into();
        let theirs = [("A", lines(1)), ("B", lines(3)), ("E", lines(1)), ("D", lines(9))];
        let theirs =
            theirs.map(|(name, lines)| (name.to_owned(), LanguageLines { files: 1, lines })).into();
        let meant =
            ExpectedDifference { language: "D".into(), lines: lines(0), reason: String::new() };
        let rows = compare(&ours, &theirs, &[meant]);
        let verdicts: Vec<(&str, bool)> =
            rows.iter().map(|row| (row.language.as_str(), row.right)).collect();
        let expected = [("A", true), ("B", false), ("C", true), ("D", true), ("E", false)];
        assert_eq!(verdicts, expected);
        assert_eq!(rows.last().unwrap().ours, None);
    }
}
