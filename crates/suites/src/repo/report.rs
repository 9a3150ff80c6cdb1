//! What `analyze_repository` answers, as programs read it.

use crate::files::Problem;
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
    /// Also source lines, manifests and the README.
    #[default]
    Standard,
    /// Also every text file: open tasks and broken links.
    Deep,
}

/// Everything known of a repository.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
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
    /// Manifests by path; at most 200.
    pub manifests: Vec<Manifest>,
    /// What a project usually has.
    pub presence: Presence,
    /// What the README tells its reader; from `standard` on.
    pub readme: Option<Readme>,
    /// What reading every text file showed; `deep` alone.
    pub contents: Option<ContentFacts>,
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
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
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
    /// The top level, folders first.
    pub tree: Vec<Branch>,
    /// Folders of installed packages, left out of every figure.
    pub skipped: Vec<String>,
}

/// One entry of the top level.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Branch {
    /// Its name, with `/` at the end of a folder's.
    pub name: String,
    /// Files in it; 1 for a file.
    pub files: u64,
    /// Bytes in it.
    pub bytes: u64,
}

/// One language.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Language {
    /// Its name.
    pub name: String,
    /// Files.
    pub files: u64,
    /// Bytes.
    pub bytes: u64,
    /// Per cent of the bytes of all languages.
    pub share: f64,
    /// Lines; from `standard` on.
    pub lines: Option<Lines>,
}

/// Lines by what is on them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Lines {
    /// With code or text.
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

    pub(crate) fn add(&mut self, other: Self) {
        self.code += other.code;
        self.comments += other.comments;
        self.blanks += other.blanks;
    }
}

/// One manifest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Manifest {
    /// Inside the analysed folder.
    pub path: String,
    /// Whose manifest it is.
    pub ecosystem: String,
    /// Name of the package.
    pub name: Option<String>,
    /// Version of the package.
    pub version: Option<String>,
    /// Licence, as the manifest has it.
    pub licence: Option<String>,
    /// What it asks for itself; empty where docent does not read this format.
    pub dependencies: Vec<Dependency>,
}

/// Something that a manifest asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Dependency {
    /// Name.
    pub name: String,
    /// Which versions, as the manifest has it.
    pub requirement: Option<String>,
    /// What it is needed for.
    pub purpose: Purpose,
}

/// What a dependency is needed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// Running.
    Runtime,
    /// Some feature.
    Optional,
    /// Whoever uses the package brings it.
    Peer,
    /// Building.
    Build,
    /// Testing and developing.
    Development,
    /// Offered to the members of a workspace.
    Workspace,
}

/// What a project usually has, by path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Presence {
    /// README at the top.
    pub readme: Option<String>,
    /// Licence at the top.
    pub licence: Option<String>,
    /// SPDX name, from the licence's text or a manifest.
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

/// What the README tells its reader.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Readme {
    /// Words in it.
    pub words: u64,
    /// Blocks of code in it.
    pub code_blocks: u64,
    /// What it covers: `installation`, `usage`, `tests`, `licence`, `contributing`.
    pub covers: Vec<String>,
    /// What it does not cover, of the same.
    pub lacks: Vec<String>,
}

/// What reading every text file showed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContentFacts {
    /// Text files read.
    pub text_files: u64,
    /// Binary files passed over.
    pub binary_files: u64,
    /// Lines of all text files.
    pub lines: Lines,
    /// Marks of open tasks: TODO, FIXME, HACK, XXX.
    pub open_tasks: u64,
    /// Files with the most of them, at most ten.
    pub open_task_files: Vec<Tasks>,
    /// Relative links looked at in Markdown files.
    pub links_checked: u64,
    /// How many lead nowhere.
    pub broken_link_count: u64,
    /// Those that lead nowhere; at most 200.
    pub broken_links: Vec<BrokenLink>,
}

/// Open tasks of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Tasks {
    /// Inside the analysed folder.
    pub path: String,
    /// How many.
    pub count: u64,
}

/// A relative link that leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BrokenLink {
    /// The document, inside the analysed folder.
    pub path: String,
    /// Line of the link.
    pub line: u64,
    /// As written.
    pub target: String,
}

/// How much a gap costs a newcomer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Trouble {
    /// Inside its root.
    pub path: String,
    /// What is wrong with it.
    pub reason: String,
}

impl Report {
    /// Lists something that could not be read, up to the bound.
    pub(crate) fn trouble(&mut self, problem: Problem) {
        self.problem_count += 1;
        if self.problems.len() < 100 {
            self.problems.push(Trouble { path: problem.path, reason: problem.reason });
        }
    }
}
