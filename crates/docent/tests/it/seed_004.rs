//! Seed 004, mcp-secure-local: a walk through the document from top to bottom.

use crate::seeds::Walk;

#[test]
fn seed_004() {
    let walk = Walk::of("004");
    walk.end();
}
