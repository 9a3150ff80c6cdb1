//! `techdoc://<collection>/docs/<path>`: the addresses of documents.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

const SCHEME: &str = "techdoc://";
/// The family of tables of contents.
pub(crate) const CONTENTS_TEMPLATE: &str = "techdoc://{collection}/docs";
/// The family of documents.
pub(crate) const DOCUMENT_TEMPLATE: &str = "techdoc://{collection}/docs/{path}";

/// What a path in an address may hold as it is.
const KEPT: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'@');

/// What an address names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Address {
    /// The table of contents of a collection.
    Contents(String),
    /// A document: collection and path.
    Document(String, String),
}

/// The address of a collection's table of contents.
pub(crate) fn contents(collection: &str) -> String {
    format!("{SCHEME}{}/docs", utf8_percent_encode(collection, KEPT))
}

/// The address of a document.
pub(crate) fn document(collection: &str, path: &str) -> String {
    format!("{}/{}", contents(collection), utf8_percent_encode(path, KEPT))
}

/// What an address names: `None` where it is none of ours, an error where it is no usable one.
pub(crate) fn parse(uri: &str) -> Option<Result<Address, String>> {
    let rest = uri.strip_prefix(SCHEME)?;
    let decode =
        |text: &str| percent_decode_str(text).decode_utf8().ok().map(std::borrow::Cow::into_owned);
    let read = || {
        let (collection, rest) = rest.split_once('/')?;
        let collection = decode(collection).filter(|name| !name.is_empty())?;
        match rest.strip_prefix("docs")? {
            "" | "/" => Some(Address::Contents(collection)),
            path => Some(Address::Document(collection, decode(path.strip_prefix('/')?)?)),
        }
    };
    Some(read().ok_or_else(|| format!("{uri} is no address of a document; {DOCUMENT_TEMPLATE} is")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_back() {
        let document_of = |collection: &str, path: &str| {
            Some(Ok(Address::Document(collection.into(), path.into())))
        };
        assert_eq!(contents("postgresql"), "techdoc://postgresql/docs");
        assert_eq!(document("postgresql", "a/b c.html"), "techdoc://postgresql/docs/a/b%20c.html");
        assert_eq!(parse(&contents("my docs")), Some(Ok(Address::Contents("my docs".into()))));
        assert_eq!(parse(&document("x", "ü#?.md")), document_of("x", "ü#?.md"));
        assert_eq!(parse("techdoc://x/docs/../../etc"), document_of("x", "../../etc"));
        assert_eq!(parse("file:///etc/passwd"), None);
        for bad in [
            "techdoc://",
            "techdoc://x",
            "techdoc:///docs",
            "techdoc://x/docsy",
            "techdoc://x/docs/%ff",
        ] {
            assert!(parse(bad).unwrap().is_err(), "{bad}");
        }
    }
}
