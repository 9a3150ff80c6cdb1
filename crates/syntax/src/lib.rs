//! Parses source text into annotations and findings.
//!
//! Owns languages and their syntax. Pure: no files, no index, no protocol; a caller that needs other files passes in a
//! function.
//!
//! # Design
//!
//! A language is a folder in `languages`: settings, queries over its tree-sitter grammar, rules, a sample and its expected
//! definitions (`languages/README.md` explains how to write them). `parse::definitions` runs one query over a tree and returns
//! `Annotation`s, which is all that indexing needs. `annotate::file` adds calls, complexity and imports. Nothing here keeps
//! state: tools read files as they are at that moment.
//!
//! - `parse::tree` is the only way to a tree. `budget::ParseBudget` limits its cost: the progress callback counts steps, the
//!   text is handed over in pieces of 1 kB so that what the lexer reads again is counted, and one walk over the tree counts
//!   tokens in error nodes, which queries pass in quadratic time. Queries are limited as well; `SyntaxTree::check` reports a
//!   query that exceeded its limit. A file over a limit is a listed problem. `ancestry` answers for parents and siblings where
//!   the library would search from the root. `examples/hostile.rs` measures each stage on hostile text.
//! - `analysis::complexity` visits the captures of `branches.scm` once and counts for each function at the same time.
//! - `analysis::dependencies` resolves imports against all paths and a few manifests, and builds a graph.
//! - `analysis::rules` runs `rules.yml` on ast-grep's engine over the existing tree; a project's rules in `.docent/rules/`
//!   extend, replace or turn off built-in ones.
//! - `analysis::patterns` finds what spans more than one node: designs, idioms, smells.
//!
//! `tests/oracles/` compares all of this with radon, lizard, complexipy, grimp, dependency-cruiser, bandit, Python's `ast`, the
//! TypeScript compiler and syn, on real packages.

mod about;
pub mod analysis;
mod ancestry;
pub mod annotate;
mod annotation;
mod attributes;
pub mod budget;
mod comment;
mod documentation;
pub mod language;
mod memory;
pub mod pack;
pub mod parse;
pub mod references;

pub use about::about;
pub use annotation::{
    Annotation, Doc, Figures, Kind, KindCounts, Parameter, Said, Summary, Visibility,
};
pub use documentation::{DocumentationRange, documentation};
pub use language::Language;
