//! `ast://project/<path>`: the addresses of parsed files.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What every address starts with.
pub(crate) const BASE: &str = "ast://project/";
/// The address of the summary of all annotations.
pub(crate) const ANNOTATIONS: &str = "ast://project/annotations";
/// The address under which the hits of a query are handed over.
pub(crate) const QUERY_RESULTS: &str = "ast://project/query-results";
/// The family of all files.
pub(crate) const TEMPLATE: &str = "ast://project/{path}";

/// What a path in an address may hold as it is.
const ENCODED_IN_PATH: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'@');

/// The address of a file.
pub(crate) fn annotation_uri(path: &str) -> String {
    format!("{BASE}{}", utf8_percent_encode(path, KEPT))
}

/// The path in an address: `None` where the address is no file of ours, an error where it is no usable one.
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
            assert_eq!(path(&of(name)), Some(Ok(name.to_owned())), "{name}");
        }
        assert_eq!(of("src/users.ts"), "ast://project/src/users.ts");
        assert_eq!(of("a b#.ts"), "ast://project/a%20b%23.ts");
        assert_eq!(path("file:///etc/passwd"), None);
        assert_eq!(path("ast://other/x"), None);
        assert!(path("ast://project/%ff").unwrap().is_err());
    }
}
