//! Encodings: any bytes, and a text in UTF-16 that must read the same as in UTF-8.
#![no_main]

mod checks;

use docent_prose::ProseFormat;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for format in [ProseFormat::Plain, ProseFormat::Html] {
        let document = checks::read(format, "a/b", bytes);
        // A byte order mark or a NUL in the text has another meaning in UTF-8.
        let Ok(text) = std::str::from_utf8(bytes) else { continue };
        if text.contains(['\u{feff}', '\0']) {
            continue;
        }
        let marked = || "\u{feff}".encode_utf16().chain(text.encode_utf16());
        let little: Vec<u8> = marked().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = marked().flat_map(u16::to_be_bytes).collect();
        assert_eq!(format.read("a/b", &little).ok(), document);
        assert_eq!(format.read("a/b", &big).ok(), document);
    }
});
