//! Results of reading every file: coverage, links, drift, redundancy.

use super::Severity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Documentation of public symbols.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Coverage {
    /// Number of public symbols.
    pub public: u64,
    /// Number of those with a doc comment.
    pub documented: u64,
    /// Percentage.
    pub percent: f64,
    /// By language, most symbols first.
    pub languages: Vec<Covered>,
    /// By folder, down to the third level, lowest percentage first; at most 200.
    pub folders: Vec<Covered>,
    /// Public symbols without a doc comment, most-used files first; at most 500.
    pub undocumented: Vec<Undocumented>,
    /// Languages here that docent does not parse.
    pub not_read: Vec<String>,
}

/// Documentation coverage of a language or folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Covered {
    /// Language or folder.
    pub name: String,
    /// Number of public symbols.
    pub public: u64,
    /// Number of those with a doc comment.
    pub documented: u64,
    /// Percentage.
    pub percent: f64,
}

/// A public symbol without a doc comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Undocumented {
    /// Qualified name.
    pub symbol: String,
    /// Kind of symbol.
    pub kind: String,
    /// Path relative to the analyzed folder.
    pub path: String,
    /// Line number.
    pub line: u64,
}

/// Relative links, anchors and images in Markdown and HTML.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Links {
    /// Number of checked links.
    pub checked: u64,
    /// Number of links to other hosts, which are not checked.
    pub external: u64,
    /// Number of broken links.
    pub broken_count: u64,
    /// Broken links; at most 500.
    pub broken: Vec<BrokenLink>,
}

/// A broken link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BrokenLink {
    /// The document, relative to the analyzed folder.
    pub path: String,
    /// Line of the link.
    pub line: u64,
    /// As written.
    pub target: String,
    /// What is wrong.
    pub problem: LinkProblem,
    /// An existing target that may be intended.
    pub suggestion: Option<String>,
}

/// What is wrong with a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LinkProblem {
    /// The file does not exist.
    MissingFile,
    /// The file has no such heading or anchor.
    MissingAnchor,
    /// The image does not exist.
    MissingImage,
    /// The file name differs in case: the link breaks on case-sensitive systems.
    WrongCase,
    /// The link points outside the repository.
    Outside,
}

/// Documents that no longer match the code.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Drift {
    /// Number of names in documents that were looked up.
    pub checked: u64,
    /// Number of names that no longer exist.
    pub stale_count: u64,
    /// Mentions of things that no longer exist, most certain first; at most 300.
    pub stale: Vec<Stale>,
    /// Documents unchanged since the code they describe changed, most changes first; at most 100.
    pub outdated: Vec<Outdated>,
}

/// A mention of something that no longer exists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stale {
    /// The document, relative to the analyzed folder.
    pub path: String,
    /// Line number.
    pub line: u64,
    /// The mention as written.
    pub mention: String,
    /// Kind of thing mentioned.
    pub kind: MentionKind,
    /// Why docent thinks so.
    pub evidence: String,
    /// Confidence.
    pub severity: Severity,
    /// Likely current name.
    pub suggestion: Option<String>,
}

/// Kind of thing that a document mentions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MentionKind {
    /// A function, type or module.
    Symbol,
    /// A file or folder.
    File,
    /// An option of the project's own program.
    Flag,
    /// A script, target or subcommand.
    Command,
}

/// A document unchanged since the code it describes changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Outdated {
    /// The document, relative to the analyzed folder.
    pub path: String,
    /// Date of its last change.
    pub last_change: String,
    /// Mentioned files that changed since, most changed first; at most ten.
    pub changed: Vec<String>,
    /// Number of commits that changed them since.
    pub changes: u64,
}

/// Duplicate, unlinked and empty documents.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Redundancy {
    /// Pairs of similar documents, most similar first; at most 100.
    pub duplicates: Vec<Duplicate>,
    /// Documents that no document, table of contents or site configuration links to; at most 100.
    pub dead: Vec<String>,
    /// Almost empty documents; at most 100.
    pub empty: Vec<String>,
}

/// Two similar documents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Duplicate {
    /// One document.
    pub one: String,
    /// The other document.
    pub other: String,
    /// Percentage of the shorter document's text that also appears in the longer one.
    pub alike: f64,
}
