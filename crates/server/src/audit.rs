//! One line for every call, read and prompt: who, with what, how it ended. Written before the answer goes.
//!
//! The file is `docent-audit`'s; this module says what a line is made of.

use crate::{hex, metrics::RequestOutcome};
use docent_audit::{AuditEntry, AuditLog, AuditLogSettings, AuditWriteError};
use docent_tool::Object;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task::block_in_place,
};

/// Where audit lines go.
#[derive(Debug, Default)]
pub struct AuditSink {
    log: Option<AuditLog>,
    /// Each line waits for the disk.
    waits: bool,
}

impl AuditSink {
    /// Nowhere.
    pub fn off() -> Self {
        Self::default()
    }

    /// To this file, kept as the settings say. It is opened with the first line.
    pub fn open(path: impl Into<PathBuf>, settings: AuditLogSettings) -> Self {
        Self { waits: settings.sync, log: Some(AuditLog::open(path, settings)) }
    }

    /// To this file, turned over past `max_bytes`, with the usual settings for everything else.
    pub fn to_file(path: impl Into<PathBuf>, max_bytes: u64) -> Self {
        Self::open(path, AuditLogSettings { max_bytes, ..AuditLogSettings::default() })
    }

    pub(crate) fn is_on(&self) -> bool {
        self.log.is_some()
    }

    pub(crate) fn failures(&self) -> u64 {
        self.log.as_ref().map_or(0, AuditLog::failures)
    }

    /// Whether a call may run: not if its line must be written and is known to be impossible.
    pub(crate) fn ready(&self) -> Result<(), AuditWriteError> {
        match &self.log {
            Some(log) if !log.is_sound() => aside(|| log.ready()),
            _ => Ok(()),
        }
    }

    /// Writes one line. An error means that the call must not be answered.
    pub(crate) fn write(&self, entry: &AuditEntry<'_>) -> Result<(), AuditWriteError> {
        let Some(log) = &self.log else { return Ok(()) };
        // A line in the system's cache is written sooner than another thread could be asked to. A disk takes longer, and so
        // does another process that holds the file.
        if !self.waits
            && let Some(written) = log.append_at_once(entry)
        {
            return written;
        }
        aside(|| log.append(entry))
    }
}

/// Does what takes long enough for this thread's other calls to be given to another one, where there is one.
fn aside<T>(act: impl FnOnce() -> T) -> T {
    let is_shared = Handle::try_current()
        .is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread);
    if is_shared { block_in_place(act) } else { act() }
}

/// Thousandths of a millisecond are as fine as anybody reads.
pub(crate) fn milliseconds(took: Duration) -> f64 {
    (took.as_secs_f64() * 1e6).round() / 1e3
}

/// How a request ended, as its line says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AuditOutcome {
    pub(crate) outcome: RequestOutcome,
    pub(crate) bytes: usize,
    /// Why, in a word of docent's own: another server writes nothing into the record.
    pub(crate) reason: Option<&'static str>,
    /// The id that an internal error has in the program's log.
    pub(crate) reference: Option<String>,
}

impl AuditOutcome {
    pub(crate) fn new(outcome: RequestOutcome, bytes: usize) -> Self {
        Self { outcome, bytes, reason: None, reference: None }
    }

    /// It was not taken on.
    pub(crate) fn refused(reason: &'static str) -> Self {
        Self { reason: Some(reason), ..Self::new(RequestOutcome::Refused, 0) }
    }

    /// The answer is an error of the protocol.
    pub(crate) fn failed(reason: &'static str) -> Self {
        Self { reason: Some(reason), ..Self::new(RequestOutcome::Error, 0) }
    }
}

/// Lines of what is turned away at the door come at most this often, for each caller and reason: a flood must not push
/// everything else out of the log.
const REJECTION_LINE_INTERVAL: Duration = Duration::from_secs(10);
/// Callers and reasons that have lines of their own at a time, for the same cause.
const MAX_REJECTION_KEYS: usize = 32;
/// Whom a line is about that stands for the callers beyond those.
const OTHER_CALLERS: &str = "(others)";

/// Whom a line of the door is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct RejectionKey {
    pub(crate) reason: &'static str,
    /// Empty for somebody whom nobody knows.
    pub(crate) principal: Arc<str>,
    pub(crate) transport: &'static str,
}

/// When somebody's last line was written, and how many requests have come since.
#[derive(Debug, Default)]
struct RejectionCount {
    last_written: Option<Instant>,
    count: u64,
}

