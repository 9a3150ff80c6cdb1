//! Finds similar documents.

use crate::repo::{
    documents::{kept_runs, places},
    facts::{DocumentFacts, DocumentFormat},
    report::Duplicate,
    tree::{HaltCheck, folder_of, name_of},
};
use std::collections::HashMap;

/// Maximum number of reported pairs.
const MAX_LISTED_PAIRS: usize = 100;
/// Minimum number of compared shingles for two documents to be called similar.
const MIN_COMPARED_SHINGLES: usize = 24;
/// Minimum percentage of shared text.
const MIN_SIMILARITY_PERCENT: f64 = 70.0;
/// Minimum percentage for two documents in one folder: reference pages follow one template.
const MIN_SIBLING_SIMILARITY_PERCENT: f64 = 90.0;
/// Maximum number of documents with a shingle; a more frequent one is boilerplate.
const MAX_DOCUMENTS_PER_SHINGLE: usize = 16;
/// Folders of example projects that start out alike.
const EXAMPLE_FOLDERS: [&str; 6] = ["examples", "example", "demos", "demo", "samples", "starters"];
/// Names of documents that every project copy has, or that are rewritten for each release.
const COMMON_DOCUMENT_NAMES: [&str; 15] = [
    "authors",
    "ofl.",
    "summary",
    "license",
    "licence",
    "copying",
    "notice",
    "unlicense",
    "patents",
    "changelog",
    "changes",
    "history",
    "news",
    "code_of_conduct",
    "code-of-conduct",
];

/// Finds similar pairs, most similar first.
pub(super) fn find(documents: &[DocumentFacts], halt: HaltCheck<'_>) -> Vec<Duplicate> {
    let compared: Vec<&DocumentFacts> =
        documents.iter().filter(|document| is_compared(document)).collect();
    let (mut pairs, distinct) = find_copies(&compared);
    let mut by_run: HashMap<u64, Vec<u32>> = HashMap::new();
    for (at, document) in (0..).zip(&distinct) {
        if halt() {
            break;
        }
        for run in &document.shingles {
            let holders = by_run.entry(*run).or_default();
            if holders.len() <= MAX_DOCUMENTS_PER_SHINGLE {
                holders.push(at);
            }
        }
    }
    let mut shared: HashMap<(u32, u32), u32> = HashMap::new();
    for holders in
        by_run.values().filter(|holders| (2..=MAX_DOCUMENTS_PER_SHINGLE).contains(&holders.len()))
    {
        if halt() {
            break;
        }
        for (at, one) in holders.iter().enumerate() {
            for other in holders.iter().skip(at + 1) {
                *shared.entry((*one, *other)).or_default() += 1;
            }
        }
    }
    let enough = u32::try_from(MIN_COMPARED_SHINGLES / 2).unwrap_or_default();
    for ((one, other), _) in shared.into_iter().filter(|(_, runs)| *runs >= enough) {
        if halt() {
            break;
        }
        if let (Some(one), Some(other)) = (distinct.get(one as usize), distinct.get(other as usize))
        {
            let wanted = if folder_of(&one.path) == folder_of(&other.path) {
                MIN_SIBLING_SIMILARITY_PERCENT
            } else {
                MIN_SIMILARITY_PERCENT
            };
            let alike = similarity_percent(one, other).filter(|alike| *alike >= wanted);
            pairs.extend(alike.map(|alike| (*one, *other, alike)));
        }
    }
    pairs.retain(|(one, other, _)| !is_expected(one, other));
    let mut found: Vec<Duplicate> = pairs.into_iter().map(to_duplicate).collect();
    found.sort_by(|one, other| {
        other
            .alike
            .total_cmp(&one.alike)
            .then_with(|| (&one.one, &one.other).cmp(&(&other.one, &other.other)))
    });
    let mut families = DuplicateGroups::default();
    found.retain(|pair| families.join(&pair.one, &pair.other));
    found.truncate(MAX_LISTED_PAIRS);
    found
}

/// Groups of similar documents, so that a dozen copies are a dozen pairs and not all combinations.
#[derive(Default)]
struct DuplicateGroups {
    numbers: HashMap<String, usize>,
    /// Parent of each number, or itself.
    elder: Vec<usize>,
    /// Number of steps to the root.
    #[cfg(test)]
    steps: usize,
}

impl DuplicateGroups {
    /// Joins the groups of two documents; returns whether they were different.
    fn join(&mut self, one: &str, other: &str) -> bool {
        let (one, other) = (self.root(one), self.root(other));
        let is_new = one != other;
        if is_new {
            self.elder[other] = one;
        }
        is_new
    }

