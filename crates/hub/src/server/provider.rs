//! A downstream server as a provider: its tools under its name, its resources, its prompts.

use super::{
    DownstreamServer,
    address::prefix,
    call::{ORIGIN_META_KEY, ProxiedTool, make_visible, store_extra_fields},
    catalog::public_name,
    exchange::ExchangeRequest,
};
use crate::{PeerRequest, ProtocolMode};
use docent_screen::visible;
use docent_tool::{
    AnswerBlock, AnyTool, BoxedFuture, CallContext, CompletionRequest, CompletionTarget,
    CompletionValues, Contents, Object, PromptAnswer, PromptArgument, PromptInfo, PromptMessage,
    PromptRole, ResourceInfo, ResourceReading, SyslogLevel, TemplateInfo, ToolError, ToolProvider,
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// Version that a server of the plain dialect reports.
const PLAIN_REVISION: &str = "1.0";
const FIRST_REVISION: &str = "2024-11-05";
const COMPLETION_TIMEOUT: Duration = Duration::from_secs(5);

/// A downstream server whose tools are listed or hidden.
pub(crate) struct ServerProvider {
    pub(crate) server: Arc<DownstreamServer>,
    pub(crate) hidden: bool,
    /// How long a list waits for a server that was never connected.
    pub(crate) first_list_timeout: Duration,
}

fn text(fields: &mut Object, name: &str) -> Option<String> {
    match fields.remove(name) {
        Some(Value::String(text)) => Some(visible(&text).into_owned()),
        _ => None,
    }
}

impl ServerProvider {
    fn public_prompt(&self, name: &str) -> String {
        public_name(self.server.spec(), name)
    }

    /// The server's own name of a prompt.
    fn own_prompt(&self, public: &str) -> Option<String> {
        let known = self.server.known();
        let names =
            known.remembered.prompts.iter().filter_map(|fields| fields.get("name")?.as_str());
        let mut names = names.filter(|name| self.public_prompt(name) == public);
        names.next().map(str::to_owned)
    }

    /// Whether an error code means a missing resource; each revision has its own.
    fn is_missing(&self, code: i32) -> bool {
        match &self.server.known().remembered.era {
            Some(ProtocolMode::Stateless) => matches!(code, -32602 | -32002),
            Some(ProtocolMode::Session(version)) if version == PLAIN_REVISION => {
                matches!(code, -32003 | -32002)
            }
            _ => code == -32002,
        }
    }

    async fn read_own(
        &self,
        uri: &str,
        context: &CallContext,
    ) -> Result<ResourceReading, ToolError> {
        let params = with_meta([("uri", uri.into())], context.meta());
        let asking = ExchangeRequest {
            method: "resources/read",
            tool: None,
            params: &params,
            headers: Vec::new(),
            may_repeat: true,
            may_retry: true,
            is_task: false,
        };
        let mut result = match self.server.exchange(&asking, context).await {
            // docent's client gets the error code of its own revision.
            Err(ToolError::Refused { code, message, .. }) if self.is_missing(code) => {
                return Err(ToolError::not_found(message));
            }
            other => other?,
        };
        let contents = match result.get_mut("contents").map(Value::take) {
            Some(Value::Array(contents)) => contents,
            Some(one @ Value::Object(_)) => vec![one],
            _ => Vec::new(),
        };
        let addresses = &self.server.shared.addresses;
        let public = |mut contents: Value| {
            if let Some(Value::String(uri)) = contents.get_mut("uri") {
                *uri = addresses.public_address(uri, self.server.name());
            }
            add_origin(&mut contents, &self.server);
            Contents::Raw(contents)
        };
        let contents = contents.into_iter().map(public).collect();
        Ok(ResourceReading { contents, meta: take_meta(result) })
    }

    /// The server's own name of a template.
    fn own_template<'a>(&self, public: &'a str) -> Option<&'a str> {
        let (name, addresses) = (self.server.name(), &self.server.shared.addresses);
        let marked = public.strip_prefix(&prefix(name));
        let own =
            marked.or_else(|| (!addresses.is_owned_by_another(public, name)).then_some(public))?;
        let known = self.server.known();
        let text = |fields: &Object| fields.get("uriTemplate").and_then(Value::as_str) == Some(own);
        known.remembered.templates.iter().any(text).then_some(own)
    }
}

impl ToolProvider for ServerProvider {
    fn key(&self) -> &str {
        self.server.name()
    }

