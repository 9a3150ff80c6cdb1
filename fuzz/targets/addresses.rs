//! URIs of docent's own resources: any path has one, and a parsed URI contains no more than it states.
#![no_main]

use docent_suites::fuzz::{file_again, paths};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    assert_eq!(file_again(text).as_deref(), Some(text));
    let found = paths(text);
    // Each scheme is separate.
    assert!(found.len() <= 1, "{found:?}");
    for path in found {
        assert!(path == "." || path.len() <= text.len(), "{path:?}");
    }
});
