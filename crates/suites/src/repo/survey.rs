//! What names and sizes alone tell: structure, languages, and what a project usually has.

use super::{
    languages::{self, Nature},
    manifests,
    report::{Branch, Language, Manifest, Report},
};
use crate::files::{Entry, Kind};
use std::collections::BTreeMap;

/// Folders that tools fill with other people's files.
const INSTALLED: [&str; 10] = [
    "node_modules",
    "bower_components",
    "__pycache__",
    ".venv",
    "venv",
    "site-packages",
    ".tox",
    ".mypy_cache",
    ".pytest_cache",
    ".gradle",
];
const TEST_FOLDERS: [&str; 7] = ["test", "tests", "spec", "specs", "__tests__", "e2e", "testing"];
const DOCS_FOLDERS: [&str; 5] = ["docs", "doc", "documentation", "guide", "guides"];
const CI_FILES: [&str; 9] = [
    ".gitlab-ci.yml",
    ".travis.yml",
    "azure-pipelines.yml",
    "Jenkinsfile",
    ".drone.yml",
    "bitbucket-pipelines.yml",
    "appveyor.yml",
    ".cirrus.yml",
    ".woodpecker.yml",
];
const CI_FOLDERS: [&str; 5] =
    [".github/workflows/", ".circleci/", ".buildkite/", ".woodpecker/", ".ci/"];
const SITES: [(&str, &str); 7] = [
    ("mkdocs.yml", "MkDocs"),
    ("book.toml", "mdBook"),
    ("docusaurus.config.js", "Docusaurus"),
    ("docusaurus.config.ts", "Docusaurus"),
    ("docs/conf.py", "Sphinx"),
    ("doc/conf.py", "Sphinx"),
    ("docs/source/conf.py", "Sphinx"),
];
/// More manifests than this are counted and not listed.
const MANIFESTS: usize = 200;

/// Sums up entries one by one.
#[derive(Debug, Default)]
pub(super) struct Survey {
    tree: BTreeMap<(bool, String), Branch>,
    languages: BTreeMap<&'static str, Language>,
    programs: Vec<&'static str>,
}

impl Survey {
    /// Takes in one entry; `path` is as seen from the analysed folder. Says whether the file is the project's own.
    pub(super) fn take(&mut self, path: &str, entry: &Entry, report: &mut Report) -> bool {
        if let Some(folder) = installed(path) {
            if !report.structure.skipped.iter().any(|known| known == folder)
                && report.structure.skipped.len() < 20
            {
                report.structure.skipped.push(folder.to_owned());
            }
            return false;
        }
        match entry.kind {
            Kind::Folder => {
                report.structure.folders += 1;
                if !path.contains('/') {
                    self.tree.entry((false, format!("{path}/"))).or_default();
                }
                if DOCS_FOLDERS.contains(&path) {
                    report.presence.docs_folders.push(path.to_owned());
                }
                false
            }
            Kind::File => {
                self.take_file(path, entry, report);
                true
            }
            Kind::Link => {
                report.structure.links += 1;
                false
            }
            Kind::Other => false,
        }
    }

    fn take_file(&mut self, path: &str, entry: &Entry, report: &mut Report) {
        let name = entry.place.name();
        report.structure.files += 1;
        report.structure.bytes += entry.bytes;
        let key = path
            .split_once('/')
            .map_or((true, path.to_owned()), |(folder, _)| (false, format!("{folder}/")));
        let branch = self.tree.entry(key).or_default();
        branch.files += 1;
        branch.bytes += entry.bytes;
        let syntax = languages::of(name);
        if let Some(syntax) = syntax {
            let language = self.languages.entry(syntax.name).or_default();
            language.files += 1;
            language.bytes += entry.bytes;
            if syntax.nature == Nature::Program && !self.programs.contains(&syntax.name) {
                self.programs.push(syntax.name);
            }
        }
        let nature = syntax.map(|syntax| syntax.nature);
        if nature == Some(Nature::Prose) && syntax.is_some_and(|syntax| syntax.name != "Text") {
            report.presence.document_files += 1;
        }
        if nature == Some(Nature::Program) {
            note_test(path, name, report);
        }
        note_usual(path, report);
        note_manifest(path, name, report);
    }

