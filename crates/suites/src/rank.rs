//! Ranked search over short texts in memory: how text becomes terms, and BM25 over weighted fields.
//!
//! Knows nothing of code or documentation: a document is an array of texts, one for each field.

use rust_stemmers::{Algorithm, Stemmer};
use std::{
    cmp::Ordering,
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

/// How fast another mention of a word stops to matter.
const SATURATION: f64 = 1.2;
/// How much a long field is held against a document.
const LENGTH: f64 = 0.75;
/// A longer run without a space is data, not a word.
const LONGEST_WORD: usize = 80;

/// Words that say nothing of what is asked for.
const STOP_WORDS: &[&str] = &[
    "a", "about", "above", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as",
    "at", "be", "because", "been", "before", "being", "below", "between", "both", "but", "by",
    "can", "could", "did", "do", "does", "doing", "down", "during", "each", "few", "for", "from",
    "further", "had", "has", "have", "having", "he", "her", "here", "hers", "him", "his", "how",
    "i", "if", "in", "into", "is", "it", "its", "itself", "just", "me", "more", "most", "my", "no",
    "nor", "not", "of", "off", "on", "once", "only", "or", "other", "our", "ours", "out", "over",
    "own", "same", "she", "should", "so", "some", "such", "than", "that", "the", "their", "theirs",
    "them", "then", "there", "these", "they", "this", "those", "through", "to", "too", "under",
    "until", "up", "very", "was", "we", "were", "what", "when", "where", "which", "while", "who",
    "whom", "why", "will", "with", "would", "you", "your", "yours",
];

static STOPPED: LazyLock<HashSet<&str>> = LazyLock::new(|| STOP_WORDS.iter().copied().collect());

/// The terms of a text, in order: words in lower case and without their English endings. An identifier gives itself
/// whole and each of its parts. Words that say nothing are left out.
pub(crate) fn terms(text: &str) -> Vec<String> {
    let stemmer = Stemmer::create(Algorithm::English);
    let mut terms = Vec::new();
    for run in text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-') {
        let run = run.trim_matches(['_', '-']);
        if run.is_empty() || run.len() > LONGEST_WORD {
            continue;
        }
        let parts = parts(run);
        if let [only] = parts.as_slice() {
            push(&mut terms, only, &stemmer);
            continue;
        }
        terms.push(run.to_lowercase());
        for part in parts.iter().filter(|part| part.chars().nth(1).is_some()) {
            push(&mut terms, part, &stemmer);
        }
    }
    terms
}

fn push(terms: &mut Vec<String>, word: &str, stemmer: &Stemmer) {
    let word = word.to_lowercase();
    if STOPPED.contains(word.as_str()) {
        return;
    }
    let plain = word.len() > 2 && word.bytes().all(|b| b.is_ascii_lowercase());
    terms.push(if plain { stemmer.stem(&word).into_owned() } else { word });
}

/// Splits `parseHTTPResponse2_final` into `parse`, `HTTP`, `Response`, `2`, `final`.
fn parts(run: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for piece in run.split(['_', '-']).filter(|piece| !piece.is_empty()) {
        let letters: Vec<(usize, char)> = piece.char_indices().collect();
        let mut start = 0;
        for (n, window) in letters.windows(2).enumerate() {
            let [(_, before), (at, here)] = *window else { continue };
            let next = letters.get(n + 2).map(|&(_, c)| c);
            let hump = before.is_lowercase() && here.is_uppercase();
            let acronym_ends = before.is_uppercase()
                && here.is_uppercase()
                && next.is_some_and(char::is_lowercase);
            let digits_meet = before.is_numeric() != here.is_numeric();
            if hump || acronym_ends || digits_meet {
                parts.extend(piece.get(start..at));
                start = at;
            }
        }
        parts.extend(piece.get(start..));
    }
    parts
}

/// Names a document of one [`Index`]. It is used again after the document has been removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct DocumentId(u32);

/// A document that matches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Hit {
    /// Which one.
    pub(crate) document: DocumentId,
    /// BM25 over the most that the same query could reach, under a square root: 0 to 1, and in the order of BM25.
    /// One mention of every word in a field of weight 1 is 0.67; the same in a field of weight 4 is 0.88. A word that
    /// no document holds counts as one that half of them hold.
    pub(crate) similarity: f64,
}

/// Where a term stands: a document, and how often in each field.
type Posting<const F: usize> = (u32, [u16; F]);

#[derive(Debug)]
struct Term<const F: usize> {
    live: u32,
    postings: Vec<Posting<F>>,
}

#[derive(Debug)]
struct Document<const F: usize> {
    lengths: [u32; F],
    terms: Box<[u32]>,
}

