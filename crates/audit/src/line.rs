//! A parsed line, and the filter that selects lines.

use serde::Serialize;
use serde_json::{Map, Value};
use std::{fmt, time::SystemTime};

/// One line with all its members, including those unknown to this version.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct AuditLine(Map<String, Value>);

impl AuditLine {
    /// Parses a line. `None` if it is not a JSON object.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok().map(Self)
    }

    /// All members.
    pub fn members(&self) -> &Map<String, Value> {
        &self.0
    }

    /// A string member.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// The line's number in the log.
    pub fn seq(&self) -> Option<u64> {
        self.0.get("seq").and_then(Value::as_u64)
    }

    /// The kind of an event of the log itself; `None` for the line of a call.
    pub fn kind(&self) -> Option<&str> {
        self.text("kind")
    }

    /// The requested tool, resource or prompt.
    pub fn target(&self) -> Option<&str> {
        ["tool", "uri", "prompt"].into_iter().find_map(|name| self.text(name))
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(Value::as_u64)
    }

    pub(crate) fn duration_ms(&self) -> Option<f64> {
        self.0.get("duration_ms").and_then(Value::as_f64)
    }
}

/// For people, on one line: time, caller, target, outcome.
impl fmt::Display for AuditLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |name: &str| self.text(name).unwrap_or("-");
        write!(f, "{} ", TerminalSafe(word("time")))?;
        if let Some(kind) = self.kind() {
            write!(f, "[{}]", TerminalSafe(kind))?;
            let own = ["seq", "prev", "hash", "kind", "time", "torn_digest"];
            for (name, value) in self.0.iter().filter(|(name, _)| !own.contains(&name.as_str())) {
                write!(f, " {}={}", TerminalSafe(name), TerminalSafe(&value.to_string()))?;
            }
            return Ok(());
        }
        write!(f, "{} ", TerminalSafe(word("principal")))?;
        if let Some(client) = self.text("client") {
            write!(f, "({}) ", TerminalSafe(client))?;
        }
        write!(
            f,
            "{} {} ",
            TerminalSafe(word("method")),
            TerminalSafe(self.target().unwrap_or("-"))
        )?;
        write!(f, "{}", TerminalSafe(word("outcome")))?;
        if let Some(reason) = self.text("reason") {
            write!(f, " ({})", TerminalSafe(reason))?;
        }
        if let Some(reference) = self.text("reference") {
            write!(f, " [{}]", TerminalSafe(reference))?;
        }
        let (took, bytes) = (self.duration_ms().unwrap_or(0.0), self.number("bytes").unwrap_or(0));
        write!(f, " {took:.1} ms {bytes} B")
    }
}

/// Untrusted text for a terminal: characters that move the cursor or reverse text are shown as their code points.
pub(crate) struct TerminalSafe<'a>(pub(crate) &'a str);

impl fmt::Display for TerminalSafe<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        for char in self.0.chars() {
            if char.is_control() || is_invisible(char) {
                write!(f, "{}", char.escape_unicode())?;
            } else {
                f.write_char(char)?;
            }
        }
        Ok(())
    }
}

fn is_invisible(char: char) -> bool {
    matches!(char,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}' | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
}

/// Selects lines. A line must match every field that is set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Name of the caller.
    pub principal: Option<String>,
    /// A tool, a resource's address or a prompt.
    pub target: Option<String>,
    /// The outcome.
    pub outcome: Option<String>,
    /// Not before this time.
    pub since: Option<SystemTime>,
    /// Not after this time.
    pub until: Option<SystemTime>,
    /// Only calls that did not succeed, and events of the log itself.
    pub failed: bool,
}

