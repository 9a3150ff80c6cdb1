//! The docent binary.

use std::process::ExitCode;

/// Threads come and go under load, and calls leave memory behind on whichever they ran: the system's allocator grows with
/// that for as long as it lasts. Elsewhere pages have other sizes, which jemalloc must be built for.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    docent::cli::run(std::env::args_os())
}
