//! Calls a tool of a server by the names that discovery returned.

use super::HubHandle;
use docent_tool::{
    AnyTool, BoxedFuture, CallContext, Object, ToolError, ToolInfo, ToolOutcome, argument_schema,
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::{sync::Arc, time::Duration};

/// The inner call has its own timeout.
const MAX_CALL_TIME: Duration = Duration::from_hours(2);

/// Characters of a name that are compared for a suggestion.
const MAX_COMPARED_CHARS: usize = 200;

pub(super) struct CallServerTool(pub(super) HubHandle);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    server: String,
    tool: String,
    #[serde(default)]
    arguments: Object,
}

impl AnyTool for CallServerTool {
    fn name(&self) -> &'static str {
        "call_mcp_tool"
    }

    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: self.name().into(),
            title: Some("Call a server's tool".into()),
            description: "Call a tool of a server".into(),
            input_schema: Arc::new(argument_schema::<Args>()),
            timeout: Some(MAX_CALL_TIME),
            ..ToolInfo::default()
        }
    }

    fn call<'a>(
        &'a self,
        args: Object,
        context: &'a CallContext,
    ) -> BoxedFuture<'a, Result<ToolOutcome, ToolError>> {
        Box::pin(async move {
            let args: Args = serde_json::from_value(args.into())
                .map_err(|error| ToolError::argument("arguments", error.to_string()))?;
            let server = self.0.server("server", &args.server, context).await?;
            let known = server.known();
            let Some(tool) = known.tool(&args.tool) else {
                let usable =
                    known.tools.iter().filter(|tool| super::may_use(&server, tool, context));
                let names: Vec<&str> = usable.map(|tool| tool.discovery_name.as_str()).collect();
                // Comparing two names costs the product of their lengths.
                let asked: String = args.tool.chars().take(MAX_COMPARED_CHARS).collect();
                let nearest = names.iter().max_by(|left, right| {
                    let near = |name: &str| strsim::jaro_winkler(name, &asked);
                    near(left).total_cmp(&near(right))
                });
                let hint =
                    nearest.map(|name| format!("; did you mean {name}?")).unwrap_or_default();
                let problem = format!("`{}` has no tool {:?}{hint}", args.server, args.tool);
                return Err(ToolError::argument("tool", problem));
            };
            context.call(server.name(), &tool.public, args.arguments).await.map_err(|error| {
                match error {
                    ToolError::Argument { field, problem } => {
                        ToolError::argument(format!("arguments.{field}"), problem)
                    }
                    other => other,
                }
            })
        })
    }
}
