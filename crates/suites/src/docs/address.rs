//! `techdoc://<doc_type>/<collection>/<path>#<section>`: URIs of documents.
//!
//! A collection without a type uses its name as the type, and `docs` as the collection.

use super::CollectionSettings;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

const SCHEME: &str = "techdoc://";
/// Collection name in the URI of a collection without a type of its own.
const DEFAULT_COLLECTION: &str = "docs";
/// URI template of the tables of contents.
pub(crate) const CONTENTS_TEMPLATE: &str = "techdoc://{doc_type}/{collection}";
/// URI template of the documents.
pub(crate) const DOCUMENT_TEMPLATE: &str = "techdoc://{doc_type}/{collection}/{+path}";

/// Characters that are percent-encoded in a path.
const ENCODED_IN_PATH: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'@');

/// A parsed document URI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DocumentAddress {
    doc_type: String,
    collection: String,
    /// Path of the document; `None` for the table of contents.
    pub(crate) path: Option<String>,
    /// Section of the document.
    pub(crate) section: Option<String>,
}

impl DocumentAddress {
    /// Whether it belongs to this collection.
    pub(crate) fn is_in(&self, collection: &CollectionSettings) -> bool {
        let (doc_type, name) = parts(collection);
        self.doc_type == doc_type && self.collection == name
    }
}

/// Type and name of a collection in its URIs.
pub(crate) fn parts(collection: &CollectionSettings) -> (&str, &str) {
    match &collection.kind {
        Some(kind) => (kind, &collection.name),
        None => (&collection.name, DEFAULT_COLLECTION),
    }
}

/// The URI of a collection's table of contents.
pub(crate) fn contents(collection: &CollectionSettings) -> String {
    let (doc_type, name) = parts(collection);
    let encode = |text| utf8_percent_encode(text, ENCODED_IN_PATH);
    format!("{SCHEME}{}/{}", encode(doc_type), encode(name))
}

/// The URI of a document, or of a section of it.
pub(crate) fn document(
    collection: &CollectionSettings,
    path: &str,
    section: Option<&str>,
) -> String {
    let encode = |text| utf8_percent_encode(text, ENCODED_IN_PATH);
    let section = section.map(|section| format!("#{}", encode(section))).unwrap_or_default();
    format!("{}/{}{section}", contents(collection), encode(path))
}

/// Parses a URI: `None` if it has another scheme, an error if it is malformed.
pub(crate) fn parse(uri: &str) -> Option<Result<DocumentAddress, String>> {
    let rest = uri.strip_prefix(SCHEME)?;
    let (rest, section) = match rest.split_once('#') {
        Some((rest, section)) => (rest, Some(section)),
        None => (rest, None),
    };
    let decode =
        |text: &str| percent_decode_str(text).decode_utf8().ok().map(std::borrow::Cow::into_owned);
    let named = |text: &str| decode(text).filter(|text| !text.is_empty());
    let read = || {
        let (doc_type, rest) = rest.split_once('/')?;
        let (collection, path) = rest.split_once('/').unwrap_or((rest, ""));
        let section = match section {
            Some(section) => Some(decode(section)?).filter(|section| !section.is_empty()),
            None => None,
        };
        Some(DocumentAddress {
            doc_type: named(doc_type)?,
            collection: named(collection)?,
            path: Some(decode(path)?).filter(|path| !path.is_empty()),
            section,
        })
    };
    Some(read().ok_or_else(|| format!("{uri} is not a document URI; expected {DOCUMENT_TEMPLATE}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_back() {
        let plain = CollectionSettings::new("postgresql", ".", "");
        let mut typed = CollectionSettings::new("pg 16", ".", "");
        typed.kind = Some("postgresql".into());
        assert_eq!(contents(&plain), "techdoc://postgresql/docs");
        assert_eq!(contents(&typed), "techdoc://postgresql/pg%2016");
        assert_eq!(
            document(&plain, "a/b c.html", Some("x y")),
            "techdoc://postgresql/docs/a/b%20c.html#x%20y"
        );
        for collection in [&plain, &typed] {
            let other = if collection == &plain { &typed } else { &plain };
            for path in ["ü#?.md", "a/b.html", "../../etc"] {
                for section in [None, Some("a > b")] {
                    let address = parse(&document(collection, path, section)).unwrap().unwrap();
                    assert!(address.is_in(collection) && !address.is_in(other));
                    assert_eq!(address.path.as_deref(), Some(path));
                    assert_eq!(address.section.as_deref(), section);
                }
            }
            let address = parse(&contents(collection)).unwrap().unwrap();
            assert!(address.is_in(collection) && address.path.is_none());
        }
        assert_eq!(parse("file:///etc/passwd"), None);
        for bad in
            ["techdoc://", "techdoc://x", "techdoc:///docs", "techdoc://x/docs/%ff", "techdoc://x/"]
        {
            assert!(parse(bad).unwrap().is_err(), "{bad}");
        }
    }
}