/// Documents of `F` fields, searchable at any time between changes.
#[derive(Debug)]
pub(crate) struct Index<const F: usize> {
    weights: [f64; F],
    ids: HashMap<String, u32>,
    terms: Vec<Term<F>>,
    documents: Vec<Option<Document<F>>>,
    /// Removed, and gone from every posting.
    free: Vec<u32>,
    /// Removed, and still in postings.
    dead: Vec<u32>,
    lengths: [f64; F],
}

impl<const F: usize> Index<F> {
    /// An empty index whose fields count this much.
    pub(crate) fn new(weights: [f64; F]) -> Self {
        Self {
            weights,
            ids: HashMap::new(),
            terms: Vec::new(),
            documents: Vec::new(),
            free: Vec::new(),
            dead: Vec::new(),
            lengths: [0.0; F],
        }
    }

    /// How many documents there are.
    fn len(&self) -> usize {
        self.documents.len() - self.free.len() - self.dead.len()
    }

    /// Adds a document.
    pub(crate) fn insert(&mut self, fields: [&str; F]) -> DocumentId {
        let mut counts: HashMap<u32, [u16; F]> = HashMap::new();
        let mut lengths = [0_u32; F];
        for (field, text) in fields.iter().enumerate() {
            for term in terms(text) {
                let id = self.term(term);
                let count = &mut counts.entry(id).or_insert([0; F])[field];
                *count = count.saturating_add(1);
                lengths[field] += 1;
            }
            self.lengths[field] += f64::from(lengths[field]);
        }
        let slot = self.slot();
        let mut held: Vec<u32> = counts.keys().copied().collect();
        held.sort_unstable();
        for (id, count) in counts {
            let term = &mut self.terms[id as usize];
            term.live += 1;
            term.postings.push((slot, count));
        }
        self.documents[slot as usize] = Some(Document { lengths, terms: held.into() });
        DocumentId(slot)
    }

    fn term(&mut self, term: String) -> u32 {
        let next = u32::try_from(self.terms.len()).unwrap_or(u32::MAX);
        *self.ids.entry(term).or_insert_with(|| {
            self.terms.push(Term { live: 0, postings: Vec::new() });
            next
        })
    }

