//! Tools of downstream servers, as docent's own clients call them.

use super::{DownstreamServer, cache, catalog::ToolDefinition, exchange::ExchangeRequest};
use crate::parts::{CollectedParts, MAX_BLOCKS, PROTOCOL_FIELDS, content_blocks, shown_fields};
use docent_dial::headers;
use docent_screen::{visible, visible_json};
use docent_tool::{
    AnswerBlock, AnyTool, BoxedFuture, CallContext, EXTRA, FailureKind, Object, ToolError,
    ToolFailure, ToolInfo, ToolOutcome,
};
use serde_json::{Value, json};
use std::sync::Arc;

/// Key in `_meta` of a result that names its server and tool.
pub(crate) const ORIGIN_META_KEY: &str = "docent/origin";

/// A tool of a server.
pub(crate) struct ProxiedTool {
    pub(crate) server: Arc<DownstreamServer>,
    pub(crate) definition: Arc<ToolDefinition>,
    pub(crate) hidden: bool,
}

/// Makes hidden characters visible in text that a model reads.
pub(crate) fn make_visible(object: Object) -> Object {
    let mut value = Value::Object(object);
    visible_json(&mut value);
    match value {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}

impl AnyTool for ProxiedTool {
    fn name(&self) -> &str {
        self.definition.public.as_str()
    }

    fn info(&self) -> ToolInfo {
        let definition = &self.definition;
        let mut fields = definition.fields.clone();
        let mut object = |name: &str| match fields.remove(name) {
            Some(Value::Object(object)) => Some(object),
            _ => None,
        };
        let mut input = object("inputSchema").unwrap_or_default();
        input.entry("type").or_insert_with(|| "object".into());
        let output = object("outputSchema").map(make_visible);
        let meta = object("_meta").map(make_visible);
        let input = make_visible(input);
        let about = definition.about(self.server.spec()).unwrap_or_default();
        let info = ToolInfo {
            name: definition.public.clone(),
            title: definition.text("title").map(|title| visible(title).into_owned()),
            description: visible(about).into_owned(),
            input_schema: Arc::new(input),
            output_schema: output.map(Arc::new),
            hints: None,
            // A server's app page is named in `_meta`, unchanged.
            app: None,
            meta,
            hidden: self.hidden,
            // The hub enforces the timeout of each call itself, before this one.
            timeout: Some(self.server.spec().max_exchange_time(definition.is_task())),
            disabled: None,
            extra: Object::new(),
        };
        // docent runs a server's task as an ordinary call.
        for known in ["name", "title", "description", "execution"] {
            fields.remove(known);
        }
        ToolInfo { extra: make_visible(fields), ..info }
    }

    fn call<'a>(
        &'a self,
        args: Object,
        context: &'a CallContext,
    ) -> BoxedFuture<'a, Result<ToolOutcome, ToolError>> {
        Box::pin(self.server.call(&self.definition, args, context))
    }
}

impl DownstreamServer {
    pub(crate) async fn call(
        &self,
        definition: &ToolDefinition,
        arguments: Object,
        context: &CallContext,
    ) -> Result<ToolOutcome, ToolError> {
        let arguments = Value::Object(arguments);
        let shared = |arguments: &Value| format!("{} {arguments}", definition.name);
        let private = |arguments: &Value| format!("{} {}", context.client(), shared(arguments));
        // A tool that changes something is called every time, whatever its result's lifetime is.
        let may_keep = !definition.writes();
        if may_keep && !self.cache.is_empty() {
            let own = self.cache.get(&private(&arguments));
            if let Some(kept) = own.or_else(|| self.cache.get(&shared(&arguments))) {
                return Ok(self.outcome(kept, &definition.name));
            }
        }
        let schema = definition.fields.get("inputSchema").unwrap_or(&Value::Null);
        let headers = headers::argument_headers(schema, &arguments);
        let mut params = Object::new();
        params.insert("name".into(), definition.name.clone().into());
        params.insert("arguments".into(), arguments);
        let meta = context.meta();
        if !meta.is_empty() {
            params.insert("_meta".into(), meta.into());
        }
        let asking = ExchangeRequest {
            method: "tools/call",
            tool: Some(&definition.name),
            params: &params,
            headers,
            may_repeat: definition.may_repeat(),
            may_retry: definition.may_retry(),
            is_task: definition.is_task(),
        };
        let result = self.exchange(&asking, context).await?;
        let fresh = self.spec().cache.filter(|_| definition.only_reads());
        if let Some(time) = cache::time_to_live(&result).or(fresh).filter(|_| may_keep) {
            let arguments = params.get("arguments").unwrap_or(&Value::Null);
            let public = cache::is_public(&result);
            let key = if public { shared(arguments) } else { private(arguments) };
            let is_error = result.get("isError").and_then(Value::as_bool) == Some(true);
            // The next call may return the rest of an incomplete answer.
            if !is_error && !CollectedParts::is_partial(&result) {
                self.cache.put(key, &result, time);
            }
        }
        Ok(self.outcome(result, &definition.name))
    }

