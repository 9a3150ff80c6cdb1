//! Decodes bytes of any encoding to text.

use crate::format::Unreadable;
use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8};

/// The first bytes, in which a page must declare its encoding.
const MAX_DECLARATION_BYTES: usize = 1024;
/// One NUL per this many bytes is a mistake; more mean binary data.
const BYTES_PER_STRAY_NUL: usize = 1000;
/// Bytes used for detection; more would only take longer.
const DETECTION_BYTES: usize = 64 << 10;

/// Decodes a file.
pub(crate) fn text(bytes: &[u8]) -> Result<String, Unreadable> {
    let plain = nonblank(bytes)?;
    if !is_wide(bytes) && memchr::memchr(0, plain).is_some() {
        return Err(Unreadable::Binary);
    }
    decode(plain, |_| None)
}

/// Decodes a file that may declare its encoding, as HTML and XML do. A stray NUL does not make it binary.
pub fn marked_up(bytes: &[u8]) -> Result<String, Unreadable> {
    let plain = nonblank(bytes)?;
    let zeros = if is_wide(bytes) { 0 } else { memchr::memchr_iter(0, plain).count() };
    if zeros > plain.len() / BYTES_PER_STRAY_NUL {
        return Err(Unreadable::Binary);
    }
    let text = decode(plain, declared_encoding)?;
    Ok(if zeros > 0 { text.replace('\0', "") } else { text })
}

fn nonblank(bytes: &[u8]) -> Result<&[u8], Unreadable> {
    if bytes.iter().all(u8::is_ascii_whitespace) { Err(Unreadable::Empty) } else { Ok(bytes) }
}

/// Whether a byte order mark indicates UTF-16, where every other byte may be NUL.
fn is_wide(bytes: &[u8]) -> bool {
    Encoding::for_bom(bytes).is_some_and(|(encoding, _)| encoding != UTF_8)
}

fn decode(
    bytes: &[u8],
    declared: fn(&[u8]) -> Option<&'static Encoding>,
) -> Result<String, Unreadable> {
    let text = match (Encoding::for_bom(bytes), std::str::from_utf8(bytes)) {
        (Some((encoding, mark)), _) => {
            encoding.decode_without_bom_handling(bytes.get(mark..).unwrap_or_default()).0
        }
        // Valid UTF-8 is UTF-8, whatever it declares: other encodings hardly ever look like it.
        (None, Ok(text)) => text.into(),
        (None, Err(_)) => {
            let named = declared(bytes).filter(|named| *named != UTF_8);
            named.unwrap_or_else(|| guess(bytes)).decode(bytes).0
        }
    };
    if text.trim().is_empty() {
        return Err(Unreadable::Empty);
    }
    let has_returns = memchr::memchr(b'\r', text.as_bytes()).is_some();
    Ok(if has_returns { text.replace("\r\n", "\n") } else { text.into_owned() })
}

/// The encoding that a file declares: `<?xml encoding="…"`, `<meta charset=…>`, or in the type of its content.
fn declared_encoding(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes.get(..MAX_DECLARATION_BYTES).unwrap_or(bytes).to_ascii_lowercase();
    ["encoding=", "charset="].into_iter().find_map(|mark| {
        let at = memchr::memmem::find(&head, mark.as_bytes())? + mark.len();
        let rest = head.get(at..)?.trim_ascii_start();
        let rest = rest.strip_prefix(b"\"").or_else(|| rest.strip_prefix(b"'")).unwrap_or(rest);
        let ends = |byte: &u8| {
            !(byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':' | b'.'))
        };
        let end = rest.iter().position(ends).unwrap_or(rest.len());
        Encoding::for_label(rest.get(..end)?)
    })
}

/// Guesses the encoding from the bytes. UTF-8 with a few broken bytes is still UTF-8.
fn guess(bytes: &[u8]) -> &'static Encoding {
    let marks = bytes.utf8_chunks().fold((0_usize, 0_usize), |(good, bad), chunk| {
        let letters = chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        (good + letters, bad + usize::from(!chunk.invalid().is_empty()))
    });
    if marks.0 > marks.1 * 4 {
        return UTF_8;
    }
    let first = bytes.iter().position(|byte| !byte.is_ascii()).unwrap_or_default();
    let sample = bytes.get(first.saturating_sub(MAX_DECLARATION_BYTES)..).unwrap_or(bytes);
    let sample = sample.get(..DETECTION_BYTES).unwrap_or(sample);
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(sample, true);
    detector.guess(None, Utf8Detection::Deny)
}

#[cfg(test)]
mod tests {
    use super::*;
    use encoding_rs::{SHIFT_JIS, WINDOWS_1251, WINDOWS_1252};

    fn check(bytes: &[u8], want: Result<&str, Unreadable>) {
        assert_eq!(marked_up(bytes), want.map(str::to_owned), "{bytes:?}");
    }

    #[test]
    fn encodings_are_detected_by_mark_name_and_content() {
        check("größe".as_bytes(), Ok("größe"));
        check(b"\xef\xbb\xbfa\r\nb", Ok("a\nb"));
        check(b"\xff\xfea\0\xe4\0", Ok("aä"));
        check(b"\xfe\xff\0a\0\xe4", Ok("aä"));
        check(b"<meta charset='iso-8859-2'>\xb1", Ok("<meta charset='iso-8859-2'>ą"));
        let typed = "<META http-equiv=content-type content=\"text/html; charset=windows-1251\">жук";
        check(&WINDOWS_1251.encode(typed).0, Ok(typed));
        let xml = "<?xml version='1.0' encoding='Shift_JIS'?>日本";
        check(&SHIFT_JIS.encode(xml).0, Ok(xml));
        // The declaration is wrong.
        check("<meta charset=iso-8859-1>größe".as_bytes(), Ok("<meta charset=iso-8859-1>größe"));
        let german = "Die Größe der Straße wird in Metern gemessen, häufig für Fußgänger.";
        check(&WINDOWS_1252.encode(german).0, Ok(german));
        check(b"<meta charset=utf-8>caf\xe9 et th\xe9", Ok("<meta charset=utf-8>café et thé"));
    }

    #[test]
    fn empty_and_binary_files_are_reported() {
        check(b" \n", Err(Unreadable::Empty));
        check(b"\xef\xbb\xbf ", Err(Unreadable::Empty));
        check(b"a\0b", Err(Unreadable::Binary));
        check(b"\xef\xbb\xbfa\0b", Err(Unreadable::Binary));
        let long = "a ".repeat(1000);
        check(format!("{long}\0b").as_bytes(), Ok(&format!("{long}b")));
        assert_eq!(text(format!("{long}\0b").as_bytes()), Err(Unreadable::Binary));
        assert!(marked_up(&[0xff, 0xfe, 0x00, 0xd8, 0x41]).is_ok());
        assert!(marked_up(&[b'a', 0xff, 0xc3]).is_ok());
    }
}