    /// Returns the root of a document's group, and shortens the path on the way.
    fn root(&mut self, document: &str) -> usize {
        let next = self.elder.len();
        let mut at = *self.numbers.entry(document.to_owned()).or_insert(next);
        if at == next {
            self.elder.push(next);
        }
        while self.elder[at] != at {
            self.elder[at] = self.elder[self.elder[at]];
            at = self.elder[at];
            #[cfg(test)]
            {
                self.steps += 1;
            }
        }
        at
    }
}

type Pair<'a> = (&'a DocumentFacts, &'a DocumentFacts, f64);

/// Returns documents with identical text, paired with the first one, and one document per text.
fn find_copies<'a>(documents: &[&'a DocumentFacts]) -> (Vec<Pair<'a>>, Vec<&'a DocumentFacts>) {
    let mut first: HashMap<(u64, &[u64]), &DocumentFacts> = HashMap::new();
    let (mut pairs, mut distinct) = (Vec::new(), Vec::new());
    for document in documents {
        let key = (document.words, document.shingles.as_slice());
        if let Some(earlier) = first.get(&key) {
            pairs.push((*earlier, *document, 100.0));
        } else {
            first.insert(key, document);
            distinct.push(*document);
        }
    }
    (pairs, distinct)
}

/// Returns the percentage of the shorter document that is in the longer one, by the shingles that both would have kept.
fn similarity_percent(one: &DocumentFacts, other: &DocumentFacts) -> Option<f64> {
    let limit = highest_comparable_shingle(one).min(highest_comparable_shingle(other));
    let within =
        |document: &'_ DocumentFacts| document.shingles.partition_point(|run| *run <= limit);
    let (one, other) = (one.shingles.get(..within(one))?, other.shingles.get(..within(other))?);
    let (few, many) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    if few.len() < MIN_COMPARED_SHINGLES {
        return None;
    }
    let both = few.iter().filter(|run| many.binary_search(run).is_ok()).count();
    let share = f64::from(u32::try_from(both).ok()?) / f64::from(u32::try_from(few.len()).ok()?);
    Some((share * 100.0).round())
}

/// Returns the highest comparable shingle: only the lowest shingles of a long document are known.
fn highest_comparable_shingle(document: &DocumentFacts) -> u64 {
    let highest = document.shingles.last().copied().unwrap_or(u64::MAX);
    if document.shingles.len() < kept_runs(document.format) { u64::MAX } else { highest }
}

fn is_compared(document: &DocumentFacts) -> bool {
    let name = name_of(&document.path).to_ascii_lowercase();
    document.shingles.len() >= MIN_COMPARED_SHINGLES
        && !COMMON_DOCUMENT_NAMES.iter().any(|text| name.contains(text))
        && !places::is_sample(&document.path)
        && !places::is_test(&document.path)
        && !places::is_in_series(&document.path)
        && !places::is_partial(&document.path)
        && !places::is_output(&document.path)
        && !folder_of(&document.path)
            .split('/')
            .any(|folder| folder.starts_with('.') && folder != ".github")
}

/// Whether two documents are expected to be similar: translations, versions, examples, a page and its source.
fn is_expected(one: &DocumentFacts, other: &DocumentFacts) -> bool {
    let is_page = one.format != other.format
        && (one.format == DocumentFormat::Html || other.format == DocumentFormat::Html);
    let is_example = |document: &DocumentFacts| {
        folder_of(&document.path).split('/').any(|folder| EXAMPLE_FOLDERS.contains(&folder))
    };
    // English represents all translations: similar pairs are similar in each language.
    let has_variant =
        |document: &DocumentFacts| places::variants(&document.path).any(|variant| variant != "en");
    is_page || is_example(one) && is_example(other) || has_variant(one) || has_variant(other)
}

fn to_duplicate((one, other, alike): Pair<'_>) -> Duplicate {
    let (one, other) = (one.path.to_string(), other.path.to_string());
    let (one, other) = if one <= other { (one, other) } else { (other, one) };
    Duplicate { one, other, alike }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_chains_of_copies_take_few_steps() {
        let mut families = DuplicateGroups::default();
        let count = 20_000;
        // Each pair makes the last one the root of all previous ones.
        for n in 1..count {
            assert!(families.join(&n.to_string(), "0"), "{n}");
        }
        assert!(!families.join("0", "19999"));
        assert!(families.steps < 4 * count, "{}", families.steps);
    }
}
