//! Saves images, audio and other binary contents of a result to files. Never overwrites a file.

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use docent_files::{FileAccess, ManagedFolder};
use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// Maximum number of file names to try.
const MAX_NAME_ATTEMPTS: usize = 10_000;
/// Maximum length of a file stem taken from a server.
const MAX_STEM_CHARS: usize = 80;

const LENIENT_BASE64: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);

/// Decodes base64 in either alphabet, with or without padding and line breaks.
pub(crate) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let text: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    let standard = GeneralPurpose::new(&alphabet::STANDARD, LENIENT_BASE64);
    let url_safe = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT_BASE64);
    standard.decode(&text).or_else(|_| url_safe.decode(&text)).ok()
}

/// Returns the file extension of a media type.
pub(crate) fn extension(media: &str) -> &'static str {
    let plain = media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match plain.as_str() {
        "image/png" => "png",
        "image/jpeg" | "image/jpg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        "image/avif" => "avif",
        "image/bmp" => "bmp",
        "image/tiff" => "tiff",
        "image/x-icon" | "image/vnd.microsoft.icon" => "ico",
        "audio/wav" | "audio/x-wav" | "audio/wave" | "audio/vnd.wave" => "wav",
        "audio/mpeg" | "audio/mp3" => "mp3",
        "audio/ogg" | "audio/opus" => "ogg",
        "audio/flac" => "flac",
        "audio/aac" => "aac",
        "audio/mp4" => "m4a",
        "audio/webm" | "video/webm" => "webm",
        "video/mp4" => "mp4",
        "application/pdf" => "pdf",
        "application/json" => "json",
        "application/zip" => "zip",
        "application/gzip" | "application/x-gzip" => "gz",
        "application/x-tar" => "tar",
        "application/xml" | "text/xml" => "xml",
        "text/html" => "html",
        "text/markdown" => "md",
        "text/csv" => "csv",
        text if text.starts_with("text/") => "txt",
        _ => "bin",
    }
}

/// Turns untrusted text into a file name without path separators.
pub(crate) fn file_stem(from: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '-' };
    let stem: String = from.chars().map(plain).take(MAX_STEM_CHARS).collect();
    let stem = stem.trim_matches('-');
    if stem.is_empty() { "answer".into() } else { stem.to_owned() }
}

/// Writes a new file, under another name if it exists already. `name` is the stem without a dot.
pub(crate) fn save(folder: &Path, name: &str, ending: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    let own = ManagedFolder::resolve(folder);
    own.make(FileAccess::Shared)?;
    for n in 1..=MAX_NAME_ATTEMPTS {
        let again = if n == 1 { String::new() } else { format!("-{n}") };
        let file_name = format!("{name}{again}.{ending}");
        // An existing link is not followed either.
        match own.create(&file_name, FileAccess::Shared) {
            Ok(mut file) => {
                file.write_all(bytes)?;
                return Ok(folder.join(file_name));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "no free file name"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn names_are_no_paths() {
        for (from, want) in [
            ("get-image", "get-image"),
            ("../../etc/passwd", "etc-passwd"),
            ("a/b\\c:d\0e\u{202e}", "a-b-c-d-e"),
            ("", "answer"),
            ("...", "answer"),
        ] {
            assert_eq!(file_stem(from), want, "{from:?}");
        }
        assert_eq!(file_stem(&"x".repeat(5000)).len(), MAX_STEM_CHARS);
    }

    #[test]
    fn nothing_is_overwritten() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("new");
        let saved = |bytes: &[u8]| save(&folder, "tool-1", "png", bytes).unwrap();
        assert_eq!(saved(b"a").file_name().unwrap(), "tool-1.png");
        assert_eq!(saved(b"b").file_name().unwrap(), "tool-1-2.png");
        std::os::unix::fs::symlink("/nowhere", folder.join("tool-1-3.png")).unwrap();
        assert_eq!(saved(b"c").file_name().unwrap(), "tool-1-4.png");
        assert_eq!(fs::read(folder.join("tool-1.png")).unwrap(), b"a");
    }

    #[test]
    fn base64_as_servers_write_it() {
        for text in ["aGk/Pg==", "aGk/Pg", "aGk_Pg", "aGk/\nPg==\n"] {
            assert_eq!(decode_base64(text).as_deref(), Some(&b"hi?>"[..]), "{text:?}");
        }
        assert_eq!(decode_base64("not base64!"), None);
    }

    #[test]
    fn endings() {
        for (media, want) in
            [("image/PNG; q=1", "png"), ("text/x-rust", "txt"), ("", "bin"), ("../x", "bin")]
        {
            assert_eq!(extension(media), want, "{media}");
        }
    }
}
