//! Markdown and MDX: split at headings, otherwise kept as written, with links on the side.
//!
//! Dialects are first converted to `CommonMark` ([`prepare`]), then split into blocks ([`blocks`]).

mod anchors;
mod blocks;
mod front;
mod jsx;
mod markup;
mod prepare;

pub(crate) use anchors::Anchors;
pub(crate) use blocks::HeadingPlacement;

use crate::document::{DocumentWriter, ProseDocument};

/// Reads a Markdown document.
pub(crate) fn read(path: &str, text: &str) -> ProseDocument {
    let (front, body) = front::split(text);
    let mut writer = DocumentWriter::default();
    let mut anchors = Anchors::default();
    if path.to_ascii_lowercase().ends_with(".mdx") {
        write(&mut writer, &mut anchors, &jsx::without(body), HeadingPlacement::Sections);
    } else {
        write(&mut writer, &mut anchors, body, HeadingPlacement::Sections);
    }
    let mut document = writer.finish(front.title, path);
    document.version = front.version;
    document
}

/// Adds Markdown to a document that is being written.
pub(crate) fn write(
    writer: &mut DocumentWriter,
    anchors: &mut Anchors,
    text: &str,
    headings: HeadingPlacement,
) {
    blocks::write(writer, anchors, &prepare::prepare(text), headings);
}

#[cfg(test)]
mod tests;
