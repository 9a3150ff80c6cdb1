//! Masks secrets in displayed settings, wherever they are and whatever their names.

use super::resolve::SecretText;
use docent_registry::{EntryTransport, McpServerEntry};
use docent_screen::{Screen, ScreenOptions, SecretFinding};
use serde_json::Value;
use std::{fmt::Write as _, path::Path};

/// Replaces a value that is secret because of its key.
pub(super) const MASK: &str = "***";

/// Masks secrets in displayed values.
pub(crate) struct ServerSecretMask(Screen);

impl ServerSecretMask {
    /// Masks these in addition to what looks like a secret.
    pub(crate) fn new(secrets: &[SecretText]) -> Self {
        // The values of an entry's variables count as secrets, but some are folders, such as `HOME`.
        let is_place = |text: &str| Path::new(text).is_absolute() && Path::new(text).exists();
        let known = secrets.iter().map(SecretText::expose).filter(|text| !is_place(text));
        Self(Screen::new(known.map(str::to_owned).collect(), ScreenOptions::for_logs()))
    }

    /// Masks a text without a name.
    pub(crate) fn text(&self, text: &str) -> String {
        self.named("", text)
    }

    /// Whether a text looks like a secret under its name.
    pub(super) fn is_secret(&self, name: &str, text: &str) -> bool {
        self.named(name, text) != text
    }

    /// Describes a server on one line: how it is reached, and the names of its variables or headers.
    pub(crate) fn server(&self, server: &McpServerEntry) -> String {
        let mut shown = server.clone();
        match &mut shown.way {
            EntryTransport::Program { command, args, .. } => {
                *command = self.text(command);
                *args = self.mask_arguments(args);
            }
            EntryTransport::Remote { url, .. } => *url = self.text(url),
        }
        shown.summary()
    }

    /// Masks arguments of a program, in which a flag may name the next word.
    pub(crate) fn mask_arguments(&self, words: &[String]) -> Vec<String> {
        let before = std::iter::once("").chain(words.iter().map(String::as_str));
        words
            .iter()
            .zip(before)
            .map(|(word, before)| self.named(flag(before, word), word))
            .collect()
    }

    /// Masks every text in a value, by the name that it has there.
    pub(super) fn value(&self, name: &str, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.named(name, text),
            Value::Array(items) => {
                let mut before = String::new();
                for item in items {
                    if let Value::String(word) = item {
                        let masked = match flag(&before, word) {
                            "" => self.named(name, word),
                            flag => self.named(flag, word),
                        };
                        before = std::mem::replace(word, masked);
                    } else {
                        self.value(name, item);
                    }
                }
            }
            Value::Object(map) => {
                for (name, value) in map {
                    self.value(name, value);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn named(&self, name: &str, text: &str) -> String {
        if text == MASK {
            return text.to_owned();
        }
        if let Some((flag, value)) = text.split_once('=').filter(|(flag, _)| flag.starts_with('-'))
        {
            return format!("{flag}={}", self.named(flag.trim_start_matches('-'), value));
        }
        let sign = if name.is_empty() { String::new() } else { format!("{name}=") };
        let whole = format!("{sign}{text}");
        let (mut shown, mut at) = (String::new(), sign.len());
        for SecretFinding { kind, range } in self.0.find(&whole) {
            let variable = whole.get(range.start..).and_then(variable).unwrap_or_default().len();
            // A value whose name suggests a secret is masked entirely, whatever characters it has.
            let is_named = !sign.is_empty() && range.start == sign.len();
            let found = if is_named { text.len() } else { range.len() };
            if range.end <= at || found <= variable {
                continue;
            }
            if is_named {
                return format!("[redacted: {kind}]");
            }
            shown.push_str(whole.get(at..range.start).unwrap_or_default());
            write!(shown, "[redacted: {kind}]").unwrap_or_default();
            at = range.end;
        }
        shown.push_str(whole.get(at..).unwrap_or_default());
        shown
    }
}

/// Returns the variable that a text begins with. Its name is not a secret, and shows the source of the secret; but its
/// default value may be one.
fn variable(text: &str) -> Option<&str> {
    let (name, _) = text.strip_prefix("${")?.split_once('}')?;
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == ':';
    text.get(..name.len() + 3).filter(|_| name.chars().all(is_letter))
}

/// Returns the flag that names the next word, without its dashes: `password` for the word after `--password`.
fn flag<'a>(before: &'a str, word: &str) -> &'a str {
    if before.starts_with('-') && !before.contains('=') && !word.starts_with('-') {
        before.trim_start_matches('-')
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use docent_registry::EntryProblem;
    use serde_json::json;

    #[track_caller]
    fn check(value: Value, want: &Value) {
        let mut shown = value;
        ServerSecretMask::new(&[SecretText::new("configured-one".into())]).value("", &mut shown);
        assert_eq!(shown, *want);
    }

    #[test]
    fn secrets_are_masked_and_the_rest_is_as_it_was() {
        let token = format!("ghp_{}", "1234567890abcdefghijABCDEFGHIJ123456");
        check(
            json!({"command": "npx", "args": ["srv", "--token", "abcdef", "--verbose", "yes", token,
                "--password=hunter2", "--root", "/srv", "x configured-one y"]}),
            &json!({"command": "npx", "args": ["srv", "--token", "[redacted: token]", "--verbose", "yes",
                "[redacted: github token]", "--password=[redacted: password]", "--root", "/srv",
                "x [redacted: configured secret] y"]}),
        );
        check(
            json!(["--password", "x9;Kq2&Lm", "--password=x9,Kq2 Lm"]),
            &json!(["--password", "[redacted: password]", "--password=[redacted: password]"]),
        );
        check(
            json!({"url": "https://u:pw77@h.test/mcp?api_key=abc123&x=1", "port": 7}),
            &json!({"url": "https://u:[redacted: password in a url]@h.test/mcp?api_key=[redacted: api key]&x=1",
                "port": 7}),
        );
        check(
            json!({"oauth": {"client_secret": "as-it-is", "client_id": "me"}, "env": {"A_TOKEN": MASK}}),
            &json!({"oauth": {"client_secret": "[redacted: secret]", "client_id": "me"}, "env": {"A_TOKEN": MASK}}),
        );
    }

    #[test]
    fn a_variable_that_is_put_in_later_is_shown() {
        for text in ["--token=${TOKEN}", "Bearer ${TOKEN}", "https://u:${PASSWORD}@h.test/"] {
            check(json!([text]), &json!([text]));
        }
        check(json!({"client_secret": "${SECRET}"}), &json!({"client_secret": "${SECRET}"}));
        check(
            json!(["--token=${TOKEN:-s3cr3t-default}", "--password", "${A}hunter2"]),
            &json!(["--token=[redacted: token]", "--password", "[redacted: password]"]),
        );
    }

    #[test]
    fn the_variable_that_a_header_needs_is_named() {
        let problem = EntryProblem::unset_variable("CF_API_KEY").in_field("headers.Authorization");
        let problem = problem.in_entry("a").to_string();
        assert!(problem.contains("${CF_API_KEY:-…}"), "{problem}");
        assert_eq!(ServerSecretMask::new(&[]).text(&problem), problem);
    }

    #[test]
    fn a_folder_that_a_variable_names_is_not_a_secret() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        let known = [SecretText::new(path.into()), SecretText::new("/Zk6Lq9Vw2XsR8tB1".into())];
        let text = format!("{path}/x /Zk6Lq9Vw2XsR8tB1");
        let want = format!("{path}/x [redacted: configured secret]");
        assert_eq!(ServerSecretMask::new(&known).text(&text), want);
    }
}
