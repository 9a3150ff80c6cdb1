//! Log lines: the eager options, and one line per event.

use docent_screen::{Screen, ScreenOptions, one_line};
use std::borrow::Cow;

#[track_caller]
fn check(text: &str, want: &str) {
    assert_eq!(Screen::new(Vec::new(), ScreenOptions::for_logs()).redact(text), want);
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
    // Not a marker, though it starts like one.
    check("[redacted: Basic bXktc2VjcmV0", "[redacted: Basic [redacted: basic credentials]");
    check("a token=żółw b", "a token=[redacted: token] b");
    check("https://me:pass@host/", "https://me:[redacted: password in a url]@host/");
    check("password = changeme", "password = [redacted: password]");
    check("passwd: 1234", "passwd: [redacted: password]");
    check("authtoken=abc", "authtoken=[redacted: token]");
    check("refresh-token: abc", "refresh-token: [redacted: token]");
}

/// The rest after a sign that ends other values is redacted too.
#[test]
fn a_value_goes_to_its_end() {
    for (text, want) in [
        (r#"sent {"password":"x7K,q9zLp2"}"#, r#"sent {"password":"[redacted: password]"}"#),
        (r#"{"password":"a b;c","n":1}"#, r#"{"password":"[redacted: password]","n":1}"#),
        (r#"{"password":"a\"b, c\\","n":1}"#, r#"{"password":"[redacted: password]","n":1}"#),
        (r#"{"token":"","password":"a, b"}"#, r#"{"token":"","password":"[redacted: password]"}"#),
        (r#"{\"secret\":\"a b, c\",\"n\":1}"#, r#"{\"secret\":\"[redacted: secret]\",\"n\":1}"#),
        (r#"{\"secret\":\"a \\\"b\\\" c\"} x"#, r#"{\"secret\":\"[redacted: secret]\"} x"#),
        (r#""{\"secret\":\"a b" x"#, r#""{\"secret\":\"[redacted: secret]" x"#),
        ("token='a b\nc d'", "token='[redacted: token]\nc d'"),
        ("token=''a'' b", "token=''[redacted: token]'' b"),
        (r#"password: Some("a b") }"#, r#"password: [redacted: password]") }"#),
        ("password=b'a b' c", "password=[redacted: password]' c"),
        ("Authorization: Token abc123", "Authorization: [redacted: token]"),
        ("Authorization: AWS4 a=b, c=d\r\nx: y", "Authorization: [redacted: token]\r\nx: y"),
        (r#"-H "Authorization: Token abc 1" x"#, r#"-H "Authorization: [redacted: token]" x"#),
        (
            r#"{"authorization":"Bearer a, b","n":1}"#,
            r#"{"authorization":"Bearer [redacted: token]","n":1}"#,
        ),
        (r#"{"authorization":["read"],"n":1}"#, r#"{"authorization":["read"],"n":1}"#),
        (
            "ready authorization=disabled addr=127.0.0.1:8080 tools=12",
            "ready authorization=[redacted: token] addr=127.0.0.1:8080 tools=12",
        ),
        (
            "authorization=Bearer abc.def-123 tools=12",
            "authorization=Bearer [redacted: bearer token] tools=12",
        ),
        (r#"authorization="a b" tools=12"#, r#"authorization="[redacted: token]" tools=12"#),
        ("token='żó'", "token='[redacted: token]'"),
        (r#"token: string = "kX9vQ2mZ7pLw4RtY8sBn3HjF1";"#, r#"token: [redacted: token]";"#),
    ] {
        check(text, want);
        check(want, want);
    }
}

#[test]
fn other_words_are_left() {
    let screen = Screen::new(Vec::new(), ScreenOptions::for_logs());
    for text in [
        "",
        "no secrets here",
        r#"{"progressToken": 7, "tokens": 5}"#,
        "basic rules apply",
        "token_env = CI_KEY",
        r#"{"token": null}"#,
        "the token is missing",
        r#"unexpected token: "}" at line 3"#,
        "unexpected token: ',' at line 3",
        "żółć = ü",
        "a password=[redacted: password] stays",
        "Bearer [redacted: bearer token]",
        "Basic [redacted: basic credentials]",
        "Authorization: Bearer ${CF_KEY}",
        r#"set `headers = { Authorization = "Bearer ${KEY}" }` in its entry"#,
        r#"hint="set { Authorization = \"Bearer ${KEY}\" }""#,
        "token=${CI_TOKEN}, api_key=${env:API_KEY:-}",
        "set CF_API_KEY, or write a default: ${CF_API_KEY:-…}",
    ] {
        let got = screen.redact(text);
        assert!(matches!(got, Cow::Borrowed(same) if same == text), "{text} becomes {got}");
    }
}

/// A default may be a secret, and so may what is written beside a reference.
#[test]
fn a_reference_covers_only_itself() {
    let screen = Screen::new(Vec::new(), ScreenOptions::for_logs());
    for text in [
        "Authorization: Bearer hunter2",
        "Authorization: Bearer ${KEY}hunter2",
        "Authorization: Bearer ${KEY} hunter2",
        r#"Authorization = "Bearer ${KEY}, hunter2""#,
        r#"Authorization = "Bearer ${KEY:-hunter2}""#,
        "token=${TOKEN:-hunter2}",
    ] {
        let got = screen.redact(text);
        assert!(!got.contains("hunter2"), "{text} becomes {got}");
        assert_eq!(screen.redact(&got), got);
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
