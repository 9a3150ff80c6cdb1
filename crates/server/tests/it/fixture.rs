//! A provider of small tools, each for one aspect.

use docent_tool::{
    AnswerBlock, AnyTool, App, BoxedFuture, CallContext, ClientQuery, CompletionRequest,
    CompletionTarget, CompletionValues, Contents, FailureKind, InputNeeded, Object, Progress,
    PromptAnswer, PromptArgument, PromptInfo, PromptMessage, PromptRole, ProviderChange,
    ResourceInfo, ResourceReading, SyslogLevel, TemplateInfo, ToolAnswer, ToolError, ToolFailure,
    ToolHints, ToolInfo, ToolOutcome, ToolProvider, TypedTool, erase,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};
use tokio::sync::{Notify, Semaphore, broadcast};

/// Everything that the tests observe and change.
pub(crate) struct FixtureProvider {
    key: &'static str,
    pub(crate) changes: broadcast::Sender<ProviderChange>,
    pub(crate) gate: Arc<ToolGate>,
    pub(crate) watched: Mutex<Vec<String>>,
    pub(crate) extra: Mutex<Vec<Arc<dyn AnyTool>>>,
    pub(crate) apps: Mutex<Vec<App>>,
    /// Text that its lists contain in every item.
    pub(crate) listed_text: Mutex<Option<String>>,
    /// The providers it represents.
    pub(crate) parts: Mutex<Vec<Arc<dyn ToolProvider>>>,
}

/// A tool that waits here until it is let through, and signals when it enters and when it is dropped.
#[derive(Default)]
pub(crate) struct ToolGate {
    pub(crate) open: Option<Semaphore>,
    pub(crate) entered: Notify,
    pub(crate) left: Notify,
    pub(crate) inside: AtomicUsize,
}

struct GateGuard(Arc<ToolGate>);

impl Drop for GateGuard {
    fn drop(&mut self) {
        self.0.inside.fetch_sub(1, Ordering::SeqCst);
        self.0.left.notify_one();
    }
}

impl ToolGate {
    pub(crate) fn let_through(&self, count: usize) {
        self.open.as_ref().unwrap().add_permits(count);
    }
}

impl FixtureProvider {
    pub(crate) fn new() -> Arc<Self> {
        Self::called("fixture")
    }

    pub(crate) fn called(key: &'static str) -> Arc<Self> {
        let gate = ToolGate { open: Some(Semaphore::new(0)), ..ToolGate::default() };
        Arc::new(Self {
            key,
            changes: broadcast::channel(16).0,
            gate: Arc::new(gate),
            watched: Mutex::default(),
            extra: Mutex::default(),
            parts: Mutex::default(),
            apps: Mutex::default(),
            listed_text: Mutex::default(),
        })
    }

    fn listed_text(&self) -> Option<String> {
        self.listed_text.lock().unwrap().clone()
    }

    fn beside(&self) -> Object {
        let meta = self.listed_text().map(|text| ("_meta".to_owned(), json!({"own": text})));
        meta.into_iter().collect()
    }

    pub(crate) fn changed(&self, change: ProviderChange) {
        self.changes.send(change).unwrap();
    }
}

type ToolScript = Box<
    dyn Fn(Object, CallContext) -> BoxedFuture<'static, Result<ToolOutcome, ToolError>>
        + Send
        + Sync,
>;

struct ScriptedTool {
    info: ToolInfo,
    act: ToolScript,
}

impl AnyTool for ScriptedTool {
    fn name(&self) -> &str {
        &self.info.name
    }
    fn info(&self) -> ToolInfo {
        self.info.clone()
    }
    fn call<'a>(
        &'a self,
        args: Object,
        context: &'a CallContext,
    ) -> BoxedFuture<'a, Result<ToolOutcome, ToolError>> {
        (self.act)(args, context.clone())
    }
}

