//! Line counts per language, compared with those of the tokei binary for the same tree.

use super::{Context, Page, data};
use crate::{
    corpus::{self, Package},
    docent::Depth,
    tokei::{Counted, Lines, Tokei},
};
use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expectations {
    tree: Vec<Tree>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tree {
    package: Package,
    /// Intended differences.
    #[serde(default)]
    differs: Vec<Difference>,
}

/// A language for which docent intentionally differs from tokei.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Difference {
    language: String,
    lines: Lines,
    reason: String,
}

pub(super) fn evaluate(context: &Context<'_>, tokei: &Tokei, page: &mut Page) -> Result<()> {
    let expectations: Expectations = corpus::expectations(context.workspace, &data("lines.toml"))?;
    page.line("\n### Lines by language, as tokei counts them");
    for tree in &expectations.tree {
        page.line(&format!("\n{}:", tree.package));
        let Some(folder) = context.tree(&tree.package, page)? else { continue };
        let report = context.docent.report(&folder, Depth::Standard)?;
        let ours = languages(&report).with_context(|| tree.package.to_string())?;
        let rows = compare(&ours, &tokei.languages(&folder)?, &tree.differs);
        page.table(&["language", "docent: code, comments, blanks", "tokei", "difference in lines"]);
        for row in &rows {
            let (ours, theirs) = (row.ours.unwrap_or_default(), row.theirs.unwrap_or_default());
            let difference = i128::from(ours.total()) - i128::from(theirs.total());
            page.row(
                &[&row.language, &shown(row.ours), &shown(row.theirs), &difference.to_string()],
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
fn languages(report: &Value) -> Result<BTreeMap<String, Lines>> {
    let languages = report["languages"].as_array().context("the report has no languages")?;
    let named = languages.iter().filter_map(|language| {
        Some((language["name"].as_str()?.to_owned(), Lines::of(&language["lines"])))
    });
    Ok(named.collect())
}

/// One language's counts by docent and by tokei.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    language: String,
    ours: Option<Lines>,
    theirs: Option<Lines>,
    right: bool,
}

fn compare(
    ours: &BTreeMap<String, Lines>,
    theirs: &BTreeMap<String, Counted>,
    differs: &[Difference],
) -> Vec<Row> {
    let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    let row = |language: &String| {
        let ours = ours.get(language).copied();
        let theirs = theirs.get(language).map(|counted| counted.lines);
        let meant = differs.iter().find(|difference| difference.language == *language);
        // One program lists languages without lines and the other doesn't, so they are equal.
        let expected = meant.map_or(theirs.unwrap_or_default(), |difference| difference.lines);
        let right = ours.unwrap_or_default() == expected;
        Row { language: language.clone(), ours, theirs, right }
    };
    names.into_iter().map(row).collect()
}

fn shown(lines: Option<Lines>) -> String {
    match lines {
        Some(Lines { code, comments, blanks }) => format!("{code}, {comments}, {blanks}"),
        None => "none".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn lines(code: u64) -> Lines {
        Lines { code, comments: 1, blanks: 2 }
    }

    #[test]
    fn languages_are_read_from_a_report() {
        let report = json!({"languages": [
            {"name": "Rust", "lines": {"code": 5, "comments": 1, "blanks": 2}},
            {"name": "Modelica", "lines": null},
        ]});
        let expected = [("Modelica".to_owned(), Lines::default()), ("Rust".to_owned(), lines(5))];
        assert_eq!(languages(&report).unwrap(), BTreeMap::from(expected));
        assert!(languages(&json!({})).is_err());
    }

    #[test]
    fn every_language_of_either_side_is_compared() {
        let ours = [("A", lines(1)), ("B", lines(2)), ("C", Lines::default()), ("D", lines(0))];
        let ours = ours.map(|(name, lines)| (name.to_owned(), lines)).into();
        let theirs = [("A", lines(1)), ("B", lines(3)), ("E", lines(1)), ("D", lines(9))];
        let theirs =
            theirs.map(|(name, lines)| (name.to_owned(), Counted { files: 1, lines })).into();
        let meant = Difference { language: "D".into(), lines: lines(0), reason: String::new() };
        let rows = compare(&ours, &theirs, &[meant]);
        let verdicts: Vec<(&str, bool)> =
            rows.iter().map(|row| (row.language.as_str(), row.right)).collect();
        let expected = [("A", true), ("B", false), ("C", true), ("D", true), ("E", false)];
        assert_eq!(verdicts, expected);
        assert_eq!(rows.last().unwrap().ours, None);
    }
}
