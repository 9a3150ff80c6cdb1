//! Seed 001, the dynamic orchestrator: a walk through the document from top to bottom.

use crate::seeds::Walk;

#[test]
fn seed_001() {
    let walk = Walk::of("001");
    walk.end();
}
