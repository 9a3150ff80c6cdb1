//! Judged collections: units to search, and questions with known answers.
//!
//! [`code()`] removes the documentation from a package and asks for each definition by its documentation. [`manual()`]
//! asks for the pages of `PostgreSQL`'s manual by the terms of its printed index. Everything is in memory, and in the
//! same order on every machine. This module must not know how a search is done.

mod code;
mod docstring;
mod manual;
mod own_words;
mod tree;

pub use code::code;
pub use manual::manual;
pub use own_words::own_words;

use docent_index::IndexedSource;
use sha2::{Digest as _, Sha256};
use std::{io, path::PathBuf};

/// A collection with questions about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedCollection {
    /// The name of the package or manual.
    pub name: String,
    /// Its language.
    pub language: String,
    /// The sources to search.
    pub sources: Vec<IndexedSource>,
    /// The questions.
    pub questions: Vec<JudgedQuestion>,
}

/// A question with all its answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedQuestion {
    /// The question as a user would ask it.
    pub text: String,
    /// The answers, each of them correct.
    pub answers: Vec<ExpectedAnswer>,
}

/// An answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedAnswer {
    /// The path of a source.
    pub path: String,
    /// The id of a unit in it; `None` if any unit of that source is correct.
    pub unit: Option<String>,
}

/// Why a collection can't be created.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// A file or folder can't be read.
    #[error("cannot read {path}")]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A file is not a valid file of questions.
    #[error("{path} is not a valid file of questions")]
    Questions {
        /// The path.
        path: PathBuf,
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
    /// The language is not supported.
    #[error("unsupported language {0}")]
    Language(String),
}

/// The result of creating a collection.
pub type Result<T, E = CorpusError> = std::result::Result<T, E>;

/// Splits questions into training and report halves. The half depends only on the question's text, so that changes of
/// a collection don't move questions.
pub fn split(
    questions: Vec<JudgedQuestion>,
    seed: u64,
) -> (Vec<JudgedQuestion>, Vec<JudgedQuestion>) {
    let learns = |question: &JudgedQuestion| {
        let hash = Sha256::new().chain_update(seed.to_le_bytes()).chain_update(&question.text);
        hash.finalize()[0].is_multiple_of(2)
    };
    questions.into_iter().partition(learns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(n: usize) -> JudgedQuestion {
        JudgedQuestion { text: format!("what is number {n}?"), answers: Vec::new() }
    }

    #[test]
    fn halves_depend_only_on_the_text() {
        let all: Vec<JudgedQuestion> = (0..1000).map(question).collect();
        let (learning, reporting) = split(all.clone(), 7);
        assert_eq!(learning.len() + reporting.len(), 1000);
        assert!((400..600).contains(&learning.len()), "{}", learning.len());
        let backwards: Vec<JudgedQuestion> = all.iter().rev().step_by(2).cloned().collect();
        let (again, _) = split(backwards, 7);
        assert!(again.len() > 100 && again.iter().all(|one| learning.contains(one)));
        assert_ne!(split(all, 8).0, learning);
    }
}
