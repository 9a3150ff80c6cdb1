//! Terms, and their counts per field of a unit.

use super::{
    verbatim::for_each_verbatim_word,
    words::{identifiers, parts},
};
use crate::unit::{Genre, IndexUnit};
use rust_stemmers::{Algorithm, Stemmer};
use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    sync::LazyLock,
};
use xxhash_rust::xxh3::xxh3_64;

/// Words without content.
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
/// Cached stems per indexing thread, where most words recur. There are as many such threads as cores.
const STEM_CACHE_ENTRIES: usize = 1 << 16;
/// Cached stems per other thread: a server has dozens.
const SMALL_STEM_CACHE_ENTRIES: usize = 1 << 12;

static STOPPED: LazyLock<HashSet<&str>> = LazyLock::new(|| STOP_WORDS.iter().copied().collect());

thread_local! {
    /// Stem of a word in lower case; `None` for stop words.
    static STEMS: RefCell<HashMap<Box<str>, Option<Box<str>>>> = RefCell::default();
}

/// The searched fields of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum UnitField {
    Name,
    Path,
    Signature,
    Doc,
    Body,
}

impl UnitField {
    pub(crate) const ALL: [Self; 5] =
        [Self::Name, Self::Path, Self::Signature, Self::Doc, Self::Body];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Path => "path",
            Self::Signature => "signature",
            Self::Doc => "doc",
            Self::Body => "body",
        }
    }

    /// Weight of a word in this field when searching candidates, as a number of occurrences.
    pub(crate) const fn weight(self) -> usize {
        match self {
            Self::Name => 4,
            Self::Doc => 2,
            Self::Path | Self::Signature | Self::Body => 1,
        }
    }

    pub(crate) fn text_of<'a>(self, unit: &'a IndexUnit, path: &'a str) -> &'a str {
        match self {
            Self::Name => &unit.name,
            Self::Path => path,
            Self::Signature => &unit.signature,
            Self::Doc => &unit.doc,
            Self::Body => &unit.body,
        }
    }
}

/// Calls `each` with the terms of a text in order, and whether each is a compound name. A compound name yields
/// itself and each of its parts.
pub(crate) fn terms(text: &str, mut each: impl FnMut(&str, bool)) {
    let mut lower = String::new();
    for identifier in identifiers(text) {
        let mut count = 0;
        parts(identifier, |_| count += 1);
        if count > 1 {
            lower_into(identifier, &mut lower);
            each(&lower, true);
        }
        parts(identifier, |part| {
            // A single letter from a compound name is dropped; a one-letter name is kept.
            if count == 1 || part.chars().nth(1).is_some() {
                lower_into(part, &mut lower);
                with_stem(&lower, |term| each(term, false));
            }
        });
    }
}

fn lower_into(text: &str, lower: &mut String) {
    lower.clear();
    if text.is_ascii() {
        lower.push_str(text);
        lower.make_ascii_lowercase();
    } else {
        lower.extend(text.chars().flat_map(char::to_lowercase));
    }
}

fn with_stem(word: &str, each: impl FnOnce(&str)) {
    if !has_stem(word) {
        if !STOPPED.contains(word) {
            each(word);
        }
        return;
    }
    STEMS.with_borrow_mut(|stems| {
        if let Some(stem) = stems.get(word) {
            return stem.as_deref().map_or((), each);
        }
        let in_pool = rayon::current_thread_index().is_some();
        if stems.len() >= if in_pool { STEM_CACHE_ENTRIES } else { SMALL_STEM_CACHE_ENTRIES } {
            stems.clear();
        }
        let stem = stem(word);
        if let Some(stem) = &stem {
            each(stem);
        }
        stems.insert(word.into(), stem);
    });
}

/// Whether a word may differ from its stem. Others, such as numbers, are too many to cache.
fn has_stem(word: &str) -> bool {
    word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_lowercase())
}

fn stem(word: &str) -> Option<Box<str>> {
    (!STOPPED.contains(word)).then(|| Stemmer::create(Algorithm::English).stem(word).into())
}

/// Stem of a word in lower case; `None` for stop words.
pub(crate) fn stem_of(word: &str) -> Option<Box<str>> {
    let mut stem = None;
    with_stem(word, |term| stem = Some(term.into()));
    stem
}

/// A verbatim word of a heading in the lexical index, distinct from any other term.
pub(crate) fn written_term(word: &str) -> String {
    format!("={word}")
}

/// The four-byte key of a term. Two of a unit's few hundred terms collide about once in ten million units.
pub(crate) fn key(term: &str) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "the low half of a hash is a hash")]
    let low = xxh3_64(term.as_bytes()) as u32;
    low
}

/// The key of two consecutive terms.
pub(crate) fn pair_key(first: u32, second: u32) -> u32 {
    // Any mix that depends on the order will do.
    first.rotate_left(15).wrapping_mul(0x9e37_79b1) ^ second
}

/// The terms and consecutive pairs of terms of a unit, with their counts per field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct UnitTerms {
    /// Sorted by key.
    pub(crate) counts: Vec<(u32, TermCounts)>,
    /// Number of terms in each field.
    pub(crate) lengths: [u16; 5],
}

/// Occurrences in each field, at most 255.
pub(crate) type TermCounts = [u8; 5];

