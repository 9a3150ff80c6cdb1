//! Seed 001, the dynamic orchestrator: a walk through the document from top to bottom.
//!
//! The document describes a client. docent is on both sides of it: a client of the server `cloudflare`, which plays the
//! document's server, and a server to the test, which plays the document's orchestrator. The shell client is used where
//! the document shows a client's own code.

mod basics;
mod content;
mod debugging;
mod lifecycle;
mod orchestrator;
mod practice;
mod server;
mod transports;

use crate::seeds::SeedTable;
use docent_testenv::{find_program, or_skip};

#[tokio::test]
async fn seed_001() {
    or_skip!(find_program("python3"));
    let mut walk = SeedTable::of("001");
    basics::walk(&mut walk).await;
    lifecycle::walk(&mut walk).await;
    transports::walk(&mut walk).await;
    orchestrator::walk(&mut walk).await;
    content::walk(&mut walk).await;
    debugging::walk(&mut walk).await;
    practice::walk(&mut walk).await;
    walk.end();
}
