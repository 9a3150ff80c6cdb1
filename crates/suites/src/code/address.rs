//! `ast://project/<path>`: URIs of parsed files.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Prefix of every URI.
pub(crate) const BASE: &str = "ast://project/";
/// URI of the summary of all annotations.
pub(crate) const ANNOTATIONS: &str = "ast://project/annotations";
/// URI of the embedded query results.
pub(crate) const QUERY_RESULTS: &str = "ast://project/query-results";
/// URI template for all files.
pub(crate) const TEMPLATE: &str = "ast://project/{path}";

/// Characters that are percent-encoded in a path.
const ENCODED_IN_PATH: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'@');

/// The URI of a file.
pub(crate) fn annotation_uri(path: &str) -> String {
    format!("{BASE}{}", utf8_percent_encode(path, ENCODED_IN_PATH))
}

/// The path in a URI: `None` if it has another prefix, an error if it can't be decoded.
pub(crate) fn path(uri: &str) -> Option<Result<String, String>> {
    let encoded = uri.strip_prefix(BASE)?;
    let decoded = percent_decode_str(encoded).decode_utf8();
    Some(decoded.map(Into::into).map_err(|_| format!("{uri} is not percent-encoded UTF-8")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_back() {
        for name in ["src/users.ts", "a b/ü#?%2e.ts", "@scope/x-y_z~.js", "[id].tsx"] {
            assert_eq!(path(&annotation_uri(name)), Some(Ok(name.to_owned())), "{name}");
        }
        assert_eq!(annotation_uri("src/users.ts"), "ast://project/src/users.ts");
        assert_eq!(annotation_uri("a b#.ts"), "ast://project/a%20b%23.ts");
        assert_eq!(path("file:///etc/passwd"), None);
        assert_eq!(path("ast://other/x"), None);
        assert!(path("ast://project/%ff").unwrap().is_err());
    }
}
