//! Typed tools, and their type-erased form.

use crate::{
    BoxedFuture, CallContext, Object, ToolAnswer, ToolError, ToolOutcome, answer_schema,
    argument_schema,
};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

/// What a client may assume about a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "the protocol has four independent hints")]
pub struct ToolHints {
    /// Modifies nothing.
    pub read_only: bool,
    /// May destroy something.
    pub destructive: bool,
    /// Repeating a call with the same arguments has no further effect.
    pub idempotent: bool,
    /// Reaches beyond this machine.
    pub open_world: bool,
}

impl ToolHints {
    /// Reads local data, modifies nothing.
    pub const READS: Self =
        Self { read_only: true, destructive: false, idempotent: true, open_world: false };
    /// Reads the network, modifies nothing.
    pub const READS_WEB: Self =
        Self { read_only: true, destructive: false, idempotent: true, open_world: true };
}

/// A tool with typed arguments and a typed answer.
pub trait TypedTool: Send + Sync + 'static {
    /// Published to clients: 1-128 of `A-Z a-z 0-9 _ - . /`; some clients take no more than 64 of `A-Z a-z 0-9 _ -`.
    const NAME: &'static str;
    /// For people.
    const TITLE: &'static str;
    /// For the model: what it does and when to use it.
    const DESCRIPTION: &'static str;
    /// What a client may assume.
    const HINTS: ToolHints = ToolHints::READS;
    /// The address of the page that shows its results, one of its provider's.
    const APP: Option<&'static str> = None;
    /// Arguments.
    type Args: DeserializeOwned + JsonSchema + Send;
    /// Answer.
    type Answer: Serialize + JsonSchema + Send;

    /// Schema of the arguments. Override to narrow it with run-time knowledge, such as the values of an enum.
    fn input_schema(&self) -> Object {
        argument_schema::<Self::Args>()
    }

    /// Why every call would fail with the current configuration.
    fn off(&self) -> Option<DisabledTool> {
        None
    }

    /// Runs the tool. Independent of wire types.
    fn call(
        &self,
        args: Self::Args,
        context: &CallContext,
    ) -> impl Future<Output = Result<ToolAnswer<Self::Answer>, ToolError>> + Send;
}

/// A tool's entry in a list.
#[derive(Debug, Clone, Default)]
pub struct ToolInfo {
    /// Its name, prefixed by its provider.
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
    /// `_meta`, passed on unchanged.
    pub meta: Option<Object>,
    /// The address of the page that shows its results. Only sent to clients that can display it.
    pub app: Option<&'static str>,
    /// Further fields of another server's tool, passed on unchanged. They win over fields derived from `hints`.
    pub extra: Object,
    /// Not listed, but can be called by name.
    pub hidden: bool,
    /// The timeout, if the provider enforces it itself.
    pub timeout: Option<Duration>,
    /// Why every call fails with the current configuration; `None` if calls can work.
    pub disabled: Option<DisabledTool>,
}

/// Why a tool is off, and how to turn it on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisabledTool {
    /// In a few words, for lists.
    pub reason: String,
    /// In full, with the setting that turns the tool on.
    pub remedy: String,
}

impl ToolInfo {
    /// The listed description: preceded by the reason if the tool is off.
    pub fn listed_description(&self) -> String {
        match &self.disabled {
            Some(off) => {
                format!(
                    "Off: {}; call it to see how to turn it on. {}",
                    off.reason, self.description
                )
            }
            None => self.description.clone(),
        }
    }
}

/// A type-erased tool.
pub trait AnyTool: Send + Sync {
    /// Its name, without computing the rest of [`AnyTool::info`], which may be long.
    fn name(&self) -> &str;
    /// Its current entry in a list.
    fn info(&self) -> ToolInfo;
    /// Parses, runs, serializes. The arguments have already been validated against the schema.
    fn call<'a>(
        &'a self,
        args: Object,
        context: &'a CallContext,
    ) -> BoxedFuture<'a, Result<ToolOutcome, ToolError>>;
}

struct ErasedTool<T: TypedTool> {
    tool: T,
    /// Built on first use: some tools are rebuilt for each search by name, and then only called.
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