    fn settled(&self) -> BoxedFuture<'_, ()> {
        Box::pin(self.server.wait_until_known(self.first_list_timeout))
    }

    fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        let tool = |definition: &Arc<super::catalog::ToolDefinition>| {
            let (server, definition) = (Arc::clone(&self.server), Arc::clone(definition));
            Arc::new(ProxiedTool { server, definition, hidden: self.hidden }) as Arc<dyn AnyTool>
        };
        self.server.known().tools.iter().map(tool).collect()
    }

    fn resources(&self) -> BoxedFuture<'_, Vec<ResourceInfo>> {
        let known = self.server.known();
        let info = |fields: &Object| {
            let mut fields = fields.clone();
            let uri = text(&mut fields, "uri")?;
            Some(ResourceInfo {
                uri: self.server.shared.addresses.public_address(&uri, self.server.name()),
                name: text(&mut fields, "name").unwrap_or(uri),
                title: text(&mut fields, "title"),
                about: text(&mut fields, "description"),
                mime: text(&mut fields, "mimeType"),
                size: fields.remove("size").and_then(|size| size.as_u64()),
                extra: make_visible(fields),
            })
        };
        let all = known.remembered.resources.iter().filter_map(info).collect();
        Box::pin(std::future::ready(all))
    }

    fn needs_thread(&self) -> bool {
        false
    }

    fn templates(&self) -> Vec<TemplateInfo> {
        let addresses = &self.server.shared.addresses;
        let info = |fields: &Object| {
            let mut fields = fields.clone();
            let uri_template = text(&mut fields, "uriTemplate")?;
            Some(TemplateInfo {
                name: text(&mut fields, "name").unwrap_or_else(|| uri_template.clone()),
                uri_template: addresses.public_address(&uri_template, self.server.name()),
                title: text(&mut fields, "title"),
                about: text(&mut fields, "description"),
                mime: text(&mut fields, "mimeType"),
                extra: make_visible(fields),
            })
        };
        self.server.known().remembered.templates.iter().filter_map(info).collect()
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        context: &'a CallContext,
    ) -> BoxedFuture<'a, Option<Result<ResourceReading, ToolError>>> {
        Box::pin(async move {
            let own = self.server.own_address(uri)?;
            Some(self.read_own(&own, context).await)
        })
    }

    fn watch(&self, uri: &str) -> bool {
        self.server.begin_watching(uri)
    }

    fn can_watch(&self, uri: &str) -> bool {
        self.owns(uri) && self.server.reports_changes()
    }

    fn owns(&self, uri: &str) -> bool {
        self.server.own_address(uri).is_some()
    }

    fn unwatch(&self, uri: &str) {
        self.server.end_watching(uri);
    }

    fn prompts(&self) -> Vec<PromptInfo> {
        let argument = |fields: &Value| {
            Some(PromptArgument {
                name: fields.get("name")?.as_str()?.to_owned(),
                about: fields
                    .get("description")
                    .and_then(Value::as_str)
                    .map(|text| visible(text).into_owned()),
                required: fields.get("required").and_then(Value::as_bool).unwrap_or(false),
            })
        };
        let info = |fields: &Object| {
            let mut fields = fields.clone();
            let name = self.public_prompt(&text(&mut fields, "name")?);
            let arguments = fields.get("arguments").and_then(Value::as_array);
            let arguments = arguments.into_iter().flatten().filter_map(argument).collect();
            let (title, about) = (text(&mut fields, "title"), text(&mut fields, "description"));
            Some(PromptInfo { name, title, about, arguments, extra: make_visible(fields) })
        };
        self.server.known().remembered.prompts.iter().filter_map(info).collect()
    }

    fn prompt<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a Object,
        context: &'a CallContext,
    ) -> BoxedFuture<'a, Result<PromptAnswer, ToolError>> {
        Box::pin(async move {
            let missing = || ToolError::not_found(format!("unknown prompt: {name}"));
            let own = self.own_prompt(name).ok_or_else(missing)?;
            let asked = [("name", own.into()), ("arguments", arguments.clone().into())];
            let params = with_meta(asked, context.meta());
            let asking = ExchangeRequest {
                method: "prompts/get",
                tool: None,
                params: &params,
                headers: Vec::new(),
                may_repeat: true,
                may_retry: true,
                is_task: false,
            };
            let mut result = self.server.exchange(&asking, context).await?;
            add_origin(&mut result, &self.server);
            Ok(self.render_prompt(result))
        })
    }

    fn complete<'a>(&'a self, asked: &'a CompletionRequest) -> BoxedFuture<'a, CompletionValues> {
        Box::pin(async move { self.request_completion(asked).await.unwrap_or_default() })
    }

    fn set_level(&self, level: SyslogLevel) {
        self.server.request_log_level(level);
    }
}

