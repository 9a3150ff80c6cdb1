//! Shared state while reading all manifests: input files and results. Must not know any format.

use super::{
    super::{
        report::{Dependency, Manifest, Purpose},
        tree::{HaltCheck, ProjectTree, folder_of},
    },
    format::PackageFileFormat,
    lock::LockedVersions,
};
use crate::files::ReadFailure;
use serde::de::DeserializeOwned;
use std::collections::{HashMap, HashSet};

/// Maximum manifest size; larger ones are listed as problems.
const MAX_MANIFEST_BYTES: u64 = 8 << 20;

/// Maximum lock file size; larger ones are listed as problems.
const MAX_LOCK_FILE_BYTES: u64 = 32 << 20;

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum ManifestError {
    #[error("is not UTF-8 text")]
    Encoding,
    #[error("contains merge conflict markers; resolve the conflict")]
    Conflict,
    #[error("is not valid TOML{}: {}", .0, first_line(.1.message()))]
    Toml(ErrorLine, #[source] Box<toml::de::Error>),
    #[error("is not valid JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("is not valid YAML: {}", first_line(&.0.to_string()).trim_start_matches("error: "))]
    Yaml(#[source] Box<serde_saphyr::Error>),
    #[error("is not valid XML: {0}")]
    Xml(#[from] docent_xml::XmlError),
    #[error("is not {0}")]
    Other(&'static str),
}

/// Line of an error, if known.
#[derive(Debug)]
pub(super) struct ErrorLine(Option<usize>);

impl std::fmt::Display for ErrorLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.map_or(Ok(()), |line| write!(f, " at line {line}"))
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Parses TOML into a table, or a type that ignores other fields.
pub(super) fn toml<T: DeserializeOwned>(text: &str) -> Result<T, ManifestError> {
    toml::from_str(text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        let line = before.map(|before| before.matches('\n').count() + 1);
        ManifestError::Toml(ErrorLine(line), Box::new(error))
    })
}

/// Parses YAML into a value, or a type that ignores other fields.
pub(super) fn yaml<T: DeserializeOwned>(text: &str) -> Result<T, ManifestError> {
    serde_saphyr::from_str(text).map_err(|error| ManifestError::Yaml(Box::new(error)))
}

/// Origin of a dependency.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum DependencyOrigin {
    /// External, unless a package in the same workspace or an ancestor folder has that name.
    #[default]
    Named,
    /// From this repository; the path of its manifest, if there is one.
    Local(String),
}

/// A dependency before its context is resolved.
#[derive(Debug, Clone)]
pub(super) struct RequestedDependency {
    pub(super) name: String,
    pub(super) requirement: Option<String>,
    pub(super) locked: Option<String>,
    pub(super) purpose: Purpose,
    pub(super) origin: DependencyOrigin,
}

impl RequestedDependency {
    /// Creates an external dependency.
    pub(super) fn new(
        name: impl Into<String>,
        requirement: Option<String>,
        purpose: Purpose,
    ) -> Self {
        let (name, origin) = (name.into(), DependencyOrigin::Named);
        Self { name, requirement, locked: None, purpose, origin }
    }

    /// Sets the manifest of a local dependency.
    pub(super) fn with_local_manifest(mut self, manifest: Option<String>) -> Self {
        if let Some(path) = manifest {
            self.origin = DependencyOrigin::Local(path);
        }
        self
    }
}

/// A manifest before its context is resolved.
#[derive(Debug)]
pub(super) struct ManifestDraft {
    /// The manifest without dependencies.
    pub(super) manifest: Manifest,
    pub(super) format: PackageFileFormat,
    pub(super) wanted: Vec<RequestedDependency>,
    /// Manager, unless a lock file names another one.
    pub(super) likely_manager: Option<&'static str>,
}

impl ManifestDraft {
    /// Creates a draft from a path.
    pub(super) fn new(path: &str, format: PackageFileFormat) -> Self {
        let manifest = Manifest {
            path: path.to_owned(),
            ecosystem: format.ecosystem().to_owned(),
            manager: format.manager().map(str::to_owned),
            ..Manifest::default()
        };
        Self { manifest, format, wanted: Vec::new(), likely_manager: None }
    }

    /// Returns its folder.
    pub(super) fn folder(&self) -> &str {
        folder_of(&self.manifest.path)
    }

    /// Adds an external dependency.
    pub(super) fn want(
        &mut self,
        name: impl Into<String>,
        requirement: Option<String>,
        purpose: Purpose,
    ) {
        self.wanted.push(RequestedDependency::new(name, requirement, purpose));
    }

    /// Normalizes the draft: drops empty values, joins the description to one line, sorts and deduplicates
    /// dependencies.
    pub(super) fn normalize(&mut self) {
        let Manifest { name, version, description, licence, .. } = &mut self.manifest;
        *description = description.take().map(|text| on_one_line(&text));
        for field in [name, version, description, licence] {
            field.take_if(|text| text.trim().is_empty());
        }
        let mut seen = HashSet::new();
        self.wanted.retain(|wanted| {
            seen.insert((wanted.name.clone(), wanted.requirement.clone(), wanted.purpose))
        });
        // Stable: keeps manifest order within one purpose.
        self.wanted.sort_by_key(|wanted| wanted.purpose);
    }

    /// Converts the draft into the reported manifest.
    pub(super) fn into_manifest(mut self, most: usize) -> Manifest {
        let wanted = self.wanted.into_iter().take(most);
        self.manifest.dependencies = wanted
            .map(|RequestedDependency { name, requirement, locked, purpose, .. }| Dependency {
                name,
                requirement,
                locked,
                purpose,
            })
            .collect();
        self.manifest
    }
}

/// Files by format, and their results.
pub(super) struct ManifestReader<'a> {
    tree: &'a ProjectTree,
    halt: HaltCheck<'a>,
    files: HashMap<PackageFileFormat, Vec<&'a str>>,
    pub(super) drafts: Vec<ManifestDraft>,
    /// Files that lock versions without a lock file name, with their versions.
    pub(super) constraints: Vec<(String, PackageFileFormat, LockedVersions)>,
    pub(super) problems: Vec<ReadFailure>,
}

impl<'a> ManifestReader<'a> {
    /// Groups all files by format in one pass over their paths.
    pub(super) fn new(tree: &'a ProjectTree, halt: HaltCheck<'a>) -> Self {
        let mut files: HashMap<PackageFileFormat, Vec<&str>> = HashMap::new();
        for file in tree.files() {
            if let Some(format) = PackageFileFormat::by_path(&file.path) {
                files.entry(format).or_default().push(&file.path);
            }
        }
        for paths in files.values_mut() {
            paths.sort_unstable_by_key(|path| place(path));
        }
        let (drafts, constraints, problems) = (Vec::new(), Vec::new(), Vec::new());
        Self { tree, halt, files, drafts, constraints, problems }
    }

    /// Whether to stop with partial results.
    pub(super) fn is_over(&self) -> bool {
        (self.halt)()
    }

    /// Returns files in this format, outermost first.
    pub(super) fn files(&self, format: PackageFileFormat) -> Vec<&'a str> {
        self.files.get(&format).cloned().unwrap_or_default()
    }

    /// Returns all lock files, outermost first.
    pub(super) fn lock_files(&self) -> Vec<(&'a str, PackageFileFormat)> {
        let locks = self.files.iter().filter(|(format, _)| format.is_lock());
        let mut locks: Vec<_> =
            locks.flat_map(|(format, paths)| paths.iter().map(|path| (*path, *format))).collect();
        locks.sort_unstable_by_key(|(path, _)| place(path));
        locks
    }

    /// Whether a file exists.
    pub(super) fn has(&self, path: &str) -> bool {
        self.tree.file(path).is_some()
    }

    /// Reads the text of a file; records a problem if it cannot be read.
    pub(super) fn text(&mut self, path: &str) -> Option<String> {
        self.text_within(path, MAX_MANIFEST_BYTES)
    }

    /// Reads the text of a lock file, which may be long.
    pub(super) fn lock_text(&mut self, path: &str) -> Option<String> {
        self.text_within(path, MAX_LOCK_FILE_BYTES)
    }

    fn text_within(&mut self, path: &str, limit: u64) -> Option<String> {
        if self.is_over() {
            return None;
        }
        match self.tree.read_within(path, limit) {
            Ok(bytes) => {
                let text = decode(bytes);
                self.accept(path, text)
            }
            Err(problem) => {
                self.problems.push(problem);
                None
            }
        }
    }

    /// Returns a parsed value; records a problem on error.
    pub(super) fn accept<T>(&mut self, path: &str, result: Result<T, ManifestError>) -> Option<T> {
        result
            .map_err(|fault| {
                let path = self.tree.shown(path);
                self.problems.push(ReadFailure { path, reason: fault.to_string() });
            })
            .ok()
    }

    /// Reads every file of a format; a file that cannot be read or parsed is listed without contents.
    pub(super) fn each(
        &mut self,
        format: PackageFileFormat,
        read: impl Fn(&str, &mut ManifestDraft) -> Result<(), ManifestError>,
    ) {
        for path in self.files(format) {
            let mut draft = ManifestDraft::new(path, format);
            if let Some(text) = self.text(path) {
                let result = read(&text, &mut draft);
                self.accept(path, result);
            }
            self.drafts.push(draft);
        }
    }
}

