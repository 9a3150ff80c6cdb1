//! The docent binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    docent::cli::run(std::env::args_os())
}
