//! What a log line may not hold: the eager options, and one line for one event.

use docent_screen::{Options, Screen, one_line};
use std::borrow::Cow;

#[track_caller]
fn check(text: &str, want: &str) {
    assert_eq!(Screen::new(Vec::new(), Options::for_logs()).redact(text), want);
}

#[test]
fn whatever_is_given_to_a_telling_name_is_masked() {
    check("Authorization: Bearer abc.def-123", "Authorization: Bearer [redacted: bearer token]");
    check(
        "authorization: Basic bXktc2VjcmV0",
        "authorization: Basic [redacted: basic credentials]",
    );
    check("sent Bearer abcdefgh, ok", "sent Bearer [redacted: bearer token], ok");
    check(
        r#"{"auth":{"type":"bearer","token":"mySecret"}}"#,
        r#"{"auth":{"type":"bearer","token":"[redacted: token]"}}"#,
    );
    check(r#"{\"token\": \"mySecret\"}"#, r#"{\"token\": \"[redacted: token]\"}"#);
    check("GET /x?api_key=abc&y=1", "GET /x?api_key=[redacted: api key]&y=1");
    check(
        "apiKey: 'k', X-Api-Key=z",
        "apiKey: '[redacted: api key]', X-Api-Key=[redacted: api key]",
    );
    check(
        "password=hunter2;client_secret=q",
        "password=[redacted: password];client_secret=[redacted: secret]",
    );
    // No mark, though it begins like one.
    check("[redacted: Basic bXktc2VjcmV0", "[redacted: Basic [redacted: basic credentials]");
    check("a token=żółw b", "a token=[redacted: token] b");
    check("https://me:pass@host/", "https://me:[redacted: password in a url]@host/");
    check("password = changeme", "password = [redacted: password]");
    check("passwd: 1234", "passwd: [redacted: password]");
    check("authtoken=abc", "authtoken=[redacted: token]");
    check("refresh-token: abc", "refresh-token: [redacted: token]");
}

#[test]
fn other_words_are_left() {
    let screen = Screen::new(Vec::new(), Options::for_logs());
    for text in [
        "",
        "no secrets here",
        r#"{"progressToken": 7, "tokens": 5}"#,
        "basic rules apply",
        "token_env = CI_KEY",
        r#"{"token": null}"#,
        "the token is missing",
        "żółć = ü",
        "a password=[redacted: password] stays",
        "Bearer [redacted: bearer token]",
        "Basic [redacted: basic credentials]",
    ] {
        let got = screen.redact(text);
        assert!(matches!(got, Cow::Borrowed(same) if same == text), "{text} becomes {got}");
    }
}

#[test]
fn one_event_is_one_line() {
    for (text, want) in [
        ("plain", "plain"),
        ("a\tb", "a\tb"),
        ("a\nINFO forged", "a\\nINFO forged"),
        ("a\r\nb\r", "a\\r\\nb\\r"),
        ("\u{1b}[2Jgone", "<ESC[2J>gone"),
        ("a\u{8}\u{8}b\0", "a<U+0008><U+0008>b<U+0000>"),
        (
            "a\u{2028}b\u{2029}c\u{85}d\u{b}e\u{c}f",
            "a<U+2028>b<U+2029>c<U+0085>d<U+000B>e<U+000C>f",
        ),
        ("\u{202e}txt", "<U+202E>txt"),
    ] {
        assert_eq!(one_line(text), want);
        assert!(!one_line(text).contains(|c: char| c != '\t' && c.is_control()));
    }
    assert!(matches!(one_line("zażółć"), Cow::Borrowed(_)));
}
