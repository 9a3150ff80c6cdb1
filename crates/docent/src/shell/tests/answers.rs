//! From answers to a screen, to files and to exit codes.

use super::*;

#[test]
fn answers_are_shown() {
    let ended = ShellScenario::calls(text("hello\u{1b}[31m")).run(&["call", "echo", "hi"]);
    ended.code(0);
    // A program gets what the server said.
    assert_eq!(ended.out.text(), "hello\u{1b}[31m\n");
    let ended =
        ShellScenario::calls(text("hello\u{1b}[31m")).on(SCREEN).run(&["call", "echo", "hi"]);
    assert_eq!(ended.code(0).out.text(), "hello<ESC[31m>\n");
    let json_text = r#"{"n":12345678901234567890123}"#;
    let ended = ShellScenario::calls(text(json_text)).on(SCREEN).run(&["call", "echo", "hi"]);
    assert_eq!(ended.code(0).out.text(), "{\n  \"n\": 12345678901234567890123\n}\n");
    let ended = ShellScenario::calls(text(json_text)).run(&["call", "echo", "hi"]);
    assert_eq!(ended.code(0).out.text(), format!("{json_text}\n"));
    let both = json!({"content": [{"type": "text", "text": "a"}], "structuredContent": {"a": 1}});
    assert_eq!(ShellScenario::calls(both.clone()).run(&["call", "echo", "hi"]).out.text(), "a\n");
    let shown =
        ShellScenario::calls(both.clone()).run(&["call", "echo", "hi", "--json"]).out.text();
    assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), both);
    let only = json!({"content": [], "structuredContent": {"a": 1}});
    ShellScenario::calls(only).run(&["call", "echo", "hi"]).code(0).prints_out("\"a\": 1");
    ShellScenario::calls(json!({"toolResult": 5}))
        .run(&["call", "echo", "hi"])
        .code(0)
        .prints_out("\"toolResult\": 5");
    assert_eq!(
        ShellScenario::calls(json!({"content": []}))
            .run(&["call", "echo", "hi"])
            .code(0)
            .out
            .text(),
        ""
    );
    for odd in
        [json!(null), json!(5), json!({"content": 5}), json!({"content": [5, null, {"type": 7}]})]
    {
        ShellScenario::calls(odd).run(&["call", "echo", "hi"]).code(0);
    }
    let link = json!({"content": [{"type": "resource_link", "uri": "file:///a", "name": "A\nB", "mimeType": "text/plain"}]});
    assert_eq!(
        ShellScenario::calls(link).run(&["call", "echo", "hi"]).out.text(),
        "file:///a  A\\nB  text/plain\n"
    );
}

#[test]
fn failures_have_their_exit_codes() {
    let failed = json!({"content": [{"type": "text", "text": "no such file\u{1b}]0;x\u{7}"}], "isError": true});
    let ended = ShellScenario::calls(failed.clone()).run(&["call", "echo", "hi"]);
    ended.code(1).prints_err("no such file<ESC]0;x");
    assert_eq!(ended.out.text(), "");
    ShellScenario::calls(failed)
        .run(&["call", "echo", "hi", "--json"])
        .code(1)
        .prints_out("\"isError\": true");
    ShellScenario::calls(json!({"isError": true}))
        .run(&["call", "echo", "hi"])
        .code(1)
        .prints_err("failed without giving a reason");
    let error = json!({"error": {"code": -32602, "message": "Invalid params", "data": {"parameter": "mood", "reason": "too sad"}}});
    let refused =
        vec![("tools/list", result(json!({"tools": tools()}))), ("tools/call", vec![error])];
    let ended = ShellScenario::new(refused.clone()).run(&["call", "echo", "hi"]);
    ended.code(1).prints_err("error: Invalid params: `mood`: too sad (-32602)\nCheck the name");
    assert_eq!(ended.out.text(), "");
    ShellScenario::new(refused)
        .run(&["call", "echo", "hi", "--json"])
        .code(1)
        .prints_out("\"code\": -32602");
    ShellScenario::new(Vec::new())
        .run(&["call", "echo"])
        .code(2)
        .prints_err("the server has no tools");
    ShellScenario::calls(text("x")).run(&["call"]).code(2);
    ShellScenario::calls(text("x"))
        .run(&["call", "echo", "hi", "--server", "broken"])
        .code(1)
        .prints_err("does not start");
}

