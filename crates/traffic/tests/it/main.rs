//! What a tap records, and what readers see.
#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]

mod bounds;
mod kept;
mod paired;

use docent_traffic::{Capture, ConnectionInfo, Direction, Hop, Tap, Traffic, TrafficEntry};
use std::sync::Arc;

/// Records everything, with `hunter2` redacted.
fn on() -> Arc<Traffic> {
    let traffic = Traffic::new(|text| text.replace("hunter2", "***"));
    traffic.set(Capture { on: true, payloads: true });
    traffic
}

fn client(traffic: &Arc<Traffic>) -> Tap {
    let who = ConnectionInfo { hop: Hop::Client, peer: "anonymous".into(), via: "stdio" };
    traffic.connection(who)
}

fn server(traffic: &Arc<Traffic>) -> Tap {
    let who = ConnectionInfo { hop: Hop::Server, peer: "memory".into(), via: "http" };
    traffic.connection(who)
}

fn came(tap: &Tap, message: &str) -> u64 {
    tap.record_message(Direction::In, message.as_bytes(), None).unwrap()
}

fn went(tap: &Tap, message: &str) -> u64 {
    tap.record_message(Direction::Out, message.as_bytes(), None).unwrap()
}

fn last(traffic: &Arc<Traffic>) -> Arc<TrafficEntry> {
    traffic.read(0, usize::MAX).entries.pop().unwrap()
}

/// An entry as one line.
fn summarize(entry: &TrafficEntry) -> String {
    let shown = serde_json::to_value(entry).unwrap();
    let fields = ["kind", "id", "method", "target", "answers", "code", "text"];
    let field = |name: &&str| match &shown[*name] {
        serde_json::Value::Null => "-".to_owned(),
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    fields.iter().map(field).collect::<Vec<_>>().join(" ")
}
