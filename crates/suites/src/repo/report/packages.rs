//! Manifests, lock files, and what they ask for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One manifest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// Inside the analysed folder.
    pub path: String,
    /// Package ecosystem.
    pub ecosystem: String,
    /// Package manager, where a lock file or a field tells: `pnpm`, `poetry`, `uv` …
    pub manager: Option<String>,
    /// Name of the package.
    pub name: Option<String>,
    /// Version of the package, inherited ones included.
    pub version: Option<String>,
    /// What the package says of itself.
    pub description: Option<String>,
    /// Licence, as the manifest has it.
    pub licence: Option<String>,
    /// Members of the workspace that it declares, by path of their manifests.
    pub members: Vec<String>,
    /// The manifest of the workspace that it is a member of, by path.
    pub workspace: Option<String>,
    /// The lock file that fixes its versions, by path.
    pub lock_file: Option<String>,
    /// What it asks for itself, by purpose and then as written; at most 500.
    pub dependencies: Vec<Dependency>,
}

/// Something that a manifest asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dependency {
    /// Name.
    pub name: String,
    /// Which versions, as the manifest has it, inherited ones included; a path or an address where there is no version.
    pub requirement: Option<String>,
    /// The version that a lock file fixes.
    pub locked: Option<String>,
    /// What it is needed for.
    pub purpose: Purpose,
}

/// What a dependency is needed for.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
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

/// What all manifests and lock files ask for together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DependencySummary {
    /// Different packages from outside that manifests ask for, but for development.
    pub direct: u64,
    /// Different packages from outside that they ask for in development alone.
    pub development: u64,
    /// Different packages with a version in the lock files, indirect ones included.
    pub locked: u64,
    /// Packages of this repository that ask for each other: pairs of manifest paths, the one that asks first; at most 500.
    pub internal: Vec<InternalEdge>,
    /// The most asked-for packages, at most 20.
    pub most_used: Vec<Used>,
    /// The lock files that were read.
    pub lock_files: Vec<LockFile>,
}

/// One package of this repository asks for another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct InternalEdge {
    /// The manifest that asks, by path.
    pub from: String,
    /// The manifest of what it asks for, by path.
    pub to: String,
}

/// A package and how many manifests ask for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Used {
    /// Its name.
    pub name: String,
    /// Its ecosystem.
    pub ecosystem: String,
    /// How many manifests.
    pub by: u64,
}

/// A lock file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LockFile {
    /// Inside the analysed folder.
    pub path: String,
    /// Package ecosystem.
    pub ecosystem: String,
    /// Packages that it fixes.
    pub packages: u64,
}
