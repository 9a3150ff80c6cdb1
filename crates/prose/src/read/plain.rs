//! Text without marks: paragraphs as they stand.

use crate::{
    document::{Document, Kind, Writer},
    format::Unreadable,
};

/// Reads a text.
pub(crate) fn read(path: &str, text: &str) -> Result<Document, Unreadable> {
    let mut writer = Writer::default();
    for paragraph in text.split("\n\n") {
        writer.plain(Kind::Paragraph, paragraph);
    }
    Ok(writer.finish(None, path))
}
