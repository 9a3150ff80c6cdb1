//! Reads all pages of `tools/list` and waits until they contain the tools of all servers.

use crate::bench::pipe::PipeServer;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::{
    thread,
    time::{Duration, Instant},
};

/// A list with more pages is treated as endless.
const MAX_PAGES: usize = 1000;
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// Lists all tools.
pub(super) fn tools(server: &mut PipeServer) -> Result<Vec<Value>> {
    let (mut all, mut params) = (Vec::new(), json!({}));
    for _ in 0..MAX_PAGES {
        let mut page = server.request("tools/list", &params)?;
        let tools = page["tools"].take();
        let Value::Array(tools) = tools else {
            anyhow::bail!("tools/list was answered with {page}")
        };
        all.extend(tools);
        match page["nextCursor"].take() {
            Value::String(cursor) => params = json!({ "cursor": cursor }),
            _ => return Ok(all),
        }
    }
    anyhow::bail!("tools/list has over {MAX_PAGES} pages")
}

/// Returns the name of a tool.
pub(super) fn name(tool: &Value) -> &str {
    tool["name"].as_str().unwrap_or_default()
}

/// Lists until the list is complete or the limit is reached; returns it and the times of the first and last answer.
pub(super) fn until(
    server: &mut PipeServer,
    limit: Duration,
    whole: impl Fn(&[Value]) -> bool,
) -> Result<(Vec<Value>, Instant, Instant)> {
    let deadline = Instant::now() + limit;
    let mut listed = tools(server)?;
    let first = Instant::now();
    let mut last = first;
    while !whole(&listed) {
        let names: Vec<&str> = listed.iter().map(name).collect();
        ensure!(
            Instant::now() < deadline,
            "after {} s these are the tools: {}",
            limit.as_secs(),
            names.join(", ")
        );
        thread::sleep(POLL_INTERVAL);
        listed = tools(server).context("listing again")?;
        last = Instant::now();
    }
    Ok((listed, first, last))
}
