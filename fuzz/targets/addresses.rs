//! Addresses of docent's own resources: any path can be told by one, and an address that is read holds no more than it says.
#![no_main]

use docent_suites::fuzz::{file_again, paths};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    assert_eq!(file_again(text).as_deref(), Some(text));
    let found = paths(text);
    // Schemes are apart.
    assert!(found.len() <= 1, "{found:?}");
    for path in found {
        assert!(path == "." || path.len() <= text.len(), "{path:?}");
    }
});
