//! Prompts without arguments, with arguments, with a resource, with a picture, and one that must ask first.

use super::{
    IMAGE,
    asks::{ask_until_answered, field, form},
    content::embedded,
};
use docent_tool::{
    AnswerBlock, CallContext, Object, PromptAnswer, PromptArgument, PromptInfo, PromptMessage,
    PromptRole, ToolError,
};
use serde_json::Value;

pub(super) fn list() -> Vec<PromptInfo> {
    vec![
        prompt("test_simple_prompt", "A prompt without arguments", vec![]),
        prompt(
            "test_prompt_with_arguments",
            "A prompt with arguments",
            vec![required("arg1", "First test argument"), required("arg2", "Second test argument")],
        ),
        prompt(
            "test_prompt_with_embedded_resource",
            "A prompt that carries a resource",
            vec![required("resourceUri", "Address of the resource to embed")],
        ),
        prompt("test_prompt_with_image", "A prompt that carries a picture", vec![]),
        prompt("test_input_required_result_prompt", "A prompt that asks the person first", vec![]),
    ]
}

fn prompt(name: &str, about: &str, arguments: Vec<PromptArgument>) -> PromptInfo {
    PromptInfo {
        name: name.into(),
        title: None,
        about: Some(about.into()),
        arguments,
        ..PromptInfo::default()
    }
}

fn required(name: &str, about: &str) -> PromptArgument {
    PromptArgument { name: name.into(), about: Some(about.into()), required: true }
}

pub(super) async fn render(
    name: &str,
    arguments: &Object,
    context: &CallContext,
) -> Result<PromptAnswer, ToolError> {
    let argument = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let said = match name {
        "test_simple_prompt" => vec![AnswerBlock::text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            let (first, second) = (argument("arg1"), argument("arg2"));
            vec![AnswerBlock::text(format!(
                "Prompt with arguments: arg1='{first}', arg2='{second}'"
            ))]
        }
        "test_prompt_with_embedded_resource" => vec![
            embedded(
                argument("resourceUri"),
                "text/plain",
                "Embedded resource content for testing.",
            ),
            AnswerBlock::text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image" => vec![
            AnswerBlock::Image { data: IMAGE.into(), mime: "image/png".into() },
            AnswerBlock::text("Please analyze the image above."),
        ],
        "test_input_required_result_prompt" => {
            let question = form("What context should the prompt use?", "context");
            let answer = ask_until_answered(context, "user_context", question).await?;
            vec![AnswerBlock::text(format!("Use this context: {}", field(&answer, "context")))]
        }
        _ => return Err(ToolError::not_found(format!("unknown prompt: {name}"))),
    };
    let messages =
        said.into_iter().map(|content| PromptMessage { role: PromptRole::User, content }).collect();
    Ok(PromptAnswer { about: None, messages, ..PromptAnswer::default() })
}

/// Values for an argument of a prompt.
pub(super) fn values(prompt: &str, argument: &str) -> &'static [&'static str] {
    match (prompt, argument) {
        ("test_prompt_with_arguments", "arg1") => &["paris", "park", "party", "test"],
        _ => &[],
    }
}
