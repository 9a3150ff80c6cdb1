//! What is kept, and how it is read.

use crate::{came, client, on, server};
use docent_traffic::{Capture, Direction, Traffic};
use std::sync::Arc;

const PING: &str = r#"{"id":1,"method":"ping"}"#;

#[test]
fn the_oldest_entries_go_first() {
    let traffic = on();
    let tap = client(&traffic);
    for _ in 0..10_004 {
        came(&tap, PING);
    }
    let page = traffic.read(0, usize::MAX);
    assert_eq!((page.entries.len(), page.first, page.next), (10_000, 6, 10_005));
    assert!(page.entries.iter().map(|entry| entry.seq).eq(6..=10_005));
    assert!(traffic.entry(5).is_none());
    assert_eq!(traffic.entry(6).unwrap().seq, 6);
    assert!(traffic.entry(10_006).is_none() && traffic.entry(u64::MAX).is_none());
    for (after, most, want) in [
        (0, 2, (6..8, 7)),
        (6, 2, (7..9, 8)),
        (10_003, 9, (10_004..10_006, 10_005)),
        (7, 0, (8..8, 7)),
        (10_005, 9, (1..1, 10_005)),
        (99_999, 9, (1..1, 10_005)),
        (u64::MAX, 9, (1..1, 10_005)),
    ] {
        let page = traffic.read(after, most);
        let seqs = page.entries.iter().map(|entry| entry.seq);
        assert!(seqs.eq(want.0), "after {after}");
        assert_eq!(page.next, want.1, "after {after}");
    }
}

#[test]
fn the_oldest_messages_go_first_and_leave_their_entries() {
    let traffic = on();
    let tap = client(&traffic);
    let message = format!(r#"{{"id":1,"method":"x","params":"{}"}}"#, "a".repeat(200_000));
    for _ in 0..200 {
        came(&tap, &message);
    }
    let entries = traffic.read(1, usize::MAX).entries;
    let kept: Vec<bool> = entries.iter().map(|entry| entry.payload().is_some()).collect();
    let room = 32 * 1024 * 1024 / message.len();
    let want: Vec<bool> = (0..200).map(|nth| nth >= 200 - room).collect();
    assert_eq!(kept, want);
    let shown = serde_json::to_value(&*entries[0]).unwrap();
    assert_eq!(shown["has_payload"], false);
}

#[test]
fn a_long_message_is_cut_between_characters_and_no_secret_is_cut_in_half() {
    let most = 256 * 1024;
    for (fill, at) in [("a", 0), ("é", 1), ("𝄞", 3)] {
        for secret_at in [most - 3, most - 7, most, most + 16 * 1024 - 3] {
            let traffic = on();
            let mut message = "x".repeat(at);
            while message.len() < secret_at {
                message.push_str(fill);
            }
            message.push_str("hunter2");
            message.push_str(&"z".repeat(most));
            came(&client(&traffic), &message);
            let entry = traffic.entry(2).unwrap();
            let (text, cut) = entry.payload().unwrap();
            assert!(cut && text.len() <= most && text.len() > most - 8, "{} bytes", text.len());
            assert!(!text.contains('h'), "half a secret");
            assert_eq!(entry.with_payload()["cut"], true);
            assert_eq!(entry.bytes, message.len());
        }
    }
}

#[test]
fn a_redaction_that_shortens_shows_nothing_that_was_not_looked_at_whole() {
    // Everything but the last half of a secret is removed, so that the end of the inspected part becomes visible.
    let traffic = Traffic::new(|text| text.replace("password=hunter2;", ""));
    traffic.set(Capture { on: true, payloads: true });
    let message = format!("x{}", "password=hunter2;".repeat(100_000));
    came(&client(&traffic), &message);
    let (text, cut) = traffic.entry(2).unwrap().payload().unwrap();
    assert_eq!((&*text, cut), ("", true));
}

#[tokio::test]
async fn waiting_readers_are_woken_by_new_entries() {
    let traffic = on();
    let tap = client(&traffic);
    // There is an entry already.
    traffic.changed(0).await;
    let waiting = {
        let traffic = Arc::clone(&traffic);
        tokio::spawn(async move {
            traffic.changed(1).await;
            traffic.read(1, 10).entries.len()
        })
    };
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    came(&tap, PING);
    assert_eq!(waiting.await.unwrap(), 1);
}

#[test]
fn many_threads_leave_no_gap_and_pair_their_own() {
    let traffic = on();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let tap = server(&traffic);
            scope.spawn(move || {
                for id in 0..500 {
                    let asked = format!(r#"{{"id":{id},"method":"ping"}}"#);
                    let request =
                        tap.record_message(Direction::Out, asked.as_bytes(), None).unwrap();
                    let answered = format!(r#"{{"id":{id},"result":{{}}}}"#);
                    let answer =
                        tap.record_message(Direction::In, answered.as_bytes(), None).unwrap();
                    assert!(answer > request);
                }
            });
        }
    });
    let entries = traffic.read(0, usize::MAX).entries;
    assert!(entries.iter().map(|entry| entry.seq).eq(1..=4_008));
    for entry in entries.iter().filter(|entry| entry.answers.is_some()) {
        let request = traffic.entry(entry.answers.unwrap()).unwrap();
        assert_eq!((request.connection, &request.id), (entry.connection, &entry.id));
    }
    assert_eq!(entries.iter().filter(|entry| entry.answers.is_some()).count(), 2_000);
}
