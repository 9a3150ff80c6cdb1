//! The result of a call: blocks for the model, a typed value for programs.

use crate::Object;
use serde_json::Value;

/// One piece of content, as the model reads it.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerBlock {
    /// Plain or Markdown text.
    Text {
        /// The text.
        text: String,
        /// The source of the text, for dialects that carry it beside the text.
        metadata: Option<Object>,
        /// Match score; higher is better.
        score: Option<f64>,
    },
    /// An image.
    Image {
        /// Base64.
        data: String,
        /// Media type.
        mime: String,
    },
    /// Audio.
    Audio {
        /// Base64.
        data: String,
        /// Media type.
        mime: String,
    },
    /// A resource that can be read later.
    Link(ResourceInfo),
    /// A resource including its contents.
    Embedded(Contents),
    /// Content of another server, passed on unchanged.
    Raw(Value),
}

impl AnswerBlock {
    /// Text without metadata.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), metadata: None, score: None }
    }
}

/// A resource as listed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResourceInfo {
    /// Its address.
    pub uri: String,
    /// Short name.
    pub name: String,
    /// Name for people.
    pub title: Option<String>,
    /// Its description.
    pub about: Option<String>,
    /// Media type.
    pub mime: Option<String>,
    /// Bytes, where known.
    pub size: Option<u64>,
    /// Further fields of another server's resource, passed on unchanged.
    pub extra: Object,
}

/// A family of resources.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TemplateInfo {
    /// RFC 6570 template.
    pub uri_template: String,
    /// Short name.
    pub name: String,
    /// Name for people.
    pub title: Option<String>,
    /// Description of its members.
    pub about: Option<String>,
    /// Media type of its members.
    pub mime: Option<String>,
    /// Further fields of another server's template, passed on unchanged.
    pub extra: Object,
}

/// The contents of one resource.
#[derive(Debug, Clone, PartialEq)]
pub enum Contents {
    /// Text.
    Text {
        /// Its address.
        uri: String,
        /// Media type.
        mime: Option<String>,
        /// The text.
        text: String,
    },
    /// Bytes.
    Blob {
        /// Its address.
        uri: String,
        /// Media type.
        mime: Option<String>,
        /// Base64.
        blob: String,
    },
    /// Contents of another server, passed on unchanged.
    Raw(Value),
}

/// A tool's answer: `structured` matches the tool's schema, `content` is the same for a model.
#[derive(Debug, Clone)]
pub struct ToolAnswer<T> {
    /// For programs.
    pub structured: T,
    /// For the model, after the blocks that the call has already emitted.
    pub content: Vec<AnswerBlock>,
    /// The call was stopped before it finished.
    pub partial: bool,
}

impl<T> ToolAnswer<T> {
    /// An answer with one block of text.
    pub fn new(structured: T, text: impl Into<String>) -> Self {
        Self { structured, content: vec![AnswerBlock::text(text)], partial: false }
    }

    /// Adds a block.
    #[must_use]
    pub fn with(mut self, block: AnswerBlock) -> Self {
        self.content.push(block);
        self
    }

    /// Marks the answer as truncated by the deadline.
    #[must_use]
    pub fn partial(mut self, partial: bool) -> Self {
        self.partial = partial;
        self
    }
}

/// The `_meta` key for fields of another server's answer that have no place of their own.
pub const EXTRA: &str = "docent/extra";

/// A type-erased answer; what tools in a catalogue return.
#[derive(Debug, Clone, Default)]
pub struct ToolOutcome {
    /// For the model.
    pub content: Vec<AnswerBlock>,
    /// For programs.
    pub structured: Option<Value>,
    /// The tool ran and failed; `content` describes the failure.
    pub is_error: bool,
    /// The call was stopped before it finished.
    pub partial: bool,
    /// `_meta`, passed on unchanged.
    pub meta: Option<Object>,
}
