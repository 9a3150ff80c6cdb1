//! The program that the tests confine. It has a single thread, unlike the standard test harness.

use docent_sandbox::{Confinement, ConfinementMode, confine, run_confined};
use std::{
    ffi::OsString,
    process::{Command, ExitCode},
    sync::mpsc::channel,
    thread,
};

type Outcome = Result<String, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match args.next() {
        Some(word) if word == docent_sandbox::SUBCOMMAND => run_confined(args),
        Some(word) if word == "here" => say(here(args)),
        _ => ExitCode::from(2),
    }
}

#[expect(clippy::print_stdout, reason = "the test reads it")]
fn say(outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(text) => println!("{text}"),
        Err(error) => println!("error: {error}"),
    }
    ExitCode::SUCCESS
}

/// Confines this process to the given description and mode, then performs the action in the third argument.
fn here(mut args: impl Iterator<Item = OsString>) -> Outcome {
    let mut text = || args.next().and_then(|arg| arg.into_string().ok()).unwrap_or_default();
    let mode: ConfinementMode = text().parse()?;
    let confinement: Confinement = serde_json::from_str(&text())?;
    let act = text();
    let (end, ended) = channel::<()>();
    let other = (act == "second-thread").then(|| thread::spawn(move || ended.recv()));
    let report = confine(&confinement, mode)?;
    drop(end);
    match act.as_str() {
        "report" => Ok(serde_json::to_string(&report)?),
        "exec" => Ok(Command::new("/bin/true").status()?.to_string()),
        "thread" => {
            Ok(thread::spawn(|| "a thread ran").join().unwrap_or("a thread failed").to_owned())
        }
        "read" => Ok(std::fs::read("/dev/null").map(|_| "done".to_owned())?),
        "write" => Ok(std::fs::write("/dev/null", "x").map(|()| "done".to_owned())?),
        // No process has the highest possible pid.
        "signal" => {
            let missing = rustix::process::Pid::from_raw(i32::MAX).ok_or("no number")?;
            rustix::process::test_kill_process(missing)?;
            Ok("done".to_owned())
        }
        "second-thread" => Ok(format!("confined beside {}", other.is_some())),
        other => Err(format!("unknown action {other:?}").into()),
    }
}
