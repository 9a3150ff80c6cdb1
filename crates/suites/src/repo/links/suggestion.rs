//! Suggestions for broken links.

use crate::repo::{
    documents::places,
    tree::{HaltCheck, ProjectTree, folder_of, join, name_of},
};
use std::{cell::Cell, collections::HashMap};

/// Minimum similarity of names.
const MIN_NAME_SIMILARITY: f64 = 0.75;
/// Maximum number of files with the same name.
const MAX_FILES_PER_NAME: usize = 5;

/// Top-level domains that are not file extensions.
const HOSTS: [&str; 6] = ["com", "org", "io", "net", "dev", "edu"];

/// Maximum number of name comparisons: a folder may contain a hundred thousand names.
const MAX_NAME_COMPARISONS: usize = 500_000;
/// Maximum length of a compared name: the cost is the product of the lengths.
const MAX_COMPARED_NAME_BYTES: usize = 200;

/// Files by name and folder.
pub(super) struct Suggestions<'a> {
    by_name: HashMap<String, Vec<&'a str>>,
    by_folder: HashMap<&'a str, Vec<&'a str>>,
    /// Remaining comparisons.
    left: Cell<usize>,
    halt: HaltCheck<'a>,
}

impl<'a> Suggestions<'a> {
    /// Creates suggestions from all files.
    pub(super) fn new(tree: &'a ProjectTree, halt: HaltCheck<'a>) -> Self {
        let mut by_name: HashMap<String, Vec<&str>> = HashMap::new();
        let mut by_folder: HashMap<&str, Vec<&str>> = HashMap::new();
        for file in tree.files() {
            by_name.entry(file.name().to_lowercase()).or_default().push(&file.path);
            by_folder.entry(file.folder()).or_default().push(&file.path);
        }
        Self { by_name, by_folder, left: Cell::new(MAX_NAME_COMPARISONS), halt }
    }

    /// Suggests an anchor among these slugs for a fragment.
    pub(super) fn anchor(&self, slugs: &[String], fragment: &str) -> Option<String> {
        let wanted = fragment.to_lowercase();
        self.nearest(&wanted, slugs.iter().map(String::as_str)).map(str::to_owned)
    }

    /// Remaining comparisons.
    #[cfg(test)]
    pub(super) fn left(&self) -> usize {
        self.left.get()
    }

    fn nearest<'n>(&self, wanted: &str, all: impl Iterator<Item = &'n str>) -> Option<&'n str> {
        let spend = || {
            let left = self.left.get().checked_sub(1);
            left.inspect(|left| self.left.set(*left)).is_some() && !(self.halt)()
        };
        nearest(wanted, all.take_while(|_| spend()))
    }

    /// Suggests a file for a path, relative to the document.
    pub(super) fn file(&self, document: &str, path: &str) -> Option<String> {
        let folder = folder_of(document);
        let joined =
            join(folder, path.trim_start_matches('/')).unwrap_or_else(|| path.replace("../", ""));
        let same = self
            .by_name
            .get(&name_of(&joined).to_lowercase())
            .map(Vec::as_slice)
            .unwrap_or_default();
        let same = match same {
            // Every folder has one of these names.
            many if places::is_index(&joined) || many.len() > MAX_FILES_PER_NAME => None,
            [one] => Some(*one),
            [] => None,
            many => many
                .iter()
                .copied()
                .max_by_key(|other| (shared(&joined, other), std::cmp::Reverse(*other))),
        };
        let near = || {
            let beside = self.by_folder.get(folder_of(&joined))?;
            self.nearest(name_of(&joined), beside.iter().map(|path| name_of(path)))
                .and_then(|name| join(folder_of(&joined), name))
        };
        let found = same.map(str::to_owned).or_else(near).filter(|found| found != document)?;
        Some(relative(folder, &found))
    }
}

/// Suggests the URL if a path is really one: with brackets around it, or without its scheme.
pub(super) fn address(written: &str) -> Option<String> {
    let is_blank = |c: char| {
        c == '('
            || c == ')'
            || c.is_whitespace()
            || matches!(c, '\u{200b}'..='\u{200d}' | '\u{feff}')
    };
    let plain = written.trim_matches(is_blank);
    let host = plain.split(['/', '#', '?']).next().unwrap_or_default();
    let is_host = host.rsplit_once('.').is_some_and(|(_, ending)| HOSTS.contains(&ending));
    if plain.starts_with("https://")
        || plain.starts_with("http://")
        || plain.len() < written.len() && plain.starts_with('#')
    {
        Some(plain.to_owned())
    } else if is_host && host == plain && plain.matches('@').count() == 1 {
        Some(format!("mailto:{plain}"))
    } else if is_host && !plain.contains('@') {
        Some(format!("https://{plain}"))
    } else {
        None
    }
}

/// Returns a path relative to a folder.
pub(super) fn relative(folder: &str, path: &str) -> String {
    let from: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    let to: Vec<&str> = path.split('/').collect();
    let pairs = from.iter().zip(to.iter().take(to.len().saturating_sub(1)));
    let shared = pairs.take_while(|(one, other)| one == other).count();
    let rest = to.get(shared..).unwrap_or_default();
    format!("{}{}", "../".repeat(from.len() - shared), rest.join("/"))
}

fn nearest<'a>(wanted: &str, all: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Texts that differ in length by more than a quarter cannot be similar enough.
    let may_be_alike = |name: &&str| {
        let (short, long) = (wanted.len().min(name.len()), wanted.len().max(name.len()));
        long <= MAX_COMPARED_NAME_BYTES && short * 2 >= long
    };
    let scored = all
        .filter(may_be_alike)
        .map(|name| (strsim::normalized_levenshtein(wanted, &name.to_lowercase()), name));
    let (score, name) = scored.max_by(|one, other| one.0.total_cmp(&other.0))?;
    (score >= MIN_NAME_SIMILARITY).then_some(name)
}

/// Counts the components that two paths share at their ends and starts.
fn shared(one: &str, other: &str) -> usize {
    let ends =
        one.rsplit('/').zip(other.rsplit('/')).take_while(|(one, other)| one == other).count();
    let starts =
        one.split('/').zip(other.split('/')).take_while(|(one, other)| one == other).count();
    10 * ends + starts
}
