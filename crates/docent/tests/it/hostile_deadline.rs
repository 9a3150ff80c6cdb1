//! A deadline or a cancellation ends the work of a call, and not only its answer: afterwards the process is idle, and
//! the next call is served.
//!
//! Time is measured as processor time of the process, so that a busy machine changes nothing. Each call would take ten
//! times as much as is allowed here after its end.

use crate::{
    TestHome,
    serving::{LEGACY, call, endless, serve, ticks},
};
use docent_testkit::ChildTestClient;
use serde_json::{Value, json};
use std::{fmt::Write as _, fs, time::Duration};

/// Processor time, in ticks of a hundredth of a second, that each core may use after the end of a call. The requirement
/// is one second; twice that is allowed, because these tests run unoptimized.
const TICKS_PER_CORE: u64 = 200;
/// A process that uses no more than this in [`INTERVAL`] is idle.
const IDLE_TICKS: u64 = 3;
const INTERVAL: Duration = Duration::from_millis(400);
/// What a call must have used before it counts as under way.
const TICKS_UNDER_WAY: u64 = 10;
/// How long a call is watched before another one is started: each has run into its deadline by then.
const WATCH_TIMEOUT: Duration = Duration::from_secs(10);
/// Milliseconds that a call may take.
const TIMEOUT_MS: &str = "4000";
/// The same for a call that does less.
const SHORT_TIMEOUT_MS: &str = "1000";
/// How long a test waits for something that comes at once, or never.
const EVENT_TIMEOUT: Duration = Duration::from_mins(2);

/// Cores that the process may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from).max(2)
}

/// Processor time that a call may use after its end.
fn ticks_after_end() -> u64 {
    TICKS_PER_CORE * cores() as u64
}

