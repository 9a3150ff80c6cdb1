//! Documents that repeat each other, that nothing leads to, or that say nothing.

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

/// Empty documents that are reported.
const MAX_LISTED_EMPTY: usize = 100;
/// Fewer words say nothing.
const MIN_WORDS: u64 = 15;
/// Documents that are read by programs, or filled in by people.
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

/// Compares all documents, as far as there is time.
pub(super) fn find(tree: &ProjectTree, documents: &[DocumentFacts], halt: HaltCheck<'_>) -> Redundancy {
    if halt() {
        return Redundancy::default();
    }
    let sites = Sites::of(tree);
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
    let dead = if halt() { Vec::new() } else { reachability::find_dead(tree, &sites, documents, halt) };
    Redundancy { duplicates, dead, empty }
}

/// Whether a document has next to no text, and nothing else to show.
fn is_empty(document: &DocumentFacts) -> bool {
    let path = &*document.path;
    let stem = places::stem_of(path).to_ascii_lowercase();
    document.words < MIN_WORDS
        && matches!(document.format, Format::Markdown | Format::Restructured | Format::AsciiDoc)
        && document.code_blocks.is_empty()
        && document.mentions.is_empty()
        && document.links.iter().all(|link| &*link.target == "site:")
        // A file of attributes is no document.
        && (document.format != DocumentFormat::AsciiDoc || !document.headings.is_empty())
        && !places::is_sample(path)
        && !places::is_test(path)
        && !places::is_partial(path)
        && !FORMS.contains(&stem.as_str())
        && !path.split('/').any(|folder| folder.starts_with('.') || is_fragment_folder(folder))
        && (!places::is_index(path) || places::is_readme(path))
}

/// Whether a page with front matter shows its text and nothing else, as far as its site is known.
fn shows_its_text(document: &DocumentFacts, sites: &Sites) -> bool {
    let site = sites.around(&document.path);
    // In AsciiDoc, attributes of a page ask for lists of others.
    document.words > 0
        && document.format != DocumentFormat::AsciiDoc
        && site.is_some_and(|site| site.generator != SiteGenerator::Automatic)
}

/// Folders of lines that are put together elsewhere: words with their meaning, notes for the next release.
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
