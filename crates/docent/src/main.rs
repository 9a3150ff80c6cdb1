//! The docent binary.

use std::process::ExitCode;

/// Threads come and go under load, and calls leave memory behind on whichever they ran: the system's allocator grows
/// with that for as long as it lasts. Elsewhere pages have other sizes, which jemalloc must be built for.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Each thread keeps what it has given back, up to this size (2^12 bytes), to have it again. With the 2^15 that
/// jemalloc comes with, that is a megabyte for each of the threads that calls run on.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[expect(unsafe_code, reason = "jemalloc reads its settings from a symbol of this name")]
#[used]
// SAFETY: nothing else has this name, and it is what jemalloc expects there: the address of a text that ends with a
// zero.
#[unsafe(export_name = "_rjem_malloc_conf")]
static SETTINGS: &[u8; 17] = b"lg_tcache_max:12\0";

fn main() -> ExitCode {
    docent::cli::run(std::env::args_os())
}
