//! Folders of documents that are combined: parts of a book refer to anchors of one another as their own.

use crate::repo::{
    facts::{DocumentFacts, DocumentFormat, anchor_key},
    tree::folder_of,
};
use std::collections::{HashMap, HashSet};

/// Minimum number of anchors found elsewhere; fewer are mistakes.
const MIN_INCLUDED_ANCHORS: usize = 3;

/// Finds folders whose documents are parts of a whole: most of their missing local anchors are in other documents.
pub(super) fn folders_of_parts<'a>(
    documents: &'a [DocumentFacts],
    missed: impl Iterator<Item = (&'a DocumentFacts, &'a str)>,
) -> HashSet<&'a str> {
    let mut by_folder: HashMap<&str, Vec<u64>> = HashMap::new();
    for (document, fragment) in missed {
        by_folder.entry(folder_of(&document.path)).or_default().push(anchor_key(fragment));
    }
    by_folder.retain(|_, missed| missed.len() >= MIN_INCLUDED_ANCHORS);
    if by_folder.is_empty() {
        return HashSet::new();
    }
    let written = documents.iter().filter(|document| document.format == DocumentFormat::Markdown);
    let known: HashSet<u64> =
        written.clone().flat_map(|document| document.anchors.iter().copied()).collect();
    let mut named: HashMap<&str, usize> = HashMap::new();
    for document in written {
        let folder = folder_of(&document.path);
        if by_folder.contains_key(folder) {
            let own = document.links.iter().filter(|link| link.target.starts_with('#'));
            *named.entry(folder).or_default() += own.count();
        }
    }
    let is_part = |folder: &&str, missed: &[u64]| {
        let elsewhere = missed.iter().filter(|anchor| known.contains(anchor)).count();
        elsewhere >= MIN_INCLUDED_ANCHORS
            && 2 * elsewhere > named.get(folder).copied().unwrap_or_default()
    };
    by_folder
        .iter()
        .filter(|(folder, missed)| is_part(folder, missed))
        .map(|(folder, _)| *folder)
        .collect()
}
