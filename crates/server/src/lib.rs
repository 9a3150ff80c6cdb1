//! Turns admitted requests into calls and answers: sessions, catalog, policy, limits, audit.
//!
//! A [`Server`] is created once from a [`Setup`] and shared. It implements the [`Door`](docent_transport::Door) that
//! transports use for access control, and it creates one [`Session`] for each connection, which answers the protocol's
//! requests. This crate is given [`Provider`](docent_tool::Provider)s: it must not know a concrete tool, a socket or
//! the environment.
//!
//! The path of a call, forward only: `admit` (who, permits) → `catalogue` (whole-name lookup) → `policy`
//! (the only maker of `Admitted`) → `validate` → `run` (deadline, cancel, panics) → `finish` (content, size cap) →
//! `audit` (one line).

mod admit;
mod approval;
mod apps;
mod audience;
mod audit;
mod call;
mod catalogue;
mod convert;
mod cursor;
mod door;
mod finish;
mod guest;
mod hex;
mod metrics;
mod nested;
mod offers;
mod paging;
mod policy;
mod questions;
mod rates;
mod record;
mod results;
mod run;
mod screening;
mod server;
mod session;
mod setup;
mod shares;
mod strangers;
mod subscriptions;
mod tasks;
mod terms;
mod unreadable;
mod validate;
mod verbatim;

pub use audit::Audit;
pub use policy::{Action, Policy, Rule, RuleBounds, Verdict};
pub use screening::Screening;
pub use server::Server;
pub use session::Session;
pub use setup::{AdoptTrace, Key, Limits, Rate, Setup, SetupError, Terms};
pub use strangers::Strangers;
pub use tasks::TASK_KEY;
pub use validate::check_schema;
