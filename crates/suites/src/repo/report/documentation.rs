//! The documents of a project and what they cover.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The documents and what they cover.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Documentation {
    /// What the README tells its reader; null where there is none.
    pub readme: Option<Readme>,
    /// Every document by what it is for; at most 300.
    pub documents: Vec<Document>,
    /// How many documents there are.
    pub document_count: u64,
    /// How many of each kind.
    pub kinds: Vec<KindCount>,
    /// Records of decisions.
    pub decisions: Vec<Decision>,
    /// What the changelog tells; null where there is none.
    pub changelog: Option<Changelog>,
    /// References made from the code: rustdoc, Sphinx autodoc, `TypeDoc`, Javadoc, `OpenAPI` …
    pub api_docs: Vec<ApiDocs>,
    /// Examples to run or to copy.
    pub examples: Examples,
    /// The generator that suits this project; null where it has one already.
    pub suggested_site: Option<SuggestedSite>,
}

/// What the README tells its reader.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Readme {
    /// Inside the analysed folder.
    pub path: String,
    /// Words in it.
    pub words: u64,
    /// Blocks of code in it.
    pub code_blocks: u64,
    /// Of 100, by how much each item costs a newcomer who misses it.
    pub score: u64,
    /// What a reader needs, item by item.
    pub items: Vec<ReadmeItem>,
}

/// One thing that a reader of a README needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadmeItem {
    /// `title`, `purpose`, `status`, `requirements`, `installation`, `usage`, `example`, `configuration`, `tests`,
    /// `documentation`, `help`, `contributing`, `licence`.
    pub item: String,
    /// Whether it is there.
    pub found: bool,
    /// Where it is, or what was looked for in vain.
    pub evidence: String,
    /// The line, where it is there.
    pub line: Option<u64>,
    /// What missing it costs a newcomer.
    pub severity: super::Severity,
}

/// One document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Document {
    /// Inside the analysed folder.
    pub path: String,
    /// Its first heading.
    pub title: Option<String>,
    /// What it is for.
    pub kind: DocumentKind,
    /// What tells so, in a few words.
    pub because: String,
    /// Words in it.
    pub words: u64,
}

/// What a document is for.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum DocumentKind {
    /// The first page.
    Readme,
    /// Learning by doing.
    Tutorial,
    /// Reaching a goal.
    HowTo,
    /// Looking things up.
    Reference,
    /// Understanding why.
    Explanation,
    /// Why something was decided.
    Decision,
    /// What changed.
    Changelog,
    /// How to take part: contributing, conduct, security, governance.
    Community,
    /// The licence and its kin.
    Legal,
    /// Nothing tells.
    Other,
}

/// How many documents of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KindCount {
    /// The kind.
    pub kind: DocumentKind,
    /// How many.
    pub count: u64,
}

/// The record of a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// Inside the analysed folder.
    pub path: String,
    /// Its first heading.
    pub title: String,
    /// `accepted`, `superseded` …, where it says so.
    pub status: Option<String>,
}

/// What the changelog tells.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Changelog {
    /// Inside the analysed folder.
    pub path: String,
    /// Releases that it tells of.
    pub releases: u64,
    /// The newest release in it.
    pub newest: Option<String>,
    /// Its date, where it has one.
    pub newest_date: Option<String>,
    /// Whether it has the version that the manifest names; null where none does.
    pub has_current_version: Option<bool>,
}

/// A reference made from the code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApiDocs {
    /// What makes it.
    pub tool: String,
    /// The file that tells so.
    pub source: String,
}

/// Examples to run or to copy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Examples {
    /// Files in folders of examples.
    pub files: u64,
    /// Those folders; at most ten.
    pub folders: Vec<String>,
    /// Blocks of code in documents.
    pub code_blocks: u64,
    /// Of them, those that don't say which language they are in.
    pub unlabelled: u64,
}

/// A generator of documentation sites that suits the project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SuggestedSite {
    /// Its name.
    pub name: String,
    /// Why this one.
    pub reason: String,
    /// The command that starts it.
    pub start: String,
}
