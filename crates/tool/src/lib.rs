//! Defines what a tool is, independent of how it is reached.
//!
//! A [`TypedTool`] has typed arguments and a typed answer; [`erase`] turns it into the [`AnyTool`] stored in a catalogue. A
//! [`ToolProvider`] offers tools, resources and prompts. A [`CallContext`] is everything a running call knows about its
//! caller. This crate must not know the wire, a transport, or any concrete tool.

mod answer;
mod app;
mod context;
mod error;
mod provider;
mod schema;
mod template;
mod tool;

pub use answer::{
    AnswerBlock, Contents, EXTRA, ResourceInfo, TemplateInfo, ToolAnswer, ToolOutcome,
};
pub use app::App;
pub use context::{
    CallClient, CallContext, CallStop, ClientQuery, InnerRound, Progress, ShareSlot, SyslogLevel,
    WorkSlot, current_lane, no_client,
};
pub use error::{FailureKind, InputNeeded, ToolError, ToolFailure};
pub use provider::{
    CompletionRequest, CompletionTarget, CompletionValues, PromptAnswer, PromptArgument,
    PromptInfo, PromptMessage, PromptRole, ProviderChange, ResourceReading, ToolProvider,
};
pub use schema::{answer_schema, argument_schema};
pub use template::UriTemplate;
pub use tool::{AnyTool, DisabledTool, ToolHints, ToolInfo, TypedTool, erase};

/// A boxed future, as object-safe traits need.
pub type BoxedFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A JSON object.
pub type Object = serde_json::Map<String, serde_json::Value>;
