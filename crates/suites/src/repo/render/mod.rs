//! Rendering for people: Markdown, an HTML page, and findings as SARIF. Reads only the report.

mod absence;
mod characters;
mod figures;
mod html;
mod markdown;
mod markup;
mod sarif;
mod wording;

pub use html::html;
pub use markdown::markdown;
pub use sarif::sarif;

#[cfg(test)]
mod tests;
