//! Measures and teaches the index: how well it finds, what its features should count, and how fast it is.

pub mod bench;
pub mod learn;
pub mod measure;
pub mod numbers;
pub mod phrasing;
pub mod runs;
