//! Media types of files, by extension.

/// Extensions in lower case and their media types.
const MEDIA_TYPES: [(&str, &str); 32] = [
    ("avif", "image/avif"),
    ("bmp", "image/bmp"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("flac", "audio/flac"),
    ("gif", "image/gif"),
    ("gz", "application/gzip"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("ico", "image/x-icon"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("jsonl", "application/jsonl"),
    ("md", "text/markdown"),
    ("mjs", "text/javascript"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("ogg", "audio/ogg"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("toml", "application/toml"),
    ("ttf", "font/ttf"),
    ("wav", "audio/wav"),
    ("webp", "image/webp"),
    ("woff2", "font/woff2"),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("zip", "application/zip"),
];

/// The media type for a file name; `None` if the extension is unknown.
pub(super) fn by_name(name: &str) -> Option<&'static str> {
    let (_, ending) = name.rsplit_once('.')?;
    let ending = ending.to_ascii_lowercase();
    let found = MEDIA_TYPES.binary_search_by_key(&ending.as_str(), |(known, _)| known).ok()?;
    MEDIA_TYPES.get(found).map(|(_, media)| *media)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_name_media_types() {
        assert!(MEDIA_TYPES.is_sorted());
        let cases = [
            ("README.MD", Some("text/markdown")),
            ("a.b.json", Some("application/json")),
            ("users.ts", None),
            ("Makefile", None),
        ];
        for (name, want) in cases {
            assert_eq!(by_name(name), want, "{name}");
        }
    }
}
