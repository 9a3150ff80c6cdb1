//! Synonyms, from the configuration.

use crate::analysis::{content_words, identifiers, key, pair_key, terms};
use std::collections::HashMap;

/// Weight of a synonym relative to the word itself.
const SYNONYM_WEIGHT: f32 = 0.9;
/// Maximum number of terms in a phrase.
const MAX_PHRASE_TERMS: usize = 6;

/// An invalid group of synonyms.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SynonymError {
    /// A group has fewer than two distinct entries.
    #[error(
        "synonym group {group} has fewer than two distinct entries: give it at least two words or phrases, or remove it"
    )]
    Alone {
        /// Number of the group, from 1.
        group: usize,
    },
    /// An entry has no searchable word.
    #[error(
        "{entry:?} in synonym group {group} has no searchable word: write a word or a phrase, or remove it"
    )]
    Wordless {
        /// The entry as given.
        entry: String,
        /// Number of the group, from 1.
        group: usize,
    },
    /// An entry is too long.
    #[error(
        "{entry:?} in synonym group {group} is too long: a synonym is a word or a phrase of at most six words"
    )]
    Long {
        /// The entry as given.
        entry: String,
        /// Number of the group, from 1.
        group: usize,
    },
}

/// Groups of words and short phrases with the same meaning. A word in several groups has the synonyms of each, which do
/// not become synonyms of one another.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Synonyms {
    groups: Vec<Vec<SynonymEntry>>,
    /// Group and position of the entries that start with a term.
    beginnings: HashMap<String, Vec<(usize, usize)>>,
}

#[derive(Debug, Clone, PartialEq)]
struct SynonymEntry {
    /// Every term of the entries, including compound names.
    terms: Vec<String>,
    form: SynonymForm,
}

impl Synonyms {
    /// Builds from lists of words or phrases. Ignores case, endings and stop words.
    pub fn parse(groups: &[Vec<String>]) -> Result<Self, SynonymError> {
        let mut all = Self::default();
        for (at, group) in groups.iter().enumerate() {
            let mut entries: Vec<SynonymEntry> = Vec::new();
            for text in group {
                let entry = SynonymEntry::parse(text, at + 1)?;
                if entries.iter().all(|known| known.terms != entry.terms) {
                    entries.push(entry);
                }
            }
            if entries.len() < 2 {
                return Err(SynonymError::Alone { group: at + 1 });
            }
            for (place, entry) in entries.iter().enumerate() {
                let first = entry.terms.first().cloned().unwrap_or_default();
                all.beginnings.entry(first).or_default().push((at, place));
            }
            all.groups.push(entries);
        }
        Ok(all)
    }

    /// Finds the entries in the ordered terms of a query: position, number of terms, and alternatives.
    pub(crate) fn find_entries(&self, terms: &[String]) -> Vec<(usize, usize, Vec<SynonymForm>)> {
        let mut found = Vec::new();
        for (at, term) in terms.iter().enumerate() {
            for &(group, place) in self.beginnings.get(term).into_iter().flatten() {
                let Some(entries) = self.groups.get(group) else { continue };
                let Some(entry) = entries.get(place) else { continue };
                let here = terms.get(at..at + entry.terms.len());
                if here == Some(entry.terms.as_slice()) {
                    let others = entries.iter().enumerate().filter(|(other, _)| *other != place);
                    let forms = others.map(|(_, other)| other.form.clone()).collect();
                    found.push((at, entry.terms.len(), forms));
                }
            }
        }
        found
    }

    /// Whether a term starts an entry and is thus not a misspelling.
    pub(crate) fn knows(&self, term: &str) -> bool {
        self.beginnings.contains_key(term)
    }
}

impl SynonymEntry {
    fn parse(text: &str, group: usize) -> Result<Self, SynonymError> {
        let mut all = Vec::new();
        terms(text, |term, _| all.push(term.to_owned()));
        let entry = || text.to_owned();
        if all.len() > MAX_PHRASE_TERMS {
            return Err(SynonymError::Long { entry: entry(), group });
        }
        let form = SynonymForm::of(text, SYNONYM_WEIGHT);
        let form = form.ok_or_else(|| SynonymError::Wordless { entry: entry(), group })?;
        Ok(Self { terms: all, form })
    }
}

