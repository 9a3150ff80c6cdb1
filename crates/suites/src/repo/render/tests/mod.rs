//! Shared test data of all renderers.

pub(super) mod sample;
