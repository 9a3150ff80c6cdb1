//! Configuration files, in both formats.
#![no_main]

use docent::config::check_text;
use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|text: &str| {
    for name in ["docent.toml", "docent.json"] {
        if let Err(error) = check_text(Path::new(name), text) {
            assert!(!error.to_string().is_empty());
        }
    }
});
