//! A client for the protocol's conformance suite: `conformance client --command …/conformance_client`. The suite starts
//! it with the URL of a server, and names the scenario in the environment. It is a hub with that one server: handshake,
//! lists, calls and answers to the server's questions are docent's own. It adds a person who agrees to everything.
#![expect(clippy::print_stderr, reason = "the suite keeps what a client says there")]

use docent_dial::{
    ClientTransport, HttpSettings, Running, TransportFailure, TransportListener,
    headers::FIRST_STATELESS_REVISION,
    oauth::{Browser, MemoryTokenStore, OauthClient, OauthSettings, OauthSignIn, SigningAlgorithm},
    open_detecting,
};
use docent_hub::{
    CatalogExposure, Dialer, Hub, HubSettings, ProtocolMode, ServerSpec, ServerState,
    ServerStateStore, ServerTransport, StderrTail, StoredServerState,
};
use docent_tool::{
    AnswerBlock, AnyTool, CallClient, CallContext, ClientQuery, Object, Progress, SyslogLevel,
    ToolError, ToolProvider,
};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, process::ExitCode, sync::Arc, time::Duration};
use tokio::{runtime::Handle, time::timeout};
use tokio_util::sync::CancellationToken;

/// The suite ends a client after 30 s.
const SCENARIO_TIMEOUT: Duration = Duration::from_secs(25);
const CLIENT_METADATA_URL: &str = "https://conformance-test.local/client-metadata.json";
const SESSION_REVISION: &str = "2025-11-25";
/// The server's name.
const SERVER_NAME: &str = "suite";

#[tokio::main]
async fn main() -> ExitCode {
    let scenario = variable("MCP_CONFORMANCE_SCENARIO").unwrap_or_else(|| "initialize".into());
    let Some(url) = std::env::args().next_back().filter(|url| url.starts_with("http")) else {
        eprintln!("the last argument must be the URL of the server");
        return ExitCode::from(2);
    };
    let context: Value = variable("MCP_CONFORMANCE_CONTEXT")
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    let version =
        variable("MCP_CONFORMANCE_PROTOCOL_VERSION").unwrap_or_else(|| SESSION_REVISION.into());
    match timeout(SCENARIO_TIMEOUT, run(&url, &context, &version)).await {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(why)) => {
            eprintln!("{scenario}: {why}");
            ExitCode::FAILURE
        }
        Err(_) => {
            eprintln!("{scenario}: not done within {SCENARIO_TIMEOUT:?}");
            ExitCode::FAILURE
        }
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var_os(name)?.into_string().ok()
}

/// Connects, and asks for everything that the server offers: the calls that the scenario names, or one of each tool.
async fn run(url: &str, context: &Value, version: &str) -> Result<(), String> {
    let way = ServerTransport::Remote { url: url.to_owned(), sse: None, headers: BTreeMap::new() };
    let spec = ServerSpec {
        timeout: SCENARIO_TIMEOUT,
        start_timeout: SCENARIO_TIMEOUT,
        ..ServerSpec::new(SERVER_NAME, way)
    };
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let memory = ServerStateStore::new(folder.path().to_owned());
    memory.save(SERVER_NAME, &met_before(&spec, version));
    let settings = HubSettings { exposure: CatalogExposure::Direct, ..HubSettings::default() };
    let hub = Hub::new(settings, Arc::new(ConformanceDialer::new(url, context)?), memory);
    hub.configure(vec![spec]);
    let server = hub.server(SERVER_NAME).ok_or("the hub has no server")?;
    server.try_now().await;
    let status = server.status();
    if status.state != ServerState::Ready {
        return Err(status.health.last_failure.unwrap_or_default());
    }
    let mut failed = None;
    for part in hub.parts() {
        for (name, error) in ask_for_everything(&*part, context).await {
            failed.get_or_insert(format!("{name}: {error}"));
        }
    }
    hub.close().await;
    failed.map_or(Ok(()), Err)
}

/// The protocol mode of the last connection. Unknown servers are tried with a handshake first, but the scenarios of the
/// newer revision are for clients that know better.
fn met_before(spec: &ServerSpec, version: &str) -> StoredServerState {
    let era = if version >= FIRST_STATELESS_REVISION {
        ProtocolMode::Stateless
    } else {
        ProtocolMode::Session(version.to_owned())
    };
    StoredServerState { way: spec.digest(), era: Some(era), ..StoredServerState::default() }
}

/// Returns what failed, and why.
async fn ask_for_everything(
    server: &dyn ToolProvider,
    context: &Value,
) -> Vec<(String, ToolError)> {
    let mut failed = Vec::new();
    let tools = server.tools();
    let tools: BTreeMap<String, &Arc<dyn AnyTool>> =
        tools.iter().map(|tool| (own_name(tool.name()), tool)).collect();
    for (name, arguments) in calls(context, &tools) {
        let Some(tool) = tools.get(&name) else { continue };
        if let Err(error) = tool.call(arguments, &in_person()).await {
            failed.push((name, error));
        }
    }
    for resource in server.resources().await {
        if let Some(Err(error)) = server.read(&resource.uri, &in_person()).await {
            failed.push((resource.uri, error));
        }
    }
    for prompt in server.prompts() {
        let given = prompt.arguments.iter().filter(|argument| argument.required);
        let given = given.map(|argument| (argument.name.clone(), json!("test"))).collect();
        if let Err(error) = server.prompt(&prompt.name, &given, &in_person()).await {
            failed.push((prompt.name, error));
        }
    }
    failed
}

/// The server's own name for a tool.
fn own_name(public: &str) -> String {
    public
        .strip_prefix(SERVER_NAME)
        .and_then(|rest| rest.strip_prefix("__"))
        .unwrap_or(public)
        .to_owned()
}

