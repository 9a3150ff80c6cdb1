//! Parses source text into annotations and findings.
//!
//! Owns languages and their syntax. Pure: no files, no index, no protocol; a caller that needs other files passes in a
//! function.

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
