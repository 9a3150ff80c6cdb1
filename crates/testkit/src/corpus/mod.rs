//! Judged collections: units to search in, and questions whose answers are known.
//!
//! [`code()`] takes the documentation out of a package and asks for each definition by what was said of it. [`manual()`]
//! asks for the pages of `PostgreSQL`'s manual by the terms of its printed index. Everything is in memory, and in the same
//! order on every machine. Knows nothing of how a search is done.

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
    /// What the collection is called: the package, or the manual.
    pub name: String,
    /// The language that it is written in.
    pub language: String,
    /// What is searched.
    pub sources: Vec<IndexedSource>,
    /// What is asked.
    pub questions: Vec<JudgedQuestion>,
}

/// A question with everything that answers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedQuestion {
    /// As somebody would ask.
    pub text: String,
    /// Any of these is right.
    pub answers: Vec<ExpectedAnswer>,
}

/// What answers a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedAnswer {
    /// The path of a source.
    pub path: String,
    /// The id of a unit in it; `None` where any unit of that source will do.
    pub unit: Option<String>,
}

/// Why there is no collection.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// A file or folder can't be read.
    #[error("{path} can't be read")]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file of questions is not written as one.
    #[error("{path} is no file of questions")]
    Questions {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// No package is made of that.
    #[error("{0} is no language that packages are read in")]
    Language(String),
}

/// What making a collection gives.
pub type Result<T, E = CorpusError> = std::result::Result<T, E>;

/// Questions to learn from, and questions to report on. A question goes by its own text to one side or the other,
/// whatever else is asked, so that no change of a collection moves one over.
pub fn split(questions: Vec<JudgedQuestion>, seed: u64) -> (Vec<JudgedQuestion>, Vec<JudgedQuestion>) {
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
    fn halves_are_told_by_the_text_alone() {
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
