//! Scripts that call tools. Their calls go through the same checks and audit as a client's own calls.

use super::{
    HubHandle,
    parked::{ParkedScript, ParkedScripts},
    script_client,
};
use crate::{Hub, server::ServerCatalog};
use docent_script::{
    CallError, CallReply, RunStep, ScriptCall, ScriptError, ScriptLimits, ScriptOutcome,
    ScriptRequest, ToolCaller,
};
use docent_tool::{
    AnswerBlock, CallContext, InnerRound, InputNeeded, ToolAnswer, ToolError, ToolOutcome,
    TypedTool,
};
use futures::{FutureExt as _, future::BoxFuture};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    fmt::Write as _,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};
use tokio_util::sync::CancellationToken;

pub(super) struct ExecuteCodeTool(pub(super) HubHandle);

// A misspelled limit must not be ignored.
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
    /// Value that the script returned.
    value: Value,
    /// Lines that it printed.
    console: Vec<String>,
    /// Calls that it made.
    calls: Vec<Made>,
    /// Whether something was too long and was cut.
    truncated: bool,
    /// Run time.
    milliseconds: u64,
}

#[derive(Serialize, JsonSchema)]
struct Made {
    server: String,
    tool: String,
    milliseconds: u64,
    ok: bool,
}

impl TypedTool for ExecuteCodeTool {
    const NAME: &'static str = "execute_mcp_code";
    const TITLE: &'static str = "Run code that calls tools";
    const DESCRIPTION: &'static str = "Run TypeScript that calls tools: import { tool, $call } from \"mcp-clients/<server>\"; \
        top-level await and return, Promise.all, console.log";
    const HINTS: docent_tool::ToolHints = docent_tool::ToolHints {
        read_only: false,
        destructive: true,
        idempotent: false,
        open_world: true,
    };
    type Args = Args;
    type Answer = Done;

    async fn call(&self, args: Args, context: &CallContext) -> Result<ToolAnswer<Done>, ToolError> {
        let hub = self.0.hub()?;
        let script = match hub.parked().resume(context.state().as_deref(), &args.code) {
            Some(parked) => parked?,
            None => self.start(&hub, args, context).await?,
        };
        proceed(hub.parked(), script, context).await
    }
}

impl ExecuteCodeTool {
    /// Starts a script that may call the chosen servers, or all servers that the client may use.
    async fn start(
        &self,
        hub: &Arc<Hub>,
        args: Args,
        context: &CallContext,
    ) -> Result<ParkedScript, ToolError> {
        let mut clients = Vec::new();
        let mut known = HashMap::new();
        let all: Vec<String> =
            hub.servers().iter().map(|server| server.name().to_owned()).collect();
        let chosen = if args.allowed.is_empty() { &all } else { &args.allowed };
        for name in chosen {
            let server = match self.0.server("allowedMcpIds", name, context).await {
                Ok(server) => server,
                // Without a list, servers that this client may not use are skipped.
                Err(_) if args.allowed.is_empty() => continue,
                Err(error) => return Err(error),
            };
            known.insert(name.clone(), server.known());
            clients.push(script_client(&server, context));
        }
        let settings = hub.settings();
        let limits = lower(&settings.script, &args.limits);
        let workers = settings.workers.as_ref().ok_or_else(|| {
            ToolError::failed("scripts are not available here; call the tools one by one")
        })?;
        let script = ScriptRequest {
            code: &args.code,
            clients: &clients,
            limits: &limits,
            owner: context.client_key(),
        };
        let run = workers
            .start(&script, context.cancel_token())
            .await
            .map_err(|error| ToolError::failed(script_failure_message(&error, &limits)))?;
        let pending =
            SuspendedScriptCalls { hub: Arc::downgrade(hub), known, needed: Mutex::default() };
        let pending = Arc::new(pending);
        let client = context.client_key().to_owned();
        Ok(ParkedScript { client, code: args.code, limits, run, pending })
    }
}

fn lower(most: &ScriptLimits, asked: &Bounds) -> ScriptLimits {
    let time = asked.time_ms.map_or(most.time, Duration::from_millis);
    ScriptLimits {
        time: time.min(most.time),
        memory_bytes: asked.memory_bytes.unwrap_or(most.memory_bytes).min(most.memory_bytes),
        calls: asked.calls.unwrap_or(most.calls).min(most.calls),
        output_bytes: asked.output_bytes.unwrap_or(most.output_bytes).min(most.output_bytes),
        ..*most
    }
}

/// Runs a script until it ends or its client has to answer a question.
async fn proceed(
    parked: &ParkedScripts,
    mut script: ParkedScript,
    context: &CallContext,
) -> Result<ToolAnswer<Done>, ToolError> {
    let limits = script.limits;
    let calls = HubScriptCaller { pending: Arc::clone(&script.pending), context: context.clone() };
    let calls: Arc<dyn ToolCaller> = Arc::new(calls);
    match script.run.next(&calls, context.cancel_token()).await {
        RunStep::Ended(Ok(ran)) => Ok(answer(ran, &limits)),
        RunStep::Ended(Err(error)) => {
            Err(ToolError::failed(script_failure_message(&error, &limits)))
        }
        RunStep::Suspended => {
            let asks = script.pending.asks();
            let state = Some(parked.park(script)?);
            Err(ToolError::NeedsInput(InputNeeded { asks, state }))
        }
    }
}

