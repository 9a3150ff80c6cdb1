//! Programs end, by themselves or not, with all their descendants.

use crate::stage::{
    PROBE, SupervisorFixture, TEST_TIMEOUT, alive, launch, lines, pids, wait_until_gone,
};
use docent_supervisor::{
    Confinement, ConfinementMode, Launch, LaunchError, ProgramEnd, SupervisedChild, SupervisorEvent,
};
use std::{process::Command, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::mpsc,
    time::timeout,
};

const SHORT_GRACE: Duration = Duration::from_millis(50);

fn kill(pid: u32) {
    let status = Command::new("kill").args(["-s", "KILL", &pid.to_string()]).status();
    assert!(status.unwrap().success());
}

#[tokio::test]
async fn an_end_is_reported_correctly() {
    let stage = SupervisorFixture::new();
    for code in [0, 1, 126, 255] {
        let child = stage.start(&["exit", &code.to_string()]).await;
        assert_eq!(
            timeout(TEST_TIMEOUT, child.process.ended()).await.unwrap(),
            ProgramEnd::Code(code)
        );
        // It is reported for every call, late ones included.
        assert_eq!(child.process.ended().await, ProgramEnd::Code(code));
        assert_eq!(child.end(SHORT_GRACE).await, ProgramEnd::Code(code));
    }
}

#[tokio::test]
async fn a_program_that_is_killed_while_it_answers_is_reported() {
    let stage = SupervisorFixture::new();
    let mut child = stage.start(&["echo"]).await;
    child.stdin.write_all(b"one\n").await.unwrap();
    assert_eq!(lines(&mut child, 1).await, ["one"]);
    let waiting = child.process.ended();
    kill(child.process.pid());
    assert_eq!(timeout(TEST_TIMEOUT, waiting).await.unwrap(), ProgramEnd::Signal(9));
    let mut rest = Vec::new();
    timeout(TEST_TIMEOUT, child.stdout.read_to_end(&mut rest)).await.unwrap().unwrap();
    assert!(rest.is_empty());
}

#[tokio::test]
async fn a_program_gets_time_is_asked_and_then_killed() {
    let stage = SupervisorFixture::new();
    for (role, grace, expected) in [
        ("echo", TEST_TIMEOUT, ProgramEnd::Code(0)),
        ("hang", SHORT_GRACE, ProgramEnd::Signal(15)),
        ("stubborn", SHORT_GRACE, ProgramEnd::Signal(9)),
    ] {
        let mut child = stage.start(&[role]).await;
        if role == "stubborn" {
            lines(&mut child, 1).await;
        }
        let pid = child.process.pid();
        let ended = timeout(TEST_TIMEOUT * 2, child.end(grace)).await.unwrap();
        assert_eq!(ended, expected, "{role}");
        assert!(!alive(pid), "{role}");
    }
}

#[tokio::test]
async fn one_task_may_end_what_another_waits_for() {
    let stage = SupervisorFixture::new();
    let SupervisedChild { stdin, process, .. } = stage.start(&["hang"]).await;
    let process = std::sync::Arc::new(process);
    let waiting = tokio::spawn({
        let process = process.clone();
        async move { process.ended().await }
    });
    drop(stdin);
    let (long, short) = tokio::join!(process.end(TEST_TIMEOUT * 9), process.end(SHORT_GRACE));
    assert_eq!(
        (long, short),
        (ProgramEnd::Signal(15), ProgramEnd::Signal(15)),
        "the earlier one counts"
    );
    assert_eq!(timeout(TEST_TIMEOUT, waiting).await.unwrap().unwrap(), ProgramEnd::Signal(15));
}

/// A program with five descendants, all of whom are alive.
async fn brood(
    stage: &SupervisorFixture,
    role: &[&str],
    mode: ConfinementMode,
) -> (SupervisedChild, Vec<u32>) {
    let confinement = Confinement::for_child([""; 0]).execute([PROBE]);
    let launch = Launch::new(PROBE, role.iter().copied(), confinement, mode);
    let mut child = stage.keeper.spawn(&launch).await.unwrap();
    let mut family = pids(&lines(&mut child, 6).await);
    family.push(child.process.pid());
    assert_eq!(family.len(), 6);
    assert!(family.iter().all(|pid| alive(*pid)), "{family:?}");
    (child, family)
}

