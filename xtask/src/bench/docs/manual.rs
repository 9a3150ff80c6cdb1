//! The measured collection: a folder of pages, and questions with the pages that answer them.

use crate::{
    bench::repo::copies,
    process::{self, OutputMode},
    workspace::XtaskWorkspace,
};
use anyhow::{Context, Result, ensure};
use serde_json::json;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

const SCRIPT: &str = "tests/eval/manual.py";
const SCRIPT_LIMIT: Duration = Duration::from_mins(5);
/// The folder of docent's state.
const STATE: &str = ".docent";
/// Pages that only link to others.
const EXCLUDED_PAGES: [&str; 4] =
    ["bookindex.html", "index.html", "biblio.html", "legalnotice.html"];
/// A page below this rank counts as not found.
const MAX_RANK: usize = 10;

/// A question, and the pages that answer it.
pub(super) type ManualQuestion = (String, BTreeSet<String>);

/// A folder for running docent, with one collection.
#[derive(Debug)]
pub(super) struct ManualCollection {
    pub(super) root: PathBuf,
    /// The folder of the pages, which the peers read too.
    pub(super) pages: PathBuf,
    pub(super) count: usize,
    changed: PathBuf,
}

impl ManualCollection {
    /// Copies the pages of a folder into another one, which is emptied first.
    pub(super) fn copy(from: &Path, root: PathBuf, name: &str) -> Result<Self> {
        if root.exists() {
            fs::remove_dir_all(&root).with_context(|| format!("emptying {}", root.display()))?;
        }
        let pages = root.join("docs").join(name);
        let mut names = copies::files(from)?;
        names.retain(|file| file.extension().is_some_and(|ending| ending == "html"));
        names.retain(|file| !EXCLUDED_PAGES.iter().any(|name| file == Path::new(name)));
        for file in &names {
            let target = pages.join(file);
            if let Some(folder) = target.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::copy(from.join(file), &target)
                .with_context(|| format!("copying {}", file.display()))?;
        }
        let changed = names.get(names.len() / 2);
        let changed =
            pages.join(changed.with_context(|| format!("{} has no pages", from.display()))?);
        let collection = json!({"path": format!("docs/{name}"), "description": name});
        let settings = json!({"docs": {"collections": {name: collection}}});
        fs::write(root.join("docent.json"), settings.to_string())?;
        Ok(Self { root, pages, count: names.len(), changed })
    }

    /// Deletes the state, so that the next sync is a first one.
    pub(super) fn forget(&self) -> Result<()> {
        let state = self.root.join(STATE);
        if state.exists() {
            fs::remove_dir_all(&state).with_context(|| format!("removing {}", state.display()))?;
        }
        Ok(())
    }

    /// Changes the text of one page.
    pub(super) fn change(&self, round: u32) -> Result<()> {
        let page = fs::read_to_string(&self.changed)
            .with_context(|| format!("reading {}", self.changed.display()))?;
        let page = page.replace("</body>", &format!("<p>Edition {round} of this page.</p></body>"));
        fs::write(&self.changed, page).context("changing a page")
    }
}

/// Returns the terms of the manual's printed index, in the order of the evaluation.
pub(super) fn questions(
    workspace: &XtaskWorkspace,
    manual: &Path,
    count: usize,
) -> Result<Vec<ManualQuestion>> {
    let mut python = Command::new("python3");
    // Write nothing into the repository.
    python.arg("-B").arg(workspace.root.join(SCRIPT)).arg(manual);
    python.args(["--queries", &count.to_string()]);
    let said = process::run(&mut python, SCRIPT_LIMIT, OutputMode::Kept)?.or_fail(SCRIPT)?;
    let questions: Vec<ManualQuestion> = serde_json::from_str(said.trim())
        .with_context(|| format!("{SCRIPT} printed no list of questions"))?;
    ensure!(!questions.is_empty(), "{} has no index to ask from", manual.display());
    Ok(questions)
}

/// Returns the mean reciprocal rank of the first correct page, in percent.
pub(super) fn mean_reciprocal_rank(questions: &[ManualQuestion], found: &[Vec<String>]) -> f64 {
    let gain = |((_, answers), pages): (&ManualQuestion, &Vec<String>)| {
        let places = (1..=MAX_RANK).map(|place| u32::try_from(place).unwrap_or(u32::MAX));
        let mut different: Vec<&String> = Vec::new();
        for page in pages {
            if !different.contains(&page) {
                different.push(page);
            }
        }
        let first = different.into_iter().zip(places).find(|(page, _)| answers.contains(*page));
        first.map_or(0.0, |(_, place)| 1.0 / f64::from(place))
    };
    let total: f64 = questions.iter().zip(found).map(gain).sum();
    100.0 * total / f64::from(u32::try_from(questions.len()).unwrap_or(u32::MAX).max(1))
}

