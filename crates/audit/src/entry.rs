//! What is recorded of one call.

use crate::members::LineMembers;

/// One call, as its line has it. The log adds `seq`, `prev`, `time` and `hash`. Texts beyond 512 bytes are cut.
#[derive(Debug, Clone, Copy, Default)]
pub struct AuditEntry<'a> {
    /// Who called.
    pub principal: &'a str,
    /// The client's own name and version, as far as it told.
    pub client: Option<&'a str>,
    /// How it is connected.
    pub transport: &'a str,
    /// The method of the protocol.
    pub method: &'a str,
    /// The tool that was called.
    pub tool: Option<&'a str>,
    /// The resource that was read.
    pub uri: Option<&'a str>,
    /// The prompt that was rendered.
    pub prompt: Option<&'a str>,
    /// A digest of the arguments; the arguments themselves may hold secrets.
    pub digest: &'a str,
    /// How it ended: `ok`, `error`, `refused`, `cancelled`, `partial`.
    pub outcome: &'a str,
    /// Why it ended so, in a word.
    pub reason: Option<&'a str>,
    /// The id of an internal error, found in the program's log as well.
    pub reference: Option<&'a str>,
    /// How long it took, in milliseconds.
    pub duration_ms: f64,
    /// Bytes of the answer.
    pub bytes: u64,
    /// Requests that the line stands for, if it may stand for several.
    pub count: Option<u64>,
}

impl AuditEntry<'_> {
    /// The members of the line that are the call's.
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
    fn the_worst_line_is_below_the_bound() {
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
        assert!(bytes > 30_000 && bytes + 300 < MAX_LINE, "{bytes}");
    }
}
