//! EPUB files: complete ones, and ones with fuzzed parts.
#![no_main]

mod checks;
mod packing;

use docent_prose::ProseFormat;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    checks::read(ProseFormat::Epub, "a/b.epub", bytes);
    checks::read(ProseFormat::Epub, "a/b.epub", &packing::zip(&packing::parts(bytes)));
});