/// Returns the page name at the end of a path or URL.
pub(super) fn page_name(address: &str) -> String {
    let path = address.split(['#', '?']).next().unwrap_or(address);
    path.rsplit('/').next().unwrap_or(path).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collection_is_copied_changed_and_reset() {
        let place = tempfile::tempdir().unwrap();
        let from = place.path().join("from");
        fs::create_dir_all(from.join("inner")).unwrap();
        for file in ["a.html", "inner/b.html", "bookindex.html", "style.css"] {
            fs::write(from.join(file), "<body><p>Text.</p></body>").unwrap();
        }
        let root = place.path().join("root");
        let collection = ManualCollection::copy(&from, root.clone(), "guide").unwrap();
        assert_eq!(collection.count, 2);
        assert!(collection.pages.join("a.html").is_file());
        assert!(!collection.pages.join("bookindex.html").exists());
        let settings = fs::read_to_string(root.join("docent.json")).unwrap();
        assert!(settings.contains(r#""guide":{"path":"docs/guide""#), "{settings}");
        collection.change(1).unwrap();
        collection.change(2).unwrap();
        let page = fs::read_to_string(collection.pages.join("inner/b.html")).unwrap();
        assert!(page.contains("Edition 1") && page.contains("Edition 2"), "{page}");
        fs::create_dir(root.join(STATE)).unwrap();
        collection.forget().unwrap();
        collection.forget().unwrap();
        assert!(!root.join(STATE).exists());
        fs::create_dir(place.path().join("empty")).unwrap();
        assert!(ManualCollection::copy(&place.path().join("empty"), root, "guide").is_err());
    }

    #[test]
    fn the_first_right_page_counts() {
        let question = |page: &str| (String::new(), BTreeSet::from([page.to_owned()]));
        let check = |found: &[&[&str]], expected: f64| {
            let questions = [question("a"), question("b")];
            let found: Vec<Vec<String>> = found
                .iter()
                .map(|pages| pages.iter().map(|&page| page.to_owned()).collect())
                .collect();
            let mean = mean_reciprocal_rank(&questions, &found);
            assert!((mean - expected).abs() < 1e-9, "{found:?}: {mean}");
        };
        check(&[&["a"], &["b"]], 100.0);
        check(&[&["x", "a"], &["b"]], 75.0);
        check(&[&["x", "x", "a"], &[]], 25.0);
        check(&[&["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "a"], &[]], 0.0);
        assert!(mean_reciprocal_rank(&[], &[]).abs() < 1e-9);
    }

    #[test]
    fn terms_of_the_printed_index_are_questions() {
        let folder = tempfile::tempdir().unwrap();
        let index = r#"<dl><dt>abort, <a href="sql-abort.html">ABORT</a></dt>
            <dt>aggregate, <a href="missing.html">Gone</a></dt>
            <dd><dl><dt>in a <code>query</code>, <a href="sql.html#A">A</a>, <a href="sql-abort.html">F</a></dt>
            <dt>alias (see name)</dt></dl></dd>
            <dt>a, <a href="sql.html">A</a></dt><dt>R&amp;D &lt; x (see also z), <a href="sql.html">A</a></dt></dl>"#;
        for (file, text) in [("bookindex.html", index), ("sql.html", ""), ("sql-abort.html", "")] {
            fs::write(folder.path().join(file), text).unwrap();
        }
        let workspace = XtaskWorkspace {
            root: Path::new(env!("CARGO_MANIFEST_DIR")).join(".."),
            target: folder.path().join("target"),
            metadata: serde_json::Value::Null,
        };
        let mut found = questions(&workspace, folder.path(), 10).unwrap();
        found.sort();
        let expected = [
            ("R&D < x", &["sql.html"][..]),
            ("abort", &["sql-abort.html"]),
            ("aggregate a query", &["sql-abort.html", "sql.html"]),
        ];
        let pages = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(found, expected.map(|(term, names)| (term.to_owned(), pages(names))));
        assert_eq!(questions(&workspace, folder.path(), 1).unwrap().len(), 1);
        fs::write(folder.path().join("bookindex.html"), "<dl>").unwrap();
        assert!(questions(&workspace, folder.path(), 1).is_err());
    }

    #[test]
    fn pages_are_identified_by_their_names() {
        for (address, expected) in [
            ("postgresql/sql-copy.html", "sql-copy.html"),
            ("file:///a/b/sql-copy.html#NOTES", "sql-copy.html"),
            ("sql-copy.html?x=/y", "sql-copy.html"),
            ("", ""),
        ] {
            assert_eq!(page_name(address), expected, "{address}");
        }
    }
}
