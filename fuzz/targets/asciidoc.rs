//! AsciiDoc.
#![no_main]

mod checks;

use docent_prose::ProseFormat;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    checks::read(ProseFormat::AsciiDoc, "a/b.adoc", bytes);
});
