//! From words to arguments.

use super::*;

/// The arguments that words become, or what is wrong with them.
#[track_caller]
fn check(words: &str, want: Result<Value, &str>) {
    let scene = ShellScenario::calls(text("ok"));
    std::fs::write(scene.folder.path().join("note.txt"), "line 1\nline 2\n").unwrap();
    std::fs::write(scene.folder.path().join("raw"), [0xff, 0x00, 0xfe]).unwrap();
    let mut all = vec!["call"];
    all.extend(words.split(' '));
    let ended = scene.typing("from stdin").run(&all);
    match want {
        Ok(want) => ended.code(0).sent(&want),
        Err(want) => {
            ended.code(2).prints_err(want);
        }
    }
}

#[test]
fn words_become_arguments() {
    check("echo message=hi", Ok(json!({"message": "hi"})));
    check("echo hi", Ok(json!({"message": "hi"})));
    check("echo https://x.example/?a=b", Ok(json!({"message": "https://x.example/?a=b"})));
    check("echo -5", Ok(json!({"message": "-5"})));
    check("echo message=a=b times=-5", Ok(json!({"message": "a=b", "times": -5})));
    check("echo hi loud=true mood=sad", Ok(json!({"message": "hi", "loud": true, "mood": "sad"})));
    check("echo hi tags=a,b", Ok(json!({"message": "hi", "tags": ["a", "b"]})));
    check("echo hi tags=a,b tags=c", Ok(json!({"message": "hi", "tags": ["a,b", "c"]})));
    check("echo hi any:={\"x\":[1]}", Ok(json!({"message": "hi", "any": {"x": [1]}})));
    check(
        "echo hi deep.a=1 deep.b.c=x",
        Ok(json!({"message": "hi", "deep": {"a": 1, "b.c": "x"}})),
    );
    check("echo hi deep.more.z=1.5", Ok(json!({"message": "hi", "deep": {"more": {"z": 1.5}}})));
    check("echo hi a.dot=3", Ok(json!({"message": "hi", "a.dot": 3})));
    check("echo message=@note.txt", Ok(json!({"message": "line 1\nline 2\n"})));
    check("echo message=-", Ok(json!({"message": "from stdin"})));
    check("echo hi blob=@raw", Ok(json!({"message": "hi", "blob": "/wD+"})));
    check("echo message:=\"@x\"", Ok(json!({"message": "@x"})));
    check("two x=1e3 y=null", Ok(json!({"x": 1000.0, "y": null})));
    // A field goes over what its object was given before.
    check(
        r#"echo hi deep={"a":1,"b.c":"x"} deep.a=2"#,
        Ok(json!({"message": "hi", "deep": {"a": 2, "b.c": "x"}})),
    );
    check("free", Ok(json!({})));
    check("free anything=5 a.b=true", Ok(json!({"anything": 5, "a": {"b": true}})));
    check("echo --json {\"message\":1}", Ok(json!({"message": 1})));
    check("echo --json {} message=hi", Ok(json!({"message": "hi"})));
    check("echo --json={\"message\":\"=\"}", Ok(json!({"message": "="})));
    check("unlisted --json {\"a\":1}", Ok(json!({"a": 1})));
    check("echo --json message=hi", Ok(json!({"message": "hi"})));
    check("echo tags=a --json tags=b x", Ok(json!({"tags": ["a", "b"], "message": "x"})));
}

#[test]
fn wrong_words_are_reported() {
    check("echo", Err("missing required argument:\n  message (string, required)"));
    check(
        "two",
        Err("missing required arguments:\n  x (number, required)\n  y (integer or null, required)"),
    );
    check("two 5", Err("\"5\" has no key: use key=value; accepted:\n  x (number, required)"));
    check("echo mesage=hi", Err("unknown argument mesage; did you mean message?"));
    check("echo hi deep.x=1", Err("unknown argument x in deep"));
    check(
        "echo hi mood=gald",
        Err("mood expects one of glad, sad; got \"gald\"; did you mean glad?"),
    );
    check("echo hi times=many", Err("times expects an integer"));
    check(
        "echo hi hello",
        Err("message is given 2 times but takes one value (a word without `=` counts as one)"),
    );
    check("echo hi deep.a=1 deep={}", Err("deep conflicts with"));
    check("echo hi any:=[", Err("any:= expects JSON"));
    check("echo message=@nowhere", Err("use message:='\"@…\"'"));
    check("echo message=@raw", Err("not UTF-8 text"));
    check("echo message=- mood=-", Err("only one argument can be read from standard input"));
    check("echo --json={", Err("invalid JSON in --json"));
    check("echo --json=[1]", Err("--json takes an object"));
    check("echo --json @note.txt", Err("invalid JSON in --json"));
    check("echo --json {} --json {}", Err("given twice"));
    check("ehco hi", Err("unknown tool ehco; did you mean echo? (available: echo, two, free)"));
    check("echo hi time broken", Err("choose one with --server"));
    check("echo hi --server none", Err("unknown server none"));
    check("echo hi --url http://x --header odd", Err("expected 'Name: value'"));
    check("echo hi --server time --url http://x", Err("cannot be used with"));
}
