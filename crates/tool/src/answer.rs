//! What a call gives back: blocks for the model, a typed value for programs.

use crate::Object;
use serde_json::Value;

/// One piece of content, as the model reads it.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerBlock {
    /// Plain or Markdown text.
    Text {
        /// The text.
        text: String,
        /// Where it comes from, for dialects that carry it beside the text.
        metadata: Option<Object>,
        /// How well it matches, higher is better.
        score: Option<f64>,
    },
    /// A picture.
    Image {
        /// Base64.
        data: String,
        /// Media type.
        mime: String,
    },
    /// A sound.
    Audio {
        /// Base64.
        data: String,
        /// Media type.
        mime: String,
    },
    /// A resource that can be read later.
    Link(ResourceInfo),
    /// A resource, contents and all.
    Embedded(Contents),
    /// Content of another server, passed on as it came.
    Raw(Value),
}

impl AnswerBlock {
    /// Text with nothing beside it.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), metadata: None, score: None }
    }
}

/// A resource as a list shows it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResourceInfo {
    /// Its address.
    pub uri: String,
    /// Short name.
    pub name: String,
    /// Name for people.
    pub title: Option<String>,
    /// What is in it.
    pub about: Option<String>,
    /// Media type.
    pub mime: Option<String>,
    /// Bytes, where known.
    pub size: Option<u64>,
    /// Further fields of another server's resource, passed on as they came.
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
    /// What its members hold.
    pub about: Option<String>,
    /// Media type of its members.
    pub mime: Option<String>,
    /// Further fields of another server's template, passed on as they came.
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
    /// Contents of another server, passed on as they came.
    Raw(Value),
}

/// A tool's answer: `structured` is what its schema promises, `content` is the same thing told to a model.
#[derive(Debug, Clone)]
pub struct ToolAnswer<T> {
    /// For programs.
    pub structured: T,
    /// For the model, after whatever the call has already emitted.
    pub content: Vec<AnswerBlock>,
    /// The call was stopped before it had seen everything.
    pub partial: bool,
}

impl<T> ToolAnswer<T> {
    /// An answer with one block of text.
    pub fn new(structured: T, text: impl Into<String>) -> Self {
        Self { structured, content: vec![Block::text(text)], partial: false }
    }

    /// Adds a block.
    #[must_use]
    pub fn with(mut self, block: AnswerBlock) -> Self {
        self.content.push(block);
        self
    }

    /// Marks the answer as cut short by the deadline.
    #[must_use]
    pub fn partial(mut self, partial: bool) -> Self {
        self.partial = partial;
        self
    }
}

/// Where fields of another server's answer that have no place of their own travel in `_meta`.
pub const EXTRA: &str = "docent/extra";

/// An answer whose type has been erased; what a catalogue's tools return.
#[derive(Debug, Clone, Default)]
pub struct ToolOutcome {
    /// For the model.
    pub content: Vec<AnswerBlock>,
    /// For programs.
    pub structured: Option<Value>,
    /// The tool ran and failed, and says so in `content`.
    pub is_error: bool,
    /// The call was stopped before it had seen everything.
    pub partial: bool,
    /// `_meta`, passed on as it came.
    pub meta: Option<Object>,
}
