//! One server as a provider: its tools under its name, its resources, its prompts.

use super::{
    Downstream,
    call::{ORIGIN, Proxied},
    exchange::Asking,
    known::public_name,
};
use crate::Request;
use docent_screen::visible;
use docent_tool::{
    AnyTool, Block, CallContext, Completing, CompletionTarget, Contents, Level, Object,
    PromptAnswer, PromptArgument, PromptInfo, PromptMessage, Provider, ResourceInfo, Role, Running,
    TemplateInfo, ToolError,
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

const COMPLETION_TIME: Duration = Duration::from_secs(5);

/// A server, with its tools in lists or not.
pub(crate) struct Part {
    pub(crate) server: Arc<Downstream>,
    pub(crate) hidden: bool,
    /// How long a list waits for a server that has never been seen.
    pub(crate) patience: Duration,
}

fn text(fields: &mut Object, name: &str) -> Option<String> {
    match fields.remove(name) {
        Some(Value::String(text)) => Some(visible(&text).into_owned()),
        _ => None,
    }
}

impl Part {
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

    async fn read_own(&self, uri: &str, context: &CallContext) -> Result<Vec<Contents>, ToolError> {
        let mut params = Object::new();
        params.insert("uri".into(), uri.into());
        let asking = Asking {
            method: "resources/read",
            tool: None,
            params: &params,
            headers: Vec::new(),
            may_repeat: true,
            is_task: false,
        };
        let mut result = match self.server.exchange(&asking, context).await {
            // Each revision has its own code for that; docent's client is told in its own.
            Err(ToolError::Refused { code: -32002, message, .. }) => {
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
                *uri = addresses.public(uri, self.server.name());
            }
            mark(&mut contents, &self.server);
            Contents::Raw(contents)
        };
        Ok(contents.into_iter().map(public).collect())
    }
}

impl Provider for Part {
    fn key(&self) -> &str {
        self.server.name()
    }

    fn settled(&self) -> Running<'_, ()> {
        Box::pin(self.server.learned(self.patience))
    }

    fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        let tool = |definition: &Arc<super::known::Definition>| {
            let (server, definition) = (Arc::clone(&self.server), Arc::clone(definition));
            Arc::new(Proxied { server, definition, hidden: self.hidden }) as Arc<dyn AnyTool>
        };
        self.server.known().tools.iter().map(tool).collect()
    }

    fn resources(&self) -> Running<'_, Vec<ResourceInfo>> {
        let known = self.server.known();
        let info = |fields: &Object| {
            let mut fields = fields.clone();
            let uri = text(&mut fields, "uri")?;
            Some(ResourceInfo {
                uri: self.server.shared.addresses.public(&uri, self.server.name()),
                name: text(&mut fields, "name").unwrap_or(uri),
                title: text(&mut fields, "title"),
                about: text(&mut fields, "description"),
                mime: text(&mut fields, "mimeType"),
                size: fields.remove("size").and_then(|size| size.as_u64()),
                extra: fields,
            })
        };
        let all = known.remembered.resources.iter().filter_map(info).collect();
        Box::pin(std::future::ready(all))
    }

    fn templates(&self) -> Vec<TemplateInfo> {
        let info = |fields: &Object| {
            let mut fields = fields.clone();
            let uri_template = text(&mut fields, "uriTemplate")?;
            Some(TemplateInfo {
                name: text(&mut fields, "name").unwrap_or_else(|| uri_template.clone()),
                uri_template,
                title: text(&mut fields, "title"),
                about: text(&mut fields, "description"),
                mime: text(&mut fields, "mimeType"),
                extra: fields,
            })
        };
        self.server.known().remembered.templates.iter().filter_map(info).collect()
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        context: &'a CallContext,
    ) -> Running<'a, Option<Result<Vec<Contents>, ToolError>>> {
        Box::pin(async move {
            let own = self.server.own_address(uri)?;
            Some(self.read_own(&own, context).await)
        })
    }

    fn watch(&self, uri: &str) -> bool {
        self.server.begin_watching(uri)
    }

    fn can_watch(&self, uri: &str) -> bool {
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
            Some(PromptInfo { name, title, about, arguments, extra: fields })
        };
        self.server.known().remembered.prompts.iter().filter_map(info).collect()
    }

    fn prompt<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a Object,
        context: &'a CallContext,
    ) -> Running<'a, Result<PromptAnswer, ToolError>> {
        Box::pin(async move {
            let missing = || ToolError::not_found(format!("no prompt is called {name}"));
            let own = self.own_prompt(name).ok_or_else(missing)?;
            let mut params = Object::new();
            params.insert("name".into(), own.into());
            params.insert("arguments".into(), arguments.clone().into());
            let asking = Asking {
                method: "prompts/get",
                tool: None,
                params: &params,
                headers: Vec::new(),
                may_repeat: true,
                is_task: false,
            };
            let mut result = self.server.exchange(&asking, context).await?;
            mark(&mut result, &self.server);
            Ok(rendered(result))
        })
    }

    fn complete<'a>(&'a self, asked: &'a Completing) -> Running<'a, Vec<String>> {
        Box::pin(async move { self.completed(asked).await.unwrap_or_default() })
    }

    fn set_level(&self, level: Level) {
        self.server.wanted_level(level);
    }
}

impl Part {
    async fn completed(&self, asked: &Completing) -> Option<Vec<String>> {
        let reference = match &asked.target {
            CompletionTarget::Prompt(name) => {
                json!({"type": "ref/prompt", "name": self.own_prompt(name)?})
            }
            CompletionTarget::Template(template) => {
                let known = self.server.known();
                let mut all = known.remembered.templates.iter();
                all.find(|fields| {
                    fields.get("uriTemplate").and_then(Value::as_str) == Some(template)
                })?;
                json!({"type": "ref/resource", "uri": template})
            }
        };
        let connection = self.server.connection().await.ok()?;
        connection.capabilities.get("completions").filter(|can| !can.is_null())?;
        let _busy = connection.busy();
        let mut params = Object::new();
        params.insert("ref".into(), reference);
        params.insert("argument".into(), json!({"name": asked.argument, "value": asked.typed}));
        if !asked.known.is_empty() {
            params.insert("context".into(), json!({"arguments": asked.known}));
        }
        let request = Request { patience: Some(COMPLETION_TIME), ..Request::new(params) };
        let result = connection.peer.request("completion/complete", request).await.ok()?;
        let values = result.pointer("/completion/values")?.as_array()?;
        Some(values.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }
}

/// Says where something comes from.
fn mark(value: &mut Value, server: &Downstream) {
    let Value::Object(fields) = value else { return };
    let meta = fields.entry("_meta").or_insert_with(|| json!({}));
    if let Value::Object(meta) = meta {
        meta.insert(ORIGIN.into(), server.origin(None));
    }
}

fn rendered(mut result: Value) -> PromptAnswer {
    let messages = match result.get_mut("messages").map(Value::take) {
        Some(Value::Array(messages)) => messages,
        _ => Vec::new(),
    };
    let message = |mut message: Value| PromptMessage {
        role: match message.get("role").and_then(Value::as_str) {
            Some("assistant") => Role::Assistant,
            _ => Role::User,
        },
        content: Block::Raw(message.get_mut("content").map(Value::take).unwrap_or_default()),
    };
    PromptAnswer {
        about: result.get("description").and_then(Value::as_str).map(str::to_owned),
        messages: messages.into_iter().map(message).collect(),
        meta: match result.get_mut("_meta").map(Value::take) {
            Some(Value::Object(meta)) => Some(meta),
            _ => None,
        },
    }
}
