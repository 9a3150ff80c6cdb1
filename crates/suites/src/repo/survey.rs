//! Results from names and sizes: structure, languages, and standard files.

use super::{
    languages, manifests,
    report::{Branch, Manifest, Nature, Report, ReportLanguage},
    tree::{ProjectTree, folder_of, name_of},
};
use crate::files::PathKind;
use std::collections::{BTreeMap, HashMap, HashSet};
use tokei::LanguageType;

/// Folders of installed packages.
const INSTALLED_PACKAGE_FOLDERS: [&str; 10] = [
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
const SITE_CONFIG_FILES: [(&str, &str); 7] = [
    ("mkdocs.yml", "MkDocs"),
    ("book.toml", "mdBook"),
    ("docusaurus.config.js", "Docusaurus"),
    ("docusaurus.config.ts", "Docusaurus"),
    ("docs/conf.py", "Sphinx"),
    ("doc/conf.py", "Sphinx"),
    ("docs/source/conf.py", "Sphinx"),
];
/// Maximum number of listed manifests.
const MAX_LISTED_MANIFESTS: usize = 200;

/// Deepest folder level in the tree.
const MAX_TREE_LEVELS: usize = 3;
/// Maximum number of branches; the smallest are dropped first.
const MAX_TREE_BRANCHES: usize = 400;

/// Accumulates walk entries.
#[derive(Debug, Default)]
pub(super) struct TreeSurvey {
    tree: BTreeMap<Box<str>, Branch>,
    submodules: HashSet<String>,
}

impl TreeSurvey {
    /// Creates a survey; these folders are submodules.
    pub(super) fn new(submodules: impl IntoIterator<Item = String>) -> Self {
        Self { submodules: submodules.into_iter().collect(), ..Self::default() }
    }

    /// Adds one entry; `path` is relative to the analyzed folder. Returns whether it belongs to the project.
    pub(super) fn take(
        &mut self,
        path: &str,
        kind: PathKind,
        bytes: u64,
        report: &mut Report,
    ) -> bool {
        if let Some(folder) = installed(path) {
            let skipped = &mut report.structure.skipped;
            if skipped.len() < 20 && !skipped.iter().any(|known| known == folder) {
                skipped.push(folder.to_owned());
            }
            return false;
        }
        if self.is_foreign(path) {
            return false;
        }
        match kind {
            PathKind::Folder => self.take_folder(path, report),
            PathKind::File => self.take_file(path, bytes, report),
            PathKind::Link => report.structure.links += 1,
            PathKind::Special(_) => {}
        }
        true
    }

    /// Whether a path is in a submodule.
    fn is_foreign(&self, path: &str) -> bool {
        !self.submodules.is_empty() && ancestors(path).any(|part| self.submodules.contains(part))
    }

    fn take_folder(&mut self, path: &str, report: &mut Report) {
        report.structure.folders += 1;
        if path.split('/').count() <= MAX_TREE_LEVELS {
            self.tree.entry(format!("{path}/").into()).or_default();
        }
        if DOCS_FOLDERS.contains(&path) {
            report.presence.docs_folders.push(path.to_owned());
        }
    }

    fn take_file(&mut self, path: &str, bytes: u64, report: &mut Report) {
        report.structure.files += 1;
        report.structure.bytes += bytes;
        let mut count = |key: &str| {
            if !self.tree.contains_key(key) {
                self.tree.insert(key.into(), Branch::default());
            }
            if let Some(branch) = self.tree.get_mut(key) {
                branch.files += 1;
                branch.bytes += bytes;
            }
        };
        if path.contains('/') {
            let slashes = path.match_indices('/').take(MAX_TREE_LEVELS);
            slashes.filter_map(|(at, _)| path.get(..=at)).for_each(&mut count);
        } else {
            count(path);
        }
        note_usual(path, report);
        note_manifest(path, name_of(path), report);
    }

    /// Writes the totals into the report.
    pub(super) fn finish(self, tree: &ProjectTree, report: &mut Report) {
        let named =
            self.tree.into_iter().map(|(path, branch)| Branch { path: path.into(), ..branch });
        let mut branches: Vec<Branch> = named.collect();
        if branches.len() > MAX_TREE_BRANCHES {
            branches.sort_by_key(|branch| std::cmp::Reverse(branch.bytes));
            branches.truncate(MAX_TREE_BRANCHES);
            branches.sort_by(|a, b| a.path.cmp(&b.path));
        }
        report.structure.tree = branches;
        for file in tree.files() {
            match file.language.map(|language| (language, languages::nature(language))) {
                Some((LanguageType::Text, _)) | None => {}
                Some((_, Nature::Prose)) => report.presence.document_files += 1,
                Some((_, Nature::Program)) => note_test(&file.path, report),
                Some(_) => {}
            }
        }
        sum_languages(tree, &HashSet::new(), report);
    }
}

/// Sums up the languages of all files except those that are not text.
pub(super) fn sum_languages(tree: &ProjectTree, binary: &HashSet<&str>, report: &mut Report) {
    let mut sums: HashMap<LanguageType, ReportLanguage> = HashMap::new();
    for file in tree.files() {
        let Some(language) = file.language.filter(|_| !binary.contains(&*file.path)) else {
            continue;
        };
        let sum = sums.entry(language).or_default();
        sum.files += 1;
        sum.bytes += file.bytes;
    }
    let all: u64 = sums.values().map(|language| language.bytes).sum();
    let shared = sums.into_iter().map(|(language, sum)| ReportLanguage {
        name: language.name().to_owned(),
        nature: languages::nature(language),
        share: percent(sum.bytes, all),
        ..sum
    });
    report.languages = shared.collect();
    report.languages.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
    let mut programs = report.languages.iter().filter(|one| one.nature == Nature::Program);
    report.primary_language = programs.next().map(|language| language.name.clone());
}

/// Yields the ancestors of a path, outermost first, and the path itself.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
    ends.filter_map(|end| path.get(..end))
}

/// Rounds a percentage to one decimal.
#[expect(clippy::cast_precision_loss, reason = "a share needs three digits")]
pub(super) fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { (part as f64 * 1000.0 / whole as f64).round() / 10.0 }
}

/// Returns the folder of installed packages that contains a path.
fn installed(path: &str) -> Option<&str> {
    ancestors(path).find(|folder| INSTALLED_PACKAGE_FOLDERS.contains(&name_of(folder)))
}

/// Whether a path is a test, by folder or name.
pub(super) fn is_test(path: &str) -> bool {
    folder_of(path).split('/').any(|part| TEST_FOLDERS.contains(&part))
        || is_test_name(name_of(path))
}

fn note_test(path: &str, report: &mut Report) {
    if !is_test(path) {
        return;
    }
    let folder = Some(folder_of(path)).filter(|folder| !folder.is_empty()).unwrap_or(".");
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
    if let Some((_, site)) = SITE_CONFIG_FILES.iter().find(|(file, _)| *file == path) {
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
    if report.manifests.len() == MAX_LISTED_MANIFESTS {
        return;
    }
    report.manifests.push(Manifest {
        path: path.to_owned(),
        ecosystem: ecosystem.to_owned(),
        ..Manifest::default()
    });
}
