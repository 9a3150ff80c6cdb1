//! Screens everything that is sent to a model: removes secrets, and makes invisible characters visible.

use crate::verbatim;
use docent_screen::{KeepMember, Screen, ScreenOptions, visible, visible_json, visible_json_but};
use docent_tool::{AnswerBlock, ClientQuery, Contents, Object, ToolError, ToolOutcome};
use rmcp::{
    ErrorData,
    model::{
        CallToolResult, ContentBlock, ErrorCode, MetaObject, Prompt, PromptMessage, Resource,
        ResourceContents, ResourceTemplate,
    },
};
use serde_json::Value;
use std::{
    borrow::Cow,
    fmt,
    sync::{Arc, OnceLock},
};

/// How answers are screened. Cheap to clone; the default changes nothing.
#[derive(Clone, Default)]
pub struct Screening {
    secrets: Option<Arc<SecretScreening>>,
    hidden: bool,
}

struct SecretScreening {
    known: Vec<String>,
    /// Created with the first answer, so that starting a server does not wait for it.
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
    /// Redacts `known` secrets and anything that looks like one, unless it is `None`; makes invisible characters
    /// visible, if requested.
    pub fn new(known: Option<Vec<String>>, hidden: bool) -> Self {
        let secrets =
            known.map(|known| Arc::new(SecretScreening { known, screen: OnceLock::new() }));
        Self { secrets, hidden }
    }

