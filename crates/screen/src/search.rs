//! Finds and redacts secrets in text: one pass for the anchors of all rules, then a check of each.

use crate::{
    assignment::{self, NamePolicy},
    document,
    forms::{after_escape, span, window},
    placeholder,
    rules::{CharacterClass, RULES, SecretShape},
    value,
};
use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::Regex;
use std::{borrow::Cow, ops::Range, sync::OnceLock};

/// Minimum bytes of a configured secret; shorter ones would be found everywhere.
const MIN_KNOWN_SECRET_BYTES: usize = 4;

/// Maximum bytes of a marker, longer than every kind.
const MAX_MARKER_BYTES: usize = 48;

/// Maximum bytes that a pattern may read.
const MAX_PATTERN_BYTES: usize = 1024;

/// Maximum number of passes: a secret may be detectable only after another one next to it was redacted.
const MAX_PASSES: usize = 4;

/// The start of every marker.
const MARKER_START: &str = "[redacted: ";

/// What to look for besides the known forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScreenOptions {
    /// How values of indicative names are checked.
    pub names: NamePolicy,
    /// Whether a random-looking value is redacted under a weak name (`key`, `auth`, `signature`).
    pub entropy: bool,
}

impl Default for ScreenOptions {
    fn default() -> Self {
        Self { names: NamePolicy::Careful, entropy: true }
    }
}

impl ScreenOptions {
    /// Returns options for log lines, where excess redaction does no harm.
    pub fn for_logs() -> Self {
        Self { names: NamePolicy::Eager, entropy: true }
    }
}

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretFinding {
    /// Its kind, as in the redaction marker.
    pub kind: &'static str,
    /// Its range in bytes.
    pub range: Range<usize>,
}

/// Returns the pattern of a row, compiled on first use: most texts need few of them.
fn pattern(row: usize) -> Option<&'static Regex> {
    static PATTERNS: [OnceLock<Option<Regex>>; RULES.len()] =
        [const { OnceLock::new() }; RULES.len()];
    let compile = || match RULES.get(row)?.shape {
        SecretShape::Pattern(_, source) => Regex::new(&format!("^(?:{source})")).ok(),
        _ => None,
    };
    PATTERNS.get(row)?.get_or_init(compile).as_ref()
}

/// What an anchor belongs to.
#[derive(Clone, Copy)]
enum AnchorKind {
    /// A row of the table.
    Rule(usize),
    /// A name that may have a secret value.
    Name,
    /// A configured secret.
    Known,
}

/// Finds secrets. Built once, used by every call.
pub struct Screen {
    anchors: Option<AhoCorasick>,
    /// One for each anchor.
    leads: Vec<AnchorKind>,
    options: ScreenOptions,
}

impl std::fmt::Debug for Screen {
    /// Without the automaton, which spells out the configured secrets.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Screen").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Default for Screen {
    fn default() -> Self {
        Self::new(Vec::new(), ScreenOptions::default())
    }
}

/// A finding before overlapping ones are merged; the lower rank names the kind.
struct SecretHit {
    kind: &'static str,
    rank: usize,
    range: Range<usize>,
}

impl Screen {
    /// Creates a screen for the `known` secrets of four bytes or more, and for everything that looks like a secret.
    pub fn new(known: Vec<String>, options: ScreenOptions) -> Self {
        let mut texts: Vec<Cow<'static, str>> = Vec::new();
        let mut leads = Vec::new();
        for (row, rule) in RULES.iter().enumerate() {
            texts.extend(rule.anchors.iter().map(|anchor| Cow::Borrowed(*anchor)));
            leads.extend(rule.anchors.iter().map(|_| AnchorKind::Rule(row)));
        }
        texts.extend(assignment::NAME_ANCHORS.map(Cow::Borrowed));
        leads.extend(assignment::NAME_ANCHORS.map(|_| AnchorKind::Name));
        for secret in known.into_iter().filter(|secret| secret.len() >= MIN_KNOWN_SECRET_BYTES) {
            let spellings = spellings(&secret);
            leads.extend(spellings.iter().map(|_| AnchorKind::Known));
            texts.extend(spellings.into_iter().map(Cow::Owned));
        }
        let anchors = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .kind((texts.len() < 1024).then_some(AhoCorasickKind::DFA))
            .build(texts.iter().map(|text| text.as_bytes()))
            .ok();
        Self { anchors, leads, options }
    }

    pub(crate) fn options(&self) -> ScreenOptions {
        self.options
    }

    /// Finds all secrets in the text, in order, without overlaps.
    pub fn find(&self, text: &str) -> Vec<SecretFinding> {
        self.search(text, false)
    }

