//! Limits of time, memory and stack, and the loops inside the engine.

use crate::stage::{TestTools, run_with};
use docent_script::{ScriptErrorKind, ScriptLimits};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Runs scripts under a time limit, and checks how they end: a value, or an error kind.
#[track_caller]
fn check(time: Duration, table: &[(&str, Option<ScriptErrorKind>)]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let limits = ScriptLimits { time, memory_bytes: 16 << 20, ..ScriptLimits::default() };
    let mut wrong = String::new();
    for (code, want) in table {
        let started = Instant::now();
        let got = runtime.block_on(run_with(code, Arc::new(TestTools::default()), &limits));
        let got = got.map_err(|error| (error.kind, error.message));
        if got.as_ref().err().map(|(kind, _)| *kind) != *want {
            let _written =
                write!(wrong, "\n{code}: {got:?}, wanted {want:?}, after {:?}", started.elapsed());
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn endless_work_is_stopped() {
    let time = Some(ScriptErrorKind::Time);
    check(
        Duration::from_millis(300),
        &[
            ("for (;;) {}", time),
            ("const f = () => { try { f() } catch { f() } }; f()", time),
            ("try { for (;;) {} } finally { for (;;) {} }", time),
            ("while (true) try { for (;;) {} } catch {}", time),
            ("while (true) await null", time),
            ("for (;;) console.log('x'.repeat(1000))", time),
            ("/^(a+)+$/.test('a'.repeat(40) + 'b')", time),
            ("/(x+x+)+y/.exec('x'.repeat(5000))", time),
            ("await new Promise((done) => setTimeout(done, 1e9))", time),
            (
                "const again = () => setTimeout(again, 0); again(); await new Promise(() => {})",
                time,
            ),
            ("await mcp.calc.never()", time),
            ("mcp.calc.never(); for (;;) {}", time),
            ("return { toJSON() { for (;;) {} } }", time),
            ("[1, 2].sort(() => { for (;;) {} })", time),
            ("new Function('for (;;) {}')()", time),
            ("[].indexOf.call({ length: 2 ** 53 - 1 }, 1)", time),
            ("[].findLast.call({ length: 2 ** 53 - 1 }, () => false)", time),
        ],
    );
}

/// Scripts that allocate forever: memory may run out before time.
#[test]
fn endless_work_that_keeps_is_stopped() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let time = Duration::from_millis(300);
    let limits = ScriptLimits { time, memory_bytes: 16 << 20, ..ScriptLimits::default() };
    let kinds = [ScriptErrorKind::Time, ScriptErrorKind::Memory, ScriptErrorKind::Stalled];
    for code in [
        "const f = () => Promise.resolve().then(f); await f()",
        "(function* g() { for (;;) yield })().toArray()",
    ] {
        let ended = runtime.block_on(run_with(code, Arc::new(TestTools::default()), &limits));
        assert!(ended.is_err_and(|error| kinds.contains(&error.kind)), "{code}");
    }
}

#[test]
fn a_value_outlives_calls_without_await() {
    check(Duration::from_secs(3), &[("mcp.calc.never(); return 1", None)]);
}

#[test]
fn a_zero_time_limit_is_not_an_engine_error() {
    check(Duration::ZERO, &[("return 1", Some(ScriptErrorKind::Time))]);
    check(Duration::from_millis(5), &[("for (;;) {}", Some(ScriptErrorKind::Time))]);
}

#[test]
fn loops_inside_of_the_engine_are_kept_short() {
    let thrown = Some(ScriptErrorKind::Thrown);
    let mut table = Vec::new();
    for method in [
        "concat",
        "reverse",
        "slice",
        "join",
        "shift",
        "unshift",
        "splice",
        "copyWithin",
        "sort",
        "flat",
        "toSpliced",
        "toReversed",
        "fill",
    ] {
        table.push(format!("return [].{method}.call({{ length: 2 ** 53 - 1 }}, '')"));
        table.push(format!("const a = []; a.length = 2 ** 32 - 1; return a.{method}('')"));
        table.push(format!("return [].{method}.call(new Proxy([], {{ get: (t, k) => k === 'length' ? 2 ** 53 - 1 : t[k] }}), '')"));
        table.push(format!("let n = 0; return [].{method}.call({{ get length() {{ return n++ ? 2 ** 53 - 1 : 0 }} }}, '')"));
    }
    table.push("const a = []; a.length = 2 ** 32 - 1; return [].concat(a, a)".into());
    table.push("return 'a'.repeat(2 ** 21).indexOf('a'.repeat(2 ** 20) + 'b')".into());
    table.push("return 'a'.repeat(2 ** 21).split('a'.repeat(2 ** 20) + 'b')".into());
    let table: Vec<_> = table.iter().map(|code| (code.as_str(), thrown)).collect();
    check(Duration::from_mins(1), &table);
}

#[test]
fn ordinary_use_of_the_same_methods_works() {
    crate::stage::check_all(&[
        (
            "(function () { return [].slice.call(arguments, 1) })(1, 2, 3)",
            serde_json::json!([2, 3]),
        ),
        ("[].join.call({ length: 2, 0: 'a', 1: 'b' })", serde_json::json!("a,b")),
        ("[].concat([1], 2, [[3]], 'ab')", serde_json::json!([1, 2, [3], "ab"])),
        (
            "[3, 1, 2].sort().reverse().concat(0).slice(1).flat().join('-')",
            serde_json::json!("2-1-0"),
        ),
        ("[].join.call('ab')", serde_json::json!("a,b")),
        ("[].slice.call(new Uint8Array([1, 2]))", serde_json::json!([1, 2])),
        (
            "[[1, 2], [3]].toString() + 'a,b'.split(',').length + 'aXa'.replaceAll('a', 'b') + 'abc'.includes('c')",
            serde_json::json!("1,2,32bXbtrue"),
        ),
        ("[].concat.name + [].concat.length", serde_json::json!("concat1")),
    ]);
}

#[test]
fn memory_is_bounded() {
    let memory = Some(ScriptErrorKind::Memory);
    let thrown = Some(ScriptErrorKind::Thrown);
    check(
        Duration::from_mins(1),
        &[
            ("const a = []; for (;;) a.push(new Array(1000).fill(1))", memory),
            ("let s = 'x'; for (;;) s += s + '!'", thrown),
            ("globalThis.a = []; for (;;) a.push('x'.repeat(1e6) + a.length)", memory),
            ("new Uint8Array(2 ** 31)", thrown),
            ("new ArrayBuffer(2 ** 40)", thrown),
            ("'x'.repeat(2 ** 29)", memory),
            ("'x'.repeat(2 ** 31)", thrown),
            ("return '\\u0344'.repeat(2e6).normalize('NFKD').length", memory),
            ("throw '[uninitialized]'", thrown),
            ("const m = new Map(); for (let i = 0; ; i++) m.set(i, {})", memory),
            ("let a = 1; for (;;) a = [a]", memory),
            ("2n ** (2n ** 40n)", thrown),
            ("return Array.from({ length: 2 ** 40 })", thrown),
            ("const all = []; for (;;) all.push(new Promise(() => {}))", memory),
            ("let s = '('.repeat(1e5); new RegExp(s)", thrown),
            ("JSON.parse('['.repeat(1e5))", thrown),
            ("eval('('.repeat(1e5))", thrown),
            ("eval('['.repeat(1e6) + ']'.repeat(1e6))", thrown),
            (
                "try { const a = []; for (;;) a.push(new Array(1000).fill(1)) } catch (e) { return 1 }",
                None,
            ),
        ],
    );
}

#[test]
fn little_memory_causes_no_crash() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let code = "const a = []; for (let i = 0; ; i++) { a.push({ i, s: 'x'.repeat(i), m: new Map([[i, [i]]]), p: Promise.resolve(i), f: () => i }) }";
    for kilobytes in (0..1200).step_by(37) {
        let limits = ScriptLimits { memory_bytes: kilobytes << 10, ..ScriptLimits::default() };
        let ended =
            runtime.block_on(run_with(code, Arc::new(TestTools::default()), &limits)).unwrap_err();
        assert!(
            matches!(ended.kind, ScriptErrorKind::Memory | ScriptErrorKind::Engine),
            "{kilobytes} kB: {ended:?}"
        );
    }
}
