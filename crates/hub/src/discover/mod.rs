//! Four tools in place of hundreds: find a capability, describe it, call it, or run a script that calls several.

mod call_tool;
mod code;
mod find;
mod parked;

pub(crate) use parked::ParkedScripts;

use crate::{
    DownstreamServer, Hub,
    server::{ServerCatalog, ToolDefinition},
};
use docent_script::{ScriptClient, ToolDoc};
use docent_tool::{
    AnyTool, BoxedFuture, CallContext, Contents, Object, ResourceInfo, ResourceReading, ToolError,
    ToolInfo, ToolOutcome, erase,
};
use serde_json::Value;
use std::sync::{Arc, Weak};

/// URI prefix of the TypeScript declarations of each server.
const TYPES_URI_PREFIX: &str = "docent://mcp-clients/";

/// Creates the four discovery tools.
pub(crate) struct DiscoveryTools;

impl DiscoveryTools {
    pub(crate) fn tools(hub: &Arc<Hub>, hidden: bool) -> Vec<Arc<dyn AnyTool>> {
        let weak = || HubHandle(Arc::downgrade(hub));
        let all: [Arc<dyn AnyTool>; 4] = [
            erase(find::ListCapabilitiesTool(weak())),
            erase(find::DescribeServerTool(weak())),
            Arc::new(call_tool::CallServerTool(weak())),
            erase(code::ExecuteCodeTool(weak())),
        ];
        all.into_iter()
            .map(|tool| Arc::new(DiscoveryTool { tool, hidden }) as Arc<dyn AnyTool>)
            .collect()
    }
}

/// A discovery tool, listed or hidden.
struct DiscoveryTool {
    tool: Arc<dyn AnyTool>,
    hidden: bool,
}

impl AnyTool for DiscoveryTool {
    fn name(&self) -> &str {
        self.tool.name()
    }

    fn info(&self) -> ToolInfo {
        // Every request includes these, so they are kept short.
        ToolInfo {
            hidden: self.hidden,
            title: None,
            output_schema: None,
            hints: None,
            ..self.tool.info()
        }
    }

    fn call<'a>(
        &'a self,
        args: Object,
        context: &'a CallContext,
    ) -> BoxedFuture<'a, Result<ToolOutcome, ToolError>> {
        self.tool.call(args, context)
    }
}

/// A weak reference to the hub, for tools that it owns.
struct HubHandle(Weak<Hub>);

impl HubHandle {
    fn hub(&self) -> Result<Arc<Hub>, ToolError> {
        self.0.upgrade().ok_or_else(|| ToolError::failed("docent is shutting down"))
    }

    /// Finds the server that an argument names, and waits until its tools are known.
    async fn server(
        &self,
        argument: &'static str,
        name: &str,
        context: &CallContext,
    ) -> Result<Arc<DownstreamServer>, ToolError> {
        let hub = self.hub()?;
        if let Some(server) = hub.server(name) {
            server.wait_until_known(hub.settings().patience).await;
            if is_seen(&server, context) {
                return Ok(server);
            }
        }
        let names: Vec<String> = hub
            .servers()
            .iter()
            .filter(|server| server.spec().about.visibility.is_none() && is_seen(server, context))
            .map(|server| server.name().to_owned())
            .collect();
        let problem = format!("no server named {name:?} is available to you; available: {names:?}");
        Err(ToolError::argument(argument, problem))
    }
}

/// Whether the client may use any tool of a server.
fn is_seen(server: &DownstreamServer, context: &CallContext) -> bool {
    server.known().tools.iter().any(|tool| may_use(server, tool, context))
}

fn may_use(server: &DownstreamServer, tool: &ToolDefinition, context: &CallContext) -> bool {
    context.may_use(server.name(), &tool.public)
}

/// Builds the module that scripts import for a server, with the tools that this client may use.
fn script_client(server: &DownstreamServer, context: &CallContext) -> ScriptClient {
    let known = server.known();
    let doc = |tool: &Arc<ToolDefinition>| ToolDoc {
        name: tool.discovery_name.clone(),
        about: tool.about(server.spec()).map(|text| docent_screen::visible(text).into_owned()),
        input_schema: tool.fields.get("inputSchema").cloned().unwrap_or_default(),
        output_schema: tool.fields.get("outputSchema").cloned(),
    };
    let usable = known.tools.iter().filter(|tool| !tool.changed && may_use(server, tool, context));
    ScriptClient {
        id: server.name().to_owned(),
        about: server_description(server, &known),
        tools: usable.map(doc).collect(),
    }
}

/// Describes a server: the configured description, or its own.
fn server_description(server: &DownstreamServer, known: &ServerCatalog) -> Option<String> {
    let own = server.spec().about.description.clone();
    let instructions = || known.remembered.instructions.clone();
    let titled =
        || known.remembered.info.get("description").and_then(Value::as_str).map(str::to_owned);
    own.or_else(titled).or_else(instructions).map(|text| docent_screen::visible(&text).into_owned())
}

/// Lists the TypeScript declarations of every server as resources.
pub(crate) fn resources(hub: &Hub) -> Vec<ResourceInfo> {
    let info = |name: &str| ResourceInfo {
        uri: format!("{TYPES_URI_PREFIX}{name}.d.ts"),
        name: format!("{name}.d.ts"),
        title: Some(format!("TypeScript types of mcp-clients/{name}")),
        mime: Some("text/typescript".into()),
        ..ResourceInfo::default()
    };
    let all = hub.servers();
    let shown = all.iter().filter(|server| server.spec().about.visibility.is_none());
    shown.map(|server| info(server.name())).collect()
}

pub(crate) fn read(
    hub: &Hub,
    uri: &str,
    context: &CallContext,
) -> Option<Result<ResourceReading, ToolError>> {
    let name = uri.strip_prefix(TYPES_URI_PREFIX)?.strip_suffix(".d.ts")?;
    let Some(server) = hub.server(name).filter(|server| is_seen(server, context)) else {
        let message = format!("no server named {name:?} is available to you");
        return Some(Err(ToolError::not_found(message)));
    };
    let text = docent_script::declarations(&script_client(&server, context));
    let mime = Some("text/typescript".into());
    Some(Ok(vec![Contents::Text { uri: uri.into(), mime, text }].into()))
}
