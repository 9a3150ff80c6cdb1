//! One line for every call, read and prompt: who, with what, how it ended. Written before the answer goes.
//!
//! The file is `docent-audit`'s; this module says what a line is made of.

use crate::{hex, metrics::Outcome};
use docent_audit::{Entry, Log, Settings, WriteError};
use docent_tool::Object;
use rmcp::{
    ErrorData,
    model::{CallToolResult, ErrorCode},
};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task::block_in_place,
};

/// Where audit lines go.
#[derive(Debug, Default)]
pub struct Audit {
    log: Option<Log>,
    /// Each line waits for the disk.
    waits: bool,
}

impl Audit {
    /// Nowhere.
    pub fn off() -> Self {
        Self::default()
    }

    /// To this file, kept as the settings say. It is opened with the first line.
    pub fn open(path: impl Into<PathBuf>, settings: Settings) -> Self {
        Self { waits: settings.sync, log: Some(Log::open(path, settings)) }
    }

    /// To this file, turned over past `max_bytes`, with the usual settings for everything else.
    pub fn to_file(path: impl Into<PathBuf>, max_bytes: u64) -> Self {
        Self::open(path, Settings { max_bytes, ..Settings::default() })
    }

    pub(crate) fn is_on(&self) -> bool {
        self.log.is_some()
    }

    pub(crate) fn failures(&self) -> u64 {
        self.log.as_ref().map_or(0, Log::failures)
    }

    /// Whether a call may run: not if its line must be written and is known to be impossible.
    pub(crate) fn ready(&self) -> Result<(), WriteError> {
        self.log.as_ref().map_or(Ok(()), Log::ready)
    }

    /// Writes one line. An error means that the call must not be answered.
    pub(crate) fn write(&self, entry: &Entry<'_>) -> Result<(), WriteError> {
        let Some(log) = &self.log else { return Ok(()) };
        // A line in the system's cache is written sooner than another thread could be asked to. A disk takes long enough
        // for this thread's other calls to be given to another one, where there is one.
        let is_shared = || {
            Handle::try_current()
                .is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread)
        };
        if self.waits && is_shared() {
            block_in_place(|| log.append(entry))
        } else {
            log.append(entry)
        }
    }
}

/// Thousandths of a millisecond are as fine as anybody reads.
pub(crate) fn milliseconds(took: Duration) -> f64 {
    (took.as_secs_f64() * 1e6).round() / 1e3
}

/// How a request ended, as its line says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ending<'a> {
    pub(crate) outcome: Outcome,
    pub(crate) bytes: usize,
    /// Why, in a word.
    pub(crate) reason: Option<&'a str>,
    /// The id that an internal error has in the program's log.
    pub(crate) reference: Option<&'a str>,
}

impl<'a> Ending<'a> {
    pub(crate) fn new(outcome: Outcome, bytes: usize) -> Self {
        Self { outcome, bytes, reason: None, reference: None }
    }

    /// It was not taken on.
    pub(crate) fn refused(reason: &'a str) -> Self {
        Self { reason: Some(reason), ..Self::new(Outcome::Refused, 0) }
    }

    /// The answer is an error of the protocol.
    pub(crate) fn error(error: &'a ErrorData) -> Self {
        let member = |name: &str| error.data.as_ref()?.get(name)?.as_str();
        let by_code = || match error.code {
            // Only a resource that is not there is named by its address, whatever its revision's code is.
            _ if member("uri").is_some() => "not_found",
            ErrorCode::INVALID_PARAMS => "invalid_arguments",
            ErrorCode::INTERNAL_ERROR => "internal",
            ErrorCode::METHOD_NOT_FOUND => "unknown_method",
            _ => "client_lacks",
        };
        Self {
            reason: Some(member("kind").unwrap_or_else(by_code)),
            reference: member("reference"),
            ..Self::new(Outcome::Error, 0)
        }
    }

    /// The answer is a tool's result, which says why if it is an error.
    pub(crate) fn result(outcome: Outcome, bytes: usize, result: &'a CallToolResult) -> Self {
        let error = result.structured_content.as_ref().and_then(|content| content.get("error"));
        let kind = error.and_then(|error| error.get("kind")).and_then(Value::as_str);
        let reason = match outcome {
            Outcome::Error => Some(kind.unwrap_or("failed")),
            Outcome::Partial => Some("deadline"),
            _ => None,
        };
        Self { reason, ..Self::new(outcome, bytes) }
    }
}

/// Lines of what is turned away at the door come at most this often, for each reason: a flood must not push everything
/// else out of the log.
const TURNED_AWAY_EVERY: Duration = Duration::from_secs(10);

/// Requests turned away at the door for one reason, before it is known what they ask for.
#[derive(Debug)]
pub(crate) struct TurnedAway {
    reason: &'static str,
    /// When the last line was written, and how many requests have come since.
    since: Mutex<(Option<Instant>, u64)>,
}

