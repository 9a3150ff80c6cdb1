//! Errors: their kind, and their position in the source.

use crate::stage::{check_all, run_plain};
use docent_script::ScriptErrorKind;
use serde_json::json;

#[test]
fn errors_carry_their_place() {
    check_all(&[
        ("throw new Error('x')", json!("Thrown 1:11 Error: x")),
        (
            "const a: number = 1\n\nfunction f(): void {\n  null.x\n}\nf()",
            json!("Thrown 4:3 TypeError: cannot read property 'x' of null"),
        ),
        (
            "import { add } from 'mcp-clients/calc'\ninterface A {\n  b: string\n}\nawait add({ a: 1 });\nconst é: string = 'é'; missing()",
            json!("Thrown 6:24 ReferenceError: missing is not defined"),
        ),
        (
            "enum A { X,\n Y }\nclass B { constructor(private a: number) { throw new RangeError('r') } }\nnew B(1)",
            json!("Thrown 3:54 RangeError: r"),
        ),
        (
            "return JSON.parse('{')",
            json!(
                "Thrown 1:13 SyntaxError: Expected property name or '}' in JSON at position 1 (line 1 column 2)"
            ),
        ),
        ("throw 'text'", json!("Thrown 0:0 text was thrown")),
        ("throw { a: 1 }", json!("Thrown 0:0 { a: 1 } was thrown")),
        ("throw undefined", json!("Thrown 0:0 undefined was thrown")),
        ("throw { get stack() { throw 1 } }", json!("Thrown 0:0 { stack: [Getter] } was thrown")),
        (
            "throw new Proxy({}, { get() { throw 1 }, getPrototypeOf() { throw 1 } })",
            json!("Thrown 0:0 an error that can't be shown"),
        ),
        ("const x = ;", json!("Syntax 1:11 Unexpected token")),
        ("let a\nlet b = (1", json!("Syntax 2:11 Expected `)` but found `EOF`")),
        ("let a = 1;\nlet a = 2;", json!("Syntax 2:7 invalid redefinition of lexical identifier")),
        ("}); evil(", json!("Syntax 1:1 Unexpected token")),
        ("'a\0b'", json!("Syntax 1:3 the code has a NUL character; leave it out")),
        ("return import.meta", json!("Syntax 1:15 import.meta only valid in module code")),
        (
            "await new Promise(() => {})",
            json!(
                "Stalled 0:0 the script waits for a promise that can never settle: no call or timer is pending"
            ),
        ),
        (
            "const f = () => f(); f()",
            json!("Thrown 1:17 RangeError: Maximum call stack size exceeded"),
        ),
    ]);
}

#[tokio::test]
async fn an_error_has_what_was_done_before_it() {
    let code = "console.log('one');\nawait mcp.calc.add();\n   throw new Error('two') // here";
    let error = run_plain(code).await.unwrap_err();
    assert_eq!(error.kind, ScriptErrorKind::Thrown);
    assert_eq!(error.to_string(), "Error: two (line 3, column 14: throw new Error('two') // here)");
    assert_eq!(error.console[0].text, "one");
    assert_eq!((error.calls[0].tool.as_str(), error.calls[0].ok), ("add", true));
}

#[tokio::test]
async fn errors_outside_of_the_main_line_are_printed() {
    let ran = run_plain("setTimeout(() => { throw new Error('t') }); Promise.reject(new Error('p')); const h = Promise.reject(1); await new Promise((d) => setTimeout(d, 5)); h.catch(() => {}); return 1")
        .await
        .unwrap();
    let printed: Vec<_> = ran.console.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(
        printed,
        ["Uncaught Error: t", "a promise without a handler was rejected: Error: p"]
    );
}
