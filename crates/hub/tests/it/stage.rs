//! Servers made of a function, and a client that records what it receives.

use crate::threads::Threads;
use docent_dial::{
    ClientTransport, HttpSettings, Running, TransportFailure, TransportListener, http, pipes,
};
use docent_hub::{
    CatalogExposure, Dialer, Hub, HubSettings, ServerSpec, ServerStateStore, ServerTransport,
    StderrTail,
};
use docent_script::Workers;
use docent_tool::{
    AnswerBlock, AnyTool, CallClient, CallContext, ClientQuery, InnerRound, InputNeeded, Object,
    Progress, ProviderChange, SyslogLevel, ToolError, ToolOutcome, ToolProvider, no_client,
};
use docent_traffic::Traffic;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    sync::mpsc,
};
use tokio_util::sync::CancellationToken;

/// What a scripted server does with one message: messages to send back, or the end.
pub(crate) enum CallBehavior {
    Says(Vec<Value>),
    Ends,
    /// Sends these, then ends.
    Last(Vec<Value>),
}

pub(crate) type Script = dyn Fn(&Value) -> CallBehavior + Send + Sync;

/// Starts scripted servers, and records what they receive.
#[derive(Default)]
pub(crate) struct TestWorkerStarter {
    by_name: Mutex<HashMap<String, Arc<Script>>>,
    pub(crate) heard: Arc<Mutex<Vec<Value>>>,
    pub(crate) starts: Arc<Mutex<usize>>,
    /// What servers write to their standard error when they start.
    pub(crate) words: Mutex<HashMap<String, String>>,
    /// Messages for the running servers to send on their own.
    pub(crate) mouths: Arc<Mutex<Vec<mpsc::Sender<Value>>>>,
}

impl TestWorkerStarter {
    pub(crate) fn put(
        &self,
        name: &str,
        script: impl Fn(&Value) -> CallBehavior + Send + Sync + 'static,
    ) {
        self.by_name.lock().unwrap().insert(name.into(), Arc::new(script));
    }

    /// Returns the messages with this method that servers received.
    pub(crate) fn of(&self, method: &str) -> Vec<Value> {
        let heard = self.heard.lock().unwrap();
        heard.iter().filter(|message| message["method"] == method).cloned().collect()
    }

    pub(crate) fn say(&self, message: Value) {
        self.mouths.lock().unwrap().last().unwrap().try_send(message).unwrap();
    }
}

impl Dialer for TestWorkerStarter {
    fn dial<'a>(
        &'a self,
        spec: &'a ServerSpec,
        listener: Arc<dyn TransportListener>,
        stderr: Arc<StderrTail>,
    ) -> Running<'a, Result<Arc<dyn ClientTransport>, TransportFailure>> {
        let script = self.by_name.lock().unwrap().get(&spec.name).cloned();
        Box::pin(async move {
            *self.starts.lock().unwrap() += 1;
            if let ServerTransport::Remote { url, .. } = &spec.transport {
                return http::open(HttpSettings::new(url), listener).await;
            }
            if let Some(word) = self.words.lock().unwrap().get(&spec.name) {
                stderr.push(word);
            }
            let Some(script) = script else {
                stderr.push("no such module");
                return Err(TransportFailure::Unreachable("it is not installed".into()));
            };
            // Two pipes, as a program has them: closing its input is seen while its output is still read.
            let (writer, server_input) = tokio::io::duplex(1 << 20);
            let (mut server_output, reader) = tokio::io::duplex(1 << 20);
            let (mouth, mut says) = mpsc::channel(64);
            self.mouths.lock().unwrap().push(mouth);
            let heard = Arc::clone(&self.heard);
            tokio::spawn(async move {
                let mut lines = BufReader::new(server_input).lines();
                loop {
                    let out = tokio::select! {
                        line = lines.next_line() => {
                            let Ok(Some(line)) = line else { return };
                            let message: Value = serde_json::from_str(&line).unwrap();
                            heard.lock().unwrap().push(message.clone());
                            match script(&message) {
                                CallBehavior::Says(all) => all,
                                CallBehavior::Ends => return,
                                CallBehavior::Last(all) => {
                                    for message in all {
                                        server_output.write_all(format!("{message}\n").as_bytes()).await.unwrap();
                                    }
                                    return;
                                }
                            }
                        }
                        Some(said) = says.recv() => vec![said],
                    };
                    for message in out {
                        server_output.write_all(format!("{message}\n").as_bytes()).await.unwrap();
                    }
                }
            });
            Ok(pipes::open(reader, writer, 1 << 22, listener))
        })
    }
}

