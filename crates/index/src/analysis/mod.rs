//! Splits text into words and terms. Pure, and the same for code and prose: code is full of words, and prose of names.
//!
//! A *word* is a key of the embedding table: a part of an identifier, in lower case. A *term* is what two texts
//! must share to match: a word without its English ending, or an identifier whole. What a
//! heading has is kept as it is *written* as well.

mod asked;
mod terms;
mod words;
mod written;

pub(crate) use asked::{asked, content};
pub(crate) use terms::{Field, TermCounts, Terms, key, pair_key, stem_of, terms, written_term};
pub(crate) use words::{identifiers, parts, words};
pub(crate) use written::{exact_names, written};
