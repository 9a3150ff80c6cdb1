//! The log's own lines: events in the life of the log itself.

use crate::{
    chain::{HashBytes, hex},
    members::LineMembers,
};
use serde_json::{Map, Value};

/// An event in the life of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AuditLogEvent {
    /// The bytes before this line are a truncated line.
    Torn { bytes: u64, digest: HashBytes },
    /// Another tool moved or emptied the file that contained these lines.
    RotatedElsewhere { from: u64, to: u64 },
    /// Lines that could not be written, and since when.
    Dropped { count: u64, since: String },
    /// A file other than the first one begins.
    Begun(FileStart),
}

/// The number of a log file, and which older files are kept. Because the chain contains it, no one can later invent an
/// explanation for missing files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStart {
    /// The file's number, which does not change when the file is renamed.
    pub(crate) file: u64,
    /// The number of its first line.
    pub(crate) first: u64,
    /// The number of the oldest file that is kept.
    pub(crate) oldest: u64,
}

impl FileStart {
    /// The log's first file, or a file whose beginning is unknown.
    pub(crate) const FIRST: Self = Self { file: 1, first: 1, oldest: 1 };

    /// The file after this one when `keep` older files are kept. A file that was removed does not come back when `keep`
    /// grows.
    pub(crate) fn next(self, first: u64, keep: usize) -> Self {
        let file = self.file.saturating_add(1);
        let oldest = file.saturating_sub(keep as u64);
        Self { file, first, oldest: oldest.max(self.oldest) }
    }
}

impl AuditLogEvent {
    pub(crate) fn members(&self, time: &str) -> LineMembers {
        let mut members = LineMembers::new();
        members.text("kind", self.name());
        members.text("time", time);
        match self {
            Self::Torn { bytes, digest } => {
                let mut digits = Vec::with_capacity(64);
                hex(digest, &mut digits);
                members.number("torn_bytes", *bytes);
                members.text("torn_digest", str::from_utf8(&digits).unwrap_or_default());
            }
            Self::RotatedElsewhere { from, to } => {
                members.number("from", *from);
                members.number("to", *to);
            }
            Self::Dropped { count, since } => {
                members.number("count", *count);
                members.text("since", since);
            }
            Self::Begun(FileStart { file, first, oldest }) => {
                members.number("file", *file);
                members.number("first", *first);
                members.number("oldest", *oldest);
            }
        }
        members
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Torn { .. } => "torn",
            Self::RotatedElsewhere { .. } => "rotated_elsewhere",
            Self::Dropped { .. } => "dropped",
            Self::Begun(_) => "begun",
        }
    }

    /// Parses the members of a sealed line. Lines of calls are recognized without parsing them in full.
    pub(crate) fn parse(members: &[u8]) -> Option<Self> {
        let rest = members.strip_prefix(b",\"kind\":")?;
        let object = [b"{\"kind\":", rest, b"}"].concat();
        let fields: Map<String, Value> = serde_json::from_slice(&object).ok()?;
        let number = |name: &str| fields.get(name).and_then(Value::as_u64);
        let text = |name: &str| fields.get(name).and_then(Value::as_str);
        match text("kind")? {
            "torn" => Some(Self::Torn {
                bytes: number("torn_bytes")?,
                digest: crate::chain::unhex(text("torn_digest")?.as_bytes())?,
            }),
            "rotated_elsewhere" => {
                Some(Self::RotatedElsewhere { from: number("from")?, to: number("to")? })
            }
            "dropped" => {
                Some(Self::Dropped { count: number("count")?, since: text("since")?.to_owned() })
            }
            "begun" => Some(Self::Begun(FileStart {
                file: number("file")?,
                first: number("first")?,
                oldest: number("oldest")?,
            })),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_round_trip_and_calls_are_not_events() {
        for event in [
            AuditLogEvent::Torn { bytes: 9, digest: [7; 32] },
            AuditLogEvent::RotatedElsewhere { from: 1, to: 200 },
            AuditLogEvent::Dropped { count: 3, since: "2026-01-01T00:00:00.000Z".into() },
            AuditLogEvent::Begun(FileStart { file: 9, first: 800, oldest: 4 }),
        ] {
            assert_eq!(AuditLogEvent::parse(event.members("now").bytes()), Some(event));
        }
        for other in [
            &b",\"time\":\"now\",\"tool\":\",\\\"kind\\\":\""[..],
            b",\"kind\":\"torn\"",
            b",\"kind\":\"other\"",
            b",\"kind\":",
            b"",
        ] {
            assert_eq!(AuditLogEvent::parse(other), None);
        }
    }
    #[test]
    fn files_are_removed_one_by_one_and_for_good() {
        for (keep, oldest) in [
            ([2, 2, 2, 2, 2], [1, 1, 2, 3, 4]),
            ([0, 0, 0, 0, 0], [2, 3, 4, 5, 6]),
            ([9, 9, 9, 1, 9], [1, 1, 1, 4, 4]),
        ] {
            let mut begun = FileStart::FIRST;
            let found = keep.map(|keep| {
                begun = begun.next(7, keep);
                begun.oldest
            });
            assert_eq!((found, begun.file), (oldest, 6), "{keep:?}");
        }
    }
}
