//! Packs what the fuzzer makes up.

use flate2::{Compression, write::GzEncoder};
use std::io::Write;

/// The bytes, packed.
pub fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).expect("memory takes all");
    packed.finish().expect("memory takes all")
}