/// An alternative for a term of a query.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SynonymForm {
    /// Terms that a unit must contain.
    pub(crate) terms: Vec<String>,
    /// Keys: of a single term, or of the consecutive pairs of a phrase.
    pub(crate) keys: Vec<u32>,
    /// Weight relative to the term itself.
    pub(crate) share: f32,
}

impl SynonymForm {
    /// Parses an alternative. A word or compound name matches as a whole; a phrase matches consecutive words.
    pub(crate) fn of(text: &str, share: f32) -> Option<Self> {
        let (mut wholes, mut parts) = (Vec::new(), Vec::new());
        terms(text, |term, is_whole| {
            (if is_whole { &mut wholes } else { &mut parts }).push(term.to_owned());
        });
        let is_name = identifiers(text).count() == 1;
        let terms = if is_name && !wholes.is_empty() || parts.is_empty() { wholes } else { parts };
        let keys: Vec<u32> = terms.iter().map(|term| key(term)).collect();
        let pairs: Vec<u32> = keys
            .iter()
            .zip(keys.iter().skip(1))
            .map(|(before, this)| pair_key(*before, *this))
            .collect();
        let keys = if pairs.is_empty() { keys } else { pairs };
        (!keys.is_empty()).then_some(Self { terms, keys, share })
    }
}

/// The terms of a query in order, and whether each is a compound name.
pub(crate) fn question_terms(text: &str) -> Vec<(String, bool)> {
    let mut all = Vec::new();
    for word in content_words(text) {
        terms(word, |term, is_whole| all.push((term.to_owned(), is_whole)));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From where, how many terms, and what else may stand there.
    type Within = (usize, usize, &'static str);

    fn groups(groups: &[&[&str]]) -> Vec<Vec<String>> {
        groups.iter().map(|group| group.iter().map(|&one| one.to_owned()).collect()).collect()
    }

    #[test]
    fn groups_that_say_nothing_are_refused() {
        let cases: &[(&[&[&str]], &str)] = &[
            (&[&[]], "synonym group 1 has fewer than two"),
            (&[&["a1", "b2"], &["k8s"]], "synonym group 2 has fewer than two"),
            (&[&["connection", "Connections"]], "synonym group 1 has fewer than two"),
            (&[&["k8s", ""]], "\"\" in synonym group 1 has no searchable word"),
            (&[&["k8s", "of the"]], "\"of the\" in synonym group 1 has no searchable word"),
            (&[&["k8s", "one two three four five six seven"]], "is too long"),
        ];
        for (given, want) in cases {
            let error = Synonyms::parse(&groups(given)).unwrap_err().to_string();
            assert!(error.contains(want), "{error}");
        }
        assert_eq!(Synonyms::parse(&[]), Ok(Synonyms::default()));
    }

    #[test]
    fn words_phrases_and_names_stand_for_each_other() {
        let given = groups(&[
            &["k8s", "Kubernetes"],
            &["autovacuum", "vacuum daemon"],
            &["max_connections", "connection limit"],
            &["kubernetes", "orchestrator"],
        ]);
        let synonyms = Synonyms::parse(&given).unwrap();
        let cases: &[(&str, &[Within])] = &[
            ("restart K8s", &[(1, 1, "kubernet")]),
            ("kubernetes pods", &[(0, 1, "k8s"), (0, 1, "orchestr")]),
            ("tune the vacuum daemons", &[(1, 2, "autovacuum")]),
            ("vacuum a daemon's table", &[(0, 2, "autovacuum")]),
            ("daemon vacuum", &[]),
            ("autovacuum", &[(0, 1, "vacuum daemon")]),
            ("max_connections", &[(0, 3, "connect limit")]),
            ("connection limits", &[(0, 2, "max_connections")]),
            ("connection", &[]),
            ("", &[]),
        ];
        for (question, want) in cases {
            let terms: Vec<String> =
                question_terms(question).into_iter().map(|(term, _)| term).collect();
            let found = synonyms.find_entries(&terms);
            let shown: Vec<(usize, usize, String)> = found
                .into_iter()
                .flat_map(|(at, count, forms)| {
                    forms.into_iter().map(move |form| (at, count, form.terms.join(" ")))
                })
                .collect();
            let want: Vec<(usize, usize, String)> =
                want.iter().map(|(at, count, form)| (*at, *count, (*form).to_owned())).collect();
            assert_eq!(shown, want, "{question}");
        }
    }
}
