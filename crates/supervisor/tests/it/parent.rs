//! docent in its own process: killed, confined, and busy.

use crate::stage::{PROBE, alive, pids, wait_until_gone};
use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::Duration,
};

/// A docent with four programs and ten descendants, and all their pids.
fn docent() -> (Child, Vec<u32>) {
    let mut docent = Command::new(PROBE)
        .args(["docent", "off", "auto"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(docent.stdout.take().unwrap()).lines();
    let lines: Vec<String> = lines.map(Result::unwrap).take_while(|line| line != "ready").collect();
    let pids = pids(&lines);
    assert_eq!(pids.len(), 16, "{lines:?}");
    assert!(pids.iter().all(|pid| alive(*pid)), "{lines:?}");
    (docent, pids)
}

/// How long the last of them lives when docent gets a signal.
fn time_to_live(signal: &str) -> Duration {
    let (mut docent, pids) = docent();
    let pid = docent.id().to_string();
    assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
    docent.wait().unwrap();
    wait_until_gone(&pids)
}

#[test]
fn nothing_outlives_a_docent_that_is_killed_by_two_seconds() {
    for signal in ["KILL", "TERM", "ABRT"] {
        // A machine may be too busy for that once; then everything still ends, only later.
        let times = (0..5).map(|_| time_to_live(signal));
        assert!(times.into_iter().any(|time| time < Duration::from_secs(2)), "SIG{signal}");
    }
}

#[test]
fn a_signal_to_the_group_of_docent_leaves_the_keeper_its_work() {
    use std::os::unix::process::CommandExt;
    let mut docent = Command::new(PROBE)
        .args(["docent", "off"])
        .process_group(0)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(docent.stdout.take().unwrap()).lines();
    let lines: Vec<String> = lines.map(Result::unwrap).take_while(|line| line != "ready").collect();
    let group = format!("-{}", docent.id());
    assert!(Command::new("kill").args(["-s", "KILL", "--", &group]).status().unwrap().success());
    docent.wait().unwrap();
    wait_until_gone(&pids(&lines));
}

fn say(role: &[&str]) -> Vec<String> {
    let output = Command::new(PROBE).args(role).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text} {}", String::from_utf8_lossy(&output.stderr));
    text.lines().map(Into::into).collect()
}

#[test]
fn a_confined_docent_has_programs_started_and_ended() {
    assert_eq!(
        say(&["confined"]),
        [
            "own child: false",
            "off: hello; it ended with exit code 0",
            "auto: hello; it ended with exit code 0",
            "stubborn: it was ended by signal 9 (SIGKILL)",
        ]
    );
}

#[test]
fn a_thousand_rounds_leave_no_process_descriptor_or_thread() {
    let said = say(&["rounds", "1000"]);
    assert_eq!(said[0], "nothing is left", "{said:?}");
}

#[test]
fn a_keeper_that_is_called_by_hand_says_so() {
    let output = Command::new(PROBE).arg("__keep").stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(
        text.starts_with("docent: __keep: ") && text.ends_with("calls this itself\n"),
        "{text}"
    );
}
