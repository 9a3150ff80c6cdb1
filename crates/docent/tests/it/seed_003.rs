//! Seed 003, TechDoc Genie: a walk through the document from top to bottom.

use crate::seeds::Walk;

#[test]
fn seed_003() {
    let walk = Walk::of("003");
    walk.end();
}
