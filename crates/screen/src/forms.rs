//! Secrets whose form needs more than a run of characters: key blocks, signed tokens, URLs and HTTP credentials.
//!
//! Each function gets the text and the start of its anchor. None reads the same text twice, so hostile input costs no
//! more than its length.

use crate::{log_value, placeholder, value};
use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use std::ops::Range;

/// With or without padding, and with trailing bits, as peers accept it.
const LENIENT_BASE64: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD_BASE64: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT_BASE64);
const URL_SAFE_BASE64: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT_BASE64);

/// Maximum bytes of a key block; a PGP key with its signatures can be this long.
const MAX_KEY_BLOCK_BYTES: usize = 256 * 1024;
const MAX_VALUE_BYTES: usize = 8 * 1024;
/// Maximum bytes of the name of a scheme.
const MAX_SCHEME_BYTES: usize = 16;
/// Maximum bytes of the numbers in a color: `1;38;2;255;255;255`.
const MAX_COLOR_BYTES: usize = 24;

/// Returns the text from `at`, at most `value_length` bytes.
pub(crate) fn window(text: &str, at: usize, length: usize) -> &str {
    let end = text.floor_char_boundary(at.saturating_add(length));
    text.get(at..end).unwrap_or_default()
}

/// Counts the bytes from `at` that satisfy `accepts`.
pub(crate) fn span(text: &str, at: usize, accepts: impl Fn(u8) -> bool) -> usize {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    rest.iter().position(|byte| !accepts(*byte)).unwrap_or(rest.len())
}

fn is_base64url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// Finds a PEM or PGP private key, from its first line to its last, or to where the text was cut.
pub(crate) fn pem(text: &str, at: usize) -> Option<Range<usize>> {
    let header = window(text, at, 80);
    let label = header.strip_prefix("-----BEGIN ")?;
    let (label, _) = label.split_once("-----")?;
    if !(label.ends_with("PRIVATE KEY") || label == "PGP PRIVATE KEY BLOCK") {
        return None;
    }
    let body_at = at + "-----BEGIN -----".len() + label.len();
    let body = window(text, body_at, MAX_KEY_BLOCK_BYTES);
    let length = body.find("-----").unwrap_or(body.len());
    let body = body.get(..length)?;
    let end = window(text, body_at + length, 80).strip_prefix("-----END ");
    if let Some((last, _)) = end.and_then(|end| end.split_once("-----")) {
        let end = body_at + length + "-----END -----".len() + last.len();
        return has_key_material(body).then_some(at..end);
    }
    // The key was cut: another block or a Markdown rule after it is not part of it.
    let in_key =
        |byte: u8| is_base64(byte) || byte.is_ascii_whitespace() || b"\\\"',:-".contains(&byte);
    let body = body.get(..span(body, 0, in_key))?.trim_end();
    has_key_material(body).then(|| at..body_at + body.len())
}

/// Whether the body contains base64, unlike code that only names the first and the last line.
fn has_key_material(body: &str) -> bool {
    let runs = body.split(|c: char| !c.is_ascii() || !is_base64(c as u8));
    runs.filter(|run| run.len() >= 24)
        .any(|run| !value::is_sample_token(run) && !value::reads_as_words(run))
}

/// Finds the private part of a `PuTTY` key file.
pub(crate) fn putty(text: &str, at: usize) -> Option<Range<usize>> {
    let start = at + "Private-Lines:".len();
    let count = span(text, start, |byte| byte == b' ' || byte.is_ascii_digit());
    let body_at = start + count;
    let body = window(text, body_at, MAX_VALUE_BYTES);
    let length = span(body, 0, |byte| is_base64(byte) || byte.is_ascii_whitespace());
    let body = body.get(..length)?;
    // The line after the key is a name and a colon.
    let body = if window(text, body_at + length, 1).starts_with([':', '-']) {
        body.rsplit_once('\n').map_or(body, |(lines, _)| lines)
    } else {
        body
    };
    let body = body.trim_end();
    has_key_material(body).then(|| body_at..body_at + body.len())
}

