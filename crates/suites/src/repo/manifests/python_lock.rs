//! Lock files of Python's package managers: uv, poetry, pdm, pipenv and `pylock.toml`.

use super::{
    lock::{LockedVersions, ParsedLockFile},
    reading::{ManifestError, toml},
    requirements::normal_name,
};
use serde::Deserialize;
use std::collections::HashMap;

/// Sources of packages in this repository.
const LOCAL: [&str; 4] = ["editable", "virtual", "directory", "workspace"];

#[derive(Deserialize)]
struct PythonLockFile {
    #[serde(default, alias = "packages")]
    package: Vec<PythonLockedPackage>,
}

#[derive(Deserialize)]
struct PythonLockedPackage {
    name: String,
    version: Option<String>,
    source: Option<toml::Value>,
}

/// Parses `uv.lock`, `poetry.lock`, `pdm.lock` and `pylock.toml`, which share the relevant layout.
pub(super) fn lock(text: &str) -> Result<ParsedLockFile, ManifestError> {
    let file: PythonLockFile = toml(text)?;
    let mut fixed = LockedVersions::default();
    for PythonLockedPackage { name, version, source } in file.package {
        let local = |source: &toml::Value| {
            let kind = source.get("type").and_then(toml::Value::as_str);
            kind == Some("directory") || LOCAL.iter().any(|key| source.get(key).is_some())
        };
        if let Some(version) = version.filter(|_| !source.as_ref().is_some_and(local)) {
            fixed.add(normal_name(&name), version);
        }
    }
    Ok(ParsedLockFile::single_version(fixed, normal_name))
}

#[derive(Deserialize)]
struct PipfileLock {
    #[serde(default)]
    default: HashMap<String, PipfileLockedPackage>,
    #[serde(default)]
    develop: HashMap<String, PipfileLockedPackage>,
}

#[derive(Deserialize)]
struct PipfileLockedPackage {
    version: Option<String>,
}

/// Parses `Pipfile.lock`.
pub(super) fn pipfile_lock(text: &str) -> Result<ParsedLockFile, ManifestError> {
    let file: PipfileLock = serde_json::from_str(text)?;
    let mut fixed = LockedVersions::default();
    for (name, PipfileLockedPackage { version }) in file.default.into_iter().chain(file.develop) {
        if let Some(version) = version {
            fixed.add(normal_name(&name), version.trim_start_matches('='));
        }
    }
    Ok(ParsedLockFile::single_version(fixed, normal_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_agree() {
        let cases = [
            "version = 1\n[[package]]\nname='my-app'\nversion='0.1.0'\nsource={editable='.'}\n[[package]]\nname='flask'\nversion='3.0.0'\nsource={registry='x'}\n",
            "[[package]]\nname='Flask'\nversion='3.0.0'\n[[package]]\nname='own'\nversion='1'\n[package.source]\ntype='directory'\nurl='../own'\n",
            "lock-version='1.0'\n[[packages]]\nname='flask'\nversion='3.0.0'\n[[packages]]\nname='own'\n",
        ];
        for text in cases {
            let lock = lock(text).unwrap();
            assert_eq!(lock.fixed.count(), 1, "{text}");
            assert_eq!(lock.fixed.version("flask", None), Some("3.0.0"), "{text}");
        }
        let lock = pipfile_lock(r#"{"_meta":{},"default":{"Flask":{"version":"==3.0.0"},"x":{"git":"y"}},"develop":{"pytest":{"version":"==8"}}}"#).unwrap();
        assert_eq!(lock.fixed.count(), 2);
        assert_eq!(lock.fixed.version("flask", None), Some("3.0.0"));
        assert!(pipfile_lock("[").is_err());
    }
}