impl ServerProvider {
    async fn request_completion(&self, asked: &CompletionRequest) -> Option<CompletionValues> {
        let reference = match &asked.target {
            CompletionTarget::Prompt(name) => {
                json!({"type": "ref/prompt", "name": self.own_prompt(name)?})
            }
            CompletionTarget::Template(template) => {
                json!({"type": "ref/resource", "uri": self.own_template(template)?})
            }
        };
        let connection = self.server.connection().await.ok()?;
        // The first revision had no such capability.
        if connection.era.version() != FIRST_REVISION {
            connection.capabilities.get("completions").filter(|can| !can.is_null())?;
        }
        let _busy = connection.track_request();
        let argument = json!({"name": asked.argument, "value": asked.typed});
        let mut params =
            with_meta([("ref", reference), ("argument", argument)], asked.meta.clone());
        if !asked.known.is_empty() {
            params.insert("context".into(), json!({"arguments": asked.known}));
        }
        let request = PeerRequest { timeout: Some(COMPLETION_TIMEOUT), ..PeerRequest::new(params) };
        let mut result = connection.peer.request("completion/complete", request).await.ok()?;
        let mut take =
            |name: &str| result.pointer_mut(&format!("/completion/{name}")).map(Value::take);
        let Some(Value::Array(values)) = take("values") else { return None };
        let texts = values.iter().filter_map(Value::as_str).map(str::to_owned);
        let total = take("total").and_then(|total| u32::try_from(total.as_u64()?).ok());
        let more = take("hasMore").and_then(|more| more.as_bool());
        if let Some(Value::Object(completion)) = result.get_mut("completion") {
            completion.retain(|_, value| !value.is_null());
        }
        if result.get("completion") == Some(&json!({})) {
            result["completion"].take();
        }
        Some(CompletionValues { values: texts.collect(), total, more, meta: take_meta(result) })
    }

    fn render_prompt(&self, mut result: Value) -> PromptAnswer {
        let messages = match result.get_mut("messages").map(Value::take) {
            Some(Value::Array(messages)) => messages,
            _ => Vec::new(),
        };
        let mut rest = Vec::new();
        let message = |mut message: Value| {
            let role = match message.get("role").and_then(Value::as_str) {
                Some("assistant") => PromptRole::Assistant,
                _ => PromptRole::User,
            };
            let content = message.get_mut("content").map(Value::take).unwrap_or_default();
            if let Value::Object(fields) = &mut message {
                fields.retain(|name, value| name != "role" && !value.is_null());
            }
            rest.push(message);
            self.server.remember_address(&content);
            PromptMessage { role, content: AnswerBlock::Raw(self.server.public_block(content)) }
        };
        let messages = messages.into_iter().map(message).collect();
        let is_more = |message: &Value| message.as_object().is_some_and(|more| !more.is_empty());
        if rest.iter().any(is_more) {
            result["messages"] = rest.into();
        }
        let about = result.get_mut("description").map(Value::take);
        PromptAnswer {
            about: about.and_then(|about| about.as_str().map(str::to_owned)),
            messages,
            meta: take_meta(result),
        }
    }
}

/// Adds the client's `_meta` to the parameters.
fn with_meta<const N: usize>(params: [(&str, Value); N], meta: Object) -> Object {
    let mut params: Object =
        params.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    if !meta.is_empty() {
        params.insert("_meta".into(), meta.into());
    }
    params
}

/// Takes `_meta` of a result, with the unknown fields added; `None` if empty.
fn take_meta(mut result: Value) -> Option<Object> {
    let mut meta = match result.get_mut("_meta").map(Value::take) {
        Some(Value::Object(meta)) => meta,
        _ => Object::new(),
    };
    store_extra_fields(&mut meta, result);
    (!meta.is_empty()).then_some(meta)
}

/// Adds the origin to `_meta`.
fn add_origin(value: &mut Value, server: &DownstreamServer) {
    let Value::Object(fields) = value else { return };
    let meta = fields.entry("_meta").or_insert_with(|| json!({}));
    if let Value::Object(meta) = meta {
        meta.insert(ORIGIN_META_KEY.into(), server.origin(None));
    }
}