/// Finds a JSON Web Token: three parts in base64url, the first being a JSON object that names an algorithm.
pub(crate) fn jwt(text: &str, at: usize) -> Option<Range<usize>> {
    if text.get(..at)?.ends_with(|c: char| c.is_ascii() && (is_base64url(c as u8) || c == '.'))
        && !after_escape(text, at)
    {
        return None;
    }
    let token = window(text, at, MAX_VALUE_BYTES);
    let head = span(token, 0, is_base64url);
    let decoded = URL_SAFE_BASE64.decode(token.get(..head)?).ok()?;
    let header: serde_json::Value = serde_json::from_slice(&decoded).ok()?;
    header.get("alg").or_else(|| header.get("enc")).or_else(|| header.get("typ"))?;
    let length = span(token, 0, |byte| is_base64url(byte) || byte == b'.');
    let token = token.get(..length)?.trim_end_matches('.');
    let parts: Vec<&str> = token.split('.').collect();
    // The signature may be empty or cut; the claims are private by themselves.
    (parts.len() >= 2 && parts.get(1)?.len() >= 8).then(|| at..at + token.len())
}

/// Whether an escape ends at `at`: the `n` of `\n` or the `0` of `%20` is not part of the following word.
pub(crate) fn after_escape(text: &str, at: usize) -> bool {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    match before {
        [.., b'%', first, second] => first.is_ascii_hexdigit() && second.is_ascii_hexdigit(),
        [.., b'\\', last] => matches!(last, b'n' | b'r' | b't'),
        // The end of a color: `ESC [ 3 1 m`. Without its bracket, a number and an `m` are part of a word like any
        // other.
        [numbers @ .., b'm'] => {
            let last = numbers.iter().rev().take(MAX_COLOR_BYTES);
            let length = last.take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
            numbers.get(..numbers.len() - length).is_some_and(|before| before.ends_with(b"["))
        }
        _ => false,
    }
}

/// Finds the password of `scheme://user:password@host`.
pub(crate) fn url_password(text: &str, at: usize) -> Option<Range<usize>> {
    let range = url_userinfo(text, at)?;
    let password = text.get(range.clone())?;
    let user = text.get(at + "://".len()..range.start - 1)?;
    // `guest:guest` is a default login.
    (user != password && !is_sample_password(password)).then_some(range)
}

/// Finds the password of a URL, whatever it looks like.
pub(crate) fn url_userinfo(text: &str, at: usize) -> Option<Range<usize>> {
    let start = at + "://".len();
    let before = text.as_bytes().get(at.checked_sub(1)?)?;
    if !before.is_ascii_alphanumeric() {
        return None;
    }
    let authority = window(text, start, 512);
    let length = span(authority, 0, |byte| byte > b' ' && !b"/?#\"'<>`\\|,;".contains(&byte));
    let (user_info, host) = authority.get(..length)?.rsplit_once('@')?;
    let (user, password) = user_info.split_once(':')?;
    let named_host =
        host.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '[' | '$' | '{'));
    let from = start + user.len() + 1;
    (named_host && !password.is_empty() && !password.contains("://"))
        .then(|| from..from + password.len())
}

/// Whether it is a sample password of documentation.
fn is_sample_password(password: &str) -> bool {
    let short = ["pass", "pwd", "pw", "p", "user", "foo", "bar", "test", "b", "psw", "passw"];
    placeholder::is_placeholder(&password.replace("%20", " "))
        || short.contains(&password.to_ascii_lowercase().as_str())
        || value::is_bracketed(password)
        || password.bytes().all(|byte| matches!(byte, b'x' | b'X' | b'.' | b'-'))
        || (password.len() < 4 && password.bytes().all(|byte| byte.is_ascii_alphabetic()))
}

