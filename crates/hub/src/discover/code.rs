//! Scripts that call tools: everything that one calls goes through the same checks and audit as a client's own calls.

use super::{Near, client};
use crate::{Hub, server::Known};
use docent_script::{CallError, Caller, Client, Limits, ScriptError};
use docent_tool::{Answer, Block, CallContext, Object, Outcome, Tool, ToolError};
use futures::{FutureExt as _, future::BoxFuture};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    fmt::Write as _,
    sync::{Arc, Weak},
    time::Duration,
};

pub(super) struct Execute(pub(super) Near);

// A bound that is misspelt must not be one that is left out.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    code: String,
    #[serde(default, rename = "allowedMcpIds")]
    allowed: Vec<String>,
    #[serde(default)]
    limits: Bounds,
}

#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct Bounds {
    time_ms: Option<u64>,
    memory_bytes: Option<usize>,
    calls: Option<usize>,
    output_bytes: Option<usize>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Done {
    /// What the script returned.
    value: Value,
    /// What it printed.
    console: Vec<String>,
    /// What it called.
    calls: Vec<Made>,
    /// Something was too long and has been cut.
    truncated: bool,
    /// How long it ran.
    milliseconds: u64,
}

#[derive(Serialize, JsonSchema)]
struct Made {
    server: String,
    tool: String,
    milliseconds: u64,
    ok: bool,
}

impl Tool for Execute {
    const NAME: &'static str = "execute_mcp_code";
    const TITLE: &'static str = "Run code that calls tools";
    const ABOUT: &'static str = "Run TypeScript that calls tools: import { tool, $call } from \"mcp-clients/<server>\"; \
        top-level await and return, Promise.all, console.log";
    const HINTS: docent_tool::Hints = docent_tool::Hints {
        read_only: false,
        destructive: true,
        idempotent: false,
        open_world: true,
    };
    type Args = Args;
    type Answer = Done;

    async fn call(&self, args: Args, context: &CallContext) -> Result<Answer<Done>, ToolError> {
        let hub = self.0.hub()?;
        let mut clients = Vec::new();
        let mut known = HashMap::new();
        let all: Vec<String> =
            hub.servers().iter().map(|server| server.name().to_owned()).collect();
        let chosen = if args.allowed.is_empty() { &all } else { &args.allowed };
        for name in chosen {
            let server = match self.0.server(("allowedMcpIds", name), context).await {
                Ok(server) => server,
                // Of all servers, those that this client may use.
                Err(_) if args.allowed.is_empty() => continue,
                Err(error) => return Err(error),
            };
            known.insert(name.clone(), server.known());
            clients.push(client(&server, context));
        }
        let limits = lower(&hub.settings().script, &args.limits);
        run(&hub, &args.code, (&clients, known), &limits, context).await
    }
}

fn lower(most: &Limits, asked: &Bounds) -> Limits {
    let time = asked.time_ms.map_or(most.time, Duration::from_millis);
    Limits {
        time: time.min(most.time),
        memory_bytes: asked.memory_bytes.unwrap_or(most.memory_bytes).min(most.memory_bytes),
        calls: asked.calls.unwrap_or(most.calls).min(most.calls),
        output_bytes: asked.output_bytes.unwrap_or(most.output_bytes).min(most.output_bytes),
        ..*most
    }
}

