//! A client for the protocol's conformance suite: `conformance client --command …/conformance_client`. The suite starts it
//! with the URL of a server, and names the scenario in the environment. It speaks through this crate's lines and signs in
//! with its OAuth; beyond that it does no more than the scenarios want.
#![expect(clippy::print_stderr, reason = "the suite keeps what a client says there")]

use docent_dial::{
    Event, HttpSettings, Line, Listener, Outgoing,
    headers::{self, STATELESS, VERSION_KEY},
    http,
    oauth::{Browser, Client, MemoryStore, OauthSettings, OauthSignIn, SigningAlgorithm},
};
use serde_json::{Map, Value, json};
use std::{
    collections::HashMap,
    process::ExitCode,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot},
    time::timeout,
};

/// The suite ends a client after 30 s.
const PATIENCE: Duration = Duration::from_secs(25);
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";
const STATEFUL: &str = "2025-11-25";

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
    let version = variable("MCP_CONFORMANCE_PROTOCOL_VERSION").unwrap_or_else(|| STATEFUL.into());
    match timeout(PATIENCE, run(&scenario, &url, &context, version)).await {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(why)) => {
            eprintln!("{scenario}: {why}");
            ExitCode::FAILURE
        }
        Err(_) => {
            eprintln!("{scenario}: not done within {PATIENCE:?}");
            ExitCode::FAILURE
        }
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var_os(name)?.into_string().ok()
}

/// Greets, lists the tools, and calls those that the scenario names, or all of them.
async fn run(scenario: &str, url: &str, context: &Value, version: String) -> Result<(), String> {
    let mut settings = HttpSettings::new(url);
    if scenario.starts_with("auth/") {
        let mut oauth = OauthSettings::new("conformance", url, Arc::new(MemoryStore::default()));
        oauth.client = identity(context)?;
        oauth.browser = Some(Arc::new(Headless { runtime: Handle::current() }));
        let sign_in = OauthSignIn::new(oauth).map_err(|failure| failure.to_string())?;
        settings.sign_in = Some(Arc::new(sign_in));
    }
    let (peer, asked) = Peer::open(settings, version).await?;
    tokio::spawn(answer_questions(Arc::clone(&peer), asked));
    peer.greet().await?;
    let tools = peer.request("tools/list", json!({}), Vec::new()).await?;
    let tools: Vec<Value> = tools["tools"].as_array().cloned().unwrap_or_default();
    // A tool whose header annotations can't be followed is as good as not there.
    let usable = |tool: &&Value| headers::check_schema(&tool["inputSchema"]).is_ok();
    let tools: Vec<&Value> = tools.iter().filter(usable).collect();
    let mut failed = None;
    for (name, arguments) in calls(context, &tools) {
        let Some(tool) = tools.iter().find(|tool| tool["name"] == *name) else { continue };
        if let Err(why) = peer.call(&name, arguments, &tool["inputSchema"]).await {
            failed.get_or_insert(format!("{name}: {why}"));
        }
    }
    if scenario == "auth/authorization-server-migration" {
        for _ in 0..2 {
            peer.request("tools/list", json!({}), Vec::new()).await?;
        }
    }
    peer.line.close().await;
    failed.map_or(Ok(()), Err)
}

/// Which calls to make: those of the context, or one of each tool with arguments that its schema takes.
fn calls(context: &Value, tools: &[&Value]) -> Vec<(String, Value)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let wanted = context.get("toolCalls").or_else(|| context.get("tool_calls"));
    if let Some(wanted) = wanted.and_then(Value::as_array) {
        return wanted
            .iter()
            .map(|call| (text(&call["name"]), call["arguments"].clone()))
            .collect();
    }
    let rich = tools.iter().find(|tool| tool["name"] == "json_schema_2020_12_tool");
    let fitting = |tool: &&Value| {
        let schema = &tool["inputSchema"];
        let mut arguments = Map::new();
        for name in schema["required"].as_array().into_iter().flatten().map(text) {
            let value = match schema["properties"][&name]["type"].as_str() {
                Some("number" | "integer") => json!(1),
                Some("string") => json!("test"),
                Some("boolean") => json!(true),
                // The tool that echoes a schema is shown the one that came.
                Some("object") if name == "schema" => {
                    rich.map_or_else(|| json!({}), |tool| tool["inputSchema"].clone())
                }
                Some("object") => json!({}),
                _ => Value::Null,
            };
            arguments.insert(name, value);
        }
        (text(&tool["name"]), Value::Object(arguments))
    };
    tools.iter().map(fitting).collect()
}

