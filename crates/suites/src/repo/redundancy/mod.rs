//! Finds duplicate, unlinked and almost empty documents.

mod duplicates;
mod reachability;
#[cfg(test)]
mod tests;

use super::{
    documents::places,
    facts::{DocumentFacts, DocumentFormat},
    links::sites::{SiteGenerator, Sites},
    report::Redundancy,
    tree::{HaltCheck, ProjectTree},
};

/// Maximum number of reported empty documents.
const MAX_LISTED_EMPTY: usize = 100;
/// Minimum number of words.
const MIN_WORDS: u64 = 15;
/// Documents for programs, or forms for people.
const FORMS: [&str; 9] = [
    "changelog",
    "pull_request_template",
    "issue_template",
    "claude",
    "agents",
    "gemini",
    "copilot-instructions",
    "llms",
    "404",
];

/// Compares all documents until the deadline.
pub(super) fn find(
    tree: &ProjectTree,
    documents: &[DocumentFacts],
    halt: HaltCheck<'_>,
) -> Redundancy {
    if halt() {
        return Redundancy::default();
    }
    let sites = Sites::find(tree);
    let mut empty: Vec<String> = documents
        .iter()
        .filter(|document| {
            is_empty(document) && (document.links.is_empty() || shows_its_text(document, &sites))
        })
        .map(|document| document.path.to_string())
        .collect();
    empty.sort_unstable();
    empty.truncate(MAX_LISTED_EMPTY);
    let duplicates = duplicates::find(documents, halt);
    let dead =
        if halt() { Vec::new() } else { reachability::find_dead(tree, &sites, documents, halt) };
    Redundancy { duplicates, dead, empty }
}

/// Whether a document has almost no text and no other content.
fn is_empty(document: &DocumentFacts) -> bool {
    let path = &*document.path;
    let stem = places::stem_of(path).to_ascii_lowercase();
    document.words < MIN_WORDS
        && matches!(document.format, DocumentFormat::Markdown | DocumentFormat::Restructured | DocumentFormat::AsciiDoc)
        && document.code_blocks.is_empty()
        && document.mentions.is_empty()
        && document.links.iter().all(|link| &*link.target == "site:")
        // An attributes file is not a document.
        && (document.format != DocumentFormat::AsciiDoc || !document.headings.is_empty())
        && !places::is_sample(path)
        && !places::is_test(path)
        && !places::is_partial(path)
        && !FORMS.contains(&stem.as_str())
        && !path.split('/').any(|folder| folder.starts_with('.') || is_fragment_folder(folder))
        && (!places::is_index(path) || places::is_readme(path))
}

/// Whether a page with front matter shows only its text, as far as its site is known.
fn shows_its_text(document: &DocumentFacts, sites: &Sites) -> bool {
    let site = sites.around(&document.path);
    // In AsciiDoc, page attributes may generate lists of other pages.
    document.words > 0
        && document.format != DocumentFormat::AsciiDoc
        && site.is_some_and(|site| site.generator != SiteGenerator::Automatic)
}

/// Whether a folder contains fragments combined elsewhere: glossary entries, notes for the next release.
fn is_fragment_folder(folder: &str) -> bool {
    matches!(
        folder,
        "glossary"
            | "newsfragments"
            | "changes"
            | "changelog.d"
            | "changelogs"
            | "news"
            | "unreleased"
            | "releasenotes"
    )
}
