//! The report for people: Markdown, a page of HTML, and findings as SARIF. Reads the report and nothing else.

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