#[test]
fn bytes_are_saved_and_never_over_others() {
    let png = json!({"content": [
        {"type": "text", "text": "a picture"},
        {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
        {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "x://y", "mimeType": "application/pdf", "blob": "AAAA"}},
        {"type": "resource", "resource": {"uri": "x://z", "text": "inside"}},
    ]});
    let scene = ShellScenario::calls(png.clone());
    scene
        .run(&["call", "echo", "hi"])
        .code(0)
        .prints_out("inside")
        .prints_err("image/png, 8 bytes: not saved; use --save DIR");
    assert_eq!(std::fs::read_dir(scene.folder.path()).unwrap().count(), 0);
    scene.run(&["call", "echo", "hi", "--save", "out"]).code(0).prints_err("saved ");
    scene.run(&["call", "echo", "hi", "--save", "out"]).code(0);
    let mut names: Vec<_> = std::fs::read_dir(scene.folder.path().join("out"))
        .unwrap()
        .flatten()
        .map(|e| e.file_name())
        .collect();
    names.sort();
    assert_eq!(
        names,
        ["echo-1-2.png", "echo-1.png", "echo-2-2.wav", "echo-2.wav", "echo-3-2.pdf", "echo-3.pdf"]
    );
    let scene = ShellScenario::calls(png).on(SCREEN);
    scene.run(&["call", "echo", "hi"]).code(0);
    assert_eq!(
        std::fs::read(scene.folder.path().join("echo-1.png")).unwrap(),
        b"\x89PNG\r\n\x1a\n"
    );
    let bad = json!({"content": [{"type": "image", "data": "!!", "mimeType": "image/png"}]});
    ShellScenario::calls(bad)
        .on(SCREEN)
        .run(&["call", "echo", "hi"])
        .code(1)
        .prints_err("invalid base64");
    // A server does not choose where a file goes.
    let evil = json!({"tools": [{"name": "../../evil", "inputSchema": {}}]});
    let answer = json!({"content": [{"type": "image", "data": "AAAA", "mimeType": "../../x"}]});
    let scene =
        ShellScenario::new(vec![("tools/list", result(evil)), ("tools/call", result(answer))])
            .on(SCREEN);
    scene.run(&["call", "../../evil"]).code(0);
    assert!(scene.folder.path().join("evil-1.bin").exists());
}

#[test]
fn notifications_during_a_call_are_shown() {
    let said = vec![
        json!({"method": "notifications/message", "params": {"level": "warning", "logger": "db", "data": "slow\nvery"}}),
        json!({"method": "notifications/message", "params": {"level": "info", "data": {"message": "All read", "files": 5}}}),
        json!({"method": "notifications/progress", "params": {"progress": 1, "total": 2, "message": "half"}}),
        json!({"method": "notifications/odd"}),
        json!({"result": text("done")}),
    ];
    let script = vec![("tools/list", result(json!({"tools": tools()}))), ("tools/call", said)];
    let quiet = ShellScenario::new(script.clone()).run(&["call", "echo", "hi"]);
    assert_eq!(quiet.code(0).err, "");
    ShellScenario::new(script.clone())
        .run(&["call", "echo", "hi", "-v"])
        .code(0)
        .prints_err("[warning] db: slow\\nvery\n")
        .prints_err("[info] All read {\"files\":5}\n")
        .prints_err("notifications/odd");
    ShellScenario::new(script).on(SCREEN).run(&["call", "echo", "hi"]).code(0).prints_out("done");
}

#[test]
fn words_of_a_server_never_act_on_the_terminal() {
    let evil = "x\u{1b}[2J\u{202e}";
    let tools = json!({"tools": [{"name": "t", "title": evil, "description": evil, "inputSchema": {
        "type": "object", "required": [evil], "properties": {
            (evil): {"type": "string", "description": evil, "enum": [evil, "b"], "default": evil},
        }}, "outputSchema": {"properties": {(evil): {"title": evil}}}}]});
    let failed = json!({"content": [{"type": "text", "text": evil}], "isError": true});
    let error = json!({"error": {"code": 1, "message": evil, "data": {"reason": evil}}});
    let lists = json!({"resources": [{"uri": evil, "name": evil, "mimeType": evil}], "prompts": [{"name": evil}]});
    let script = vec![
        ("tools/list", result(tools)),
        ("tools/call", result(failed)),
        ("resources/list", result(lists.clone())),
        ("resources/read", vec![error]),
        ("prompts/list", result(lists)),
    ];
    let scene = ShellScenario::new(script).on(SCREEN);
    for line in [
        "tools",
        "tools t",
        "tools --json",
        "tools --tokens",
        "tools none",
        "call t",
        "call t none=1",
        "call t b=1 x",
        "call t --json {}",
        "call t --json {} --json",
        "resources",
        "resources x://y",
        "resources x://y --json",
        "resources --json",
        "prompts",
        "prompts none",
    ] {
        let ended = scene.run(&line.split(' ').collect::<Vec<_>>());
        let all = ended.out.text() + &ended.err;
        assert!(!all.contains(['\u{1b}', '\u{202e}']) && !all.is_empty(), "{line}: {all:?}");
    }
}
