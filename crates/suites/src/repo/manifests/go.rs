//! Go: `go.mod`, `go.work` and `go.sum`. A module locks its versions itself.

use super::{
    super::report::Purpose,
    format::PackageFileFormat,
    lock::{LockedVersions, ParsedLockFile},
    pattern::ManifestFolders,
    reading::{ManifestDraft, ManifestReader, RequestedDependency},
};
use std::collections::HashMap;

/// Reads every `go.mod` and `go.work`.
pub(super) fn read(reading: &mut ManifestReader<'_>) {
    let paths = reading.files(PackageFileFormat::GoModule);
    let folders = ManifestFolders::new(&paths);
    for path in &paths {
        let mut draft = ManifestDraft::new(path, PackageFileFormat::GoModule);
        if let Some(text) = reading.text(path) {
            let indirect = fill(&text, &mut draft, &folders);
            // Indirect dependencies are locked here as well.
            if indirect.count() > 0 && !has_sums(reading, &draft) {
                reading.constraints.push((
                    (*path).to_owned(),
                    PackageFileFormat::GoModule,
                    indirect,
                ));
            }
        }
        reading.drafts.push(draft);
    }
    for path in reading.files(PackageFileFormat::GoWorkspace) {
        let mut draft = ManifestDraft::new(path, PackageFileFormat::GoWorkspace);
        let text = reading.text(path).unwrap_or_default();
        let used = directives(&text).into_iter().filter(|(verb, ..)| *verb == "use");
        let members = used.filter_map(|(_, words, _)| folders.from(draft.folder(), words.first()?));
        draft.manifest.members = members.map(str::to_owned).collect();
        reading.drafts.push(draft);
    }
}

fn has_sums(reading: &ManifestReader<'_>, draft: &ManifestDraft) -> bool {
    super::super::tree::join(draft.folder(), "go.sum").is_some_and(|path| reading.has(&path))
}

/// Returns verb, words and the indirect marker of each directive; blocks are expanded.
fn directives(text: &str) -> Vec<(&str, Vec<&str>, bool)> {
    let mut found = Vec::new();
    let mut block = None;
    for line in text.lines() {
        let (line, comment) = line.split_once("//").unwrap_or((line, ""));
        let indirect = comment.trim().starts_with("indirect");
        let mut words = line.split_whitespace().map(|word| word.trim_matches(['"', '`']));
        match (block, words.next()) {
            (_, None) => {}
            (Some(_), Some(")")) => block = None,
            (Some(verb), Some(first)) => {
                found.push((verb, std::iter::once(first).chain(words).collect(), indirect));
            }
            (None, Some(verb)) => {
                let words: Vec<_> = words.collect();
                match words.as_slice() {
                    ["("] => block = Some(verb),
                    _ => found.push((verb, words, indirect)),
                }
            }
        }
    }
    found
}

/// Fills in a module's data and dependencies; returns the versions it locks for others.
fn fill(text: &str, draft: &mut ManifestDraft, folders: &ManifestFolders<'_>) -> LockedVersions {
    let mut indirect = LockedVersions::default();
    let mut replaced = HashMap::new();
    for (verb, words, is_indirect) in directives(text) {
        match (verb, words.as_slice()) {
            ("module", [name, ..]) => draft.manifest.name = Some((*name).to_owned()),
            ("require", [name, version, ..]) if is_indirect => indirect.add(*name, *version),
            ("require", [name, version, ..]) => {
                let version = Some((*version).to_owned());
                let mut wanted = RequestedDependency::new(*name, version.clone(), Purpose::Runtime);
                wanted.locked = version;
                draft.wanted.push(wanted);
            }
            ("replace", words) => {
                let arrow = words.iter().position(|word| *word == "=>");
                let target = arrow.and_then(|at| words.get(at + 1));
                if let (Some(name), Some(target)) = (words.first(), target) {
                    replaced.insert((*name).to_owned(), (*target).to_owned());
                }
            }
            _ => {}
        }
    }
    let folder = draft.folder().to_owned();
    for wanted in &mut draft.wanted {
        let target = replaced.get(&wanted.name).filter(|target| target.starts_with('.'));
        let target = target.and_then(|target| folders.from(&folder, target));
        *wanted = wanted.clone().with_local_manifest(target.map(str::to_owned));
    }
    indirect
}

/// Parses `go.sum`. A line only for a `go.mod` is about a version that was not selected.
pub(super) fn sums(text: &str) -> ParsedLockFile {
    let mut fixed = LockedVersions::default();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        if let (Some(name), Some(version)) = (words.next(), words.next())
            && !version.ends_with("/go.mod")
        {
            fixed.add(name, version);
        }
    }
    ParsedLockFile::single_version(fixed, str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;

    #[test]
    fn modules_workspaces_and_sums() {
        check(
            &[
                ("go.work", "go 1.22\n\nuse (\n\t./a\n\t./b // second\n\t./gone\n)\n"),
                (
                    "a/go.mod",
                    "// Deprecated: no\nmodule example.org/a // name\n\ngo 1.22\n\nrequire (\n\texample.org/x v1.2.3\n\texample.org/y v0.1.0 // indirect\n)\n\n\
                     require \"example.org/z\" v2.0.0\nrequire example.org/b v0.0.0\nreplace example.org/b => ../b\nreplace example.org/x v1.2.3 => example.org/fork v1.0.0\nexclude example.org/q v1\n",
                ),
                (
                    "a/go.sum",
                    "example.org/x v1.2.3 h1:a=\nexample.org/x v1.2.3/go.mod h1:b=\nexample.org/y v0.1.0 h1:c=\nexample.org/w v9.0.0/go.mod h1:d=\n",
                ),
                (
                    "b/go.mod",
                    "module example.org/b\nrequire example.org/x v1.0.0\nrequire example.org/v v1.0.0 // indirect\n",
                ),
            ],
            "go.work | Go go | - - | - | - | a/go.mod b/go.mod | - | -
             a/go.mod | Go go | example.org/a - | - | - | - | go.work | a/go.sum
             + runtime example.org/x v1.2.3 v1.2.3
             + runtime example.org/z v2.0.0 v2.0.0
             + runtime example.org/b v0.0.0 v0.0.0
             b/go.mod | Go go | example.org/b - | - | - | - | go.work | -
             + runtime example.org/x v1.0.0 v1.0.0
             = 2 direct, 0 development, 3 locked
             = a/go.mod > b/go.mod
             = example.org/x of Go by 2
             = b/go.mod of Go with 1
             = a/go.sum of Go with 2",
        );
    }
}
