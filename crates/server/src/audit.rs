//! One line for every call, read and prompt: who, with what, how it ended. JSON Lines, written before the answer goes.

use crate::{hex, metrics::Outcome};
use docent_tool::Object;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// Where audit lines go.
#[derive(Debug, Default)]
pub struct Audit(Option<Log>);

#[derive(Debug)]
struct Log {
    path: PathBuf,
    max_bytes: u64,
    open: Mutex<Option<Open>>,
    failures: AtomicU64,
}

#[derive(Debug)]
struct Open {
    file: File,
    bytes: u64,
}

impl Audit {
    /// Nowhere.
    pub fn off() -> Self {
        Self(None)
    }

    /// To this file, which is opened with the first line. Past `max_bytes` it becomes `<path>.1`, replacing an older
    /// one, and a new file begins.
    pub fn to_file(path: impl Into<PathBuf>, max_bytes: u64) -> Self {
        Self(Some(Log {
            path: path.into(),
            max_bytes,
            open: Mutex::default(),
            failures: AtomicU64::new(0),
        }))
    }

    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn failures(&self) -> u64 {
        self.0.as_ref().map_or(0, |log| log.failures.load(Ordering::Relaxed))
    }

    /// Writes one line. A failure is logged once and counted: a full disk must not stop the calls.
    pub(crate) fn write(&self, line: &Line<'_>) {
        let Some(log) = &self.0 else { return };
        let Ok(mut bytes) = serde_json::to_vec(line) else { return };
        bytes.push(b'\n');
        if let Err(error) = log.append(&bytes)
            && log.failures.fetch_add(1, Ordering::Relaxed) == 0
        {
            tracing::error!(path = %log.path.display(), %error, "audit lines can't be written");
        }
    }
}

impl Log {
    fn append(&self, line: &[u8]) -> io::Result<()> {
        let mut slot = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let length = line.len() as u64;
        if let Some(open) = &*slot
            && open.bytes > 0
            && open.bytes + length > self.max_bytes
        {
            *slot = None;
            std::fs::rename(&self.path, older(&self.path))?;
        }
        let open = match &mut *slot {
            Some(open) => open,
            None => slot.insert(Open::at(&self.path)?),
        };
        // One write for one line, so that a line is never torn by another process that appends.
        let written = open.file.write_all(line);
        open.bytes += length;
        if written.is_err() {
            // The file is opened again with the next line: it may have been moved, or the disk may have room again.
            *slot = None;
        }
        written
    }
}

impl Open {
    fn at(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { file, bytes })
    }
}

fn older(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".1");
    name.into()
}

/// One line.
#[derive(Debug, Serialize)]
pub(crate) struct Line<'a> {
    pub(crate) time: String,
    pub(crate) principal: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) client: Option<&'a str>,
    pub(crate) transport: &'a str,
    pub(crate) method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) uri: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) prompt: Option<&'a str>,
    pub(crate) digest: &'a str,
    pub(crate) outcome: &'a str,
    pub(crate) duration_ms: f64,
    pub(crate) bytes: usize,
}

impl<'a> Line<'a> {
    /// A line for now, with nothing yet of the request.
    pub(crate) fn ended(outcome: Outcome, took: Duration, bytes: usize) -> Self {
        Self {
            time: now(),
            principal: "",
            client: None,
            transport: "",
            method: "",
            tool: None,
            uri: None,
            prompt: None,
            digest: "",
            outcome: outcome.name(),
            // Thousandths are as fine as anybody reads.
            duration_ms: (took.as_secs_f64() * 1e6).round() / 1e3,
            bytes,
        }
    }

    /// Names what was asked for.
    pub(crate) fn about(mut self, method: &'a str, target: &'a str) -> Self {
        self.method = method;
        match method {
            "resources/read" => self.uri = Some(target),
            "prompts/get" => self.prompt = Some(target),
            _ => self.tool = Some(target),
        }
        self
    }
}

fn now() -> String {
    chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
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

    fn line(tool: &str) -> Line<'_> {
        Line::ended(Outcome::Ok, Duration::from_millis(2), 5).about("tools/call", tool)
    }

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
    fn lines_are_json_and_the_file_is_turned_over_once_full() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let audit = Audit::to_file(&path, 500);
        for n in 0..7 {
            audit.write(&line(&format!("tool{n}")));
        }
        let read = |path: &Path| std::fs::read_to_string(path).unwrap();
        let (new, old) = (read(&path), read(&older(&path)));
        assert!(
            !new.is_empty() && new.len() <= 500 && old.len() <= 500,
            "{} {}",
            new.len(),
            old.len()
        );
        let last: Value = serde_json::from_str(new.lines().last().unwrap()).unwrap();
        assert_eq!((&last["tool"], &last["outcome"]), (&json!("tool6"), &json!("ok")));
        assert_eq!((&last["duration_ms"], &last["bytes"]), (&json!(2.0), &json!(5)));
        assert!(last["time"].as_str().unwrap().ends_with('Z'), "{last}");
        assert_eq!(audit.failures(), 0);
    }

    #[test]
    fn a_file_that_is_there_is_gone_on_with() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        for n in 0..3 {
            Audit::to_file(&path, 1 << 20).write(&line(&format!("tool{n}")));
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 3);
    }

    #[test]
    fn a_failure_is_counted_and_harmless() {
        let folder = tempfile::tempdir().unwrap();
        let audit = Audit::to_file(folder.path().join("no/such/folder/audit.jsonl"), 500);
        audit.write(&line("a"));
        audit.write(&line("b"));
        assert_eq!(audit.failures(), 2);
    }
}
