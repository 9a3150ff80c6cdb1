//! Dart and Flutter: `pubspec.yaml`, workspaces and `pubspec.lock`.

use super::{
    super::report::Purpose,
    format::PackageFileFormat,
    lock::{LockedVersions, ParsedLockFile},
    pattern::ManifestFolders,
    reading::{ManifestDraft, ManifestError, ManifestReader, RequestedDependency, yaml},
};
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashMap;

/// Sources of packages that are not from a registry or repository.
const LOCAL: [&str; 2] = ["path", "sdk"];

/// Reads every `pubspec.yaml`.
pub(super) fn read(reading: &mut ManifestReader<'_>) {
    let paths = reading.files(PackageFileFormat::Pubspec);
    let folders = ManifestFolders::new(&paths);
    for path in &paths {
        let mut draft = ManifestDraft::new(path, PackageFileFormat::Pubspec);
        let value = reading.text(path).and_then(|text| {
            let value = yaml::<Value>(&text);
            reading.accept(path, value)
        });
        fill(&value.unwrap_or_default(), &folders, &mut draft);
        reading.drafts.push(draft);
    }
}

fn text(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn fill(value: &Value, folders: &ManifestFolders<'_>, draft: &mut ManifestDraft) {
    let manifest = &mut draft.manifest;
    manifest.name = text(value.get("name"));
    manifest.version = text(value.get("version"));
    manifest.description = text(value.get("description"));
    let members = value.get("workspace").and_then(Value::as_array).into_iter().flatten();
    let members: Vec<_> = members.filter_map(Value::as_str).map(str::to_owned).collect();
    let members = folders.matching(draft.folder(), &members);
    draft.manifest.members = members.into_iter().map(str::to_owned).collect();
    let lists = [("dependencies", Purpose::Runtime), ("dev_dependencies", Purpose::Development)];
    for (list, purpose) in lists {
        for (name, wanted) in value.get(list).and_then(Value::as_object).into_iter().flatten() {
            let key = |key: &str| text(wanted.get(key));
            let git = wanted.get("git");
            let address = text(git).or_else(|| text(git.and_then(|git| git.get("url"))));
            let sdk = key("sdk").map(|sdk| format!("sdk: {sdk}"));
            let path = key("path");
            let source = key("version").or_else(|| path.clone()).or(address).or(sdk);
            let target = path.and_then(|path| folders.from(draft.folder(), &path));
            let requirement = text(Some(wanted)).or(source);
            let wanted = RequestedDependency::new(name, requirement, purpose);
            draft.wanted.push(wanted.with_local_manifest(target.map(str::to_owned)));
        }
    }
}

#[derive(Deserialize)]
struct DartLockFile {
    #[serde(default)]
    packages: HashMap<String, DartLockedPackage>,
}

#[derive(Deserialize)]
struct DartLockedPackage {
    source: Option<String>,
    version: Option<String>,
}

/// Parses `pubspec.lock`.
pub(super) fn lock(text: &str) -> Result<ParsedLockFile, ManifestError> {
    let file: DartLockFile = yaml(text)?;
    let mut fixed = LockedVersions::default();
    for (name, DartLockedPackage { source, version }) in file.packages {
        let local = source.is_some_and(|source| LOCAL.contains(&source.as_str()));
        if let Some(version) = version.filter(|_| !local) {
            fixed.add(name, version);
        }
    }
    Ok(ParsedLockFile::single_version(fixed, str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;

    #[test]
    fn workspaces_and_lock_file() {
        check(
            &[
                ("pubspec.yaml", "name: root\nenvironment:\n  sdk: ^3.6.0\nworkspace:\n  - pkgs/a\n  - pkgs/b\ndev_dependencies:\n  melos: ^6.0.0\n"),
                (
                    "pkgs/a/pubspec.yaml",
                    "name: a\nversion: 1.0.0+2\ndescription: >-\n  Does\n  a.\nresolution: workspace\ndependencies:\n  b: ^1.0.0\n  flutter:\n    sdk: flutter\n  http: ^1.2.0\n  \
                     any:\n  near:\n    path: ../../near\n  far:\n    git:\n      url: https://example.org/far.git\n      ref: main\n  hosted:\n    hosted: https://example.org\n    version: ^2.0.0\n",
                ),
                ("pkgs/b/pubspec.yaml", "name: b\nresolution: workspace\ndev_dependencies:\n  http: any\n"),
                ("near/pubspec.yaml", "name: near\n"),
                (
                    "pubspec.lock",
                    "packages:\n  http:\n    dependency: \"direct main\"\n    description:\n      name: http\n    source: hosted\n    version: \"1.2.1\"\n  flutter:\n    source: sdk\n    version: \"0.0.0\"\nsdks:\n  dart: \">=3.6.0\"\n",
                ),
            ],
            "pubspec.yaml | Dart pub | root - | - | - | pkgs/a/pubspec.yaml pkgs/b/pubspec.yaml | - | pubspec.lock
             + development melos ^6.0.0 -
             near/pubspec.yaml | Dart pub | near - | - | - | - | - | -
             pkgs/a/pubspec.yaml | Dart pub | a 1.0.0+2 | Does a. | - | - | pubspec.yaml | pubspec.lock
             + runtime b ^1.0.0 -
             + runtime flutter sdk: flutter -
             + runtime http ^1.2.0 1.2.1
             + runtime any - -
             + runtime near ../../near -
             + runtime far https://example.org/far.git -
             + runtime hosted ^2.0.0 -
             pkgs/b/pubspec.yaml | Dart pub | b - | - | - | - | pubspec.yaml | pubspec.lock
             + development http any 1.2.1
             = 5 direct, 1 development, 1 locked
             = pkgs/a/pubspec.yaml > near/pubspec.yaml
             = pkgs/a/pubspec.yaml > pkgs/b/pubspec.yaml
             = http of Dart by 2
             = pubspec.lock of Dart with 1",
        );
    }
}
