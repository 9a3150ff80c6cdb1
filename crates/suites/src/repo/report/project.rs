//! What kind of project it is, and how to work with it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What kind of project it is, and how to build, test and run it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Project {
    /// What it is.
    pub kind: ProjectKind,
    /// What tells so, in a few words.
    pub because: String,
    /// One sentence on what it does, in the project's own words: from its manifest or its README.
    pub summary: Option<String>,
    /// Frameworks that it is built on, by its dependencies and files; at most ten.
    pub frameworks: Vec<String>,
    /// Where a run or an import begins; at most 40.
    pub entry_points: Vec<EntryPoint>,
    /// How to work with it, the best known command of each purpose first; at most 60.
    pub commands: Vec<ProjectCommand>,
    /// Versions of languages and tools that it asks for, as `Rust 1.95`, `Node >=20`; at most 20.
    pub toolchain: Vec<Tool>,
    /// Environment variables that its example files name, without their values; at most 50.
    pub environment: Vec<String>,
}

/// What a project is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProjectKind {
    /// Packages that are developed together.
    Monorepo,
    /// Code that other code uses.
    Library,
    /// A program for the command line.
    CommandLine,
    /// A program that serves others over a network.
    Service,
    /// A program with a page in a browser.
    WebApplication,
    /// A program with a window.
    DesktopApplication,
    /// A program for phones.
    MobileApplication,
    /// An extension of another program.
    Plugin,
    /// Nothing but documents.
    Documentation,
    /// Nothing but data or configuration.
    Data,
    /// Infrastructure described as code.
    Infrastructure,
    /// Nothing tells.
    #[default]
    Unknown,
}

/// Where a run or an import begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EntryPoint {
    /// What it is called: a binary, a script, a module.
    pub name: String,
    /// What it is.
    pub kind: EntryKind,
    /// The file in which it begins, where it is known.
    pub path: Option<String>,
    /// The file that declares it.
    pub declared_in: String,
}

/// What an entry point is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    /// Run by its name.
    Binary,
    /// Imported.
    Library,
    /// Run by an interpreter.
    Script,
    /// An example.
    Example,
    /// A container.
    Container,
}

/// A command for working with the project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectCommand {
    /// What it is for.
    pub purpose: CommandPurpose,
    /// As it is typed.
    pub command: String,
    /// The folder to type it in; `.` is the analysed one.
    pub folder: String,
    /// The file that says so, with its line where there is one: `Makefile:12`.
    pub source: String,
}

/// What a command is for, in the order in which a newcomer needs them.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum CommandPurpose {
    /// Fetches what it needs.
    Install,
    /// Builds it.
    Build,
    /// Runs its tests.
    Test,
    /// Starts it.
    Run,
    /// Checks style.
    Lint,
    /// Rewrites style.
    Format,
    /// Builds its documents.
    Docs,
    /// Measures its speed.
    Bench,
    /// Puts it where it is used.
    Release,
    /// Anything else.
    Other,
}

/// A language or a tool of a certain version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Which versions, as written.
    pub requirement: String,
    /// The file that says so.
    pub source: String,
}