    /// The same. With `markers`, a known secret inside a redaction marker is ignored, because it may equal one of its
    /// words.
    fn search(&self, text: &str, markers: bool) -> Vec<SecretFinding> {
        let Some(anchors) = &self.anchors else {
            // Happens only with gigabytes of configured secrets: nothing can be checked, so everything is redacted.
            return vec![SecretFinding {
                kind: "text that can't be screened",
                range: 0..text.len(),
            }];
        };
        let mut hits: Vec<SecretHit> = Vec::new();
        // A form may start long before its secret, so only anchors within the secret itself are skipped.
        let (mut taken, mut names_from) = (0..0, 0);
        // A known secret may end inside a word: the following text is read as it will be after the marker.
        let mut after_known = 0;
        for anchor in anchors.find_overlapping_iter(text) {
            let at = anchor.start();
            match self.leads.get(anchor.pattern().as_usize()) {
                Some(AnchorKind::Rule(row)) if !taken.contains(&at) => {
                    let Some(range) = self.follow(*row, text, anchor.range()) else { continue };
                    taken = range.clone();
                    let kind = RULES.get(*row).map_or("secret", |rule| rule.kind);
                    hits.push(SecretHit { kind, rank: 1 + row, range });
                }
                Some(AnchorKind::Name) if at >= names_from && !is_in_marker(text, at) => {
                    let from = if at < after_known { 0 } else { after_known };
                    let rest = text.get(from..).unwrap_or_default();
                    let (found, next) = assignment::find(rest, at - from, self.options);
                    names_from = from + next;
                    hits.extend(found.map(|found| SecretHit {
                        kind: found.kind,
                        rank: usize::MAX,
                        range: from + found.range.start..from + found.range.end,
                    }));
                }
                Some(AnchorKind::Known) if !(markers && is_in_marker(text, at)) => {
                    after_known = anchor.end();
                    hits.push(SecretHit {
                        kind: "configured secret",
                        rank: 0,
                        range: anchor.range(),
                    });
                }
                _ => {}
            }
        }
        document::strings(text, |key, value, range| {
            let kind = assignment::secret_kind(key, value, self.options.entropy);
            hits.extend(kind.map(|kind| SecretHit { kind, rank: usize::MAX, range }));
        });
        merge_overlapping(hits)
    }

    /// Replaces every secret with `[redacted: …]`. Borrowed if there are none.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut redacted = Cow::Borrowed(text);
        // Only after a secret is redacted, the next one may start a word, or the text may be a JSON document, whose
        // keys are checked.
        for pass in 0..MAX_PASSES {
            let findings = self.search(&redacted, pass > 0);
            if findings.is_empty() {
                break;
            }
            redacted = Cow::Owned(insert_markers(&redacted, &findings));
        }
        redacted
    }

    /// Finds the secret of a row of the table at an anchor.
    fn follow(&self, row: usize, text: &str, anchor: Range<usize>) -> Option<Range<usize>> {
        match &RULES.get(row)?.shape {
            SecretShape::Run(class, least, most) => {
                let (least, most) = (usize::from(*least), usize::from(*most));
                if !begins_word(text, anchor.start) {
                    return None;
                }
                let length = span(window(text, anchor.end, most + 1), 0, |byte| class.has(byte));
                let body = text.get(anchor.end..anchor.end + length)?;
                let body = if *class == CharacterClass::Dotted {
                    body.trim_end_matches('.')
                } else {
                    body
                };
                let end = anchor.end + body.len();
                let fits = (least..=most).contains(&body.len()) && ends_word(text, end);
                (fits && value::looks_issued(body)).then_some(anchor.start..end)
            }
            SecretShape::Pattern(back, _) => {
                let start = anchor.start.checked_sub(*back)?;
                // A secret that starts with a sign may start anywhere, and a bot's number follows its path.
                let lax = text.as_bytes().get(start).is_some_and(|byte| b".:\n".contains(byte))
                    || text.get(..start)?.ends_with("/bot");
                if !(lax || begins_word(text, start)) {
                    return None;
                }
                let pattern = pattern(row)?;
                let captures = pattern.captures(window(text, start, MAX_PATTERN_BYTES))?;
                let secret = captures.get(1).or_else(|| captures.get(0))?;
                let range = start + secret.start()..start + secret.end();
                let fits = ends_word(text, range.end) && !value::is_sample_token(secret.as_str());
                (fits && !placeholder::is_template(secret.as_str())).then_some(range)
            }
            SecretShape::Form(careful, eager) => match self.options.names {
                NamePolicy::Careful => careful(text, anchor.start),
                NamePolicy::Eager => eager(text, anchor.start),
            },
        }
    }
}

/// Returns the redaction marker.
pub(crate) fn marker(kind: &str) -> String {
    format!("{MARKER_START}{kind}]")
}

