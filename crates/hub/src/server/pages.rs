//! Pages that servers send people to, and who hears that somebody is done there.

use super::locked;
use docent_tool::CallContext;
use serde_json::Value;
use std::{
    collections::VecDeque,
    sync::Mutex,
    time::{Duration, Instant},
};

/// The notification of a server that a page has done its work.
pub(crate) const ELICITATION_COMPLETE: &str = "notifications/elicitation/complete";
/// The error of a server that wants somebody to visit pages first.
pub(crate) const URL_ELICITATION_REQUIRED: i64 = -32042;
const MAX_PAGES: usize = 256;
/// How long a person may take.
const PAGE_TTL: Duration = Duration::from_mins(30);

/// The pages that clients were told of, the oldest first.
#[derive(Default)]
pub(crate) struct ElicitationPages(Mutex<VecDeque<ElicitationPage>>);

struct ElicitationPage {
    id: String,
    sent_at: Instant,
    context: CallContext,
}

impl ElicitationPages {
    /// A client is sent to a page, if that is what is asked of it. It may be there for longer than its call is open.
    pub(crate) fn remember(&self, asked: &Value, context: &CallContext) {
        let id = asked.get("elicitationId").and_then(Value::as_str);
        let Some(id) = id.filter(|_| asked.get("mode").and_then(Value::as_str) == Some("url"))
        else {
            return;
        };
        let mut pages = locked(&self.0);
        pages.retain(|page| page.told.elapsed() < PAGE_TTL && page.id != id);
        if pages.len() >= MAX_PAGES {
            pages.pop_front();
        }
        pages.push_back(ElicitationPage { id: id.to_owned(), sent_at: Instant::now(), context: context.clone() });
    }

    /// The pages in an error that wants somebody to visit them first.
    pub(crate) fn remember_all(&self, data: Option<&Value>, context: &CallContext) {
        let all = data.and_then(|data| data.get("elicitations")).and_then(Value::as_array);
        for asked in all.into_iter().flatten() {
            self.remember(asked, context);
        }
    }

    /// Somebody is done: the client that was told of the page hears it, and no other.
    pub(crate) fn complete(&self, params: Value) {
        let Some(id) = params.get("elicitationId").and_then(Value::as_str) else { return };
        let mut pages = locked(&self.0);
        let Some(place) = pages.iter().position(|page| page.id == id) else { return };
        if let Some(page) = pages.remove(place) {
            page.context.pass_on(ELICITATION_COMPLETE, params);
        }
    }
}
