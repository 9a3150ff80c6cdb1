//! `PostgreSQL`'s manual, judged by its printed index: each term is a question, and the pages that the index lists for
//! it are the answers.

use super::{CorpusError, ExpectedAnswer, JudgedCollection, JudgedQuestion, Result};
use docent_index::{Digest, Genre, IndexedSource};
use docent_suites::prose_units;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

const INDEX: &str = "bookindex.html";
/// Pages that only link to others.
const EXCLUDED_PAGES: [&str; 4] = [INDEX, "index.html", "biblio.html", "legalnotice.html"];
const COLLECTION: &str = "postgresql";
/// A term with more pages than this is too general to be a question.
const MAX_PAGES_PER_TERM: usize = 5;

/// Reads the manual from a folder of HTML pages.
pub fn manual(folder: &Path) -> Result<JudgedCollection> {
    let unreadable = |source| CorpusError::Unreadable { path: folder.to_owned(), source };
    let mut there = BTreeSet::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        there.extend(entry.map_err(unreadable)?.file_name().into_string());
    }
    there.retain(|name| !EXCLUDED_PAGES.contains(&name.as_str()));
    let index = read(&folder.join(INDEX))?;
    let questions = questions(&String::from_utf8_lossy(&index), &there);
    let mut sources = Vec::new();
    for path in there.into_iter().filter(|name| is_page(name)) {
        let bytes = read(&folder.join(&path))?;
        let units = prose_units(&path, &bytes).and_then(Result::ok).unwrap_or_default();
        let digest = Digest::of(&[&bytes]);
        let collection = COLLECTION.to_owned();
        sources.push(IndexedSource { collection, path, genre: Genre::Prose, digest, units });
    }
    Ok(JudgedCollection { name: COLLECTION.into(), language: "english".into(), sources, questions })
}

fn is_page(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|ending| ending == "html")
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|source| CorpusError::Unreadable { path: path.to_owned(), source })
}

/// Terms in order, each followed by its sub-terms.
fn questions(index: &str, there: &BTreeSet<String>) -> Vec<JudgedQuestion> {
    let mut pages: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut top = String::new();
    for entry in entries(index) {
        let question = if entry.depth == 0 {
            top.clone_from(&entry.term);
            entry.term
        } else {
            format!("{top} {}", without_preposition(&entry.term)).trim().to_owned()
        };
        if !entry.pages.is_empty() {
            pages.entry(question).or_default().extend(entry.pages);
        }
    }
    let is_fit = |(question, pages): &(String, BTreeSet<String>)| {
        (3..100).contains(&question.chars().count())
            && pages.len() <= MAX_PAGES_PER_TERM
            && pages.is_subset(there)
    };
    let ask = |(text, pages): (String, BTreeSet<String>)| {
        let answers = pages.into_iter().map(|path| ExpectedAnswer { path, unit: None }).collect();
        JudgedQuestion { text, answers }
    };
    pages.into_iter().filter(is_fit).map(ask).collect()
}

/// One entry of the printed index.
struct ManualIndexEntry {
    depth: usize,
    term: String,
    pages: Vec<String>,
}

fn entries(index: &str) -> Vec<ManualIndexEntry> {
    let mut entries = Vec::new();
    let mut lists = 0_usize;
    let mut rest = index;
    while let Some((_, tag)) = rest.split_once('<') {
        rest = tag;
        if tag.starts_with("dl>") {
            lists += 1;
        } else if tag.starts_with("/dl>") {
            lists = lists.saturating_sub(1);
        } else if tag.strip_prefix("dt").is_some_and(|next| next.starts_with(['>', ' ', '\n'])) {
            let body = tag.split_once('>').and_then(|(_, inner)| inner.split_once("</dt>"));
            let Some((body, after)) = body else { continue };
            entries.push(ManualIndexEntry {
                depth: lists.saturating_sub(1),
                term: term(body),
                pages: pages(body),
            });
            rest = after;
        }
    }
    entries
}

/// The text of an entry without its links and references to other entries.
fn term(body: &str) -> String {
    let text = unescape(&without_tags(&without_links(body)));
    let text = text.split("(see").next().unwrap_or_default();
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words.trim_matches([' ', ',']).to_owned()
}

/// The pages that an entry links to.
fn pages(body: &str) -> Vec<String> {
    let links = body.split("href=\"").skip(1).filter_map(|link| link.split('"').next());
    let pages = links.filter(|link| link.find(".html").is_some_and(|at| at > 0));
    pages.map(|link| link.split('#').next().unwrap_or(link).to_owned()).collect()
}

fn without_links(body: &str) -> String {
    let mut kept = String::new();
    let mut rest = body;
    while let Some(at) = rest.find("<a ") {
        let (before, link) = rest.split_at_checked(at).unwrap_or((rest, ""));
        let Some((_, after)) = link.split_once("</a>") else { break };
        kept.push_str(before);
        kept.push(' ');
        rest = after;
    }
    kept + rest
}

fn without_tags(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, tag)) = rest.split_once('<') {
        let Some((_, after)) = tag.split_once('>') else { break };
        kept.push_str(before);
        kept.push(' ');
        rest = after;
    }
    kept + rest
}

/// Replaces the few character references used in the manual.
fn unescape(text: &str) -> String {
    let named = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&nbsp;", " "), ("&#160;", " ")];
    let text = named.iter().fold(text.to_owned(), |text, (name, is)| text.replace(name, is));
    text.replace("&amp;", "&")
}

fn without_preposition(term: &str) -> &str {
    ["in ", "of ", "with ", "for "].iter().find_map(|word| term.strip_prefix(word)).unwrap_or(term)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX_PAGE: &str = r#"<div><h3>A</h3><dl>
<dt id="a">abort, <a class="indexterm" href="sql-abort.html">ABORT</a></dt>
<dt>aggregate function, <a href="functions.html#AGG">Functions</a>, <a href="missing.html">Gone</a></dt>
<dd><dl><dt>in a <code>query</code>, <a href="sql.html#A">A</a>, <a href="functions.html">F</a></dt>
<dt>alias (see name)</dt></dl></dd>
<dt>a, <a href="sql.html">A</a></dt><dt>R&amp;D &lt; x&nbsp;y (see also z), <a href="sql.html">A</a></dt>
</dl></div>"#;

    #[test]
    fn terms_are_questions_and_pages_are_answers() {
        let page = |text: &str| {
            format!(
                "<html><head><title>{text}</title></head><body><h1>{text}</h1><p>About.</p></body></html>"
            )
        };
        let project = crate::project()
            .file("bookindex.html", INDEX_PAGE)
            .file("index.html", page("Contents"))
            .file("sql-abort.html", page("ABORT"))
            .file("sql.html", page("SQL"))
            .file("functions.html", page("Functions"))
            .file("style.css", "")
            .build()
            .unwrap();
        let judged = manual(project.root()).unwrap();
        let shown: Vec<String> = judged
            .questions
            .iter()
            .map(|one| {
                let pages: Vec<&str> = one.answers.iter().map(|one| one.path.as_str()).collect();
                assert!(one.answers.iter().all(|one| one.unit.is_none()));
                format!("{}: {}", one.text, pages.join(" "))
            })
            .collect();
        let want = [
            "R&D < x y: sql.html",
            "abort: sql-abort.html",
            "aggregate function a query: functions.html sql.html",
        ];
        assert_eq!(shown, want);
        let paths: Vec<&str> = judged.sources.iter().map(|one| one.path.as_str()).collect();
        assert_eq!(paths, ["functions.html", "sql-abort.html", "sql.html"]);
        assert_eq!(judged.sources[0].units[0].name, "Functions");
    }
}
