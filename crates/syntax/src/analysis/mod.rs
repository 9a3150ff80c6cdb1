//! The analyses of `analyze_code` for one file. Pure: text and tree in, findings out.

pub mod complexity;
pub mod dependencies;
pub mod patterns;
pub mod rules;

use crate::{language::Language, parse::SyntaxTree};

/// The input of every analysis.
#[derive(Debug, Clone, Copy)]
pub struct AnalyzedSource<'a> {
    /// Its path.
    pub path: &'a str,
    /// Its language.
    pub language: Language,
    /// Its text.
    pub text: &'a str,
    /// Its syntax tree.
    pub tree: &'a SyntaxTree,
}
