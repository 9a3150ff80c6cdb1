//! How text becomes words and terms. Pure, and the same for code and prose: code is full of words, and prose of names.
//!
//! A *word* is what the embedding table is asked for: a part of an identifier, in lower case. A *term* is what two texts
//! must share to match: a word without its English ending, or an identifier whole.

mod terms;
mod words;

pub(crate) use terms::{Field, TermCounts, Terms, key, pair_key, terms};
pub(crate) use words::words;
