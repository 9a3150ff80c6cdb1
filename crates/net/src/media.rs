//! Decides by content type which responses are documentation pages.

/// A page format: its content types and file extensions, the usual one first.
struct PageMediaKind {
    types: &'static [&'static str],
    endings: &'static [&'static str],
}

const PAGE_KINDS: [PageMediaKind; 9] = [
    PageMediaKind {
        types: &["text/html", "application/xhtml+xml"],
        endings: &["html", "htm", "xhtml"],
    },
    PageMediaKind {
        types: &["text/markdown", "text/x-markdown"],
        endings: &["md", "markdown", "mdx"],
    },
    PageMediaKind { types: &["text/plain"], endings: &["txt", "text"] },
    PageMediaKind { types: &["text/x-rst", "text/prs.fallenstein.rst"], endings: &["rst"] },
    PageMediaKind { types: &["text/asciidoc", "text/x-asciidoc"], endings: &["adoc", "asciidoc"] },
    PageMediaKind { types: &["text/org", "text/x-org"], endings: &["org"] },
    PageMediaKind { types: &["application/pdf"], endings: &["pdf"] },
    PageMediaKind { types: &["application/epub+zip"], endings: &["epub"] },
    PageMediaKind {
        types: &["application/vnd.openxmlformats-officedocument.wordprocessingml.document"],
        endings: &["docx"],
    },
];

/// Unspecific types, for which the file name decides.
const UNSPECIFIC_TYPES: [&str; 3] =
    ["text/plain", "application/octet-stream", "binary/octet-stream"];

/// Extensions of files that are never pages and are not requested.
const NON_PAGE_ENDINGS: [&str; 34] = [
    "7z", "avi", "bmp", "bz2", "css", "deb", "dll", "dmg", "exe", "gif", "gz", "ico", "iso", "jar",
    "jpeg", "jpg", "js", "mjs", "mov", "mp3", "mp4", "msi", "png", "rpm", "svg", "tar", "tgz",
    "webm", "webp", "whl", "woff", "woff2", "xz", "zip",
];

/// Whether a path has the extension of a file that is never a page.
pub(crate) fn is_other(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    ending.is_some_and(|ending| NON_PAGE_ENDINGS.contains(&ending.as_str()))
}

/// The file extension for a page; `None` if it is not stored.
pub(crate) fn ending(media_type: Option<&str>, path: &str) -> Option<&'static str> {
    let by_name = || kind_of_name(path).and_then(|kind| kind.endings.first().copied());
    let Some(media_type) = media_type else { return by_name() };
    if UNSPECIFIC_TYPES.contains(&media_type)
        && let Some(found) = by_name()
    {
        return Some(found);
    }
    let kind = PAGE_KINDS.iter().find(|kind| kind.types.contains(&media_type))?;
    kind.endings.first().copied()
}

/// Whether a name has an extension of this format.
pub(crate) fn ends_so(name: &str, ending: &str) -> bool {
    kind_of_name(name).is_some_and(|kind| kind.endings.first() == Some(&ending))
}

/// Whether a name has the extension of a page.
pub(crate) fn is_page(name: &str) -> bool {
    kind_of_name(name).is_some()
}

fn kind_of_name(path: &str) -> Option<&'static PageMediaKind> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (stem, ending) = name.rsplit_once('.')?;
    let ending = ending.to_ascii_lowercase();
    PAGE_KINDS.iter().find(|kind| !stem.is_empty() && kind.endings.contains(&ending.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_never_a_page_is_recognized_by_name() {
        for (path, want) in [
            ("/a.PNG", true),
            ("/a.tar.gz", true),
            ("/a.png/b", false),
            ("/png", false),
            ("/", false),
        ] {
            assert_eq!(is_other(path), want, "{path}");
        }
    }

    #[test]
    fn pages_are_recognized_by_type_and_then_by_name() {
        for (media_type, path, want) in [
            (Some("text/html"), "/a", Some("html")),
            (Some("text/html"), "/a.php", Some("html")),
            (Some("application/xhtml+xml"), "/a", Some("html")),
            (Some("text/plain"), "/a", Some("txt")),
            (Some("text/plain"), "/a.md", Some("md")),
            (Some("text/plain"), "/a.RST", Some("rst")),
            (Some("text/plain"), "/a.py", Some("txt")),
            (Some("application/pdf"), "/a", Some("pdf")),
            (Some("application/octet-stream"), "/a.pdf", Some("pdf")),
            (Some("application/octet-stream"), "/a.exe", None),
            (Some("image/png"), "/a.html", None),
            (Some("text/css"), "/a.css", None),
            (None, "/a.html", Some("html")),
            (None, "/a", None),
            (None, "/.md", None),
        ] {
            assert_eq!(ending(media_type, path), want, "{media_type:?} {path}");
        }
    }
}
