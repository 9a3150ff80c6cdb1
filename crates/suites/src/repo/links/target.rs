//! Classifies a link target as written, before any file is checked.

use crate::repo::documents::places::ends_in;
use percent_encoding::percent_decode_str;
use std::borrow::Cow;

/// Placeholders in a target that something fills in before use.
const PLACEHOLDERS: [&str; 14] =
    ["{", "}", "<", ">", "%s", "%d", "%(", "$", "...", "…", "*", "[", "]", "path/to/"];
/// Placeholder words for a URL in an example.
const EXAMPLES: [&str; 6] = ["url", "link", "href", "path", "target", "address"];
/// Placeholder file names.
const ANY_FILE: [&str; 14] = [
    "foo",
    "bar",
    "baz",
    "file",
    "filename",
    "document",
    "image",
    "img",
    "picture",
    "example",
    "my-file",
    "myfile",
    "some-file",
    "other-file",
];

/// Classified link target.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LinkTarget<'a> {
    /// Another host.
    External,
    /// A file, or an anchor of the same document if the path is empty.
    Local {
        /// Decoded.
        path: Cow<'a, str>,
        /// As written.
        fragment: Option<&'a str>,
    },
    /// Nothing to check: an email address, a script, a blank.
    Other,
}

impl<'a> LinkTarget<'a> {
    /// Classifies a target.
    pub(super) fn classify(written: &'a str) -> Self {
        if written.starts_with("//") {
            return Self::External;
        }
        let (address, fragment) = match written.split_once('#') {
            Some((address, fragment)) => (address, Some(fragment)),
            None => (written, None),
        };
        if let Some(scheme) = scheme_of(address) {
            let is_web =
                ["http", "https", "ftp"].iter().any(|web| scheme.eq_ignore_ascii_case(web));
            return if is_web { Self::External } else { Self::Other };
        }
        let path = address.split('?').next().unwrap_or_default();
        let is_blank = PLACEHOLDERS.iter().any(|mark| written.contains(mark))
            || EXAMPLES.iter().any(|example| path.eq_ignore_ascii_case(example))
            || path.starts_with(['~', '@', '!', '|', ',', '`', '"', '\''])
            // Rust and C++ paths.
            || written.contains("::")
            || matches!(path, "crate" | "self" | "super")
            || path.ends_with("()");
        let is_query_alone = path.is_empty() && !address.is_empty();
        if is_blank || is_query_alone || path.is_empty() && fragment.is_none() {
            return Self::Other;
        }
        let path = match percent_decode_str(path).decode_utf8() {
            Ok(decoded) if decoded.contains('\\') => Cow::Owned(decoded.replace('\\', "/")),
            Ok(decoded) => decoded,
            Err(_) => return Self::Other,
        };
        Self::Local { path, fragment }
    }
}

/// Whether a name is a placeholder, in a text that shows how to write links.
pub(super) fn is_any_file(name: &str) -> bool {
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let is_blank = ["NNNN", "XXXX"]
        .iter()
        .any(|blank| stem.get(..4).is_some_and(|start| start.eq_ignore_ascii_case(blank)));
    is_blank || ANY_FILE.iter().any(|any| stem.eq_ignore_ascii_case(any))
}

fn scheme_of(address: &str) -> Option<&str> {
    let (scheme, _) = address.split_once(':')?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    is_scheme.then_some(scheme)
}

/// Whether a fragment needs no anchor in any document.
pub(super) fn is_free(fragment: &str) -> bool {
    let fragment = fragment.strip_prefix("user-content-").unwrap_or(fragment);
    let lower = fragment.to_ascii_lowercase();
    let is_number = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_digit())
            && text.bytes().all(|byte| byte.is_ascii_digit() || b"-,l:c".contains(&byte))
    };
    let is_line = lower.strip_prefix('l').is_some_and(is_number) || is_number(&lower);
    let is_footnote = ["fn", "fnref", "footnote"].iter().any(|start| {
        lower.strip_prefix(start).is_some_and(|rest| {
            let rest = rest.trim_start_matches([':', '-', '_']);
            rest.starts_with(|c: char| c.is_ascii_digit())
        })
    });
    matches!(lower.as_str(), "" | "top" | "_top" | "readme")
        || is_line
        || is_footnote
        || lower.starts_with([':', '/', '!', '?', '.'])
        || lower.contains(['=', '&', '(', '/'])
}

