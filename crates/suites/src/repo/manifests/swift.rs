//! Swift: the literal parts of `Package.swift`, and `Package.resolved`.

use super::{
    super::report::Purpose,
    format::PackageFileFormat,
    lock::{LockedVersions, ParsedLockFile},
    pattern::ManifestFolders,
    reading::{ManifestDraft, ManifestError, ManifestReader, RequestedDependency},
    script::{CommentStyle, TokenizedScript},
};
use serde::Deserialize;
use std::ops::Range;

/// Labels of version requirements.
const RULES: [&str; 4] = ["from", "exact", "branch", "revision"];

/// Reads every `Package.swift`.
pub(super) fn read(reading: &mut ManifestReader<'_>) {
    let paths = reading.files(PackageFileFormat::SwiftPackage);
    let folders = ManifestFolders::new(&paths);
    for path in &paths {
        let mut draft = ManifestDraft::new(path, PackageFileFormat::SwiftPackage);
        if let Some(text) = reading.text(path) {
            fill(&TokenizedScript::new(&text, CommentStyle::Slashes), &folders, &mut draft);
        }
        reading.drafts.push(draft);
    }
}

fn fill(script: &TokenizedScript<'_>, folders: &ManifestFolders<'_>, draft: &mut ManifestDraft) {
    let mut at = 0;
    let mut named = false;
    while at < script.tokens().len() {
        let inside = script.inside(at + 1);
        match script.word(at).filter(|_| script.is(at + 1, '(')) {
            Some("Package") if !std::mem::replace(&mut named, true) => {
                draft.manifest.name = argument(script, inside, "name").map(str::to_owned);
                at += 2;
            }
            Some("package") if at > 0 && script.is(at - 1, '.') => {
                let wanted = package(script, inside, folders, draft.folder());
                draft.wanted.extend(wanted);
                at = script.after(at + 1);
            }
            _ => at += 1,
        }
    }
}

/// Returns the string of `key: "text"` among arguments.
fn argument<'t>(script: &TokenizedScript<'t>, inside: Range<usize>, key: &str) -> Option<&'t str> {
    script.parts(inside).iter().find_map(|part| match part.as_slice() {
        [name, colon, value] if script.word(*name) == Some(key) && script.is(*colon, ':') => {
            script.text(*value)
        }
        _ => None,
    })
}

/// Parses `.package(url: "…", from: "1.0.0")` and similar calls.
fn package(
    script: &TokenizedScript<'_>,
    inside: Range<usize>,
    folders: &ManifestFolders<'_>,
    folder: &str,
) -> Option<RequestedDependency> {
    let get = |key: &str| argument(script, inside.clone(), key);
    if let Some(path) = get("path") {
        let target = folders.from(folder, path).map(str::to_owned);
        let name = get("name").unwrap_or_else(|| identity(path));
        let wanted = RequestedDependency::new(name, Some(path.to_owned()), Purpose::Runtime);
        return Some(wanted.with_local_manifest(target));
    }
    let name = get("url").map(identity).or(get("id"))?;
    let rule = RULES.iter().find_map(|rule| Some(format!("{rule} {}", get(rule)?)));
    let requirement =
        rule.or_else(|| called_rule(script, inside.clone())).or_else(|| range(script, inside));
    Some(RequestedDependency::new(name, requirement, Purpose::Runtime))
}

/// Parses `.upToNextMajor(from: "1.0.0")`, `.exact("1.2.3")`, `.branch("main")`.
fn called_rule(script: &TokenizedScript<'_>, inside: Range<usize>) -> Option<String> {
    let calls = ["upToNextMajor", "upToNextMinor", "exact", "branch", "revision"];
    inside.clone().find_map(|at| {
        let rule = script.word(at).filter(|word| calls.contains(word) && script.is(at + 1, '('))?;
        let text = script.inside(at + 1).find_map(|at| script.text(at))?;
        Some(format!("{rule} {text}"))
    })
}

/// Parses `"1.0.0"..<"2.0.0"` and `"1.0.0"..."1.9.9"`.
fn range(script: &TokenizedScript<'_>, inside: Range<usize>) -> Option<String> {
    inside.clone().find_map(|at| {
        let (first, last) = (script.text(at)?, script.text(at + 4)?);
        let dots = script.is(at + 1, '.') && script.is(at + 2, '.');
        let end = if script.is(at + 3, '<') { '<' } else { '.' };
        dots.then(|| format!("{first}..{end}{last}"))
    })
}