fn identity(context: &Value) -> Result<Client, String> {
    let text = |key: &str| context.get(key).and_then(Value::as_str).map(str::to_owned);
    let Some(id) = text("client_id") else {
        return Ok(Client::Unknown { metadata_url: Some(DOCUMENT.to_owned()) });
    };
    let scenario = variable("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    if let Some(key_pem) = text("private_key_pem") {
        let name = text("signing_algorithm").unwrap_or_default();
        let algorithm = SigningAlgorithm::parse(&name).ok_or(format!("no algorithm `{name}`"))?;
        return Ok(Client::MachineKey { id, key_pem, algorithm });
    }
    match text("client_secret") {
        Some(secret) if scenario.contains("client-credentials") => {
            Ok(Client::Machine { id, secret })
        }
        secret => Ok(Client::Registered { id, secret }),
    }
}

/// A person who agrees to everything: the page is asked for, and the way it leads is followed.
struct Headless {
    runtime: Handle,
}

impl Browser for Headless {
    fn open(&self, url: &str) -> Result<(), String> {
        let url = url.to_owned();
        // A provider that is there already is as good.
        let _there = rustls::crypto::ring::default_provider().install_default();
        self.runtime.spawn(async move {
            let client = reqwest::Client::builder().no_proxy().build();
            let Ok(client) = client else { return eprintln!("no browser can be made") };
            if let Err(error) = client.get(url).send().await {
                eprintln!("the page can't be had: {error}");
            }
        });
        Ok(())
    }
}

type Answered = oneshot::Sender<Result<Value, Value>>;

/// What came from the server, sorted: answers to whoever waits for them, questions to the task that answers them.
struct Inbox {
    waiting: Mutex<HashMap<String, Answered>>,
    asked: mpsc::Sender<Value>,
}

impl Inbox {
    fn settle(&self, id: &Value, outcome: Result<Value, Value>) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(waiting) = waiting.remove(&id.to_string()) {
            // Whoever waited may have given up.
            let _given_up = waiting.send(outcome);
        }
    }
}

impl Listener for Inbox {
    fn event(&self, event: Event) {
        match event {
            Event::Message { message, .. } if message.get("method").is_some() => {
                if message.get("id").is_some() && self.asked.try_send(message).is_err() {
                    eprintln!("too many questions");
                }
            }
            Event::Message { message, .. } => {
                let outcome = match message.get("error") {
                    Some(error) => Err(error.clone()),
                    None => Ok(message["result"].clone()),
                };
                self.settle(&message["id"], outcome);
            }
            Event::Lost { id, failure } => {
                self.settle(&id, Err(json!({"message": failure.to_string()})));
            }
            other => eprintln!("{other:?}"),
        }
    }
}

/// The server, as a client sees it.
struct Peer {
    line: Arc<dyn Line>,
    inbox: Arc<Inbox>,
    /// The revision of requests without a session; none while there is one.
    stateless: Mutex<Option<String>>,
    wished: String,
    last_id: AtomicU64,
}

impl Peer {
    async fn open(
        settings: HttpSettings,
        wished: String,
    ) -> Result<(Arc<Self>, mpsc::Receiver<Value>), String> {
        let (asked, questions) = mpsc::channel(100);
        let inbox = Arc::new(Inbox { waiting: Mutex::default(), asked });
        let line =
            http::open(settings, inbox.clone()).await.map_err(|failure| failure.to_string())?;
        let stateless = Mutex::new(None);
        let peer = Self { line, inbox, stateless, wished, last_id: AtomicU64::new(0) };
        Ok((Arc::new(peer), questions))
    }

    /// Finds out what the server speaks, from the newest to what it says.
    async fn greet(&self) -> Result<(), String> {
        if self.wished.as_str() >= STATELESS {
            self.speak(Some(self.wished.clone()));
            match self.ask("server/discover", json!({}), Vec::new()).await {
                Ok(_) => return Ok(()),
                Err(error) if error["data"]["supported"].is_array() => {
                    let supported = error["data"]["supported"].as_array().into_iter().flatten();
                    let newest = supported.filter_map(Value::as_str).max().unwrap_or(STATEFUL);
                    if newest >= STATELESS {
                        self.speak(Some(newest.to_owned()));
                        return Ok(());
                    }
                }
                Err(error) if error.get("code").is_none() => return Err(error.to_string()),
                Err(_) => {}
            }
            self.speak(None);
        }
        let wished = if self.wished.as_str() >= STATELESS { STATEFUL } else { &self.wished };
        let greeting = json!({
            "protocolVersion": wished,
            "capabilities": capabilities(),
            "clientInfo": {"name": "docent", "version": env!("CARGO_PKG_VERSION")},
        });
        let greeted = self.request("initialize", greeting, Vec::new()).await?;
        self.line.agreed(greeted["protocolVersion"].as_str().unwrap_or(wished));
        let done = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        self.line.send(done.into()).await.map_err(|failure| failure.to_string())
    }

