//! Reading, referencing and outlining symbols.

use super::*;

fn shop() -> (TempDir, CodeSuite) {
    let (folder, suite) = project();
    put(
        folder.path(),
        "src/session.ts",
        "import { loginUser } from \"./auth\";\n\nexport class Session {\n  /** Opens it. */\n  async open(mail: string) {\n    return loginUser(mail, \"x\");\n  }\n  close() { this.open(\"\"); }\n}\n",
    );
    put(
        folder.path(),
        "tests/auth.test.ts",
        "import { loginUser } from \"../src/auth\";\ntest(\"weak\", () => { loginUser(\"a\", \"b\"); });\n",
    );
    (folder, suite)
}

#[tokio::test]
async fn a_symbol_is_read_with_its_surroundings() {
    let (_folder, suite) = shop();
    let got = call(&suite, "read_symbol", json!({"symbol": "loginUser"})).await.unwrap();
    let all = got.structured.clone().unwrap();
    assert_eq!(all["file"], "src/auth.ts");
    assert!(
        all["source"].as_str().unwrap().starts_with("export async function loginUser("),
        "{all}"
    );
    assert!(all["source"].as_str().unwrap().ends_with("return getUserById(email);\n}"), "{all}");
    assert_eq!(
        all["callers"],
        json!([{"file": "src/session.ts", "line": 6, "role": "call", "inside": "Session.open", "text": "return loginUser(mail, \"x\");"}])
    );
    assert_eq!(all["tests"][0]["file"], "tests/auth.test.ts");
    let callees: Vec<(&Value, &Value)> =
        all["callees"].as_array().unwrap().iter().map(|one| (&one["name"], &one["file"])).collect();
    assert_eq!(
        callees,
        [(&json!("Error"), &Value::Null), (&json!("getUserById"), &json!("src/users.ts"))]
    );
    let text = text_of(&got);
    assert!(text.contains("Called by:\n- Session.open (src/session.ts:6)"), "{text}");
    let by_id = json!({"symbol": "method:src/session.ts:Session.open"});
    let got = call(&suite, "read_symbol", by_id).await.unwrap().structured.unwrap();
    assert_eq!(got["annotation"]["qualifiedName"], "Session.open");
    let error = call(&suite, "read_symbol", json!({"symbol": "Row.open"})).await.unwrap_err();
    assert!(error.to_string().contains("method:src/session.ts:Session.open"), "{error}");
}

#[tokio::test]
async fn references_are_found_by_role() {
    let (_folder, suite) = shop();
    let found = |args: Value| {
        let suite = &suite;
        async move {
            let got = call(suite, "find_references", args).await.unwrap().structured.unwrap();
            let places = got["references"].as_array().unwrap().iter();
            places
                .map(|one| {
                    format!(
                        "{}:{} {}",
                        one["file"].as_str().unwrap(),
                        one["line"],
                        one["role"].as_str().unwrap()
                    )
                })
                .collect::<Vec<_>>()
        }
    };
    let all = found(json!({"symbol": "loginUser"})).await;
    let want = [
        "src/auth.ts:4 definition",
        "src/session.ts:1 import",
        "src/session.ts:6 call",
        "tests/auth.test.ts:1 import",
        "tests/auth.test.ts:2 call",
    ];
    assert_eq!(all, want);
    let calls = json!({"symbol": "loginUser", "path": "src", "roles": ["call"]});
    assert_eq!(found(calls).await, ["src/session.ts:6 call"]);
    let none = call(&suite, "find_references", json!({"symbol": "nowhere"})).await.unwrap();
    assert_eq!(
        text_of(&none),
        "No references to nowhere (4 files searched; strings and comments not searched)"
    );
    let error = call(&suite, "find_references", json!({"symbol": "Row.open"})).await.unwrap_err();
    assert!(error.to_string().contains("Session.open"), "{error}");
}

#[tokio::test]
async fn an_outline_takes_as_much_room_as_there_is() {
    let (folder, suite) = shop();
    let ask = |args: Value| {
        let suite = &suite;
        async move { call(suite, "outline", args).await.unwrap() }
    };
    let got = ask(json!({"path": "src/session.ts"})).await;
    assert_eq!(
        text_of(&got),
        "src/session.ts: 1 file, 3 definitions\nsrc/session.ts\n  3-9 class Session\n    5-7 async open(mail: string)\n    8 close()"
    );
    let whole = ask(json!({})).await.structured.unwrap();
    assert_eq!((&whole["detail"], &whole["totalFiles"]), (&json!("whole"), &json!(4)));
    for n in 0..60 {
        let members = "  longMethodName(argument: string) {}\n".repeat(20);
        put(
            folder.path(),
            &format!("lib/part{n}/file{n}.ts"),
            &format!("class Long{n} {{\n{members}}}\n"),
        );
    }
    for (tokens, want) in [(4000, "top"), (700, "files"), (100, "folders")] {
        let got = ask(json!({"maxTokens": tokens})).await;
        let structured = got.structured.clone().unwrap();
        assert_eq!(structured["detail"], want, "{tokens}: {}", structured["tokens"]);
        assert!(text_of(&got).len() <= tokens * 4 + 120, "{tokens}: {}", text_of(&got));
        assert!(text_of(&got).contains("Not everything fits"), "{}", text_of(&got));
    }
}

#[tokio::test]
async fn index_status_reports_the_index() {
    let (folder, suite) = shop();
    put(folder.path(), "node_modules/x/index.js", "function x() {}");
    put(folder.path(), "api_pb2.py", "def x(): pass");
    put(folder.path(), "src/binary.ts", "const a = 1;\0");
    put(folder.path(), "src/packed.ts", &"a();".repeat(100_000));
    fs::File::create(folder.path().join("src/huge.ts")).unwrap().set_len(50 << 20).unwrap();
    let got = call(&suite, "index_status", json!({})).await.unwrap().structured.unwrap();
    assert_eq!(got["freshness"], "inStep");
    assert_eq!(got["languages"], json!({"TypeScript": 4}));
    assert_eq!(
        got["leftOut"],
        json!({"vendored": 1, "generated": 1, "minified": 1, "tooLarge": 1})
    );
    assert_eq!(got["problems"], json!(["src/binary.ts: not text: it contains NUL bytes"]));
    assert_eq!((&got["kinds"]["function"], &got["documents"]), (&json!(4), &json!(1)));
}

#[tokio::test]
async fn patterns_choose_files() {
    let (_folder, suite) = shop();
    for (pattern, want) in
        [("src/*.ts", 3), ("**/*.test.ts", 1), ("./src/{auth,users}.ts", 2), ("**/*", 4)]
    {
        let got = call(&suite, "parse_files", json!({"files": [pattern]})).await.unwrap();
        assert_eq!(got.structured.unwrap()["totalFiles"], want, "{pattern}");
    }
    let error = call(&suite, "parse_files", json!({"files": ["lib/*.ts"]})).await.unwrap_err();
    assert!(error.to_string().contains("lib"), "{error}");
    let error = call(&suite, "parse_files", json!({"files": ["src/*.py"]})).await.unwrap_err();
    assert!(error.to_string().contains("no source file matches"), "{error}");
}
