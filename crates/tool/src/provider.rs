//! Where tools, resources and prompts come from.

use crate::{
    AnyTool, App, AnswerBlock, CallContext, Contents, SyslogLevel, Object, ResourceInfo, BoxedFuture, TemplateInfo,
    ToolError,
};
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::broadcast;

/// A source of tools, resources and prompts: a built-in suite, or another server.
///
/// Every method has a default that offers nothing, so a provider writes only what it has.
pub trait ToolProvider: Send + Sync {
    /// Names the provider in routes, scopes (`code:*`) and audit lines.
    fn key(&self) -> &str;

    /// Other providers that it stands for, as of now, each with a key of its own. A change of theirs is told by this one.
    fn parts(&self) -> Vec<Arc<dyn ToolProvider>> {
        Vec::new()
    }

    /// Waits until it knows what it has, for as long as a list may wait for that.
    fn settled(&self) -> BoxedFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// The tools it has now.
    fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        Vec::new()
    }

    /// The pages that show what its tools answer. Other providers may have the same ones.
    fn apps(&self) -> Vec<App> {
        Vec::new()
    }

    /// The resources it has now.
    fn resources(&self) -> BoxedFuture<'_, Vec<ResourceInfo>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    /// Whether its resources are so many that they are listed after those of all others.
    fn is_listed_last(&self) -> bool {
        false
    }

    /// Whether it needs a thread to list, describe and complete. One that only waits for others leaves its client's
    /// threads to calls.
    fn needs_thread(&self) -> bool {
        true
    }

    /// Describes some of its resources, in their order, where a description takes work: only those on the page that is
    /// shown are described. `None` leaves a resource as `resources` lists it.
    fn describe(&self, _uris: Vec<String>) -> BoxedFuture<'_, Vec<Option<String>>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    /// The families of resources it has.
    fn templates(&self) -> Vec<TemplateInfo> {
        Vec::new()
    }

    /// Reads one resource; `None` where the address is none of its own.
    fn read<'a>(
        &'a self,
        _uri: &'a str,
        _context: &'a CallContext,
    ) -> BoxedFuture<'a, Option<Result<ResourceReading, ToolError>>> {
        Box::pin(std::future::ready(None))
    }

    /// Somebody wants to hear of changes to this address; `false` where it is none of its own.
    fn watch(&self, _uri: &str) -> bool {
        false
    }

    /// Whether changes to this address could be heard of, without doing anything about it.
    fn can_watch(&self, uri: &str) -> bool {
        let can = self.watch(uri);
        if can {
            self.unwatch(uri);
        }
        can
    }

    /// Whether this address is one of its own, though changes to it may not be heard of.
    fn owns(&self, _uri: &str) -> bool {
        false
    }

    /// Nobody listens to this address any more.
    fn unwatch(&self, _uri: &str) {}

    /// The prompts it has now.
    fn prompts(&self) -> Vec<PromptInfo> {
        Vec::new()
    }

    /// Renders one of its prompts. The required arguments are there.
    fn prompt<'a>(
        &'a self,
        name: &'a str,
        _arguments: &'a Object,
        _context: &'a CallContext,
    ) -> BoxedFuture<'a, Result<PromptAnswer, ToolError>> {
        Box::pin(std::future::ready(Err(ToolError::not_found(format!(
            "no prompt is called {name}"
        )))))
    }

    /// Values that complete what has been typed in one of its prompts or templates; empty where it has none to offer.
    fn complete<'a>(&'a self, _asked: &'a CompletionRequest) -> BoxedFuture<'a, CompletionValues> {
        Box::pin(std::future::ready(CompletionValues::default()))
    }

    /// The least urgent level that some client wants to hear of.
    fn set_level(&self, _level: SyslogLevel) {}

    /// What changes while it runs; `None` where nothing ever does.
    fn changes(&self) -> Option<broadcast::Receiver<ProviderChange>> {
        None
    }
}

/// Something changed.
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
    /// A line for the log of whoever listens at that level; it belongs to no call.
    Said {
        /// The key of the provider that it comes from.
        provider: String,
        /// How urgent.
        level: SyslogLevel,
        /// Who says it.
        logger: String,
        /// What is said.
        data: Value,
        /// Further fields of another server's line, passed on as they came.
        extra: Object,
    },
}

/// What a resource holds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResourceReading {
    /// The resource, or those that it is made of.
    pub contents: Vec<Contents>,
    /// `_meta`, passed on as it came.
    pub meta: Option<Object>,
}

impl From<Vec<Contents>> for ResourceReading {
    fn from(contents: Vec<Contents>) -> Self {
        Self { contents, meta: None }
    }
}

/// What has been typed, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct CompletionRequest {
    /// What is being completed.
    pub target: CompletionTarget,
    /// The argument or variable.
    pub argument: String,
    /// What has been typed of its value.
    pub typed: String,
    /// The arguments that already have values.
    pub known: Object,
    /// What the client says of this request in `_meta`, without the protocol's own keys.
    pub meta: Object,
}

impl CompletionRequest {
    /// Nothing else has a value yet.
    pub fn new(
        target: CompletionTarget,
        argument: impl Into<String>,
        typed: impl Into<String>,
    ) -> Self {
        let (known, meta) = (Object::new(), Object::new());
        Self { target, argument: argument.into(), typed: typed.into(), known, meta }
    }

    /// The target, the argument, and what has been typed.
    pub fn parts(&self) -> (&CompletionTarget, &str, &str) {
        (&self.target, &self.argument, &self.typed)
    }
}

/// Values that complete what has been typed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CompletionValues {
    /// The best of them.
    pub values: Vec<String>,
    /// How many there are, where that is known.
    pub total: Option<u32>,
    /// Whether there are more than these, where that is known.
    pub more: Option<bool>,
    /// `_meta`, passed on as it came.
    pub meta: Option<Object>,
}

impl From<Vec<String>> for CompletionValues {
    fn from(values: Vec<String>) -> Self {
        let total = u32::try_from(values.len()).ok();
        Self { values, total, more: Some(false), meta: None }
    }
}

/// What is being completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompletionTarget {
    /// An argument of the prompt with this name.
    Prompt(String),
    /// A variable of this template.
    Template(String),
}

/// A prompt as a list shows it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PromptInfo {
    /// Its name.
    pub name: String,
    /// For people.
    pub title: Option<String>,
    /// What it is for.
    pub about: Option<String>,
    /// What it takes.
    pub arguments: Vec<PromptArgument>,
    /// Further fields of another server's prompt, passed on as they came.
    pub extra: Object,
}

/// One argument of a prompt.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// What to give.
    pub about: Option<String>,
    /// Whether it must be given.
    pub required: bool,
}

/// A rendered prompt.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PromptAnswer {
    /// What it is for.
    pub about: Option<String>,
    /// What to say.
    pub messages: Vec<PromptMessage>,
    /// `_meta`, passed on as it came.
    pub meta: Option<Object>,
}

/// One message of a rendered prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptMessage {
    /// Who says it.
    pub role: PromptRole,
    /// What is said.
    pub content: AnswerBlock,
}

/// Who says a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptRole {
    /// The person.
    User,
    /// The model.
    Assistant,
}
