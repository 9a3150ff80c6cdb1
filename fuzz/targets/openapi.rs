//! OpenAPI descriptions, in JSON and YAML.
#![no_main]

mod checks;

use docent_prose::ProseFormat;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for path in ["openapi.json", "openapi.yaml"] {
        checks::read(ProseFormat::OpenApi, path, bytes);
    }
});
