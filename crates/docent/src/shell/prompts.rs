//! `docent prompts`: lists prompts, or renders one with its arguments.

use super::{
    ShellContext,
    args::PromptsFlags,
    arguments::{self, ArgumentSources},
    connection::{self, ServerConnection},
    layout::{self, ListRow},
    results::{BinaryOutput, ResultView, print_json},
    schema::{ArgumentSchema, nearest},
};
use crate::analyze::UsageError;
use serde_json::{Map, Value, json};
use std::process::ExitCode;

/// Lists prompts, or renders the one that the first word names.
pub(crate) async fn run(
    peer: &dyn ServerConnection,
    desk: &ShellContext,
    flags: &PromptsFlags,
    words: &[String],
) -> anyhow::Result<ExitCode> {
    let prompts = connection::list(peer, "prompts/list", "prompts").await?;
    let Some((name, words)) = words.split_first() else {
        return list(&prompts, peer, desk, flags.json);
    };
    let named = |one: &&Value| one.get("name").and_then(Value::as_str) == Some(name);
    let Some(prompt) = prompts.iter().find(named) else {
        return Err(unknown(name, &prompts).into());
    };
    let schema = schema(prompt);
    let sources = ArgumentSources::new(&desk.console, &desk.folder);
    let arguments = arguments::gather(ArgumentSchema::of(&schema), words, &sources)?;
    let note = |note| desk.console.show_notice(note);
    let asked = json!({"name": name, "arguments": arguments});
    let result = connection::ask(peer, &desk.questions, "prompts/get", asked, &note).await?;
    desk.console.finish();
    if flags.json {
        print_json(&desk.console, &result)?;
        return Ok(ExitCode::SUCCESS);
    }
    render(name, &result, desk, flags)
}

/// Converts the arguments of a prompt to a schema, in which all are text.
fn schema(prompt: &Value) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for argument in prompt.get("arguments").and_then(Value::as_array).into_iter().flatten() {
        let Some(name) = argument.get("name").and_then(Value::as_str) else { continue };
        let about = argument.get("description").cloned().unwrap_or_else(|| "".into());
        properties.insert(name.into(), json!({"type": "string", "description": about}));
        if argument.get("required") == Some(&Value::Bool(true)) {
            required.push(name);
        }
    }
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn unknown(name: &str, prompts: &[Value]) -> UsageError {
    let names: Vec<&str> = prompts.iter().filter_map(|one| one.get("name")?.as_str()).collect();
    let near = nearest(name, names.iter().copied());
    let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
    let known = if names.is_empty() { "none".into() } else { names.join(", ") };
    let message = format!("unknown prompt {name}{near} (available: {known})");
    UsageError(docent_screen::one_line(&message).into_owned())
}

fn list(
    prompts: &[Value],
    peer: &dyn ServerConnection,
    desk: &ShellContext,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    if as_json {
        print_json(&desk.console, &json!({"prompts": prompts}))?;
    } else if prompts.is_empty() {
        desk.console.print_error(&format!("{} has no prompts", layout::server_name(peer.server())));
    } else {
        let rows: Vec<ListRow> = prompts.iter().map(row).collect();
        desk.console.print(&layout::rows(&rows, &desk.console.terminal))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn row(prompt: &Value) -> ListRow {
    let text = |key: &str| prompt.get(key).and_then(Value::as_str).unwrap_or_default();
    let about = if text("description").is_empty() { text("title") } else { text("description") };
    let schema = schema(prompt);
    let notes = layout::arguments(ArgumentSchema::of(&schema), false);
    ListRow { name: text("name").into(), about: about.into(), notes }
}

fn render(
    name: &str,
    result: &Value,
    desk: &ShellContext,
    flags: &PromptsFlags,
) -> anyhow::Result<ExitCode> {
    let bytes = BinaryOutput::choose(flags.save.as_deref(), &desk.folder, &desk.console);
    let mut showing = ResultView::new(&desk.console, bytes, name);
    let messages = result.get("messages").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for message in messages {
        // The role matters only if there is more than one message.
        if messages.len() > 1 {
            let role = message.get("role").and_then(Value::as_str).unwrap_or("user");
            desk.console.print(&format!("[{}]\n", docent_screen::one_line(role)))?;
        }
        match message.get("content") {
            Some(Value::Array(blocks)) => {
                for block in blocks {
                    showing.block(block)?;
                }
            }
            Some(Value::String(text)) => showing.text(text)?,
            Some(block) => showing.block(block)?,
            None => {}
        }
    }
    Ok(ExitCode::from(u8::from(showing.lost)))
}
