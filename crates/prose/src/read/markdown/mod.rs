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
pub(crate) use blocks::Headings;

use crate::document::{Document, Writer};

/// Reads a Markdown document.
pub(crate) fn read(path: &str, text: &str) -> Document {
    let (front, body) = front::split(text);
    let mut writer = Writer::default();
    let mut anchors = Anchors::default();
    if path.to_ascii_lowercase().ends_with(".mdx") {
        write(&mut writer, &mut anchors, &jsx::without(body), Headings::Sections);
    } else {
        write(&mut writer, &mut anchors, body, Headings::Sections);
    }
    let mut document = writer.finish(front.title, path);
    document.version = front.version;
    document
}

/// Adds Markdown to a document that is being written.
pub(crate) fn write(writer: &mut Writer, anchors: &mut Anchors, text: &str, headings: Headings) {
    blocks::write(writer, anchors, &prepare::prepare(text), headings);
}

#[cfg(test)]
mod tests;
