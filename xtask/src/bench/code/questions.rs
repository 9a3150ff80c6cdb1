//! The questions: sentences that people wrote about the code, and the parsing of their answers.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

pub(super) const TOOL: &str = "query_annotations";
const DOCSTRING_QUOTES: &str = "\"\"\"";
const MIN_QUESTION_WORDS: usize = 4;

/// Returns this many questions, spread over all docstrings of a tree.
pub(super) fn ask_for(tree: &Path, files: &[PathBuf], count: usize) -> Result<Vec<String>> {
    let mut all = BTreeSet::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|ending| ending == "py")) {
        all.extend(sentences(&String::from_utf8_lossy(&fs::read(tree.join(file))?)));
    }
    ensure!(all.len() >= count, "{} has {} docstrings only", tree.display(), all.len());
    let every = all.len() / count;
    Ok(all.into_iter().step_by(every).take(count).collect())
}

/// Finds the first lines of docstrings that have enough words.
fn sentences(source: &str) -> impl Iterator<Item = String> {
    source.lines().filter_map(|line| {
        let text =
            line.trim().strip_prefix(DOCSTRING_QUOTES)?.trim_end_matches(DOCSTRING_QUOTES).trim();
        (text.split_whitespace().count() >= MIN_QUESTION_WORDS).then(|| text.to_owned())
    })
}

/// Returns the arguments of a query without a score threshold.
pub(super) fn query(text: &str) -> Value {
    json!({"query": text, "options": {"limit": 10, "threshold": 0.0}})
}

/// Returns the names that a query found, best first.
pub(super) fn names(result: &Value) -> Result<Vec<String>> {
    let shown = || format!("{TOOL} answered {result}");
    let contents = result["content"].as_array().with_context(shown)?;
    let list = contents.iter().find(|one| one["type"] == "resource").with_context(shown)?;
    let list = list["resource"]["text"].as_str().with_context(shown)?;
    let hits: Vec<Value> = serde_json::from_str(list).with_context(shown)?;
    Ok(hits.iter().filter_map(|hit| hit["name"].as_str()).map(str::to_owned).collect())
}

/// Returns the sample below which this share of all samples lies.
pub(in crate::bench) fn percentile(samples: &[f64], percent: usize) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(at).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn docstrings_become_questions() {
        let source = "def a():\n    \"\"\"Return the name of the field.\"\"\"\n    x = \"\"\"not\n\
                      class B:\n    \"\"\"\n    Below the quotes.\n    \"\"\"\n    \"\"\"Too short.\"\"\"\n\
                      def c():\n    \"\"\"Open a file, and read it\n    whole.\"\"\"\n";
        let found: Vec<String> = sentences(source).collect();
        assert_eq!(found, ["Return the name of the field.", "Open a file, and read it"]);
        let tree = tempfile::tempdir().unwrap();
        fs::write(tree.path().join("a.py"), source).unwrap();
        let files = [PathBuf::from("a.py"), PathBuf::from("missing.txt")];
        assert_eq!(ask_for(tree.path(), &files, 1).unwrap(), ["Open a file, and read it"]);
        assert_eq!(ask_for(tree.path(), &files, 2).unwrap().len(), 2);
        assert!(ask_for(tree.path(), &files, 3).is_err());
    }

    #[test]
    fn names_are_parsed_from_the_list() {
        let list = "[{\"name\":\"a\"},{\"name\":\"B.c\"}]";
        let result = json!({"content": [
            {"type": "text", "text": "2 found"},
            {"type": "resource", "resource": {"text": list}},
        ]});
        assert_eq!(names(&result).unwrap(), ["a", "B.c"]);
        let problem = names(&json!({"content": [], "isError": true})).unwrap_err().to_string();
        assert!(problem.contains("isError"), "{problem}");
    }

    #[test]
    fn percentiles() {
        let check = |samples: &[f64], percent: usize, expected: f64| {
            let found = percentile(samples, percent);
            assert_eq!(found.to_bits(), expected.to_bits(), "{percent} % of {samples:?}");
        };
        let hundred: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        check(&hundred, 50, 51.0);
        check(&hundred, 95, 96.0);
        check(&[2.0, 1.0], 95, 2.0);
        check(&[1.0], 50, 1.0);
        assert!(percentile(&[], 50).is_nan());
    }
}