impl UnitTerms {
    /// Counts the terms of a unit, and writes them for the lexical index, separated by spaces and repeated by the weight
    /// of their field. Reads only the first `body_terms` of a body. Adds the verbatim words of prose headings.
    pub(crate) fn of(
        unit: &IndexUnit,
        path: &str,
        genre: Genre,
        body_terms: usize,
        weighted: &mut String,
    ) -> Self {
        if genre == Genre::Prose {
            headings(unit, body_terms, weighted);
        }
        // Sorting groups equal keys: faster than a map for a few hundred of them.
        let mut mentions: Vec<(u32, usize)> = Vec::new();
        let mut lengths = [0_u16; 5];
        for (n, field) in UnitField::ALL.into_iter().enumerate() {
            let mut before = None;
            terms(truncate_to_terms(field.text_of(unit, path), body_terms), |term, whole| {
                if usize::from(lengths[n]) >= body_terms {
                    return;
                }
                lengths[n] = lengths[n].saturating_add(1);
                let this = key(term);
                mentions.push((this, n));
                if !whole && let Some(before) = before.replace(this) {
                    mentions.push((pair_key(before, this), n));
                }
                for _ in 0..field.weight() {
                    weighted.push_str(term);
                    weighted.push(' ');
                }
            });
        }
        mentions.sort_unstable();
        let mut counts: Vec<(u32, TermCounts)> = Vec::with_capacity(mentions.len());
        for (key, field) in mentions {
            if counts.last().is_none_or(|(last, _)| *last != key) {
                counts.push((key, [0; 5]));
            }
            if let Some((_, count)) = counts.last_mut() {
                count[field] = count[field].saturating_add(1);
            }
        }
        Self { counts, lengths }
    }
}

/// Writes each verbatim word of a unit's headings once.
fn headings(unit: &IndexUnit, most: usize, weighted: &mut String) {
    let mut known = HashSet::new();
    for text in [&unit.name, &unit.signature] {
        for_each_verbatim_word(truncate_to_terms(text, most), |word| {
            if known.len() < most && !STOPPED.contains(word) && !known.contains(word) {
                known.insert(word.to_owned());
                weighted.push_str(&written_term(word));
                weighted.push(' ');
            }
        });
    }
}

/// Truncates a text to what can yield `terms` terms: a long file need not be read to its end.
fn truncate_to_terms(text: &str, terms: usize) -> &str {
    let most = terms.saturating_mul(24);
    if text.len() <= most {
        return text;
    }
    text.get(..text.floor_char_boundary(most)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<String> {
        let mut got = Vec::new();
        terms(text, |term, _| got.push(term.to_owned()));
        got
    }

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
            assert_eq!(all(text), *want, "{text}");
            assert_eq!(all(text), *want, "{text}, remembered");
        }
    }

    #[test]
    fn what_is_asked_is_remembered_within_bounds() {
        let remembered = || STEMS.with_borrow(HashMap::len);
        for number in 0..10_000 {
            all(&format!("{number} x{number} é{number}"));
        }
        assert_eq!(remembered(), 0, "numbers have no stem");
        let letters = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
        for number in 0..2 * SMALL_STEM_CACHE_ENTRIES {
            let word: String = [1, 10, 100, 1000].map(|d| letters[number / d % 10]).concat();
            all(&format!("word{word}"));
        }
        assert!((1..=SMALL_STEM_CACHE_ENTRIES).contains(&remembered()), "{}", remembered());
    }

    #[test]
    fn terms_are_counted_by_field_and_weighted() {
        let unit = IndexUnit {
            name: "copyFile".into(),
            doc: "Copies a file.".into(),
            body: "copy(file, file)".into(),
            ..IndexUnit::default()
        };
        let mut weighted = String::new();
        let terms = UnitTerms::of(&unit, "src/copy.rs", Genre::Code, 100, &mut weighted);
        let counts: HashMap<u32, TermCounts> = terms.counts.iter().copied().collect();
        assert_eq!(counts[&key("file")], [1, 0, 0, 1, 2]);
        assert_eq!(counts[&key("copi")], [1, 1, 0, 1, 1]);
        assert_eq!(counts[&key("copyfile")], [1, 0, 0, 0, 0]);
        assert_eq!(counts[&pair_key(key("copi"), key("file"))], [1, 0, 0, 1, 1]);
        assert!(!counts.contains_key(&pair_key(key("rs"), key("copi"))));
        assert_eq!(terms.lengths, [3, 3, 0, 2, 3]);
        assert_eq!(weighted.split(' ').filter(|term| *term == "file").count(), 4 + 2 + 2);
    }

    #[test]
    fn headings_of_prose_are_kept_as_they_are_written() {
        let unit = IndexUnit {
            name: "The git-commit page".into(),
            signature: "Options > --no-verify, -n > --all".into(),
            ..IndexUnit::default()
        };
        let of = |genre| {
            let mut weighted = String::new();
            let terms = UnitTerms::of(&unit, "", genre, 100, &mut weighted);
            let written = weighted.split(' ').filter(|term| term.starts_with('='));
            (terms, written.map(str::to_owned).collect::<Vec<_>>())
        };
        let (terms, written) = of(Genre::Prose);
        let want = ["=git-commit", "=page", "=options", "=--no-verify", "=-n", "=--all"];
        assert_eq!(written, want);
        assert_eq!(of(Genre::Code), (terms, Vec::new()));
    }

    #[test]
    fn a_long_body_is_read_in_part() {
        let unit = IndexUnit { body: "word ".repeat(50_000), ..IndexUnit::default() };
        let mut weighted = String::new();
        let terms = UnitTerms::of(&unit, "", Genre::Code, 10, &mut weighted);
        assert_eq!(terms.lengths, [0, 0, 0, 0, 10]);
        assert_eq!(weighted, "word ".repeat(10));
    }
}
