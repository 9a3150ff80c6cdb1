//! Broken links in real documentation, compared with those that a person found and checked one by one.

use super::{EvalContext, EvalReport, data};
use crate::{
    corpus::{self, CorpusPackage},
    docent::AnalyzeDepth,
};
use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkExpectations {
    tree: Vec<LinkTree>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkTree {
    package: CorpusPackage,
    #[serde(default)]
    broken: Vec<ExpectedLink>,
    /// Links that may count as broken or not.
    #[serde(default)]
    either: Vec<DisputedLinks>,
}

/// A broken link.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedLink {
    path: String,
    line: u64,
    target: String,
    problem: String,
}

/// Links that may count as broken or not.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DisputedLinks {
    /// The target as written; with a trailing `*`, every target with this prefix.
    target: String,
    /// Why it is disputed.
    reason: String,
}

impl DisputedLinks {
    fn covers(&self, link: &ExpectedLink) -> bool {
        match self.target.strip_suffix('*') {
            Some(start) => link.target.starts_with(start),
            None => link.target == self.target,
        }
    }
}

pub(super) fn evaluate(context: &EvalContext<'_>, page: &mut EvalReport) -> Result<()> {
    let expectations: LinkExpectations =
        corpus::expectations(context.workspace, &data("links.toml"))?;
    page.line(
        "\n### Broken links\n\nA target that a document names more than once may be reported once.",
    );
    page.table(&["tree", "checked", "broken", "found", "misreported", "missed", "false"]);
    let mut notes = Vec::new();
    for tree in &expectations.tree {
        let Some(folder) = context.tree(&tree.package, page)? else { continue };
        let report = context.docent.report(&folder, AnalyzeDepth::Deep)?;
        let found = broken(&report).with_context(|| tree.package.to_string())?;
        let judged = judge(&tree.broken, found, &tree.either);
        let right = judged.notes.is_empty();
        page.row(
            &[
                &tree.package.to_string(),
                &report["links"]["checked"].to_string(),
                &tree.broken.len().to_string(),
                &judged.found.to_string(),
                &judged.wrongly_reported.to_string(),
                &judged.missed.to_string(),
                &judged.invented.to_string(),
            ],
            right,
        );
        notes.extend(judged.notes.iter().map(|note| format!("- {}: {note}", tree.package.name)));
        let disputes = tree.either.iter();
        notes.extend(disputes.map(|it| {
            format!("- {}: `{}` is disputed: {}", tree.package.name, it.target, it.reason)
        }));
    }
    page.line("");
    for note in &notes {
        page.line(note);
    }
    Ok(())
}

fn broken(report: &Value) -> Result<Vec<ExpectedLink>> {
    let links = report["links"]["broken"].as_array().context("the report has no links")?;
    let text = |link: &Value, key: &str| link[key].as_str().unwrap_or_default().to_owned();
    Ok(links
        .iter()
        .map(|link| ExpectedLink {
            path: text(link, "path"),
            line: link["line"].as_u64().unwrap_or_default(),
            target: text(link, "target"),
            problem: text(link, "problem"),
        })
        .collect())
}

/// A comparison of the found links with the expected ones.
#[derive(Debug, Default, PartialEq, Eq)]
struct LinkComparison {
    /// Links found in the right document.
    found: usize,
    /// Found links with the wrong line or problem.
    wrongly_reported: usize,
    missed: usize,
    invented: usize,
    /// One line for each error.
    notes: Vec<String>,
}

fn judge(
    expected: &[ExpectedLink],
    mut found: Vec<ExpectedLink>,
    either: &[DisputedLinks],
) -> LinkComparison {
    let mut judged = LinkComparison::default();
    // Links with the right line come first, so that one with another line can't take their place.
    let mut left = Vec::new();
    let all = found.clone();
    for link in expected {
        match take(&mut found, |other| at_line(other, link)) {
            Some(reported) => judged.take(link, &reported),
            None => left.push(link),
        }
    }
    for link in left {
        if let Some(reported) = take(&mut found, |other| at_place(other, link)) {
            judged.take(link, &reported);
        } else if all.iter().any(|other| at_place(other, link)) {
            // One report is enough to find the others.
            judged.found += 1;
        } else {
            judged.missed += 1;
            judged.notes.push(format!("missed {}:{}: {}", link.path, link.line, link.target));
        }
    }
    for link in found.iter().filter(|link| !either.iter().any(|it| it.covers(link))) {
        judged.invented += 1;
        judged.notes.push(format!("invented {}:{}: {}", link.path, link.line, link.target));
    }
    judged
}

impl LinkComparison {
    /// Records a found link and how it was reported.
    fn take(&mut self, link: &ExpectedLink, reported: &ExpectedLink) {
        self.found += 1;
        if reported == link {
            return;
        }
        self.wrongly_reported += 1;
        self.notes.push(format!(
            "{}: {} is reported as {} in line {}, expected {} in line {}",
            link.path, link.target, reported.problem, reported.line, link.problem, link.line
        ));
    }
}

fn at_place(one: &ExpectedLink, other: &ExpectedLink) -> bool {
    one.path == other.path && one.target == other.target
}

fn at_line(one: &ExpectedLink, other: &ExpectedLink) -> bool {
    at_place(one, other) && one.line == other.line
}

/// Removes and returns the first matching link.
fn take(
    links: &mut Vec<ExpectedLink>,
    suits: impl Fn(&ExpectedLink) -> bool,
) -> Option<ExpectedLink> {
    let at = links.iter().position(suits)?;
    Some(links.remove(at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn link(line: u64, target: &str) -> ExpectedLink {
        let (path, problem) = ("a.md".to_owned(), "missing-file".to_owned());
        ExpectedLink { path, line, target: target.to_owned(), problem }
    }

    #[test]
    fn links_are_parsed_from_a_report() {
        let found = json!({"path": "a.md", "line": 3, "target": "b.md", "problem": "missing-file", "suggestion": null});
        let report = json!({"links": {"broken": [found]}});
        assert_eq!(broken(&report).unwrap(), [link(3, "b.md")]);
        assert!(broken(&json!({"links": null})).is_err());
    }

    #[test]
    fn links_are_compared_one_by_one() {
        let check = |found: &[ExpectedLink], expected: [usize; 4]| {
            let either = [DisputedLinks { target: "/site/*".to_owned(), reason: String::new() }];
            let there = [link(3, "b.md"), link(3, "c.md"), link(9, "b.md")];
            let judged = judge(&there, found.to_vec(), &either);
            let numbers = [judged.found, judged.wrongly_reported, judged.missed, judged.invented];
            assert_eq!(numbers, expected, "{judged:?}");
            assert_eq!(judged.notes.len(), numbers.iter().skip(1).sum::<usize>(), "{judged:?}");
        };
        let all = [link(3, "b.md"), link(9, "b.md"), link(3, "c.md")];
        check(&all, [3, 0, 0, 0]);
        check(&all[..2], [2, 0, 1, 0]);
        check(&[link(9, "b.md"), link(4, "c.md")], [3, 1, 0, 0]);
        let extra = [&all[..], &[link(1, "/site/x"), link(1, "d.md"), link(3, "b.md")]].concat();
        check(&extra, [3, 0, 0, 2]);
    }
}