#[tokio::test]
async fn descendants_end_with_their_program_whatever_they_did_to_get_away() {
    for mode in [ConfinementMode::Off, ConfinementMode::Auto] {
        let stage = SupervisorFixture::new();
        let (other, others) = brood(&stage, &["brood"], mode).await;

        let (child, family) = brood(&stage, &["brood"], mode).await;
        assert_ne!(
            timeout(TEST_TIMEOUT, child.end(SHORT_GRACE)).await.unwrap(),
            ProgramEnd::KeeperGone
        );
        assert!(!family.iter().any(|pid| alive(*pid)), "nothing is left when `end` returns");

        let (mut child, family) = brood(&stage, &["brood", "leave"], mode).await;
        child.stdin.write_all(b"go\n").await.unwrap();
        assert_eq!(
            timeout(TEST_TIMEOUT, child.process.ended()).await.unwrap(),
            ProgramEnd::Code(0)
        );
        wait_until_gone(&family);

        let (child, family) = brood(&stage, &["brood"], mode).await;
        kill(child.process.pid());
        assert_eq!(
            timeout(TEST_TIMEOUT, child.process.ended()).await.unwrap(),
            ProgramEnd::Signal(9)
        );
        wait_until_gone(&family);

        let (child, family) = brood(&stage, &["brood"], mode).await;
        drop(child);
        wait_until_gone(&family);

        assert!(others.iter().all(|pid| alive(*pid)), "those of another program are left alone");
        drop(other);
        wait_until_gone(&others);
    }
}

/// How many processes have this word among their arguments.
fn count(word: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.split(|byte| *byte == 0).any(|arg| arg == word.as_bytes())).count()
}

#[tokio::test]
async fn a_descendant_that_never_stays_is_caught() {
    for round in 0..10 {
        let stage = SupervisorFixture::new();
        let name = format!("hopper-{}-{round}", std::process::id());
        let mut child = stage.start(&["hop", &name, "100000"]).await;
        lines(&mut child, 1).await;
        assert!(count(&name) > 0);
        if round % 2 == 0 {
            timeout(TEST_TIMEOUT, child.end(SHORT_GRACE)).await.unwrap();
        } else {
            stage.keeper.close().unwrap();
        }
        assert_eq!(count(&name), 0, "round {round}");
    }
}

#[tokio::test]
async fn a_docent_within_a_docent_leaves_nothing_to_the_outer_one() {
    for inner_keeper_is_killed in [false, true] {
        let stage = SupervisorFixture::new();
        let mut child = stage.start(&["docent", "off"]).await;
        // Its supervisor and guard, two programs and five descendants, some of which print two lines.
        let said = lines(&mut child, 11).await;
        assert_eq!(said.last().unwrap(), "ready", "{said:?}");
        let mut family = pids(&said);
        assert!(family.len() >= 9 && family.iter().all(|pid| alive(*pid)), "{said:?}");
        family.push(child.process.pid());
        if inner_keeper_is_killed {
            kill(family[0]);
        }
        assert_eq!(
            timeout(TEST_TIMEOUT, child.end(SHORT_GRACE)).await.unwrap(),
            ProgramEnd::Signal(15)
        );
        assert!(!family.iter().any(|pid| alive(*pid)), "{said:?}");
    }
}

#[tokio::test]
async fn a_given_up_start_leaves_nothing() {
    let stage = SupervisorFixture::new();
    for wait in 0..20 {
        let order = launch(PROBE, &["hang"]);
        let started = timeout(Duration::from_micros(wait * 100), stage.keeper.spawn(&order)).await;
        drop(started);
    }
    let keeper = stage.keeper_pid();
    let left = || {
        let list = std::fs::read_to_string(format!("/proc/{keeper}/task/{keeper}/children"));
        pids(&list.unwrap().split_whitespace().map(|pid| format!("- {pid}")).collect::<Vec<_>>())
    };
    // Programs that are yet to be started come before this one, since the supervisor takes one order after the other.
    drop(stage.start(&["echo"]).await);
    wait_until_gone(&left());
    assert!(left().iter().all(|pid| !alive(*pid)));
}

#[tokio::test]
async fn a_closed_keeper_has_ended_everything() {
    let stage = SupervisorFixture::new();
    let (_child, family) = brood(&stage, &["brood"], ConfinementMode::Off).await;
    let (guard, keeper) = (stage.keeper.guard_pid(), stage.keeper_pid());
    stage.keeper.close().unwrap();
    assert!(!family.iter().any(|pid| alive(*pid)));
    assert!(!alive(guard) && !alive(keeper));
    stage.keeper.close().unwrap();
}

/// The events of the supervisor from now on.
fn watched(stage: &SupervisorFixture) -> mpsc::Receiver<SupervisorEvent> {
    let (events, heard) = mpsc::channel(8);
    let keeper = stage.keeper.clone();
    tokio::spawn(async move {
        keeper.watch(|event| events.try_send(event).unwrap()).await.unwrap();
    });
    heard
}

