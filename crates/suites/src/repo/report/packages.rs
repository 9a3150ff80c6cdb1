//! Manifests, lock files and their dependencies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One manifest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// Path relative to the analyzed folder.
    pub path: String,
    /// Package ecosystem.
    pub ecosystem: String,
    /// Package manager, if a lock file or a field names it: `pnpm`, `poetry`, `uv` …
    pub manager: Option<String>,
    /// Package name.
    pub name: Option<String>,
    /// Package version, including an inherited one.
    pub version: Option<String>,
    /// Package description.
    pub description: Option<String>,
    /// License, as written in the manifest.
    pub licence: Option<String>,
    /// Manifest paths of the workspace members it declares.
    pub members: Vec<String>,
    /// Manifest path of the workspace that it belongs to.
    pub workspace: Option<String>,
    /// Path of the lock file that locks its versions.
    pub lock_file: Option<String>,
    /// Direct dependencies, by purpose and then as written; at most 500.
    pub dependencies: Vec<Dependency>,
}

/// A dependency in a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dependency {
    /// Name.
    pub name: String,
    /// Version requirement as written, including an inherited one; a path or URL if there is no version.
    pub requirement: Option<String>,
    /// The locked version.
    pub locked: Option<String>,
    /// Purpose of the dependency.
    pub purpose: Purpose,
}

/// Purpose of a dependency.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// Needed at run time.
    Runtime,
    /// Needed for an optional feature.
    Optional,
    /// Provided by the package's user.
    Peer,
    /// Needed to build.
    Build,
    /// Needed for tests and development.
    Development,
    /// Declared for workspace members to inherit.
    Workspace,
}

/// Summary of the dependencies in all manifests and lock files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DependencySummary {
    /// Number of distinct external packages, without development dependencies.
    pub direct: u64,
    /// Number of distinct external packages used for development only.
    pub development: u64,
    /// Number of distinct packages in the lock files, including indirect ones.
    pub locked: u64,
    /// Dependencies between packages of this repository, as pairs of manifest paths; at most 500.
    pub internal: Vec<InternalEdge>,
    /// The most used dependencies; at most 20.
    pub most_used: Vec<Used>,
    /// Lock files that were read.
    pub lock_files: Vec<LockFile>,
}

/// A dependency between two packages of this repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct InternalEdge {
    /// Manifest path of the dependent package.
    pub from: String,
    /// Manifest path of the dependency.
    pub to: String,
}

/// A package and the number of manifests that depend on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Used {
    /// Package name.
    pub name: String,
    /// Package ecosystem.
    pub ecosystem: String,
    /// Number of manifests.
    pub by: u64,
}

/// A lock file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LockFile {
    /// Path relative to the analyzed folder.
    pub path: String,
    /// Package ecosystem.
    pub ecosystem: String,
    /// Number of packages it locks.
    pub packages: u64,
}
