//! The tests' program: a supervisor, programs that it starts, and a docent that gets killed.

mod docent;
mod program;

use std::{ffi::OsString, process::ExitCode};

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let role = args.next();
    match role.as_deref().and_then(|role| role.to_str()) {
        Some(docent_supervisor::SUBCOMMAND) => docent_supervisor::run(),
        Some(docent_sandbox::SUBCOMMAND) => docent_sandbox::run_confined(args),
        Some(role) => match act(role, args) {
            Ok(code) => code,
            Err(error) => {
                say(&format!("error: {error}"));
                ExitCode::FAILURE
            }
        },
        None => ExitCode::from(2),
    }
}

type Outcome = Result<ExitCode, Box<dyn std::error::Error>>;

fn act(role: &str, args: impl Iterator<Item = OsString>) -> Outcome {
    let words: Vec<String> = args.filter_map(|word| word.into_string().ok()).collect();
    let number = words.first().and_then(|word| word.parse().ok()).unwrap_or(0);
    match role {
        "echo" => program::echo(),
        "exit" => Ok(ExitCode::from(u8::try_from(number)?)),
        "hang" => program::hang(),
        "stubborn" => program::stubborn(),
        "session" => program::session(),
        "detach" => program::detach(),
        "brood" => program::brood(words.first().is_some_and(|word| word == "leave")),
        "hop" => program::hop(&words),
        "flood" => program::flood(number),
        "descriptors" => program::descriptors(),
        "docent" => docent::wait_to_be_killed(&words),
        "confined" => docent::confined(),
        "rounds" => docent::rounds(number),
        "measure" => docent::measure(number),
        other => Err(format!("unknown role {other:?}").into()),
    }
}

/// Writes a line for the test.
#[expect(clippy::print_stdout, reason = "the test reads it")]
fn say(line: &str) {
    println!("{line}");
}
