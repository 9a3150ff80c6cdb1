//! What `analyze_repository` answers, as programs read it. Types only: other modules fill them in and tell them.

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
    /// Names and sizes; no file is read whole.
    Quick,
    /// Also lines, dependencies, commands, licence and the documents that are there.
    #[default]
    Standard,
    /// Also coverage, links, drift, history and duplicates.
    Deep,
}

/// Everything known of a repository.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// What the folder is called.
    pub name: String,
    /// The folder that was analysed, inside its root.
    pub path: String,
    /// How much was read.
    pub depth: Depth,
    /// Whether every folder was seen; until then nothing can be called absent.
    pub complete: bool,
    /// Files and folders.
    pub structure: Structure,
    /// The programming language with the most bytes.
    pub primary_language: Option<String>,
    /// Largest first.
    pub languages: Vec<Language>,
    /// Package ecosystems with a manifest here.
    pub ecosystems: Vec<String>,
    /// How many manifests there are.
    pub manifest_count: u64,
    /// Manifests by path, outermost first; at most 200.
    pub manifests: Vec<Manifest>,
    /// What a project usually has.
    pub presence: Presence,
    /// What the manifests and lock files ask for, summed up; from `standard` on.
    pub dependencies: Option<DependencySummary>,
    /// What kind of project it is, and how to build, test and run it; from `standard` on.
    pub project: Option<Project>,
    /// The documents and what they cover; from `standard` on.
    pub documentation: Option<Documentation>,
    /// Documentation of public symbols; `deep` alone.
    pub coverage: Option<Coverage>,
    /// Relative links and anchors; `deep` alone.
    pub links: Option<Links>,
    /// Documents that the code has left behind; `deep` alone.
    pub drift: Option<Drift>,
    /// What git remembers; `deep` alone, and null where there is no git.
    pub history: Option<History>,
    /// Documents that repeat each other, or that nothing leads to; `deep` alone.
    pub redundancy: Option<Redundancy>,
    /// Marks of open tasks; `deep` alone.
    pub tasks: Option<Tasks>,
    /// What the documentation lacks, costliest for a newcomer first.
    pub gaps: Vec<Gap>,
    /// What to do, in order.
    pub next_steps: Vec<String>,
    /// Parts that this answer lacks because the call was stopped.
    pub missing: Vec<String>,
    /// What could not be read; at most 100.
    pub problems: Vec<Trouble>,
    /// How many things could not be read.
    pub problem_count: u64,
}

/// Files and folders, without what the project ignores.
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
    /// Folders down to the third level and the files of the top one, by path; at most 400, the largest ones.
    pub tree: Vec<Branch>,
    /// Folders of installed packages, left out of every figure.
    pub skipped: Vec<String>,
    /// Git submodules, by path. Their contents belong to other repositories.
    pub submodules: Vec<String>,
}

/// One folder, or one file of the top level.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Branch {
    /// Inside the analysed folder; a folder's ends with `/`.
    pub path: String,
    /// Files below it; 1 for a file.
    pub files: u64,
    /// Bytes below it.
    pub bytes: u64,
}

/// One language.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Language {
    /// Its name.
    pub name: String,
    /// What it is written for.
    pub nature: Nature,
    /// Files.
    pub files: u64,
    /// Bytes.
    pub bytes: u64,
    /// Per cent of the bytes of all languages.
    pub share: f64,
    /// Lines in this very language; from `standard` on.
    pub lines: Option<Lines>,
    /// Lines of other languages inside its files: Markdown in doc comments of Rust, scripts in HTML; from `standard` on.
    pub embedded: Option<Lines>,
}

/// What a language is written for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Nature {
    /// To be run.
    #[default]
    Program,
    /// To be shown.
    Markup,
    /// To be loaded.
    Data,
    /// To be read.
    Prose,
}

/// Lines by what is on them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lines {
    /// With code.
    pub code: u64,
    /// With nothing but a comment.
    pub comments: u64,
    /// With nothing.
    pub blanks: u64,
}

impl Lines {
    /// All of them.
    pub fn total(self) -> u64 {
        self.code + self.comments + self.blanks
    }

    /// Adds those of another file.
    pub fn add(&mut self, other: Self) {
        self.code += other.code;
        self.comments += other.comments;
        self.blanks += other.blanks;
    }
}

/// What a project usually has, by path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Presence {
    /// README at the top.
    pub readme: Option<String>,
    /// Licence at the top.
    pub licence: Option<String>,
    /// SPDX expression, from the licence's text or a manifest; from `standard` on.
    pub licence_id: Option<String>,
    /// Changelog at the top.
    pub changelog: Option<String>,
    /// Contributor's guide.
    pub contributing: Option<String>,
    /// Files of tests, by name or by their folder.
    pub test_files: u64,
    /// Source files that hold tests of their own; from `standard` on, for languages that do so.
    pub inline_test_files: u64,
    /// Where the tests are, at most five.
    pub test_places: Vec<String>,
    /// Files that configure continuous integration.
    pub ci: Vec<String>,
    /// Folders of documentation.
    pub docs_folders: Vec<String>,
    /// Documents in Markdown and its kin.
    pub document_files: u64,
    /// Generator of a documentation site.
    pub docs_site: Option<String>,
}

/// Marks of open tasks: TODO, FIXME, HACK, XXX.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tasks {
    /// How many.
    pub count: u64,
    /// Files with the most of them, at most ten.
    pub files: Vec<TaskFile>,
}

/// Open tasks of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskFile {
    /// Inside the analysed folder.
    pub path: String,
    /// How many.
    pub count: u64,
}

/// How much a gap or a finding costs a newcomer.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// They can't begin, or may not.
    High,
    /// They lose hours.
    Medium,
    /// They ask somebody.
    Low,
}

/// Something that the documentation lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Gap {
    /// What is not there.
    pub gap: String,
    /// What that costs.
    pub cost: String,
    /// How much.
    pub severity: Severity,
    /// What to do about it.
    pub next_step: String,
}

/// Something that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Trouble {
    /// Inside its root.
    pub path: String,
    /// What is wrong with it.
    pub reason: String,
}

impl Report {
    /// Lists something that could not be read, up to the bound.
    pub(crate) fn trouble(&mut self, problem: ReadFailure) {
        self.problem_count += 1;
        if self.problems.len() < 100 {
            self.problems.push(Trouble { path: problem.path, reason: problem.reason });
        }
    }
}
