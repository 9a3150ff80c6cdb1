//! The program that the tests confine: it has one thread, which a test of the standard harness has not.

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

/// Confines this very process to the description given, by mode, and then does what the third word says.
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
        // No process has the highest number that there can be.
        "signal" => {
            let nobody = rustix::process::Pid::from_raw(i32::MAX).ok_or("no number")?;
            rustix::process::test_kill_process(nobody)?;
            Ok("done".to_owned())
        }
        "second-thread" => Ok(format!("confined beside {}", other.is_some())),
        other => Err(format!("{other:?} is no act").into()),
    }
}
