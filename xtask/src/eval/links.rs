//! Broken links of real documentation, beside those that a person found and looked at one by one.

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
    /// Links of which one may say either.
    #[serde(default)]
    either: Vec<DisputedLinks>,
}

/// A link that leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedLink {
    path: String,
    line: u64,
    target: String,
    problem: String,
}

/// Links that may be called broken or not.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DisputedLinks {
    /// As written; with `*` at its end, every target that starts so.
    target: String,
    /// Why both can be said.
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
    let expectations: LinkExpectations = corpus::expectations(context.workspace, &data("links.toml"))?;
    page.line(
        "\n### Broken links\n\nA target that a document names more than once may be told once.",
    );
    page.table(&["tree", "checked", "broken", "found", "told wrong", "missed", "invented"]);
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
                &judged.told_wrong.to_string(),
                &judged.missed.to_string(),
                &judged.invented.to_string(),
            ],
            right,
        );
        notes.extend(judged.notes.iter().map(|note| format!("- {}: {note}", tree.package.name)));
        let disputes = tree.either.iter();
        notes.extend(disputes.map(|it| {
            format!("- {}: `{}` may be called either: {}", tree.package.name, it.target, it.reason)
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

/// How the links that were found compare with those that are there.
#[derive(Debug, Default, PartialEq, Eq)]
struct LinkComparison {
    /// In the right document.
    found: usize,
    /// Of them, those with another line or another problem than is there.
    told_wrong: usize,
    missed: usize,
    invented: usize,
    /// One line for each that is wrong in some way.
    notes: Vec<String>,
}

fn judge(expected: &[ExpectedLink], mut found: Vec<ExpectedLink>, either: &[DisputedLinks]) -> LinkComparison {
    let mut judged = LinkComparison::default();
    // Those that are told with their line come first, so that one told with another line can't take their place.
    let mut left = Vec::new();
    let all = found.clone();
    for link in expected {
        match take(&mut found, |other| at_line(other, link)) {
            Some(told) => judged.take(link, &told),
            None => left.push(link),
        }
    }
    for link in left {
        if let Some(told) = take(&mut found, |other| at_place(other, link)) {
            judged.take(link, &told);
        } else if all.iter().any(|other| at_place(other, link)) {
            // Whoever follows up the one that is told comes by the others.
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
    /// Notes a link that was found, told as it may be.
    fn take(&mut self, link: &ExpectedLink, told: &ExpectedLink) {
        self.found += 1;
        if told == link {
            return;
        }
        self.told_wrong += 1;
        self.notes.push(format!(
            "{}: {} is told as {} in line {}, and is {} in line {}",
            link.path, link.target, told.problem, told.line, link.problem, link.line
        ));
    }
}

fn at_place(one: &ExpectedLink, other: &ExpectedLink) -> bool {
    one.path == other.path && one.target == other.target
}

fn at_line(one: &ExpectedLink, other: &ExpectedLink) -> bool {
    at_place(one, other) && one.line == other.line
}

/// Takes the first one that suits out of the list.
fn take(links: &mut Vec<ExpectedLink>, suits: impl Fn(&ExpectedLink) -> bool) -> Option<ExpectedLink> {
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
    fn links_are_read_from_a_report() {
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
            let numbers = [judged.found, judged.told_wrong, judged.missed, judged.invented];
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
