//! A keeper that gets ready for a program before it is told which.

use crate::stage::{PATIENCE, PROBE, Stage, launch, lines, wait_until_gone};
use docent_keeper::{Confinement, Ended, Launch, Mode};
use rustix::process::{Pid, Signal, kill_process};
use std::{ffi::OsString, fs, thread, time::Duration};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// The launcher that waits.
fn waiting(stage: &Stage) -> u32 {
    let keeper = stage.keeper.pid();
    let list = format!("/proc/{keeper}/task/{keeper}/children");
    for _ in 0..PATIENCE.as_millis() / 5 {
        let children = fs::read_to_string(&list).unwrap();
        if let Some(child) = children.split_whitespace().next() {
            return child.parse().unwrap();
        }
        thread::sleep(Duration::from_millis(5));
    }
    panic!("nothing waits")
}

fn confined(program: &str, args: &[&str]) -> Launch {
    Launch::new(program, args.iter().copied(), Confinement::for_child([""; 0]), Mode::Auto)
}

async fn output(stage: &Stage, launch: &Launch) -> (String, Ended) {
    let mut child = stage.keeper.spawn(launch).await.unwrap();
    let mut text = Vec::new();
    child.stdout.read_to_end(&mut text).await.unwrap();
    (String::from_utf8_lossy(&text).into_owned(), child.process.ended().await)
}

#[tokio::test]
async fn the_first_program_is_the_launcher_that_waited() {
    let stage = Stage::ahead();
    let first = waiting(&stage);
    for round in 0..3 {
        let mut child = stage.keeper.spawn(&confined(PROBE, &["echo"])).await.unwrap();
        assert_eq!(child.process.pid() == first, round == 0);
        child.stdin.write_all(b"one\ntwo\n").await.unwrap();
        assert_eq!(lines(&mut child, 2).await, ["one", "two"]);
        assert_eq!(child.end(PATIENCE).await, Ended::Code(0));
    }
}

#[tokio::test]
async fn it_finds_what_was_ordered_and_nothing_else() {
    let mut asked = confined("env", &[]);
    asked.environment.kept =
        [("A", "b=c"), ("PATH", "/usr/bin:/bin")].map(|(k, v)| (k.into(), v.into())).into();
    let (found, _) = output(&Stage::ahead(), &asked).await;
    assert_eq!(found, "A=b=c\nPATH=/usr/bin:/bin\n");

    let mut asked = launch("pwd", &["-P"]);
    let folder = tempfile::tempdir().unwrap();
    asked.cwd = Some(folder.path().into());
    let (found, _) = output(&Stage::ahead(), &asked).await;
    assert_eq!(found.trim_end(), folder.path().canonicalize().unwrap().to_string_lossy());

    let (found, _) = output(&Stage::ahead(), &confined(PROBE, &["descriptors"])).await;
    assert_eq!(found.trim(), "0 1 2");

    let mut asked = launch("printf", &["%s"]);
    asked.args.push(OsString::from("x".repeat(100_000)));
    let (found, _) = output(&Stage::ahead(), &asked).await;
    assert_eq!(found.len(), 100_000, "what no pipe takes goes another way");
}

#[tokio::test]
async fn it_is_confined_as_ordered() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret");
    fs::write(&file, "secret").unwrap();
    let file = file.to_string_lossy().into_owned();
    for (mode, expected) in [(Mode::Off, "secret"), (Mode::Auto, "")] {
        let asked = Launch { mode, ..confined("cat", &[&file]) };
        let (found, _) = output(&Stage::ahead(), &asked).await;
        assert_eq!(found, expected, "{mode}");
    }
}

#[tokio::test]
async fn one_that_is_gone_is_replaced() {
    let stage = Stage::ahead();
    let first = waiting(&stage);
    let pid = Pid::from_raw(first.cast_signed()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    wait_until_gone(&[first]);
    let mut child = stage.keeper.spawn(&confined(PROBE, &["echo"])).await.unwrap();
    child.stdin.write_all(b"one\n").await.unwrap();
    assert_eq!(lines(&mut child, 1).await, ["one"]);
}

#[test]
fn one_that_nobody_needs_ends_with_docent() {
    let stage = Stage::ahead();
    let pids = [waiting(&stage), stage.keeper.pid()];
    stage.keeper.close().unwrap();
    wait_until_gone(&pids);
}
