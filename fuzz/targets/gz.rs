//! Compresses fuzzed bytes.

use flate2::{Compression, write::GzEncoder};
use std::io::Write;

/// Compresses the bytes with gzip.
pub fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).expect("memory takes all");
    packed.finish().expect("memory takes all")
}
