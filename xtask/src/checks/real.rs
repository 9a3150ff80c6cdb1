//! The step that analyzes real packages with the release binary and compares the reports with facts that a person
//! checked: `tests/real/facts`, one file per package.

use super::CheckContext;
use crate::{
    corpus::{self, CorpusPackage, FetchOutcome},
    docent::{AnalyzeDepth, DocentProgram},
    report::CheckCounts,
};
use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::Value;
use std::{collections::BTreeMap, fs};

const FOLDER: &str = "tests/real/facts";

/// Checked facts about a package.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PackageFacts {
    package: CorpusPackage,
    /// The depth of analysis that finds them.
    depth: AnalyzeDepth,
    /// Expected values, by JSON pointer into the report.
    facts: BTreeMap<String, Value>,
    /// Values by pointer, if more than one is correct.
    #[serde(default)]
    one_of: BTreeMap<String, Vec<Value>>,
    /// Pointers where the report must have nothing, or null.
    #[serde(default)]
    absent: Vec<String>,
}

pub(super) fn run(context: &CheckContext<'_>) -> Result<CheckCounts> {
    let docent = DocentProgram::at(context.release_binary("docent")?)?;
    let mut total = Vec::new();
    for name in names(context)? {
        if context.filter.is_some_and(|word| !name.contains(word)) {
            continue;
        }
        let counts = check(context, &docent, &name).unwrap_or_else(|problem| {
            println!("FAIL  {name}: {problem:#}");
            CheckCounts::ONE_FAILED
        });
        println!("{name}: {counts}");
        total.push(counts);
    }
    Ok(total.into_iter().sum())
}

/// Lists the names of the fact files.
fn names(context: &CheckContext<'_>) -> Result<Vec<String>> {
    let entries =
        fs::read_dir(context.path(FOLDER)).with_context(|| format!("reading {FOLDER}"))?;
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".toml").map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

fn check(context: &CheckContext<'_>, docent: &DocentProgram, name: &str) -> Result<CheckCounts> {
    let known: PackageFacts =
        corpus::expectations(context.workspace, &format!("{FOLDER}/{name}.toml"))?;
    let tree = match corpus::fetch(context.workspace, &known.package)? {
        FetchOutcome::Tree(tree) => tree,
        FetchOutcome::Unavailable(reason) => {
            println!("skipped: {} can't be fetched ({reason})", known.package);
            return Ok(CheckCounts::ONE_SKIPPED);
        }
    };
    let report = docent.report(&tree, known.depth)?;
    let wrong = known.wrong(&report);
    for problem in &wrong {
        println!("FAIL  {name}: {problem}");
    }
    let checks = known.facts.len() + known.one_of.len() + known.absent.len();
    Ok(CheckCounts { passed: checks - wrong.len(), failed: wrong.len(), skipped: 0 })
}

impl PackageFacts {
    /// Describes every fact that the report misses.
    fn wrong(&self, report: &Value) -> Vec<String> {
        let mut wrong = Vec::new();
        let facts = self.facts.iter().map(|(at, value)| (at, std::slice::from_ref(value)));
        let choices = self.one_of.iter().map(|(at, values)| (at, values.as_slice()));
        for (pointer, expected) in facts.chain(choices) {
            let found = find(report, pointer);
            if found.is_some_and(|found| expected.contains(found)) {
                continue;
            }
            let found = found.map_or_else(|| "missing".to_owned(), Value::to_string);
            let expected: Vec<String> = expected.iter().map(Value::to_string).collect();
            let expected = expected.join(" or ");
            wrong.push(format!("{pointer} is {found}, expected {expected}"));
        }
        for pointer in &self.absent {
            if let Some(found) = find(report, pointer).filter(|found| !found.is_null()) {
                wrong.push(format!("{pointer} is {found}, expected nothing"));
            }
        }
        wrong
    }
}

/// A value by JSON pointer (RFC 6901). In a list, a part with `=` is the first element whose field has that text: in
/// `/manifests/path=Cargo.toml/name`, the order of the manifests doesn't matter.
fn find<'a>(value: &'a Value, pointer: &str) -> Option<&'a Value> {
    let Some(rest) = pointer.strip_prefix('/') else {
        return pointer.is_empty().then_some(value);
    };
    rest.split('/').try_fold(value, |value, part| {
        let part = part.replace("~1", "/").replace("~0", "~");
        match value {
            Value::Object(fields) => fields.get(&part),
            Value::Array(elements) => match part.split_once('=') {
                Some((field, text)) => {
                    elements.iter().find(|element| element[field].as_str() == Some(text))
                }
                None => elements.get(part.parse::<usize>().ok()?),
            },
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn pointers_lead_into_lists_by_number_and_by_field() {
        let report = json!({
            "name": "x",
            "list": [{"name": "@a/b", "is": 1}, {"name": "c=d", "is": 2}],
            "a/b": {"m~n": true},
        });
        let check = |pointer: &str, expected: Option<Value>| {
            assert_eq!(find(&report, pointer), expected.as_ref(), "{pointer}");
        };
        check("", Some(report.clone()));
        check("/name", Some(json!("x")));
        check("/list/1/is", Some(json!(2)));
        check("/list/name=@a~1b/is", Some(json!(1)));
        check("/list/name=c=d/is", Some(json!(2)));
        check("/a~1b/m~0n", Some(json!(true)));
        for nothing in ["name", "/none", "/list/2", "/list/name=e", "/list/x", "/name/0"] {
            check(nothing, None);
        }
    }

    #[test]
    fn facts_are_compared() {
        let known: PackageFacts = toml::from_str(
            "depth = 'deep'\nabsent = ['/b', '/c', '/d']\n\
             [package]\nregistry = 'npm'\nname = 'x'\nversion = '1'\nsha256 = 'y'\n\
             [facts]\n'/a' = 1\n'/e' = ['x']\n'/f' = true\n'/g' = 2.5\n\
             [one_of]\n'/h' = ['x', 'y']\n'/i' = ['x', 1]\n",
        )
        .unwrap();
        assert_eq!(known.depth, AnalyzeDepth::Deep);
        let report = json!({
            "a": 1, "b": null, "d": 0, "e": ["x"], "f": false, "g": 2.5, "h": "y", "i": "y",
        });
        let expected = [
            "/f is false, expected true",
            "/i is \"y\", expected \"x\" or 1",
            "/d is 0, expected nothing",
        ];
        assert_eq!(known.wrong(&report), expected);
        let expected = "/f is missing, expected true";
        assert!(known.wrong(&json!({})).iter().any(|said| said == expected));
    }
}
