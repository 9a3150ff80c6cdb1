//! Output: values as JSON, and the console.

use crate::stage::{check_all, run_plain, run_with};
use docent_script::{ConsoleLevel, ScriptLimits};
use serde_json::json;
use std::sync::Arc;

#[test]
fn values_become_json() {
    check_all(&[
        ("return undefined", json!(null)),
        (
            "return { a: undefined, b: null, c: [undefined, 1] }",
            json!({ "b": null, "c": [null, 1] }),
        ),
        ("return new Map([['a', 1], [2, new Set([1, 2])]])", json!({ "a": 1, "2": [1, 2] })),
        ("return new Map([[{}, 1]])", json!([[{}, 1]])),
        (
            "return [new Date(0), /x/g, new Error('bad'), new Uint8Array([1, 2])]",
            json!(["1970-01-01T00:00:00.000Z", "/x/g", { "name": "Error", "message": "bad" }, [1, 2]]),
        ),
        ("return [5n, 'é\\ud83d\\ude00', -0, 1e21]", json!([5, "é😀", 0, 1e21])),
        (
            "return JSON.parse('{\"__proto__\": 1}')",
            serde_json::from_str(r#"{"__proto__": 1}"#).unwrap(),
        ),
        ("return { toJSON() { return 'own' } }", json!("own")),
        (
            "return structuredClone({ a: [1, new Date(0)], m: new Map([[1, 2]]) })",
            json!({ "a": [1, "1970-01-01T00:00:00.000Z"], "m": { "1": 2 } }),
        ),
        (
            "const o = { a: 1 }; o.self = o; const c = structuredClone(o); return [c.self === c, c !== o]",
            json!([true, true]),
        ),
        ("return await new Promise((done) => setTimeout(done, 1, 'later'))", json!("later")),
        (
            "const order = []; const t = setTimeout(() => order.push('no'), 1); clearTimeout(t); setTimeout(() => order.push(3), 2); queueMicrotask(() => order.push(2)); order.push(1); await new Promise((d) => setTimeout(d, 4)); return order",
            json!([1, 2, 3]),
        ),
        (
            "class Point { constructor() { this.x = 1 } get y() { return 2 } } return new Point()",
            json!({ "x": 1 }),
        ),
        ("return 'a\\u2028b\\0c'", json!("a\u{2028}b\0c")),
    ]);
}

#[tokio::test]
async fn what_json_can_not_express_is_reported() {
    let code = "const o = { f() {}, n: NaN, b: 2n ** 80n, s: Symbol('x'), p: Promise.resolve(1), list: [() => 1] }; o.me = o; return o";
    let ran = run_plain(code).await.unwrap();
    assert_eq!(
        ran.value,
        json!({ "n": null, "b": "1208925819614629174706176", "list": [null], "me": "[Circular]" })
    );
    assert_eq!(
        ran.lost,
        [
            "value.f: a function is left out",
            "value.n: NaN is not JSON and becomes null",
            "value.b: a BigInt is kept as text",
            "value.s: a symbol is left out",
            "value.p: a promise that is not awaited is left out",
            "value.list[0]: a function is left out",
            "value.me: a circular reference is cut",
        ]
    );
    let deep =
        run_plain("let a = 1; for (let i = 0; i < 1e5; i++) a = [a]; return a").await.unwrap();
    assert_eq!(deep.lost.len(), 1);
    assert!(
        deep.lost[0].ends_with("everything more than 100 levels deep is cut"),
        "{:?}",
        deep.lost
    );
}

#[tokio::test]
async fn the_console_prints_as_people_expect() {
    let table = [
        ("console.log('a', 1, true, null, undefined)", "a 1 true null undefined"),
        (
            "console.log({ a: 1, 'b-c': 'x', d: [1, 'two'] })",
            "{ a: 1, 'b-c': 'x', d: [ 1, 'two' ] }",
        ),
        ("console.log([])", "[]"),
        ("console.log({}, [[]])", "{} [ [] ]"),
        ("console.log(\"it's\", [\"it's\"])", "it's [ \"it's\" ]"),
        ("const o = { a: 1 }; o.o = o; console.log(o)", "{ a: 1, o: [Circular] }"),
        (
            "console.log(new Map([['a', { b: 1 }]]), new Set([1]))",
            "Map(1) { 'a' => { b: 1 } } Set(1) { 1 }",
        ),
        (
            "console.log(new Error('bad'), [new TypeError('worse')])",
            "Error: bad [ TypeError: worse ]",
        ),
        (
            "class P { x = 1 } console.log(new P(), P, () => 1, function f() {})",
            "P { x: 1 } [class: P] [Function: (anonymous)] [Function: f]",
        ),
        (
            "console.log(10n, Symbol('s'), -0, new Date(0), /r/)",
            "10n Symbol(s) -0 1970-01-01T00:00:00.000Z /r/",
        ),
        ("console.log('%s is %d%% of %j', 'x', 5, { a: 1 }, 'more')", "x is 5% of {\"a\":1} more"),
        ("console.log({ get a() { throw 1 } })", "{ a: [Getter] }"),
        (
            "console.log(new Proxy({}, { ownKeys() { throw new Error('no') } }))",
            "[can't be shown: no]",
        ),
        ("console.log(new Uint8Array([1, 2]))", "Uint8Array (2) [ 1, 2 ]"),
        ("console.log(Array.from({ length: 102 }, () => 0).length, [, 1])", "102 [ <empty>, 1 ]"),
        ("console.log(Promise.resolve(1), mcp.calc.add)", "Promise { … } [Function: add]"),
        (
            "console.log({ long: 'x'.repeat(40), other: ['y'.repeat(30)] })",
            "{\n  long: 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',\n  other: [ 'yyyyyyyyyyyyyyyyyyyyyyyyyyyyyy' ]\n}",
        ),
        ("console.log('\\ud800')", "\u{fffd}"),
        (
            "let d = {}; for (let i = 0; i < 9; i++) d = { d }; console.log(d)",
            "{ d: { d: { d: { d: { d: { d: { d: { d: [Object] } } } } } } } }",
        ),
    ];
    for (code, want) in table {
        let ran = run_plain(code).await.unwrap();
        assert_eq!(
            ran.console.iter().map(|line| line.text.as_str()).collect::<Vec<_>>(),
            [want],
            "{code}"
        );
    }
    let ran = run_plain("console.info(1); console.warn(2); console.error(3); console.debug(4)")
        .await
        .unwrap();
    let levels: Vec<_> = ran.console.iter().map(|line| line.level).collect();
    assert_eq!(
        levels,
        [ConsoleLevel::Info, ConsoleLevel::Warn, ConsoleLevel::Error, ConsoleLevel::Debug]
    );
}

#[tokio::test]
async fn long_output_is_cut_and_marked() {
    let limits = ScriptLimits { output_bytes: 1000, ..ScriptLimits::default() };
    let ran = run_with("return 'é'.repeat(5000)", Arc::default(), &limits).await.unwrap();
    assert!(ran.truncated);
    let text = ran.value.as_str().unwrap();
    assert!(text.starts_with("\"éé") && text.len() > 990 && text.len() <= 1000, "{}", text.len());
    let ran = run_with(
        "for (let i = 0; i < 1e4; i++) console.log(''); console.log('x'.repeat(1e6)); return 1",
        Arc::default(),
        &limits,
    )
    .await
    .unwrap();
    assert!(ran.truncated);
    assert_eq!(ran.value, json!(1));
    assert!(ran.console.len() < 100, "{}", ran.console.len());
    let ran =
        run_with("console.log('x'.repeat(984)); return 'x'.repeat(998)", Arc::default(), &limits)
            .await
            .unwrap();
    assert!(!ran.truncated, "what just fits is not cut");
}
