//! Manual pages: compressed, they give the same document.
#![no_main]

mod checks;
mod gz;

use docent_prose::ProseFormat;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let plain = checks::read(ProseFormat::Man, "man1/a.1", bytes);
    // Bytes that start like a compressed file are decompressed only once.
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        assert_eq!(ProseFormat::Man.read("man1/a.1", &gz::gz(bytes)).ok(), plain);
    }
});
