//! The record of one request: begun when it comes, closed with its audit line.

use crate::{
    audit::{self, Ending},
    guest::{self, Guest},
    server::{Server, refused},
};
use docent_tool::Object;
use docent_transport::Via;
use rmcp::{ErrorData, RoleServer, service::RequestContext};
use serde_json::json;
use std::{
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

/// What a request asks for, as the audit line has it.
pub(crate) struct Asked<'a> {
    pub(crate) method: &'static str,
    pub(crate) target: &'a str,
    pub(crate) arguments: Option<&'a Object>,
}

/// The record of one request, from its beginning.
pub(crate) struct Entry {
    began: Instant,
    traceparent: Option<String>,
    audited: Option<Audited>,
}

struct Audited {
    method: &'static str,
    target: String,
    digest: String,
    client: Option<String>,
    principal: Arc<str>,
    via: Via,
}

impl Entry {
    pub(crate) fn began(&self) -> Instant {
        self.began
    }

    pub(crate) fn traceparent(&self) -> Option<&str> {
        self.traceparent.as_deref()
    }
}

impl Server {
    /// Begins the record of one request.
    pub(crate) fn open(
        &self,
        guest: &Guest,
        context: &RequestContext<RoleServer>,
        asked: &Asked<'_>,
    ) -> Entry {
        let traceparent = context.meta.get_traceparent().map(str::to_owned);
        let client = || guest::client_name(context);
        Entry { traceparent, ..self.open_within(guest, client, asked) }
    }

    /// The same for a call within a call.
    pub(crate) fn open_within(
        &self,
        guest: &Guest,
        client: impl FnOnce() -> Option<String>,
        asked: &Asked<'_>,
    ) -> Entry {
        let audited = self.audit().is_on().then(|| Audited {
            method: asked.method,
            target: self.screening().told(asked.target),
            digest: audit::digest(asked.arguments),
            client: client(),
            principal: Arc::clone(&guest.principal().name),
            via: guest.caller.via,
        });
        Entry { began: Instant::now(), traceparent: None, audited }
    }

    /// Writes the line of one request. On an error that is the answer, and nothing else of the request goes out.
    pub(crate) fn close(&self, entry: &Entry, ending: &Ending<'_>) -> Result<(), ErrorData> {
        let Some(audited) = &entry.audited else { return Ok(()) };
        let mut line = docent_audit::Entry {
            principal: &audited.principal,
            client: audited.client.as_deref(),
            transport: audited.via.name(),
            digest: &audited.digest,
            outcome: ending.outcome.name(),
            reason: ending.reason,
            reference: ending.reference,
            duration_ms: audit::milliseconds(entry.began.elapsed()),
            bytes: ending.bytes as u64,
            ..docent_audit::Entry::default()
        };
        audit::about(&mut line, audited.method, &audited.target);
        self.audit().write(&line).map_err(|error| self.unrecorded(&error))
    }

    /// Told to a request that can't be recorded, and must be. Where the file is stays here.
    pub(crate) fn unrecorded(&self, error: &docent_audit::WriteError) -> ErrorData {
        self.counters().refused_audit.fetch_add(1, Ordering::Relaxed);
        let policy = "the call was refused by policy (audit.on_full = refuse)";
        refused(format!("{error}: {policy}"), Some(json!({"kind": "audit"})))
    }
}
