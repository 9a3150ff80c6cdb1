//! The summary in an entry.

use crate::{came, client, last, on, server, summarize, went};
use docent_traffic::{Capture, Direction, Traffic, TrafficDetails, TrafficKind};
use serde_json::{Value, json};
use std::sync::Arc;

#[test]
fn a_message_is_summarized_by_its_kind() {
    for (message, want) in [
        (r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#, "request 7 ping - - - -"),
        (
            r#"{"id":"a","method":"tools/call","params":{"name":"echo","arguments":{"uri":"x"}}}"#,
            "request a tools/call echo - - -",
        ),
        (
            r#"{"id":1,"method":"resources/read","params":{"uri":"file:///a\u0062"}}"#,
            "request 1 resources/read file:///ab - - -",
        ),
        (
            r#"{"id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"greet"}}}"#,
            "request 1 completion/complete greet - - -",
        ),
        (
            r#"{"method":"notifications/initialized"}"#,
            "notification - notifications/initialized - - - -",
        ),
        (r#"{"id":null,"method":"x"}"#, "notification - x - - - -"),
        (r#"{"id":1,"result":{}}"#, "response 1 - - - - -"),
        (r#"{"id":1,"result":null}"#, "response 1 - - - - -"),
        (
            r#"{"id":1,"result":{"isError":true,"content":[{"type":"text","text":"no such file"}]}}"#,
            "response 1 - - - -1 no such file",
        ),
        (
            r#"{"id":1,"result":{"isError":false,"content":[{"text":"fine"}]}}"#,
            "response 1 - - - - -",
        ),
        (
            r#"{"id":1,"error":{"code":-32601,"message":"Method not found"}}"#,
            "error 1 - - - -32601 Method not found",
        ),
        (r#"{"id":null,"error":{"code":-32700,"message":"x"}}"#, "error - - - - -32700 x"),
        (r#"{"id":1,"error":"odd"}"#, "error 1 - - - - -"),
        (r#"{"id":1,"error":null,"result":{}}"#, "response 1 - - - - -"),
        ("  {\"id\":1,\"method\":\"ping\"}\n", "request 1 ping - - - -"),
        // Anything that is not a message is noise.
        ("listening on 8080", "noise - - - - - listening on 8080"),
        ("", "noise - - - - - "),
        ("{", "noise - - - - - {"),
        ("7", "noise - - - - - 7"),
        ("{}", "noise - - - - - {}"),
        ("[]", "noise - - - - - a batch of 0 messages"),
        (r#"{"id":1,"id":2,"method":"x"}"#, r#"noise - - - - - {"id":1,"id":2,"method":"x"}"#),
        // Members of unexpected types.
        (r#"{"id":[1],"method":"x","params":[1]}"#, "request - x - - - -"),
        (r#"{"id":{},"method":7,"result":7}"#, "response - - - - - -"),
        (r#"{"id":1,"method":"x","params":{"name":{"a":1},"_meta":7}}"#, "request 1 x - - - -"),
        (r#"{"id":1,"error":{"code":"x","message":7}}"#, "error 1 - - - - -"),
    ] {
        let traffic = on();
        came(&client(&traffic), message);
        let entry = traffic.entry(2).unwrap();
        assert_eq!(summarize(&entry), want, "{message}");
        assert_eq!(entry.bytes, message.len(), "{message}");
    }
}

#[test]
fn hostile_bytes_are_an_entry_like_any_other() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let nested = format!(r#"{{"id":1,"method":"x","params":{deep}}}"#);
    let long_id = format!(r#"{{"id":"{}","method":"x"}}"#, "i".repeat(1_000_000));
    let long_name =
        format!(r#"{{"id":1,"method":"{0}","params":{{"name":"{0}"}}}}"#, "é".repeat(100_000));
    let many = format!("[{}1]", "1,".repeat(100_000));
    for message in [
        deep.as_bytes(),
        nested.as_bytes(),
        long_id.as_bytes(),
        long_name.as_bytes(),
        many.as_bytes(),
        b"{\"id\":1,\"method\":\"\xff\"}",
        b"\xff\xfe\x00",
        b"{\"id\":1,\"method\":\"\\ud800\"}",
        b"{\"id\":1e999,\"method\":\"x\"}",
    ] {
        let traffic = on();
        let tap = client(&traffic);
        tap.record_message(Direction::In, message, None).unwrap();
        let head = String::from_utf8_lossy(&message[..message.len().min(40)]);
        assert!(traffic.read(0, 100).entries.len() <= 3, "{head}");
        let entry = last(&traffic);
        // The brackets of a batch belong to no message.
        assert!((message.len() - 2..=message.len()).contains(&entry.bytes), "{head}");
        let shown = serde_json::to_string(&*entry).unwrap();
        assert!(shown.len() < 4_000, "{head}: {}", shown.len());
    }
}

#[test]
fn an_entry_has_the_fields_that_the_page_reads() {
    let traffic = on();
    let tap = client(&traffic);
    came(&tap, r#"{"id":1,"method":"tools/call","params":{"name":"echo"}}"#);
    let mut shown = traffic.entry(2).unwrap().with_payload();
    assert!(shown["at"].take().as_u64().unwrap() > 1_600_000_000_000_000);
    let want = json!({
        "seq": 2, "at": null, "connection": 1, "peer": "anonymous", "hop": "client", "via": "stdio",
        "direction": "in", "kind": "request", "id": 1, "method": "tools/call", "target": "echo",
        "answers": null, "micros": null, "parent": null, "attempt": 1, "bytes": 55, "era": null,
        "code": null, "text": null, "has_payload": true,
        "payload": r#"{"id":1,"method":"tools/call","params":{"name":"echo"}}"#,
    });
    assert_eq!(shown, want);
    let page = serde_json::to_value(traffic.read(0, 1)).unwrap();
    assert_eq!((&page["first"], &page["next"]), (&json!(1), &json!(1)));
    assert_eq!(page["entries"][0]["kind"], "opened");
    assert_eq!(page["entries"][0].get("payload"), None);
}

#[test]
fn nothing_is_kept_while_it_is_off() {
    let traffic = Traffic::new(|_| panic!("nothing is to be looked at"));
    let tap = client(&traffic);
    assert!(!tap.is_on());
    let message = r#"{"id":1,"method":"ping"}"#;
    assert_eq!(tap.record_message(Direction::In, message.as_bytes(), None), None);
    assert_eq!(
        tap.record_value(Direction::Out, &json!({"id": 1}), TrafficDetails::default()),
        None
    );
    tap.note(TrafficKind::Noise, "noise", None);
    tap.set_peer("cursor");
    tap.speaks("2025-11-25");
    assert!(traffic.read(0, 10).entries.is_empty());
    assert_eq!((traffic.read(0, 10).first, traffic.read(9, 10).next), (1, 0));
    drop(tap);
    assert!(traffic.read(0, 10).entries.is_empty());
}

#[test]
fn peer_names_learned_while_off_are_known_when_on() {
    let traffic = Traffic::new(str::to_owned);
    let tap = client(&traffic);
    tap.set_peer("cursor");
    tap.speaks("2025-11-25");
    traffic.set(Capture { on: true, payloads: false });
    came(&tap, r#"{"id":1,"method":"ping"}"#);
    let entry = last(&traffic);
    assert_eq!((&*entry.peer, entry.era.as_deref()), ("cursor", Some("2025-11-25")));
    assert!(entry.payload().is_none());
    assert_eq!(entry.with_payload()["payload"], Value::Null);
    // The name, the end, and no duplicates.
    tap.note(TrafficKind::Closed, "hung up", None);
    drop(tap);
    assert_eq!(traffic.read(0, 10).entries.len(), 2);
    assert_eq!(summarize(&last(&traffic)), "closed - - - - - hung up");
}

#[test]
fn a_connection_opens_once_and_closes_with_its_last_tap() {
    let traffic = on();
    let (one, other) = (client(&traffic), server(&traffic));
    let clones = (one.clone(), one.separate_ids());
    drop(one);
    drop(clones.0);
    assert_eq!(traffic.read(0, 10).entries.len(), 2);
    drop(clones.1);
    drop(other);
    let kinds: Vec<_> =
        traffic.read(0, 10).entries.iter().map(|entry| (entry.connection, entry.kind)).collect();
    let want = [
        (1, TrafficKind::Opened),
        (2, TrafficKind::Opened),
        (1, TrafficKind::Closed),
        (2, TrafficKind::Closed),
    ];
    assert_eq!(kinds, want);
}

#[test]
fn a_peers_name_and_revision_are_read_from_its_messages() {
    let traffic = on();
    let tap = client(&traffic);
    let said = |entry: u64| {
        let entry = traffic.entry(entry).unwrap();
        (entry.peer.to_string(), entry.era.as_deref().unwrap_or("-").to_owned())
    };
    let opening = r#"{"id":1,"method":"initialize","params":{"protocolVersion":"2099-01-01","clientInfo":{"name":"cursor"}}}"#;
    let seq = came(&tap, opening);
    assert_eq!(said(seq), ("cursor".into(), "-".into()), "asked for is not agreed on");
    let seq = went(&tap, r#"{"id":1,"result":{"protocolVersion":"2025-11-25"}}"#);
    assert_eq!(said(seq), ("cursor".into(), "2025-11-25".into()));
    // A tool's answer may have such a field.
    came(&tap, r#"{"id":2,"method":"tools/call","params":{"name":"x"}}"#);
    let seq = went(&tap, r#"{"id":2,"result":{"protocolVersion":"1900"}}"#);
    assert_eq!(said(seq), ("cursor".into(), "2025-11-25".into()));
    let modern = r#"{"id":3,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"codex"}}}}"#;
    let seq = came(&tap, modern);
    assert_eq!(said(seq), ("codex".into(), "2026-07-28".into()));
    // docent's own name is not the name of the server that it calls.
    let tap = server(&traffic);
    let seq = went(&tap, modern);
    assert_eq!(said(seq), ("memory".into(), "2026-07-28".into()));
    // A server may ask under its own name, but keeps its configured one.
    let seq = came(&tap, opening);
    assert_eq!(said(seq).0, "memory");
}

#[test]
fn every_text_is_redacted_before_it_is_kept() {
    let traffic = on();
    let tap = client(&traffic);
    came(
        &tap,
        r#"{"id":1,"method":"resources/read","params":{"uri":"x://hunter2@y","a":"hunter2"}}"#,
    );
    went(&tap, r#"{"id":1,"error":{"code":1,"message":"bad password: hunter2"}}"#);
    came(&tap, "password is hunter2");
    tap.note(TrafficKind::Noise, "again hunter2", None);
    tap.note(TrafficKind::Lost, "no hunter2", Some(&json!(1)));
    let all: Vec<Arc<_>> = traffic.read(0, 10).entries;
    let shown: String = all.iter().map(|entry| entry.with_payload().to_string()).collect();
    assert!(!shown.contains("hunter2"), "{shown}");
    assert_eq!(shown.matches("***").count(), 11, "{shown}");
}
