//! The record of one request: begun when it comes, closed with its audit line.

use crate::{
    audit::{self, AuditOutcome},
    request_caller::{self, RequestCaller},
    metrics::{RequestOutcome, ToolStats},
    server::{McpServer, refused},
};
use docent_tool::Object;
use docent_transport::ConnectionKind;
use rmcp::{ErrorData, RoleServer, service::RequestContext};
use serde_json::json;
use std::{
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

/// What a request asks for, as the audit line has it.
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

/// The audit line of a request, written once. A request that is dropped half-way, or panics, leaves its line as well.
pub(crate) struct AuditGuard {
    server: Arc<McpServer>,
    entry: RequestRecord,
    /// Counts how the call ends.
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

    /// However it ends from now on, it is counted as a call of this tool.
    pub(crate) fn count_for(&mut self, stats: &Arc<ToolStats>) {
        self.stats = Some(Arc::clone(stats));
    }

    /// Writes the line. On an error that is the answer, and nothing else of the request goes out.
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
            tracing::warn!(error = %error.message, "a request that was given up is not recorded");
        }
    }
}

impl McpServer {
    /// Begins the record of one request.
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

    /// The same for a call within a call.
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
        audit::about(&mut line, audited.method, &audited.target);
        self.audit().write(&line).map_err(|error| self.unrecorded(&error))
    }

    /// Told to a request that can't be recorded, and must be. Where the file is stays here.
    pub(crate) fn unrecorded(&self, error: &docent_audit::AuditWriteError) -> ErrorData {
        self.counters().refused_audit.fetch_add(1, Ordering::Relaxed);
        let policy = "the call was refused by policy (audit.on_full = refuse)";
        refused(format!("{error}: {policy}"), Some(json!({"kind": "audit"})))
    }
}
