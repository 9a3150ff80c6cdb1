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

pub use answer::{ToolAnswer, AnswerBlock, Contents, EXTRA, ToolOutcome, ResourceInfo, TemplateInfo};
pub use app::App;
pub use context::{
    ClientQuery, CallClient, CallContext, InnerRound, SyslogLevel, Progress, ShareSlot, CallStop, WorkSlot, current_lane,
    no_client,
};
pub use error::{ToolFailure, FailureKind, InputNeeded, ToolError};
pub use provider::{
    ProviderChange, CompletionValues, CompletionRequest, CompletionTarget, PromptAnswer, PromptArgument, PromptInfo,
    PromptMessage, ToolProvider, ResourceReading, PromptRole,
};
pub use schema::{answer_schema, argument_schema};
pub use template::UriTemplate;
pub use tool::{AnyTool, ToolHints, DisabledTool, TypedTool, ToolInfo, erase};

/// A boxed future, as object-safe traits need.
pub type BoxedFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A JSON object.
pub type Object = serde_json::Map<String, serde_json::Value>;
