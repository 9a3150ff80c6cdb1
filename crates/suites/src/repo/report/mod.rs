//! The structured result of `analyze_repository`. Types only: other modules fill them in and render them.

mod deep;
mod documentation;
mod history;
mod packages;
mod project;

pub use deep::*;
pub use documentation::*;
pub use history::*;
pub use packages::*;
pub use project::*;

use crate::files::ReadFailure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much to read.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Depth {
    /// Names and sizes only; no file is read completely.
    Quick,
    /// Also lines, dependencies, commands, license and documents.
    #[default]
    Standard,
    /// Also coverage, links, drift, history and duplicates.
    Deep,
}

/// Everything known about a repository.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Name of the folder.
    pub name: String,
    /// The analyzed folder, relative to its root.
    pub path: String,
    /// How much was read.
    pub depth: Depth,
    /// Whether every folder was read; otherwise nothing can be reported as absent.
    pub complete: bool,
    /// Files and folders.
    pub structure: Structure,
    /// The programming language with the most bytes.
    pub primary_language: Option<String>,
    /// Largest first.
    pub languages: Vec<ReportLanguage>,
    /// Package ecosystems that have a manifest here.
    pub ecosystems: Vec<String>,
    /// Number of manifests.
    pub manifest_count: u64,
    /// Manifests by path, outermost first; at most 200.
    pub manifests: Vec<Manifest>,
    /// Standard files of a project.
    pub presence: Presence,
    /// Summary of the dependencies in manifests and lock files; from `standard` on.
    pub dependencies: Option<DependencySummary>,
    /// Project kind, and how to build, test and run it; from `standard` on.
    pub project: Option<Project>,
    /// The documents and what they cover; from `standard` on.
    pub documentation: Option<Documentation>,
    /// Documentation of public symbols; `deep` only.
    pub coverage: Option<Coverage>,
    /// Relative links and anchors; `deep` only.
    pub links: Option<Links>,
    /// Documents that no longer match the code; `deep` only.
    pub drift: Option<Drift>,
    /// Git history; `deep` only, and null if there is no git repository.
    pub history: Option<History>,
    /// Duplicate, unlinked and empty documents; `deep` only.
    pub redundancy: Option<Redundancy>,
    /// Open task comments; `deep` only.
    pub tasks: Option<Tasks>,
    /// Documentation gaps, most important for a newcomer first.
    pub gaps: Vec<Gap>,
    /// Next steps, in order.
    pub next_steps: Vec<String>,
    /// Parts that are missing because the call was stopped.
    pub missing: Vec<String>,
    /// Paths that could not be read; at most 100.
    pub problems: Vec<Trouble>,
    /// Number of paths that could not be read.
    pub problem_count: u64,
}

/// Files and folders, without ignored ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Structure {
    /// Regular files.
    pub files: u64,
    /// Folders.
    pub folders: u64,
    /// Symbolic links, not followed.
    pub links: u64,
    /// Bytes in all files.
    pub bytes: u64,
    /// Folders down to the third level and top-level files, by path; at most the 400 largest.
    pub tree: Vec<Branch>,
    /// Folders of installed packages; excluded from all figures.
    pub skipped: Vec<String>,
    /// Git submodules, by path. Their contents belong to other repositories.
    pub submodules: Vec<String>,
}

/// A folder, or a top-level file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Branch {
    /// Relative to the analyzed folder; a folder ends with `/`.
    pub path: String,
    /// Files below it; 1 for a file.
    pub files: u64,
    /// Bytes below it.
    pub bytes: u64,
}

/// One language.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReportLanguage {
    /// Its name.
    pub name: String,
    /// What the language is used for.
    pub nature: Nature,
    /// Files.
    pub files: u64,
    /// Bytes.
    pub bytes: u64,
    /// Percentage of the bytes of all languages.
    pub share: f64,
    /// Lines in this language; from `standard` on.
    pub lines: Option<Lines>,
    /// Lines of other languages inside its files: Markdown in Rust doc comments, scripts in HTML; from `standard` on.
    pub embedded: Option<Lines>,
}

/// What a language is used for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Nature {
    /// Code to run.
    #[default]
    Program,
    /// Markup to display.
    Markup,
    /// Data to load.
    Data,
    /// Prose to read.
    Prose,
}

/// Line counts by content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lines {
    /// Lines with code.
    pub code: u64,
    /// Lines with only a comment.
    pub comments: u64,
    /// Blank lines.
    pub blanks: u64,
}

impl Lines {
    /// Total number of lines.
    pub fn total(self) -> u64 {
        self.code + self.comments + self.blanks
    }

    /// Adds the lines of another file.
    pub fn add(&mut self, other: Self) {
        self.code += other.code;
        self.comments += other.comments;
        self.blanks += other.blanks;
    }
}

/// Standard files of a project, by path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Presence {
    /// Top-level README.
    pub readme: Option<String>,
    /// Top-level license file.
    pub licence: Option<String>,
    /// SPDX expression, from the license text or a manifest; from `standard` on.
    pub licence_id: Option<String>,
    /// Top-level changelog.
    pub changelog: Option<String>,
    /// Contributing guide.
    pub contributing: Option<String>,
    /// Number of test files, by name or folder.
    pub test_files: u64,
    /// Number of source files with inline tests; from `standard` on, for languages that support them.
    pub inline_test_files: u64,
    /// Folders that contain tests; at most five.
    pub test_places: Vec<String>,
    /// Continuous integration configuration files.
    pub ci: Vec<String>,
    /// Documentation folders.
    pub docs_folders: Vec<String>,
    /// Number of documents in Markdown and similar formats.
    pub document_files: u64,
    /// Documentation site generator.
    pub docs_site: Option<String>,
}

/// Open task comments: TODO, FIXME, HACK, XXX.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tasks {
    /// Number of open tasks.
    pub count: u64,
    /// Files with the most open tasks; at most ten.
    pub files: Vec<TaskFile>,
}

/// Open tasks of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskFile {
    /// Path relative to the analyzed folder.
    pub path: String,
    /// Number of open tasks.
    pub count: u64,
}

/// How severe a gap or finding is for a newcomer.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// They cannot start, or are not allowed to.
    High,
    /// They lose hours.
    Medium,
    /// They have to ask someone.
    Low,
}

/// A documentation gap.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Gap {
    /// What is missing.
    pub gap: String,
    /// The impact.
    pub cost: String,
    /// Severity.
    pub severity: Severity,
    /// What to do about it.
    pub next_step: String,
}

/// A path that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Trouble {
    /// Path relative to its root.
    pub path: String,
    /// What is wrong.
    pub reason: String,
}

impl Report {
    /// Records a path that could not be read, up to the limit.
    pub(crate) fn trouble(&mut self, problem: ReadFailure) {
        self.problem_count += 1;
        if self.problems.len() < 100 {
            self.problems.push(Trouble { path: problem.path, reason: problem.reason });
        }
    }
}
