//! Turns admitted requests into calls and answers: sessions, catalog, policy, limits, audit.
//!
//! A [`McpServer`] is created once from a [`ServerSetup`] and shared. It implements the
//! [`AccessControl`](docent_transport::AccessControl) that transports use for access control, and it creates one
//! [`McpSession`] for each connection, which answers the protocol's requests. This crate is given
//! [`ToolProvider`](docent_tool::ToolProvider)s: it must not know a concrete tool, a socket or the environment.
//!
//! The path of a call, forward only: `admission` (who, permits) → `catalog` (whole-name lookup) → `policy`
//! (the only maker of `Admitted`) → `validate` → `run` (deadline, cancel, panics) → `result_builder` (content, size cap) →
//! `audit` (one line).

mod access_control;
mod admission;
mod approval;
mod apps;
mod audit;
mod audit_guard;
mod call;
mod call_client;
mod catalog;
mod convert;
mod cursor;
mod external_auth;
mod hex;
mod live_settings;
mod metrics;
mod nested;
mod offers;
mod paging;
mod policy;
mod questions;
mod request_caller;
mod result_builder;
mod results;
mod rule_rates;
mod run;
mod screening;
mod server;
mod session;
mod setup;
mod shares;
mod subscriptions;
mod tasks;
mod unreadable;
mod validate;
mod verbatim;

pub use audit::AuditSink;
pub use external_auth::ExternalAuth;
pub use policy::{PolicyAction, PolicyDecision, PolicyRule, RuleLimits, ToolPolicy};
pub use screening::Screening;
pub use server::McpServer;
pub use session::McpSession;
pub use setup::{
    AdoptTraceParent, LiveSettings, NamedKey, RequestRate, ServerLimits, ServerSetup,
    ServerSetupError,
};
pub use tasks::TASK_KEY;
pub use validate::check_schema;
