//! Lock files of npm, pnpm, yarn and bun. pnpm and yarn use a fixed layout, so they are parsed line by line.

use super::{
    lock::{LockedVersions, ParsedLockFile, RequestingPackage},
    reading::{ManifestError, RequestedDependency},
};
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashMap;

#[derive(Deserialize)]
struct PackageLock {
    #[serde(default)]
    packages: HashMap<String, NpmInstalledPackage>,
    #[serde(default)]
    dependencies: HashMap<String, NpmNestedPackage>,
}

/// An entry by install folder.
#[derive(Deserialize)]
struct NpmInstalledPackage {
    version: Option<String>,
    /// Package name, if different from its folder.
    name: Option<String>,
    #[serde(default)]
    link: bool,
}

/// An entry of the first layout, with nested dependencies.
#[derive(Deserialize)]
struct NpmNestedPackage {
    version: Option<String>,
    #[serde(default)]
    dependencies: HashMap<String, NpmNestedPackage>,
}

/// Parses `package-lock.json` and `npm-shrinkwrap.json`.
pub(super) fn package_lock(text: &str) -> Result<ParsedLockFile, ManifestError> {
    let file: PackageLock = serde_json::from_str(text)?;
    let (mut fixed, mut exact) = (LockedVersions::default(), LockedVersions::default());
    if file.packages.is_empty() {
        for (name, entry) in &file.dependencies {
            if let Some(version) = &entry.version {
                exact.add(format!("node_modules/{name}"), version);
            }
        }
        take_nested(&file.dependencies, &mut fixed);
    }
    for (path, entry) in file.packages {
        let Some((_, folder)) = path.rsplit_once("node_modules/") else { continue };
        if let Some(version) = entry.version.filter(|_| !entry.link) {
            fixed.add(entry.name.as_deref().unwrap_or(folder), &version);
            exact.add(path, version);
        }
    }
    Ok(ParsedLockFile { fixed, exact, keys: installed_folders, name: None })
}

fn take_nested(dependencies: &HashMap<String, NpmNestedPackage>, fixed: &mut LockedVersions) {
    for (name, entry) in dependencies {
        if let Some(version) = &entry.version {
            fixed.add(name, version);
        }
        take_nested(&entry.dependencies, fixed);
    }
}

/// A package is resolved in the dependent's own folder first, then in its ancestors.
fn installed_folders(asker: RequestingPackage<'_>, wanted: &RequestedDependency) -> Vec<String> {
    let mut keys = Vec::new();
    let mut folder = asker.folder;
    while !folder.is_empty() {
        keys.push(format!("{folder}/node_modules/{}", wanted.name));
        folder = folder.rsplit_once('/').map_or("", |(outer, _)| outer);
    }
    keys.push(format!("node_modules/{}", wanted.name));
    keys
}

/// Splits a name and its suffix: `@scope/name@rest`.
fn split_name(text: &str) -> Option<(&str, &str)> {
    let scope = usize::from(text.starts_with('@'));
    let (start, rest) = text.split_at_checked(scope)?;
    let at = rest.find('@')? + start.len();
    Some((text.get(..at)?, text.get(at + 1..)?))
}

fn unquote(text: &str) -> &str {
    text.trim_matches(|c| c == '\'' || c == '"')
}

/// A line of an indentation-based file.
fn indented(line: &str) -> (usize, &str) {
    let text = line.trim_start_matches(' ');
    (line.len() - text.len(), text.trim_end())
}

/// Parses `key: value`; the value is empty if more lines follow.
fn entry(line: &str) -> Option<(&str, &str)> {
    let (key, value) = match line.strip_suffix(':') {
        Some(key) => (key, ""),
        None => line.split_once(": ")?,
    };
    Some((unquote(key), unquote(value.trim())))
}

/// Parses `pnpm-lock.yaml` in all layouts since version 5.
pub(super) fn pnpm_lock(text: &str) -> Result<ParsedLockFile, ManifestError> {
    let mut lines = PnpmLines::default();
    let mut known = false;
    for line in text.lines() {
        let (depth, line) = indented(line);
        if line.is_empty() || line.starts_with(['#', '-']) {
            continue;
        }
        let Some((key, value)) = entry(line) else { continue };
        if depth == 0 && key == "lockfileVersion" {
            known = true;
            // Up to layout version 5, a path names a package: `/name/1.0.0`.
            lines.by_path =
                value.split('.').next().and_then(|v| v.parse().ok()).is_some_and(|v: u32| v < 6);
        }
        lines.take(depth, key, value);
    }
    lines.close();
    if !known {
        return Err(ManifestError::Other("a pnpm lock file: it has no lockfileVersion"));
    }
    let keys = |asker: RequestingPackage<'_>, wanted: &RequestedDependency| {
        let importer = if asker.folder.is_empty() { "." } else { asker.folder };
        vec![format!("{importer} {}", wanted.name)]
    };
    Ok(ParsedLockFile { fixed: lines.fixed, exact: lines.exact, keys, name: None })
}

