//! One module per format: each parses text or bytes into a document.

pub(crate) mod asciidoc;
pub(crate) mod docx;
pub(crate) mod epub;
mod flow;
pub(crate) mod html;
pub(crate) mod man;
pub(crate) mod markdown;
mod marks;
pub(crate) mod notebook;
pub(crate) mod odt;
pub(crate) mod openapi;
mod package;
pub(crate) mod pdf;
pub(crate) mod plain;
pub(crate) mod rst;
mod tree;

#[cfg(test)]
mod tests;
