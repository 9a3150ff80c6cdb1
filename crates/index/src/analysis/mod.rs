//! Splits text into words and terms. Pure, and the same for code and prose: code is full of words, and prose of names.
//!
//! A *word* is a key of the embedding table: a part of an identifier, in lower case. A *term* is what two texts
//! must share to match: a word without its English ending, or an identifier whole. What a
//! heading has is kept as it is *written* as well.

mod question;
mod terms;
mod verbatim;
mod words;

pub(crate) use question::{content, content_words};
pub(crate) use terms::{
    TermCounts, UnitField, UnitTerms, key, pair_key, stem_of, terms, written_term,
};
pub(crate) use verbatim::{exact_names, for_each_verbatim_word};
pub(crate) use words::{identifiers, parts, words};
