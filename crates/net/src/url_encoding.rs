//! Normalizes the percent-encoding of paths.

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

/// Bytes that must be percent-encoded in a path.
const ENCODED: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'`').add(b'{').add(b'}').add(b'\\');

/// Decodes bytes that need no encoding, and encodes the rest in upper case.
pub(crate) fn normal(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('%') {
        encode(before, &mut out);
        let digits = after.get(..2).filter(|two| two.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let Some(digits) = digits else {
            out.push('%');
            rest = after;
            continue;
        };
        match u8::from_str_radix(digits, 16) {
            Ok(byte) if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => {
                out.push(char::from(byte));
            }
            _ => {
                out.push('%');
                out.push_str(&digits.to_ascii_uppercase());
            }
        }
        rest = after.get(2..).unwrap_or_default();
    }
    encode(rest, &mut out);
    out
}

fn encode(text: &str, out: &mut String) {
    out.extend(utf8_percent_encode(text, ENCODED));
}

/// Decodes a path segment.
pub(crate) fn plain(segment: &str) -> String {
    percent_decode_str(segment).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_one_spelling() {
        for (path, want) in [
            ("/a/b", "/a/b"),
            ("/%7euser/%41", "/~user/A"),
            ("/a%2fb", "/a%2Fb"),
            ("/a%2Fb", "/a%2Fb"),
            ("/é", "/%C3%A9"),
            ("/%c3%a9", "/%C3%A9"),
            ("/a b", "/a%20b"),
            ("/100%", "/100%"),
            ("/%zz%4", "/%zz%4"),
            ("/%é", "/%%C3%A9"),
            ("", ""),
        ] {
            assert_eq!(normal(path), want, "{path}");
            assert_eq!(normal(&normal(path)), want, "{path} twice");
        }
    }
}
