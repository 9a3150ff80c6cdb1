//! What the tests of every form share.

pub(super) mod sample;
