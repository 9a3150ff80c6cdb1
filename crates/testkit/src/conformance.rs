//! The provider that the official conformance suite expects: its tools, resources, prompts and completions, word for
//! word, and a few more tools that docent's own tests and benches call.

mod asks;
mod content;
pub mod host;
mod literal;
mod load;
mod prompts;
mod resources;
mod tasks;

use docent_tool::{
    AnyTool, BoxedFuture, CallContext, CompletionRequest, CompletionTarget, CompletionValues,
    Object, PromptAnswer, PromptInfo, ProviderChange, ResourceInfo, ResourceReading, TemplateInfo,
    ToolError, ToolProvider,
};
use resources::Ticks;
use std::sync::Arc;
use tokio::sync::broadcast;

/// A red pixel.
const IMAGE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// A sound without samples.
const AUDIO: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

/// How many changes a slow listener may lag behind before it loses some.
const CHANGE_CAPACITY: usize = 64;

/// A provider with everything that the conformance suite expects.
#[derive(Clone)]
pub struct ConformanceFixture {
    tools: Vec<Arc<dyn AnyTool>>,
    changes: broadcast::Sender<ProviderChange>,
    ticks: Ticks,
}

impl std::fmt::Debug for ConformanceFixture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConformanceFixture")
            .field("tools", &self.tools.len())
            .finish_non_exhaustive()
    }
}

impl Default for ConformanceFixture {
    fn default() -> Self {
        Self::new()
    }
}

impl ConformanceFixture {
    /// Creates a fixture that shares nothing with others.
    pub fn new() -> Self {
        let (changes, _) = broadcast::channel(CHANGE_CAPACITY);
        let ticks = Ticks::default();
        let mut tools = content::tools();
        tools.extend(asks::tools());
        tools.extend(tasks::tools());
        tools.extend(load::tools());
        tools.extend(resources::tools(&changes, &ticks));
        Self { tools, changes, ticks }
    }
}

impl ToolProvider for ConformanceFixture {
    fn key(&self) -> &'static str {
        "fixture"
    }

    fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        self.tools.clone()
    }

    fn resources(&self) -> BoxedFuture<'_, Vec<ResourceInfo>> {
        Box::pin(std::future::ready(resources::list()))
    }

    fn templates(&self) -> Vec<TemplateInfo> {
        resources::templates()
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        _context: &'a CallContext,
    ) -> BoxedFuture<'a, Option<Result<ResourceReading, ToolError>>> {
        Box::pin(std::future::ready(
            resources::read(uri, &self.ticks).map(|contents| Ok(vec![contents].into())),
        ))
    }

    fn watch(&self, uri: &str) -> bool {
        resources::read(uri, &self.ticks).is_some()
    }

    fn prompts(&self) -> Vec<PromptInfo> {
        prompts::list()
    }

    fn prompt<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a Object,
        context: &'a CallContext,
    ) -> BoxedFuture<'a, Result<PromptAnswer, ToolError>> {
        Box::pin(prompts::render(name, arguments, context))
    }

    fn complete<'a>(&'a self, asked: &'a CompletionRequest) -> BoxedFuture<'a, CompletionValues> {
        let (target, argument, typed) = asked.parts();
        let known = match target {
            CompletionTarget::Prompt(name) => prompts::values(name, argument),
            CompletionTarget::Template(template) => resources::values(template, argument),
        };
        let fitting =
            known.iter().filter(|value| value.starts_with(typed)).map(|value| (*value).to_owned());
        Box::pin(std::future::ready(fitting.collect::<Vec<_>>().into()))
    }

    fn changes(&self) -> Option<broadcast::Receiver<ProviderChange>> {
        Some(self.changes.subscribe())
    }
}

#[cfg(test)]
mod tests;
