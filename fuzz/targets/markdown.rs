//! Markdown, and MDX, which is detected by file name.
#![no_main]

mod checks;

use docent_prose::ProseFormat;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for path in ["a/b.md", "a/b.mdx"] {
        checks::read(ProseFormat::Markdown, path, bytes);
    }
});
