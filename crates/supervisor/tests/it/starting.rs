//! The environment of a started program, and the limit of programs.

use crate::stage::{PROBE, SupervisorFixture, TEST_TIMEOUT, launch, lines};
use docent_sandbox::{SandboxSupport, plan};
use docent_supervisor::{
    Confinement, ConfinementMode, Launch, ProgramEnd, SupervisedChild, SupervisorSettings,
    UnconfiguredSupervisor,
};
use docent_testenv::or_skip;
use std::{
    collections::BTreeMap,
    ffi::OsString,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::Path,
    process::Command,
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::timeout,
};

/// Everything that a program writes until it ends.
async fn output(mut child: SupervisedChild) -> (Vec<u8>, ProgramEnd) {
    let mut bytes = Vec::new();
    timeout(TEST_TIMEOUT, child.stdout.read_to_end(&mut bytes)).await.unwrap().unwrap();
    (bytes, child.process.ended().await)
}

#[tokio::test]
async fn a_program_answers_through_its_pipes() {
    let stage = SupervisorFixture::new();
    for mode in [ConfinementMode::Off, ConfinementMode::Auto] {
        let confinement = Confinement::for_child([""; 0]);
        let launch = Launch::new(PROBE, ["echo"], confinement, mode);
        let mut child = stage.keeper.spawn(&launch).await.unwrap();
        child.stdin.write_all(b"one\ntwo\n").await.unwrap();
        assert_eq!(lines(&mut child, 2).await, ["one", "two"]);
        assert_eq!(child.end(TEST_TIMEOUT).await, ProgramEnd::Code(0), "{mode}");
    }
}

#[tokio::test]
async fn a_program_has_three_descriptors() {
    // The test may inherit open descriptors from its parent; this one certainly is.
    let inherited = std::fs::File::open("/").unwrap();
    rustix::io::fcntl_setfd(&inherited, rustix::io::FdFlags::empty()).unwrap();
    let stage = SupervisorFixture::new();
    let others = [stage.start(&["echo"]).await, stage.start(&["echo"]).await];
    for mode in [ConfinementMode::Off, ConfinementMode::Auto] {
        let confinement = Confinement::for_child([""; 0]);
        let launch = Launch::new(PROBE, ["descriptors"], confinement, mode);
        let child = stage.keeper.spawn(&launch).await.unwrap();
        let (text, ended) = output(child).await;
        let text = String::from_utf8(text).unwrap();
        assert_eq!((text.trim(), ended), ("0 1 2", ProgramEnd::Code(0)), "{mode}");
    }
    drop(others);
}

#[tokio::test]
async fn a_program_is_confined_as_ordered() {
    or_skip!(plan(
        &Confinement::for_child([""; 0]),
        ConfinementMode::Strict,
        &SandboxSupport::look()
    ));
    let stage = SupervisorFixture::new();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret");
    std::fs::write(&file, "secret").unwrap();
    for (mode, expected) in [(ConfinementMode::Off, "secret"), (ConfinementMode::Auto, "")] {
        let confinement = Confinement::for_child([""; 0]);
        let launch = Launch::new("cat", [&file], confinement, mode);
        let (found, _) = output(stage.keeper.spawn(&launch).await.unwrap()).await;
        assert_eq!(String::from_utf8(found).unwrap(), expected, "{mode}");
    }
}

#[tokio::test]
async fn a_confined_program_is_a_copy_of_the_keeper_until_it_runs() {
    // If another executable were loaded in between, it would have to exist.
    let nowhere =
        SupervisorSettings { executable: "/nowhere".into(), ..SupervisorSettings::new(PROBE) };
    let keeper = UnconfiguredSupervisor::start(PROBE.as_ref()).unwrap().configure(nowhere).unwrap();
    let launch =
        Launch::new("echo", ["one"], Confinement::for_child([""; 0]), ConfinementMode::Auto);
    let (found, ended) = output(keeper.spawn(&launch).await.unwrap()).await;
    assert_eq!((found.as_slice(), ended), (b"one\n".as_slice(), ProgramEnd::Code(0)));
}

