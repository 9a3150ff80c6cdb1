//! Evaluates, trains and benchmarks the index.

pub mod bench;
pub mod learn;
pub mod measure;
pub mod numbers;
pub mod phrasing;
pub mod runs;
