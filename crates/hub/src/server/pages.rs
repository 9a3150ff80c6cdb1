//! Pages that servers ask people to visit, and the clients to notify when they are done.

use super::locked;
use docent_tool::CallContext;
use serde_json::Value;
use std::{
    collections::VecDeque,
    sync::Mutex,
    time::{Duration, Instant},
};

/// The notification that a person is done with a page.
pub(crate) const ELICITATION_COMPLETE: &str = "notifications/elicitation/complete";
/// The error code of a server that requires a visit to a page first.
pub(crate) const URL_ELICITATION_REQUIRED: i64 = -32042;
const MAX_PAGES: usize = 256;
/// How long a person may take.
const PAGE_TTL: Duration = Duration::from_mins(30);

/// The pages that clients were sent to, oldest first.
#[derive(Default)]
pub(crate) struct ElicitationPages(Mutex<VecDeque<ElicitationPage>>);

struct ElicitationPage {
    id: String,
    sent_at: Instant,
    context: CallContext,
}

impl ElicitationPages {
    /// Remembers a page that a client is sent to, if the request names one. The visit may outlast the call.
    pub(crate) fn remember(&self, asked: &Value, context: &CallContext) {
        let id = asked.get("elicitationId").and_then(Value::as_str);
        let Some(id) = id.filter(|_| asked.get("mode").and_then(Value::as_str) == Some("url"))
        else {
            return;
        };
        let mut pages = locked(&self.0);
        pages.retain(|page| page.sent_at.elapsed() < PAGE_TTL && page.id != id);
        if pages.len() >= MAX_PAGES {
            pages.pop_front();
        }
        pages.push_back(ElicitationPage {
            id: id.to_owned(),
            sent_at: Instant::now(),
            context: context.clone(),
        });
    }

    /// Remembers the pages in an error that requires visits first.
    pub(crate) fn remember_all(&self, data: Option<&Value>, context: &CallContext) {
        let all = data.and_then(|data| data.get("elicitations")).and_then(Value::as_array);
        for asked in all.into_iter().flatten() {
            self.remember(asked, context);
        }
    }

    /// Notifies only the client that was sent to the page.
    pub(crate) fn complete(&self, params: Value) {
        let Some(id) = params.get("elicitationId").and_then(Value::as_str) else { return };
        let mut pages = locked(&self.0);
        let Some(place) = pages.iter().position(|page| page.id == id) else { return };
        if let Some(page) = pages.remove(place) {
            page.context.pass_on(ELICITATION_COMPLETE, params);
        }
    }
}
