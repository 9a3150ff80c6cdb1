//! Converts the tool crate's types to protocol types, and back.
#![expect(
    deprecated,
    reason = "the protocol marks logging, sampling and roots as going; older revisions keep them"
)]

use crate::verbatim;
use docent_tool::{
    AnswerBlock, ClientQuery, Contents, Object, PromptInfo, ResourceInfo, SyslogLevel,
    TemplateInfo, ToolHints, ToolInfo,
};
use docent_wire::{METADATA_KEY, SCORE_KEY, lost};
use rmcp::model::{
    AudioContent, ContentBlock, EmbeddedResource, ImageContent, InputRequest, LoggingLevel,
    MetaObject, Prompt, PromptArgument, PromptMessage, Resource, ResourceContents,
    ResourceTemplate, Role, TextContent, Tool, ToolAnnotations,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::sync::Arc;

pub(crate) fn tool(info: &ToolInfo) -> Tool {
    let mut tool =
        Tool::new(info.name.clone(), info.listed_description(), Arc::clone(&info.input_schema));
    tool.title.clone_from(&info.title);
    tool.output_schema.clone_from(&info.output_schema);
    tool.annotations = info.hints.map(|hints| annotations(hints, info.title.as_deref()));
    tool.meta = info.meta.clone().map(MetaObject);
    with_extra(tool, &info.extra)
}

/// Restores all fields that another server sent.
fn with_extra<T: Serialize + DeserializeOwned>(item: T, extra: &Object) -> T {
    if extra.is_empty() {
        return item;
    }
    let Ok(Value::Object(mut fields)) = serde_json::to_value(&item) else { return item };
    fields.extend(extra.clone());
    let mut whole = Value::Object(fields);
    if let Some(typed) = T::deserialize_from(&whole) {
        return verbatim::keep(typed, &whole);
    }
    // One malformed field must not affect the others.
    let mut item = item;
    for (name, value) in extra {
        let Ok(mut fields) = serde_json::to_value(&item) else { return item };
        fields[name.as_str()] = value.clone();
        match T::deserialize_from(&fields) {
            Some(typed) => item = typed,
            None => drop(whole.as_object_mut().and_then(|whole| whole.remove(name))),
        }
    }
    verbatim::keep(item, &whole)
}

fn annotations(hints: ToolHints, title: Option<&str>) -> ToolAnnotations {
    let mut annotations = ToolAnnotations::new()
        .read_only(hints.read_only)
        .destructive(hints.destructive)
        .idempotent(hints.idempotent)
        .open_world(hints.open_world);
    annotations.title = title.map(str::to_owned);
    annotations
}

pub(crate) fn content(block: AnswerBlock) -> ContentBlock {
    match block {
        AnswerBlock::Text { text, metadata, score } => {
            let mut content = TextContent::new(text);
            if metadata.is_some() || score.is_some() {
                let mut meta = Object::new();
                if let Some(metadata) = metadata {
                    meta.insert(METADATA_KEY.into(), Value::Object(metadata));
                }
                if let Some(score) = score {
                    meta.insert(SCORE_KEY.into(), json!(score));
                }
                content.meta = Some(MetaObject(meta));
            }
            ContentBlock::Text(content)
        }
        AnswerBlock::Image { data, mime } => ContentBlock::Image(ImageContent::new(data, mime)),
        AnswerBlock::Audio { data, mime } => ContentBlock::Audio(AudioContent::new(data, mime)),
        AnswerBlock::Link(info) => ContentBlock::ResourceLink(resource(info)),
        AnswerBlock::Embedded(contents) => {
            ContentBlock::Resource(EmbeddedResource::new(resource_contents(contents)))
        }
        // Another server may send kinds of content unknown to our clients: then its JSON is sent as text.
        AnswerBlock::Raw(value) => match ContentBlock::deserialize_from(&value) {
            Some(content) => verbatim::keep_content(content, &value),
            None => ContentBlock::text(value.to_string()),
        },
    }
}

trait ConvertFromJson: Sized {
    fn deserialize_from(value: &Value) -> Option<Self>;
}

impl<T: DeserializeOwned> ConvertFromJson for T {
    fn deserialize_from(value: &Value) -> Option<Self> {
        T::deserialize(value).ok()
    }
}

pub(crate) fn resource(info: ResourceInfo) -> Resource {
    let mut resource = Resource::new(info.uri, info.name);
    resource.title = info.title;
    resource.description = info.about;
    resource.mime_type = info.mime;
    resource.size = info.size;
    with_extra(resource, &info.extra)
}

pub(crate) fn template(info: TemplateInfo) -> ResourceTemplate {
    let mut template = ResourceTemplate::new(info.uri_template, info.name);
    template.title = info.title;
    template.description = info.about;
    template.mime_type = info.mime;
    with_extra(template, &info.extra)
}

pub(crate) fn resource_contents(contents: Contents) -> ResourceContents {
    match contents {
        Contents::Text { uri, mime, text } => {
            ResourceContents::TextResourceContents { uri, mime_type: mime, text, meta: None }
        }
        Contents::Blob { uri, mime, blob } => {
            ResourceContents::BlobResourceContents { uri, mime_type: mime, blob, meta: None }
        }
        Contents::Raw(value) => {
            if let Some(contents) = ResourceContents::deserialize_from(&value) {
                verbatim::keep_content(contents, &value)
            } else {
                let uri = value.get("uri").and_then(Value::as_str).unwrap_or_default().to_owned();
                let text = value.to_string();
                ResourceContents::TextResourceContents { uri, mime_type: None, text, meta: None }
            }
        }
    }
}

pub(crate) fn prompt(info: PromptInfo) -> Prompt {
    let argument = |argument: docent_tool::PromptArgument| {
        let mut shown = PromptArgument::new(argument.name).with_required(argument.required);
        shown.description = argument.about;
        shown
    };
    let arguments: Vec<_> = info.arguments.into_iter().map(argument).collect();
    let mut prompt =
        Prompt::new(info.name, info.about, (!arguments.is_empty()).then_some(arguments));
    prompt.title = info.title;
    with_extra(prompt, &info.extra)
}

pub(crate) fn prompt_message(message: docent_tool::PromptMessage) -> PromptMessage {
    let role = match message.role {
        docent_tool::PromptRole::User => Role::User,
        docent_tool::PromptRole::Assistant => Role::Assistant,
    };
    PromptMessage::new(role, content(message.content))
}

pub(crate) fn logging_level(level: SyslogLevel) -> LoggingLevel {
    match level {
        SyslogLevel::Debug => LoggingLevel::Debug,
        SyslogLevel::Info => LoggingLevel::Info,
        SyslogLevel::Notice => LoggingLevel::Notice,
        SyslogLevel::Warning => LoggingLevel::Warning,
        SyslogLevel::Error => LoggingLevel::Error,
        SyslogLevel::Critical => LoggingLevel::Critical,
        SyslogLevel::Alert => LoggingLevel::Alert,
        SyslogLevel::Emergency => LoggingLevel::Emergency,
    }
}

pub(crate) fn level(level: LoggingLevel) -> SyslogLevel {
    match level {
        LoggingLevel::Debug => SyslogLevel::Debug,
        LoggingLevel::Info => SyslogLevel::Info,
        LoggingLevel::Notice => SyslogLevel::Notice,
        LoggingLevel::Warning => SyslogLevel::Warning,
        LoggingLevel::Error => SyslogLevel::Error,
        LoggingLevel::Critical => SyslogLevel::Critical,
        LoggingLevel::Alert => SyslogLevel::Alert,
        LoggingLevel::Emergency => SyslogLevel::Emergency,
    }
}

/// A question's method and parameters, as a separate request.
pub(crate) fn question(ask: ClientQuery) -> (&'static str, Option<Value>) {
    match ask {
        ClientQuery::Sample(params) => ("sampling/createMessage", Some(params)),
        ClientQuery::Elicit(params) => ("elicitation/create", Some(params)),
        ClientQuery::Roots => ("roots/list", None),
    }
}

/// A question as part of a result that needs input.
pub(crate) fn input_request(ask: &ClientQuery) -> Result<InputRequest, serde_json::Error> {
    let (method, params) = question(ask.clone());
    let mut request = json!({"method": method});
    let Some(params) = params else { return serde_json::from_value(request) };
    request["params"] = params;
    let typed: InputRequest = serde_json::from_value(request.clone())?;
    match lost(&request["params"], &serde_json::to_value(&typed)?["params"]) {
        Some(left) => {
            verbatim::stow(&mut request["params"], left);
            serde_json::from_value(request)
        }
        None => Ok(typed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Serialize;

    fn shown(value: impl Serialize) -> Value {
        serde_json::to_value(value).unwrap()
    }

    #[test]
    fn blocks() {
        let metadata = json!({"source": "a.md"});
        let link = ResourceInfo {
            uri: "x://a".into(),
            name: "a".into(),
            size: Some(3),
            ..ResourceInfo::default()
        };
        let cases = [
            (AnswerBlock::text("hi"), json!({"type": "text", "text": "hi"})),
            (
                AnswerBlock::Text {
                    text: "hi".into(),
                    metadata: metadata.as_object().cloned(),
                    score: Some(0.5),
                },
                json!({"type": "text", "text": "hi", "_meta": {METADATA_KEY: metadata, SCORE_KEY: 0.5}}),
            ),
            (
                AnswerBlock::Image { data: "AA==".into(), mime: "image/png".into() },
                json!({"type": "image", "data": "AA==", "mimeType": "image/png"}),
            ),
            (
                AnswerBlock::Link(link),
                json!({"type": "resource_link", "uri": "x://a", "name": "a", "size": 3}),
            ),
            (
                AnswerBlock::Embedded(Contents::Text {
                    uri: "x://a".into(),
                    mime: None,
                    text: "t".into(),
                }),
                json!({"type": "resource", "resource": {"uri": "x://a", "text": "t"}}),
            ),
            (
                AnswerBlock::Raw(json!({"type": "text", "text": "as it came"})),
                json!({"type": "text", "text": "as it came"}),
            ),
            (
                AnswerBlock::Raw(json!({"type": "smell"})),
                json!({"type": "text", "text": "{\"type\":\"smell\"}"}),
            ),
        ];
        for (block, want) in cases {
            assert_eq!(shown(content(block)), want);
        }
    }

    #[test]
    fn questions_keep_their_parameters() {
        let params = json!({"mode": "form", "message": "Name?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}});
        let request = shown(input_request(&ClientQuery::Elicit(params)).unwrap());
        assert_eq!(
            (&request["method"], &request["params"]["message"]),
            (&json!("elicitation/create"), &json!("Name?"))
        );
        assert_eq!(shown(input_request(&ClientQuery::Roots).unwrap())["method"], "roots/list");
        assert!(input_request(&ClientQuery::Sample(json!({"no": "messages"}))).is_err());
    }

    #[test]
    fn content_of_another_server_is_written_unchanged() {
        let extra = json!({
            "annotations": {"readOnlyHint": true, "odd": 1}, "odd": {"a": [1]}, "icons": 5, "_meta": {"own": 1},
        });
        let info = ToolInfo {
            name: "t".into(),
            extra: extra.as_object().unwrap().clone(),
            ..ToolInfo::default()
        };
        let mut message = json!({"result": {"tools": [tool(&info)]}});
        docent_wire::put_back(&mut message);
        let want = json!({
            "name": "t", "description": "", "inputSchema": {}, "annotations": extra["annotations"],
            "odd": extra["odd"], "_meta": {"own": 1},
        });
        assert_eq!(message["result"]["tools"][0], want, "what has the wrong shape is left out");

        let arguments = json!([{"name": "a", "required": true, "odd": 1}, {"name": "b"}]);
        let extra = json!({"arguments": arguments}).as_object().unwrap().clone();
        let info = PromptInfo { name: "p".into(), extra, ..PromptInfo::default() };
        let mut message = json!({"result": {"prompts": [prompt(info)]}});
        docent_wire::put_back(&mut message);
        assert_eq!(message["result"]["prompts"][0], json!({"name": "p", "arguments": arguments}));

        let asked = json!({
            "messages": [{"role": "user", "content": {"type": "text", "text": "hi", "odd": 1}, "odd": 2}],
            "maxTokens": 5, "temperature": 0.7, "odd": {"a": 1}, "_meta": {"own": 1},
        });
        let request = input_request(&ClientQuery::Sample(asked.clone())).unwrap();
        let mut message = json!({"result": {"inputRequests": {"k": request}}});
        docent_wire::put_back(&mut message);
        assert_eq!(message["result"]["inputRequests"]["k"]["params"], asked);
    }

    #[test]
    fn levels_survive_a_round_trip() {
        for each in [
            SyslogLevel::Debug,
            SyslogLevel::Info,
            SyslogLevel::Notice,
            SyslogLevel::Warning,
            SyslogLevel::Error,
            SyslogLevel::Critical,
            SyslogLevel::Alert,
            SyslogLevel::Emergency,
        ] {
            assert_eq!(level(logging_level(each)), each);
        }
    }
}
