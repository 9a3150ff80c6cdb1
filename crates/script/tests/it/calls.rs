//! Calls: arguments, results, errors, and concurrency.

use crate::stage::{TestTools, check_all, run, run_plain, run_with};
use docent_script::{CallRecord, ConsoleLevel, ScriptErrorKind, ScriptLimits};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio_util::sync::CancellationToken;

#[test]
fn results_are_unpacked() {
    check_all(&[
        ("await mcp.calc.add({ a: 1, b: 2 })", json!({ "sum": 3 })),
        ("await mcp.calc.say({ text: 'plain' })", json!("plain")),
        ("await mcp.calc.say({ text: '[1, {\"a\": null}]' })", json!([1, { "a": null }])),
        ("await mcp.calc.say({ text: '12' })", json!(12)),
        ("(await mcp.calc.image()).content.length", json!(2)),
        ("await mcp.calc.empty()", json!({ "content": [] })),
        (
            "await mcp.calc.$call('add', { a: 1 })",
            json!({ "content": [], "structuredContent": { "sum": 1 } }),
        ),
        ("(await mcp.calc.$call('get-user')).content[0].text", json!("calc")),
    ]);
}

#[test]
fn arguments_are_one_object() {
    check_all(&[
        ("await mcp.calc.echo()", json!({})),
        ("await mcp.calc.echo(null)", json!({})),
        (
            "await mcp.calc.echo({ a: [1, 'é\\u{1F600}'], d: new Date(0), u: undefined, f() {} })",
            json!({ "a": [1, "é😀"], "d": "1970-01-01T00:00:00.000Z" }),
        ),
        ("await mcp.calc.echo({ s: '\\ud800' })", json!({ "s": "\u{fffd}" })),
        (
            "await mcp.calc.echo(1, 2)",
            json!(
                "Thrown 1:16 Error: echo of calc takes one object with named arguments, not number"
            ),
        ),
        (
            "await mcp.calc.echo([1])",
            json!(
                "Thrown 1:16 Error: echo of calc takes one object with named arguments, not an array"
            ),
        ),
        (
            "const a = {}; a.a = a; await mcp.calc.echo(a)",
            json!(
                "Thrown 1:44 Error: the arguments of echo of calc are not JSON: circular reference"
            ),
        ),
        (
            "await mcp.calc.echo({ n: 1n })",
            json!(
                "Thrown 1:16 Error: the arguments of echo of calc are not JSON: BigInt are forbidden in JSON.stringify"
            ),
        ),
        (
            "let a = {}; for (let i = 0; i < 200; i++) a = { a }; try { await mcp.calc.echo(a) } catch (e) { return e.message.slice(0, 50) }",
            json!("the arguments of echo of calc can't be sent: recur"),
        ),
    ]);
}

#[test]
fn failures_are_errors() {
    check_all(&[
        ("\n\n  await mcp.calc.wrong({ city: 'x' })", json!("Thrown 3:18 Error: no such city")),
        ("await mcp.calc.broken()", json!("Thrown 1:16 Error: connection lost")),
        (
            "try { await mcp.calc.wrong() } catch (e) { return [e instanceof Error, e.message, e.server, e.tool, e.result.isError] }",
            json!([true, "no such city", "calc", "wrong", true]),
        ),
        (
            "try { await mcp.calc.broken() } catch (e) { return [e.message, e.code, e.data] }",
            json!(["connection lost", -32603, { "retry": true }]),
        ),
        (
            "try { await mcp.calc.$call('wrong') } catch (e) { return e.result.content[0].text }",
            json!("no such city"),
        ),
        ("await mcp.calc.$call('nope')", json!("Thrown 1:16 Error: unknown tool nope")),
        (
            "(await Promise.allSettled([mcp.calc.wrong(), mcp.calc.add()])).map(r => r.status)",
            json!(["rejected", "fulfilled"]),
        ),
        (
            "await Promise.any([mcp.calc.wrong()])",
            json!(
                "Thrown 1:29 AggregateError (Error: no such city {\n  server: 'calc',\n  tool: 'wrong',\n  result: { isError: true, content: [ { type: 'text', text: 'no such city' } ] }\n})"
            ),
        ),
    ]);
}

#[tokio::test]
async fn calls_run_at_the_same_time() {
    let desk = Arc::new(TestTools::default());
    let code = "return await Promise.all([1, 2, 3].map(() => mcp.calc.meet()))";
    let ran = run_with(code, desk.clone(), &ScriptLimits::default()).await.unwrap();
    assert_eq!(ran.value, json!(["met", "met", "met"]));
    assert!(ran.calls.iter().all(|call| call.ok && call.server == "calc" && call.tool == "meet"));
}

