//! Extracts facts from one document: headings, anchors, links, code, words. Pure: no files.
//!
//! Special links have internal schemes: `doc:` names a page of the same site (a table of contents, `:doc:`), `ref:` a
//! label, `include:` a file or component that generates part of the document, `orphan:` marks a page that is meant to
//! be unlinked, and `site:` a page with front matter.

mod anchors;
mod asciidoc;
mod commands;
mod draft;
mod html;
mod markdown;
pub(super) mod places;
mod prose;
mod restructured;
#[cfg(test)]
mod tests;

pub(super) use anchors::slug;
pub(super) use draft::kept_runs;

use super::{
    facts::{DocumentFacts, DocumentFormat},
    tree::{folder_of, name_of},
};
use draft::DocumentFactsBuilder;
use tokei::LanguageType;

/// Name prefixes of plain text documents for people, without an extension or with `.txt`.
const TEXT_DOCUMENT_PREFIXES: [&str; 30] = [
    "readme",
    "license",
    "licence",
    "copying",
    "copyright",
    "notice",
    "patents",
    "authors",
    "contributors",
    "maintainers",
    "credits",
    "thanks",
    "changes",
    "changelog",
    "history",
    "news",
    "release",
    "releases",
    "releasing",
    "install",
    "building",
    "usage",
    "contributing",
    "hacking",
    "todo",
    "faq",
    "security",
    "upgrading",
    "migrating",
    "unlicense",
];
/// Text files written for programs, in any folder.
const PROGRAM_TEXT_FILES: [&str; 9] = [
    "cmakelists",
    "requirements",
    "constraints",
    "robots",
    "humans",
    "llms",
    "manifest",
    "sources",
    "top_level",
];

/// Returns the format of a file if it is a document.
pub(super) fn format(path: &str, language: Option<LanguageType>) -> Option<DocumentFormat> {
    let name = name_of(path);
    if name.to_ascii_lowercase().ends_with(".rst.inc") {
        return Some(DocumentFormat::Restructured);
    }
    match language {
        Some(LanguageType::Markdown | LanguageType::Mdx) => Some(DocumentFormat::Markdown),
        Some(LanguageType::Html) => Some(DocumentFormat::Html),
        Some(LanguageType::ReStructuredText) => Some(DocumentFormat::Restructured),
        Some(LanguageType::AsciiDoc) => Some(DocumentFormat::AsciiDoc),
        Some(LanguageType::Text) => is_text(path).then_some(DocumentFormat::Text),
        Some(_) => None,
        None => {
            let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
            match ending.as_deref() {
                Some("mkd" | "mkdn" | "mdown" | "mdwn" | "qmd" | "rmd") => {
                    Some(DocumentFormat::Markdown)
                }
                Some("xhtml") => Some(DocumentFormat::Html),
                Some("rest") => Some(DocumentFormat::Restructured),
                Some("asc") if name.to_ascii_lowercase().starts_with("readme") => {
                    Some(DocumentFormat::AsciiDoc)
                }
                None => is_conventional(name).then_some(DocumentFormat::Text),
                Some(_) => None,
            }
        }
    }
}

/// Extracts the facts of a document.
pub(super) fn read(path: &str, format: DocumentFormat, text: &str) -> DocumentFacts {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // Sphinx can be configured for any extension, and some projects use `.txt`.
    let restructured = format == DocumentFormat::Text && restructured::looks_like(text);
    let format = if restructured { DocumentFormat::Restructured } else { format };
    let mut draft = DocumentFactsBuilder::new(path, format);
    match format {
        DocumentFormat::Markdown => {
            markdown::read(&mut draft, text, places::ends_in(path, &["mdx"]));
        }
        DocumentFormat::Html => html::read(&mut draft, text),
        DocumentFormat::Restructured => restructured::read(&mut draft, text),
        DocumentFormat::AsciiDoc => asciidoc::read(&mut draft, text),
        DocumentFormat::Text => {
            let has_word = |line: &&str| line.chars().any(char::is_alphanumeric);
            draft.title(text.lines().find(has_word).unwrap_or_default());
            draft.text(text);
        }
    }
    draft.finish()
}

/// Whether a `.txt` file is written for people.
fn is_text(path: &str) -> bool {
    let name = name_of(path).to_ascii_lowercase();
    if PROGRAM_TEXT_FILES.iter().any(|start| name.starts_with(start)) {
        return false;
    }
    is_conventional(&name) || folder_of(path).split('/').any(places::is_documentation)
}

/// Whether a name without its extension is a standard document name.
fn is_conventional(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let stem = name.split(['.', '-', '_', ' ']).next().unwrap_or_default();
    TEXT_DOCUMENT_PREFIXES.contains(&stem)
}
