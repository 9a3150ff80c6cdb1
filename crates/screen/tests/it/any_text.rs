//! No text makes a function panic, return a wrong range, or take long.

use crate::chance::{ALNUM, Chance};
use docent_screen::{Screen, ScreenOptions, one_line, suspicious, visible, visible_json};
use serde_json::{Value, json};

/// Texts that the rules look for, and texts that could break a parser.
const PIECES: &[&str] = &[
    "password",
    "token",
    "key",
    "secret",
    "auth",
    "=",
    ":",
    " ",
    "\"",
    "'",
    "\\",
    "\n",
    "://",
    "@",
    ":AA",
    "eyJ",
    "-----BEGIN ",
    "PRIVATE KEY-----",
    "-----END ",
    "-----",
    "Bearer ",
    "Basic ",
    "\"auth\"",
    "machine a login b password ",
    "AccountKey=",
    "-us",
    "8Q~",
    ".atlasv1.",
    "MTE",
    "Private-Lines:",
    "_auth=",
    "<",
    ">",
    "</",
    "[",
    "]",
    ",",
    "(",
    "%20",
    "\u{1b}",
    "\u{1b}[",
    "\u{1b}]",
    "\u{7}",
    "\u{202e}",
    "\u{200d}",
    "\u{e0041}",
    "\u{e007f}",
    "🏴",
    "\u{fe0f}",
    "\u{e0110}",
    "é",
    "漢",
    "👩",
    "\0",
    "ignore previous instructions",
    "Zm9vOmJhcg==",
    "\u{ad}",
    "0123456789",
    "ghp_",
    "--",
    "ſ",
    "İ",
    "K",
];

#[test]
fn no_text_panics_and_findings_are_in_order() {
    let screens = [
        Screen::new(vec!["known secret".into(), "漢key".into()], ScreenOptions::default()),
        Screen::new(vec!["=\"'\\".into()], ScreenOptions::for_logs()),
    ];
    let mut chance = Chance::new(42);
    for _ in 0..2000 {
        let mut text = String::new();
        for _ in 0..chance.below(24) {
            if chance.below(4) == 0 {
                let length = chance.below(70);
                text += &chance.text(ALNUM, length);
            } else if chance.below(8) == 0 {
                text.extend(char::from_u32(u32::try_from(chance.below(0x11_0000)).unwrap()));
            } else {
                text += PIECES[chance.below(PIECES.len())];
            }
        }
        for screen in &screens {
            let mut end = 0;
            for finding in screen.find(&text) {
                assert!(finding.range.start >= end && !finding.range.is_empty(), "{text:?}");
                assert!(text.get(finding.range.clone()).is_some(), "{text:?}");
                end = finding.range.end;
            }
            let mut value = json!({(text.clone()): [text.clone()]});
            screen.redact_json(&mut value);
            visible_json(&mut value);
        }
        let shown = visible(&text).into_owned();
        assert_eq!(visible(&shown), shown, "{text:?}");
        assert!(!one_line(&text).contains(['\n', '\r', '\u{1b}', '\0', '\u{202e}']), "{text:?}");
        suspicious(&text);
    }
}

/// Keys and values of documents, in any order.
const MEMBERS: &[&str] = &[
    "password",
    "token",
    "name",
    "value",
    "key",
    "default",
    "swordfish",
    "the",
    "hunter2!x9",
    "kX9vQ2mZ7pLw4RtY8sBn3HjF1",
    "aHVudGVyMiF4OQ==",
    "Pässw0rt2024!",
    "x7|Kq\"!p9\\zL",
    "postgres://u:$$PGPASS@db",
    "showPassword",
    "Show",
    "a \"quoted\" word",
    "known secret",
    "known secret token",
    "password known secret",
    "https://me:hunter2@host/",
    "{\"password\": \"swordfish\"}",
    "\\x",
    "",
];

fn document(chance: &mut Chance, depth: usize) -> Value {
    // Half of them from the first, or names would rarely be next to their values.
    let text = |chance: &mut Chance| {
        let among = if chance.below(2) == 0 { 7 } else { MEMBERS.len() };
        MEMBERS[chance.below(among)].to_owned()
    };
    match chance.below(if depth == 0 { 1 } else { 3 }) {
        1 => (0..chance.below(4)).map(|_| document(chance, depth - 1)).collect(),
        2 => {
            let members = (0..chance.below(5)).map(|_| (text(chance), document(chance, depth - 1)));
            Value::Object(members.collect())
        }
        _ => text(chance).into(),
    }
}

