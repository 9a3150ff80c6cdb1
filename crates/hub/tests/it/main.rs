//! The hub with servers that are scripted message by message.
#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod calls;
mod discover;
mod eras;
mod lifecycle;
mod offers;
mod questions;
mod shapes;
mod shown;
mod stage;
#[path = "../../../script/tests/it/threads.rs"]
mod threads;
mod web;
