//! Hostile scripts: endless nesting, and random tokens. The process must survive; the result does not matter.

use crate::stage::{TestTools, run_with};
use docent_script::{ScriptErrorKind, ScriptLimits};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::sync::Arc;
use std::time::Duration;

const HOSTILE_TOKENS: [&str; 96] = [
    "a",
    "b",
    "0",
    "1n",
    "''",
    "`",
    "`${",
    "}`",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    "<T>",
    ";",
    ",",
    ":",
    "?",
    "?.",
    "!",
    "=",
    "=>",
    "==",
    "+",
    "-",
    "++",
    "*",
    "**",
    "/",
    "/x/",
    "%",
    "&&",
    "||",
    "??",
    "...",
    ".",
    "#p",
    "@d",
    "\n",
    " ",
    "//",
    "/*",
    "*/",
    "as T",
    "satisfies T",
    "async ",
    "await ",
    "yield ",
    "function ",
    "function* f(",
    "class ",
    "class A {",
    "extends ",
    "implements I ",
    "static ",
    "get ",
    "set ",
    "constructor(private x: number)",
    "super()",
    "this",
    "new ",
    "new.target",
    "import ",
    "import(",
    "import { add } from 'mcp-clients/calc';",
    "export ",
    "export default ",
    "return ",
    "throw ",
    "try {",
    "catch (e) {",
    "finally {",
    "if (1) ",
    "else ",
    "for (",
    "of ",
    "in ",
    "while (0) ",
    "switch (1) { case ",
    "let ",
    "const x: number = ",
    "var ",
    "enum E {",
    "interface I {",
    "type T = ",
    "namespace N {",
    "declare ",
    "abstract ",
    "mcp.calc.add()",
    "console.log(",
    "Promise.all([",
    "JSON.stringify(",
    "Symbol.iterator",
];

fn survive(code: &str, limits: &ScriptLimits) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    if let Err(error) = runtime.block_on(run_with(code, Arc::new(TestTools::default()), limits)) {
        assert_ne!(error.kind, ScriptErrorKind::Engine, "{code}: {error}");
    }
}

#[test]
fn soups_of_tokens() {
    let limits = ScriptLimits {
        time: Duration::from_millis(200),
        memory_bytes: 8 << 20,
        ..ScriptLimits::default()
    };
    let soup =
        proptest::collection::vec(proptest::sample::select(HOSTILE_TOKENS.as_slice()), 1..40);
    let mut runner =
        TestRunner::new(Config { cases: 600, failure_persistence: None, ..Config::default() });
    runner
        .run(&soup, |tokens| {
            survive(&tokens.concat(), &limits);
            Ok(())
        })
        .unwrap();
}

#[test]
fn any_text() {
    let limits = ScriptLimits {
        time: Duration::from_millis(200),
        memory_bytes: 8 << 20,
        ..ScriptLimits::default()
    };
    let mut runner =
        TestRunner::new(Config { cases: 200, failure_persistence: None, ..Config::default() });
    runner
        .run(&any::<String>(), |text| {
            survive(&text, &limits);
            survive(&format!("return {text:?}"), &limits);
            Ok(())
        })
        .unwrap();
}

#[test]
fn nesting_does_not_overflow_the_stack() {
    let limits = ScriptLimits { time: Duration::from_mins(1), ..ScriptLimits::default() };
    for open in [
        "(",
        "[",
        "{",
        "!",
        "- ",
        "a=>",
        "a?b:",
        "a=",
        "a**",
        "`${",
        "if(1)",
        "await ",
        "new ",
        "x={a:",
        "let x:[",
        "let x:{a:",
        "let x:A<",
        "function f(){",
        "class A{a=",
        "f(",
        "a+",
        "a.b",
        "do ",
        "async()=>",
        "else ",
        "typeof ",
        "a||",
        "a,",
        "<T>",
        "a!",
        "a as T ",
    ] {
        let deep = open.repeat(16_000 / open.len());
        for code in [deep.clone(), format!("{deep}1"), format!("x = {deep}")] {
            survive(&code, &limits);
        }
    }
}

#[tokio::test]
async fn too_much_code_is_refused() {
    let error =
        run_with(&"a;".repeat(20_000), Arc::default(), &ScriptLimits::default()).await.unwrap_err();
    assert_eq!(error.kind, ScriptErrorKind::Syntax);
    assert!(error.message.starts_with("the code has 40000 words and signs"), "{error}");
    let long = format!("return '{}'.length", "x".repeat(1 << 20));
    assert_eq!(
        run_with(&long, Arc::default(), &ScriptLimits::default()).await.unwrap().value,
        1 << 20
    );
}
