//! A tool, typed once; and the same tool with its types erased.

use crate::{
    ToolAnswer, CallContext, Object, ToolOutcome, BoxedFuture, ToolError, answer_schema, argument_schema,
};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

/// What a client may assume of a tool before calling it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "the protocol has four independent hints")]
pub struct ToolHints {
    /// Changes nothing.
    pub read_only: bool,
    /// May destroy something.
    pub destructive: bool,
    /// A second call with the same arguments changes nothing more.
    pub idempotent: bool,
    /// Reaches beyond this machine.
    pub open_world: bool,
}

impl ToolHints {
    /// Reads local things, changes nothing.
    pub const READS: Self =
        Self { read_only: true, destructive: false, idempotent: true, open_world: false };
    /// Reads the network, changes nothing.
    pub const READS_WEB: Self =
        Self { read_only: true, destructive: false, idempotent: true, open_world: true };
}

/// One tool with typed arguments and a typed answer.
pub trait TypedTool: Send + Sync + 'static {
    /// Published to clients: 1-128 of `A-Z a-z 0-9 _ - . /`; some clients take no more than 64 of `A-Z a-z 0-9 _ -`.
    const NAME: &'static str;
    /// For people.
    const TITLE: &'static str;
    /// For the model: what it does and when to use it.
    const DESCRIPTION: &'static str;
    /// What a client may assume.
    const HINTS: ToolHints = ToolHints::READS;
    /// The address of the page that shows its answers, one of its provider's.
    const APP: Option<&'static str> = None;
    /// Arguments.
    type Args: DeserializeOwned + JsonSchema + Send;
    /// Answer.
    type Answer: Serialize + JsonSchema + Send;

    /// Schema of the arguments. Override to narrow it by what is known only at run time, such as the values of an enum.
    fn input_schema(&self) -> Object {
        argument_schema::<Self::Args>()
    }

    /// Why every call would fail as the configuration is now.
    fn off(&self) -> Option<DisabledTool> {
        None
    }

    /// Does the work. Pure of wire types.
    fn call(
        &self,
        args: Self::Args,
        context: &CallContext,
    ) -> impl Future<Output = Result<ToolAnswer<Self::Answer>, ToolError>> + Send;
}

/// What a list says of a tool.
#[derive(Debug, Clone, Default)]
pub struct ToolInfo {
    /// Its name with its provider.
    pub name: String,
    /// For people.
    pub title: Option<String>,
    /// For the model.
    pub description: String,
    /// Schema of the arguments.
    pub input_schema: Arc<Object>,
    /// Schema of `structured`.
    pub output_schema: Option<Arc<Object>>,
    /// What a client may assume.
    pub hints: Option<ToolHints>,
    /// `_meta`, passed on as it came.
    pub meta: Option<Object>,
    /// The address of the page that shows its answers. Only clients that have a place for it are told.
    pub app: Option<&'static str>,
    /// Further fields of another server's tool, passed on as they came. They win over what is derived from `hints`.
    pub extra: Object,
    /// It can be called by its name, and no list shows it.
    pub hidden: bool,
    /// How long it may take, where whoever provides it watches the time by himself.
    pub timeout: Option<Duration>,
    /// Why every call fails as the configuration is now; `None` where calls can work.
    pub disabled: Option<DisabledTool>,
}

/// Why a tool is off, and how it is turned on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisabledTool {
    /// In a few words, for lists.
    pub reason: String,
    /// In full, with the setting that turns the tool on.
    pub remedy: String,
}

impl ToolInfo {
    /// What a list tells the model: the description, after the reason where the tool is off.
    pub fn listed_description(&self) -> String {
        match &self.disabled {
            Some(off) => {
                format!("Off: {}; a call answers how to turn it on. {}", off.reason, self.about)
            }
            None => self.description.clone(),
        }
    }
}

/// A tool whose types have been erased.
pub trait AnyTool: Send + Sync {
    /// What it is called by, without the rest of [`AnyTool::info`], which may be long.
    fn name(&self) -> &str;
    /// What a list says of it, as of now.
    fn info(&self) -> ToolInfo;
    /// Parses, runs, serialises. The arguments have already passed the schema.
    fn call<'a>(
        &'a self,
        args: Object,
        context: &'a CallContext,
    ) -> BoxedFuture<'a, Result<ToolOutcome, ToolError>>;
}

struct ErasedTool<T: TypedTool> {
    tool: T,
    /// Made when it is first told: some tools are made anew for each search by name, and then only called.
    output_schema: OnceLock<Arc<Object>>,
}

/// Erases the types once, at registration.
pub fn erase<T: TypedTool>(tool: T) -> Arc<dyn AnyTool> {
    Arc::new(ErasedTool { tool, output_schema: OnceLock::new() })
}

impl<T: TypedTool> AnyTool for ErasedTool<T> {
    fn name(&self) -> &str {
        T::NAME
    }

    fn info(&self) -> ToolInfo {
        let output_schema = || Arc::new(answer_schema::<T::Answer>());
        ToolInfo {
            name: T::NAME.to_owned(),
            title: Some(T::TITLE.to_owned()),
            description: T::DESCRIPTION.to_owned(),
            input_schema: Arc::new(self.tool.input_schema()),
            output_schema: Some(Arc::clone(self.output_schema.get_or_init(output_schema))),
            hints: Some(T::HINTS),
            app: T::APP,
            disabled: self.tool.off(),
            ..ToolInfo::default()
        }
    }

    fn call<'a>(
        &'a self,
        args: Object,
        context: &'a CallContext,
    ) -> BoxedFuture<'a, Result<ToolOutcome, ToolError>> {
        Box::pin(async move {
            let args = serde_json::from_value(Value::Object(args))
                .map_err(|error| ToolError::argument("arguments", error.to_string()))?;
            let answer = self.tool.call(args, context).await?;
            let structured = serde_json::to_value(answer.structured)
                .map_err(|error| ToolError::Bug(Box::new(error)))?;
            Ok(ToolOutcome {
                content: answer.content,
                structured: Some(structured),
                is_error: false,
                partial: answer.partial,
                meta: None,
            })
        })
    }
}