/// Which calls to make: those of the context, or one of each tool with arguments that its schema takes.
fn calls(context: &Value, tools: &BTreeMap<String, &Arc<dyn AnyTool>>) -> Vec<(String, Object)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let wanted = context.get("toolCalls").or_else(|| context.get("tool_calls"));
    if let Some(wanted) = wanted.and_then(Value::as_array) {
        return wanted
            .iter()
            .map(|call| {
                let arguments = call["arguments"].as_object().cloned().unwrap_or_default();
                (text(&call["name"]), arguments)
            })
            .collect();
    }
    let schema = |tool: &Arc<dyn AnyTool>| Value::Object((*tool.info().input_schema).clone());
    let rich = tools.get("json_schema_2020_12_tool").map(|tool| schema(tool));
    let fitting = |(name, tool): (&String, &&Arc<dyn AnyTool>)| {
        let schema = schema(tool);
        let mut arguments = Map::new();
        for name in schema["required"].as_array().into_iter().flatten().map(text) {
            let value = match schema["properties"][&name]["type"].as_str() {
                Some("number" | "integer") => json!(1),
                Some("string") => json!("test"),
                Some("boolean") => json!(true),
                // The tool that echoes a schema gets the received one.
                Some("object") if name == "schema" => rich.clone().unwrap_or_else(|| json!({})),
                Some("object") => json!({}),
                _ => Value::Null,
            };
            arguments.insert(name, value);
        }
        (name.clone(), arguments)
    };
    tools.iter().map(fitting).collect()
}

fn identity(context: &Value) -> Result<OauthClient, String> {
    let text = |key: &str| context.get(key).and_then(Value::as_str).map(str::to_owned);
    let Some(id) = text("client_id") else {
        return Ok(OauthClient::Unknown { metadata_url: Some(CLIENT_METADATA_URL.to_owned()) });
    };
    let scenario = variable("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    if let Some(key_pem) = text("private_key_pem") {
        let name = text("signing_algorithm").unwrap_or_default();
        let algorithm = SigningAlgorithm::parse(&name).ok_or(format!("no algorithm `{name}`"))?;
        return Ok(OauthClient::MachineKey { id, key_pem, algorithm });
    }
    match text("client_secret") {
        Some(secret) if scenario.contains("client-credentials") => {
            Ok(OauthClient::Machine { id, secret })
        }
        secret => Ok(OauthClient::Registered { id, secret }),
    }
}

/// A person who agrees to everything: the page is fetched, and its redirect followed.
struct HeadlessBrowser {
    runtime: Handle,
}

impl Browser for HeadlessBrowser {
    fn open(&self, url: &str) -> Result<(), String> {
        let url = url.to_owned();
        // An installed provider is fine.
        let _there = rustls::crypto::ring::default_provider().install_default();
        self.runtime.spawn(async move {
            let client = reqwest::Client::builder().no_proxy().build();
            let Ok(client) = client else { return eprintln!("no browser can be made") };
            if let Err(error) = client.get(url).send().await {
                eprintln!("cannot fetch the page: {error}");
            }
        });
        Ok(())
    }
}

/// Connects to the server as docent does, and signs in if required.
struct ConformanceDialer(OauthSettings);

impl ConformanceDialer {
    fn new(url: &str, context: &Value) -> Result<Self, String> {
        let mut oauth = OauthSettings::new(SERVER_NAME, url, Arc::new(MemoryTokenStore::default()));
        oauth.client = identity(context)?;
        oauth.browser = Some(Arc::new(HeadlessBrowser { runtime: Handle::current() }));
        Ok(Self(oauth))
    }
}

impl Dialer for ConformanceDialer {
    fn dial<'a>(
        &'a self,
        _spec: &'a ServerSpec,
        listener: Arc<dyn TransportListener>,
        _stderr: Arc<StderrTail>,
    ) -> Running<'a, Result<Arc<dyn ClientTransport>, TransportFailure>> {
        Box::pin(async move {
            let mut settings = HttpSettings::new(&self.0.url);
            settings.sign_in = Some(Arc::new(OauthSignIn::new(self.0.clone())?));
            open_detecting(settings, listener).await
        })
    }
}

fn in_person() -> CallContext {
    CallContext::new(Arc::new(AcceptingAudience), CancellationToken::new(), None)
}

/// A client that answers every question.
struct AcceptingAudience;

impl CallClient for AcceptingAudience {
    fn progress(&self, _: Progress) {}
    fn log(&self, _: SyslogLevel, _: &str, _: Value) {}
    fn emit(&self, _: AnswerBlock) -> docent_tool::BoxedFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
    fn ask<'a>(
        &'a self,
        _key: &'a str,
        ask: ClientQuery,
    ) -> docent_tool::BoxedFuture<'a, Result<Value, ToolError>> {
        Box::pin(std::future::ready(Ok(answer_to(&ask))))
    }
    fn state(&self) -> Option<String> {
        None
    }
}

fn answer_to(ask: &ClientQuery) -> Value {
    match ask {
        ClientQuery::Roots => json!({"roots": []}),
        ClientQuery::Sample(_) => json!({
            "role": "assistant",
            "content": {"type": "text", "text": "an answer"},
            "model": "none",
            "stopReason": "endTurn",
        }),
        ClientQuery::Elicit(params) => {
            let properties = params["requestedSchema"]["properties"].as_object();
            let defaults = properties.into_iter().flatten().filter_map(|(name, property)| {
                property.get("default").map(|value| (name.clone(), value.clone()))
            });
            json!({"action": "accept", "content": defaults.collect::<Map<_, _>>()})
        }
    }
}