/// A server of the session era with these tools; `call` answers `tools/call`.
pub(crate) fn session(
    tools: Value,
    call: impl Fn(&Value) -> CallBehavior + Send + Sync + 'static,
) -> impl Fn(&Value) -> CallBehavior + Send + Sync {
    move |message: &Value| match message["method"].as_str() {
        Some("initialize") => result(
            message,
            json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": true}}, "serverInfo": {"name": "s", "version": "1"}}),
        ),
        Some("tools/list") => result(message, json!({"tools": tools})),
        Some("tools/call") => call(message),
        _ => CallBehavior::Says(Vec::new()),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "answers are written where they are given")]
pub(crate) fn result(message: &Value, result: Value) -> CallBehavior {
    CallBehavior::Says(vec![json!({"jsonrpc": "2.0", "id": message["id"], "result": result})])
}

pub(crate) fn text(message: &Value, text: &str) -> CallBehavior {
    result(message, json!({"content": [{"type": "text", "text": text}]}))
}

pub(crate) fn tool(name: &str) -> Value {
    json!({"name": name, "description": format!("Does {name}."), "inputSchema": {"type": "object"}})
}

pub(crate) fn spec(name: &str) -> ServerSpec {
    let way = ServerTransport::Program {
        command: name.into(),
        args: Vec::new(),
        env: BTreeMap::new(),
        cwd: None,
    };
    let mut spec = ServerSpec::new(name, way);
    spec.timeout = Duration::from_secs(5);
    spec
}

pub(crate) fn hub(
    scripts: &Arc<TestWorkerStarter>,
    memory: ServerStateStore,
    specs: Vec<ServerSpec>,
) -> Arc<Hub> {
    hub_with(scripts, memory, specs, None)
}

pub(crate) fn hub_with(
    scripts: &Arc<TestWorkerStarter>,
    memory: ServerStateStore,
    specs: Vec<ServerSpec>,
    traffic: Option<Arc<Traffic>>,
) -> Arc<Hub> {
    let settings =
        HubSettings { exposure: CatalogExposure::Direct, traffic, ..HubSettings::default() };
    hub_set(scripts, memory, specs, settings)
}

pub(crate) fn hub_set(
    scripts: &Arc<TestWorkerStarter>,
    memory: ServerStateStore,
    specs: Vec<ServerSpec>,
    settings: HubSettings,
) -> Arc<Hub> {
    let workers = Some(Workers::new(Arc::new(Threads::default())));
    let settings = HubSettings { workers, ..settings };
    let hub = Hub::new(settings, Arc::clone(scripts) as Arc<dyn Dialer>, memory);
    hub.configure(specs);
    hub
}

/// Waits until every server is known, and gives all tools by name.
pub(crate) async fn tools(hub: &Arc<Hub>) -> BTreeMap<String, Arc<dyn AnyTool>> {
    let mut all = BTreeMap::new();
    for part in hub.parts() {
        part.settled().await;
        for tool in part.tools() {
            assert_eq!(tool.name(), tool.info().name);
            all.insert(tool.name().to_owned(), tool);
        }
    }
    all
}

pub(crate) async fn call(
    hub: &Arc<Hub>,
    name: &str,
    context: &CallContext,
) -> Result<ToolOutcome, ToolError> {
    let tools = tools(hub).await;
    tools
        .get(name)
        .unwrap_or_else(|| panic!("no {name} in {:?}", tools.keys()))
        .call(Object::new(), context)
        .await
}

pub(crate) fn words(outcome: &ToolOutcome) -> String {
    let word = |block: &AnswerBlock| match block {
        AnswerBlock::Raw(value) => value["text"].as_str().unwrap_or_default().to_owned(),
        other => format!("{other:?}"),
    };
    outcome.content.iter().map(word).collect()
}