impl AuditFilter {
    /// Whether a line matches.
    pub fn fits(&self, line: &AuditLine) -> bool {
        let is = |want: &Option<String>, have: Option<&str>| {
            want.as_deref().is_none_or(|want| have == Some(want))
        };
        is(&self.principal, line.text("principal"))
            && is(&self.target, line.target())
            && is(&self.outcome, line.text("outcome"))
            && !(self.failed
                && (line.text("outcome") == Some("ok") || line.kind() == Some("begun")))
            && !self.is_past(line)
            && self.until.is_none_or(|until| !is_after(line, &stamp(until)))
    }

    /// Whether this line and all lines before it are older than the filter wants.
    pub(crate) fn is_past(&self, line: &AuditLine) -> bool {
        self.since.is_some_and(|since| is_before(line, &stamp(since)))
    }
}

/// A time in the format of the log.
pub(crate) fn stamp(moment: SystemTime) -> String {
    // The calendar ends after the year 262,000; no line is that late.
    let moment = chrono::DateTime::from_timestamp_millis(millis(moment)).unwrap_or_default();
    moment.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}

fn millis(moment: SystemTime) -> i64 {
    let since = moment.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Timestamps of lines sort as text.
pub(crate) fn is_before(line: &AuditLine, stamp: &str) -> bool {
    line.text("time").is_some_and(|time| time < stamp)
}

fn is_after(line: &AuditLine, stamp: &str) -> bool {
    line.text("time").is_some_and(|time| time > stamp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn line(text: &str) -> AuditLine {
        AuditLine::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_line_is_shown_on_one_line_whatever_it_contains() {
        let cases = [
            (
                r#"{"time":"t","principal":"ann","client":"c/1","method":"tools/call","tool":"echo","outcome":"error","reason":"not_found","reference":"ab12","duration_ms":1.25,"bytes":7,"later":1}"#,
                "t ann (c/1) tools/call echo error (not_found) [ab12] 1.2 ms 7 B",
            ),
            (
                r#"{"time":"t","principal":"a\nb\u001b[2J","method":"m","uri":"\u202e\u2028x","outcome":"ok"}"#,
                r"t a\u{a}b\u{1b}[2J m \u{202e}\u{2028}x ok 0.0 ms 0 B",
            ),
            (r#"{"seq":4,"kind":"dropped","time":"t","count":3}"#, "t [dropped] count=3"),
            ("{}", "- - - - - 0.0 ms 0 B"),
        ];
        for (given, want) in cases {
            assert_eq!(line(given).to_string(), want);
            // The JSON form loses nothing.
            let again = serde_json::to_string(&line(given)).unwrap();
            assert_eq!(line(&again), line(given));
        }
        assert_eq!(AuditLine::parse(b"[1]"), None);
        assert_eq!(AuditLine::parse(b"{"), None);
    }

    #[test]
    fn filters_match_or_not() {
        let call = line(
            r#"{"time":"1970-01-01T00:00:10.000Z","principal":"ann","prompt":"greet","outcome":"ok"}"#,
        );
        let own = line(r#"{"time":"1970-01-01T00:00:10.000Z","kind":"torn"}"#);
        let some = |text: &str| Some(text.to_owned());
        let at = |seconds| Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        let all = AuditFilter::default;
        for (filter, want, want_own) in [
            (all(), true, true),
            (AuditFilter { principal: some("ann"), ..all() }, true, false),
            (AuditFilter { principal: some("bob"), ..all() }, false, false),
            (AuditFilter { target: some("greet"), outcome: some("ok"), ..all() }, true, false),
            (AuditFilter { outcome: some("error"), ..all() }, false, false),
            (AuditFilter { since: at(10), ..all() }, true, true),
            (AuditFilter { since: at(11), ..all() }, false, false),
            (AuditFilter { until: at(10), ..all() }, true, true),
            (AuditFilter { until: at(9), ..all() }, false, false),
            (AuditFilter { failed: true, ..all() }, false, true),
        ] {
            assert_eq!((filter.fits(&call), filter.fits(&own)), (want, want_own), "{filter:?}");
        }
    }
}