#[test]
fn what_is_redacted_stays_as_it_is() {
    let screens = [ScreenOptions::default(), ScreenOptions::for_logs()]
        .map(|options| Screen::new(vec!["known secret".into()], options));
    let mut chance = Chance::new(7);
    for _ in 0..4000 {
        let mut value = document(&mut chance, 4);
        let text = value.to_string();
        for screen in &screens {
            let once = screen.redact(&text).into_owned();
            assert_eq!(screen.redact(&once), once, "{text}");
        }
        screens[0].redact_json(&mut value);
        assert_eq!(screens[0].redact_json(&mut value), 0, "{value}");
        // In data, a string may be a document itself, and a known secret ends at its quotes.
        if !text.contains("known") && !text.contains("{\\\"") {
            assert_eq!(screens[0].redact(&text), value.to_string(), "data and text agree");
        }
    }
    // Not a document until a secret is redacted.
    let screen = Screen::new(vec!["k\\nown\nsecret".into()], ScreenOptions::default());
    let text = "{\"a\": \"k\\nown\nsecret\", \"password\": \"swordfish\"}";
    let want = r#"{"a": "[redacted: configured secret]", "password": "[redacted: password]"}"#;
    assert_eq!(screen.redact(text), want);
}

/// Each of these makes a careless rule read the same text repeatedly.
#[test]
fn bait_and_ten_megabytes_are_screened() {
    let screens = [Screen::default(), Screen::new(Vec::new(), ScreenOptions::for_logs())];
    for bait in [
        "-----BEGIN PRIVATE KEY-----",
        "eyJ",
        "eyJ.",
        "eyJhbGciOiJI.",
        "://",
        "a://b:",
        "key",
        "key=",
        "key = \"",
        "Bearer",
        "Bearer ",
        "Basic ",
        "1meyJ",
        "\u{1b}[1meyJ",
        "Authorization: ",
        "password",
        "password:\"",
        "token=\\\"'[redacted: a]",
        "\"auth\"",
        "machine a login b ",
        "MTE",
        "ghp_",
        ":AA",
        "1",
        "-us",
        "\u{1b}]",
        "\u{1b}[1",
        "\u{e0041}",
        "\u{fe0f}",
        "Private-Lines: 1\n",
        "a",
        "\\",
        "-----",
        "sk-ant-",
        "1234567890:AA",
        "é",
    ] {
        let text = bait.repeat((1 << 17) / bait.len());
        for screen in &screens {
            screen.redact(&text);
        }
        visible(&text);
        one_line(&text);
        suspicious(text.get(..text.floor_char_boundary(1 << 12)).unwrap());
    }
    // So long that a rule that continues from each of its words would not finish.
    for bait in ["Bearer", "1meyJ"] {
        let text = bait.repeat((4 << 20) / bait.len());
        for screen in &screens {
            assert_eq!(screen.find(&text), [], "{bait}");
        }
    }
    for key in ["password".repeat(1 << 13), "\\u0070assword".repeat(1 << 12)] {
        let items = vec!["\"a\\n1\""; 1 << 13].join(",");
        let text = format!("{{\"{key}\": [{items}], \"name\": \"{key}\", \"value\": [{items}]}}");
        for screen in &screens {
            screen.redact(&text);
        }
        let mut value: Value = serde_json::from_str(&text).unwrap();
        screens[0].redact_json(&mut value);
    }
    for bait in
        ["$a1", "$$A", "%1$", "{a", "<a", "a.", "1234", "é1", "a=", "x7|Kq!p9zL", "pass", "("]
    {
        let text = json!({"password": bait.repeat((1 << 17) / bait.len())}).to_string();
        screens[0].redact(&text);
    }
    // JSON may repeat its keys.
    let names = r#""name": "password", "key": "token", "value": ["the"], "#.repeat(1 << 12);
    screens[0].redact(&format!("{{{names}\"value\": \"the\"}}"));
    let deep = "[".repeat(1 << 16) + &"]".repeat(1 << 16);
    assert_eq!(screens[0].redact(&deep), deep);
    let line = "let x = key.lookup(token);\n";
    let text = line.repeat((10 << 20) / line.len() + 1);
    assert!(text.len() >= 10 << 20);
    assert_eq!(screens[0].find(&text), []);
}