async fn run(
    hub: &Arc<Hub>,
    code: &str,
    (clients, known): (&[Client], HashMap<String, Arc<Known>>),
    limits: &Limits,
    context: &CallContext,
) -> Result<Answer<Done>, ToolError> {
    let caller = Arc::new(Calls { hub: Arc::downgrade(hub), context: context.clone(), known });
    let cancel = context.cancel_token().child_token();
    let _ended = cancel.clone().drop_guard();
    let ran = docent_script::run(code, clients, caller, limits, cancel)
        .await
        .map_err(|error| ToolError::failed(failure(&error, limits)))?;
    let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let done = Done {
        console: ran.console.iter().map(printed).collect(),
        calls: ran
            .calls
            .iter()
            .map(|call| Made {
                server: call.server.clone(),
                tool: call.tool.clone(),
                milliseconds: call.ms,
                ok: call.ok,
            })
            .collect(),
        truncated: ran.truncated,
        milliseconds: milliseconds(ran.elapsed),
        value: ran.value,
    };
    let mut text = match &done.value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    if !done.console.is_empty() {
        write!(text, "\n\nconsole:\n{}", done.console.join("\n")).unwrap_or_default();
    }
    if done.truncated {
        text.push_str(&cut(limits));
    }
    Ok(Answer::new(done, text))
}

/// Why a script failed, and what it had done by then.
fn failure(error: &ScriptError, limits: &Limits) -> String {
    let told = error.to_string();
    // That it is an error is said by whoever shows it.
    let mut message = told.strip_prefix("Error: ").unwrap_or(&told).to_owned();
    let printed: Vec<String> = error.console.iter().map(printed).collect();
    if !printed.is_empty() {
        // Writing to a string can't fail.
        write!(message, "\nconsole:\n{}", printed.join("\n")).unwrap_or_default();
    }
    if error.truncated {
        message.push_str(&cut(limits));
    }
    match error.calls.len() {
        0 => {}
        1 => message.push_str("\n1 call had been made"),
        many => write!(message, "\n{many} calls had been made").unwrap_or_default(),
    }
    message
}

fn cut(limits: &Limits) -> String {
    format!("\n(cut at {} bytes)", limits.output_bytes)
}

/// Makes the calls of a script.
struct Calls {
    hub: Weak<Hub>,
    context: CallContext,
    /// What each server offers that may be called.
    known: HashMap<String, Arc<Known>>,
}

impl Caller for Calls {
    fn call<'a>(
        &'a self,
        server: &'a str,
        tool: &'a str,
        arguments: Object,
    ) -> BoxFuture<'a, Result<Value, CallError>> {
        async move {
            let Some(found) = self.known.get(server).and_then(|known| known.tool(tool)) else {
                return Err(CallError::new(format!("the server `{server}` has no tool `{tool}`")));
            };
            match self.context.call((server, &found.public), arguments).await {
                Ok(outcome) => Ok(result(outcome)),
                Err(ToolError::Refused { code, message, data }) => {
                    Err(CallError { message, code: Some(code.into()), data })
                }
                Err(ToolError::NeedsInput(needed)) => {
                    if let (Some(hub), Some(state)) = (self.hub.upgrade(), needed.state)
                        && let Some(server) = hub.server(server)
                    {
                        server.give_up(&state);
                    }
                    Err(CallError::new(format!(
                    "`{server}` wants to ask the person at the client, which a script can't wait for: use call_mcp_tool"
                    )))
                }
                Err(error) => Err(CallError::new(error.to_string())),
            }
        }
        .boxed()
    }
}

/// An outcome as the protocol has it.
fn result(outcome: Outcome) -> Value {
    let block = |block: Block| match block {
        Block::Raw(value) => value,
        Block::Text { text, .. } => json!({"type": "text", "text": text}),
        Block::Image { data, mime } => json!({"type": "image", "data": data, "mimeType": mime}),
        Block::Audio { data, mime } => json!({"type": "audio", "data": data, "mimeType": mime}),
        Block::Link(info) => json!({"type": "resource_link", "uri": info.uri, "name": info.name}),
        Block::Embedded(_) => json!({"type": "text", "text": "(an embedded resource)"}),
    };
    let content: Vec<Value> = outcome.content.into_iter().map(block).collect();
    let mut result = json!({"content": content, "isError": outcome.is_error});
    if let Some(structured) = outcome.structured {
        result["structuredContent"] = structured;
    }
    result
}

fn printed(line: &docent_script::ConsoleLine) -> String {
    let level = json!(line.level);
    format!("{}: {}", level.as_str().unwrap_or("log"), line.text)
}
