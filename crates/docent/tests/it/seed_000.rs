//! Seed 000, documcp: a walk through the document from top to bottom.

use crate::seeds::Walk;

#[test]
fn seed_000() {
    let walk = Walk::of("000");
    walk.end();
}
