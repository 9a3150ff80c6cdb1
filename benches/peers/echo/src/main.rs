//! A stdio MCP server with one tool that returns its message. It supports the revisions that start with `initialize`,
//! answers in order, and writes once for all calls read so far.

use serde::Deserialize;
use serde_json::value::RawValue;
use std::io::{self, BufRead as _, BufReader, Write as _};

const NEWEST: &str = "\"2025-11-25\"";
const TOOLS: &str = r#"{"tools":[{"name":"echo","description":"Answers with the message it was given","inputSchema":{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]},"annotations":{"readOnlyHint":true,"idempotentHint":true}}]}"#;

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<&'a str>,
    #[serde(borrow)]
    params: Option<Params<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Params<'a> {
    #[serde(borrow)]
    protocol_version: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<Arguments<'a>>,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    message: Option<&'a RawValue>,
}

fn main() -> io::Result<()> {
    let mut input = BufReader::with_capacity(1 << 16, io::stdin().lock());
    let mut output = io::stdout().lock();
    let (mut line, mut answers) = (String::new(), Vec::new());
    while input.read_line(&mut line)? > 0 {
        answer(&line, &mut answers)?;
        line.clear();
        // Answer what has been read before waiting for more.
        if !input.buffer().contains(&b'\n') {
            output.write_all(&answers)?;
            output.flush()?;
            answers.clear();
        }
    }
    Ok(())
}

fn answer(line: &str, answers: &mut Vec<u8>) -> io::Result<()> {
    let Ok(request) = serde_json::from_str::<Request<'_>>(line) else {
        return writeln!(
            answers,
            r#"{{"jsonrpc":"2.0","id":null,"error":{{"code":-32700,"message":"not a request"}}}}"#
        );
    };
    let (Some(id), Some(method)) = (request.id, request.method) else { return Ok(()) };
    write!(answers, r#"{{"jsonrpc":"2.0","id":{},"#, id.get())?;
    let params = request.params.as_ref();
    match method {
        "tools/call" => {
            let arguments = params.and_then(|params| params.arguments.as_ref());
            let message = arguments.and_then(|arguments| arguments.message);
            let text = message.map_or("\"\"", RawValue::get);
            write!(answers, r#""result":{{"content":[{{"type":"text","text":{text}}}]}}"#)?;
        }
        "tools/list" => write!(answers, r#""result":{TOOLS}"#)?,
        "ping" => write!(answers, r#""result":{{}}"#)?,
        "initialize" => {
            let asked = params.and_then(|params| params.protocol_version);
            let version = asked.map_or(NEWEST, RawValue::get);
            let version =
                if version.starts_with("\"202") && version < NEWEST { version } else { NEWEST };
            write!(
                answers,
                r#""result":{{"protocolVersion":{version},"capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"echo-peer","version":"0.0.0"}}}}"#
            )?;
        }
        _ => write!(answers, r#""error":{{"code":-32601,"message":"no such method"}}"#)?,
    }
    answers.extend_from_slice(b"}\n");
    Ok(())
}