fn answer(ran: ScriptOutcome, limits: &ScriptLimits) -> ToolAnswer<Done> {
    let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let done = Done {
        console: ran.console.iter().map(format_console_line).collect(),
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
        text.push_str(&truncation_notice(limits));
    }
    ToolAnswer::new(done, text)
}

/// Describes why a script failed and what it had done by then.
fn script_failure_message(error: &ScriptError, limits: &ScriptLimits) -> String {
    let text = error.to_string();
    // The caller marks it as an error.
    let mut message = text.strip_prefix("Error: ").unwrap_or(&text).to_owned();
    let printed: Vec<String> = error.console.iter().map(format_console_line).collect();
    if !printed.is_empty() {
        // Writing to a string can't fail.
        write!(message, "\nconsole:\n{}", printed.join("\n")).unwrap_or_default();
    }
    if error.truncated {
        message.push_str(&truncation_notice(limits));
    }
    match error.calls.len() {
        0 => {}
        1 => message.push_str("\n1 call had been made"),
        many => write!(message, "\n{many} calls had been made").unwrap_or_default(),
    }
    message
}

fn truncation_notice(limits: &ScriptLimits) -> String {
    format!("\n(cut at {} bytes)", limits.output_bytes)
}

/// State that a script keeps from one round of questions to the next.
pub(super) struct SuspendedScriptCalls {
    hub: Weak<Hub>,
    /// The callable tools of each server.
    known: HashMap<String, Arc<ServerCatalog>>,
    /// The calls that wait for the client, by number: their server, their questions and their own state.
    needed: Mutex<BTreeMap<usize, (String, InputNeeded)>>,
}

impl SuspendedScriptCalls {
    /// All questions for the client.
    fn asks(&self) -> Vec<(String, docent_tool::ClientQuery)> {
        let needed = self.needed.lock().unwrap_or_else(PoisonError::into_inner);
        needed.values().flat_map(|(_, needed)| needed.asks.clone()).collect()
    }

    fn take(&self, number: usize) -> Option<(String, InputNeeded)> {
        self.needed.lock().unwrap_or_else(PoisonError::into_inner).remove(&number)
    }

    fn put(&self, number: usize, server: String, needed: InputNeeded) {
        let mut all = self.needed.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(number, (server, needed));
    }
}

impl Drop for SuspendedScriptCalls {
    /// Cancels the waiting calls at their servers when the client does not come back.
    fn drop(&mut self) {
        let Some(hub) = self.hub.upgrade() else { return };
        let needed = self.needed.get_mut().unwrap_or_else(PoisonError::into_inner);
        for (server, needed) in std::mem::take(needed).into_values() {
            if let (Some(server), Some(state)) = (hub.server(&server), needed.state) {
                server.abandon_parked(&state);
            }
        }
    }
}

/// Makes the calls of a script, for one request of its client.
struct HubScriptCaller {
    pending: Arc<SuspendedScriptCalls>,
    context: CallContext,
}

impl ToolCaller for HubScriptCaller {
    fn call(&self, call: ScriptCall) -> BoxFuture<'_, CallReply> {
        async move {
            let ScriptCall { number, server, tool, arguments } = call;
            let known = self.pending.known.get(&server);
            let Some(found) = known.and_then(|known| known.tool(&tool)) else {
                let problem = format!("the server `{server}` has no tool `{tool}`");
                return CallReply::Failed(CallError::new(problem));
            };
            let state = self.pending.take(number).and_then(|(_, needed)| needed.state);
            // Cancelling a script drops its calls.
            let cancel = Some(CancellationToken::new());
            let round = InnerRound { nth: Some(number), state, cancel };
            let called = self.context.call_in_round(&server, &found.public, arguments, round);
            match called.await {
                Ok(outcome) => CallReply::Result(result(outcome)),
                Err(ToolError::Refused { code, message, data }) => {
                    CallReply::Failed(CallError { message, code: Some(code.into()), data })
                }
                Err(ToolError::NeedsInput(needed)) => {
                    self.pending.put(number, server, needed);
                    CallReply::Suspended
                }
                Err(error) => CallReply::Failed(CallError::new(error.to_string())),
            }
        }
        .boxed()
    }

    fn waited(&self) -> Duration {
        self.context.waited()
    }
}

/// Converts an outcome to the protocol's form.
fn result(outcome: ToolOutcome) -> Value {
    let block = |block: AnswerBlock| match block {
        AnswerBlock::Raw(value) => value,
        AnswerBlock::Text { text, .. } => json!({"type": "text", "text": text}),
        AnswerBlock::Image { data, mime } => {
            json!({"type": "image", "data": data, "mimeType": mime})
        }
        AnswerBlock::Audio { data, mime } => {
            json!({"type": "audio", "data": data, "mimeType": mime})
        }
        AnswerBlock::Link(info) => {
            json!({"type": "resource_link", "uri": info.uri, "name": info.name})
        }
        AnswerBlock::Embedded(_) => json!({"type": "text", "text": "(an embedded resource)"}),
    };
    let content: Vec<Value> = outcome.content.into_iter().map(block).collect();
    let mut result = json!({"content": content, "isError": outcome.is_error});
    if let Some(structured) = outcome.structured {
        result["structuredContent"] = structured;
    }
    result
}

fn format_console_line(line: &docent_script::ConsoleLine) -> String {
    let level = json!(line.level);
    format!("{}: {}", level.as_str().unwrap_or("log"), line.text)
}