/// State while parsing `pnpm-lock.yaml`.
#[derive(Default)]
struct PnpmLines {
    by_path: bool,
    section: String,
    importer: String,
    table: String,
    dependency: String,
    /// Name and version of the current package.
    package: Option<(String, String)>,
    fixed: LockedVersions,
    exact: LockedVersions,
}

impl PnpmLines {
    fn take(&mut self, depth: usize, key: &str, value: &str) {
        if depth == 0 {
            self.close();
            key.clone_into(&mut self.section);
            ".".clone_into(&mut self.importer);
            key.clone_into(&mut self.table);
        } else if self.section == "packages" {
            self.take_package(depth, key, value);
        } else if self.section == "importers" {
            match depth {
                2 => key.clone_into(&mut self.importer),
                4 => key.clone_into(&mut self.table),
                _ => self.take_dependency(depth.saturating_sub(4), key, value),
            }
        } else {
            self.take_dependency(depth, key, value);
        }
    }

    fn take_dependency(&mut self, depth: usize, key: &str, value: &str) {
        if !matches!(&*self.table, "dependencies" | "devDependencies" | "optionalDependencies") {
            return;
        }
        let version = match depth {
            2 => {
                key.clone_into(&mut self.dependency);
                value
            }
            4 if key == "version" => value,
            _ => "",
        };
        // `link:` refers to a workspace member.
        if !version.is_empty() && !version.starts_with("link:") {
            let key = format!("{} {}", self.importer, self.dependency);
            self.exact.add(key, self.version(version));
        }
    }

    fn take_package(&mut self, depth: usize, key: &str, value: &str) {
        match (depth, key, &mut self.package) {
            (2, ..) => {
                self.close();
                self.package = self.name_and_version(key);
            }
            (4, "name", Some((name, _))) => value.clone_into(name),
            (4, "version", Some((_, version))) => value.clone_into(version),
            _ => {}
        }
    }

    /// Adds the finished package.
    fn close(&mut self) {
        if let Some((name, version)) = self.package.take() {
            self.fixed.add(name, version);
        }
    }

    fn name_and_version(&self, key: &str) -> Option<(String, String)> {
        let key = key.strip_prefix('/').unwrap_or(key);
        let (name, version) = if self.by_path { key.rsplit_once('/')? } else { split_name(key)? };
        Some((name.to_owned(), self.version(version).to_owned()))
    }

    /// Strips resolved peers and alias names from a version.
    fn version<'t>(&self, text: &'t str) -> &'t str {
        let text = text.split('(').next().unwrap_or(text);
        if self.by_path {
            let text = text.rsplit_once('/').map_or(text, |(_, version)| version);
            return text.split('_').next().unwrap_or(text);
        }
        let alias = text.strip_prefix('/').unwrap_or(text);
        let version = split_name(alias).filter(|(name, _)| !name.contains(':'));
        version.map_or(text, |(_, version)| version)
    }
}

/// Parses `yarn.lock`, in the classic and the newer layout.
pub(super) fn yarn_lock(text: &str) -> Result<ParsedLockFile, ManifestError> {
    let known = text.contains("yarn lockfile v1") || text.contains("__metadata:");
    if !known && !text.trim().is_empty() {
        return Err(ManifestError::Other(
            "a Yarn lock file: it has neither of the two known headers",
        ));
    }
    let (mut fixed, mut exact) = (LockedVersions::default(), LockedVersions::default());
    let mut asked: Vec<&str> = Vec::new();
    for line in text.lines() {
        let (depth, line) = indented(line);
        if depth == 0 && (line.ends_with(':') || line.starts_with("? ")) {
            let names = line.trim_start_matches("? ").trim_end_matches(':').split(", ");
            asked = names.map(unquote).filter(|name| !name.contains("@workspace:")).collect();
        } else if depth == 2 && line.starts_with("version") {
            let version = line.trim_start_matches("version").trim_start_matches(':').trim();
            for asked in asked.drain(..) {
                if let Some((name, _)) = split_name(asked) {
                    fixed.add(name, unquote(version));
                    exact.add(asked, unquote(version));
                }
            }
        }
    }
    let keys = |_: RequestingPackage<'_>, wanted: &RequestedDependency| {
        let requirement = wanted.requirement.as_deref().unwrap_or_default();
        ["", "npm:"].map(|start| format!("{}@{start}{requirement}", wanted.name)).to_vec()
    };
    Ok(ParsedLockFile { fixed, exact, keys, name: None })
}

