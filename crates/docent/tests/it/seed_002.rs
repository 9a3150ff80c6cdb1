//! Seed 002, ast-copilot-helper: a walk through the document from top to bottom.

use crate::seeds::Walk;

#[test]
fn seed_002() {
    let walk = Walk::of("002");
    walk.end();
}