#[tokio::test]
async fn words_folder_and_environment_are_those_of_the_order() {
    let stage = SupervisorFixture::new();
    let odd = || OsString::from_vec(b"\xff\xfe \"'$(id)\n".to_vec());
    let environment: BTreeMap<OsString, OsString> =
        [("A".into(), "".into()), ("B".into(), odd()), ("PATH".into(), "/usr/bin".into())].into();
    let mut asked = launch("env", &["-0"]);
    asked.environment.kept.clone_from(&environment);
    let (found, _) = output(stage.keeper.spawn(&asked).await.unwrap()).await;
    let mut expected = Vec::new();
    for (name, value) in &environment {
        expected.extend([name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat());
    }
    assert_eq!(String::from_utf8_lossy(&found), String::from_utf8_lossy(&expected));

    let mut asked = launch("printf", &["%s|"]);
    asked.args.extend([odd(), "".into(), "x".repeat(100_000).into()]);
    let (found, _) = output(stage.keeper.spawn(&asked).await.unwrap()).await;
    assert_eq!(found, [odd().as_bytes(), b"||", &vec![b'x'; 100_000], b"|"].concat());

    let folder = tempfile::tempdir().unwrap();
    let mut asked = launch("pwd", &["-P"]);
    asked.cwd = Some(folder.path().into());
    let (found, _) = output(stage.keeper.spawn(&asked).await.unwrap()).await;
    let found = String::from_utf8(found).unwrap();
    assert_eq!(Path::new(found.trim()), folder.path().canonicalize().unwrap());
}

#[tokio::test]
async fn a_program_hears_the_signals_that_its_keeper_does_not() {
    let stage = SupervisorFixture::new();
    let status = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let ignored = |pid: u32| {
        let status = status(pid);
        let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
        // SIGHUP, SIGINT, SIGPIPE and SIGTERM.
        u64::from_str_radix(line.trim(), 16).unwrap() & (1 | 1 << 1 | 1 << 12 | 1 << 14)
    };
    let child = stage.start(&["hang"]).await;
    let cat = stage.keeper.spawn(&launch("cat", &[])).await.unwrap();
    // The program may still be on its way from the supervisor's executable.
    let begin = std::time::Instant::now();
    while ignored(cat.process.pid()) != 0 && begin.elapsed() < TEST_TIMEOUT {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(ignored(cat.process.pid()), 0);
    for signal in ["INT", "HUP", "TERM"] {
        for pid in [stage.keeper.guard_pid(), stage.keeper_pid()] {
            let pid = pid.to_string();
            assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
        }
    }
    let mut echo = stage.start(&["echo"]).await;
    echo.stdin.write_all(b"still here\n").await.unwrap();
    assert_eq!(lines(&mut echo, 1).await, ["still here"]);
    drop(child);
}

#[tokio::test]
async fn fifty_run_at_once() {
    let stage = SupervisorFixture::new();
    let start = |number: usize| {
        let keeper = stage.keeper.clone();
        tokio::spawn(async move {
            let mut child = keeper.spawn(&launch(PROBE, &["echo"])).await.unwrap();
            child.stdin.write_all(format!("{number}\n").as_bytes()).await.unwrap();
            assert_eq!(lines(&mut child, 1).await, [number.to_string()]);
            child
        })
    };
    let tasks: Vec<_> = (0..50).map(start).collect();
    let mut children = Vec::new();
    for task in tasks {
        children.push(timeout(TEST_TIMEOUT, task).await.unwrap().unwrap());
    }
    for child in children {
        assert_eq!(child.end(TEST_TIMEOUT).await, ProgramEnd::Code(0));
    }
}

#[tokio::test]
async fn a_flood_on_standard_error_does_not_block_the_keeper() {
    let stage = SupervisorFixture::new();
    let mut noisy = stage.start(&["flood", "16"]).await;
    // The noisy one blocks until its output is read; others are started and ended meanwhile.
    let mut echo = stage.start(&["echo"]).await;
    echo.stdin.write_all(b"hello\n").await.unwrap();
    assert_eq!(lines(&mut echo, 1).await, ["hello"]);
    assert_eq!(echo.end(TEST_TIMEOUT).await, ProgramEnd::Code(0));
    let (mut bytes, mut count) = (vec![0; 1 << 16], 0);
    while count < 16 << 20 {
        count += timeout(TEST_TIMEOUT, noisy.stderr.read(&mut bytes)).await.unwrap().unwrap();
    }
    assert_eq!(lines(&mut noisy, 1).await, ["done"]);
    // A program whose output is not read is ended anyway.
    let stuck = stage.start(&["flood", "16"]).await;
    assert_ne!(stuck.end(Duration::from_millis(50)).await, ProgramEnd::KeeperGone);
}