    /// Writes down the sums.
    pub(super) fn finish(self, report: &mut Report) {
        let named = self.tree.into_iter().map(|((_, name), branch)| Branch { name, ..branch });
        report.structure.tree = named.collect();
        let all: u64 = self.languages.values().map(|language| language.bytes).sum();
        let shared = self.languages.into_iter().map(|(name, language)| {
            let share = percent(language.bytes, all);
            Language { name: name.to_owned(), share, ..language }
        });
        report.languages = shared.collect();
        report.languages.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
        let is_program = |language: &&Language| self.programs.contains(&language.name.as_str());
        report.primary_language =
            report.languages.iter().find(is_program).map(|language| language.name.clone());
    }
}

/// To one decimal place.
#[expect(clippy::cast_precision_loss, reason = "a share needs three digits")]
fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { (part as f64 * 1000.0 / whole as f64).round() / 10.0 }
}

/// The folder of installed packages that a path lies in.
fn installed(path: &str) -> Option<&str> {
    let mut end = 0;
    for part in path.split('/') {
        end += part.len();
        if INSTALLED.contains(&part) {
            return path.get(..end);
        }
        end += 1;
    }
    None
}

fn note_test(path: &str, name: &str, report: &mut Report) {
    let (folder, _) = path.rsplit_once('/').unwrap_or((".", name));
    let by_folder = folder.split('/').any(|part| TEST_FOLDERS.contains(&part));
    if !by_folder && !is_test_name(name) {
        return;
    }
    let presence = &mut report.presence;
    presence.test_files += 1;
    if presence.test_places.len() < 5
        && !presence.test_places.iter().any(|known| is_below(folder, known))
    {
        presence.test_places.push(folder.to_owned());
    }
}

fn is_below(folder: &str, known: &str) -> bool {
    folder.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn is_test_name(name: &str) -> bool {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    stem.starts_with("test_")
        || [".test", ".spec", "_test", "_spec", "Test", "Tests"]
            .iter()
            .any(|ending| stem.ends_with(ending))
}

fn note_usual(path: &str, report: &mut Report) {
    let presence = &mut report.presence;
    let in_ci = CI_FOLDERS.iter().any(|folder| path.starts_with(folder));
    if (in_ci || CI_FILES.contains(&path)) && presence.ci.len() < 20 {
        presence.ci.push(path.to_owned());
    }
    if let Some((_, site)) = SITES.iter().find(|(file, _)| *file == path) {
        presence.docs_site.get_or_insert_with(|| (*site).to_owned());
    }
    let lower = path.to_lowercase();
    let usual = lower.trim_start_matches(".github/").trim_start_matches("docs/");
    if usual.starts_with("contributing") {
        presence.contributing.get_or_insert_with(|| path.to_owned());
    }
    if path.contains('/') {
        return;
    }
    let starts = |names: &[&str]| names.iter().any(|name| lower.starts_with(name));
    if starts(&["readme"]) {
        presence.readme.get_or_insert_with(|| path.to_owned());
    } else if starts(&["license", "licence", "copying", "unlicense"]) {
        presence.licence.get_or_insert_with(|| path.to_owned());
    } else if starts(&["changelog", "changes", "history.", "news", "releases."]) {
        presence.changelog.get_or_insert_with(|| path.to_owned());
    }
}

fn note_manifest(path: &str, name: &str, report: &mut Report) {
    let Some(ecosystem) = manifests::ecosystem(name) else { return };
    if !report.ecosystems.iter().any(|known| known == ecosystem) {
        report.ecosystems.push(ecosystem.to_owned());
    }
    report.manifest_count += 1;
    if report.manifests.len() == MANIFESTS {
        return;
    }
    report.manifests.push(Manifest {
        path: path.to_owned(),
        ecosystem: ecosystem.to_owned(),
        ..Manifest::default()
    });
}
