//! The last step of a log line: secrets are masked, and one event stays one line.

use crate::config::Secret;
use docent_screen::{Options, Screen, one_line};
use std::{
    borrow::Cow,
    io::{self, Write},
    sync::{Arc, OnceLock, PoisonError, RwLock},
};

/// Knows what to mask. Cheap to clone, and all clones learn what one is told; ready with the first line that needs it.
#[derive(Clone, Default)]
pub struct Redactor(Arc<RwLock<Known>>);

#[derive(Default)]
struct Known {
    secrets: Vec<String>,
    screen: OnceLock<Screen>,
}

impl Redactor {
    /// Masks these besides what looks like a secret.
    pub fn new(secrets: &[Secret]) -> Self {
        let redactor = Self::default();
        redactor.learn(secrets);
        redactor
    }

    /// Masks these as well.
    pub fn learn(&self, secrets: &[Secret]) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let new = secrets.iter().map(|secret| secret.expose().to_owned());
        let new: Vec<String> = new.filter(|secret| !known.secrets.contains(secret)).collect();
        if !new.is_empty() {
            known.secrets.extend(new);
            known.screen = OnceLock::new();
        }
    }

    /// The text with every secret masked.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let made = || Screen::new(known.secrets.clone(), Options::for_logs());
        known.screen.get_or_init(made).redact(text)
    }
}

/// Masks on the way to a writer. One `write` must be one whole line, which is how the log layer writes.
pub(super) struct Masked<W> {
    pub(super) inner: W,
    pub(super) redactor: Redactor,
    /// Whether the line has colours, which are control characters of our own.
    pub(super) colours: bool,
}

impl<W: Write> Write for Masked<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let masked = self.redactor.mask(text.trim_end_matches('\n'));
        // What came from outside must not look like a line of its own.
        let told = if self.colours {
            Cow::Owned(masked.replace('\n', "\\n").replace('\r', "\\r"))
        } else {
            one_line(&masked)
        };
        self.inner.write_all(format!("{told}\n").as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_secret_is_masked() {
        for (text, secret) in [
            ("Authorization: Bearer abc.def-123", "abc.def-123"),
            ("sent Bearer abcdefgh, ok", "abcdefgh"),
            (r#"{"auth":{"type":"bearer","token":"mySecret"}}"#, "mySecret"),
            (r#"{\"token\": \"mySecret\"}"#, "mySecret"),
            ("GET /x?api_key=abc123&y=1", "abc123"),
            ("password=hunter2;client_secret=qwerty", "hunter2"),
        ] {
            let masked = Redactor::default().mask(text);
            assert!(!masked.contains(secret) && masked.contains("[redacted"), "{text}: {masked}");
        }
    }

    #[test]
    fn what_does_not_is_left() {
        for text in ["", "no secrets here", r#"{"progressToken": 7, "tokens": 5}"#, "żółć = ü"]
        {
            let masked = Redactor::default().mask(text);
            assert!(matches!(masked, Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn one_event_is_one_line() {
        for (colours, line, want) in [
            (false, "a token=żółw99 b\n", "a token=[redacted: token] b\n"),
            (false, "said x\nINFO forged \u{1b}[31m\n", "said x\\nINFO forged "),
            (
                true,
                "\u{1b}[32mINFO\u{1b}[0m x\nINFO forged\n",
                "\u{1b}[32mINFO\u{1b}[0m x\\nINFO forged\n",
            ),
        ] {
            let mut masked = Masked { inner: Vec::new(), redactor: Redactor::default(), colours };
            masked.write_all(line.as_bytes()).unwrap();
            let told = String::from_utf8(masked.inner).unwrap();
            assert!(told.starts_with(want), "{told:?}");
            assert_eq!(told.matches('\n').count(), 1, "{told:?}");
        }
    }
}
