//! Reads a whole list of a server, page by page and within limits.

use super::{DownstreamServer, locked, usable::check_item};
use crate::{DownstreamPeer, PeerRequest, RequestError};
use docent_tool::Object;
use serde_json::Value;
use std::collections::BTreeMap;

/// Maximum pages of one list, for servers that never end one.
const MAX_LIST_PAGES: usize = 1000;
/// Maximum items of one list.
const MAX_LIST_ITEMS: usize = 20_000;
/// Maximum bytes of one list, which is kept in memory, compared and stored.
const MAX_LIST_BYTES: usize = 16 << 20;
/// Maximum number of reported unusable items of one list.
const MAX_REPORTED: usize = 100;
/// Maximum characters of their names.
const MAX_REPORTED_NAME_CHARS: usize = 200;

/// A list of a server.
#[derive(Debug, Default)]
pub(super) struct ServerList {
    pub(super) items: Vec<Object>,
    /// Items that can't be used, by name, and the reason.
    pub(super) left_out: BTreeMap<String, String>,
}

impl ServerList {
    /// Records an item that is left out, and the reason.
    pub(super) fn leave_out(&mut self, item: &Object, why: String) {
        let name = item.get("name").or_else(|| item.get("uri")).and_then(Value::as_str);
        if let Some(name) = name.filter(|_| self.left_out.len() < MAX_REPORTED) {
            self.left_out.insert(name.chars().take(MAX_REPORTED_NAME_CHARS).collect(), why);
        }
    }
}

/// Bytes of an item as JSON.
pub(super) fn json_bytes(fields: &Object) -> usize {
    serde_json::to_string(fields).map_or(0, |text| text.len())
}

impl DownstreamServer {
    /// Reads a whole list, up to the limits. A server that does not know the method has an empty list.
    pub(super) async fn list(
        &self,
        peer: &DownstreamPeer,
        wanted: bool,
        method: &'static str,
        key: &str,
    ) -> Result<ServerList, RequestError> {
        let (mut all, mut bytes) = (ServerList::default(), 0);
        if !wanted {
            return Ok(all);
        }
        let mut cursor: Option<Value> = None;
        for _ in 0..MAX_LIST_PAGES {
            let mut params = Object::new();
            if let Some(cursor) = &cursor {
                params.insert("cursor".into(), cursor.clone());
            }
            let mut page = match peer.request(method, PeerRequest::new(params)).await {
                Err(RequestError::Rpc { code: -32601, .. }) => return Ok(all),
                other => other?,
            };
            let items = page.get_mut(key).map(Value::take).unwrap_or_default();
            let Value::Array(items) = items else { return Ok(all) };
            for item in items {
                let Value::Object(item) = item else { continue };
                bytes += json_bytes(&item);
                if all.items.len() == MAX_LIST_ITEMS || bytes > MAX_LIST_BYTES {
                    self.warn_list_truncated(method);
                    return Ok(all);
                }
                if let Err(why) = check_item(&item) {
                    all.leave_out(&item, why);
                    continue;
                }
                all.items.push(item);
            }
            let next = page.get_mut("nextCursor").map(Value::take).filter(|next| !next.is_null());
            if next.is_none() || next == cursor {
                return Ok(all);
            }
            cursor = next;
        }
        self.warn_list_truncated(method);
        Ok(all)
    }

    fn warn_list_truncated(&self, method: &'static str) {
        if self.is_first_report(method) {
            tracing::warn!(
                server = self.name(),
                method,
                pages = MAX_LIST_PAGES,
                items = MAX_LIST_ITEMS,
                bytes = MAX_LIST_BYTES,
                "the server's list exceeds docent's limits, and the rest is left out; make the server list less"
            );
        }
    }

    /// Whether a limit is reached for the first time. Each is logged once, however often the lists are read.
    pub(super) fn is_first_report(&self, bound: &'static str) -> bool {
        locked(&self.reported_limits).insert(bound)
    }
}