/// A client that answers questions, or reports that it will ask again.
#[derive(Default)]
pub(crate) struct ScriptedClient {
    pub(crate) name: String,
    /// The same for all of its sessions.
    pub(crate) client_key: String,
    pub(crate) answers: Mutex<BTreeMap<String, Value>>,
    pub(crate) at_once: Option<Value>,
    pub(crate) state: Mutex<Option<String>>,
    pub(crate) asked: Mutex<Vec<ClientQuery>>,
    pub(crate) steps: Mutex<Vec<f64>>,
    pub(crate) lines: Mutex<Vec<String>>,
    pub(crate) recorded: Option<u64>,
    pub(crate) meta: Object,
    /// Unknown fields of progress steps and log lines.
    pub(crate) extras: Mutex<Vec<Object>>,
    pub(crate) level: Option<SyslogLevel>,
    pub(crate) able: Object,
    /// Notifications that were forwarded.
    pub(crate) passed: Mutex<Vec<(String, Value)>>,
    /// Never answers.
    pub(crate) thinks: bool,
    /// Questions that were withdrawn before it answered.
    pub(crate) spared: AtomicUsize,
    /// Where calls within its calls go.
    pub(crate) hub: Option<Arc<Hub>>,
}

struct AnswerGuard<'a>(&'a AtomicUsize);

impl Drop for AnswerGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl CallClient for ScriptedClient {
    fn progress(&self, progress: Progress) {
        self.steps.lock().unwrap().push(progress.done);
        self.extras.lock().unwrap().push(progress.extra);
    }
    fn log(&self, _: SyslogLevel, logger: &str, data: Value) {
        self.lines.lock().unwrap().push(format!("{logger}: {data}"));
    }
    fn relay(&self, level: SyslogLevel, logger: &str, data: Value, extra: Object) {
        self.extras.lock().unwrap().push(extra);
        self.log(level, logger, data);
    }
    fn meta(&self) -> Object {
        self.meta.clone()
    }
    fn emit(&self, _: AnswerBlock) -> docent_tool::BoxedFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
    fn ask<'a>(
        &'a self,
        key: &'a str,
        ask: ClientQuery,
    ) -> docent_tool::BoxedFuture<'a, Result<Value, ToolError>> {
        self.asked.lock().unwrap().push(ask.clone());
        if self.thinks {
            return Box::pin(async {
                let _thinking = AnswerGuard(&self.spared);
                std::future::pending().await
            });
        }
        let known = self.answers.lock().unwrap().get(key).cloned().or_else(|| self.at_once.clone());
        let needed = || {
            ToolError::NeedsInput(InputNeeded { asks: vec![(key.to_owned(), ask)], state: None })
        };
        Box::pin(std::future::ready(known.ok_or_else(needed)))
    }
    fn state(&self) -> Option<String> {
        self.state.lock().unwrap().clone()
    }
    fn client(&self) -> &str {
        &self.name
    }
    fn client_key(&self) -> &str {
        &self.client_key
    }
    fn recorded(&self) -> Option<u64> {
        self.recorded
    }
    fn level(&self) -> Option<SyslogLevel> {
        self.level
    }
    fn capabilities(&self) -> Object {
        self.able.clone()
    }
    fn pass_on(&self, method: &str, params: Value) {
        self.passed.lock().unwrap().push((method.to_owned(), params));
    }
    fn call<'a>(
        &'a self,
        server: &'a str,
        name: &'a str,
        arguments: Object,
        _round: InnerRound,
    ) -> docent_tool::BoxedFuture<'a, Result<ToolOutcome, ToolError>> {
        let parts = self.hub.as_ref().unwrap().parts();
        let tools = parts.into_iter().filter(|part| part.key() == server);
        let mut tools = tools.flat_map(|part| part.tools());
        let tool = tools.find(|tool| tool.name() == name).unwrap();
        Box::pin(async move { tool.call(arguments, &no_client()).await })
    }
}

pub(crate) fn context(person: &Arc<ScriptedClient>) -> CallContext {
    CallContext::new(Arc::clone(person) as Arc<dyn CallClient>, CancellationToken::new(), None)
}

/// Waits until a condition is true.
pub(crate) async fn until(mut holds: impl FnMut() -> bool) {
    for _ in 0..2000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it never came to hold");
}

/// Waits for a change.
pub(crate) async fn wait_for_change(
    changes: &mut tokio::sync::broadcast::Receiver<ProviderChange>,
    want: &ProviderChange,
) {
    let heard = async {
        loop {
            if changes.recv().await.unwrap() == *want {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(10), heard).await.unwrap();
}