#[derive(Deserialize)]
struct BunLock {
    #[serde(default)]
    packages: HashMap<String, Value>,
}

/// Parses `bun.lock`.
pub(super) fn bun_lock(text: &str) -> Result<ParsedLockFile, ManifestError> {
    let file: BunLock = serde_json::from_str(&without_last_commas(text))?;
    let (mut fixed, mut exact) = (LockedVersions::default(), LockedVersions::default());
    for (path, entry) in file.packages {
        let resolved = entry.get(0).and_then(Value::as_str).and_then(split_name);
        let Some((name, version)) = resolved else { continue };
        if !version.starts_with("workspace:") {
            fixed.add(name, version);
            exact.add(path, version);
        }
    }
    let keys = |asker: RequestingPackage<'_>, wanted: &RequestedDependency| {
        vec![format!("{}/{}", asker.name, wanted.name), wanted.name.clone()]
    };
    Ok(ParsedLockFile { fixed, exact, keys, name: None })
}

/// Strips trailing commas and comments from JSON.
fn without_last_commas(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    // Position of the last comma followed only by blanks.
    let mut comma = None;
    while let Some(c) = characters.next() {
        match c {
            '"' => {
                clean.push(c);
                let mut escaped = false;
                for c in characters.by_ref() {
                    clean.push(c);
                    if c == '"' && !escaped {
                        break;
                    }
                    escaped = c == '\\' && !escaped;
                }
                comma = None;
                continue;
            }
            '/' if characters.peek() == Some(&'/') => {
                characters.by_ref().find(|c| *c == '\n');
                continue;
            }
            '}' | ']' => {
                if let Some(at) = comma.take() {
                    clean.truncate(at);
                }
            }
            ',' => comma = Some(clean.len()),
            c if !c.is_whitespace() => comma = None,
            _ => {}
        }
        clean.push(c);
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::report::Purpose;

    /// Returns the locked version of a dependency, and the number of locked packages.
    fn locked_version(
        lock: &ParsedLockFile,
        folder: &str,
        name: &str,
        requirement: &str,
    ) -> String {
        let asker = RequestingPackage { name: "asker", folder };
        let wanted = RequestedDependency::new(name, Some(requirement.to_owned()), Purpose::Runtime);
        let version = lock.version(asker, &wanted);
        format!("{} of {}", version.as_deref().unwrap_or("-"), lock.fixed.count())
    }

    #[test]
    fn npm_looks_from_the_inside_out() {
        let new = r#"{"lockfileVersion":3,"packages":{"":{"name":"r","version":"1.0.0"},"node_modules/a":{"version":"1.0.0"},
            "packages/p":{"version":"0.1.0"},"packages/p/node_modules/a":{"version":"2.0.0"},
            "node_modules/p":{"resolved":"packages/p","link":true},"node_modules/@s/b":{"version":"3.0.0"},
            "node_modules/@s/b/node_modules/a":{"version":"2.0.0"},"node_modules/alias":{"name":"real","version":"4.0.0"}}}"#;
        let lock = package_lock(new).unwrap();
        assert_eq!(locked_version(&lock, "", "a", "*"), "1.0.0 of 4");
        assert_eq!(locked_version(&lock, "packages/p", "a", "*"), "2.0.0 of 4");
        assert_eq!(locked_version(&lock, "packages/q", "a", "*"), "1.0.0 of 4");
        assert_eq!(locked_version(&lock, "packages/q", "@s/b", "*"), "3.0.0 of 4");
        assert_eq!(locked_version(&lock, "", "p", "*"), "- of 4");
        let old = r#"{"lockfileVersion":1,"dependencies":{"a":{"version":"1.0.0","dependencies":{"b":{"version":"2.0.0"}}}}}"#;
        let lock = package_lock(old).unwrap();
        assert_eq!(locked_version(&lock, "", "a", "*"), "1.0.0 of 2");
        assert_eq!(locked_version(&lock, "", "b", "*"), "- of 2");
        assert!(package_lock("{").is_err());
    }

    #[test]
    fn pnpm_has_had_several_layouts() {
        let fifth = "lockfileVersion: 5.4\n\nspecifiers:\n  a: ^1.0.0\n\ndependencies:\n  a: 1.2.0_react@18.0.0\n\npackages:\n\n  /a/1.2.0_react@18.0.0:\n    \
            resolution: {integrity: x}\n    dependencies:\n      '@s/b': 2.0.0\n    dev: false\n\n  /@s/b/2.0.0:\n    resolution: {integrity: x}\n\n  github.com/o/c/0123:\n    \
            name: c\n    version: 3.0.0\n";
        let sixth = "lockfileVersion: '6.0'\n\nimporters:\n\n  .:\n    devDependencies:\n      a:\n        specifier: ^1.0.0\n        version: 1.2.0(react@18.0.0)\n\n  \
            packages/p:\n    dependencies:\n      a:\n        specifier: ^2.0.0\n        version: 2.0.0\n      q:\n        specifier: workspace:*\n        version: link:../q\n\n\
            packages:\n\n  /a@1.2.0(react@18.0.0):\n    resolution: {integrity: x}\n\n  /a@2.0.0:\n    resolution: {integrity: x}\n\n  /@s/b@2.0.0:\n    resolution: {integrity: x}\n";
        let ninth = "lockfileVersion: '9.0'\n\nimporters:\n\n  .:\n    dependencies:\n      '@s/b':\n        specifier: 'catalog:'\n        version: 2.0.0(a@1.2.0)\n      \
            alias:\n        specifier: npm:real@^4\n        version: real@4.0.0\n\npackages:\n\n  '@s/b@2.0.0':\n    resolution: {integrity: x}\n    peerDependencies:\n      a: '*'\n\n  \
            a@1.2.0:\n    resolution: {integrity: x}\n\n  real@4.0.0:\n    resolution: {integrity: x}\n\n  c@https://example.org/c.tgz:\n    resolution: {tarball: x}\n    version: 7.0.0\n\n\
            snapshots:\n\n  '@s/b@2.0.0(a@1.2.0)':\n    dependencies:\n      a: 1.2.0\n";
        let cases = [
            (fifth, "", "a", "1.2.0 of 3"),
            (fifth, "", "@s/b", "- of 3"),
            (sixth, "", "a", "1.2.0 of 3"),
            (sixth, "packages/p", "a", "2.0.0 of 3"),
            (sixth, "packages/p", "q", "- of 3"),
            (ninth, "", "@s/b", "2.0.0 of 4"),
            (ninth, "", "alias", "4.0.0 of 4"),
        ];
        for (text, folder, name, want) in cases {
            let lock = pnpm_lock(text).unwrap();
            assert_eq!(locked_version(&lock, folder, name, "*"), want, "{folder} {name}\n{text}");
        }
        let error = pnpm_lock("packages:\n  a@1:\n").unwrap_err().to_string();
        assert_eq!(error, "is not a pnpm lock file: it has no lockfileVersion");
    }

    #[test]
    fn yarn_keys_by_what_was_asked() {
        let classic = "# yarn lockfile v1\n\n\n\"@s/b@^2.0.0\", \"@s/b@^2.1.0\":\n  version \"2.3.0\"\n  resolved \"x\"\n  dependencies:\n    a \"^1.0.0\"\n\n\
            a@^1.0.0:\n  version \"1.2.0\"\n\na@^2.0.0:\n  version \"2.0.0\"\n";
        let later = "__metadata:\n  version: 8\n  cacheKey: 10\n\n\"@s/b@npm:^2.0.0, @s/b@npm:^2.1.0\":\n  version: 2.3.0\n  resolution: \"@s/b@npm:2.3.0\"\n  languageName: node\n\n\
            \"a@npm:^1.0.0\":\n  version: 1.2.0\n\n\"a@npm:^2.0.0\":\n  version: 2.0.0\n\n\"p@workspace:*, p@workspace:packages/p\":\n  version: 0.0.0-use.local\n";
        for text in [classic, later] {
            let lock = yarn_lock(text).unwrap();
            assert_eq!(locked_version(&lock, "", "@s/b", "^2.1.0"), "2.3.0 of 3", "{text}");
            assert_eq!(locked_version(&lock, "", "a", "^2.0.0"), "2.0.0 of 3", "{text}");
            assert_eq!(locked_version(&lock, "", "a", "*"), "- of 3", "{text}");
            assert_eq!(locked_version(&lock, "", "@s/b", "^1.0.0"), "- of 3", "{text}");
            assert_eq!(locked_version(&lock, "", "p", "workspace:*"), "- of 3", "{text}");
        }
        assert!(yarn_lock("").is_ok());
        assert!(yarn_lock("something else").is_err());
    }

    #[test]
    fn bun_nests_by_name() {
        let text = "{\n  \"lockfileVersion\": 1, // text\n  \"packages\": {\n    \"a\": [\"a@1.0.0\", \"\", {}, \"sha512-,}\"],\n    \"asker/a\": [\"a@2.0.0\", \"\", { \"x\": \"y\", }, \"\\\",]\"],\n    \
            \"p\": [\"p@workspace:packages/p\"],\n  },\n}\n";
        let lock = bun_lock(text).unwrap();
        assert_eq!(locked_version(&lock, "", "a", "*"), "2.0.0 of 2");
        assert_eq!(locked_version(&lock, "", "p", "*"), "- of 2");
        assert_eq!(locked_version(&lock, "", "b", "*"), "- of 2");
        assert!(bun_lock("{,").is_err());
    }
}
