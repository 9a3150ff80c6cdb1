//! Tools, resources and prompts, listed and read.

use super::*;

#[test]
fn tools_are_listed() {
    let script = || vec![("tools/list", result(json!({"tools": tools()})))];
    let ended = ShellScenario::new(script()).run(&["tools"]);
    ended
        .code(0)
        .prints_out("scripted 1 (2025-11-25), 3 tools\n")
        .prints_out("echo  Says it again.\n");
    ended.prints_out(
        "    message* string, times integer, loud boolean, mood glad|sad, tags array of string",
    );
    ended.prints_out("[read-only]").prints_out("two\n    x* number, y* integer or null\n");
    ShellScenario::new(script()).run(&["tools", "-v"]).code(0).prints_out("  Ask nicely.\n");
    let shown: Value =
        serde_json::from_str(&ShellScenario::new(script()).run(&["tools", "--json"]).out.text())
            .unwrap();
    assert_eq!(shown, json!({"tools": tools()}));
    let ended = ShellScenario::new(script()).run(&["tools", "--tokens", "time", "docent"]);
    ended
        .code(0)
        .prints_out("time: scripted 1")
        .prints_out("docent: scripted 1")
        .prints_out("total")
        .prints_out("tokens in all 2 servers.")
        .prints_out("Estimated from");
    let ended = ShellScenario::new(script()).run(&["tools", "--tokens", "--json"]);
    let shown: Value = serde_json::from_str(&ended.code(0).out.text()).unwrap();
    let each: u64 =
        shown["tokens"]["tools"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
    assert_eq!(shown["tokens"]["total"].as_u64(), Some(each));
    ShellScenario::new(script())
        .run(&["tools", "--all"])
        .code(1)
        .prints_err("broken: it does not start")
        .prints_out("time: scripted");
    ShellScenario::new(script())
        .run(&["tools", "ecoh"])
        .code(2)
        .prints_err("did you mean echo?")
        .prints_err("and not a server (configured: time, broken)");
    ShellScenario::new(script()).run(&["tools", "a", "b"]).code(2);
    ShellScenario::new(script())
        .run(&["tools", "--all", "echo"])
        .code(2)
        .prints_err("describe one tool at a time");
    ShellScenario::new(Vec::new()).run(&["tools"]).code(0).prints_out("0 tools");
}

#[test]
fn one_tool_is_shown_in_detail() {
    let mut all = tools();
    all[0]["outputSchema"] =
        json!({"type": "object", "required": ["said"], "properties": {"said": {"type": "string"}}});
    all[0]["description"] = json!("Says it again.\nHidden: \u{202e}x");
    let ended = ShellScenario::new(vec![("tools/list", result(json!({"tools": all})))])
        .run(&["tools", "echo", "time"]);
    ended
        .code(0)
        .prints_out("Arguments\n")
        .prints_out("message")
        .prints_out("required")
        .prints_out("[default: 1]")
        .prints_out("(glad, sad)");
    ended
        .prints_out("deep.more")
        .prints_out("<U+202E>")
        .prints_out("Answer\n")
        .prints_out("said")
        .prints_out("Hints: read-only.");
    ended.prints_out("docent call echo message=TEXT --server time\n");
}

#[test]
fn what_was_seen_is_kept_for_completion() {
    let scene = ShellScenario::calls(text("x"));
    let kept = scene.folder.path().join("memory/x.json");
    scene.run(&["call", "echo", "hi"]).code(0);
    assert!(!kept.exists(), "docent itself needs no memory");
    scene.run(&["call", "echo", "hi", "time"]).code(0);
    assert_eq!(lists::read(&kept).len(), 3);
}

#[test]
fn lists_are_followed_to_their_end() {
    let page = |names: &[&str], next: Option<&str>| {
        let tools: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
        result(json!({"tools": tools, "nextCursor": next}))
    };
    let script = vec![
        ("tools/list", page(&["a"], Some("1"))),
        ("tools/list", page(&["b"], Some("2"))),
        ("tools/list", page(&["c"], None)),
    ];
    let ended = ShellScenario::new(script).run(&["tools"]);
    ended.code(0).prints_out("3 tools");
    assert_eq!(ended.asked[2].1["cursor"], "2");
    ShellScenario::new(vec![("tools/list", page(&["a"], Some("1")))])
        .run(&["tools"])
        .code(1)
        .prints_err("endless pagination in");
}

#[test]
fn resources_are_listed_and_read() {
    let listed = json!({"resources": [{"uri": "file:///a", "name": "A", "mimeType": "text/plain", "size": 5}]});
    let templates = json!({"resourceTemplates": [{"uriTemplate": "x://{id}", "name": "X", "description": "Each x"}]});
    let script = || {
        vec![
            ("resources/list", result(listed.clone())),
            ("resources/templates/list", result(templates.clone())),
        ]
    };
    let ended = ShellScenario::new(script()).run(&["resources"]);
    ended
        .code(0)
        .prints_out("file:///a  A\n    text/plain, 5 bytes\n")
        .prints_out("x://{id}  Each x\n");
    ShellScenario::new(script())
        .run(&["resources", "--json"])
        .code(0)
        .prints_out("\"resourceTemplates\"");
    ShellScenario::new(Vec::new())
        .run(&["resources"])
        .code(0)
        .prints_err("scripted has no resources");
    let read = |contents: Value| vec![("resources/read", result(json!({"contents": contents})))];
    let blob = json!([{"uri": "x://b.png", "mimeType": "image/png", "blob": "/wD+"}]);
    let ended = ShellScenario::new(read(blob.clone())).run(&["resources", "x://b.png"]);
    assert_eq!(ended.code(0).out.bytes(), [0xff, 0x00, 0xfe]);
    let scene = ShellScenario::new(read(blob)).on(SCREEN);
    scene.run(&["resources", "x://b.png", "time"]).code(0).prints_err("saved ");
    assert!(scene.folder.path().join("b-1.png").exists());
    ShellScenario::new(read(json!([{"uri": "x://t", "text": "words"}])))
        .run(&["resources", "x://t"])
        .code(0)
        .prints_out("words\n");
    let missing = vec![(
        "resources/read",
        vec![json!({"error": {"code": -32002, "message": "Resource not found"}})],
    )];
    ShellScenario::new(missing)
        .run(&["resources", "x://t"])
        .code(1)
        .prints_err("`docent resources` lists the available resources");
    ShellScenario::new(script()).run(&["resources", "a", "b"]).code(2);
}

#[test]
fn prompts_are_listed_and_rendered() {
    let listed = json!({"prompts": [{"name": "greet", "description": "Greets.", "arguments": [
        {"name": "who", "required": true, "description": "Whom"}, {"name": "how"}]}]});
    let messages = json!({"messages": [
        {"role": "user", "content": {"type": "text", "text": "Say hello"}},
        {"role": "assistant", "content": [{"type": "text", "text": "Hello"}]},
    ]});
    let script = || {
        vec![("prompts/list", result(listed.clone())), ("prompts/get", result(messages.clone()))]
    };
    ShellScenario::new(script())
        .run(&["prompts"])
        .code(0)
        .prints_out("greet  Greets.\n    who*, how\n");
    let ended = ShellScenario::new(script()).run(&["prompts", "greet", "who=5", "how=-"]);
    assert_eq!(ended.code(0).out.text(), "[user]\nSay hello\n[assistant]\nHello\n");
    ended.sent(&json!({"who": "5", "how": ""}));
    ShellScenario::new(script())
        .run(&["prompts", "greet", "Ann"])
        .code(0)
        .sent(&json!({"who": "Ann"}));
    ShellScenario::new(script())
        .run(&["prompts", "greet"])
        .code(2)
        .prints_err("who (string, required)");
    ShellScenario::new(script())
        .run(&["prompts", "greet", "whom=x"])
        .code(2)
        .prints_err("did you mean who?");
    ShellScenario::new(script())
        .run(&["prompts", "great"])
        .code(2)
        .prints_err("did you mean greet?");
    ShellScenario::new(Vec::new()).run(&["prompts"]).code(0).prints_err("no prompts");
}
