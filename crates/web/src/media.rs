//! Decides how to read a response: by content type, by name if the type is unspecific, and else by its first bytes.

use docent_prose::ProseFormat;

/// How to handle a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MediaHandling {
    /// Parse it as a document.
    Document(ProseFormat),
    /// Show it unchanged, in a code fence of this language.
    Verbatim(String),
    /// Not text; holds its type.
    Refused(String),
}

/// Unspecific types, for which the file name decides.
const UNSPECIFIC_TYPES: [&str; 4] =
    ["text/plain", "application/octet-stream", "binary/octet-stream", "application/x-download"];

/// Media types of documents.
const DOCUMENTS: [(&str, ProseFormat); 13] = [
    ("text/html", ProseFormat::Html),
    ("application/xhtml+xml", ProseFormat::Html),
    ("text/markdown", ProseFormat::Markdown),
    ("text/x-markdown", ProseFormat::Markdown),
    ("text/x-rst", ProseFormat::Rst),
    ("text/prs.fallenstein.rst", ProseFormat::Rst),
    ("text/asciidoc", ProseFormat::AsciiDoc),
    ("text/x-asciidoc", ProseFormat::AsciiDoc),
    ("application/pdf", ProseFormat::Pdf),
    ("application/x-pdf", ProseFormat::Pdf),
    ("application/epub+zip", ProseFormat::Epub),
    ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", ProseFormat::Docx),
    ("application/vnd.oasis.opendocument.text", ProseFormat::Odt),
];

/// Other text types, and the language of their code fence.
const TEXTS: [(&str, &str); 12] = [
    ("application/javascript", "javascript"),
    ("application/ecmascript", "javascript"),
    ("application/xml", "xml"),
    ("application/yaml", "yaml"),
    ("application/x-yaml", "yaml"),
    ("application/toml", "toml"),
    ("application/sql", "sql"),
    ("application/x-sh", "sh"),
    ("application/x-httpd-php", "php"),
    ("text/xml", "xml"),
    ("text/javascript", "javascript"),
    ("text/css", "css"),
];

impl MediaHandling {
    /// Whether a truncated response can still be read.
    pub(crate) fn is_text(&self) -> bool {
        match self {
            Self::Verbatim(_) => true,
            Self::Document(format) => matches!(
                format,
                ProseFormat::Html
                    | ProseFormat::Markdown
                    | ProseFormat::Rst
                    | ProseFormat::AsciiDoc
                    | ProseFormat::Man
                    | ProseFormat::Plain
            ),
            Self::Refused(_) => false,
        }
    }
}

/// Decides how to read a response.
pub(crate) fn reading(media_type: Option<&str>, path: &str, bytes: &[u8]) -> MediaHandling {
    let path = path.trim_end_matches('/');
    match media_type {
        None => by_bytes(path, bytes, "no content type"),
        Some(vague) if UNSPECIFIC_TYPES.contains(&vague) => by_bytes(path, bytes, vague),
        Some(known) => {
            if let Some((_, format)) = DOCUMENTS.iter().find(|(name, _)| *name == known) {
                return MediaHandling::Document(*format);
            }
            if let Some((_, language)) = TEXTS.iter().find(|(name, _)| *name == known) {
                return handling_for(path, bytes)
                    .unwrap_or_else(|| MediaHandling::Verbatim((*language).to_owned()));
            }
            if known == "application/json" || known.ends_with("+json") {
                return handling_for(path, bytes)
                    .unwrap_or_else(|| MediaHandling::Verbatim("json".to_owned()));
            }
            if known.starts_with("text/") || known.ends_with("+xml") && known != "image/svg+xml" {
                return by_bytes(path, bytes, known);
            }
            MediaHandling::Refused(known.to_owned())
        }
    }
}