/// Whether rustdoc generates this anchor: the text is shown by rustdoc, not by a repository host.
pub(super) fn is_rustdoc_anchor(fragment: &str) -> bool {
    [
        "method.",
        "tymethod.",
        "variant.",
        "structfield.",
        "associatedconstant.",
        "associatedtype.",
        "impl-",
        "reexport.",
    ]
    .iter()
    .any(|start| fragment.starts_with(start))
}

/// Whether rustdoc generates a page with this name.
pub(super) fn is_rustdoc_page(name: &str) -> bool {
    let kinds = [
        "struct.",
        "enum.",
        "trait.",
        "fn.",
        "macro.",
        "constant.",
        "type.",
        "attr.",
        "derive.",
        "union.",
        "static.",
        "primitive.",
        "keyword.",
        "traitalias.",
    ];
    ends_in(name, &["html"]) && kinds.iter().any(|kind| name.starts_with(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_distinguished() {
        let local =
            |path: &'static str, fragment| LinkTarget::Local { path: path.into(), fragment };
        let cases = [
            ("a.md", local("a.md", None)),
            ("a.md#b", local("a.md", Some("b"))),
            ("#b", local("", Some("b"))),
            ("a%20b.md?raw=1#c", local("a b.md", Some("c"))),
            ("a\\b.md", local("a/b.md", None)),
            ("src/main.rs:10", local("src/main.rs:10", None)),
            ("/a.md", local("/a.md", None)),
            ("https://x.org/a", LinkTarget::External),
            ("HTTP://x.org", LinkTarget::External),
            ("//x.org/a", LinkTarget::External),
            ("mailto:a@b.org", LinkTarget::Other),
            ("tel:1", LinkTarget::Other),
            ("javascript:void(0)", LinkTarget::Other),
            ("data:image/png;base64,AA", LinkTarget::Other),
            ("doc:guide", LinkTarget::Other),
            ("", LinkTarget::Other),
            ("?page=2", LinkTarget::Other),
            ("{{ base }}/a.md", LinkTarget::Other),
            ("{% url 'x' %}", LinkTarget::Other),
            ("<your file>.md", LinkTarget::Other),
            ("${HOME}/a.md", LinkTarget::Other),
            ("$DOCS/a.md", LinkTarget::Other),
            ("img/%s.png", LinkTarget::Other),
            ("...", LinkTarget::Other),
            ("url", LinkTarget::Other),
            ("path/to/file.md", LinkTarget::Other),
            ("@site/static/a.png", LinkTarget::Other),
            ("crate::Foo", LinkTarget::Other),
            ("%ff.md", LinkTarget::Other),
        ];
        for (written, want) in cases {
            assert_eq!(LinkTarget::classify(written), want, "{written}");
        }
    }

    #[test]
    fn some_fragments_need_no_anchor() {
        for fragment in [
            "",
            "top",
            "L10",
            "L10-L20",
            "L1C2-L3C4",
            "12-20",
            ":~:text=a",
            "/route",
            "!x",
            "fn1",
            "fn:1",
            "page=2",
            "readme",
        ] {
            assert!(is_free(fragment), "{fragment}");
        }
        for fragment in ["usage", "lines", "l", "fnord", "footnotes", "toplevel"] {
            assert!(!is_free(fragment), "{fragment}");
        }
        assert!(is_rustdoc_anchor("method.new") && !is_rustdoc_anchor("methods"));
        assert!(is_rustdoc_page("struct.Vec.html") && !is_rustdoc_page("structure.html"));
    }
}
