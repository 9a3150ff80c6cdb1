//! Project kind, and how to work with the project.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Project kind, and how to build, test and run it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Project {
    /// Kind.
    pub kind: ProjectKind,
    /// Short reason for the kind.
    pub because: String,
    /// One-sentence description, from the manifest or README.
    pub summary: Option<String>,
    /// Frameworks in use, from dependencies and files; at most ten.
    pub frameworks: Vec<String>,
    /// Entry points for running or importing it; at most 40.
    pub entry_points: Vec<EntryPoint>,
    /// Commands, the best one for each purpose first; at most 60.
    pub commands: Vec<ProjectCommand>,
    /// Required versions of languages and tools, as `Rust 1.95`, `Node >=20`; at most 20.
    pub toolchain: Vec<Tool>,
    /// Environment variables named in example files, without values; at most 50.
    pub environment: Vec<String>,
}

/// Kind of project.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProjectKind {
    /// Packages developed together.
    Monorepo,
    /// Code for other code to use.
    Library,
    /// A command-line program.
    CommandLine,
    /// A network service.
    Service,
    /// A web application.
    WebApplication,
    /// A desktop application.
    DesktopApplication,
    /// A mobile application.
    MobileApplication,
    /// An extension of another program.
    Plugin,
    /// Documents only.
    Documentation,
    /// Data or configuration only.
    Data,
    /// Infrastructure as code.
    Infrastructure,
    /// No clear signal.
    #[default]
    Unknown,
}

/// An entry point for running or importing a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EntryPoint {
    /// Name of the binary, script or module.
    pub name: String,
    /// Kind.
    pub kind: EntryKind,
    /// File where it starts, if known.
    pub path: Option<String>,
    /// File that declares it.
    pub declared_in: String,
}

/// Kind of entry point.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    /// A binary run by name.
    Binary,
    /// A library to import.
    Library,
    /// A script run by an interpreter.
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
    /// Purpose.
    pub purpose: CommandPurpose,
    /// Command as typed.
    pub command: String,
    /// Folder to run it in; `.` is the analyzed folder.
    pub folder: String,
    /// Source file, with a line if known: `Makefile:12`.
    pub source: String,
}

/// Purpose of a command, in the order a newcomer needs them.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum CommandPurpose {
    /// Installs dependencies.
    Install,
    /// Builds the project.
    Build,
    /// Runs the tests.
    Test,
    /// Starts the project.
    Run,
    /// Checks style.
    Lint,
    /// Formats the code.
    Format,
    /// Builds the documentation.
    Docs,
    /// Runs benchmarks.
    Bench,
    /// Releases or deploys it.
    Release,
    /// Anything else.
    Other,
}

/// A required language or tool version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Version requirement as written.
    pub requirement: String,
    /// Source file.
    pub source: String,
}