impl TurnedAway {
    pub(crate) fn new(reason: &'static str) -> Self {
        Self { reason, since: Mutex::default() }
    }

    /// Counts one, and writes a line for all that have been counted if it is time for one.
    pub(crate) fn count(&self, audit: &Audit, principal: &str, transport: &str) {
        let count = {
            let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
            since.1 += 1;
            if since.0.is_some_and(|last| last.elapsed() < TURNED_AWAY_EVERY) {
                return;
            }
            since.0 = Some(Instant::now());
            std::mem::take(&mut since.1)
        };
        let entry = Entry {
            principal,
            transport,
            method: "door",
            outcome: Outcome::Refused.name(),
            reason: Some(self.reason),
            count: Some(count),
            ..Entry::default()
        };
        // Refused already; that the line is missing is counted and told of.
        audit.write(&entry).unwrap_or_default();
    }
}

/// What was asked for, as the line names it: a tool, a resource or a prompt.
pub(crate) fn about<'a>(entry: &mut Entry<'a>, method: &'a str, target: &'a str) {
    entry.method = method;
    let named = match method {
        "resources/read" => &mut entry.uri,
        "prompts/get" => &mut entry.prompt,
        _ => &mut entry.tool,
    };
    *named = Some(target);
}

/// SHA-256 of the arguments in a canonical form: keys sorted, no spaces. Equal arguments have equal digests, and the
/// arguments themselves, which may hold secrets, are not kept.
pub(crate) fn digest(arguments: Option<&Object>) -> String {
    let mut canonical = Vec::with_capacity(128);
    match arguments {
        Some(arguments) => object(arguments, &mut canonical),
        None => canonical.extend_from_slice(b"{}"),
    }
    hex::of(&Sha256::digest(&canonical))
}

fn canonical(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Object(map) => object(map, out),
        Value::Array(items) => {
            out.push(b'[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                canonical(item, out);
            }
            out.push(b']');
        }
        leaf => serde_json::to_writer(out, leaf).unwrap_or_default(),
    }
}

fn object(map: &Object, out: &mut Vec<u8>) {
    let mut keys: Vec<&String> = map.keys().collect();
    keys.sort_unstable();
    out.push(b'{');
    for (at, key) in keys.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        serde_json::to_writer(&mut *out, key).unwrap_or_default();
        out.push(b':');
        canonical(&map[key], out);
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(value: &Value) -> String {
        digest(value.as_object())
    }

    #[test]
    fn equal_arguments_have_equal_digests() {
        let cases = [
            (
                json!({"a": 1, "b": {"c": [1, 2], "d": "x"}}),
                json!({"b": {"d": "x", "c": [1, 2]}, "a": 1}),
                true,
            ),
            (json!({"a": [1, 2]}), json!({"a": [2, 1]}), false),
            (json!({"a": "1"}), json!({"a": 1}), false),
            (json!({}), json!({"a": null}), false),
        ];
        for (left, right, same) in cases {
            assert_eq!(of(&left) == of(&right), same, "{left} {right}");
        }
        assert_eq!(digest(None), of(&json!({})));
        assert_eq!(
            of(&json!({})),
            "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
        );
    }

    #[test]
    fn an_error_says_why_in_a_word() {
        let error = |code, data: Value| ErrorData::new(ErrorCode(code), "m", Some(data));
        for (error, reason, reference) in [
            (error(-32602, json!({"parameter": "a"})), "invalid_arguments", None),
            (error(-32602, json!({"uri": "a"})), "not_found", None),
            (error(-32002, json!({"uri": "a"})), "not_found", None),
            (error(-32603, json!({"reference": "ab12"})), "internal", Some("ab12")),
            (error(-32603, json!({"kind": "deadline"})), "deadline", None),
            (error(-32021, json!({})), "client_lacks", None),
            (ErrorData::internal_error("m", None), "internal", None),
        ] {
            let ending = Ending::error(&error);
            assert_eq!((ending.reason, ending.reference), (Some(reason), reference), "{error:?}");
            assert_eq!(ending.outcome, Outcome::Error);
        }
    }

    #[test]
    fn a_failure_is_counted_and_harmless_unless_it_must_be_written() {
        use docent_audit::OnFull;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("no/such/folder/audit.jsonl");
        for (on_full, refused) in [(OnFull::Drop, false), (OnFull::Refuse, true)] {
            let audit = Audit::open(&path, Settings { on_full, ..Settings::default() });
            assert_eq!(audit.ready().is_err(), refused);
            for _ in 0..2 {
                assert_eq!(audit.write(&Entry::default()).is_err(), refused);
            }
            assert_eq!(audit.failures(), 2);
        }
        let off = Audit::off();
        assert!(off.ready().is_ok() && off.write(&Entry::default()).is_ok() && !off.is_on());
    }
}
