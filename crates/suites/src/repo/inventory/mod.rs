//! The documents of a project: which exist, the purpose of each, and the README's contents.

mod api_docs;
mod changelog;
mod commands;
mod decisions;
mod examples;
mod kinds;
mod outline;
mod readme;
mod site;
mod wording;

use super::{
    facts::DocumentFacts,
    report::{Document, DocumentKind, Documentation, KindCount, Readme, Report},
    tree::ProjectTree,
};
use crate::files::ReadFailure;
use std::collections::BTreeMap;

/// Maximum number of listed documents.
const MAX_LISTED_DOCUMENTS: usize = 300;

/// Builds the document inventory. The report contains earlier results: presence, manifests, project, languages.
pub(super) fn build_inventory(
    tree: &ProjectTree,
    documents: &[DocumentFacts],
    report: &Report,
) -> (Documentation, Vec<ReadFailure>) {
    let mut problems = Vec::new();
    let own: Vec<&DocumentFacts> = documents.iter().filter(|it| kinds::is_own(it)).collect();
    let mut listed: Vec<Document> = own.iter().map(|document| describe(document)).collect();
    let suggested_site = site::suggest(report, &own, &listed);
    let records: Vec<&DocumentFacts> = own
        .iter()
        .zip(&listed)
        .filter(|(_, document)| document.kind == DocumentKind::Decision)
        .map(|(facts, _)| *facts)
        .collect();
    let (decisions, unread) = decisions::read(tree, &records);
    problems.extend(unread);
    let (changelog, unread) = changelog::read(tree, report);
    problems.extend(unread);
    let (api_docs, unread) = api_docs::find(tree, report);
    problems.extend(unread);
    let readme = read_readme(tree, documents, report, &mut problems);
    let kinds = count_kinds(&listed);
    let document_count = listed.len() as u64;
    listed.truncate(MAX_LISTED_DOCUMENTS);
    let examples = examples::count(tree, &own);
    let documentation = Documentation {
        readme,
        documents: listed,
        document_count,
        kinds,
        decisions,
        changelog,
        api_docs,
        examples,
        suggested_site,
    };
    (documentation, problems)
}

fn describe(document: &DocumentFacts) -> Document {
    let (kind, because) = kinds::classify(document);
    Document {
        path: document.path.to_string(),
        title: document.title.as_deref().map(str::to_owned),
        kind,
        because,
        words: document.words,
    }
}

fn count_kinds(documents: &[Document]) -> Vec<KindCount> {
    let mut counts: BTreeMap<DocumentKind, u64> = BTreeMap::new();
    for document in documents {
        *counts.entry(document.kind).or_default() += 1;
    }
    counts.into_iter().map(|(kind, count)| KindCount { kind, count }).collect()
}

fn read_readme(
    tree: &ProjectTree,
    documents: &[DocumentFacts],
    report: &Report,
    problems: &mut Vec<ReadFailure>,
) -> Option<Readme> {
    let path = report.presence.readme.as_deref()?;
    match tree.text(path) {
        Ok(text) => Some(readme::judge(tree, report, documents, path, &text)),
        Err(problem) => {
            problems.push(problem);
            None
        }
    }
}

#[cfg(test)]
mod tests;
