//! Documents unchanged since the code they mention changed.

use super::{
    project_index::{ProjectIndex, above},
    scope,
};
use crate::repo::{
    facts::DocumentFacts,
    history::ProjectPast,
    languages,
    report::{Nature, Outdated},
    tree::{HaltCheck, folder_of, join},
};
use std::collections::{BTreeSet, HashSet};

/// Maximum number of listed documents.
const MAX_LISTED_DOCUMENTS: usize = 100;
/// Maximum number of listed files per document.
const MAX_LISTED_FILES: usize = 10;
/// Minimum number of commits: fewer may not have affected what the document says.
const MIN_COMMITS: usize = 5;
/// Minimum time between document and code changes.
const MIN_AGE_SECONDS: i64 = 30 * 24 * 60 * 60;

/// Finds outdated documents, most changes first.
pub(super) fn find(
    known: &ProjectIndex<'_>,
    past: &ProjectPast,
    documents: &[DocumentFacts],
    halt: HaltCheck<'_>,
) -> Vec<Outdated> {
    let mut all = Vec::new();
    for document in documents.iter().filter(|document| scope::is_current(document)) {
        if halt() {
            break;
        }
        all.extend(judge(known, past, document));
    }
    all.sort_by(|one, other| {
        other.changes.cmp(&one.changes).then_with(|| one.path.cmp(&other.path))
    });
    all.truncate(MAX_LISTED_DOCUMENTS);
    all
}

fn judge(
    known: &ProjectIndex<'_>,
    past: &ProjectPast,
    document: &DocumentFacts,
) -> Option<Outdated> {
    let last = *past.files.get(&document.path)?.changes.first()?;
    let mut commits = HashSet::new();
    let mut changed = Vec::new();
    for path in named(known, document) {
        let Some(file) = past.files.get(path.as_str()) else { continue };
        let since: Vec<i64> = file.changes.iter().copied().take_while(|at| *at > last).collect();
        if !since.is_empty() {
            changed.push((since.len(), path));
            commits.extend(since);
        }
    }
    let newest = commits.iter().max()?;
    if commits.len() < MIN_COMMITS || newest - last < MIN_AGE_SECONDS {
        return None;
    }
    changed.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    Some(Outdated {
        path: document.path.to_string(),
        last_change: date(last),
        changed: changed.into_iter().take(MAX_LISTED_FILES).map(|(_, path)| path).collect(),
        changes: commits.len() as u64,
    })
}

/// Returns the source files that a document mentions or links to, each once.
fn named(known: &ProjectIndex<'_>, document: &DocumentFacts) -> BTreeSet<String> {
    let home = folder_of(&document.path);
    let links = document.links.iter().filter(|link| !link.image).map(|link| link.target.as_ref());
    let mentions = document.mentions.iter().filter(|mention| !mention.command);
    let texts = links.chain(mentions.map(|mention| mention.text.as_ref()));
    let paths = texts.map(|text| text.split(['#', '?', ':']).next().unwrap_or(text));
    let paths = paths.filter(|path| !path.is_empty() && !path.contains(char::is_whitespace));
    let found = paths.filter_map(|path| {
        let mut tried = above(home).filter_map(|base| join(base, path));
        tried.find(|path| is_source(known, path))
    });
    found.collect()
}

fn is_source(known: &ProjectIndex<'_>, path: &str) -> bool {
    let language = known.today.tree.file(path).and_then(|file| file.language);
    language.is_some_and(|language| languages::nature(language) == Nature::Program)
}

/// Formats a time as a date: `2024-05-31`.
pub(super) fn date(seconds: i64) -> String {
    gix::date::Time::new(seconds, 0).format_or_unix(gix::date::time::format::SHORT)
}
