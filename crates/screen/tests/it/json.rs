//! Strings and keys of JSON are screened at any depth.

use crate::chance::{ALNUM, body};
use docent_screen::{KeepMember, Screen, visible_json, visible_json_but};
use serde_json::{Map, Value, json};

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
    let long = body(ALNUM, 40);
    check(
        json!({"password": "letmein", "Token": &long, "secret": &long, "apiKey": &long, "user": "me"}),
        &json!({"password": "[redacted: password]", "Token": "[redacted: token]", "secret": "[redacted: secret]",
            "apiKey": "[redacted: api key]", "user": "me"}),
        4,
    );
    check(
        json!({"password": ["one", "two"], "tokens": [&long], "accessToken": [&long]}),
        &json!({"password": ["[redacted: password]", "[redacted: password]"], "tokens": [&long],
            "accessToken": ["[redacted: token]"]}),
        3,
    );
    check(
        json!([{"name": "DB_PASSWORD", "value": "hunter2!x9Zq"}, {"default": "swordfish", "Key": "password"}]),
        &json!([{"name": "DB_PASSWORD", "value": "[redacted: password]"},
            {"default": "[redacted: password]", "Key": "password"}]),
        2,
    );
    // A field of a form, not the text of a button.
    check(
        json!({"confirmPassword": "hunter2", "newPassword": "swordfish", "resetPassword": "hunter2",
            "exchangePassword": "swordfish", "RESET_DB_PASSWORD": "swordfish", "currentPassword": "Show-me!"}),
        &json!({"confirmPassword": "[redacted: password]", "newPassword": "[redacted: password]",
            "resetPassword": "[redacted: password]", "exchangePassword": "[redacted: password]",
            "RESET_DB_PASSWORD": "[redacted: password]", "currentPassword": "[redacted: password]"}),
        6,
    );
    let mut value = json!({"z": 1, (token.clone()): 2, (format!("{token}a")): 3, "a": 4});
    assert_eq!(Screen::default().redact_json(&mut value), 2);
    assert_eq!(value.to_string(), format!(r#"{{"z":1,"{gone}":2,"{gone} 2":3,"a":4}}"#));
}

/// Checks that only this is redacted, in data and in the text of the same document.
#[test]
fn a_password_may_be_padded_long_foreign_and_of_any_sign() {
    let screen = Screen::default();
    let long = format!("{}/{}+{}", body(ALNUM, 60), body(ALNUM, 61), body(ALNUM, 1500));
    for password in [
        "aHVudGVyMiF4OQ==",
        "c3dvcmRmaXNo=",
        "c3dvcmRmaXNoCg==",
        "/2Zk9x7qLm4Rt8sB==",
        &long,
        &format!("{long}=="),
        "Pässw0rt2024!",
        "żółw7",
        "Пароль123!",
        "hunter2£9",
        "x7|Kq!p9zL",
        "x7<Kq!p9zL",
        "x7>Kq!p9zL",
        "x7\\Kq!p9zL",
        "x7'Kq!p9zL",
        "x7\"Kq!p9zL",
        "x7`Kq!p9zL",
    ] {
        let value = json!({"kind": "Secret", "data": {"password": password}});
        let want = json!({"kind": "Secret", "data": {"password": "[redacted: password]"}});
        check(value.clone(), &want, 1);
        assert_eq!(screen.redact(&value.to_string()), want.to_string(), "the same JSON as text");
    }
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
        json!({"tokens": [{"token": "the"}, {"token": "cat"}], "credentials": "none needed, ask ops"}),
        json!({"syncToken": "CAFE", "authorization": ["read", "write"], "secret": "no"}),
        json!({"password": "Passwort", "passwordHint": "a word", "dbPassword": "Enter your password"}),
        json!({"dependencies": {"pbkdf2-password": "^1.2.1"}, "password": "sha256:0a1b2c3d4e5f"}),
        json!({"password": "Contraseña", "dbPassword": "Пароль", "newPassword": "Passwört*"}),
        json!({"password": "密码长度为6到20位", "newPassword": "パスワード8文字以上", "pwd": "••••••1"}),
        json!({"password": "required|min:8|max:72", "newPassword": "^[A-Z\\\\d@$!%*?&]{8,}x9$"}),
        json!({"password": "/run/secrets/db1", "newPassword": "op://vault/x9Kq2Zp", "pwd": "<b>1</b>"}),
        json!({"password": "https://bücher.example/x1", "newPassword": "varchar(255)"}),
        json!({"showPassword": "Show", "hide_password": "Hide", "resetPassword": "Reset", "forgotPassword": "Forgot?"}),
        json!({"confirmPassword": "Confirm", "newPassword": "New", "auth.forgotPassword": "Vergessen?"}),
        json!({"showpassword": "Afficher", "toggle-password": "Umschalten", "btnShowPwd": "Mostra!"}),
        json!({"dependencies": {"generate-password": "latest", "hash-password": "next"}}),
        json!({"dependencies": {"generate-password": "1.7.0-rc.1", "pbkdf2-password": "^2.0.0-beta"}}),
        json!({"password": "varchar", "newPassword": "String!", "pwd": "[String!]!", "userPassword": "Required!"}),
        json!([{"name": "password", "value": "Password"}, {"name": "token", "default": "the"}]),
        json!([{"name": "password", "type": "string"}, {"name": "colour", "value": "x7(Kq!p9zL"}]),
    ] {
        check(value.clone(), &value, 0);
        let text = serde_json::to_string_pretty(&value).unwrap();
        assert_eq!(Screen::default().redact(&text), text, "the same JSON as text");
    }
}