/// Starts a call and waits until it is under way. A busy machine may give it too little time for that before its
/// deadline: then it is started again.
async fn start(server: &mut ChildTestClient, params: &Value) -> Value {
    let started = async {
        loop {
            let before = ticks(server);
            let id = server.start("tools/call", params.clone()).await.unwrap();
            let busy = async {
                while ticks(server) < before + TICKS_UNDER_WAY {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            };
            if tokio::time::timeout(WATCH_TIMEOUT, busy).await.is_ok() {
                return id;
            }
        }
    };
    tokio::time::timeout(EVENT_TIMEOUT, started).await.expect("the call does not start to work")
}

/// The next call is served. It has as little time as the others, so that a busy machine may need more than one.
async fn serves(server: &mut ChildTestClient) {
    let answered = async {
        loop {
            let quick = call("outline", json!({"path": "small.py"}));
            let quick = server.ask("tools/call", quick).await.unwrap();
            let answer = &quick["result"]["structuredContent"];
            if !answer["totalDefinitions"].is_null() {
                assert_eq!(answer["totalDefinitions"], 1, "{quick}");
                return;
            }
        }
    };
    tokio::time::timeout(EVENT_TIMEOUT, answered).await.expect("the next call is not served");
}

/// Waits until the process is idle, and gives the processor time that it has used until then.
async fn until_idle(server: &ChildTestClient) -> u64 {
    let start = ticks(server);
    let idle = async {
        let mut before = start;
        loop {
            tokio::time::sleep(INTERVAL).await;
            let now = ticks(server);
            if now - before <= IDLE_TICKS {
                return now - start;
            }
            before = now;
        }
    };
    tokio::time::timeout(EVENT_TIMEOUT, idle)
        .await
        .expect("the work goes on after the call has ended")
}

/// A call that is cancelled, one that runs into its deadline, and one that is quick.
async fn work_ends_with_its_call(mut server: ChildTestClient, tool: &str, arguments: &Value) {
    let params = || call(tool, arguments.clone());
    until_idle(&server).await;

    let id = start(&mut server, &params()).await;
    server.notify("notifications/cancelled", json!({"requestId": id})).await.unwrap();
    server.ask("ping", json!({})).await.unwrap();
    let used = until_idle(&server).await;
    assert!(used <= ticks_after_end(), "{tool} went on for {used} ticks after it was cancelled");

    let late = server.ask("tools/call", params()).await.unwrap();
    let is_done = late["result"]["structuredContent"].is_object()
        && late["result"]["structuredContent"]["partial"].is_null()
        && late["result"]["isError"] != true;
    assert!(!is_done, "{tool} was done before its deadline, so that nothing is tested: {late}");
    let used = until_idle(&server).await;
    assert!(used <= ticks_after_end(), "{tool} went on for {used} ticks after its deadline");

    serves(&mut server).await;
}

/// A server over a folder with a small file, with this timeout for calls in milliseconds.
async fn limited(place: &TestHome, timeout_ms: &str) -> ChildTestClient {
    place.write("small.py", "def small():\n    pass\n");
    let mut server = serve(place, &[], &[("DOCENT_LIMITS_TOOL_TIMEOUT_MS", timeout_ms)]);
    server.open(LEGACY).await.unwrap();
    server
}

/// Runs a tool over many large source files.
async fn on_many_files(tool: &str, arguments: Value) {
    let place = TestHome::new();
    endless(&place);
    let server = limited(&place, TIMEOUT_MS).await;
    work_ends_with_its_call(server, tool, &arguments).await;
}

#[tokio::test]
async fn an_analysis_of_a_repository_ends() {
    on_many_files("analyze_repository", json!({"path": "endless", "depth": "deep"})).await;
}

#[tokio::test]
async fn a_check_of_documentation_ends() {
    on_many_files("check_documentation", json!({"path": "endless"})).await;
}

#[tokio::test]
async fn an_outline_ends() {
    on_many_files("outline", json!({"path": "endless"})).await;
}

#[tokio::test]
async fn an_analysis_of_complexity_ends() {
    on_many_files("analyze_code", json!({"file": "endless", "analysisType": "complexity"})).await;
}

#[tokio::test]
async fn an_analysis_of_patterns_ends() {
    on_many_files("analyze_code", json!({"file": "endless", "analysisType": "patterns"})).await;
}

#[tokio::test]
async fn an_analysis_of_security_ends() {
    on_many_files("analyze_code", json!({"file": "endless", "analysisType": "security"})).await;
}

#[tokio::test]
async fn an_analysis_of_dependencies_ends() {
    on_many_files("analyze_code", json!({"file": "endless", "analysisType": "dependencies"})).await;
}

/// Source files that call one function over and over, and are in the index.
async fn with_references(place: &TestHome, timeout_ms: &str) -> ChildTestClient {
    let folder = place.project().join("calls");
    fs::create_dir(&folder).unwrap();
    let first = folder.join("0.py");
    let calls = "    target(1, 2, 3)\n".repeat(1_000);
    fs::write(&first, format!("def target(a, b, c):\n    pass\n\ndef calls():\n{calls}")).unwrap();
    // Each core has as much to do on every machine; a release build takes as long for eight times as many.
    let files = if std::env::var_os("DOCENT_BINARY").is_some() { 800 } else { 150 };
    for n in 1..files * cores() {
        fs::hard_link(&first, folder.join(format!("{n}.py"))).unwrap();
    }
    let mut server = limited(place, timeout_ms).await;
    // The index is built regardless of calls; it must not be measured here.
    let built = async {
        loop {
            let status = server.ask("tools/call", call("index_status", json!({}))).await.unwrap();
            if status["result"]["structuredContent"]["freshness"] == "inStep" {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(3 * EVENT_TIMEOUT, built).await.expect("the index is not built");
    server
}

#[tokio::test]
async fn a_search_for_references_ends() {
    let place = TestHome::new();
    let server = with_references(&place, SHORT_TIMEOUT_MS).await;
    work_ends_with_its_call(server, "find_references", &json!({"symbol": "target"})).await;
}

#[tokio::test]
async fn parsing_of_files_ends() {
    let place = TestHome::new();
    let server = with_references(&place, SHORT_TIMEOUT_MS).await;
    work_ends_with_its_call(server, "parse_files", &json!({"files": ["calls"]})).await;
}

#[tokio::test]
async fn a_document_that_is_shown_ends() {
    let place = TestHome::new();
    let folder = place.project().join("manual");
    fs::create_dir(&folder).unwrap();
    let mut text = String::from("# Manual\n\n");
    // Each of these is looked for on the disk under four names.
    for n in 0..100_000 {
        write!(text, "[{n}](a/{n}) ").unwrap();
        if n % 10 == 0 {
            text.push_str("\n\n");
        }
    }
    fs::write(folder.join("index.md"), text).unwrap();
    place.write("docent.toml", "[docs.collections.manual]\npath = \"manual\"\n");
    let server = limited(&place, TIMEOUT_MS).await;
    let arguments = json!({"document_id": "manual/index.md"});
    work_ends_with_its_call(server, "get_document", &arguments).await;
}
