//! The process that starts servers is killed, as the kernel does when memory runs out.

use super::{
    call_text,
    scripted::{ScriptedDownstream, tool},
};
use crate::{
    TestHome,
    serving::{LEGACY, call, ends_well, serve, signal},
};
use docent_testkit::ChildTestClient;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

/// Long enough for a busy machine, and only waited for where something is wrong.
const EVENT_TIMEOUT: Duration = Duration::from_secs(30);

/// The server `odd`, and a docent that has it.
async fn serving(place: &TestHome) -> ChildTestClient {
    let tools = ["who", "leave", "hold", "look"].map(tool);
    let scripted = ScriptedDownstream::new(place, &tools);
    place.settings(&scripted.settings(""));
    let mut server = serve(place, &[], &[]);
    server.open(LEGACY).await.unwrap();
    server
}

/// A number that a tool answers with.
async fn number(server: &mut ChildTestClient, tool: &str) -> u32 {
    let answer = server.ask("tools/call", call(tool, json!({}))).await.unwrap();
    let text = answer["result"]["content"][0]["text"].as_str();
    text.and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{answer}"))
}

/// The children of a process, zombies included.
fn children(pid: u32) -> Vec<u32> {
    let mut all = Vec::new();
    for thread in fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten() {
        let list = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        all.extend(list.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
    }
    all
}

/// The guard, which is docent's only child, and the keeper, which is the guard's.
fn guard_and_keeper(server: &ChildTestClient) -> (u32, u32) {
    let guard = children(server.process_id().unwrap())[0];
    let begin = Instant::now();
    loop {
        if let Some(keeper) = children(guard).first() {
            return (guard, *keeper);
        }
        assert!(begin.elapsed() < EVENT_TIMEOUT, "the guard has no child");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn kill(pid: u32) {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::KILL).unwrap();
}

fn is_there(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// Waits until none of the processes is there, not even as a zombie.
fn gone(pids: &[u32]) {
    let begin = Instant::now();
    while pids.iter().any(|pid| is_there(*pid)) {
        assert!(begin.elapsed() < EVENT_TIMEOUT, "some of {pids:?} are there");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until all of them have ended. Those whose parent is gone are the system's to reap.
fn ended(pids: &[u32]) {
    let is_alive = |pid: &u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let state = status.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
        state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
    };
    let begin = Instant::now();
    while pids.iter().any(is_alive) {
        assert!(begin.elapsed() < EVENT_TIMEOUT, "some of {pids:?} are alive");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[tokio::test]
async fn servers_come_back_when_the_process_that_starts_them_is_killed() {
    let place = TestHome::new();
    let mut server = serving(&place).await;
    for round in 1..=3 {
        let first = number(&mut server, "odd__who").await;
        // Out of its parent's session, deaf to signals, and without a parent.
        let stray = number(&mut server, "odd__leave").await;
        let (guard, keeper) = guard_and_keeper(&server);
        kill(keeper);
        server.log_line("the process that starts servers ended").await.unwrap();
        gone(&[keeper, first, stray]);
        let second = number(&mut server, "odd__who").await;
        assert_ne!(second, first, "round {round}");
        assert_eq!(children(server.process_id().unwrap()), [guard], "no zombie is left");
        let now = guard_and_keeper(&server).1;
        assert_eq!(children(guard), [now], "no zombie is left");
    }
    let log = server.log().join("\n");
    assert!(log.contains("signal 9 (SIGKILL)") && log.contains("it was restarted"), "{log}");
    let last = number(&mut server, "odd__who").await;
    signal(&server, Signal::TERM);
    ends_well(&mut server).await;
    ended(&[last]);
}

#[tokio::test]
async fn a_call_that_runs_when_servers_are_killed_is_answered() {
    let place = TestHome::new();
    let mut server = serving(&place).await;
    let mut params = call("odd__hold", json!({}));
    params["_meta"] = json!({"progressToken": "held"});
    let held = server.start("tools/call", params).await.unwrap();
    server.notification("notifications/progress").await.unwrap();
    kill(guard_and_keeper(&server).1);
    let answer = server.answer_to(&held).await.unwrap();
    assert_eq!(answer["result"]["isError"], json!(true), "{answer}");
    let text = answer.to_string();
    assert!(text.contains("the process that starts programs was killed"), "{text}");
    let look = call_text(&mut server, "odd__look", json!({})).await;
    assert!(look.contains("\"text\":\"done\""), "{look}");
    signal(&server, Signal::TERM);
    ends_well(&mut server).await;
}

#[tokio::test]
async fn a_docent_without_servers_goes_on_when_the_process_that_starts_them_is_killed() {
    let place = TestHome::new();
    let mut server = serve(&place, &[], &[]);
    server.open(LEGACY).await.unwrap();
    let (guard, keeper) = guard_and_keeper(&server);
    kill(keeper);
    server.log_line("the process that starts servers ended").await.unwrap();
    gone(&[keeper]);
    assert!(server.ask("ping", json!({})).await.unwrap().get("result").is_some());
    assert_eq!(children(server.process_id().unwrap()), [guard]);
    let now = guard_and_keeper(&server).1;
    signal(&server, Signal::TERM);
    ends_well(&mut server).await;
    ended(&[guard, now]);
}

#[tokio::test]
async fn servers_go_on_when_the_guard_of_the_process_that_starts_them_is_killed() {
    let place = TestHome::new();
    let mut server = serving(&place).await;
    let first = number(&mut server, "odd__who").await;
    let (guard, keeper) = guard_and_keeper(&server);
    kill(guard);
    server.log_line("the guard of the process that starts servers ended").await.unwrap();
    gone(&[guard]);
    assert_eq!(number(&mut server, "odd__who").await, first);
    let stray = number(&mut server, "odd__leave").await;
    signal(&server, Signal::TERM);
    ends_well(&mut server).await;
    ended(&[keeper, first, stray]);
}

#[tokio::test]
async fn docent_fails_when_no_server_can_be_started_any_more() {
    let place = TestHome::new();
    let mut server = serving(&place).await;
    let first = number(&mut server, "odd__who").await;
    let mut params = call("odd__hold", json!({}));
    params["_meta"] = json!({"progressToken": "held"});
    let held = server.start("tools/call", params).await.unwrap();
    server.notification("notifications/progress").await.unwrap();
    let (guard, keeper) = guard_and_keeper(&server);
    kill(guard);
    kill(keeper);
    let answer = server.answer_to(&held).await.unwrap();
    assert_eq!(answer["result"]["isError"], json!(true), "{answer}");
    let status = server.end().await.unwrap();
    let log = server.log().join("\n");
    assert_eq!(status.code(), Some(1), "{log}");
    assert!(log.contains("cannot be restarted: restart docent"), "{log}");
    ended(&[guard, keeper, first]);
}