    fn slot(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.documents.push(None);
            u32::try_from(self.documents.len() - 1).unwrap_or(u32::MAX)
        })
    }

    /// Removes a document; nothing happens where it is gone already.
    pub(crate) fn remove(&mut self, document: DocumentId) {
        let Some(gone) = self.documents.get_mut(document.0 as usize).and_then(Option::take) else {
            return;
        };
        for id in &gone.terms {
            self.terms[*id as usize].live -= 1;
        }
        for (sum, length) in self.lengths.iter_mut().zip(gone.lengths) {
            *sum -= f64::from(length);
        }
        self.dead.push(document.0);
        // Sweeping costs a pass over everything, so it waits until half of everything is dead.
        if self.dead.len() > self.len().max(64) {
            for term in &mut self.terms {
                term.postings.retain(|(slot, _)| self.documents[*slot as usize].is_some());
            }
            self.free.append(&mut self.dead);
        }
    }

    /// The best documents among those to keep, best first; ties in the order of insertion.
    pub(crate) fn search(
        &self,
        query: &str,
        limit: usize,
        keep: impl Fn(DocumentId) -> bool,
    ) -> Vec<Hit> {
        let mut wanted: HashMap<String, f64> = HashMap::new();
        for term in terms(query) {
            *wanted.entry(term).or_default() += 1.0;
        }
        let mut scores: HashMap<u32, f64> = HashMap::new();
        let mut ideal = 0.0;
        for (text, times) in wanted {
            let known = self
                .ids
                .get(&text)
                .map(|id| &self.terms[*id as usize])
                .filter(|term| term.live > 0);
            let Some(term) = known else {
                // An identifier that nobody wrote that way still matches by its parts.
                ideal +=
                    if text.contains(['_', '-']) { 0.0 } else { times * std::f64::consts::LN_2 };
                continue;
            };
            let rarity = times * self.rarity(term.live);
            ideal += rarity;
            for (slot, counts) in &term.postings {
                let Some(document) = &self.documents[*slot as usize] else { continue };
                let frequency = self.frequency(document, counts);
                *scores.entry(*slot).or_default() += rarity * frequency / (frequency + SATURATION);
            }
        }
        let mut hits: Vec<Hit> = scores
            .into_iter()
            .map(|(slot, score)| Hit {
                document: DocumentId(slot),
                similarity: (score / ideal).clamp(0.0, 1.0).sqrt(),
            })
            .filter(|hit| keep(hit.document))
            .collect();
        let better = |a: &Hit, b: &Hit| {
            b.similarity
                .partial_cmp(&a.similarity)
                .unwrap_or(Ordering::Equal)
                .then(a.document.cmp(&b.document))
        };
        hits.sort_unstable_by(better);
        hits.truncate(limit);
        hits
    }

    fn rarity(&self, holders: u32) -> f64 {
        let (all, holders) =
            (f64::from(u32::try_from(self.len()).unwrap_or(u32::MAX)), f64::from(holders));
        (1.0 + (all - holders + 0.5) / (holders + 0.5)).ln()
    }

    /// Mentions over all fields, each divided by how long the field is beside the usual.
    fn frequency(&self, document: &Document<F>, counts: &[u16; F]) -> f64 {
        let all = f64::from(u32::try_from(self.len()).unwrap_or(u32::MAX));
        let mut sum = 0.0;
        for (field, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let usual = self.lengths[field] / all;
            let length = 1.0 - LENGTH + LENGTH * f64::from(document.lengths[field]) / usual;
            sum += self.weights[field] * f64::from(*count) / length;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_becomes_terms() {
        let cases: &[(&str, &[&str])] = &[
            ("", &[]),
            ("The users of a table", &["user", "tabl"]),
            ("loginUser", &["loginuser", "login", "user"]),
            ("max_connections", &["max_connections", "max", "connect"]),
            ("--no-verify", &["no-verify", "verifi"]),
            ("parseHTTPResponse", &["parsehttpresponse", "pars", "http", "respons"]),
            ("SHA256Sum", &["sha256sum", "sha", "256", "sum"]),
            ("utf8", &["utf8", "utf"]),
            ("B-trees", &["b-trees", "tree"]),
            ("__init__", &["init"]),
            ("Authenticates authentication", &["authent", "authent"]),
            ("größerÄnderung", &["größeränderung", "größer", "änderung"]),
            ("C", &["c"]),
            ("email/password, done.", &["email", "password", "done"]),
            ("_ - --", &[]),
        ];
        for (text, want) in cases {
            assert_eq!(terms(text), *want, "{text}");
        }
        assert_eq!(terms(&"x".repeat(LONGEST_WORD + 1)), Vec::<String>::new());
    }

    fn three() -> (Index<2>, [DocumentId; 3]) {
        let mut index = Index::new([4.0, 1.0]);
        let login = index.insert(["loginUser", "Authenticates a user with email and password"]);
        let token = index.insert(["validateToken", "Validates an authentication token"]);
        let logo = index.insert(["drawLogo", "Draws the logo of the company"]);
        (index, [login, token, logo])
    }

    #[test]
    fn the_best_match_comes_first() {
        let (index, [login, token, logo]) = three();
        let cases: &[(&str, &[DocumentId])] = &[
            ("user authentication", &[login, token]),
            ("validate", &[token]),
            ("validateToken", &[token]),
            ("validate-token", &[token]),
            ("who draws logos?", &[logo]),
            ("the of and", &[]),
            ("nothing like it", &[]),
            ("", &[]),
        ];
        for (query, want) in cases {
            let got: Vec<DocumentId> =
                index.search(query, 10, |_| true).iter().map(|hit| hit.document).collect();
            assert_eq!(got, *want, "{query}");
        }
        assert_eq!(index.search("user authentication", 1, |_| true).len(), 1);
        assert_eq!(index.search("user authentication", 9, |id| id == token)[0].document, token);
    }

    #[test]
    fn similarity_falls_with_what_is_missing() {
        let mut index = Index::new([4.0, 1.0]);
        let name = index.insert(["copy", "bytes"]);
        let text = index.insert(["bytes", "copy"]);
        let similar = |query: &str, id| {
            index.search(query, 9, |it| it == id).first().map(|hit| hit.similarity)
        };
        let (in_name, in_text) = (similar("copy", name).unwrap(), similar("copy", text).unwrap());
        assert!((in_name - (4.0_f64 / 5.2).sqrt()).abs() < 1e-9, "{in_name}");
        assert!((in_text - (1.0_f64 / 2.2).sqrt()).abs() < 1e-9, "{in_text}");
        let diluted = similar("copy zebra", name).unwrap();
        assert!(diluted < in_name && diluted > 0.0, "{diluted}");
        assert_eq!(similar("copy_bytes", name), similar("copy bytes", name));
    }

    #[test]
    fn a_removed_document_leaves_nothing_behind() {
        let (mut index, [login, token, _]) = three();
        let before = index.search("authentication token", 9, |_| true);
        for _ in 0..500 {
            let id = index.insert(["loginUser", "authentication authentication token"]);
            index.remove(id);
            index.remove(id);
        }
        assert_eq!(index.search("authentication token", 9, |_| true), before);
        assert!(index.documents.len() < 200, "slots are used again: {}", index.documents.len());
        index.remove(token);
        let left: Vec<_> = index
            .search("authentication token", 9, |_| true)
            .iter()
            .map(|hit| hit.document)
            .collect();
        assert_eq!(left, [login]);
    }
}
