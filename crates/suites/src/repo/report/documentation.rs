//! The documents of a project and what they cover.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The documents and what they cover.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Documentation {
    /// README contents; null if there is no README.
    pub readme: Option<Readme>,
    /// Documents by purpose; at most 300.
    pub documents: Vec<Document>,
    /// Number of documents.
    pub document_count: u64,
    /// Number of documents of each kind.
    pub kinds: Vec<KindCount>,
    /// Decision records.
    pub decisions: Vec<Decision>,
    /// Changelog contents; null if there is no changelog.
    pub changelog: Option<Changelog>,
    /// API references generated from the code: rustdoc, Sphinx autodoc, `TypeDoc`, Javadoc, `OpenAPI` …
    pub api_docs: Vec<ApiDocs>,
    /// Examples to run or copy.
    pub examples: Examples,
    /// A suitable site generator; null if the project already has one.
    pub suggested_site: Option<SuggestedSite>,
}

/// README contents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Readme {
    /// Path relative to the analyzed folder.
    pub path: String,
    /// Number of words.
    pub words: u64,
    /// Number of code blocks.
    pub code_blocks: u64,
    /// Score out of 100, weighted by how much a newcomer needs each item.
    pub score: u64,
    /// Items that a reader needs.
    pub items: Vec<ReadmeItem>,
}

/// An item that a README reader needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadmeItem {
    /// `title`, `purpose`, `status`, `requirements`, `installation`, `usage`, `example`, `configuration`, `tests`,
    /// `documentation`, `help`, `contributing`, `licence`.
    pub item: String,
    /// Whether it was found.
    pub found: bool,
    /// Where it is, or what was searched for.
    pub evidence: String,
    /// Line of the item, if found.
    pub line: Option<u64>,
    /// Severity for a newcomer if it is missing.
    pub severity: super::Severity,
}

/// One document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Document {
    /// Path relative to the analyzed folder.
    pub path: String,
    /// Its first heading.
    pub title: Option<String>,
    /// Purpose of the document.
    pub kind: DocumentKind,
    /// Short reason for the classification.
    pub because: String,
    /// Number of words.
    pub words: u64,
}

/// Purpose of a document.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum DocumentKind {
    /// First page.
    Readme,
    /// Teaches by doing.
    Tutorial,
    /// Explains how to reach a goal.
    HowTo,
    /// Lists facts to look up.
    Reference,
    /// Explains why.
    Explanation,
    /// Records a decision.
    Decision,
    /// Lists changes.
    Changelog,
    /// How to contribute: contributing guide, conduct, security, governance.
    Community,
    /// License and related texts.
    Legal,
    /// No clear signal.
    Other,
}

/// Number of documents of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KindCount {
    /// The kind.
    pub kind: DocumentKind,
    /// Number of documents.
    pub count: u64,
}

/// A decision record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// Path relative to the analyzed folder.
    pub path: String,
    /// Its first heading.
    pub title: String,
    /// `accepted`, `superseded` …, if stated.
    pub status: Option<String>,
}

/// Changelog contents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Changelog {
    /// Path relative to the analyzed folder.
    pub path: String,
    /// Number of releases in it.
    pub releases: u64,
    /// The newest release in it.
    pub newest: Option<String>,
    /// Its date, if given.
    pub newest_date: Option<String>,
    /// Whether it has an entry for the manifest's version; null if no manifest has one.
    pub has_current_version: Option<bool>,
}

/// An API reference generated from the code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApiDocs {
    /// Generator.
    pub tool: String,
    /// File that configures it.
    pub source: String,
}

/// Examples to run or copy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Examples {
    /// Number of files in example folders.
    pub files: u64,
    /// Example folders; at most ten.
    pub folders: Vec<String>,
    /// Number of code blocks in documents.
    pub code_blocks: u64,
    /// Number of those code blocks without a language label.
    pub unlabelled: u64,
}

/// A suitable documentation site generator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SuggestedSite {
    /// Its name.
    pub name: String,
    /// Reason for the suggestion.
    pub reason: String,
    /// Command to set it up.
    pub start: String,
}