    fn screen(&self) -> Option<&Screen> {
        let secrets = self.secrets.as_ref()?;
        Some(
            secrets
                .screen
                .get_or_init(|| Screen::new(secrets.known.clone(), ScreenOptions::default())),
        )
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

    /// A screened copy of a text.
    pub(crate) fn screen_text(&self, text: &str) -> String {
        let mut screened = text.to_owned();
        self.text(&mut screened);
        screened
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

    /// Protocol JSON, in which some fields must stay unchanged.
    pub(crate) fn fields(&self, value: &mut Value) {
        self.redact_fields(value);
        self.show_fields(value);
    }

    fn redact_fields(&self, value: &mut Value) {
        if let Some(screen) = self.screen() {
            screen.redact_json_but(value, stays);
        }
    }

    fn show_fields(&self, value: &mut Value) {
        if self.hidden {
            visible_json_but(value, stays);
        }
    }

    fn object(&self, object: &mut Object) {
        let mut whole = Value::Object(std::mem::take(object));
        self.fields(&mut whole);
        if let Value::Object(screened) = whole {
            *object = screened;
        }
    }

    /// A tool's complete result.
    pub(crate) fn result(&self, result: &mut CallToolResult) {
        result.content.iter_mut().for_each(|block| self.content(block));
        self.meta(result.meta.as_mut());
        if let Some(structured) = &mut result.structured_content {
            self.value(structured);
        }
    }

    /// The contents of a resource.
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

    /// The `_meta` of an answer, which also carries fields unknown to its type.
    pub(crate) fn meta(&self, meta: Option<&mut MetaObject>) {
        if let Some(fields) = meta.map(|meta| &mut meta.0) {
            self.object(fields);
        }
    }

    /// The texts that describe an item, but not its name and address.
    fn about<const N: usize>(&self, texts: [&mut Option<String>; N]) {
        texts.into_iter().flatten().for_each(|text| self.text(text));
    }

    /// A resource in a list.
    pub(crate) fn resource(&self, resource: &mut Resource) {
        self.about([&mut resource.title, &mut resource.description]);
        self.meta(resource.meta.as_mut());
    }

    /// A template in a list.
    pub(crate) fn template(&self, template: &mut ResourceTemplate) {
        self.about([&mut template.title, &mut template.description]);
        self.meta(template.meta.as_mut());
    }

    /// A prompt in a list.
    pub(crate) fn prompt(&self, prompt: &mut Prompt) {
        self.about([&mut prompt.title, &mut prompt.description]);
        for argument in prompt.arguments.iter_mut().flatten() {
            self.about([&mut argument.title, &mut argument.description]);
        }
        self.meta(prompt.meta.as_mut());
    }

    /// One message of a prompt.
    pub(crate) fn message(&self, message: &mut PromptMessage) {
        self.content(&mut message.content);
    }

    /// A block of content, as it is sent.
    pub(crate) fn content(&self, block: &mut ContentBlock) {
        match block {
            ContentBlock::Text(text) => self.text(&mut text.text),
            ContentBlock::Resource(embedded) => self.contents(&mut embedded.resource),
            // Its name and its address identify it.
            ContentBlock::ResourceLink(link) => {
                self.about([&mut link.title, &mut link.description]);
            }
            _ => {}
        }
        self.meta(verbatim::beside(block));
    }

    /// A piece of an answer that is kept until the rest is ready.
    pub(crate) fn block(&self, block: &mut AnswerBlock) {
        if let AnswerBlock::Text { text, metadata, .. } = block {
            self.text(text);
            if let Some(metadata) = metadata {
                self.object(metadata);
            }
        }
    }

    /// Screens what one tool returns to another, which could forward a secret: secrets are removed. Invisible
    /// characters stay, because they may be data, and the final answer is screened before it is sent.
    pub(crate) fn within(
        &self,
        ended: Result<ToolOutcome, ToolError>,
    ) -> Result<ToolOutcome, ToolError> {
        let screening = Self { secrets: self.secrets.clone(), hidden: false };
        ended.map(|it| screening.outcome(it)).map_err(|error| screening.tool_error(error))
    }

    fn outcome(&self, mut outcome: ToolOutcome) -> ToolOutcome {
        outcome.content.iter_mut().for_each(|block| self.piece(block));
        if let Some(structured) = &mut outcome.structured {
            self.value(structured);
        }
        if let Some(meta) = &mut outcome.meta {
            self.object(meta);
        }
        outcome
    }

    /// A piece of an answer of any kind, without its secrets.
    fn piece(&self, block: &mut AnswerBlock) {
        match block {
            AnswerBlock::Raw(value) | AnswerBlock::Embedded(Contents::Raw(value)) => {
                if let Some(screen) = self.screen() {
                    screen.redact_json_but(value, stays_in_block);
                }
            }
            AnswerBlock::Embedded(Contents::Text { text, .. }) => self.text(text),
            AnswerBlock::Link(info) => {
                self.about([&mut info.title, &mut info.about]);
                self.object(&mut info.extra);
            }
            other => self.block(other),
        }
    }

    fn tool_error(&self, error: ToolError) -> ToolError {
        match error {
            ToolError::Argument { field, problem } => {
                ToolError::argument(self.screen_text(&field), self.screen_text(&problem))
            }
            ToolError::Failed(mut failure) => {
                self.text(&mut failure.message);
                self.about([&mut failure.hint]);
                ToolError::Failed(failure)
            }
            ToolError::Refused { code, message, data } => {
                let error = self.error(ErrorData::new(ErrorCode(code), message, data));
                let message = error.message.into_owned();
                ToolError::Refused { code: error.code.0, message, data: error.data }
            }
            // Questions are screened when they are sent to the client, and the rest has no text of a server's.
            other => other,
        }
    }

    /// A question to the client: its model may read it, and a person does. A question to open a page is refused if its
    /// address contains a secret: without the secret, the address does not work.
    pub(crate) fn question(&self, ask: &mut ClientQuery) -> Result<(), ToolError> {
        match ask {
            ClientQuery::Sample(params) => self.fields(params),
            ClientQuery::Elicit(params) => {
                let before = page_of(params).cloned();
                self.redact_fields(params);
                if page_of(params) != before.as_ref() {
                    return Err(ToolError::failed(SECRET_IN_URL_MESSAGE));
                }
                self.show_fields(params);
            }
            ClientQuery::Roots => {}
        }
        Ok(())
    }

    /// A protocol error.
    pub(crate) fn error(&self, mut error: ErrorData) -> ErrorData {
        let mut message = error.message.into_owned();
        self.text(&mut message);
        error.message = message.into();
        if let Some(data) = &mut error.data {
            let before: Vec<Value> = pages_of(data).cloned().collect();
            self.redact_fields(data);
            if !pages_of(data).eq(&before) {
                return ErrorData::internal_error(SECRET_IN_URL_MESSAGE, None);
            }
            self.show_fields(data);
        }
        error
    }
}

const SECRET_IN_URL_MESSAGE: &str = "the client was not asked to open this page: its address seems to contain a secret, and would \
                         not work without it; the setting `policy.redaction.secrets` removes it";

/// The address of the page that a question is about.
fn page_of(question: &Value) -> Option<&Value> {
    question.get("url").filter(|_| question.get("mode").is_some_and(|mode| mode == "url"))
}

/// The addresses of the pages that an error asks the user to visit first.
fn pages_of(data: &Value) -> impl Iterator<Item = &Value> {
    let asked = data.get("elicitations").and_then(Value::as_array);
    asked.into_iter().flatten().filter_map(page_of)
}

/// Identifiers must be returned to the peer unchanged, and images are not text.
fn stays(of: &Object, name: &str) -> KeepMember {
    let kind = of.get("type").and_then(Value::as_str).unwrap_or_default();
    let known = match name {
        "progressToken" | "taskId" | "elicitationId" | "toolUseId" | "traceparent"
        | "tracestate" => true,
        "id" => kind == "tool_use",
        "data" => matches!(kind, "image" | "audio"),
        "blob" => of.contains_key("uri"),
        // The names of a schema are those of the answer.
        "properties" if kind == "object" => return KeepMember::Names,
        "required" => are_names(of),
        _ => false,
    };
    let is_nested = of.get(name).is_some_and(|value| value.is_object() || value.is_array());
    if known && (name == "required" || !is_nested) {
        KeepMember::Whole
    } else {
        KeepMember::Nothing
    }
}

/// The same in a content block, which also has the name and address that identify a resource.
fn stays_in_block(of: &Object, name: &str) -> KeepMember {
    let is_link = of.get("type").is_some_and(|kind| kind == "resource_link");
    let is_held = !of.contains_key("type") && (of.contains_key("text") || of.contains_key("blob"));
    let is_known_by = match name {
        "uri" => is_link || is_held,
        "name" => is_link,
        _ => false,
    };
    if is_known_by && of.get(name).is_some_and(Value::is_string) {
        return KeepMember::Whole;
    }
    stays(of, name)
}

/// Whether the names that a schema requires are among its properties.
fn are_names(schema: &Object) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    properties.zip(required).is_some_and(|(properties, required)| {
        required.iter().all(|name| name.as_str().is_some_and(|name| properties.contains_key(name)))
    })
}
