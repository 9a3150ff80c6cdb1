//! Tools of the tasks extension: calls that outlive their request.

use super::{
    asks::{ask_until_answered, field, form, gather, name_form},
    literal::{LiteralCallResult, bare, text, typed},
};
use docent_server::TASK_KEY;
use docent_tool::{
    AnyTool, BoxedFuture, CallContext, CallStop, ClientQuery, Object, ToolError, ToolInfo,
    ToolOutcome,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// Longer than a server waits before it turns a call into a task.
const TASK_DURATION: Duration = Duration::from_secs(3);

/// Arguments of `greet`.
#[derive(Debug, Deserialize, JsonSchema)]
struct Greet {
    /// Whom.
    name: String,
}

/// Arguments of `slow_compute`.
#[derive(Debug, Deserialize, JsonSchema)]
struct SlowCompute {
    /// How long it takes.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 3600.0))]
    seconds: f64,
    /// Comes back in the answer.
    #[serde(default)]
    label: String,
}

/// Arguments of `confirm_delete`.
#[derive(Debug, Deserialize, JsonSchema)]
struct ConfirmDelete {
    /// What would be deleted. Nothing is.
    #[serde(default)]
    filename: String,
}

pub(super) fn tools() -> Vec<Arc<dyn AnyTool>> {
    let greet = |args: Greet, _| async move { Ok(text(format!("Hello, {}!", args.name))) };
    vec![
        task_tool("never", typed("greet", "Greets at once, never as a task", greet)),
        task_tool("always", typed("slow_compute", "Takes its time", slow_compute)),
        task_tool(
            "required",
            bare("failing_job", "Fails after a second; only as a task", failing_job),
        ),
        task_tool("always", bare("protocol_error_job", "Breaks down", break_down)),
        task_tool("always", typed("confirm_delete", "Asks before it goes on", confirm_delete)),
        task_tool("always", bare("multi_input", "Asks two things at once", multi_input)),
        // No task support declared: the question must come before the task.
        bare("test_tool_with_task", "Asks for a name, then takes long", ask_then_take_long),
    ]
}

/// A tool that declares when its calls become tasks, for clients with task support.
struct Tasked {
    tool: Arc<dyn AnyTool>,
    when: &'static str,
}

fn task_tool(when: &'static str, tool: Arc<dyn AnyTool>) -> Arc<dyn AnyTool> {
    Arc::new(Tasked { tool, when })
}

impl AnyTool for Tasked {
    fn name(&self) -> &str {
        self.tool.name()
    }

    fn info(&self) -> ToolInfo {
        let meta = Object::from_iter([(TASK_KEY.to_owned(), self.when.into())]);
        ToolInfo { meta: Some(meta), ..self.tool.info() }
    }

    fn call<'a>(
        &'a self,
        args: Object,
        context: &'a CallContext,
    ) -> BoxedFuture<'a, LiteralCallResult> {
        self.tool.call(args, context)
    }
}

async fn slow_compute(args: SlowCompute, context: CallContext) -> LiteralCallResult {
    tokio::select! {
        () = tokio::time::sleep(Duration::from_secs_f64(args.seconds)) => {
            Ok(text(format!("slow_compute({}) done after {} s", args.label, args.seconds)))
        }
        CallStop::Cancelled = context.stopped() => Err(ToolError::Stopped(CallStop::Cancelled)),
    }
}

async fn failing_job(context: CallContext) -> LiteralCallResult {
    tokio::select! {
        () = tokio::time::sleep(Duration::from_secs(1)) => {
            Ok(ToolOutcome { is_error: true, ..text("failing_job failed, as it always does") })
        }
        CallStop::Cancelled = context.stopped() => Err(ToolError::Stopped(CallStop::Cancelled)),
    }
}

async fn break_down(_: CallContext) -> LiteralCallResult {
    tokio::time::sleep(Duration::from_millis(200)).await;
    Err(ToolError::Bug("protocol_error_job broke down, as it always does".into()))
}

async fn confirm_delete(args: ConfirmDelete, context: CallContext) -> LiteralCallResult {
    let question = ClientQuery::Elicit(json!({
        "message": format!("Delete {}?", args.filename),
        "requestedSchema": {"type": "object", "properties": {"confirm": {"type": "boolean"}}, "required": ["confirm"]}
    }));
    let answer = ask_until_answered(&context, "confirm", question).await?;
    let confirmed = answer.pointer("/content/confirm").and_then(Value::as_bool).unwrap_or(false);
    Ok(text(format!("confirm_delete({}): confirmed = {confirmed}", args.filename)))
}

async fn multi_input(context: CallContext) -> LiteralCallResult {
    let questions = vec![
        ("input-a", form("Provide value A", "value")),
        ("input-b", form("Provide value B", "value")),
    ];
    let values = gather(&context, questions).await?.all()?;
    let values: Vec<_> = values.iter().map(|answer| field(answer, "value")).collect();
    Ok(text(format!("multi_input: {}", values.join(", "))))
}

async fn ask_then_take_long(context: CallContext) -> LiteralCallResult {
    let answer = ask_until_answered(&context, "user_name", name_form()).await?;
    tokio::time::sleep(TASK_DURATION).await;
    Ok(text(format!("Hello, {}! (async)", field(&answer, "name"))))
}
