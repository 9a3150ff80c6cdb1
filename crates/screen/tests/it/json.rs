//! Strings and keys of JSON are screened at any depth.

use crate::chance::{ALNUM, body};
use docent_screen::{Screen, visible_json};
use serde_json::{Value, json};

#[track_caller]
fn check(mut value: Value, want: &Value, changed: usize) {
    assert_eq!(Screen::default().redact_json(&mut value), changed, "{value}");
    assert_eq!(value, *want);
}

#[test]
fn strings_keys_and_values_of_telling_keys_are_redacted() {
    let token = format!("{}{}", concat!("gh", "p_"), body(ALNUM, 36));
    let gone = "[redacted: github token]";
    check(
        json!({"a": [{"b": format!("x {token}")}]}),
        &json!({"a": [{"b": format!("x {gone}")}]}),
        1,
    );
    check(
        json!({"password": "letmein", "Token": "t", "secret": "s", "apiKey": "k", "user": "me"}),
        &json!({"password": "[redacted: password]", "Token": "[redacted: token]", "secret": "[redacted: secret]",
            "apiKey": "[redacted: api key]", "user": "me"}),
        4,
    );
    check(
        json!({"password": ["one", "two"]}),
        &json!({"password": ["[redacted: password]", "[redacted: password]"]}),
        2,
    );
    let mut value = json!({"z": 1, (token.clone()): 2, (format!("{token}a")): 3, "a": 4});
    assert_eq!(Screen::default().redact_json(&mut value), 2);
    assert_eq!(value.to_string(), format!(r#"{{"z":1,"{gone}":2,"{gone} 2":3,"a":4}}"#));
}

#[test]
fn schemas_and_ordinary_values_stay() {
    for value in [
        json!(null),
        json!({"password": null, "token": 5, "secret": true, "apiKey": ""}),
        json!({"properties": {"password": {"type": "string", "description": "The password."}}}),
        json!({"password": "string", "token": "<token>", "secret": "${SECRET}"}),
        json!({"_meta": {"progressToken": "abc-1"}, "nextPageToken": "x", "tokens": ["a", "b"]}),
        json!({"password": "[redacted: password]"}),
    ] {
        check(value.clone(), &value, 0);
    }
}

#[test]
fn hidden_characters_are_shown_in_strings_and_keys() {
    let mut value = json!({"a\u{202e}": ["b\u{200b}", "c", 1], "d": {"e": "\u{1b}[0m"}});
    assert_eq!(visible_json(&mut value), 3);
    assert_eq!(value, json!({"a<U+202E>": ["b<U+200B>", "c", 1], "d": {"e": "<ESC[0m>"}}));
}

#[test]
fn depth_and_width_are_no_trouble() {
    let mut deep = json!("password = \"hunter2\"");
    for _ in 0..2000 {
        deep = Value::Array(vec![deep]);
    }
    assert_eq!(Screen::default().redact_json(&mut deep), 1);
    // Dropping a value recurses; the test takes it apart instead.
    while let Value::Array(mut items) = deep {
        deep = items.pop().unwrap();
    }
    let screen = Screen::new(vec!["same".into()], docent_screen::Options::default());
    let mut wide: Value = (0..3000)
        .map(|n| ("\u{200b}".repeat(n % 7) + "same" + &"x".repeat(n), json!(n)))
        .collect::<serde_json::Map<_, _>>()
        .into();
    assert_eq!(screen.redact_json(&mut wide), 3000);
    assert_eq!(wide.as_object().unwrap().len(), 3000);
}
