//! PDF. The reader catches panics of the PDF crate, so they don't count as findings.
#![no_main]

mod checks;

use docent_prose::ProseFormat;
use libfuzzer_sys::fuzz_target;
use std::panic;

fuzz_target!(
    // The fuzzer's own hook would abort before the panic is caught; an uncaught panic still ends the run.
    init: panic::set_hook(Box::new(|info| {
        if info.location().is_some_and(|place| place.file().ends_with("checks.rs")) {
            eprintln!("{info}");
        }
    })),
    |bytes: &[u8]| {
        checks::read(ProseFormat::Pdf, "a/b.pdf", bytes);
    }
);
