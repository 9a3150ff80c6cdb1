//! Reads a file of hand-written questions with the pages that answer them.

use super::{CorpusError, ExpectedAnswer, JudgedQuestion, Result};
use serde::Deserialize;
use std::{fs, path::Path};

#[derive(Deserialize)]
struct WrittenQuestion {
    question: String,
    pages: Vec<String>,
}

/// Reads the questions that have an answer.
pub fn own_words(file: &Path) -> Result<Vec<JudgedQuestion>> {
    let path = || file.to_owned();
    let text = fs::read_to_string(file)
        .map_err(|source| CorpusError::Unreadable { path: path(), source })?;
    let all: Vec<WrittenQuestion> = serde_json::from_str(&text)
        .map_err(|source| CorpusError::Questions { path: path(), source })?;
    let question = |one: WrittenQuestion| {
        let answers =
            one.pages.into_iter().map(|path| ExpectedAnswer { path, unit: None }).collect();
        JudgedQuestion { text: one.question, answers }
    };
    Ok(all.into_iter().filter(|one| !one.pages.is_empty()).map(question).collect())
}
