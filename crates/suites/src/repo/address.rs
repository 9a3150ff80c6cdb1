//! URIs of full reports: `repository://deep/path/in/the/root`.

use super::report::Depth;
use crate::files::{RootPath, ServedRoots};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// URI template published to clients.
pub(super) const TEMPLATE: &str = "repository://{depth}/{+path}";
const SCHEME: &str = "repository://";

/// Characters that need no escaping in a path.
const PLAIN: AsciiSet =
    NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Depth names, lightest first.
pub(super) const DEPTHS: [(&str, Depth); 3] =
    [("quick", Depth::Quick), ("standard", Depth::Standard), ("deep", Depth::Deep)];

/// Returns the URI of a folder's report. A folder outside the first root is given by its absolute path.
pub(super) fn report_uri(roots: &ServedRoots, place: &RootPath, depth: Depth) -> String {
    let path = if place.root() == 0 {
        if place.is_top() { String::new() } else { place.relative().to_owned() }
    } else {
        roots.absolute(place).to_string_lossy().into_owned()
    };
    let word = DEPTHS.iter().find(|(_, known)| *known == depth).map_or("", |(word, _)| word);
    format!("{SCHEME}{word}/{}", utf8_percent_encode(&path, &PLAIN))
}

/// Parses depth and path from a URI; `None` if it is not a report URI.
pub(crate) fn parse(uri: &str) -> Option<(Depth, String)> {
    let (word, path) = uri.strip_prefix(SCHEME)?.split_once('/')?;
    let (_, depth) = DEPTHS.iter().find(|(known, _)| *known == word)?;
    let path = percent_decode_str(path).decode_utf8().ok()?;
    Some((*depth, if path.is_empty() { ".".into() } else { path.into_owned() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lead_back() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("a b/ü")).unwrap();
        let roots = ServedRoots::open(&[root.path().to_owned()]).unwrap();
        let cases = [
            (".", Depth::Deep, "repository://deep/"),
            ("a b/ü", Depth::Quick, "repository://quick/a%20b/%C3%BC"),
        ];
        for (path, depth, want) in cases {
            let uri = report_uri(&roots, &roots.resolve(path).unwrap(), depth);
            assert_eq!(uri, want);
            assert_eq!(parse(&uri), Some((depth, path.to_owned())));
        }
        let none = [
            "repository://deep",
            "repository://bottomless/x",
            "file:///x",
            "repository://deep/%ff",
        ];
        assert!(none.iter().all(|uri| parse(uri).is_none()));
    }
}
