//! Spelling correction for words of a query that no unit contains.

use crate::{
    analysis::{content_words, parts, stem_of, terms, words},
    query::{AnalyzedQuery, UnitFilter},
    store::{IndexStoreError, NearbyTerms, StoreView},
    synonyms::Synonyms,
    unit::Genre,
};
use std::collections::HashMap;

/// Maximum number of unknown words; with more, the query does not fit at all.
const MAX_CHECKED_WORDS: usize = 4;
/// Maximum number of corrections per word.
const MAX_REPLACEMENTS: usize = 3;
/// Maximum number of vocabulary terms considered per word.
const MAX_NEAR_TERMS: usize = 256;
/// Minimum length of a corrected word; shorter words resemble too many others.
const MIN_WORD_LETTERS: usize = 4;
/// Minimum length for two wrong letters.
const TWO_ERRORS_FROM_LETTERS: usize = 8;
/// Minimum length for a wrong first letter; shorter words differ in meaning, as docker and locker do.
const FIRST_LETTER_FREE_FROM_LETTERS: usize = 8;
/// Maximum length of an ending removed by stemming.
const MAX_ENDING_LETTERS: usize = 8;
/// Number of units read to see how a word is spelled.
const MAX_READ_UNITS: usize = 8;
/// Maximum rarity of a correction relative to the best one.
const MAX_RARITY_RATIO: u64 = 10;

/// Word endings. The vocabulary has stems; restoring the ending yields the intended word.
const ENDINGS: &[&str] = &[
    "", "s", "e", "es", "ed", "er", "ers", "or", "ors", "y", "ies", "ied", "ing", "ings", "ion",
    "ions", "ation", "ations", "ate", "ated", "ates", "ating", "ator", "able", "ible", "ability",
    "ment", "ments", "ity", "ities", "ly", "al", "ally", "ance", "ence", "ancy", "ency", "ant",
    "ent", "ary", "ic", "ical", "icate", "icated", "ication", "ications", "ive", "ization", "ize",
    "ized", "izing", "ness", "ous",
];

/// A query with corrected spelling.
#[derive(Debug, Default)]
pub(super) struct CorrectedQuery {
    /// The query, with the most likely corrections.
    pub(super) text: String,
    /// Corrected terms, with further likely corrections.
    pub(super) others: Vec<(String, Vec<String>)>,
}

/// A possible correction from the vocabulary.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct SpellingCandidate {
    distance: usize,
    /// Reversed, so that common words come first.
    rarity: std::cmp::Reverse<u64>,
    term: String,
    word: String,
}

/// Replaces words that no unit of the collections contains with the nearest ones, and notes that. Uses only prose, since
/// names in code have arbitrary spelling.
pub(super) fn spell(
    view: &dyn StoreView,
    text: &str,
    filter: &UnitFilter,
    synonyms: &Synonyms,
    notes: &mut Vec<String>,
) -> Result<CorrectedQuery, IndexStoreError> {
    let mut spelled = CorrectedQuery { text: text.to_owned(), others: Vec::new() };
    // From the end, so that earlier positions stay valid.
    let mut unknown = unknown(view, text, filter, synonyms)?;
    unknown.truncate(MAX_CHECKED_WORDS);
    if unknown.is_empty() || !view.has_genre(Genre::Prose, filter) {
        return Ok(spelled);
    }
    let mut replaced = Vec::new();
    for word in unknown.into_iter().rev() {
        let meant = spelling_candidates(view, &word.to_lowercase(), filter)?;
        let Some(best) = meant.first() else { continue };
        let start = (word.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
        let end = start + word.len();
        if let (Some(before), Some(after)) = (spelled.text.get(..start), spelled.text.get(end..)) {
            spelled.text = format!("{before}{}{after}", best.word);
        }
        let words: Vec<String> = meant.iter().map(|one| format!("{:?}", one.word)).collect();
        replaced
            .push(format!("No match for {word:?}; searched for {} instead.", words.join(" and ")));
        let others = meant.iter().skip(1).map(|one| one.term.clone()).collect();
        spelled.others.push((best.term.clone(), others));
    }
    notes.extend(replaced.into_iter().rev());
    Ok(spelled)
}

/// The words of a query that no unit contains, as written.
fn unknown<'a>(
    view: &dyn StoreView,
    text: &'a str,
    filter: &UnitFilter,
    synonyms: &Synonyms,
) -> Result<Vec<&'a str>, IndexStoreError> {
    let mut unknown = Vec::new();
    for identifier in content_words(text) {
        let mut words = Vec::new();
        parts(identifier, |part| words.push(part));
        let mut whole = None;
        terms(identifier, |term, _| {
            whole.get_or_insert_with(|| term.to_owned());
        });
        // A known compound name is correct, whatever its parts are.
        let Some(whole) = whole else { continue };
        if synonyms.knows(&whole) || view.has(&whole, None, filter)? {
            continue;
        }
        for word in words {
            let lower = word.to_lowercase();
            let plain = lower.bytes().all(|byte| byte.is_ascii_lowercase());
            if plain
                && lower.len() >= MIN_WORD_LETTERS
                && let Some(term) = stem_of(&lower)
                && !synonyms.knows(&term)
                && !view.has(&term, None, filter)?
            {
                unknown.push(word);
            }
        }
    }
    Ok(unknown)
}

