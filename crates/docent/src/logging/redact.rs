//! Masks secrets in text that is about to be written: the configured ones, and whatever looks like one.

use crate::config::Secret;
use std::{
    borrow::Cow,
    io::{self, Write},
    sync::Arc,
};

const MASK: &str = "***";

/// Shorter secrets would mask half of every line, so only their look gives them away.
const SHORTEST: usize = 4;

/// Names whose value is masked, in lower case without `_` and `-`.
const SENSITIVE: [&str; 9] = [
    "apikey",
    "authorization",
    "accesstoken",
    "authtoken",
    "refreshtoken",
    "clientsecret",
    "secret",
    "password",
    "passwd",
];

/// Knows what to mask.
#[derive(Clone, Default)]
pub struct Redactor {
    secrets: Arc<[String]>,
}

impl Redactor {
    /// Masks these besides what looks like a secret.
    pub fn new(secrets: &[Secret]) -> Self {
        let mut texts: Vec<String> = Vec::new();
        for secret in secrets.iter().map(Secret::expose).filter(|text| text.len() >= SHORTEST) {
            // The form that the secret has inside a JSON string.
            let quoted = serde_json::Value::from(secret).to_string();
            let inner = quoted.trim_matches('"');
            texts.extend([secret.to_owned()]);
            texts.extend((inner != secret).then(|| inner.to_owned()));
        }
        // The longest first: a secret that starts with another one must not leave its tail.
        texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        Self { secrets: texts.into() }
    }

    /// The text with every secret masked.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut masked = Cow::Borrowed(text);
        for secret in self.secrets.iter() {
            if masked.contains(secret.as_str()) {
                masked = Cow::Owned(masked.replace(secret.as_str(), MASK));
            }
        }
        match mask_shapes(&masked) {
            Some(shaped) => Cow::Owned(shaped),
            None => masked,
        }
    }
}

/// `None` where nothing looks like a secret.
fn mask_shapes(text: &str) -> Option<String> {
    let mut masked: Option<String> = None;
    let mut copied = 0;
    let mut rest = text;
    while let Some(start) = rest.find(is_name) {
        let (_, from_name) = rest.split_at(start);
        let end = from_name.find(|c| !is_name(c)).unwrap_or(from_name.len());
        let (name, after) = from_name.split_at(end);
        rest = after;
        let Some((skipped, length)) = secret_after(name, after) else { continue };
        let from = text.len() - after.len() + skipped;
        let out = masked.get_or_insert_default();
        out.push_str(text.get(copied..from).unwrap_or_default());
        out.push_str(MASK);
        copied = from + length;
        rest = text.get(copied..).unwrap_or_default();
    }
    if let Some(out) = &mut masked {
        out.push_str(text.get(copied..).unwrap_or_default());
    }
    masked
}

/// Where the secret that belongs to `name` begins in the text after it, and how long it is.
fn secret_after(name: &str, after: &str) -> Option<(usize, usize)> {
    let is_scheme =
        |word: &str| word.eq_ignore_ascii_case("bearer") || word.eq_ignore_ascii_case("basic");
    let value = if is_scheme(name) {
        after.strip_prefix(' ')?.trim_start()
    } else if is_sensitive(name) {
        let separator = after.trim_start_matches(is_quote).trim_start();
        let value = separator.strip_prefix([':', '='])?.trim_start().trim_start_matches(is_quote);
        match value.split_once(' ') {
            Some((scheme, token)) if is_scheme(scheme) => token.trim_start(),
            _ => value,
        }
    } else {
        return None;
    };
    let length = value.find(ends_value).unwrap_or(value.len());
    // `token: null`, `"token": {…}` and words such as "basic rules" are no secrets.
    let plain = length == 0
        || value.starts_with(MASK)
        || ["null", "None"].iter().any(|word| value.get(..length) == Some(*word));
    let too_short = is_scheme(name) && length < 8;
    (!plain && !too_short).then(|| (after.len() - value.len(), length))
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '\\')
}

fn ends_value(c: char) -> bool {
    c.is_whitespace() || is_quote(c) || matches!(c, ',' | '&' | ';' | '}' | ']' | ')' | '{' | '[')
}

fn is_sensitive(name: &str) -> bool {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let plain = plain.to_ascii_lowercase();
    plain == "token" || SENSITIVE.iter().any(|word| plain.ends_with(word))
}

/// A writer that masks. Each `write` must be one whole line, which is how the log layer writes.
pub(super) struct Masked<W> {
    pub(super) inner: W,
    pub(super) redactor: Redactor,
}

impl<W: Write> Write for Masked<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        self.inner.write_all(self.redactor.mask(&text).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: &str) {
        assert_eq!(Redactor::default().mask(text), want);
    }

    #[test]
    fn what_looks_like_a_secret_is_masked() {
        check("Authorization: Bearer abc.def-123", "Authorization: Bearer ***");
        check("authorization: Basic bXktc2VjcmV0", "authorization: Basic ***");
        check("sent Bearer abcdefgh, ok", "sent Bearer ***, ok");
        check(
            r#"{"auth":{"type":"bearer","token":"mySecret"}}"#,
            r#"{"auth":{"type":"bearer","token":"***"}}"#,
        );
        check(r#"{\"token\": \"mySecret\"}"#, r#"{\"token\": \"***\"}"#);
        check("GET /x?api_key=abc&y=1", "GET /x?api_key=***&y=1");
        check("apiKey: 'k', X-Api-Key=z", "apiKey: '***', X-Api-Key=***");
        check("password=hunter2;client_secret=q", "password=***;client_secret=***");
    }

    #[test]
    fn what_does_not_is_left() {
        for text in [
            "",
            "no secrets here",
            r#"{"progressToken": 7, "tokens": 5}"#,
            "basic rules apply",
            "token_env = CI_KEY",
            r#"{"token": null}"#,
            "the token is missing",
            "żółć = ü",
        ] {
            assert!(
                matches!(Redactor::default().mask(text), Cow::Borrowed(same) if same == text),
                "{text}"
            );
        }
    }

    #[test]
    fn lines_are_masked_on_their_way_out() {
        let mut masked = Masked { inner: Vec::new(), redactor: Redactor::default() };
        masked.write_all("a token=żółw b\n".as_bytes()).unwrap();
        assert_eq!(String::from_utf8(masked.inner).unwrap(), "a token=*** b\n");
    }
}