/// Notebooks and API descriptions are documents in JSON or YAML.
fn handling_for(path: &str, bytes: &[u8]) -> Option<MediaHandling> {
    match ProseFormat::guess(path, bytes) {
        Some(format @ (ProseFormat::Notebook | ProseFormat::OpenApi)) => {
            Some(MediaHandling::Document(format))
        }
        _ => None,
    }
}

fn by_bytes(path: &str, bytes: &[u8], media_type: &str) -> MediaHandling {
    if bytes.starts_with(b"%PDF-") {
        return MediaHandling::Document(ProseFormat::Pdf);
    }
    if let Some(format) = ProseFormat::guess(path, bytes) {
        return MediaHandling::Document(format);
    }
    if is_binary(bytes) {
        return MediaHandling::Refused(media_type.to_owned());
    }
    let head = bytes.get(..512).unwrap_or(bytes).trim_ascii_start().to_ascii_lowercase();
    // Plain text is shown as is, including tags.
    let is_untyped = media_type != "text/plain";
    if is_untyped && (head.starts_with(b"<!doctype html") || head.starts_with(b"<html")) {
        return MediaHandling::Document(ProseFormat::Html);
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending =
        name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, ending)| ending);
    match ending {
        Some(ending)
            if (1..=10).contains(&ending.len())
                && ending.bytes().all(|b| b.is_ascii_alphanumeric()) =>
        {
            MediaHandling::Verbatim(ending.to_ascii_lowercase())
        }
        _ => MediaHandling::Document(ProseFormat::Plain),
    }
}

/// Whether the bytes are text: without NUL, except in two-byte encodings.
fn is_binary(bytes: &[u8]) -> bool {
    let wide = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    !wide && bytes.contains(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(media_type: Option<&str>, path: &str, bytes: &[u8], want: &MediaHandling) {
        assert_eq!(&reading(media_type, path, bytes), want, "{media_type:?} {path}");
    }

    #[test]
    fn responses_are_classified_by_type_name_and_bytes() {
        let document = MediaHandling::Document;
        let verbatim = |language: &str| MediaHandling::Verbatim(language.to_owned());
        let refused = |kind: &str| MediaHandling::Refused(kind.to_owned());
        for (media_type, path, bytes, want) in [
            (Some("text/html"), "/a.md", b"x".as_slice(), document(ProseFormat::Html)),
            (Some("text/markdown"), "/a", b"x", document(ProseFormat::Markdown)),
            (Some("text/plain"), "/a.md", b"x", document(ProseFormat::Markdown)),
            (Some("text/plain"), "/a", b"<html>", document(ProseFormat::Plain)),
            (Some("text/plain"), "/raw/main.rs", b"fn", verbatim("rs")),
            (Some("application/json"), "/a", b"{}", verbatim("json")),
            (Some("application/ld+json"), "/a", b"{}", verbatim("json")),
            (Some("application/json"), "/openapi.json", b"{}", document(ProseFormat::OpenApi)),
            (Some("application/pdf"), "/a", b"x", document(ProseFormat::Pdf)),
            (Some("application/octet-stream"), "/a", b"%PDF-1.7", document(ProseFormat::Pdf)),
            (
                Some("application/octet-stream"),
                "/a.bin",
                b"\0\x01",
                refused("application/octet-stream"),
            ),
            (Some("application/atom+xml"), "/feed", b"<feed>", document(ProseFormat::Plain)),
            (Some("image/svg+xml"), "/a", b"<svg>", refused("image/svg+xml")),
            (Some("image/png"), "/a.html", b"x", refused("image/png")),
            (Some("application/zip"), "/a", b"PK", refused("application/zip")),
            (Some("video/mp4"), "/a", b"x", refused("video/mp4")),
            (None, "/a", b" <!DOCTYPE HTML>", document(ProseFormat::Html)),
            (None, "/a", b"hello", document(ProseFormat::Plain)),
            (None, "/a", b"\x7fELF\0", refused("no content type")),
        ] {
            check(media_type, path, bytes, &want);
        }
    }
}
