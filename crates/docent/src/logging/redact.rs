//! The last step of a log line: masks secrets, and keeps each event on one line of bounded length.

use crate::config::SecretText;
use docent_screen::{Screen, ScreenOptions, one_line};
use serde_json::json;
use std::{
    borrow::Cow,
    io::{self, Write},
    sync::{Arc, OnceLock, PoisonError, RwLock},
};

/// Maximum size of a line in bytes: its text may come from others.
const MAX_LINE_BYTES: usize = 256 * 1024;
/// Bytes searched beyond the end of a truncated line, to find a secret that begins before it.
const LOOKAHEAD_BYTES: usize = 16 * 1024;
/// The ANSI codes of the log layer: off, bold, dimmed, italic, and a color per level.
const LOG_STYLE_CODES: [u8; 9] = [0, 1, 2, 3, 31, 32, 33, 34, 35];

/// Masks secrets. Cheap to clone; clones share their secrets. Built with the first line that needs it.
#[derive(Clone, Default)]
pub struct Redactor(Arc<RwLock<KnownSecrets>>);

#[derive(Default)]
struct KnownSecrets {
    secrets: Vec<String>,
    screen: OnceLock<Screen>,
}

impl Redactor {
    /// Masks these in addition to what looks like a secret.
    pub fn new(secrets: &[SecretText]) -> Self {
        let redactor = Self::default();
        redactor.add_secrets(secrets);
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

    /// Returns the text with every secret masked.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let made = || Screen::new(known.secrets.clone(), ScreenOptions::for_logs());
        known.screen.get_or_init(made).redact(text)
    }

    /// Returns the beginning of the text with every secret masked, and whether it was truncated.
    pub(super) fn mask_head(&self, text: &str, most: usize) -> (String, bool) {
        let head = text.get(..text.floor_char_boundary(most + LOOKAHEAD_BYTES)).unwrap_or(text);
        let mut masked = self.mask(head).into_owned();
        let was_longer = head.len() < text.len();
        // The end of the searched text may be the beginning of a secret.
        let unsure = if was_longer { LOOKAHEAD_BYTES } else { 0 };
        let kept = masked.floor_char_boundary(most.min(masked.len().saturating_sub(unsure)));
        let is_cut = was_longer || kept < masked.len();
        masked.truncate(kept);
        (masked, is_cut)
    }
}

/// A writer that masks secrets. One `write` must be one whole line, as the log layer does.
pub(super) struct MaskingWriter<W> {
    pub(super) inner: W,
    pub(super) redactor: Redactor,
    /// Whether lines have colors, which are control characters of our own.
    pub(super) colors: bool,
}

impl<W: Write> Write for MaskingWriter<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let text = text.trim_end_matches('\n');
        let (masked, is_cut) = self.redactor.mask_head(text, MAX_LINE_BYTES);
        // Untrusted text must not look like a separate line, nor control the terminal.
        let mut safe = one_line(&masked).into_owned();
        if self.colors {
            safe = restore_colors(safe);
        }
        if is_cut {
            safe = truncate_line(&safe, text, self.colors);
        }
        self.inner.write_all(format!("{safe}\n").as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Restores the layer's own colors in an escaped line. Untrusted text may use them too: they only change colors.
fn restore_colors(line: String) -> String {
    LOG_STYLE_CODES.iter().fold(line, |line, code| {
        line.replace(&format!("<ESC[{code}m>"), &format!("\u{1b}[{code}m"))
    })
}

/// Marks a line as truncated. A JSON line stays valid JSON.
fn truncate_line(line: &str, text: &str, colors: bool) -> String {
    let bytes = text.len();
    if text.starts_with('{') {
        return json!({"cut": line, "bytes": bytes}).to_string();
    }
    let off = if colors { "\u{1b}[0m" } else { "" };
    format!("{line}{off} … [cut: {bytes} bytes in all]")
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
        for (colors, line, want) in [
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
            let output = written(line, colors);
            assert!(output.starts_with(want), "{output:?}");
            assert_eq!(output.matches('\n').count(), 1, "{output:?}");
        }
    }

    fn written(line: &str, colors: bool) -> String {
        let mut masked = MaskingWriter { inner: Vec::new(), redactor: Redactor::default(), colors };
        masked.write_all(line.as_bytes()).unwrap();
        String::from_utf8(masked.inner).unwrap()
    }

    #[test]
    fn a_line_that_is_too_long_is_cut_and_says_so() {
        let token = ["ghp", "_0123456789abcdefghijABCDEFGHIJ012345"].concat();
        let before = "x ".repeat(MAX_LINE_BYTES / 2 - 10);
        for after in ["y ".repeat(MAX_LINE_BYTES), "y ".repeat(MAX_LINE_BYTES / 100)] {
            let line = format!("{before}{token} {after}\n");
            for (colors, end) in [(false, ""), (true, "\u{1b}[0m")] {
                let output = written(&line, colors);
                assert!(
                    output.starts_with(&before) && !output.contains("ghp_"),
                    "the token is cut"
                );
                let end = format!("{end} … [cut: {} bytes in all]\n", line.len() - 1);
                assert!(
                    output.ends_with(&end) && output.len() <= MAX_LINE_BYTES + end.len(),
                    "{end}"
                );
            }
        }
        let line = format!("{{\"message\":\"{before}{token} {before}\"}}\n");
        let output: serde_json::Value = serde_json::from_str(&written(&line, false)).unwrap();
        assert_eq!(output["bytes"], line.len() - 1);
        let head = output["cut"].as_str().unwrap();
        assert!(head.starts_with("{\"message\":\"x ") && !head.contains("ghp_"));
        let line = "z ".repeat(MAX_LINE_BYTES / 2);
        assert_eq!(written(&line, false), format!("{line}\n"), "one that is not stays whole");
    }
}
