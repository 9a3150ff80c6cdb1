//! Finds a capability among all servers and describes it.

use super::{HubHandle, server_description};
use crate::{DiscoveryVisibility, DownstreamServer, Hub, server::ToolDefinition};
use docent_index::{Shortlist, ShortlistItem, embed::EmbeddingTable};
use docent_tool::{CallContext, ToolAnswer, ToolError, TypedTool};
use futures::future::join_all;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{fmt::Write as _, sync::Arc};

/// Tools listed in one answer by default.
const DEFAULT_TOOL_LIMIT: usize = 20;
/// Characters of a description that a list shows.
const MAX_DESCRIPTION_CHARS: usize = 160;

pub(super) struct ListCapabilitiesTool(pub(super) HubHandle);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListArgs {
    /// What you want to do; omit to list every server
    #[serde(default)]
    query: Option<String>,
    #[serde(default)]
    #[schemars(range(min = 1))]
    limit: Option<usize>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Capabilities {
    /// Servers with matching tools, best match first.
    servers: Vec<Capability>,
}

#[derive(Serialize, JsonSchema)]
struct Capability {
    /// Name for `describe_mcp` and `call_mcp_tool`.
    id: String,
    /// Its description.
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<String>,
    /// Tags from its configuration.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    /// Example requests.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    examples: Vec<String>,
    /// Sensitivity of its data, if configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    sensitivity: Option<String>,
    /// Number of its tools.
    tool_count: usize,
    /// The matching tools.
    tools: Vec<Brief>,
}

#[derive(Serialize, JsonSchema)]
struct Brief {
    /// Its name on its server.
    name: String,
    /// Short description.
    about: String,
}

/// A tool or a server that can be found.
struct CapabilityEntry {
    server: Arc<DownstreamServer>,
    tool: Option<Brief>,
}

impl TypedTool for ListCapabilitiesTool {
    const NAME: &'static str = "list_mcp_capabilities";
    const TITLE: &'static str = "Find capabilities";
    const DESCRIPTION: &'static str = "Find tools of connected MCP servers by what you want to do";
    type Args = ListArgs;
    type Answer = Capabilities;

    async fn call(
        &self,
        args: ListArgs,
        context: &CallContext,
    ) -> Result<ToolAnswer<Capabilities>, ToolError> {
        let hub = self.0.hub()?;
        join_all(
            hub.servers().iter().map(|server| server.wait_until_known(hub.settings().patience)),
        )
        .await;
        let query = args.query.as_deref().map(str::trim).filter(|query| !query.is_empty());
        let entries = entries(&hub, query.unwrap_or_default(), context);
        let most = args.limit.unwrap_or(DEFAULT_TOOL_LIMIT).clamp(1, 100);
        let servers = match query {
            Some(query) => search_entries(entries, query, most, context),
            None => all_servers(&entries, context),
        };
        let text = format_servers(&servers, args.query.as_deref());
        Ok(ToolAnswer::new(Capabilities { servers }, text))
    }
}

fn entries(hub: &Hub, query: &str, context: &CallContext) -> Vec<CapabilityEntry> {
    let mut all = Vec::new();
    for server in hub.servers() {
        let known = server.known();
        if !super::is_seen(&server, context) || !is_shown_for_query(&server, query) {
            continue;
        }
        all.push(CapabilityEntry { server: Arc::clone(&server), tool: None });
        for tool in known.tools.iter().filter(|tool| super::may_use(&server, tool, context)) {
            let about = tool.about(server.spec()).unwrap_or_default();
            let brief =
                Brief { name: tool.discovery_name.clone(), about: shorten_description(about) };
            all.push(CapabilityEntry { server: Arc::clone(&server), tool: Some(brief) });
        }
    }
    all
}

/// Whether a query shows a server. Some are shown only when they are named.
fn is_shown_for_query(server: &DownstreamServer, query: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect()
    };
    let (asked, name) = (words(query), words(server.name()));
    let is_named = !name.is_empty() && asked.windows(name.len()).any(|some| some == name);
    match server.spec().about.visibility {
        None => true,
        Some(DiscoveryVisibility::OptIn) => is_named,
        Some(DiscoveryVisibility::Experimental) => {
            is_named || asked.iter().any(|word| word == "experimental")
        }
    }
}

fn shorten_description(text: &str) -> String {
    let first = text.trim().split("\n\n").next().unwrap_or_default();
    let line = first.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = docent_screen::visible(&line).into_owned();
    if line.chars().count() <= MAX_DESCRIPTION_CHARS {
        return line;
    }
    let cut: String = line.chars().take(MAX_DESCRIPTION_CHARS).collect();
    format!("{cut}…")
}

fn search_item(entry: &CapabilityEntry) -> ShortlistItem {
    let about = &entry.server.spec().about;
    let name = entry.server.name();
    match &entry.tool {
        Some(tool) => ShortlistItem {
            name: format!("{} {name}", tool.name),
            text: format!("{} {} {}", tool.about, about.tags.join(" "), about.domains.join(" ")),
        },
        None => ShortlistItem {
            name: format!("{name} {}", about.title.clone().unwrap_or_default()),
            text: [
                about.description.clone().unwrap_or_default(),
                about.tags.join(" "),
                about.domains.join(" "),
                about.examples.join(" "),
            ]
            .join(" "),
        },
    }
}

