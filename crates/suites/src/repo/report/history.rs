//! What git remembers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What git remembers of the analysed folder.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct History {
    /// Commits of the analysed folder that were looked at, merges and bots included. Below the top of the repository, those
    /// that changed something in it.
    pub commits: u64,
    /// Whether older commits exist and were not looked at: a bound was reached, or the clone is shallow.
    pub truncated: bool,
    /// Whether the clone is shallow.
    pub shallow: bool,
    /// Branch that is checked out; null when none is.
    pub branch: Option<String>,
    /// Date of the oldest commit looked at, as `2026-11-15`.
    pub since: Option<String>,
    /// Date of the newest commit.
    pub until: Option<String>,
    /// Commits by month, the oldest first, months without any included; the last 120 at most.
    pub months: Vec<Month>,
    /// Most changed files that exist today, most changes first; at most 50.
    pub churn: Vec<Churn>,
    /// Files where changes and complexity meet, worst first; at most 50. Test files are left out.
    pub hot_spots: Vec<HotSpot>,
    /// Who wrote it, most commits first; at most 50. Names alone: addresses are personal.
    pub owners: Vec<Owner>,
    /// How many people are among the authors; bots are none.
    pub author_count: u64,
    /// The fewest authors who together made more than half of the changes to files of today.
    pub bus_factor: u64,
    /// Per folder of the top level: who made most changes, and its bus factor; at most 50.
    pub folders: Vec<FolderOwners>,
    /// Releases, by tag.
    pub releases: Releases,
    /// How old the files of today are, by their last change.
    pub ages: Ages,
}

/// One month.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Month {
    /// As `2026-11`.
    pub month: String,
    /// Commits in it.
    pub commits: u64,
}

/// How often a file changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Churn {
    /// Inside the analysed folder.
    pub path: String,
    /// Commits that changed it.
    pub changes: u64,
    /// People who changed it; bots are none.
    pub authors: u64,
    /// Date of the last change.
    pub last_change: String,
}

/// A file where changes and complexity meet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HotSpot {
    /// Inside the analysed folder.
    pub path: String,
    /// Commits that changed it.
    pub changes: u64,
    /// Paths through it: cyclomatic complexity of the whole file, or its nesting where the language is not parsed.
    pub complexity: u64,
    /// Lines of code.
    pub lines: u64,
    /// Changes times complexity, of 100 for the worst one.
    pub score: f64,
}

/// An author.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Owner {
    /// By the mailmap, where there is one.
    pub name: String,
    /// Commits.
    pub commits: u64,
    /// Per cent of the changes that people made to files of today.
    pub share: f64,
    /// Date of the last commit.
    pub last: String,
}

/// Who knows a folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FolderOwners {
    /// The folder, with `/` at its end; `./` for the files of the top level.
    pub path: String,
    /// Changes that people made to its files of today.
    pub changes: u64,
    /// Who made most of them.
    pub main_author: String,
    /// Per cent of them.
    pub share: f64,
    /// The fewest authors who together made more than half of them.
    pub bus_factor: u64,
}

/// Releases, by tag.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Releases {
    /// Tags that look like versions.
    pub count: u64,
    /// The newest ones first; at most 20.
    pub newest: Vec<Release>,
    /// Days between releases, the middle one of all.
    pub median_days: Option<u64>,
    /// Commits since the newest release that HEAD leads to; null where none of the commits looked at is one.
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

/// How many files last changed when.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ages {
    /// Within 30 days before the newest commit.
    pub month: u64,
    /// Within a year before it.
    pub year: u64,
    /// Within three years before it.
    pub three_years: u64,
    /// Earlier, or before the oldest commit looked at.
    pub older: u64,
    /// Days since the last change, the middle one of all files.
    pub median_days: Option<u64>,
}
