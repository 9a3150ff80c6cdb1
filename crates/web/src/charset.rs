//! The text of a page, by the encoding that its server names, or else by the one that its bytes tell.

use docent_prose::{Unreadable, decode_markup};
use encoding_rs::Encoding;

/// What `charset=` names in a content type.
fn named(content_type: &str) -> Option<&'static Encoding> {
    let value = content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then_some(value)
    })?;
    Encoding::for_label(value.trim().trim_matches(['"', '\'']).as_bytes())
}

/// The bytes as UTF-8, where the server names another encoding. What is valid as UTF-8 is UTF-8, whatever is said.
pub(crate) fn as_utf8(bytes: Vec<u8>, content_type: Option<&str>) -> Vec<u8> {
    let encoding = content_type.and_then(named).filter(|it| *it != encoding_rs::UTF_8);
    match encoding {
        Some(encoding) if std::str::from_utf8(&bytes).is_err() => {
            encoding.decode(&bytes).0.into_owned().into_bytes()
        }
        _ => bytes,
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
    fn the_server_s_word_counts_where_the_bytes_are_no_utf_8() {
        for (content_type, bytes, want) in [
            (Some("text/html; charset=windows-1251"), b"\xe6\xf3\xea".as_slice(), "жук"),
            (Some("text/html; Charset=\"ISO-8859-1\""), b"caf\xe9", "café"),
            (Some("text/html; charset=windows-1251"), "größe".as_bytes(), "größe"),
            (Some("text/html; charset=nonsense"), b"abc", "abc"),
            (None, b"abc", "abc"),
        ] {
            let got = as_utf8(bytes.to_vec(), content_type);
            assert_eq!(String::from_utf8(got).unwrap(), want, "{content_type:?}");
        }
    }
}