    pub(super) fn held_back(&self, tool: &str) -> ToolError {
        let (name, known) = (self.name(), self.known());
        let mut held = known.remembered.held_definitions();
        let approved = held.find(|(held, ..)| *held == tool).and_then(|(_, approved, _)| approved);
        let why = known.remembered.hold_reason(approved);
        let message = format!("the tool `{tool}` of the server `{name}` is held back: {why}");
        let hint = format!("Review and approve it: docent servers approve {name} {tool}");
        ToolFailure::new(FailureKind::Tool, message).hint(hint).into()
    }

    /// Converts the server's answer, and adds its origin.
    fn outcome(&self, mut result: Value, tool: &str) -> ToolOutcome {
        let is_partial = CollectedParts::is_partial(&result);
        let mut content = match result.get_mut("content").map(Value::take) {
            None | Some(Value::Null) => vec![json!({"type": "text", "text": bare_text(&result)})],
            Some(content) => content_blocks(content),
        };
        let left_out = content.len().saturating_sub(MAX_BLOCKS);
        if left_out > 0 {
            content.truncate(MAX_BLOCKS);
            let text = format!(
                "{left_out} more blocks of this answer are left out: an answer may have {MAX_BLOCKS}."
            );
            content.push(json!({"type": "text", "text": text}));
        }
        if is_partial {
            let name = self.name();
            let text =
                format!("Partial result: the server `{name}` did not send the rest of its answer.");
            content.push(json!({"type": "text", "text": text}));
        }
        let mut take = |name: &str| result.get_mut(name).map(Value::take);
        let structured = take("structuredContent").filter(|value| !value.is_null());
        let is_error = take("isError").and_then(|value| value.as_bool()).unwrap_or(false);
        let mut meta = match take("_meta") {
            Some(Value::Object(meta)) => meta,
            _ => Object::new(),
        };
        meta.insert(ORIGIN_META_KEY.into(), self.origin(Some(tool)));
        store_extra_fields(&mut meta, result);
        for block in &content {
            self.remember_address(block);
        }
        let content =
            content.into_iter().map(|block| AnswerBlock::Raw(self.public_block(block))).collect();
        ToolOutcome { content, structured, is_error, partial: is_partial, meta: Some(meta) }
    }

    /// Returns the origin of a result: the server, and the tool if there is one.
    pub(crate) fn origin(&self, tool: Option<&str>) -> Value {
        let mut origin = json!({"server": self.name()});
        if let Some(tool) = tool {
            origin["tool"] = tool.into();
        }
        origin
    }

    /// Remembers an address that a result mentions, so that it can be read even if it is not listed.
    pub(crate) fn remember_address(&self, block: &Value) {
        let uri = block.get("uri").or_else(|| block.pointer("/resource/uri"));
        if let Some(uri) = uri.and_then(Value::as_str) {
            self.shared.addresses.claim_seen(uri, self.name());
        }
    }

    pub(crate) fn public_block(&self, mut block: Value) -> Value {
        for path in ["/uri", "/resource/uri"] {
            if let Some(Value::String(uri)) = block.pointer_mut(path) {
                *uri = self.shared.addresses.public_address(uri, self.name());
            }
        }
        block
    }
}

/// Renders a result without `content` as text: its JSON, without the protocol's own fields.
fn bare_text(result: &Value) -> String {
    let fields = match result {
        Value::Object(fields) => fields,
        Value::String(text) => return text.clone(),
        other => return other.to_string(),
    };
    let mut rest = shown_fields(fields);
    match rest.remove("structuredContent") {
        Some(structured) if rest.is_empty() => structured.to_string(),
        Some(structured) => {
            rest.insert("structuredContent".into(), structured);
            Value::Object(rest).to_string()
        }
        None => Value::Object(rest).to_string(),
    }
}

/// Stores a result's unknown fields in `_meta`. Fields that were already taken are null.
pub(crate) fn store_extra_fields(meta: &mut Object, result: Value) {
    let Value::Object(mut rest) = result else { return };
    for own in PROTOCOL_FIELDS {
        rest.remove(own);
    }
    rest.retain(|_, value| !value.is_null());
    if !rest.is_empty() {
        meta.insert(EXTRA.into(), rest.into());
    }
}
