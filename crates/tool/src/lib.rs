//! Defines what a tool is, independent of how it is reached.
//!
//! A [`Tool`] has typed arguments and a typed answer; [`erase`] turns it into the [`AnyTool`] stored in a catalogue. A
//! [`Provider`] offers tools, resources and prompts. A [`CallContext`] is everything a running call knows about its
//! caller. This crate must not know the wire, a transport, or any concrete tool.

mod answer;
mod app;
mod context;
mod error;
mod provider;
mod schema;
mod template;
mod tool;

pub use answer::{Answer, Block, Contents, EXTRA, Outcome, ResourceInfo, TemplateInfo};
pub use app::App;
pub use context::{
    Ask, Audience, CallContext, InnerRound, Level, Progress, Slot, Stop, WorkSlot, current_lane,
    nobody,
};
pub use error::{Failure, FailureKind, InputNeeded, ToolError};
pub use provider::{
    Change, Completed, Completing, CompletionTarget, PromptAnswer, PromptArgument, PromptInfo,
    PromptMessage, Provider, Reading, Role,
};
pub use schema::{answer_schema, argument_schema};
pub use template::Template;
pub use tool::{AnyTool, Hints, Off, Tool, ToolInfo, erase};

/// A boxed future, as object-safe traits need.
pub type Running<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A JSON object.
pub type Object = serde_json::Map<String, serde_json::Value>;
