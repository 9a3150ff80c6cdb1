//! Sources of tools, resources and prompts.

use crate::{
    AnswerBlock, AnyTool, App, BoxedFuture, CallContext, Contents, Object, ResourceInfo,
    SyslogLevel, TemplateInfo, ToolError,
};
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::broadcast;

/// A source of tools, resources and prompts: a built-in suite, or another server.
///
/// Every method has a default that offers nothing, so a provider implements only what it has.
pub trait ToolProvider: Send + Sync {
    /// Names the provider in routes, scopes (`code:*`) and audit lines.
    fn key(&self) -> &str;

    /// Other providers that it currently represents, each with a key of its own. It reports their changes.
    fn parts(&self) -> Vec<Arc<dyn ToolProvider>> {
        Vec::new()
    }

    /// Waits until its lists are known, for as long as a list request may wait.
    fn settled(&self) -> BoxedFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Its current tools.
    fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        Vec::new()
    }

    /// The pages that show its tools' results. Other providers may have the same ones.
    fn apps(&self) -> Vec<App> {
        Vec::new()
    }

    /// Its current resources.
    fn resources(&self) -> BoxedFuture<'_, Vec<ResourceInfo>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    /// Whether its resources are listed after those of all others, because they are many.
    fn is_listed_last(&self) -> bool {
        false
    }

    /// Whether it needs a thread to list, describe and complete. A provider that only waits for I/O leaves its client's
    /// threads to calls.
    fn needs_thread(&self) -> bool {
        true
    }

    /// Describes some of its resources, in order, if descriptions are expensive: only those on the requested page are
    /// described. `None` leaves a resource as `resources` lists it.
    fn describe(&self, _uris: Vec<String>) -> BoxedFuture<'_, Vec<Option<String>>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    /// The families of resources it has.
    fn templates(&self) -> Vec<TemplateInfo> {
        Vec::new()
    }

    /// Reads one resource; `None` if the address does not belong to it.
    fn read<'a>(
        &'a self,
        _uri: &'a str,
        _context: &'a CallContext,
    ) -> BoxedFuture<'a, Option<Result<ResourceReading, ToolError>>> {
        Box::pin(std::future::ready(None))
    }

    /// Starts watching an address for changes; `false` if the address does not belong to it.
    fn watch(&self, _uri: &str) -> bool {
        false
    }

    /// Whether changes to this address can be watched, without starting to.
    fn can_watch(&self, uri: &str) -> bool {
        let can = self.watch(uri);
        if can {
            self.unwatch(uri);
        }
        can
    }

    /// Whether this address belongs to it, even if changes cannot be watched.
    fn owns(&self, _uri: &str) -> bool {
        false
    }

    /// Stops watching an address.
    fn unwatch(&self, _uri: &str) {}

    /// Its current prompts.
    fn prompts(&self) -> Vec<PromptInfo> {
        Vec::new()
    }

    /// Renders one of its prompts. The required arguments are present.
    fn prompt<'a>(
        &'a self,
        name: &'a str,
        _arguments: &'a Object,
        _context: &'a CallContext,
    ) -> BoxedFuture<'a, Result<PromptAnswer, ToolError>> {
        Box::pin(std::future::ready(Err(ToolError::not_found(format!("unknown prompt: {name}")))))
    }

    /// Completions of an argument of one of its prompts or templates; empty if it has none.
    fn complete<'a>(&'a self, _asked: &'a CompletionRequest) -> BoxedFuture<'a, CompletionValues> {
        Box::pin(std::future::ready(CompletionValues::default()))
    }

    /// Sets the least urgent level that some client wants.
    fn set_level(&self, _level: SyslogLevel) {}

    /// Its changes at run time; `None` if it never changes.
    fn changes(&self) -> Option<broadcast::Receiver<ProviderChange>> {
        None
    }
}

/// A change of a provider.
#[derive(Debug, Clone, PartialEq)]
pub enum ProviderChange {
    /// The list of tools, or the schema of one.
    Tools,
    /// The list of resources.
    Resources,
    /// The list of prompts.
    Prompts,
    /// The contents of one resource.
    Updated(String),
    /// A log message that belongs to no call, for clients that listen at its level.
    Said {
        /// The key of the originating provider.
        provider: String,
        /// How urgent.
        level: SyslogLevel,
        /// The logger's name.
        logger: String,
        /// The message.
        data: Value,
        /// Further fields of another server's message, passed on unchanged.
        extra: Object,
    },
}

/// The contents of a resource.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResourceReading {
    /// The resource, or its parts.
    pub contents: Vec<Contents>,
    /// `_meta`, passed on unchanged.
    pub meta: Option<Object>,
}

impl From<Vec<Contents>> for ResourceReading {
    fn from(contents: Vec<Contents>) -> Self {
        Self { contents, meta: None }
    }
}

/// A completion request.
#[derive(Debug, Clone, PartialEq)]
pub struct CompletionRequest {
    /// What to complete.
    pub target: CompletionTarget,
    /// The argument or variable.
    pub argument: String,
    /// The part of its value typed so far.
    pub typed: String,
    /// The arguments that already have values.
    pub known: Object,
    /// The client's `_meta` of this request, without the protocol's own keys.
    pub meta: Object,
}

impl CompletionRequest {
    /// A request without other known arguments.
    pub fn new(
        target: CompletionTarget,
        argument: impl Into<String>,
        typed: impl Into<String>,
    ) -> Self {
        let (known, meta) = (Object::new(), Object::new());
        Self { target, argument: argument.into(), typed: typed.into(), known, meta }
    }

    /// The target, the argument, and the part typed so far.
    pub fn parts(&self) -> (&CompletionTarget, &str, &str) {
        (&self.target, &self.argument, &self.typed)
    }
}

/// Completion values.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CompletionValues {
    /// The best of them.
    pub values: Vec<String>,
    /// Total number of values, if known.
    pub total: Option<u32>,
    /// Whether there are further values, if known.
    pub more: Option<bool>,
    /// `_meta`, passed on unchanged.
    pub meta: Option<Object>,
}

impl From<Vec<String>> for CompletionValues {
    fn from(values: Vec<String>) -> Self {
        let total = u32::try_from(values.len()).ok();
        Self { values, total, more: Some(false), meta: None }
    }
}

/// What to complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompletionTarget {
    /// An argument of the prompt with this name.
    Prompt(String),
    /// A variable of this template.
    Template(String),
}

/// A prompt as listed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PromptInfo {
    /// Its name.
    pub name: String,
    /// For people.
    pub title: Option<String>,
    /// Its description.
    pub about: Option<String>,
    /// Its arguments.
    pub arguments: Vec<PromptArgument>,
    /// Further fields of another server's prompt, passed on unchanged.
    pub extra: Object,
}

/// One argument of a prompt.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// Its description.
    pub about: Option<String>,
    /// Whether it is required.
    pub required: bool,
}

/// A rendered prompt.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PromptAnswer {
    /// Its description.
    pub about: Option<String>,
    /// Its messages.
    pub messages: Vec<PromptMessage>,
    /// `_meta`, passed on unchanged.
    pub meta: Option<Object>,
}

/// One message of a rendered prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptMessage {
    /// The speaker.
    pub role: PromptRole,
    /// The content.
    pub content: AnswerBlock,
}

/// The speaker of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptRole {
    /// The user.
    User,
    /// The model.
    Assistant,
}
