//! The audit record of one request: opened when it arrives, closed with its audit line.

use crate::{
    audit::{self, AuditOutcome},
    metrics::{RequestOutcome, ToolStats},
    request_caller::{self, RequestCaller},
    server::{McpServer, refusal_error},
};
use docent_tool::Object;
use docent_transport::ConnectionKind;
use rmcp::{ErrorData, RoleServer, service::RequestContext};
use serde_json::json;
use std::{
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

/// The target of a request, for the audit line.
pub(crate) struct RequestSubject<'a> {
    pub(crate) method: &'static str,
    pub(crate) target: &'a str,
    pub(crate) arguments: Option<&'a Object>,
}

/// The record of one request, from its beginning.
pub(crate) struct RequestRecord {
    began: Instant,
    traceparent: Option<String>,
    audited: Option<AuditFields>,
}

struct AuditFields {
    method: &'static str,
    target: String,
    digest: String,
    client: Option<String>,
    principal: Arc<str>,
    via: ConnectionKind,
}

impl RequestRecord {
    pub(crate) fn began(&self) -> Instant {
        self.began
    }

    pub(crate) fn traceparent(&self) -> Option<&str> {
        self.traceparent.as_deref()
    }
}

/// The audit line of a request, written exactly once. A request that is dropped or panics writes its line as well.
pub(crate) struct AuditGuard {
    server: Arc<McpServer>,
    entry: RequestRecord,
    /// Counts the outcome of the call.
    stats: Option<Arc<ToolStats>>,
    is_open: bool,
}

impl AuditGuard {
    pub(crate) fn new(server: &Arc<McpServer>, entry: RequestRecord) -> Self {
        Self { server: Arc::clone(server), entry, stats: None, is_open: true }
    }

    pub(crate) fn entry(&self) -> &RequestRecord {
        &self.entry
    }

    /// From now on, its outcome counts as a call of this tool.
    pub(crate) fn count_for(&mut self, stats: &Arc<ToolStats>) {
        self.stats = Some(Arc::clone(stats));
    }

    /// Writes the line. If that fails, the error replaces the answer.
    pub(crate) fn close(&mut self, ending: &AuditOutcome) -> Result<(), ErrorData> {
        self.is_open = false;
        let closed = self.server.close(&self.entry, ending);
        if let Some(stats) = &self.stats {
            let outcome = if closed.is_ok() { ending.outcome } else { RequestOutcome::Refused };
            stats.count(outcome, self.entry.began.elapsed());
        }
        closed
    }
}

impl Drop for AuditGuard {
    fn drop(&mut self) {
        if self.is_open
            && let Err(error) = self.close(&AuditOutcome::new(RequestOutcome::Cancelled, 0))
        {
            tracing::warn!(error = %error.message, "cannot record an abandoned request");
        }
    }
}

impl McpServer {
    /// Opens the record of one request.
    pub(crate) fn open(
        &self,
        guest: &RequestCaller,
        context: &RequestContext<RoleServer>,
        asked: &RequestSubject<'_>,
    ) -> RequestRecord {
        let traceparent = context.meta.get_traceparent().map(str::to_owned);
        let client = || request_caller::client_name(context);
        RequestRecord { traceparent, ..self.open_within(guest, client, asked) }
    }

    /// The same for a nested call.
    pub(crate) fn open_within(
        &self,
        guest: &RequestCaller,
        client: impl FnOnce() -> Option<String>,
        asked: &RequestSubject<'_>,
    ) -> RequestRecord {
        let audited = self.audit().is_on().then(|| {
            let screening = self.screening();
            AuditFields {
                method: asked.method,
                target: screening.screen_text(asked.target),
                digest: audit::digest(asked.arguments),
                client: client().map(|client| screening.screen_text(&client)),
                principal: Arc::clone(&guest.principal().name),
                via: guest.caller.via,
            }
        });
        RequestRecord { began: Instant::now(), traceparent: None, audited }
    }

    fn close(&self, entry: &RequestRecord, ending: &AuditOutcome) -> Result<(), ErrorData> {
        let Some(audited) = &entry.audited else { return Ok(()) };
        self.log_rejections();
        let mut line = docent_audit::AuditEntry {
            principal: &audited.principal,
            client: audited.client.as_deref(),
            transport: audited.via.name(),
            digest: &audited.digest,
            outcome: ending.outcome.name(),
            reason: ending.reason,
            reference: ending.reference.as_deref(),
            duration_ms: audit::milliseconds(entry.began.elapsed()),
            bytes: ending.bytes as u64,
            ..docent_audit::AuditEntry::default()
        };
        audit::set_target(&mut line, audited.method, &audited.target);
        self.audit().write(&line).map_err(|error| self.unrecorded_error(&error))
    }

    /// The error for a request that must be recorded but cannot be. The path of the file is not disclosed.
    pub(crate) fn unrecorded_error(&self, error: &docent_audit::AuditWriteError) -> ErrorData {
        self.counters().refused_audit.fetch_add(1, Ordering::Relaxed);
        let policy = "the call was refused by policy (audit.on_full = refuse)";
        refusal_error(format!("{error}: {policy}"), Some(json!({"kind": "audit"})))
    }
}
