//! What a broken link may have meant.

use crate::repo::{
    documents::{places, slug},
    facts::DocumentFacts,
    tree::{Tree, folder_of, join, name_of},
};
use std::collections::HashMap;

/// Names that are alike by less say nothing.
const ALIKE: f64 = 0.75;
/// A name that more files have says nothing either.
const COMMON: usize = 5;

/// Endings of hosts that are no endings of files.
const HOSTS: [&str; 6] = ["com", "org", "io", "net", "dev", "edu"];

/// Files by their names and folders.
pub(super) struct Suggestions<'a> {
    by_name: HashMap<String, Vec<&'a str>>,
    by_folder: HashMap<&'a str, Vec<&'a str>>,
}

impl<'a> Suggestions<'a> {
    /// From every file.
    pub(super) fn of(tree: &'a Tree) -> Self {
        let mut by_name: HashMap<String, Vec<&str>> = HashMap::new();
        let mut by_folder: HashMap<&str, Vec<&str>> = HashMap::new();
        for file in tree.files() {
            by_name.entry(file.name().to_lowercase()).or_default().push(&file.path);
            by_folder.entry(file.folder()).or_default().push(&file.path);
        }
        Self { by_name, by_folder }
    }

    /// The file that a path may have meant, as the document would write it.
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
            // Every folder has one of these.
            many if places::is_index(&joined) || many.len() > COMMON => None,
            [one] => Some(*one),
            [] => None,
            many => many
                .iter()
                .copied()
                .max_by_key(|other| (shared(&joined, other), std::cmp::Reverse(*other))),
        };
        let near = || {
            let beside = self.by_folder.get(folder_of(&joined))?;
            nearest(name_of(&joined), beside.iter().map(|path| name_of(path)))
                .and_then(|name| join(folder_of(&joined), name))
        };
        let found = same.map(str::to_owned).or_else(near).filter(|found| found != document)?;
        Some(relative(folder, &found))
    }
}

/// The address that was meant where a path is none: with brackets around it, without its scheme.
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

/// The anchor of a document that a fragment may have meant.
pub(super) fn anchor(document: &DocumentFacts, fragment: &str) -> Option<String> {
    let slugs: Vec<String> = document.headings.iter().map(|heading| slug(&heading.text)).collect();
    let wanted = fragment.to_lowercase();
    nearest(&wanted, slugs.iter().map(String::as_str)).map(str::to_owned)
}

/// A path as it is written in a document of a folder.
pub(super) fn relative(folder: &str, path: &str) -> String {
    let mut from: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    let mut to: Vec<&str> = path.split('/').collect();
    while let (Some(one), Some(other)) = (from.first(), to.first())
        && one == other
        && to.len() > 1
    {
        from.remove(0);
        to.remove(0);
    }
    format!("{}{}", "../".repeat(from.len()), to.join("/"))
}

fn nearest<'a>(wanted: &str, all: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let scored =
        all.map(|name| (strsim::normalized_levenshtein(wanted, &name.to_lowercase()), name));
    let (score, name) = scored.max_by(|one, other| one.0.total_cmp(&other.0))?;
    (score >= ALIKE).then_some(name)
}

/// How many parts two paths share at their ends and at their starts.
fn shared(one: &str, other: &str) -> usize {
    let ends =
        one.rsplit('/').zip(other.rsplit('/')).take_while(|(one, other)| one == other).count();
    let starts =
        one.split('/').zip(other.split('/')).take_while(|(one, other)| one == other).count();
    10 * ends + starts
}
