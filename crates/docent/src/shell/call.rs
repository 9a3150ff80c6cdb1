//! `docent call`: calls one tool.

use super::{
    ShellContext,
    args::CallFlags,
    arguments::{self, ArgumentSources},
    connection::{self, ServerConnection},
    results::{BinaryOutput, ResultView, print_json},
    schema::{ArgumentSchema, nearest},
    tools,
};
use crate::analyze::UsageError;
use serde_json::{Map, Value, json};
use std::process::ExitCode;

/// Maximum number of tools that an error lists.
const MAX_LISTED_TOOLS: usize = 40;

/// Calls the tool with the words that name no server.
pub(crate) async fn run(
    peer: &dyn ServerConnection,
    desk: &ShellContext,
    flags: &CallFlags,
    words: &[String],
) -> anyhow::Result<ExitCode> {
    let given = flags.arguments()?;
    let tools = connection::list(peer, "tools/list", "tools").await?;
    desk.remember(&tools);
    let known = find(&flags.tool, &tools).cloned().or_else(|| peer.unlisted_tool(&flags.tool));
    let arguments = match known {
        Some(tool) => read(&tool, desk, given, words)?,
        // A server may have unlisted tools: arguments that need no schema can be sent.
        None if given.is_some() && words.is_empty() => {
            ArgumentSources::new(&desk.console, &desk.folder).object(given.unwrap_or_default())?
        }
        None if desk.servers.contains(&flags.tool) => return Err(misplaced_server(flags).into()),
        None => return Err(unknown(&flags.tool, &tools, &[]).into()),
    };
    let params = json!({"name": flags.tool, "arguments": arguments});
    let note = |note| desk.console.show_notice(note);
    let result = connection::ask(peer, &desk.questions, "tools/call", params, &note).await?;
    desk.console.finish();
    show(&result, desk, flags)
}

fn read(
    tool: &Value,
    desk: &ShellContext,
    given: Option<&str>,
    words: &[String],
) -> Result<Map<String, Value>, UsageError> {
    let sources = ArgumentSources::new(&desk.console, &desk.folder);
    let schema = ArgumentSchema::of(tools::input_schema(tool));
    let Some(given) = given else { return arguments::gather(schema, words, &sources) };
    // JSON arguments are complete: the server checks them.
    let mut object = sources.object(given)?;
    arguments::add(schema, words, &sources, &mut object)?;
    Ok(object)
}

/// Finds the tool of that name.
pub(crate) fn find<'t>(name: &str, tools: &'t [Value]) -> Option<&'t Value> {
    tools.iter().find(|tool| tool.get("name").and_then(Value::as_str) == Some(name))
}

/// Returns the error for a server name given in place of the tool.
fn misplaced_server(flags: &CallFlags) -> UsageError {
    let server = &flags.tool;
    let tool = flags.words.iter().find(|word| !word.contains('='));
    let tool = tool.map_or("TOOL", String::as_str);
    UsageError(format!("{server} is a server; put the tool first: docent call {tool} -s {server}"))
}

/// Returns the error for an unknown tool, with the known ones; `servers` if a server may have been meant.
pub(crate) fn unknown(name: &str, tools: &[Value], servers: &[String]) -> UsageError {
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool.get("name")?.as_str()).collect();
    let near = nearest(name, names.iter().copied().chain(servers.iter().map(String::as_str)));
    let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
    let more = names.len().saturating_sub(MAX_LISTED_TOOLS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let listed: Vec<&str> = names.iter().take(MAX_LISTED_TOOLS).copied().collect();
    let mut message = match listed.as_slice() {
        [] => format!("unknown tool {name}: the server has no tools{near}"),
        listed => format!("unknown tool {name}{near} (available: {}{more})", listed.join(", ")),
    };
    if !servers.is_empty() {
        message = format!("{message}, and not a server (configured: {})", servers.join(", "));
    }
    UsageError(docent_screen::one_line(&message).into_owned())
}

fn show(result: &Value, desk: &ShellContext, flags: &CallFlags) -> anyhow::Result<ExitCode> {
    let failed =
        ["isError", "is_error"].iter().any(|key| result.get(key) == Some(&Value::Bool(true)));
    let blocks = result.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let structured = result.get("structuredContent").filter(|value| !value.is_null());
    if failed && !flags.prints_json() {
        let texts: Vec<&str> =
            blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect();
        let message = match (texts.is_empty(), structured) {
            (true, Some(structured)) => format!("{structured:#}"),
            (true, None) => format!("{} failed without giving a reason", flags.tool),
            (false, _) => texts.join("\n"),
        };
        desk.console.print_error(message.trim_end());
        return Ok(ExitCode::from(1));
    }
    let bytes = BinaryOutput::choose(flags.save.as_deref(), &desk.folder, &desk.console);
    let mut showing = ResultView::new(&desk.console, bytes, &flags.tool);
    if flags.prints_json() {
        print_json(&desk.console, result)?;
        // The JSON contains the bytes; they are saved as well only on request.
        let with_bytes = |block: &&Value| {
            block.get("data").is_some() || block.pointer("/resource/blob").is_some()
        };
        for block in blocks.iter().filter(|_| flags.save.is_some()).filter(with_bytes) {
            showing.block(block)?;
        }
        return Ok(ExitCode::from(u8::from(failed || showing.lost)));
    }
    for block in blocks {
        showing.block(block)?;
    }
    if let Some(structured) = structured.filter(|_| !showing.has_text) {
        print_json(&desk.console, structured)?;
    } else if blocks.is_empty() && structured.is_none() {
        // Older servers, and some incorrect ones, return other fields.
        let known = ["content", "isError", "_meta", "resultType"];
        let is_odd = result
            .as_object()
            .is_none_or(|all| all.keys().any(|key| !known.contains(&key.as_str())));
        if is_odd {
            print_json(&desk.console, result)?;
        }
    }
    Ok(ExitCode::from(u8::from(showing.lost)))
}
