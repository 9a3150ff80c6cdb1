//! Plain text.
#![no_main]

mod checks;

use docent_prose::Format;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    checks::read(Format::Plain, "a/b.txt", bytes);
});
