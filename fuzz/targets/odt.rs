//! ODT files: complete ones, and ones with fuzzed parts.
#![no_main]

mod checks;
mod packing;

use docent_prose::ProseFormat;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    checks::read(ProseFormat::Odt, "a/b.odt", bytes);
    checks::read(ProseFormat::Odt, "a/b.odt", &packing::zip(&packing::parts(bytes)));
});
