//! The benchmark's messages, and the check that an answer belongs to its call.

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The protocol revision of the forms with a session.
pub(crate) const SESSION_REVISION: &str = "2025-11-25";
/// The protocol revision without sessions.
pub(crate) const STATELESS_REVISION: &str = "2026-07-28";

/// The id of `initialize`, which no call uses.
pub(crate) const INITIALIZE_ID: u32 = 0;

/// The request that opens a session.
pub(crate) fn initialize() -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{INITIALIZE_ID},"method":"initialize","params":{{"protocolVersion":"{SESSION_REVISION}","capabilities":{{}},"clientInfo":{{"name":"docent-bench","version":"1.0.0"}}}}}}"#
    )
}

/// The notification that ends the handshake.
pub(crate) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// The tool's name, unless a gateway changes it.
pub(crate) const ECHO: &str = "echo";

/// Returns the tool of a call; calls take turns among several.
pub(crate) fn tool_for(tools: &[String], id: u32) -> &str {
    let turn = usize::try_from(id).ok().and_then(|id| id.checked_rem(tools.len()));
    turn.and_then(|turn| tools.get(turn)).map_or(ECHO, String::as_str)
}

/// A call of the echo tool under this name, which needs no JSON escapes.
pub(crate) fn call(tool: &str, id: u32) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"message":"{}"}}}}}}"#,
        text(id)
    )
}

/// The same call in the stateless revision.
pub(crate) fn stateless_call(id: u32) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{{"message":"{}"}},"_meta":{{"io.modelcontextprotocol/protocolVersion":"{STATELESS_REVISION}","io.modelcontextprotocol/clientInfo":{{"name":"docent-bench","version":"1.0.0"}},"io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#,
        text(id)
    )
}

/// Returns a text unique to the call, so that an answer to another call is detected.
fn text(id: u32) -> String {
    format!("this is the message of call {id}")
}

#[derive(Deserialize)]
struct EchoReply<'a> {
    id: Option<u32>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct EchoResult<'a> {
    #[serde(borrow)]
    content: Vec<Content<'a>>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

/// Returns an answer's id and result, or `None` for a notification; an error answer is an error.
pub(crate) fn result(message: &[u8]) -> Result<Option<(u32, &RawValue)>> {
    let shown = || String::from_utf8_lossy(message).into_owned();
    let answer: EchoReply<'_> =
        serde_json::from_slice(message).with_context(|| format!("not an answer: {}", shown()))?;
    match (answer.id, answer.result, answer.error) {
        (_, _, Some(error)) => bail!("answered with an error: {}", error.get()),
        (Some(id), Some(result), None) => Ok(Some((id, result))),
        (None, None, None) => Ok(None),
        _ => bail!("neither an answer nor a notification: {}", shown()),
    }
}

/// Checks that a message echoes the text of the call it answers; returns the call's id, or `None` for a notification.
pub(crate) fn answered_call(message: &[u8]) -> Result<Option<u32>> {
    let Some((id, result)) = result(message)? else { return Ok(None) };
    let echoed: EchoResult<'_> = serde_json::from_str(result.get())
        .with_context(|| format!("not the result of a call: {}", result.get()))?;
    let said: String = echoed.content.iter().map(|content| content.text.as_ref()).collect();
    // Some servers put words before the echo; the text itself ends with its number.
    ensure!(
        said.ends_with(&text(id)),
        "call {id} was answered with {said:?} and not with {:?}",
        text(id)
    );
    Ok(Some(id))
}

/// Checks that a message answers `initialize`; false for a notification.
pub(crate) fn is_initialized(message: &[u8]) -> Result<bool> {
    let Some((id, result)) = result(message)? else { return Ok(false) };
    ensure!(
        id == INITIALIZE_ID && result.get().contains("protocolVersion"),
        "initialize was answered with {}",
        result.get()
    );
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[track_caller]
    fn check(message: &str, expected: &str) {
        let found = match answered_call(message.as_bytes()) {
            Ok(id) => format!("{id:?}"),
            Err(problem) => problem.to_string(),
        };
        assert!(found.starts_with(expected), "{message}: {found}");
    }

    #[test]
    fn an_answer_must_echo_its_own_call() {
        let echo = |id, text: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#
            )
        };
        check(&echo(7, "this is the message of call 7"), "Some(7)");
        check(&echo(7, "Echo: this is the message of call 7"), "Some(7)");
        check(&echo(7, "this is the message of call 8"), "call 7 was answered with");
        check(&echo(7, ""), "call 7 was answered with");
        check(r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#, "None");
        check(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601}}"#, "answered with an error");
        check(r#"{"jsonrpc":"2.0","id":1}"#, "neither an answer");
        check("{", "not an answer");
    }

    #[test]
    fn calls_take_turns_among_the_tools() {
        let tools = ["a".to_owned(), "b".to_owned()];
        let names: Vec<&str> = (0..4).map(|id| tool_for(&tools, id)).collect();
        assert_eq!(names, ["a", "b", "a", "b"]);
        assert_eq!(tool_for(&[], 3), ECHO);
    }

    #[test]
    fn requests_are_json() {
        for request in [initialize(), INITIALIZED.to_owned(), call(ECHO, 5), stateless_call(5)] {
            let parsed: Value = serde_json::from_str(&request).unwrap();
            assert_eq!(parsed["jsonrpc"], "2.0", "{request}");
        }
        let call: Value = serde_json::from_str(&stateless_call(5)).unwrap();
        assert_eq!(
            call["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"],
            STATELESS_REVISION
        );
    }
}