/// Joins wrapped lines.
pub(super) fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Yields a folder and its ancestors, innermost first.
pub(super) fn outwards(folder: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(folder), |folder| (!folder.is_empty()).then_some(folder_of(folder)))
}

/// Sort key of a path: outermost first, then by name.
pub(super) fn place(path: &str) -> (usize, &str) {
    (path.matches('/').count(), path)
}

/// Decodes a file: UTF-8, or UTF-16 with a byte order mark, as some editors and shells write it.
fn decode(bytes: Vec<u8>) -> Result<String, ManifestError> {
    let wide = |rest: &[u8], number: fn([u8; 2]) -> u16| {
        let numbers = rest.chunks(2).map(|pair| number([pair[0], *pair.get(1).unwrap_or(&0)]));
        char::decode_utf16(numbers)
            .collect::<Result<String, _>>()
            .map_err(|_| ManifestError::Encoding)
    };
    let text = match bytes.as_slice() {
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes)?,
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes)?,
        _ => String::from_utf8(bytes).map_err(|_| ManifestError::Encoding)?,
    };
    if text.starts_with("<<<<<<< ") || text.contains("\n<<<<<<< ") {
        return Err(ManifestError::Conflict);
    }
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_decoded_by_its_first_bytes() {
        let cases: [(&[u8], Option<&str>); 7] = [
            (b"plain", Some("plain")),
            (b"\xef\xbb\xbfmarked", Some("marked")),
            (b"\xff\xfea\0\xe9\0", Some("aé")),
            (b"\xfe\xff\0a", Some("a")),
            (b"\xff\xfe\0\xd8", None),
            (b"caf\xe9", None),
            (b"a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> other\n", None),
        ];
        for (bytes, want) in cases {
            assert_eq!(decode(bytes.to_vec()).ok().as_deref(), want, "{bytes:?}");
        }
    }

    #[test]
    fn faults_say_where() {
        let error = toml::<toml::Table>("a = 1\nb = [\nc = 2\n").unwrap_err().to_string();
        assert!(error.starts_with("is not valid TOML at line "), "{error}");
        assert!(!error.contains('\n'), "{error}");
        let error = yaml::<serde_json::Value>("a: [1\nb: }").unwrap_err().to_string();
        assert!(error.starts_with("is not valid YAML: "), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
}
