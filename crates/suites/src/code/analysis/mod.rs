//! What `analyze_code` finds in one file. Pure: text and tree in, findings out.

pub(crate) mod complexity;
pub(crate) mod dependencies;
pub(crate) mod rules;

use super::language::Language;
use tree_sitter::Tree;

/// A file as every analysis takes it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    /// How it is called.
    pub(crate) path: &'a str,
    /// What it is written in.
    pub(crate) language: Language,
    /// What it says.
    pub(crate) text: &'a str,
    /// The same as a tree.
    pub(crate) tree: &'a Tree,
}
