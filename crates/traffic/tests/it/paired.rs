//! Answers matched to their requests, and both sides of a call.

use crate::{came, client, last, on, server, summarize, went};
use docent_traffic::{Direction, Traffic, TrafficDetails, TrafficKind};
use serde_json::json;
use std::sync::Arc;

fn answers(traffic: &Arc<Traffic>, seq: u64) -> Option<u64> {
    traffic.entry(seq).unwrap().answers
}

fn seqs(traffic: &Traffic, seq: u64) -> Vec<u64> {
    traffic.call(seq).iter().map(|entry| entry.seq).collect()
}

#[test]
fn an_answer_has_what_its_request_had() {
    let traffic = on();
    let tap = client(&traffic);
    let request = came(&tap, r#"{"id":1,"method":"tools/call","params":{"name":"echo"}}"#);
    let other = came(&tap, r#"{"id":2,"method":"ping"}"#);
    let late = went(&tap, r#"{"id":2,"result":{}}"#);
    let answer = went(&tap, r#"{"id":1,"result":{}}"#);
    assert_eq!(
        summarize(&traffic.entry(answer).unwrap()),
        format!("response 1 tools/call echo {request} - -")
    );
    assert_eq!(answers(&traffic, late), Some(other));
    // An answer is matched once; later ones belong to no request.
    let again = went(&tap, r#"{"id":1,"result":{}}"#);
    assert_eq!(answers(&traffic, again), None);
    let entry = |seq| traffic.entry(seq).unwrap();
    assert!(entry(request).micros.is_none() && entry(again).micros.is_none());
    // The first to be asked and the last to be answered took longest.
    assert!(entry(answer).micros.unwrap() >= entry(late).micros.unwrap());
    assert!(entry(answer).at >= entry(request).at);
}

#[test]
fn ids_are_distinguished_by_connection_direction_and_part() {
    let traffic = on();
    let (one, other) = (client(&traffic), client(&traffic));
    let message = r#"{"id":1,"method":"ping"}"#;
    let here = came(&one, message);
    let there = came(&other, message);
    let asked = went(&one, message);
    let parts = (one.separate_ids(), one.separate_ids());
    let first = came(&parts.0, message);
    let second = came(&parts.1, message);
    let answer = r#"{"id":"1","result":{}}"#;
    for (seq, request) in [
        (came(&one, answer), Some(asked)),
        (went(&one, answer), Some(here)),
        (went(&one, answer), None),
        (went(&parts.0, answer), Some(first)),
        (went(&other, answer), Some(there)),
        (went(&parts.1, answer), Some(second)),
    ] {
        assert_eq!(answers(&traffic, seq), request);
    }
}

#[test]
fn pieces_of_an_answer_all_belong_to_it() {
    let traffic = on();
    let tap = client(&traffic);
    let request = came(&tap, r#"{"id":1,"method":"tools/call","params":{"name":"x"}}"#);
    for piece in [true, true, false] {
        let seq = went(&tap, &format!(r#"{{"id":1,"result":{{"partial":{piece}}}}}"#));
        assert_eq!(answers(&traffic, seq), Some(request));
    }
    let seq = went(&tap, r#"{"id":1,"result":{"partial":false}}"#);
    assert_eq!(answers(&traffic, seq), None);
}

#[test]
fn members_of_a_batch_are_numbered_in_a_row() {
    let traffic = on();
    let tap = client(&traffic);
    let first = came(&tap, r#"[{"id":1,"method":"a"},7,{"method":"b"},{"id":2,"method":"c"}]"#);
    assert_eq!(first, 2);
    let lines: Vec<String> =
        traffic.read(1, 10).entries.iter().map(|entry| summarize(entry)).collect();
    let want = [
        "request 1 a - - - -",
        "noise - - - - - 7",
        "notification - b - - - -",
        "request 2 c - - - -",
    ];
    assert_eq!(lines, want);
    let answer = went(&tap, r#"[{"id":2,"result":{}},{"id":1,"error":{"code":-1,"message":"x"}}]"#);
    assert_eq!((answers(&traffic, answer), answers(&traffic, answer + 1)), (Some(5), Some(2)));
}

#[test]
fn a_call_is_whole_from_any_of_its_entries() {
    let traffic = on();
    let (client, server) = (client(&traffic), server(&traffic));
    let request = came(
        &client,
        r#"{"id":"c","method":"tools/call","params":{"name":"memory__read","_meta":{"progressToken":"p"}}}"#,
    );
    came(&client, r#"{"id":"other","method":"ping"}"#);
    went(&client, r#"{"id":"other","result":{}}"#);
    let asked = |id: u64, attempt: u32| {
        let message = json!({"id": id, "method": "tools/call", "params": {"name": "read", "_meta": {"progressToken": id}}});
        server
            .record_value(
                Direction::Out,
                &message,
                TrafficDetails { parent: Some(request), attempt },
            )
            .unwrap()
    };
    let first = asked(7, 1);
    let lost = {
        server.note(TrafficKind::Lost, "connection reset", Some(&json!(7)));
        last(&traffic).seq
    };
    let second = asked(8, 2);
    let unrelated =
        came(&server, r#"{"method":"notifications/progress","params":{"progressToken":99}}"#);
    let heard_there = came(
        &server,
        r#"{"method":"notifications/progress","params":{"progressToken":8,"progress":1}}"#,
    );
    let notified_here = went(
        &client,
        r#"{"method":"notifications/progress","params":{"progressToken":"p","progress":1}}"#,
    );
    let answered = came(&server, r#"{"id":8,"result":{}}"#);
    let cancelled =
        came(&client, r#"{"method":"notifications/cancelled","params":{"requestId":"c"}}"#);
    let answer = went(&client, r#"{"id":"c","result":{}}"#);
    let whole =
        [request, first, lost, second, heard_there, notified_here, answered, cancelled, answer];
    for seq in whole {
        assert_eq!(seqs(&traffic, seq), whole, "from {seq}");
    }
    assert_eq!(seqs(&traffic, unrelated), [unrelated]);
    assert!(seqs(&traffic, 0).is_empty() && seqs(&traffic, 999).is_empty());
    let attempts = [first, lost, second, answered].map(|seq| traffic.entry(seq).unwrap().attempt);
    assert_eq!(attempts, [1, 1, 2, 2]);
    let parents =
        [first, lost, second, answered, heard_there].map(|seq| traffic.entry(seq).unwrap().parent);
    assert_eq!(parents, [Some(request); 5]);
    assert_eq!(
        summarize(&traffic.entry(lost).unwrap()),
        format!("lost 7 tools/call read {first} - connection reset")
    );
}

#[test]
fn requests_of_a_closed_connection_are_forgotten() {
    let traffic = on();
    let tap = server(&traffic);
    went(&tap, r#"{"id":1,"method":"ping"}"#);
    tap.note(TrafficKind::Closed, "gone", None);
    let seq = came(&tap, r#"{"id":1,"result":{}}"#);
    assert_eq!(answers(&traffic, seq), None);
}