/// A tool from a closure.
pub(crate) fn acting<F>(
    name: &str,
    meta: Value,
    act: impl Fn(Object, CallContext) -> F + Send + Sync + 'static,
) -> Arc<dyn AnyTool>
where
    F: Future<Output = Result<ToolOutcome, ToolError>> + Send + 'static,
{
    let schema = json!({"type": "object", "properties": {}});
    let info = ToolInfo {
        name: name.into(),
        title: None,
        description: format!("Shows {name}."),
        input_schema: Arc::new(schema.as_object().unwrap().clone()),
        output_schema: None,
        hints: None,
        meta: meta.as_object().cloned(),
        ..ToolInfo::default()
    };
    Arc::new(ScriptedTool {
        info,
        act: Box::new(move |args, context| Box::pin(act(args, context))),
    })
}

pub(crate) fn said(text: impl Into<String>) -> ToolOutcome {
    ToolOutcome { content: vec![AnswerBlock::text(text)], ..ToolOutcome::default() }
}

/// Echoes its text.
pub(crate) struct EchoTool;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EchoArgs {
    /// What to say.
    #[schemars(length(min = 1, max = 100_000))]
    text: String,
    /// How loud.
    #[serde(default)]
    voice: EchoVoice,
}

#[derive(Deserialize, JsonSchema, Default, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum EchoVoice {
    #[default]
    Quiet,
    Loud,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct EchoAnswer {
    /// What was said.
    text: String,
}

impl TypedTool for EchoTool {
    const NAME: &'static str = "echo";
    const TITLE: &'static str = "Echo";
    const DESCRIPTION: &'static str = "Echoes its text.";
    const HINTS: ToolHints = ToolHints::READS;
    type Args = EchoArgs;
    type Answer = EchoAnswer;

    async fn call(
        &self,
        args: EchoArgs,
        _: &CallContext,
    ) -> Result<ToolAnswer<EchoAnswer>, ToolError> {
        let text = match args.voice {
            EchoVoice::Quiet => args.text,
            EchoVoice::Loud => args.text.to_uppercase(),
        };
        Ok(ToolAnswer::new(EchoAnswer { text: text.clone() }, text))
    }
}

pub(crate) fn form(message: &str) -> Value {
    json!({"mode": "form", "message": message, "requestedSchema": {
        "type": "object", "properties": {"value": {"type": "string"}}, "required": ["value"]
    }})
}

fn value_of(answer: &Value) -> String {
    answer["content"]["value"].as_str().unwrap_or("?").to_owned()
}

fn talking() -> Vec<Arc<dyn AnyTool>> {
    vec![
        acting("steps", json!({}), |_, context| async move {
            for (done, message) in
                [(1.0, "one"), (1.0, "again"), (0.5, "back"), (2.0, "two"), (3.0, "three")]
            {
                let (total, message, extra) = (Some(3.0), message.into(), Object::new());
                context.report(Progress { done, total, message, extra });
            }
            Ok(said("done"))
        }),
        acting("relays", json!({}), |_, context| async move {
            let extra = |fields: Value| fields.as_object().cloned().unwrap_or_default();
            let (message, steps) =
                (String::new(), extra(json!({"progress": 1, "total": 3, "odd": 1})));
            context.report(Progress { done: 1.0, total: Some(3.0), message, extra: steps });
            let line = extra(json!({"odd": 2, "_meta": {"own": 1}}));
            context.relay(SyslogLevel::Error, "other", json!("said"), line);
            Ok(said("relayed"))
        }),
        acting("slow_steps", json!({}), |_, context| async move {
            for done in 1..=3 {
                context.progress(done, Some(3), format!("step {done}"));
                tokio::task::yield_now().await;
            }
            Ok(said("done"))
        }),
        acting("logs", json!({}), |_, context| async move {
            for level in [SyslogLevel::Debug, SyslogLevel::Info, SyslogLevel::Error] {
                context.log(level, "fixture", format!("{level:?}"));
            }
            Ok(said("logged"))
        }),
        acting("emits", json!({}), |_, context| async move {
            context.emit(AnswerBlock::text("first")).await;
            context.emit(AnswerBlock::text("second")).await;
            Ok(said("last"))
        }),
    ]
}

