//! Paths: the repository, its target directory, and the folders where xtask installs things.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::Command,
};

/// The repository according to cargo.
#[derive(Debug, Clone)]
pub(crate) struct XtaskWorkspace {
    /// The folder of the root Cargo.toml.
    pub(crate) root: PathBuf,
    /// Cargo's target directory, which the environment or the configuration can set.
    pub(crate) target: PathBuf,
    /// The output of `cargo metadata` without dependencies.
    pub(crate) metadata: Value,
}

impl XtaskWorkspace {
    /// Finds the workspace of the current folder with cargo.
    pub(crate) fn find() -> Result<Self> {
        let output = Command::new(cargo())
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .output()
            .context("running `cargo metadata`")?;
        ensure!(
            output.status.success(),
            "`cargo metadata` failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
        Self::from_metadata(&output.stdout)
    }

    fn from_metadata(json: &[u8]) -> Result<Self> {
        let metadata: Value =
            serde_json::from_slice(json).context("reading the output of `cargo metadata`")?;
        let path = |key: &str| {
            metadata[key]
                .as_str()
                .map(PathBuf::from)
                .with_context(|| format!("cargo metadata has no {key}"))
        };
        Ok(Self { root: path("workspace_root")?, target: path("target_directory")?, metadata })
    }

    /// The folder for what the tests need besides Rust.
    pub(crate) fn tools(&self) -> PathBuf {
        self.target.join("xtask")
    }

    /// The path of a workspace binary built with this profile.
    pub(crate) fn binary(&self, profile: &str, name: &str) -> PathBuf {
        self.target.join(profile).join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
    }

    /// Returns a cargo command that runs in the repository's root and builds into its target directory.
    pub(crate) fn cargo<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = Command::new(cargo());
        command.args(arguments).current_dir(&self.root).env("CARGO_TARGET_DIR", &self.target);
        // `cargo run` sets these for xtask. Build scripts that read them, such as ring's, would rerun each time a manual
        // build follows one by xtask, and everything that depends on them would be recompiled.
        for (name, _) in std::env::vars_os().filter(|(name, _)| describes_package(name)) {
            command.env_remove(name);
        }
        command
    }

    /// Displays a path, relative to the root if inside it.
    pub(crate) fn display_path<'a>(&self, path: &'a Path) -> std::path::Display<'a> {
        path.strip_prefix(&self.root).unwrap_or(path).display()
    }
}

/// The cache folder for tools that take minutes to compile, so that they outlive target directories.
pub(crate) fn user_cache() -> Result<PathBuf> {
    let base = match std::env::var_os("XDG_CACHE_HOME").filter(|value| !value.is_empty()) {
        Some(cache) => PathBuf::from(cache),
        None => PathBuf::from(
            std::env::var_os("HOME").context("neither XDG_CACHE_HOME nor HOME is set")?,
        )
        .join(".cache"),
    };
    Ok(base.join("docent-ci"))
}

/// Whether a variable describes the package that cargo runs or builds.
fn describes_package(variable: &OsStr) -> bool {
    let prefixes = ["CARGO_PKG_", "CARGO_MANIFEST_"];
    variable.to_str().is_some_and(|name| prefixes.iter().any(|prefix| name.starts_with(prefix)))
}

fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_the_running_package_are_not_passed_on() {
        for (name, expected) in
            [("CARGO_PKG_NAME", true), ("CARGO_MANIFEST_DIR", true), ("CARGO_HOME", false)]
        {
            assert_eq!(describes_package(OsStr::new(name)), expected, "{name}");
        }
        // `cargo test` sets the same variables as `cargo run`.
        assert!(std::env::var_os("CARGO_PKG_NAME").is_some());
        let cargo =
            XtaskWorkspace::from_metadata(br#"{"workspace_root":"/r","target_directory":"/t"}"#)
                .unwrap()
                .cargo([]);
        let removed = |variable: &str| {
            cargo.get_envs().any(|(name, value)| name == variable && value.is_none())
        };
        assert!(removed("CARGO_PKG_NAME") && removed("CARGO_MANIFEST_DIR") && !removed("PATH"));
    }

    #[test]
    fn paths_come_from_metadata() {
        let found = XtaskWorkspace::from_metadata(
            br#"{"workspace_root":"/r","target_directory":"/t","packages":[]}"#,
        )
        .unwrap();
        assert_eq!(found.tools(), Path::new("/t/xtask"));
        assert_eq!(found.display_path(Path::new("/r/crates/a.rs")).to_string(), "crates/a.rs");
        assert_eq!(found.display_path(Path::new("/elsewhere/a.rs")).to_string(), "/elsewhere/a.rs");
        assert!(XtaskWorkspace::from_metadata(br#"{"workspace_root":"/r"}"#).is_err());
    }
}
