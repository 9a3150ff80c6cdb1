//! Tools that return every kind of content, and tools that log or report progress while they run.

use super::{
    AUDIO, IMAGE,
    literal::{LiteralCallResult, bare, blocks, literal, text},
};
use docent_tool::{AnswerBlock, AnyTool, CallContext, Contents, Object, SyslogLevel, ToolError};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// The suite checks that messages arrive while the call is still running.
const MESSAGE_INTERVAL: Duration = Duration::from_millis(50);

pub(super) fn tools() -> Vec<Arc<dyn AnyTool>> {
    vec![
        bare("test_simple_text", "Answers with a text", |_| async {
            Ok(text("This is a simple text response for testing."))
        }),
        bare("test_image_content", "Answers with a picture", |_| async { Ok(blocks([image()])) }),
        bare("test_audio_content", "Answers with a sound", |_| async {
            Ok(blocks([AnswerBlock::Audio { data: AUDIO.into(), mime: "audio/wav".into() }]))
        }),
        bare("test_embedded_resource", "Answers with a resource, contents and all", |_| async {
            Ok(blocks([embedded(
                "test://embedded-resource",
                "text/plain",
                "This is an embedded resource content.",
            )]))
        }),
        bare(
            "test_multiple_content_types",
            "Answers with a text, a picture and a resource",
            |_| async {
                Ok(blocks([
                    AnswerBlock::text("Multiple content types test:"),
                    image(),
                    embedded(
                        "test://mixed-content-resource",
                        "application/json",
                        r#"{"test":"data","value":123}"#,
                    ),
                ]))
            },
        ),
        bare("test_error_handling", "Always fails", |_| async {
            Err(ToolError::failed("This tool intentionally returns an error for testing"))
        }),
        bare("test_tool_with_logging", "Logs three lines while it runs", log_three_lines),
        bare("test_logging_tool", "Logs one line", |context: CallContext| async move {
            context.log(SyslogLevel::Info, "fixture", "Logging tool called");
            Ok(text("Logging tool completed"))
        }),
        bare("test_tool_with_progress", "Reports three steps while it runs", report_three_steps),
        bare(
            "test_reconnection",
            "Takes long enough for a client to lose its stream and come back",
            |_| async {
                tokio::time::sleep(Duration::from_millis(100)).await;
                Ok(text("Reconnection test completed"))
            },
        ),
        literal(
            "test_custom_header",
            "Answers with an argument that is also sent as a header",
            header_schema(),
            answer_value,
        ),
        literal(
            "json_schema_2020_12_tool",
            "Has a schema with every keyword that must reach the client",
            full_schema(),
            greet,
        ),
    ]
}

fn image() -> AnswerBlock {
    AnswerBlock::Image { data: IMAGE.into(), mime: "image/png".into() }
}

pub(super) fn embedded(uri: &str, mime: &str, text: &str) -> AnswerBlock {
    AnswerBlock::Embedded(Contents::Text {
        uri: uri.into(),
        mime: Some(mime.into()),
        text: text.into(),
    })
}

async fn log_three_lines(context: CallContext) -> LiteralCallResult {
    context.log(SyslogLevel::Info, "fixture", "Tool execution started");
    tokio::time::sleep(MESSAGE_INTERVAL).await;
    context.log(SyslogLevel::Info, "fixture", "Tool processing data");
    tokio::time::sleep(MESSAGE_INTERVAL).await;
    context.log(SyslogLevel::Info, "fixture", "Tool execution completed");
    Ok(text("Tool with logging executed successfully"))
}

async fn report_three_steps(context: CallContext) -> LiteralCallResult {
    context.progress(0, Some(100), "Completed step 0 of 100");
    tokio::time::sleep(MESSAGE_INTERVAL).await;
    context.progress(50, Some(100), "Completed step 50 of 100");
    tokio::time::sleep(MESSAGE_INTERVAL).await;
    context.progress(100, Some(100), "Completed step 100 of 100");
    Ok(text("Tool with progress executed successfully"))
}

fn header_schema() -> Value {
    json!({
        "type": "object",
        "properties": {"value": {"type": "string", "x-mcp-header": "Value"}},
        "required": ["value"]
    })
}

async fn answer_value(args: Object, _: CallContext) -> LiteralCallResult {
    Ok(text(args.get("value").and_then(Value::as_str).unwrap_or_default()))
}

fn full_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}}
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"}
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false
    })
}

async fn greet(args: Object, _: CallContext) -> LiteralCallResult {
    let name = args.get("name").and_then(Value::as_str).unwrap_or("world");
    Ok(text(format!("Hello, {name}!")))
}