#[tokio::test]
async fn no_more_calls_at_once_than_allowed() {
    let desk = Arc::new(TestTools::default());
    let limits = ScriptLimits { calls_at_once: 3, ..ScriptLimits::default() };
    let code =
        "return (await Promise.all(Array.from({ length: 50 }, () => mcp.calc.meet()))).length";
    let ran = run_with(code, desk.clone(), &limits).await.unwrap();
    assert_eq!(ran.value, json!(50));
    assert_eq!(desk.most.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_call_over_the_limit_is_rejected() {
    let desk = Arc::new(TestTools::default());
    let limits = ScriptLimits { calls: 2, ..ScriptLimits::default() };
    let caught = "let n = 0; for (let i = 0; i < 5; i++) try { await mcp.calc.add() } catch (e) { n++ }; return n";
    assert_eq!(run_with(caught, desk.clone(), &limits).await.unwrap().value, json!(3));
    assert_eq!(desk.asked.load(Ordering::SeqCst), 2);
    let error = run_with("while (true)\n  await mcp.calc.add()", desk, &limits).await.unwrap_err();
    assert_eq!(error.kind, ScriptErrorKind::Calls);
    assert_eq!(error.line, Some(2));
    assert_eq!(error.calls.len(), 2);
    assert!(error.message.contains("no more than 2 calls"), "{error}");
}

#[tokio::test]
async fn calls_without_await_are_waited_for() {
    let desk = Arc::new(TestTools::default());
    let code = "mcp.calc.add({ a: 1 }).then((r) => console.log(r.sum)); mcp.calc.wrong(); setTimeout(() => console.log('late'), 1e6); return 1";
    let ran = run_with(code, desk, &ScriptLimits::default()).await.unwrap();
    assert_eq!(ran.value, json!(1));
    let record =
        |tool: &str, ok| CallRecord { server: "calc".into(), tool: tool.into(), ms: 0, ok };
    let calls: Vec<_> = ran.calls.into_iter().map(|call| CallRecord { ms: 0, ..call }).collect();
    assert_eq!(calls, [record("add", true), record("wrong", false)]);
    let printed: Vec<_> = ran.console.iter().map(|line| (line.level, line.text.as_str())).collect();
    let unheard = "a promise without a handler was rejected: Error: no such city {\n  server: 'calc',\n  tool: 'wrong',\n  result: { isError: true, content: [ { type: 'text', text: 'no such city' } ] }\n}";
    assert_eq!(printed, [(ConsoleLevel::Log, "1"), (ConsoleLevel::Warn, unheard)]);
}

#[tokio::test]
async fn a_script_that_fails_drops_its_calls() {
    let desk = Arc::new(TestTools::default());
    let code = "mcp.calc.never(); await mcp.calc.add(); throw new Error('over')";
    let error = run_with(code, desk.clone(), &ScriptLimits::default()).await.unwrap_err();
    assert_eq!(error.message, "Error: over");
    assert_eq!(desk.running.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn cancelling_drops_the_calls() {
    let desk = Arc::new(TestTools::default());
    let cancel = CancellationToken::new();
    let clients = crate::stage::clients();
    let limits = ScriptLimits::default();
    let running = run(
        "console.log('before'); await mcp.calc.never()",
        &clients,
        desk.clone(),
        &limits,
        cancel.clone(),
    );
    let stop = async {
        desk.hangs.notified().await;
        cancel.cancel();
    };
    let (ended, ()) = tokio::join!(running, stop);
    let error = ended.unwrap_err();
    assert_eq!(error.kind, ScriptErrorKind::Cancelled);
    assert_eq!(error.console[0].text, "before");
    assert_eq!((error.calls.len(), error.calls[0].ok), (1, false));
    assert_eq!(desk.running.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn dropping_a_run_drops_its_calls() {
    let desk = Arc::new(TestTools::default());
    let limits = ScriptLimits::default();
    tokio::select! {
        ended = run_with("await mcp.calc.never()", desk.clone(), &limits) => panic!("{ended:?}"),
        () = desk.hangs.notified() => {}
    }
    assert_eq!(desk.running.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn cancelling_stops_a_loop() {
    let cancel = CancellationToken::new();
    cancel.cancel();
    let clients = crate::stage::clients();
    let ended = run(
        "for (;;) {}",
        &clients,
        Arc::new(TestTools::default()),
        &ScriptLimits::default(),
        cancel,
    )
    .await;
    assert_eq!(ended.unwrap_err().kind, ScriptErrorKind::Cancelled);
}

#[tokio::test]
async fn a_hundred_calls_in_one_script() {
    let code = "let sum = 0; for (let i = 0; i < 100; i++) sum += (await mcp.calc.add({ a: i })).sum; return sum";
    let ran = run_plain(code).await.unwrap();
    assert_eq!((ran.value, ran.calls.len()), (Value::from(4950), 100));
}