impl RejectionCount {
    fn is_time(&self) -> bool {
        self.last_written.is_none_or(|told| told.elapsed() >= REJECTION_LINE_INTERVAL)
    }
}

/// Requests turned away at the door, before it is known what they ask for. Every one of them is in the count of some line.
#[derive(Debug, Default)]
pub(crate) struct RejectionCounts(Mutex<HashMap<RejectionKey, RejectionCount>>);

impl RejectionCounts {
    fn all(&self) -> MutexGuard<'_, HashMap<RejectionKey, RejectionCount>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one, and writes the lines that it is time for.
    pub(crate) fn count(&self, audit: &AuditSink, mut whom: RejectionKey) {
        if !audit.is_on() {
            return;
        }
        let mut all = self.all();
        if all.len() >= MAX_REJECTION_KEYS && !all.contains_key(&whom) {
            whom = RejectionKey { principal: OTHER_CALLERS.into(), transport: "", ..whom };
        }
        all.entry(whom).or_default().count += 1;
        drop(all);
        self.write_due(audit);
    }

    /// Writes the lines that it is time for.
    pub(crate) fn write_due(&self, audit: &AuditSink) {
        self.write(audit, RejectionCount::is_time);
    }

    /// Writes all that is counted and not told yet, for there may be no next time.
    pub(crate) fn write_all(&self, audit: &AuditSink) {
        self.write(audit, |_| true);
    }

    fn write(&self, audit: &AuditSink, is_due: impl Fn(&RejectionCount) -> bool) {
        let mut due = Vec::new();
        self.all().retain(|whom, since| {
            if !is_due(since) {
                return true;
            }
            // Who has not come since the last line is forgotten.
            let has_come = since.count > 0;
            if has_come {
                due.push((whom.clone(), since.count));
                *since = RejectionCount { last_written: Some(Instant::now()), count: 0 };
            }
            has_come
        });
        for (whom, count) in due {
            let entry = AuditEntry {
                principal: &whom.principal,
                transport: whom.transport,
                method: "door",
                outcome: RequestOutcome::Refused.name(),
                reason: Some(whom.reason),
                count: Some(count),
                ..AuditEntry::default()
            };
            // Refused already; that the line is missing is counted and told of.
            audit.write(&entry).unwrap_or_default();
        }
    }
}

/// What was asked for, as the line names it: a tool, a resource or a prompt.
pub(crate) fn about<'a>(entry: &mut AuditEntry<'a>, method: &'a str, target: &'a str) {
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
    fn everybody_who_is_turned_away_is_in_some_count_and_in_nobody_else_s() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let audit = AuditSink::to_file(&path, 1 << 20);
        let door = RejectionCounts::default();
        for n in 0..3000 {
            let principal = format!("p{}", n % 1000).into();
            door.count(&audit, RejectionKey { reason: "rate", principal, transport: "http" });
        }
        let lines = || -> Vec<Value> {
            let text = std::fs::read_to_string(&path).unwrap();
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
        };
        assert_eq!(lines().len(), TOLD_APART + 1, "each has one at once");
        let pass_time = || {
            for since in door.all().values_mut() {
                since.told = since.told.and_then(|told| told.checked_sub(REJECTION_LINE_INTERVAL));
            }
        };
        pass_time();
        door.write_due(&audit);
        let all = lines();
        let of = |principal: &str| -> u64 {
            let own = all.iter().filter(|line| line["principal"] == principal);
            own.map(|line| line["count"].as_u64().unwrap()).sum()
        };
        assert_eq!((of("p0"), of("p31"), of("p32")), (3, 3, 0));
        assert_eq!(of(OTHERS), 3 * (1000 - TOLD_APART as u64));
        pass_time();
        door.write_due(&audit);
        assert!(door.all().is_empty() && lines().len() == all.len());
    }

    #[test]
    fn a_failure_is_counted_and_harmless_unless_it_must_be_written() {
        use docent_audit::WriteFailurePolicy;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("no/such/folder/audit.jsonl");
        for (on_full, refused) in [(WriteFailurePolicy::Drop, false), (WriteFailurePolicy::Refuse, true)] {
            let audit = AuditSink::open(&path, AuditLogSettings { on_full, ..AuditLogSettings::default() });
            assert_eq!(audit.ready().is_err(), refused);
            for _ in 0..2 {
                assert_eq!(audit.write(&Entry::default()).is_err(), refused);
            }
            assert_eq!(audit.failures(), 2);
        }
        let off = AuditSink::off();
        assert!(off.ready().is_ok() && off.write(&Entry::default()).is_ok() && !off.is_on());
    }
}
