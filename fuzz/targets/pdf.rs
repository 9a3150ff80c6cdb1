//! PDF. A panic of the crate that reads it is caught by the reader, and is no finding.
#![no_main]

mod checks;

use docent_prose::Format;
use libfuzzer_sys::fuzz_target;
use std::panic;

fuzz_target!(
    // The fuzzer's own hook aborts before anything can be caught; what is not caught ends the run all the same.
    init: panic::set_hook(Box::new(|info| {
        if info.location().is_some_and(|place| place.file().ends_with("checks.rs")) {
            eprintln!("{info}");
        }
    })),
    |bytes: &[u8]| {
        checks::read(Format::Pdf, "a/b.pdf", bytes);
    }
);