/// A document is screened like its data, and keeps its formatting.
#[test]
fn a_text_that_is_json_is_judged_as_json() {
    let long = body(ALNUM, 40);
    let text = format!(
        " {{\n\t\"password\" : \"swordfish\",\n  \"a\":[ {{\"token\": \"the\"}} ],\"n\": 1.50,\n\
         \"passwords\": {{\"p\\u0061ssword\": [\"one\", \"say \\\"two\\\"\"]}},\n\
         \"env\": [{{\"value\": \"hunter\", \"type\": \"x\", \"name\": \"DB_PASSWORD\"}}],\n\
         \"syncToken\": \"{long}\"}}\r\n"
    );
    let want = text
        .replace("swordfish", "[redacted: password]")
        .replace("\"one\"", "\"[redacted: password]\"")
        .replace("\"hunter\"", "\"[redacted: password]\"")
        .replace(&long, "[redacted: token]");
    let screen = Screen::default();
    assert_eq!(screen.redact(&text), want);
    assert_eq!(screen.redact(&want), want);
    let mut value: Value = serde_json::from_str(&text).unwrap();
    screen.redact_json(&mut value);
    assert_eq!(value, serde_json::from_str::<Value>(&want).unwrap(), "data and text agree");
    for fragment in [
        "{\"password\": \"swordfish\"}, {}",
        "x {\"password\": \"swordfish\"}",
        "{\"password\": \"swordfish\"",
    ] {
        assert_eq!(screen.redact(fragment), fragment, "code has words there");
    }
}

/// Any of the names may indicate a secret, in any position.
#[test]
fn every_name_of_a_value_counts() {
    let screen = Screen::default();
    let long = body(ALNUM, 40);
    for (text, secret) in [
        (r#"{"name":"prod","key":"DB_PASSWORD","value":"swordfish"}"#, "swordfish"),
        (r#"{"key":"DB_PASSWORD","name":"prod","value":"swordfish"}"#, "swordfish"),
        (r#"{"value":"swordfish","Name":"DB_PASSWORD","key":"prod"}"#, "swordfish"),
        (r#"{"default":"swordfish","key":"apiKey","name":"password"}"#, "swordfish"),
        (r#"{"key":"password","value":"swordfish","name":"syncToken"}"#, "swordfish"),
        (r#"{"name":1,"key":"p\u0061ssword","value":"swordfish"}"#, "swordfish"),
        (r#"{"name":"DB_PASSWORD","value":["swordfish",{"a":"b"}]}"#, "swordfish"),
        (r#"{"value":[["swordfish"],"the password"],"name":"DB_PASSWORD"}"#, "swordfish"),
        (r#"{"password":{"value":"swordfish","type":"text"}}"#, "swordfish"),
        (r#"{"password":[{"default":["swordfish"]}]}"#, "swordfish"),
        (r#"{"password":{"name":"syncToken","value":"swordfish"}}"#, "swordfish"),
        (&format!(r#"{{"name":"prod","key":"API_KEY","value":"{long}"}}"#), &long),
    ] {
        let kind = if secret == long { "api key" } else { "password" };
        let want = text.replace(secret, &format!("[redacted: {kind}]"));
        assert_eq!(screen.redact(text), want);
        let mut value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(screen.redact_json(&mut value), 1, "{text}");
        assert_eq!(value, serde_json::from_str::<Value>(&want).unwrap(), "data and text agree");
    }
    let text = r#"{"name":"keys","value":["kX9vQ2mZ7pLw4RtY8sBn3HjF1"],"key":"colour"}"#;
    check(serde_json::from_str(text).unwrap(), &serde_json::from_str(text).unwrap(), 0);
    assert_eq!(screen.redact(text), text, "keys come in lists of other kinds");
    let text = r#"{"password":{"type":"string","fields":{"value":"swordfish"}}}"#;
    assert_eq!(screen.redact(text), text, "only the nearest key names a value");
}

#[test]
fn what_must_stay_stays() {
    let token = format!("{}{}", concat!("gh", "p_"), body(ALNUM, 36));
    let raw =
        json!({"id": &token, "names": {(&token): "\u{202e}"}, "text": &token, "odd\u{202e}": 1});
    let stays = |_: &Map<String, Value>, name: &str| match name {
        "id" => KeepMember::Whole,
        "names" => KeepMember::Names,
        _ => KeepMember::Nothing,
    };
    let mut value = raw.clone();
    assert_eq!(Screen::default().redact_json_but(&mut value, stays), 1);
    assert_eq!(visible_json_but(&mut value, stays), 2);
    let gone = "[redacted: github token]";
    assert_eq!(
        value,
        json!({"id": &token, "names": {(&token): "<U+202E>"}, "text": gone, "odd<U+202E>": 1})
    );
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
    // Dropping a value recurses, so the test takes it apart instead.
    while let Value::Array(mut items) = deep {
        deep = items.pop().unwrap();
    }
    let screen = Screen::new(vec!["same".into()], docent_screen::ScreenOptions::default());
    let mut wide: Value = (0..3000)
        .map(|n| ("\u{200b}".repeat(n % 7) + "same" + &"x".repeat(n), json!(n)))
        .collect::<Map<_, _>>()
        .into();
    assert_eq!(screen.redact_json(&mut wide), 3000);
    assert_eq!(wide.as_object().unwrap().len(), 3000);
}
