//! Git history types.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Git history of the analyzed folder.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct History {
    /// Number of commits read, including merges and bots. Below the repository root, only commits that changed
    /// something in the folder.
    pub commits: u64,
    /// Whether older commits exist that were not read, because of a limit or a shallow clone.
    pub truncated: bool,
    /// Whether the clone is shallow.
    pub shallow: bool,
    /// Checked-out branch; null if none.
    pub branch: Option<String>,
    /// Date of the oldest commit read, as `2026-11-15`.
    pub since: Option<String>,
    /// Date of the newest commit.
    pub until: Option<String>,
    /// Commits by month, oldest first, including months without commits; at most the last 120.
    pub months: Vec<Month>,
    /// Most changed files that still exist, most changes first; at most 50.
    pub churn: Vec<Churn>,
    /// Files with both many changes and high complexity, worst first; at most 50. Test files are excluded.
    pub hot_spots: Vec<HotSpot>,
    /// Authors, most commits first; at most 50. Names only: email addresses are personal data.
    pub owners: Vec<Owner>,
    /// Number of human authors, without bots.
    pub author_count: u64,
    /// Smallest number of authors who together made more than half of the changes to current files.
    pub bus_factor: u64,
    /// Main author and bus factor of each top-level folder; at most 50.
    pub folders: Vec<FolderOwners>,
    /// Releases, by tag.
    pub releases: Releases,
    /// Age of current files, by their last change.
    pub ages: Ages,
}

/// Commits of one month.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Month {
    /// As `2026-11`.
    pub month: String,
    /// Number of commits.
    pub commits: u64,
}

/// How often a file changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Churn {
    /// Path relative to the analyzed folder.
    pub path: String,
    /// Number of commits that changed it.
    pub changes: u64,
    /// Number of people who changed it, without bots.
    pub authors: u64,
    /// Date of the last change.
    pub last_change: String,
}

/// A file with both many changes and high complexity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HotSpot {
    /// Path relative to the analyzed folder.
    pub path: String,
    /// Number of commits that changed it.
    pub changes: u64,
    /// Cyclomatic complexity of the whole file, or its nesting if the language is not parsed.
    pub complexity: u64,
    /// Lines of code.
    pub lines: u64,
    /// Changes times complexity, scaled to 100 for the worst file.
    pub score: f64,
}

/// An author.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Owner {
    /// Name, by the mailmap if there is one.
    pub name: String,
    /// Number of commits.
    pub commits: u64,
    /// Percentage of the changes that people made to current files.
    pub share: f64,
    /// Date of the last commit.
    pub last: String,
}

/// Authors of a folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FolderOwners {
    /// The folder, ending with `/`; `./` for top-level files.
    pub path: String,
    /// Number of changes that people made to its current files.
    pub changes: u64,
    /// Author of most of those changes.
    pub main_author: String,
    /// Percentage of those changes by the main author.
    pub share: f64,
    /// Smallest number of authors who together made more than half of them.
    pub bus_factor: u64,
}

/// Releases, by tag.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Releases {
    /// Number of tags that look like versions.
    pub count: u64,
    /// Newest first; at most 20.
    pub newest: Vec<Release>,
    /// Median number of days between releases.
    pub median_days: Option<u64>,
    /// Number of commits since the newest release reachable from HEAD; null if none was read.
    pub commits_since: Option<u64>,
}

/// One release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Release {
    /// The tag.
    pub tag: String,
    /// Its date.
    pub date: String,
}

/// Number of files by time of last change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ages {
    /// Within 30 days before the newest commit.
    pub month: u64,
    /// Within a year before it.
    pub year: u64,
    /// Within three years before it.
    pub three_years: u64,
    /// Earlier, or before the oldest commit read.
    pub older: u64,
    /// Median number of days since a file's last change.
    pub median_days: Option<u64>,
}