async fn next(events: &mut mpsc::Receiver<SupervisorEvent>) -> SupervisorEvent {
    timeout(TEST_TIMEOUT, events.recv()).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_killed_keeper_is_replaced_and_nothing_of_its_programs_is_left() {
    let stage = SupervisorFixture::new();
    let mut events = watched(&stage);
    for _ in 0..3 {
        let running = [stage.start(&["echo"]).await, stage.start(&["stubborn"]).await];
        let mut left = running.each_ref().map(|child| child.process.pid()).to_vec();
        let (brooding, family) = brood(&stage, &["brood"], ConfinementMode::Off).await;
        left.extend(family);
        let killed = stage.keeper_pid();
        left.push(killed);
        kill(killed);
        assert_eq!(next(&mut events).await, SupervisorEvent::Restarted(ProgramEnd::Signal(9)));
        // The guard reaps them before it reports, so not even zombies are left.
        assert!(left.iter().all(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists()));
        for child in running.into_iter().chain([brooding]) {
            assert_eq!(
                timeout(TEST_TIMEOUT, child.process.ended()).await.unwrap(),
                ProgramEnd::KeeperGone
            );
            assert_eq!(
                timeout(TEST_TIMEOUT, child.end(TEST_TIMEOUT)).await.unwrap(),
                ProgramEnd::KeeperGone
            );
        }
        assert_ne!(stage.keeper_pid(), killed);
        let mut echo = stage.start(&["echo"]).await;
        echo.stdin.write_all(b"again\n").await.unwrap();
        assert_eq!(lines(&mut echo, 1).await, ["again"]);
    }
    stage.keeper.close().unwrap();
    assert_eq!(next(&mut events).await, SupervisorEvent::Gone);
}

#[tokio::test]
async fn an_order_to_a_killed_keeper_goes_to_the_next() {
    let stage = SupervisorFixture::new();
    for _ in 0..4 {
        let orders = (0..8).map(|_| {
            let keeper = stage.keeper.clone();
            tokio::spawn(async move { keeper.spawn(&launch(PROBE, &["hang"])).await })
        });
        let orders: Vec<_> = orders.collect();
        tokio::task::yield_now().await;
        kill(stage.keeper_pid());
        for order in orders {
            timeout(TEST_TIMEOUT, order).await.unwrap().unwrap().unwrap();
        }
    }
}

#[tokio::test]
async fn programs_outlive_a_killed_guard_and_end_with_docent() {
    let stage = SupervisorFixture::new();
    let mut events = watched(&stage);
    let mut echo = stage.start(&["echo"]).await;
    let (_child, family) = brood(&stage, &["brood"], ConfinementMode::Off).await;
    let (guard, keeper) = (stage.keeper.guard_pid(), stage.keeper_pid());
    kill(guard);
    assert_eq!(next(&mut events).await, SupervisorEvent::Unguarded(ProgramEnd::Signal(9)));
    assert!(!std::path::Path::new(&format!("/proc/{guard}")).exists(), "it is reaped");
    echo.stdin.write_all(b"still here\n").await.unwrap();
    assert_eq!(lines(&mut echo, 1).await, ["still here"]);
    drop(stage.start(&["echo"]).await);
    stage.keeper.close().unwrap();
    assert!(!family.iter().any(|pid| alive(*pid)));
    // It closes its socket a moment before it has ended.
    wait_until_gone(&[keeper]);
}

#[tokio::test]
async fn a_killed_keeper_without_a_guard_is_reported_and_its_programs_end() {
    let stage = SupervisorFixture::new();
    let mut events = watched(&stage);
    let running = [stage.start(&["echo"]).await, stage.start(&["stubborn"]).await];
    let pids = running.each_ref().map(|child| child.process.pid());
    let keeper = stage.keeper_pid();
    kill(stage.keeper.guard_pid());
    kill(keeper);
    // Both may be seen at once.
    let mut event = next(&mut events).await;
    if event == SupervisorEvent::Unguarded(ProgramEnd::Signal(9)) {
        event = next(&mut events).await;
    }
    assert_eq!(event, SupervisorEvent::Gone);
    for child in running {
        assert_eq!(
            timeout(TEST_TIMEOUT, child.process.ended()).await.unwrap(),
            ProgramEnd::KeeperGone
        );
    }
    wait_until_gone(&pids);
    let failed = stage.refusal(&launch(PROBE, &["echo"])).await;
    assert!(matches!(failed, LaunchError::KeeperGone), "{failed:?}");
    assert!(failed.to_string().contains("restart docent"), "{failed}");
}

#[tokio::test]
async fn a_keeper_that_keeps_failing_is_given_up() {
    let stage = SupervisorFixture::new();
    let mut events = watched(&stage);
    drop(stage.start(&["echo"]).await);
    for _ in 0..5 {
        kill(stage.keeper_pid());
        assert_eq!(next(&mut events).await, SupervisorEvent::Restarted(ProgramEnd::Signal(9)));
    }
    kill(stage.keeper_pid());
    assert_eq!(next(&mut events).await, SupervisorEvent::Gone);
    assert!(!std::path::Path::new(&format!("/proc/{}", stage.keeper.guard_pid())).exists());
}

#[tokio::test]
async fn programs_are_killed_for_memory_before_their_keeper() {
    let stage = SupervisorFixture::new();
    let child = stage.start(&["hang"]).await;
    let score = |pid: u32| -> i32 {
        let text = std::fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).unwrap();
        text.trim().parse().unwrap()
    };
    let own = score(std::process::id());
    assert_eq!(score(child.process.pid()), (own + 100).min(1000));
    assert!(score(stage.keeper_pid()) <= own && score(stage.keeper.guard_pid()) <= own);
}
