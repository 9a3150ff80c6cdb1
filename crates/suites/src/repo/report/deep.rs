//! What reading every file shows: coverage, links, drift, redundancy.

use super::Severity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Documentation of public symbols.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Coverage {
    /// Public symbols.
    pub public: u64,
    /// Of them, those with a doc comment.
    pub documented: u64,
    /// Per cent.
    pub percent: f64,
    /// By language, most symbols first.
    pub languages: Vec<Covered>,
    /// By folder, down to the third level, fewest per cent first; at most 200.
    pub folders: Vec<Covered>,
    /// Public symbols without a doc comment, those of most-used files first; at most 500.
    pub undocumented: Vec<Undocumented>,
    /// Languages here whose syntax docent does not read.
    pub not_read: Vec<String>,
}

/// How much of a part is documented.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Covered {
    /// Language or folder.
    pub name: String,
    /// Public symbols.
    pub public: u64,
    /// Of them, those with a doc comment.
    pub documented: u64,
    /// Per cent.
    pub percent: f64,
}

/// A public symbol without a doc comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Undocumented {
    /// Its qualified name.
    pub symbol: String,
    /// What it is.
    pub kind: String,
    /// Inside the analysed folder.
    pub path: String,
    /// Its line.
    pub line: u64,
}

/// Relative links, anchors and pictures in Markdown and HTML.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Links {
    /// Links that were looked at.
    pub checked: u64,
    /// Links to other hosts, which are not asked.
    pub external: u64,
    /// How many lead nowhere.
    pub broken_count: u64,
    /// Those that lead nowhere; at most 500.
    pub broken: Vec<BrokenLink>,
}

/// A link that leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BrokenLink {
    /// The document, inside the analysed folder.
    pub path: String,
    /// Line of the link.
    pub line: u64,
    /// As written.
    pub target: String,
    /// What is wrong.
    pub problem: LinkProblem,
    /// A target that exists and may be meant.
    pub suggestion: Option<String>,
}

/// What is wrong with a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LinkProblem {
    /// No such file.
    MissingFile,
    /// The file has no such heading or anchor.
    MissingAnchor,
    /// No such picture.
    MissingImage,
    /// The name is there in other letters: it breaks where case counts.
    WrongCase,
    /// It leads out of the repository.
    Outside,
}

/// Documents that the code has left behind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Drift {
    /// Names in documents that were looked up.
    pub checked: u64,
    /// How many are no longer there.
    pub stale_count: u64,
    /// Names of things that are no longer there, surest first; at most 300.
    pub stale: Vec<Stale>,
    /// Documents untouched since the code they describe changed, most changes first; at most 100.
    pub outdated: Vec<Outdated>,
}

/// A document names something that is no longer there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stale {
    /// The document, inside the analysed folder.
    pub path: String,
    /// The line.
    pub line: u64,
    /// What it names.
    pub mention: String,
    /// What that would be.
    pub kind: MentionKind,
    /// Why docent thinks so.
    pub evidence: String,
    /// How sure that is.
    pub severity: Severity,
    /// What may be meant today.
    pub suggestion: Option<String>,
}

/// What a document names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MentionKind {
    /// A function, a type, a module.
    Symbol,
    /// A file or a folder.
    File,
    /// An option of the project's own program.
    Flag,
    /// A script, a target, a subcommand.
    Command,
}

/// A document untouched since the code it describes changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Outdated {
    /// The document, inside the analysed folder.
    pub path: String,
    /// Date of its last change.
    pub last_change: String,
    /// Files that it names and that changed since, most changed first; at most ten.
    pub changed: Vec<String>,
    /// Commits that changed them since.
    pub changes: u64,
}

/// Documents that repeat each other, or that nothing leads to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Redundancy {
    /// Pairs of documents with much of the same text, most alike first; at most 100.
    pub duplicates: Vec<Duplicate>,
    /// Documents that no document, table of contents or site configuration leads to; at most 100.
    pub dead: Vec<String>,
    /// Documents with next to no text; at most 100.
    pub empty: Vec<String>,
}

/// Two documents with much of the same text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Duplicate {
    /// One of them.
    pub one: String,
    /// The other.
    pub other: String,
    /// Per cent of the shorter one that stands in the longer one.
    pub alike: f64,
}
