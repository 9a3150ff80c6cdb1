//! The content of one call's audit line.

use crate::members::LineMembers;

/// One call, as written to its audit line. The log adds `seq`, `prev`, `time` and `hash`. Texts beyond 512 bytes are
/// truncated.
#[derive(Debug, Clone, Copy, Default)]
pub struct AuditEntry<'a> {
    /// Name of the caller.
    pub principal: &'a str,
    /// The client's own name and version, if it sent them.
    pub client: Option<&'a str>,
    /// The transport of its connection.
    pub transport: &'a str,
    /// The protocol method.
    pub method: &'a str,
    /// The tool that was called.
    pub tool: Option<&'a str>,
    /// The resource that was read.
    pub uri: Option<&'a str>,
    /// The prompt that was rendered.
    pub prompt: Option<&'a str>,
    /// A digest of the arguments, which may themselves contain secrets.
    pub digest: &'a str,
    /// The outcome: `ok`, `error`, `refused`, `cancelled`, `partial`.
    pub outcome: &'a str,
    /// The reason for the outcome, in one word.
    pub reason: Option<&'a str>,
    /// The id of an internal error, also written to the program's log.
    pub reference: Option<&'a str>,
    /// Duration in milliseconds.
    pub duration_ms: f64,
    /// Size of the answer in bytes.
    pub bytes: u64,
    /// Number of requests that the line represents, if it can represent several.
    pub count: Option<u64>,
}

impl AuditEntry<'_> {
    /// The members of the line that describe the call.
    pub(crate) fn members(&self, time: &str) -> LineMembers {
        let mut members = LineMembers::new();
        members.text("time", time);
        members.text("principal", self.principal);
        members.some_text("client", self.client);
        members.text("transport", self.transport);
        members.text("method", self.method);
        members.some_text("tool", self.tool);
        members.some_text("uri", self.uri);
        members.some_text("prompt", self.prompt);
        members.text("digest", self.digest);
        members.text("outcome", self.outcome);
        members.some_text("reason", self.reason);
        members.some_text("reference", self.reference);
        members.fraction("duration_ms", self.duration_ms);
        members.number("bytes", self.bytes);
        if let Some(count) = self.count {
            members.number("count", count);
        }
        members
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MAX_LINE_BYTES;

    #[test]
    fn the_longest_line_is_below_the_maximum() {
        let bad = "\u{1}".repeat(1 << 20);
        let text = bad.as_str();
        let entry = AuditEntry {
            principal: text,
            client: Some(text),
            transport: text,
            method: text,
            tool: Some(text),
            uri: Some(text),
            prompt: Some(text),
            digest: text,
            outcome: text,
            reason: Some(text),
            reference: Some(text),
            duration_ms: f64::MAX,
            bytes: u64::MAX,
            count: Some(u64::MAX),
        };
        // The chain adds `seq`, `prev` and `hash`: less than 300 bytes.
        let bytes = entry.members(text).bytes().len();
        assert!(bytes > 30_000 && bytes + 300 < MAX_LINE_BYTES, "{bytes}");
    }
}
