//! Splits text into words and terms. Pure, and the same for code and prose: code is full of words, and prose of names.
//!
//! A *word* is a key of the embedding table: a part of an identifier, in lower case. A *term* is what two texts
//! must share to match: a word without its English ending, or an identifier whole. What a
//! heading has is kept as it is *written* as well.

mod question;
mod terms;
mod words;
mod verbatim;

pub(crate) use question::{content_words, content};
pub(crate) use terms::{UnitField, TermCounts, UnitTerms, key, pair_key, stem_of, terms, written_term};
pub(crate) use words::{identifiers, parts, words};
pub(crate) use verbatim::{exact_names, for_each_verbatim_word};
