//! What `analyze_code` finds in one file. Pure: text and tree in, findings out.

pub mod complexity;
pub mod dependencies;
pub mod patterns;
pub mod rules;

use crate::{language::Language, parse::SyntaxTree};

/// A file as every analysis takes it.
#[derive(Debug, Clone, Copy)]
pub struct AnalyzedSource<'a> {
    /// How it is called.
    pub path: &'a str,
    /// What it is written in.
    pub language: Language,
    /// What it says.
    pub text: &'a str,
    /// The same as a tree.
    pub tree: &'a SyntaxTree,
}
