//! Writes one line per call, read and prompt: caller, target, outcome. Written before the answer is sent.
//!
//! `docent-audit` owns the file; this module builds the lines.

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

/// The destination of audit lines.
#[derive(Debug, Default)]
pub struct AuditSink {
    log: Option<AuditLog>,
    /// Whether each line waits for the disk.
    waits: bool,
}

impl AuditSink {
    /// No audit log.
    pub fn off() -> Self {
        Self::default()
    }

    /// An audit log in this file. It is opened with the first line.
    pub fn open(path: impl Into<PathBuf>, settings: AuditLogSettings) -> Self {
        Self { waits: settings.sync, log: Some(AuditLog::open(path, settings)) }
    }

    /// An audit log in this file, rotated at `max_bytes`, with default settings otherwise.
    pub fn to_file(path: impl Into<PathBuf>, max_bytes: u64) -> Self {
        Self::open(path, AuditLogSettings { max_bytes, ..AuditLogSettings::default() })
    }

    pub(crate) fn is_on(&self) -> bool {
        self.log.is_some()
    }

    pub(crate) fn failures(&self) -> u64 {
        self.log.as_ref().map_or(0, AuditLog::failures)
    }

    /// Whether a call may run: not if its line must be written and is known to fail.
    pub(crate) fn ready(&self) -> Result<(), AuditWriteError> {
        match &self.log {
            Some(log) if !log.is_sound() => run_blocking(|| log.ready()),
            _ => Ok(()),
        }
    }

    /// Writes one line. An error means that the call must not be answered.
    pub(crate) fn write(&self, entry: &AuditEntry<'_>) -> Result<(), AuditWriteError> {
        let Some(log) = &self.log else { return Ok(()) };
        // Writing to the system's cache takes less time than asking another thread. A disk takes longer, and so does
        // another process that holds the file.
        if !self.waits
            && let Some(written) = log.append_at_once(entry)
        {
            return written;
        }
        run_blocking(|| log.append(entry))
    }
}

/// Runs something slow, moving this thread's other work to another thread if there is one.
fn run_blocking<T>(act: impl FnOnce() -> T) -> T {
    let is_shared = Handle::try_current()
        .is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread);
    if is_shared { block_in_place(act) } else { act() }
}

/// Milliseconds with three decimals.
pub(crate) fn milliseconds(took: Duration) -> f64 {
    (took.as_secs_f64() * 1e6).round() / 1e3
}

/// The outcome of a request, as written to its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AuditOutcome {
    pub(crate) outcome: RequestOutcome,
    pub(crate) bytes: usize,
    /// The reason in a word of docent's own: another server must not write to the log.
    pub(crate) reason: Option<&'static str>,
    /// The id of an internal error in the program's log.
    pub(crate) reference: Option<String>,
}

impl AuditOutcome {
    pub(crate) fn new(outcome: RequestOutcome, bytes: usize) -> Self {
        Self { outcome, bytes, reason: None, reference: None }
    }

    /// The request was rejected.
    pub(crate) fn refused(reason: &'static str) -> Self {
        Self { reason: Some(reason), ..Self::new(RequestOutcome::Refused, 0) }
    }

    /// The answer is a protocol error.
    pub(crate) fn failed(reason: &'static str) -> Self {
        Self { reason: Some(reason), ..Self::new(RequestOutcome::Error, 0) }
    }
}

/// Minimum interval between lines about rejected requests, per caller and reason: a flood must not push everything else
/// out of the log.
const REJECTION_LINE_INTERVAL: Duration = Duration::from_secs(10);
/// Maximum callers and reasons with lines of their own at a time, for the same reason.
const MAX_REJECTION_KEYS: usize = 32;
/// The principal in a line that covers the remaining callers.
const OTHER_CALLERS: &str = "(others)";

/// What identifies a line about rejected requests.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct RejectionKey {
    pub(crate) reason: &'static str,
    /// Empty for an unknown caller.
    pub(crate) principal: Arc<str>,
    pub(crate) transport: &'static str,
}

/// When the last line was written, and the number of requests since.
#[derive(Debug, Default)]
struct RejectionCount {
    last_written: Option<Instant>,
    count: u64,
}

impl RejectionCount {
    fn is_time(&self) -> bool {
        self.last_written.is_none_or(|at| at.elapsed() >= REJECTION_LINE_INTERVAL)
    }
}

/// Requests rejected before their kind is known. Every one of them is counted in some line.
#[derive(Debug, Default)]
pub(crate) struct RejectionCounts(Mutex<HashMap<RejectionKey, RejectionCount>>);

impl RejectionCounts {
    fn all(&self) -> MutexGuard<'_, HashMap<RejectionKey, RejectionCount>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one request, and writes the lines that are due.
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

    /// Writes the lines that are due.
    pub(crate) fn write_due(&self, audit: &AuditSink) {
        self.write(audit, RejectionCount::is_time);
    }

    /// Writes all lines with a count, because this may be the last chance.
    pub(crate) fn write_all(&self, audit: &AuditSink) {
        self.write(audit, |_| true);
    }

    fn write(&self, audit: &AuditSink, is_due: impl Fn(&RejectionCount) -> bool) {
        let mut due = Vec::new();
        self.all().retain(|whom, since| {
            if !is_due(since) {
                return true;
            }
            // Callers without requests since the last line are forgotten.
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
            // Refused already; that the line is missing is counted and logged.
            audit.write(&entry).unwrap_or_default();
        }
    }
}

/// Sets the requested target: a tool, a resource or a prompt.
pub(crate) fn set_target<'a>(entry: &mut AuditEntry<'a>, method: &'a str, target: &'a str) {
    entry.method = method;
    let named = match method {
        "resources/read" => &mut entry.uri,
        "prompts/get" => &mut entry.prompt,
        _ => &mut entry.tool,
    };
    *named = Some(target);
}

/// SHA-256 of the arguments in a canonical form: keys sorted, no spaces. Equal arguments have equal digests, and the
/// arguments themselves, which may contain secrets, are not stored.
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
    fn every_rejected_caller_is_counted_exactly_once() {
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
        assert_eq!(lines().len(), MAX_REJECTION_KEYS + 1, "each has one at once");
        let pass_time = || {
            for since in door.all().values_mut() {
                since.last_written =
                    since.last_written.and_then(|at| at.checked_sub(REJECTION_LINE_INTERVAL));
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
        assert_eq!(of(OTHER_CALLERS), 3 * (1000 - MAX_REJECTION_KEYS as u64));
        pass_time();
        door.write_due(&audit);
        assert!(door.all().is_empty() && lines().len() == all.len());
    }

    #[test]
    fn a_failure_is_counted_and_harmless_unless_it_must_be_written() {
        use docent_audit::WriteFailurePolicy;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("no/such/folder/audit.jsonl");
        for (on_full, refused) in
            [(WriteFailurePolicy::Drop, false), (WriteFailurePolicy::Refuse, true)]
        {
            let audit =
                AuditSink::open(&path, AuditLogSettings { on_full, ..AuditLogSettings::default() });
            assert_eq!(audit.ready().is_err(), refused);
            for _ in 0..2 {
                assert_eq!(audit.write(&AuditEntry::default()).is_err(), refused);
            }
            assert_eq!(audit.failures(), 2);
        }
        let off = AuditSink::off();
        assert!(off.ready().is_ok() && off.write(&AuditEntry::default()).is_ok() && !off.is_on());
    }
}
