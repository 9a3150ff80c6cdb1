//! Calls one of docent's own tools in memory: the same session, checks and answer as any client gets.

use anyhow::{Context as _, bail};
use docent_server::{Server, Setup};
use docent_transport::stdio::{self, Stdio};
use docent_wire::Handshake;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, split};
use tokio_util::sync::CancellationToken;

/// Bytes that may be under way between the two ends.
const BUFFER: usize = 1 << 20;

/// What a tool answered.
#[derive(Debug)]
pub(crate) struct Reply {
    /// The text blocks of its content, one after the other.
    pub(crate) text: String,
    /// Its `structuredContent`.
    pub(crate) structured: Value,
    /// Whether it failed; the text then says why.
    pub(crate) is_error: bool,
}

/// How far a call is, as the server tells it.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) done: u64,
    pub(crate) total: Option<u64>,
    pub(crate) message: String,
}

/// Calls a tool of a server that is made for this call alone.
pub(crate) async fn call(
    setup: Setup,
    tool: &str,
    arguments: Value,
    mut on_step: impl FnMut(Step),
) -> anyhow::Result<Reply> {
    let message_bytes = setup.limits.message_bytes;
    let server = Server::new(setup)?;
    let (here, there) = tokio::io::duplex(BUFFER);
    let (reader, writer) = split(there);
    let pipes = Stdio {
        door: Arc::clone(&server) as _,
        handshake: Handshake::Optional,
        message_bytes,
        closing: CancellationToken::new(),
    };
    let serving = tokio::spawn(stdio::serve_on(server.session(), pipes, reader, writer));
    let (reader, mut writer) = split(here);
    let request = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": tool, "arguments": arguments, "_meta": {"progressToken": 1}},
    });
    writer.write_all(format!("{request}\n").as_bytes()).await.context("asking the server")?;
    let mut lines = BufReader::new(reader).lines();
    let reply = loop {
        let line = lines.next_line().await.context("hearing the server")?;
        let Some(line) = line else { bail!("the server ended without an answer") };
        let message: Value = serde_json::from_str(&line).context("reading the server's answer")?;
        if let Some(step) = step(&message) {
            on_step(step);
        } else if message.get("id").and_then(Value::as_u64) == Some(1) {
            break reply(message)?;
        }
    };
    drop(writer);
    serving.abort();
    Ok(reply)
}

fn step(message: &Value) -> Option<Step> {
    if message.get("method")?.as_str()? != "notifications/progress" {
        return None;
    }
    let params = message.get("params")?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts of files")]
    let count = |key: &str| params.get(key).and_then(Value::as_f64).map(|count| count as u64);
    let text = params.get("message").and_then(Value::as_str).unwrap_or_default();
    Some(Step { done: count("progress")?, total: count("total"), message: text.to_owned() })
}

fn reply(mut message: Value) -> anyhow::Result<Reply> {
    if let Some(error) = message.get("error") {
        let told = error.get("message").and_then(Value::as_str).unwrap_or("it does not say why");
        let reason = error.pointer("/data/reason").and_then(Value::as_str);
        bail!("{told}{}", reason.map_or_else(String::new, |reason| format!(": {reason}")));
    }
    let result = message.get_mut("result").map(Value::take).unwrap_or_default();
    let blocks = result.get("content").and_then(Value::as_array);
    let texts = blocks.into_iter().flatten().filter_map(|block| block.get("text")?.as_str());
    Ok(Reply {
        text: texts.collect(),
        is_error: result.get("isError").and_then(Value::as_bool).unwrap_or(false),
        structured: result.get("structuredContent").cloned().unwrap_or_default(),
    })
}