/// Finds matching tools, grouped by server, the server with the best hit first.
fn search_entries(
    entries: Vec<CapabilityEntry>,
    query: &str,
    most: usize,
    context: &CallContext,
) -> Vec<Capability> {
    let items: Vec<ShortlistItem> = entries.iter().map(search_item).collect();
    let mut hits = Shortlist::new(EmbeddingTable::built_in(), &items).search(query, most);
    // Among equal scores, the server with the higher configured priority comes first.
    let priority =
        |place: usize| entries.get(place).map_or(0, |entry| entry.server.spec().about.priority);
    hits.sort_by(|left, right| {
        right.1.total_cmp(&left.1).then(priority(right.0).cmp(&priority(left.0)))
    });
    let mut entries: Vec<Option<CapabilityEntry>> = entries.into_iter().map(Some).collect();
    let mut servers: Vec<Capability> = Vec::new();
    for (place, _) in hits {
        let Some(entry) = entries.get_mut(place).and_then(Option::take) else { continue };
        let place = servers.iter().position(|known| known.id == entry.server.name());
        let at = place.unwrap_or_else(|| {
            servers.push(capability(&entry.server, context));
            servers.len() - 1
        });
        if let (Some(server), Some(tool)) = (servers.get_mut(at), entry.tool) {
            server.tools.push(tool);
        }
    }
    servers
}

fn all_servers(entries: &[CapabilityEntry], context: &CallContext) -> Vec<Capability> {
    let servers = entries.iter().filter(|entry| entry.tool.is_none());
    let mut all: Vec<_> = servers
        .map(|entry| (entry.server.spec().about.priority, capability(&entry.server, context)))
        .collect();
    all.sort_by_key(|(priority, _)| std::cmp::Reverse(*priority));
    all.into_iter().map(|(_, server)| server).collect()
}

fn capability(server: &DownstreamServer, context: &CallContext) -> Capability {
    let known = server.known();
    let spec = &server.spec().about;
    Capability {
        id: server.name().to_owned(),
        about: server_description(server, &known).map(|text| shorten_description(&text)),
        tags: spec.tags.clone(),
        examples: spec.examples.clone(),
        sensitivity: spec.sensitivity.clone(),
        tool_count: known.tools.iter().filter(|tool| super::may_use(server, tool, context)).count(),
        tools: Vec::new(),
    }
}

fn format_servers(servers: &[Capability], query: Option<&str>) -> String {
    if servers.is_empty() {
        return match query {
            Some(query) => {
                format!("No tools match {query:?}. Omit the query to list every server.")
            }
            None => "No MCP servers are configured.".into(),
        };
    }
    let mut text = String::new();
    for server in servers {
        let about = server.about.as_deref().unwrap_or("");
        let dash = if about.is_empty() { "" } else { ": " };
        // Writing to a string can't fail.
        writeln!(text, "{}{dash}{about} ({} tools)", server.id, server.tool_count)
            .unwrap_or_default();
        for tool in &server.tools {
            writeln!(text, "- {}: {}", tool.name, tool.about).unwrap_or_default();
        }
    }
    text
}

pub(super) struct DescribeServerTool(pub(super) HubHandle);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DescribeArgs {
    id: String,
    #[serde(default)]
    tools: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Described {
    /// The server.
    id: String,
    /// Its description.
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<String>,
    /// The server's own instructions.
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
    /// Its tools.
    tools: Vec<Full>,
}

#[derive(Serialize, JsonSchema)]
struct Full {
    /// Its name.
    name: String,
    /// What it does.
    about: String,
    /// JSON Schema of its arguments.
    input_schema: Value,
    /// JSON Schema of its structured result.
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<Value>,
    /// Its annotations.
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<Value>,
}

impl TypedTool for DescribeServerTool {
    const NAME: &'static str = "describe_mcp";
    const TITLE: &'static str = "Describe a server's tools";
    const DESCRIPTION: &'static str = "Show the tools of a server and their arguments";
    type Args = DescribeArgs;
    type Answer = Described;

    async fn call(
        &self,
        args: DescribeArgs,
        context: &CallContext,
    ) -> Result<ToolAnswer<Described>, ToolError> {
        let server = self.0.server("id", &args.id, context).await?;
        let known = server.known();
        let is_usable = |tool: &&Arc<ToolDefinition>| super::may_use(&server, tool, context);
        let mut chosen: Vec<_> = known.tools.iter().filter(is_usable).collect();
        if !args.tools.is_empty() {
            let wanted = |wanted: &String| {
                known.tool(wanted).filter(is_usable).ok_or_else(|| {
                    let names: Vec<_> = chosen.iter().map(|tool| &tool.discovery_name).collect();
                    let problem = format!("`{}` has no tool {wanted:?}; it has {names:?}", args.id);
                    ToolError::argument("tools", problem)
                })
            };
            chosen = args.tools.iter().map(wanted).collect::<Result<_, _>>()?;
        }
        let full = |tool: &Arc<ToolDefinition>| {
            let about = tool.about(server.spec()).unwrap_or_default();
            let mut input_schema = tool.fields.get("inputSchema").cloned().unwrap_or_default();
            docent_screen::visible_json(&mut input_schema);
            Full {
                name: tool.discovery_name.clone(),
                about: docent_screen::visible(about).into_owned(),
                input_schema,
                output_schema: tool.fields.get("outputSchema").cloned(),
                annotations: tool.fields.get("annotations").cloned(),
            }
        };
        let described = Described {
            about: server_description(&server, &known),
            instructions: known
                .remembered
                .instructions
                .clone()
                .map(|text| docent_screen::visible(&text).into_owned()),
            tools: chosen.into_iter().map(full).collect(),
            id: args.id,
        };
        let text =
            serde_json::to_string(&described).map_err(|error| ToolError::Bug(Box::new(error)))?;
        Ok(ToolAnswer::new(described, text))
    }
}