/// Possible corrections of a word, most likely first.
fn spelling_candidates(
    view: &dyn StoreView,
    word: &str,
    filter: &UnitFilter,
) -> Result<Vec<SpellingCandidate>, IndexStoreError> {
    let mut found = nearest(view, word, true, filter)?;
    if found.is_empty() && word.len() >= FIRST_LETTER_FREE_FROM_LETTERS {
        found = nearest(view, word, false, filter)?;
    }
    Ok(found)
}

fn nearest(
    view: &dyn StoreView,
    word: &str,
    same_first: bool,
    filter: &UnitFilter,
) -> Result<Vec<SpellingCandidate>, IndexStoreError> {
    let most = if word.len() >= TWO_ERRORS_FROM_LETTERS { 2 } else { 1 };
    let stem = stem_of(word);
    let mut near_to: Vec<(&str, u8)> =
        stem.as_deref().map(|stem| (stem, most)).into_iter().collect();
    // A misspelled ending is not removed: the stem is then similar to some prefix of the word.
    let shortest = MIN_WORD_LETTERS.max(word.len().saturating_sub(MAX_ENDING_LETTERS));
    let beginnings = (shortest..word.len()).filter_map(|end| word.get(..end));
    near_to.extend(beginnings.map(|start| (start, u8::from(start.len() > MIN_WORD_LETTERS))));
    let mut near: HashMap<String, u64> = HashMap::new();
    for (term, distance) in near_to {
        near.extend(view.vocabulary(&NearbyTerms {
            term,
            distance,
            same_first,
            most: MAX_NEAR_TERMS,
        })?);
    }
    let mut all: Vec<SpellingCandidate> = near
        .into_iter()
        .filter_map(|(term, holders)| {
            let (distance, word) = closest_word(&term, word, usize::from(most))?;
            Some(SpellingCandidate { distance, rarity: std::cmp::Reverse(holders), term, word })
        })
        .collect();
    all.sort();
    let mut kept: Vec<SpellingCandidate> = Vec::new();
    for one in all {
        if kept.len() == MAX_REPLACEMENTS {
            break;
        }
        let fits = kept.first().is_none_or(|best| {
            one.distance == best.distance && one.rarity.0 >= best.rarity.0 / MAX_RARITY_RATIO
        });
        if fits && view.has(&one.term, Some(Genre::Prose), filter)? {
            let read = as_written(view, &one.term, word, filter)?;
            kept.push(SpellingCandidate { word: read.unwrap_or(one.word), ..one });
        }
    }
    Ok(kept)
}

/// The word with this stem closest to the written one, unless it is too different.
fn closest_word(stem: &str, written: &str, most: usize) -> Option<(usize, String)> {
    let mut bases = vec![stem.to_owned()];
    bases.extend(stem.strip_suffix('i').map(|base| format!("{base}y")));
    let words = bases.iter().flat_map(|base| ENDINGS.iter().map(move |end| format!("{base}{end}")));
    let near = words
        .filter(|word| word.len().abs_diff(written.len()) <= most)
        .map(|word| (strsim::osa_distance(&word, written), word))
        .filter(|(distance, word)| *distance <= most && stem_of(word).as_deref() == Some(stem));
    near.min_by_key(|(distance, _)| *distance)
}

/// The word with this stem in the first units found that is closest to the written one.
fn as_written(
    view: &dyn StoreView,
    stem: &str,
    written: &str,
    filter: &UnitFilter,
) -> Result<Option<String>, IndexStoreError> {
    let candidates = view.candidates(&AnalyzedQuery::new(stem, None), filter, MAX_READ_UNITS)?;
    let mut best: Option<(usize, String)> = None;
    for row in candidates.rows().take(MAX_READ_UNITS) {
        let unit = view.unit(row)?.unit;
        for text in [&unit.name, &unit.signature, &unit.body] {
            words(text, |word| {
                let nearer = word.len().abs_diff(written.len()) <= 2
                    && best.as_ref().is_none_or(|(_, known)| known != word)
                    && stem_of(word).as_deref() == Some(stem);
                if nearer {
                    let this = (strsim::osa_distance(word, written), word.to_owned());
                    if this.0 <= 2 && best.as_ref().is_none_or(|best| this < *best) {
                        best = Some(this);
                    }
                }
            });
        }
    }
    Ok(best.map(|(_, word)| word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stem_gets_the_ending_back_that_was_meant() {
        let cases = [
            ("connect", "conections", 2, Some((1, "connections"))),
            ("replic", "replicaton", 2, Some((1, "replication"))),
            ("configur", "confgiuration", 2, Some((1, "configuration"))),
            ("queri", "qurey", 1, Some((1, "query"))),
            ("databas", "databse", 1, Some((1, "database"))),
            ("environ", "enviroment", 2, Some((1, "environment"))),
            ("vacuum", "vaccum", 1, Some((1, "vacuum"))),
            ("label", "table", 1, None),
            ("", "table", 1, None),
        ];
        for (stem, written, most, want) in cases {
            let want = want.map(|(distance, word)| (distance, word.to_owned()));
            assert_eq!(closest_word(stem, written, most), want, "{written}");
        }
    }
}
