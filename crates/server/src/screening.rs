//! What leaves for a model is screened first: secrets are taken out, and what a person can't see is made visible.

use crate::verbatim;
use docent_screen::{Options, Screen, visible, visible_json};
use docent_tool::Block;
use rmcp::{
    ErrorData,
    model::{CallToolResult, ContentBlock, MetaObject, PromptMessage, ResourceContents},
};
use serde_json::Value;
use std::{
    borrow::Cow,
    fmt,
    sync::{Arc, OnceLock},
};

/// How answers are screened. Cheap to clone; the default lets everything through.
#[derive(Clone, Default)]
pub struct Screening {
    secrets: Option<Arc<Secrets>>,
    hidden: bool,
}

struct Secrets {
    known: Vec<String>,
    /// Made with the first answer: a server that is only started and stopped need not wait for it.
    screen: OnceLock<Screen>,
}

impl fmt::Debug for Screening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Screening")
            .field("secrets", &self.secrets.is_some())
            .field("hidden", &self.hidden)
            .finish()
    }
}

impl Screening {
    /// Takes out `known` secrets and whatever looks like one, unless it is `None`; shows what is hidden, if so asked.
    pub fn new(known: Option<Vec<String>>, hidden: bool) -> Self {
        let secrets = known.map(|known| Arc::new(Secrets { known, screen: OnceLock::new() }));
        Self { secrets, hidden }
    }

    fn screen(&self) -> Option<&Screen> {
        let secrets = self.secrets.as_ref()?;
        Some(secrets.screen.get_or_init(|| Screen::new(secrets.known.clone(), Options::default())))
    }

    fn text(&self, text: &mut String) {
        if let Some(Cow::Owned(redacted)) = self.screen().map(|screen| screen.redact(text)) {
            *text = redacted;
        }
        if self.hidden
            && let Cow::Owned(shown) = visible(text)
        {
            *text = shown;
        }
    }

    /// A text as it may be told.
    pub(crate) fn told(&self, text: &str) -> String {
        let mut told = text.to_owned();
        self.text(&mut told);
        told
    }

    /// Any JSON.
    pub(crate) fn value(&self, value: &mut Value) {
        if let Some(screen) = self.screen() {
            screen.redact_json(value);
        }
        if self.hidden {
            visible_json(value);
        }
    }

    /// A whole answer of a tool.
    pub(crate) fn result(&self, result: &mut CallToolResult) {
        result.content.iter_mut().for_each(|block| self.content(block));
        self.meta(result.meta.as_mut());
        if let Some(structured) = &mut result.structured_content {
            self.value(structured);
        }
    }

    /// What a resource holds.
    pub(crate) fn contents(&self, contents: &mut ResourceContents) {
        match contents {
            ResourceContents::TextResourceContents { text, meta, .. } => {
                self.text(text);
                self.meta(meta.as_mut());
            }
            ResourceContents::BlobResourceContents { meta, .. } => self.meta(meta.as_mut()),
            _ => {}
        }
    }

    /// Fields that no type knows, where they travel.
    pub(crate) fn meta(&self, meta: Option<&mut MetaObject>) {
        if let Some(kept) = verbatim::kept_in(meta) {
            self.value(kept);
        }
    }

    /// One message of a prompt.
    pub(crate) fn message(&self, message: &mut PromptMessage) {
        self.content(&mut message.content);
    }

    fn content(&self, block: &mut ContentBlock) {
        match block {
            ContentBlock::Text(text) => self.text(&mut text.text),
            ContentBlock::Resource(embedded) => self.contents(&mut embedded.resource),
            _ => {}
        }
        if let Some(kept) = verbatim::kept(block) {
            self.value(kept);
        }
    }

    /// A piece of an answer that goes before the rest.
    pub(crate) fn block(&self, block: &mut Block) {
        if let Block::Text { text, .. } = block {
            self.text(text);
        }
    }

    /// An error of the protocol.
    pub(crate) fn error(&self, mut error: ErrorData) -> ErrorData {
        let mut message = error.message.into_owned();
        self.text(&mut message);
        error.message = message.into();
        if let Some(data) = &mut error.data {
            self.value(data);
        }
        error
    }
}
