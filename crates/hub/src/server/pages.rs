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
pub(crate) const DONE: &str = "notifications/elicitation/complete";
/// The error of a server that wants somebody to visit pages first.
pub(crate) const VISIT_FIRST: i64 = -32042;
const MOST: usize = 256;
/// How long a person may take.
const KEPT: Duration = Duration::from_mins(30);

/// The pages that clients were told of, the oldest first.
#[derive(Default)]
pub(crate) struct Pages(Mutex<VecDeque<Page>>);

struct Page {
    id: String,
    told: Instant,
    context: CallContext,
}

impl Pages {
    /// A client is sent to a page, if that is what is asked of it. It may be there for longer than its call is open.
    pub(crate) fn remember(&self, asked: &Value, context: &CallContext) {
        let id = asked.get("elicitationId").and_then(Value::as_str);
        let Some(id) = id.filter(|_| asked.get("mode").and_then(Value::as_str) == Some("url"))
        else {
            return;
        };
        let mut pages = locked(&self.0);
        pages.retain(|page| page.told.elapsed() < KEPT && page.id != id);
        if pages.len() >= MOST {
            pages.pop_front();
        }
        pages.push_back(Page { id: id.to_owned(), told: Instant::now(), context: context.clone() });
    }

    /// The pages in an error that wants somebody to visit them first.
    pub(crate) fn remember_all(&self, data: Option<&Value>, context: &CallContext) {
        let all = data.and_then(|data| data.get("elicitations")).and_then(Value::as_array);
        for asked in all.into_iter().flatten() {
            self.remember(asked, context);
        }
    }

    /// Somebody is done: the client that was told of the page hears it, and no other.
    pub(crate) fn done(&self, params: Value) {
        let Some(id) = params.get("elicitationId").and_then(Value::as_str) else { return };
        let mut pages = locked(&self.0);
        let Some(place) = pages.iter().position(|page| page.id == id) else { return };
        if let Some(page) = pages.remove(place) {
            page.context.pass_on(DONE, params);
        }
    }
}
