//! Decodes pages, with the encoding given by the server or else detected from the bytes.

use docent_prose::{Unreadable, decode_markup};
use encoding_rs::{Encoding, ISO_2022_JP, UTF_16BE, UTF_16LE};

/// Switches to non-ASCII characters in ISO-2022-JP, which uses only ASCII bytes.
const ESCAPE: u8 = 0x1b;

/// The `charset` in a content type.
fn declared_encoding(content_type: &str) -> Option<&'static Encoding> {
    let value = content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then_some(value)
    })?;
    // Some labels mean no decodable encoding, and would leave nothing of the text.
    Encoding::for_label_no_replacement(value.trim().trim_matches(['"', '\'']).as_bytes())
}

/// Converts to UTF-8 if the server gives another encoding. Valid UTF-8 is kept regardless, unless it contains bytes
/// that no UTF-8 text has.
pub(crate) fn as_utf8(bytes: Vec<u8>, content_type: Option<&str>) -> Vec<u8> {
    let encoding = content_type.and_then(declared_encoding).filter(|it| *it != encoding_rs::UTF_8);
    match encoding {
        Some(encoding) if std::str::from_utf8(&bytes).is_err() || is_in(encoding, &bytes) => {
            encoding.decode(&bytes).0.into_owned().into_bytes()
        }
        _ => bytes,
    }
}

/// Whether bytes that are valid UTF-8 are recognizably in another encoding.
fn is_in(encoding: &'static Encoding, bytes: &[u8]) -> bool {
    if encoding == ISO_2022_JP {
        bytes.contains(&ESCAPE)
    } else {
        (encoding == UTF_16LE || encoding == UTF_16BE) && bytes.contains(&0)
    }
}

/// The text of an HTML page.
pub(crate) fn html(bytes: &[u8]) -> Result<String, Unreadable> {
    decode_markup(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_s_word_counts_where_the_bytes_are_no_text_in_utf_8() {
        for (content_type, bytes, want) in [
            (Some("text/html; charset=windows-1251"), b"\xe6\xf3\xea".as_slice(), "жук"),
            (Some("text/html; Charset=\"ISO-8859-1\""), b"caf\xe9", "café"),
            (Some("text/html; charset=windows-1251"), "größe".as_bytes(), "größe"),
            (Some("text/html; charset=iso-2022-jp"), b"\x1b$B%i%s%W\x1b(B", "ランプ"),
            (Some("text/html; charset=iso-2022-jp"), "größe".as_bytes(), "größe"),
            (Some("text/html; charset=utf-8"), b"\x1b$B%i\x1b(B", "\x1b$B%i\x1b(B"),
            (Some("text/html; charset=utf-16le"), b"h\0i\0", "hi"),
            (Some("text/html; charset=utf-16be"), b"\0h\0i", "hi"),
            (Some("text/html; charset=utf-16le"), b"<p>hi</p>", "<p>hi</p>"),
            (Some("text/html; charset=windows-1251"), b"h\0i", "h\0i"),
            // An encoding that is not read any more: the bytes stay as they came.
            (Some("text/html; charset=iso-2022-kr"), b"caf\xe9", "caf\u{fffd}"),
            (Some("text/html; charset=nonsense"), b"abc", "abc"),
            (None, b"abc", "abc"),
        ] {
            let got = as_utf8(bytes.to_vec(), content_type);
            assert_eq!(String::from_utf8_lossy(&got), want, "{content_type:?}");
        }
    }
}
