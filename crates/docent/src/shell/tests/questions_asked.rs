//! Tests of a server's requests and the answers to them.

use super::*;

/// Checks the answer to a form at a terminal where this is typed.
#[track_caller]
fn asked(schema: &Value, typed: &str, want: &Value) {
    let needed = json!({"resultType": "input_required", "requestState": "s", "inputRequests": {"q": {
        "method": "elicitation/create", "params": {"message": "Who?\u{1b}[2J", "requestedSchema": schema}}}});
    let script = vec![
        ("tools/list", result(json!({"tools": tools()}))),
        ("tools/call", result(needed)),
        ("tools/call", result(text("thanks"))),
    ];
    let ended = ShellScenario::new(script).on(SCREEN).typing(typed).run(&["call", "echo", "hi"]);
    ended.code(0).prints_out("thanks").prints_err("The server asks: Who?<ESC[2J>");
    let (_, params) = ended.asked.last().unwrap();
    assert_eq!(params["inputResponses"]["q"], *want, "{typed:?} {}", ended.err);
    assert_eq!(
        (&params["requestState"], &params["arguments"]["message"]),
        (&json!("s"), &json!("hi"))
    );
}

#[test]
fn a_person_fills_in_forms() {
    let form = json!({"type": "object", "required": ["name", "age"], "properties": {
        "name": {"type": "string", "title": "Your name"},
        "age": {"type": "integer", "default": 30},
        "mood": {"type": "string", "enum": ["g", "s"], "enumNames": ["Glad", "Sad"]},
        "tags": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "First"}, {"const": "b"}]}},
    }});
    let accept = |content: Value| json!({"action": "accept", "content": content});
    asked(&form, "Ann\n\n\n\ny\n", &accept(json!({"name": "Ann", "age": 30})));
    // Invalid and missing required values are asked for again.
    asked(
        &form,
        "\n\nAnn\nold\n41\nglad\nfirst,b\ny\n",
        &accept(json!({"name": "Ann", "age": 41, "mood": "g", "tags": ["a", "b"]})),
    );
    asked(&form, "Ann\n\n\n\ne\nBea\n\n\n\nmaybe\ny\n", &accept(json!({"name": "Bea", "age": 30})));
    asked(&form, "Ann\n\n\n\nd\n", &json!({"action": "decline"}));
    asked(&form, "Ann\n\n\n\nc\n", &json!({"action": "cancel"}));
    asked(&form, "Ann\n", &json!({"action": "cancel"}));
    asked(&json!({"type": "object", "properties": {}}), "y\n", &accept(json!({})));
    asked(&json!(5), "y\n", &accept(json!({})));
}

#[track_caller]
fn answers(
    terminal: TerminalState,
    typed: &str,
    method: &str,
    params: Value,
    want: Result<Value, i64>,
) -> String {
    let err = SharedOutput::default();
    let input = Box::new(io::Cursor::new(typed.as_bytes().to_vec()));
    let console = Arc::new(ShellConsole::with_streams(
        terminal,
        Box::new(io::sink()),
        Box::new(err.clone()),
        input,
    ));
    let questions = ClientRequestHandler::new(console, vec!["/tmp/a b".into()]);
    let got = questions.answer(method, &params).map_err(|error| error.code);
    assert_eq!(got, want, "{method} {params}");
    err.text()
}

#[test]
fn questions_have_answers() {
    answers(PIPE, "", "ping", json!({}), Ok(json!({})));
    answers(
        PIPE,
        "",
        "roots/list",
        json!({}),
        Ok(json!({"roots": [{"uri": "file:///tmp/a%20b", "name": "a b"}]})),
    );
    answers(SCREEN, "y\n", "sampling/createMessage", json!({}), Err(-1));
    answers(SCREEN, "", "tools/list", json!({}), Err(-32601));
    let output = answers(
        PIPE,
        "y\n",
        "elicitation/create",
        json!({"message": "Who?"}),
        Ok(json!({"action": "decline"})),
    );
    assert!(output.contains("Who?\nDeclined: not a terminal"), "{output}");
    let visit =
        |url: &str| json!({"mode": "url", "message": "Log in", "url": url, "elicitationId": "1"});
    let output = answers(
        SCREEN,
        "?\ny\n",
        "elicitation/create",
        visit("https://good.example@evil.example/x"),
        Ok(json!({"action": "accept"})),
    );
    assert!(output.contains("address at evil.example:"), "{output}");
    answers(
        SCREEN,
        "d\n",
        "elicitation/create",
        visit("https://x.example"),
        Ok(json!({"action": "decline"})),
    );
    answers(
        SCREEN,
        "",
        "elicitation/create",
        visit("https://x.example"),
        Ok(json!({"action": "cancel"})),
    );
    answers(
        SCREEN,
        "y\n",
        "elicitation/create",
        visit("file:///etc/passwd"),
        Ok(json!({"action": "decline"})),
    );
}

#[test]
fn a_server_that_only_asks_is_given_up() {
    let needed = json!({"resultType": "input_required", "inputRequests": {}});
    ShellScenario::calls(needed)
        .run(&["call", "echo", "hi"])
        .code(1)
        .prints_err("without answering");
}