/// Finds the token after `Bearer`, as in an Authorization header.
pub(crate) fn bearer(text: &str, at: usize) -> Option<Range<usize>> {
    let range = after_word(text, at)?;
    let token = text.get(range.clone())?;
    let issued = value::looks_random(token, 16) && !placeholder::is_placeholder(token);
    issued.then_some(range)
}

/// Finds the token after `Bot` or `Token`, which are schemes only in the header and ordinary words elsewhere.
pub(crate) fn header_token(text: &str, at: usize) -> Option<Range<usize>> {
    let start = text.floor_char_boundary(at.saturating_sub(24));
    let before = text.get(start..at)?.to_ascii_lowercase();
    if before.contains("authorization") { bearer(text, at) } else { None }
}

/// Finds what follows `Bearer` or `Basic`, if it is longer than most words.
pub(crate) fn after_scheme(text: &str, at: usize) -> Option<Range<usize>> {
    // A redaction marker contains the name of the scheme.
    let in_mark = window(text, at, MAX_VALUE_BYTES).starts_with("basic credentials]")
        && text.get(..at)?.ends_with("[redacted: ");
    if in_mark {
        return None;
    }
    let end = end_of_scheme(text, at)?;
    let gap = span(window(text, end, 64), 0, |byte| byte == b' ' || byte == b'\t');
    if gap == 0 {
        return None;
    }
    let from = end + gap;
    let length = log_value::value_length(window(text, from, MAX_VALUE_BYTES));
    (length >= 8).then(|| from..from + length)
}

/// Returns the end of the scheme at `at`, if one starts there. What follows is read only after a gap, so that a
/// sequence of words is not read repeatedly.
fn end_of_scheme(text: &str, at: usize) -> Option<usize> {
    let word = |byte: u8| byte.is_ascii_alphabetic();
    begins_scheme(text, at).then(|| at + span(window(text, at, MAX_SCHEME_BYTES), 0, word))
}

fn begins_scheme(text: &str, at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| text.as_bytes().get(before));
    !before.is_some_and(|byte| is_base64url(*byte)) || after_escape(text, at)
}

/// Finds the token after the word at `at`.
fn after_word(text: &str, at: usize) -> Option<Range<usize>> {
    let end = end_of_scheme(text, at)?;
    let gap = span(window(text, end, 8), 0, |byte| b" \t:".contains(&byte));
    if !(1..=4).contains(&gap) {
        return None;
    }
    let from = end + gap;
    let token = window(text, from, MAX_VALUE_BYTES);
    let accepts = |byte| is_base64url(byte) || matches!(byte, b'.' | b'~' | b'+' | b'/' | b'=');
    let token = token.get(..span(token, 0, accepts))?.trim_end_matches('.');
    Some(from..from + token.len())
}

/// Finds the credentials after `Basic`: base64 of `user:password`.
pub(crate) fn basic(text: &str, at: usize) -> Option<Range<usize>> {
    begins_scheme(text, at).then_some(())?;
    from_user_password(text, at + "Basic ".len())
}

/// Finds `"auth": "…"` of a Docker configuration.
pub(crate) fn docker(text: &str, at: usize) -> Option<Range<usize>> {
    let start = at + "\"auth".len();
    let gap = span(text, start, |byte| b"\\\": \t".contains(&byte));
    if gap > 12 { None } else { from_user_password(text, start + gap) }
}

fn from_user_password(text: &str, from: usize) -> Option<Range<usize>> {
    let encoded = window(text, from, 2048);
    let length = span(encoded, 0, is_base64);
    let encoded = encoded.get(..length)?;
    if encoded.len() < 8 {
        return None;
    }
    let decoded = STANDARD_BASE64.decode(encoded).ok()?;
    let decoded = str::from_utf8(&decoded).ok()?;
    let printable = decoded.chars().all(|c| !c.is_control());
    (printable && decoded.contains(':')).then(|| from..from + length)
}