    fn speak(&self, version: Option<String>) {
        *self.stateless.lock().unwrap_or_else(PoisonError::into_inner) = version;
    }

    async fn request(
        &self,
        method: &str,
        params: Value,
        headers: Vec<(String, String)>,
    ) -> Result<Value, String> {
        self.ask(method, params, headers).await.map_err(|error| error.to_string())
    }

    /// One request and its answer. The error is as the server gave it; without a code, no answer came.
    async fn ask(
        &self,
        method: &str,
        mut params: Value,
        headers: Vec<(String, String)>,
    ) -> Result<Value, Value> {
        let version = self.stateless.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(version) = version {
            params["_meta"] = json!({
                VERSION_KEY: version,
                "io.modelcontextprotocol/clientInfo": {"name": "docent", "version": env!("CARGO_PKG_VERSION")},
                "io.modelcontextprotocol/clientCapabilities": capabilities(),
            });
        }
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, answered) = oneshot::channel();
        self.inbox
            .waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(id.to_string(), sender);
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let lost = |why: String| json!({"message": why});
        self.line
            .send(Outgoing { message, headers })
            .await
            .map_err(|failure| lost(failure.to_string()))?;
        answered.await.unwrap_or_else(|_| Err(lost("the line has ended".to_owned())))
    }

    /// Calls a tool, and calls it again with what it wants to know.
    async fn call(&self, name: &str, arguments: Value, schema: &Value) -> Result<Value, String> {
        let fields = headers::of_arguments(schema, &arguments);
        let mut params = json!({"name": name, "arguments": arguments});
        loop {
            let result = self.request("tools/call", params.clone(), fields.clone()).await?;
            if result["resultType"] != "input_required" {
                return Ok(result);
            }
            let mut inputs = Map::new();
            for (key, asked) in result["inputRequests"].as_object().into_iter().flatten() {
                let method = asked["method"].as_str().unwrap_or_default();
                inputs.insert(key.clone(), answer_to(method, &asked["params"]).unwrap_or_default());
            }
            params["inputResponses"] = Value::Object(inputs);
            if let Some(state) = result.get("requestState") {
                params["requestState"] = state.clone();
            }
        }
    }
}

fn capabilities() -> Value {
    json!({"elicitation": {"form": {"applyDefaults": true}}, "sampling": {}, "roots": {"listChanged": true}})
}

/// Answers what the server asks, one question after the other.
async fn answer_questions(peer: Arc<Peer>, mut questions: mpsc::Receiver<Value>) {
    while let Some(question) = questions.recv().await {
        let method = question["method"].as_str().unwrap_or_default();
        let mut message = json!({"jsonrpc": "2.0", "id": question["id"]});
        if let Some(result) = answer_to(method, &question["params"]) {
            message["result"] = result;
        } else {
            let why = format!("no method `{method}` here");
            message["error"] = json!({"code": -32601, "message": why});
        }
        if let Err(failure) = peer.line.send(message.into()).await {
            eprintln!("the answer to {method} did not get through: {failure}");
        }
    }
}

fn answer_to(method: &str, params: &Value) -> Option<Value> {
    match method {
        "ping" => Some(json!({})),
        "roots/list" => Some(json!({"roots": []})),
        "sampling/createMessage" => Some(json!({
            "role": "assistant",
            "content": {"type": "text", "text": "an answer"},
            "model": "none",
            "stopReason": "endTurn",
        })),
        "elicitation/create" => {
            let properties = params["requestedSchema"]["properties"].as_object();
            let defaults = properties.into_iter().flatten().filter_map(|(name, property)| {
                property.get("default").map(|value| (name.clone(), value.clone()))
            });
            Some(json!({"action": "accept", "content": defaults.collect::<Map<_, _>>()}))
        }
        _ => None,
    }
}