/// Replaces each finding with a marker.
fn insert_markers(text: &str, findings: &[SecretFinding]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for finding in findings {
        out.push_str(text.get(copied..finding.range.start).unwrap_or_default());
        out.push_str(&marker(finding.kind));
        copied = finding.range.end;
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    out
}

/// Whether a complete marker starts at `at`.
pub(crate) fn is_marker(text: &str, at: usize) -> bool {
    window(text, at, MARKER_START.len()) == MARKER_START
        && is_in_marker(text, at + MARKER_START.len())
}

/// Whether `at` is within a marker, whose words are not names of values.
fn is_in_marker(text: &str, at: usize) -> bool {
    let is_kind = |byte: u8| byte.is_ascii_alphanumeric() || b" .-'".contains(&byte);
    let before = text.as_bytes().get(..at).unwrap_or_default();
    let kind =
        before.iter().rev().take(MAX_MARKER_BYTES).take_while(|byte| is_kind(**byte)).count();
    let opened = before.get(..at - kind).is_some_and(|before| before.ends_with(b"[redacted:"));
    let left = span(window(text, at, MAX_MARKER_BYTES), 0, is_kind);
    opened && text.as_bytes().get(at + left) == Some(&b']')
}

/// Whether a word starts at `at`.
fn begins_word(text: &str, at: usize) -> bool {
    match at.checked_sub(1).and_then(|before| text.as_bytes().get(before)) {
        Some(byte) if byte.is_ascii_alphanumeric() => after_escape(text, at),
        Some(b'_' | b'+') => false,
        _ => true,
    }
}

fn ends_word(text: &str, at: usize) -> bool {
    !text.as_bytes().get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

/// Returns the secret, also as written inside JSON and in a URL.
fn spellings(secret: &str) -> Vec<String> {
    let quoted = serde_json::Value::from(secret).to_string();
    let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let encoded: String = secret
        .bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect();
    let mut all = vec![secret.to_owned(), inner.unwrap_or(secret).to_owned(), encoded];
    all.dedup();
    all
}

/// Merges overlapping findings; the best rank names the kind.
fn merge_overlapping(mut hits: Vec<SecretHit>) -> Vec<SecretFinding> {
    hits.sort_by_key(|hit| (hit.range.start, hit.rank));
    let mut joined: Vec<SecretHit> = Vec::new();
    for hit in hits {
        match joined.last_mut() {
            Some(last) if hit.range.start < last.range.end => {
                last.range.end = last.range.end.max(hit.range.end);
                if hit.rank < last.rank {
                    (last.rank, last.kind) = (hit.rank, hit.kind);
                }
            }
            _ => joined.push(hit),
        }
    }
    joined.into_iter().map(|hit| SecretFinding { kind: hit.kind, range: hit.range }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_is_compiled() {
        let screen = Screen::default();
        assert!(screen.anchors.is_some());
        for (row, rule) in RULES.iter().enumerate() {
            let wanted = matches!(rule.shape, SecretShape::Pattern(..));
            assert_eq!(pattern(row).is_some(), wanted, "{}", rule.kind);
        }
    }

    #[test]
    fn a_marker_names_nothing() {
        let screens = [Screen::default(), Screen::new(Vec::new(), ScreenOptions::for_logs())];
        for text in [
            r#"{"password":"x1t/x?token=Zk6Lq9Vw2Xpassword":"x1t/x?tssw0rd!x@203e"]}"#,
            r#"[redacted: password]="hunter2!x9""#,
            "[redacted: api key]: Zk6Lq9Vw2XsR8tB1",
        ] {
            for screen in &screens {
                let once = screen.redact(text);
                assert_eq!(screen.redact(&once), once, "{text}");
            }
        }
        // An incomplete marker hides nothing.
        for text in
            [r#"[redacted: password="hunter2!x9""#, r#"[redacted: "password":"hunter2!x9"]"#]
        {
            assert!(!screens[0].redact(text).contains("hunter2"), "{text}");
        }
    }

    #[test]
    fn a_secret_before_that_of_another_form_is_found() {
        let text = "machine https://u:p4rdxmiNe7@db.test/ login me password partition9\n";
        for screen in [Screen::default(), Screen::new(Vec::new(), ScreenOptions::for_logs())] {
            let once = screen.redact(text);
            assert!(!once.contains("p4rdxmiNe7") && !once.contains("partition9"), "{once}");
            assert_eq!(screen.redact(&once), once);
        }
    }

    #[test]
    fn what_cannot_be_screened_is_not_let_through() {
        let screen = Screen { anchors: None, ..Screen::default() };
        assert_eq!(screen.redact("anything"), "[redacted: text that can't be screened]");
    }
}
