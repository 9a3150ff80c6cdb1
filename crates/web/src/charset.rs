//! The text of a page, by the encoding that its server names, or else by the one that its bytes tell.

use docent_prose::{Unreadable, decode_markup};
use encoding_rs::{Encoding, ISO_2022_JP, UTF_16BE, UTF_16LE};

/// Begins other letters than ASCII's in ISO-2022-JP, which has bytes of ASCII alone.
const ESCAPE: u8 = 0x1b;

/// What `charset=` names in a content type.
fn declared_encoding(content_type: &str) -> Option<&'static Encoding> {
    let value = content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then_some(value)
    })?;
    // Some labels stand for no encoding that may be read, and would leave nothing of the text.
    Encoding::for_label_no_replacement(value.trim().trim_matches(['"', '\'']).as_bytes())
}

/// The bytes as UTF-8, where the server names another encoding. What is valid as UTF-8 is UTF-8, whatever is said, but for
/// what no text in UTF-8 holds.
pub(crate) fn as_utf8(bytes: Vec<u8>, content_type: Option<&str>) -> Vec<u8> {
    let encoding = content_type.and_then(declared_encoding).filter(|it| *it != encoding_rs::UTF_8);
    match encoding {
        Some(encoding) if std::str::from_utf8(&bytes).is_err() || is_in(encoding, &bytes) => {
            encoding.decode(&bytes).0.into_owned().into_bytes()
        }
        _ => bytes,
    }
}

/// Whether bytes that are valid as UTF-8 show that they are in another encoding.
fn is_in(encoding: &'static Encoding, bytes: &[u8]) -> bool {
    if encoding == ISO_2022_JP {
        bytes.contains(&ESCAPE)
    } else {
        (encoding == UTF_16LE || encoding == UTF_16BE) && bytes.contains(&0)
    }
}

/// The text of a page of HTML.
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