/// Returns a package's identity: the last part of its URL.
fn identity(address: &str) -> &str {
    let address = address.trim_end_matches('/');
    let last = address.rsplit(['/', ':']).next().unwrap_or(address);
    last.strip_suffix(".git").unwrap_or(last)
}

#[derive(Deserialize)]
struct SwiftLockFile {
    #[serde(default)]
    pins: Vec<SwiftPin>,
    object: Option<SwiftPinList>,
}

#[derive(Deserialize)]
struct SwiftPinList {
    pins: Vec<SwiftPin>,
}

#[derive(Deserialize)]
struct SwiftPin {
    identity: Option<String>,
    #[serde(rename = "repositoryURL")]
    address: Option<String>,
    state: SwiftPinState,
}

#[derive(Deserialize)]
struct SwiftPinState {
    version: Option<String>,
    branch: Option<String>,
    revision: Option<String>,
}

/// Parses `Package.resolved`, in all layouts.
pub(super) fn lock(text: &str) -> Result<ParsedLockFile, ManifestError> {
    let file: SwiftLockFile = serde_json::from_str(text)?;
    let mut fixed = LockedVersions::default();
    let old = file.object.into_iter().flat_map(|object| object.pins);
    for SwiftPin { identity: name, address, state } in file.pins.into_iter().chain(old) {
        let name = name.or_else(|| Some(identity(&address?).to_owned()));
        let version = state.version.or(state.revision).or(state.branch);
        if let (Some(name), Some(version)) = (name, version) {
            fixed.add(name.to_lowercase(), version);
        }
    }
    Ok(ParsedLockFile::single_version(fixed, str::to_lowercase))
}

#[cfg(test)]
mod tests {
    use super::{super::tests::check, *};

    #[test]
    fn packages_and_lock_file() {
        check(
            &[
                (
                    "Package.swift",
                    "// swift-tools-version:5.9\nimport PackageDescription\nlet package = Package(\n  name: \"app\",\n  dependencies: [\n    .package(url: \"https://example.org/apple/Swift-NIO.git\", from: \"2.0.0\"),\n    \
                     .package(url: \"git@example.org:a/b\", .upToNextMajor(from: \"1.1.0\")),\n    .package(url: \"https://example.org/c\", exact: \"3.0.0\"),\n    .package(url: \"https://example.org/d\", \"1.0.0\"..<\"2.0.0\"),\n    \
                     .package(url: \"https://example.org/e\", branch: \"main\"),\n    .package(path: \"../Near\"),\n    .package(id: \"mona.list\", from: \"1.0.0\"),\n    /* .package(url: \"https://example.org/no\", from: \"1.0.0\") */\n  ],\n  \
                     targets: [.target(name: \"app\", dependencies: [.product(name: \"NIO\", package: \"swift-nio\")])]\n)\n",
                ),
                (
                    "near/Package.swift",
                    "let package = Package(name: \"Near\", dependencies: [.package(name: \"app\", path: \"..\")])\n",
                ),
                (
                    "Package.resolved",
                    r#"{"pins":[{"identity":"swift-nio","kind":"remoteSourceControl","location":"x","state":{"revision":"abc","version":"2.62.0"}},
                        {"identity":"e","location":"x","state":{"branch":"main","revision":"def"}}],"version":2}"#,
                ),
            ],
            "Package.swift | Swift swiftpm | app - | - | - | - | - | Package.resolved
             + runtime Swift-NIO from 2.0.0 2.62.0
             + runtime b upToNextMajor 1.1.0 -
             + runtime c exact 3.0.0 -
             + runtime d 1.0.0..<2.0.0 -
             + runtime e branch main def
             + runtime Near ../Near -
             + runtime mona.list from 1.0.0 -
             near/Package.swift | Swift swiftpm | Near - | - | - | - | - | -
             + runtime app .. -
             = 7 direct, 0 development, 2 locked
             = near/Package.swift > Package.swift
             = Package.resolved of Swift with 2",
        );
    }

    #[test]
    fn the_old_lock_file_is_read() {
        let text = r#"{"object":{"pins":[{"package":"NIO","repositoryURL":"https://example.org/Swift-NIO.git","state":{"branch":null,"revision":"a","version":"2.0.0"}}]},"version":1}"#;
        let lock = lock(text).unwrap();
        assert_eq!(lock.fixed.version("swift-nio", None), Some("2.0.0"));
        assert!(super::lock("[]x").is_err());
    }
}