fn asking() -> Vec<Arc<dyn AnyTool>> {
    vec![
        acting("asks", json!({}), |_, context| async move {
            let name = context.elicit("name", form("Name?")).await?;
            Ok(said(format!("Hello, {}!", value_of(&name))))
        }),
        acting("asks_twice", json!({}), |_, context| async move {
            let first = context.elicit("first", form("First?")).await?;
            let second = context.elicit("second", form("Second?")).await?;
            Ok(said(format!("{} {}", value_of(&first), value_of(&second))))
        }),
        acting("asks_all", json!({}), |_, context| async move {
            if context.state().as_deref() == Some("asked") {
                let value = context.elicit("value", form("Value?")).await?;
                let roots = context.client_roots("roots").await?;
                return Ok(said(format!(
                    "{} {}",
                    value_of(&value),
                    roots["roots"][0]["uri"].as_str().unwrap_or("?")
                )));
            }
            let asks = vec![
                ("value".to_owned(), ClientQuery::Elicit(form("Value?"))),
                ("roots".to_owned(), ClientQuery::Roots),
            ];
            Err(ToolError::NeedsInput(InputNeeded { asks, state: Some("asked".into()) }))
        }),
        acting("samples", json!({}), |_, context| async move {
            let message = json!({"role": "user", "content": {"type": "text", "text": "Hi"}});
            let answer =
                context.sample("hi", json!({"messages": [message], "maxTokens": 5})).await?;
            Ok(said(answer["content"]["text"].as_str().unwrap_or("?")))
        }),
    ]
}

fn ending() -> Vec<Arc<dyn AnyTool>> {
    vec![
        acting("patient", json!({}), |_, context| async move {
            context.emit(AnswerBlock::text("found 2")).await;
            context.stopped().await;
            Ok(ToolOutcome {
                partial: true,
                structured: Some(json!({"found": 3})),
                ..said("found 3")
            })
        }),
        acting("stubborn", json!({}), |_, context| async move {
            context.emit(AnswerBlock::text("a piece")).await;
            std::future::pending().await
        }),
        acting("panics", json!({}), |_, _| async move { panic!("the boom") }),
        acting("panics_later", json!({}), |_, context| async move {
            context.blocking(|_| -> Result<(), ToolError> { panic!("the boom below") }).await?;
            Ok(said("never"))
        }),
        acting("fails", json!({}), |_, _| async move {
            Err(ToolFailure::new(FailureKind::Database, "The index is locked")
                .hint("Stop the other server.")
                .into())
        }),
        acting("big", json!({}), |args, _| async move {
            let size =
                usize::try_from(args.get("size").and_then(Value::as_u64).unwrap_or(0)).unwrap();
            let text: String = "0123456789".chars().cycle().take(size).collect();
            Ok(ToolOutcome { structured: Some(json!({"text": text, "size": size})), ..said(text) })
        }),
    ]
}

impl ToolProvider for FixtureProvider {
    fn key(&self) -> &str {
        self.key
    }

    fn parts(&self) -> Vec<Arc<dyn ToolProvider>> {
        self.parts.lock().unwrap().clone()
    }

    fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        let mut tools = self.extra.lock().unwrap().clone();
        if self.key != "fixture" {
            return tools;
        }
        tools.push(erase(EchoTool));
        tools.extend(talking());
        tools.extend(asking());
        tools.extend(ending());
        let gate = Arc::clone(&self.gate);
        tools.push(acting("waits", json!({}), move |_, _| {
            let gate = Arc::clone(&gate);
            async move {
                gate.inside.fetch_add(1, Ordering::SeqCst);
                let inside = GateGuard(Arc::clone(&gate));
                gate.entered.notify_one();
                gate.open.as_ref().unwrap().acquire().await.unwrap().forget();
                drop(inside);
                Ok(said("waited"))
            }
        }));
        tools
    }

    fn apps(&self) -> Vec<App> {
        self.apps.lock().unwrap().clone()
    }

    fn resources(&self) -> BoxedFuture<'_, Vec<ResourceInfo>> {
        let named = |name: &str| ResourceInfo {
            uri: format!("memo://{name}"),
            name: name.into(),
            title: self.listed_text(),
            about: self.listed_text(),
            extra: self.beside(),
            ..ResourceInfo::default()
        };
        let all = if self.key == "fixture" { ["a", "b", "c"].map(named).to_vec() } else { vec![] };
        Box::pin(std::future::ready(all))
    }

    fn templates(&self) -> Vec<TemplateInfo> {
        let template = TemplateInfo {
            uri_template: "memo://{name}".into(),
            name: "memo".into(),
            title: self.listed_text(),
            about: self.listed_text(),
            extra: self.beside(),
            ..TemplateInfo::default()
        };
        if self.key == "fixture" { vec![template] } else { vec![] }
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        context: &'a CallContext,
    ) -> BoxedFuture<'a, Option<Result<ResourceReading, ToolError>>> {
        Box::pin(async move {
            let name = uri.strip_prefix("memo://").filter(|_| self.key == "fixture")?;
            let text = match name {
                "a" | "b" | "c" => format!("memo {name}"),
                "long" => "a line of a long memo\n".repeat(2000),
                "panics" => panic!("the boom of a memo"),
                "asks" => match context.elicit("word", form("Word?")).await {
                    Ok(word) => value_of(&word),
                    Err(error) => return Some(Err(error)),
                },
                "locked" => {
                    return Some(Err(ToolFailure::new(
                        FailureKind::Database,
                        "The store is locked",
                    )
                    .into()));
                }
                _ => return Some(Err(ToolError::not_found("no such memo"))),
            };
            Some(Ok(vec![Contents::Text {
                uri: uri.into(),
                mime: Some("text/plain".into()),
                text,
            }]
            .into()))
        })
    }

    fn watch(&self, uri: &str) -> bool {
        let known = uri.starts_with("memo://") && self.key == "fixture";
        if known {
            self.watched.lock().unwrap().push(format!("+{uri}"));
        }
        known
    }

    fn unwatch(&self, uri: &str) {
        self.watched.lock().unwrap().push(format!("-{uri}"));
    }

    fn prompts(&self) -> Vec<PromptInfo> {
        if self.key != "fixture" {
            return vec![];
        }
        let about = self.listed_text().or(Some("Whom.".into()));
        let greet = PromptInfo {
            name: "greet".into(),
            title: self.listed_text(),
            about: self.listed_text(),
            arguments: vec![PromptArgument { name: "name".into(), about, required: true }],
            extra: self.beside(),
        };
        vec![greet, PromptInfo { name: "asks".into(), ..PromptInfo::default() }]
    }

    fn prompt<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a Object,
        context: &'a CallContext,
    ) -> BoxedFuture<'a, Result<PromptAnswer, ToolError>> {
        Box::pin(async move {
            let whom = match name {
                "greet" => arguments["name"].as_str().unwrap_or("?").to_owned(),
                _ => value_of(&context.elicit("whom", form("Whom?")).await?),
            };
            let words = AnswerBlock::text(format!("Greet {whom}."));
            Ok(PromptAnswer {
                about: Some("A greeting".into()),
                messages: vec![PromptMessage { role: PromptRole::User, content: words }],
                ..PromptAnswer::default()
            })
        })
    }

    fn complete<'a>(&'a self, asked: &'a CompletionRequest) -> BoxedFuture<'a, CompletionValues> {
        let (target, argument, typed) = asked.parts();
        let values = match (target, argument) {
            (CompletionTarget::Prompt(_), "name") => {
                ["ann", "anton", "bob"].map(str::to_owned).to_vec()
            }
            (CompletionTarget::Template(_), "name") => {
                (0..150).map(|n| format!("memo{n}")).collect()
            }
            _ => vec![],
        };
        let values = values.into_iter().filter(|value| value.starts_with(typed));
        Box::pin(std::future::ready(values.collect::<Vec<_>>().into()))
    }

    fn changes(&self) -> Option<broadcast::Receiver<ProviderChange>> {
        Some(self.changes.subscribe())
    }
}
