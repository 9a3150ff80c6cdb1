//! The last step of a log line: secrets are masked, and one event stays one line of bounded length.

use crate::config::SecretText;
use docent_screen::{ScreenOptions, Screen, one_line};
use serde_json::json;
use std::{
    borrow::Cow,
    io::{self, Write},
    sync::{Arc, OnceLock, PoisonError, RwLock},
};

/// The most of a line that is written, in bytes: others decide how long what they say is.
const MAX_LINE_BYTES: usize = 256 * 1024;
/// What is looked at beyond the end of what is kept, so that a secret which begins before it is found.
const LOOKAHEAD_BYTES: usize = 16 * 1024;
/// What the log layer paints with: off, bold, dimmed, italic, and a colour for each level.
const LOG_STYLE_CODES: [u8; 9] = [0, 1, 2, 3, 31, 32, 33, 34, 35];

/// Knows what to mask. Cheap to clone, and all clones learn what one is told; ready with the first line that needs it.
#[derive(Clone, Default)]
pub struct Redactor(Arc<RwLock<KnownSecrets>>);

#[derive(Default)]
struct KnownSecrets {
    secrets: Vec<String>,
    screen: OnceLock<Screen>,
}

impl Redactor {
    /// Masks these besides what looks like a secret.
    pub fn new(secrets: &[SecretText]) -> Self {
        let redactor = Self::default();
        redactor.learn(secrets);
        redactor
    }

    /// Masks these as well.
    pub fn add_secrets(&self, secrets: &[SecretText]) {
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
        let made = || Screen::new(known.secrets.clone(), ScreenOptions::for_logs());
        known.screen.get_or_init(made).redact(text)
    }

    /// The beginning of the text with every secret masked, and whether there is more.
    pub(super) fn mask_head(&self, text: &str, most: usize) -> (String, bool) {
        let head = text.get(..text.floor_char_boundary(most + LOOKAHEAD_BYTES)).unwrap_or(text);
        let mut masked = self.mask(head).into_owned();
        let was_longer = head.len() < text.len();
        // The end of what was looked at may be the beginning of a secret.
        let unsure = if was_longer { LOOKAHEAD_BYTES } else { 0 };
        let kept = masked.floor_char_boundary(most.min(masked.len().saturating_sub(unsure)));
        let is_cut = was_longer || kept < masked.len();
        masked.truncate(kept);
        (masked, is_cut)
    }
}

/// Masks on the way to a writer. One `write` must be one whole line, which is how the log layer writes.
pub(super) struct MaskingWriter<W> {
    pub(super) inner: W,
    pub(super) redactor: Redactor,
    /// Whether the line has colours, which are control characters of our own.
    pub(super) colours: bool,
}

impl<W: Write> Write for MaskingWriter<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let text = text.trim_end_matches('\n');
        let (masked, is_cut) = self.redactor.mask_head(text, MAX_LINE_BYTES);
        // What came from outside must not look like a line of its own, nor move the terminal.
        let mut told = one_line(&masked).into_owned();
        if self.colours {
            told = restore_colors(told);
        }
        if is_cut {
            told = truncate_line(&told, text, self.colours);
        }
        self.inner.write_all(format!("{told}\n").as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// The line with the layer's own colours in it again. One that came from outside passes too: it only paints.
fn restore_colors(told: String) -> String {
    LOG_STYLE_CODES.iter().fold(told, |told, code| {
        told.replace(&format!("<ESC[{code}m>"), &format!("\u{1b}[{code}m"))
    })
}

/// The beginning of a line, which says that it is one. What reads JSON by the line still can.
fn truncate_line(told: &str, text: &str, colours: bool) -> String {
    let bytes = text.len();
    if text.starts_with('{') {
        return json!({"cut": told, "bytes": bytes}).to_string();
    }
    let off = if colours { "\u{1b}[0m" } else { "" };
    format!("{told}{off} … [cut: {bytes} bytes in all]")
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
            (
                true,
                "\u{1b}[3merror\u{1b}[0m\u{1b}[2m=\u{1b}[0m\u{1b}[1A\u{1b}[2Ka\u{1b}]0;t\u{7}\u{202e}b\u{1b}[\n",
                "\u{1b}[3merror\u{1b}[0m\u{1b}[2m=\u{1b}[0m<ESC[1A><ESC[2K>a<ESC]0;tBEL><U+202E>b<ESC>[\n",
            ),
        ] {
            let told = written(line, colours);
            assert!(told.starts_with(want), "{told:?}");
            assert_eq!(told.matches('\n').count(), 1, "{told:?}");
        }
    }

    fn written(line: &str, colours: bool) -> String {
        let mut masked = MaskingWriter { inner: Vec::new(), redactor: Redactor::default(), colours };
        masked.write_all(line.as_bytes()).unwrap();
        String::from_utf8(masked.inner).unwrap()
    }

    #[test]
    fn a_line_that_is_too_long_is_cut_and_says_so() {
        let token = ["ghp", "_0123456789abcdefghijABCDEFGHIJ012345"].concat();
        let before = "x ".repeat(MAX_LINE_BYTES / 2 - 10);
        for after in ["y ".repeat(MAX_LINE_BYTES), "y ".repeat(MAX_LINE_BYTES / 100)] {
            let line = format!("{before}{token} {after}\n");
            for (colours, end) in [(false, ""), (true, "\u{1b}[0m")] {
                let told = written(&line, colours);
                assert!(told.starts_with(&before) && !told.contains("ghp_"), "the token is cut");
                let end = format!("{end} … [cut: {} bytes in all]\n", line.len() - 1);
                assert!(told.ends_with(&end) && told.len() <= LONGEST + end.len(), "{end}");
            }
        }
        let line = format!("{{\"message\":\"{before}{token} {before}\"}}\n");
        let told: serde_json::Value = serde_json::from_str(&written(&line, false)).unwrap();
        assert_eq!(told["bytes"], line.len() - 1);
        let head = told["cut"].as_str().unwrap();
        assert!(head.starts_with("{\"message\":\"x ") && !head.contains("ghp_"));
        let line = "z ".repeat(MAX_LINE_BYTES / 2);
        assert_eq!(written(&line, false), format!("{line}\n"), "one that is not stays whole");
    }
}
