//! Every form of secret is found, with the right kind, and redacted completely.
//!
//! The examples are assembled from parts, so that this file contains nothing that a scanner would report.

use crate::chance::{ALNUM, BASE36, Chance, HEX, UPPER, body};
use docent_screen::{Screen, ScreenOptions, SecretFinding};
use std::sync::LazyLock;

static SCREEN: LazyLock<Screen> = LazyLock::new(Screen::default);

/// Checks that exactly the secret between the two texts is found.
#[track_caller]
fn check(kind: &str, before: &str, secret: &str, after: &str) {
    let text = format!("{before}{secret}{after}");
    let found = SCREEN.find(&text);
    let [SecretFinding { kind: called, range }] = found.as_slice() else {
        panic!("{kind}: one finding in {text:?}, not {found:?}");
    };
    assert_eq!((*called, text.get(range.clone()).unwrap()), (kind, secret), "{text}");
    assert_eq!(SCREEN.redact(&text), format!("{before}[redacted: {kind}]{after}"));
}

/// Kind, prefix in two parts, characters of the rest, length of the rest.
const TOKENS: &[(&str, &str, &str, &str, usize)] = &[
    ("aws access key id", "AK", "IA", UPPER, 16),
    ("aws access key id", "AS", "IA", UPPER, 16),
    ("google api key", "AI", "za", ALNUM, 35),
    ("google oauth client secret", "GOC", "SPX-", ALNUM, 28),
    ("google oauth token", "ya", "29.", ALNUM, 80),
    ("google refresh token", "1/", "/0", ALNUM, 60),
    ("digitalocean token", "dop", "_v1_", HEX, 64),
    ("digitalocean token", "doo", "_v1_", HEX, 64),
    ("heroku api key", "HR", "KU-", ALNUM, 60),
    ("alibaba access key id", "LT", "AI", ALNUM, 20),
    ("tencent secret id", "AK", "ID", ALNUM, 32),
    ("fly.io token", "fo", "1_", ALNUM, 43),
    ("planetscale token", "psc", "ale_tkn_", ALNUM, 43),
    ("planetscale token", "psc", "ale_pw_", ALNUM, 43),
    ("supabase key", "sb", "p_", HEX, 40),
    ("supabase key", "sb_", "secret_", ALNUM, 31),
    ("tailscale key", "tsk", "ey-auth-", ALNUM, 40),
    ("github token", "gh", "p_", ALNUM, 36),
    ("github token", "gh", "o_", ALNUM, 36),
    ("github token", "gh", "u_", ALNUM, 36),
    ("github token", "gh", "s_", ALNUM, 36),
    ("github token", "gh", "r_", ALNUM, 76),
    ("github token", "github", "_pat_", ALNUM, 82),
    ("gitlab token", "gl", "pat-", ALNUM, 20),
    ("gitlab token", "gl", "dt-", ALNUM, 20),
    ("gitlab token", "gl", "rt-", ALNUM, 20),
    ("gitlab token", "gl", "ptt-", HEX, 40),
    ("bitbucket token", "AT", "BB", ALNUM, 32),
    ("atlassian token", "ATA", "TT3", ALNUM, 186),
    ("npm token", "np", "m_", ALNUM, 36),
    ("pypi token", "py", "pi-Ag", ALNUM, 150),
    ("rubygems key", "ruby", "gems_", HEX, 48),
    ("crate registry token", "ci", "o", ALNUM, 32),
    ("nuget key", "oy", "2", BASE36, 43),
    ("clojars token", "CLO", "JARS_", HEX, 60),
    ("docker token", "dckr", "_pat_", ALNUM, 27),
    ("artifactory key", "AK", "Cp", ALNUM, 69),
    ("circleci token", "CCI", "PAT_", ALNUM, 63),
    ("buildkite token", "bk", "ua_", HEX, 40),
    ("doppler token", "dp", ".pt.", ALNUM, 43),
    ("pulumi token", "pu", "l-", HEX, 40),
    ("vault token", "hv", "s.", ALNUM, 95),
    ("sourcegraph token", "sg", "p_", HEX, 40),
    ("databricks token", "da", "pi", HEX, 32),
    ("sentry token", "sn", "tryu_", HEX, 64),
    ("grafana token", "gl", "sa_", ALNUM, 41),
    ("new relic key", "NR", "AK-", UPPER, 27),
    ("dynatrace token", "dt0", "c01.", UPPER, 89),
    ("postman key", "PM", "AK-", HEX, 59),
    ("slack token", "xo", "xb-", ALNUM, 48),
    ("slack token", "xo", "xp-", ALNUM, 70),
    ("slack token", "xa", "pp-", ALNUM, 70),
    ("twilio key", "S", "K", HEX, 32),
    ("mailgun key", "ke", "y-", HEX, 32),
    ("stripe key", "sk", "_live_", ALNUM, 24),
    ("stripe key", "rk", "_live_", ALNUM, 24),
    ("stripe key", "sk", "_test_", ALNUM, 24),
    ("stripe webhook secret", "wh", "sec_", ALNUM, 32),
    ("shopify token", "sh", "pat_", HEX, 32),
    ("square token", "sq0", "atp-", ALNUM, 22),
    ("square token", "sq0", "csp-", ALNUM, 43),
    ("easypost key", "EZ", "AK", ALNUM, 54),
    ("shippo token", "ship", "po_live_", HEX, 40),
    ("flutterwave key", "FLW", "SECK-", HEX, 34),
    ("anthropic key", "sk-", "ant-", ALNUM, 95),
    ("openai key", "sk-", "proj-", ALNUM, 120),
    ("openai key", "s", "k-", ALNUM, 48),
    ("openrouter key", "sk-", "or-v1-", HEX, 64),
    ("hugging face token", "h", "f_", ALNUM, 34),
    ("groq key", "gs", "k_", ALNUM, 52),
    ("xai key", "xa", "i-", ALNUM, 80),
    ("perplexity key", "pp", "lx-", ALNUM, 48),
    ("replicate token", "r", "8_", ALNUM, 37),
    ("linear key", "lin", "_api_", ALNUM, 40),
    ("notion token", "nt", "n_", ALNUM, 46),
    ("notion token", "sec", "ret_", ALNUM, 43),
    ("figma token", "fi", "gd_", ALNUM, 40),
    ("typeform token", "tf", "p_", ALNUM, 44),
    ("contentful token", "CF", "PAT-", ALNUM, 43),
    ("dropbox token", "sl", ".B", ALNUM, 135),
    ("1password token", "ops", "_eyJ", ALNUM, 250),
    ("readme key", "rd", "me_", BASE36, 70),
    ("age secret key", "AGE-SECRET", "-KEY-1", UPPER, 58),
    ("fly.io token", "fm", "2_", ALNUM, 200),
    ("sentry token", "sn", "trys_eyJ", ALNUM, 100),
    ("grafana token", "gl", "c_eyJ", ALNUM, 80),
    ("cloudflare origin key", "v1", ".0-", HEX, 171),
];

#[test]
fn tokens_are_found_wherever_they_stand() {
    assert!(TOKENS.len() >= 80);
    for (kind, first, second, from, length) in TOKENS {
        let token = format!("{first}{second}{}", body(from, *length));
        for (before, after) in [
            ("", ""),
            ("curl -d ", " example"),
            ("x = \"", "\";"),
            ("a line\\n", "\\n and the next"),
            ("q%3D", "&b=1"),
            ("(`", "`), zażółć"),
            ("\u{1b}[32m", "\u{1b}[0m"),
            ("\u{1b}[1;38;2;255;0;128m", "\u{1b}[m"),
            ("wide 漢字 ", ", "),
        ] {
            check(kind, before, &token, after);
        }
        let short = token.get(..first.len() + second.len() + 8).unwrap();
        assert_eq!(SCREEN.find(short), [], "{kind}: the start of a token is a name");
        for name in ["my_", "my1m"] {
            let longer = format!("{name}{token}");
            assert_eq!(SCREEN.find(&longer), [], "{kind}: the end of a longer name");
        }
    }
}

#[test]
fn every_token_of_chance_is_found() {
    let mut chance = Chance::new(1);
    let mut missed = 0;
    for _ in 0..500 {
        let token = format!("{}{}", concat!("gh", "p_"), chance.text(ALNUM, 36));
        missed += usize::from(SCREEN.find(&token).len() != 1);
    }
    assert!(missed <= 2, "{missed} of 500 missed");
}

#[test]
fn forms_of_more_than_one_part_are_found() {
    let part = |length| body(ALNUM, length);
    let discord = format!("{}{}.aB3dE6.{}", concat!("MT", "E"), part(22), part(38));
    check("discord token", "client.run('", &discord, "')");
    check("telegram bot token", "bot ", &format!("{}:AA{}", body("123456789", 10), part(33)), "");
    check(
        "telegram bot token",
        "/bot",
        &format!("{}:AA{}", body("123456789", 9), part(33)),
        "/send",
    );
    check("sendgrid key", "", &format!("{}{}.{}", concat!("S", "G."), part(22), part(43)), "");
    check("mailchimp key", "", &format!("{}-us12", body(HEX, 32)), "");
    check(
        "brevo key",
        "",
        &format!("{}{}-{}", concat!("xkey", "sib-"), body(HEX, 64), part(16)),
        "",
    );
    check("terraform token", "token ", &format!("{}.atlasv1.{}", part(14), part(67)), "");
    check("azure storage key", "AccountName=a;AccountKey=", &format!("{}==", part(86)), ";End");
    check("azure access key", "SharedAccessKey=", &format!("{}=", part(43)), ";x");
    check("azure shared access signature", "&se=2027&sig=", &format!("{}%3D", part(43)), "&sp=r");
    check("azure client secret", "id ", &format!("aB38Q~{}", part(34)), "");
    let hook = format!("T{}/B{}/{}", body(UPPER, 8), body(UPPER, 10), part(24));
    check("slack webhook", concat!("https://hooks.slack", ".com/services/"), &hook, "");
    let hook = format!("{}/{}", body("123456789", 18), part(68));
    check("discord webhook", concat!("https://discord", ".com/api/webhooks/"), &hook, "");
    let hook = format!("webhookb2/{}/IncomingWebhook/{}", body(HEX, 72), body(HEX, 32));
    check("teams webhook", concat!("https://a.webhook.", "office.com/"), &hook, "");
    check("npm credential", "//host/:_authToken=", "3f9c1b7e-aaaa-4bbb-8ccc-0123456789ab", "\n");
    check("npm credential", "x=1\n_auth=", "dXNlcjpodW50ZXIy", "\n");
    check("netrc password", "machine host login me password ", "hunter2", "\n");
    check("netrc password", "machine host\n  login me\n  password ", "letmein9", "\n");
}

fn base64url(text: &str) -> String {
    use base64::Engine;
    base64::prelude::BASE64_URL_SAFE_NO_PAD.encode(text)
}

#[test]
fn signed_tokens_are_known_by_their_header() {
    let claims = base64url(r#"{"sub":"42","name":"A Person"}"#);
    for header in [r#"{"alg":"HS256","typ":"JWT"}"#, r#"{"typ":"JWT","alg":"none"}"#] {
        let jwt = format!("{}.{claims}.{}", base64url(header), body(ALNUM, 43));
        check("jwt", "cookie: s=", &jwt, "; Path=/");
        check("jwt", "(\"", &jwt, "\")");
        check("jwt", "\\n", &jwt, ".");
    }
    for header in [r#"{"a":1}"#, r#"{"version":3,"sources":[]}"#] {
        let text = format!("{}.{claims}.{}", base64url(header), body(ALNUM, 43));
        assert_eq!(SCREEN.find(&text), [], "no header of a token: {header}");
    }
}

#[test]
fn key_blocks_go_as_a_whole() {
    let line = body(ALNUM, 64);
    for label in [
        "RSA PRIVATE KEY",
        "PRIVATE KEY",
        "EC PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "ENCRYPTED PRIVATE KEY",
        "DSA PRIVATE KEY",
        "PGP PRIVATE KEY BLOCK",
    ] {
        let (begin, end) = (format!("-----BEGIN {label}-----"), format!("-----END {label}-----"));
        check(
            "private key",
            "key:\n",
            &format!("{begin}\n{line}\n{line}\nAb12==\n{end}"),
            "\nafter",
        );
        check(
            "private key",
            "\"private_key\": \"",
            &format!("{begin}\\n{line}\\n{line}\\n{end}"),
            "\\n\"",
        );
        check("private key", "  ", &format!("{begin}\r\n  {line}\r\n  {line}\r\n  {end}"), "\r\n");
        // Cut before its end, whatever follows.
        for after in ["", "\n-----BEGIN CERTIFICATE-----", "\n\n-----\n# Next", "\n-----END PRI"] {
            check("private key", "", &format!("{begin}\n{line}\n{line}"), after);
        }
        for code in [
            format!("if text.startswith('{begin}') and '{end}' in text:"),
            format!("{begin}\n...\n{end}"),
            format!("{begin}\n<your key here>\n{end}"),
        ] {
            assert_eq!(SCREEN.find(&code), [], "{code}");
        }
    }
    let public = format!("-----BEGIN PUBLIC KEY-----\n{line}\n-----END PUBLIC KEY-----");
    assert_eq!(SCREEN.find(&public), []);
    let putty = format!("\n{line}\n{line}");
    check("private key", "Private-Lines: 2", &putty, "\nPrivate-MAC: 0a");
}

#[test]
fn passwords_in_urls_go_and_the_rest_stays() {
    for scheme in [
        "https",
        "postgres",
        "postgresql+psycopg2",
        "mysql",
        "mongodb+srv",
        "redis",
        "amqp",
        "ftp",
        "ssh",
        "smtp",
        "ldap",
        "jdbc:oracle",
    ] {
        check("password in a url", &format!("{scheme}://me:"), "hunter2", "@db.internal:5432/app");
    }
    check("password in a url", "redis://:", "s3cr3tz", "@cache");
    check("password in a url", "postgres://app:", "x7(Kq!p9zL", "@db.corp/x");
    check("password in a url", "postgres://app:", "$Zk9x7qLm", "@db.corp/x");
    check("password in a url", "postgres://app:", "Secret2024*", "@db.corp/x");
    check("password in a url", "postgres://app:", "żółć", "@db.corp/x");
    check("password in a url", "x 'https://a.b:", "p@ss1", "@host' y");
}

#[test]
fn credentials_of_http_go() {
    use base64::Engine;
    let encode = |text: &str| base64::prelude::BASE64_STANDARD.encode(text);
    check("bearer token", "Authorization: Bearer ", &body(ALNUM, 40), "\r\n");
    check("bearer token", "-H 'authorization: bearer ", &body(HEX, 32), "'");
    check("bearer token", "Bearer ${KEY}, then Bearer ", &body(ALNUM, 40), "\n");
    check("bot token", "Authorization: Bot ", &body(ALNUM, 59), "");
    check("bot token", "'Authorization': 'Token ", &body(HEX, 40), "'");
    check("basic credentials", "Authorization: Basic ", &encode("me:hunter2"), "\n");
    check("basic credentials", "\"Basic ", &encode("żółw:hasło"), "\"");
    check(
        "docker credentials",
        "{\"auths\":{\"host\":{\"auth\": \"",
        &encode("me:hunter2"),
        "\"}}}",
    );
}

#[test]
fn values_of_telling_names_go() {
    let (long, longer, hex) = (body(ALNUM, 40), body(ALNUM, 400), body(HEX, 32));
    for (kind, before, secret, after) in [
        ("password", "password = \"", "hunter2", "\""),
        ("password", "password='", "correct-horse9", "'"),
        ("password", "DB_PASSWORD=", "hunter2x", "\n"),
        ("password", "export PGPASSWORD=", "hunter2x", "\n"),
        ("password", "    password: \"", "P@ssw0rd!", "\""),
        ("password", "password: ", "Tr0ub4dor!3", "\n"),
        ("password", "password: ", "Winter2026", "\n"),
        ("password", "\"dbPassword\": \"", "hunter2!", "\","),
        ("password", "config['password'] = '", "s3kr1t-x", "'"),
        ("password", "{\\\"password\\\": \\\"", "hunter2", "\\\"}"),
        ("password", "<password>", "hunter2", "</password>"),
        ("password", "const PASSWORD: &str = \"", "hunter2", "\";"),
        ("password", "password: str = '", "hunter2", "'"),
        ("password", "let passwd: string = `", "hunter2", "`"),
        ("password", "char passwd[] = \"", "hunter2", "\";"),
        ("password", "'password' => '", "hunter2", "',"),
        ("password", "define('DB_PASSWORD', '", "hunter2", "');"),
        ("password", "password := \"", "hunter2", "\""),
        ("password", "mysql --password=", "hunter2x", " db"),
        ("password", "tool --password ", "P4ssw0rd!x", "\n"),
        ("password", "spring.datasource.password=", "hunter2x", "\n"),
        ("password", "passphrase = b\"", "hunter2", "\""),
        ("password", "?user=a&password=", "hunter2x", "&x=1"),
        // Words and signs that also occur in templates.
        ("password", "password = \"", "MySecretP@ss99!", "\""),
        ("password", "password: \"", "Password2024!", "\""),
        ("password", "password = '", "TodoList2024!", "'"),
        ("password", "password = \"", "example.9!Kx", "\""),
        ("password", "DB_PASSWORD=", "$uper5ecr3t!x", "\n"),
        ("password", "DB_PASSWORD=", "Pa$$w0rd9", "\n"),
        ("password", "password = \"", "x7(Kq!p9zL", "\""),
        ("password", "password = \"", "q}9!x{Lm7", "\""),
        ("password", "password: '", "x[7Kq!p9", "'"),
        ("password", "password = \"", "7.Kx9!qLm", "\""),
        ("password", "password = \"", "Pässw0rt2024!", "\""),
        ("password", "DB_PASSWORD='", "żółw2026", "'"),
        // Machine-generated: padded, long, with any signs.
        ("password", "data:\n  password: ", "aHVudGVyMiF4OQ==", "\n"),
        ("password", "password = \"", "aHVudGVyMiF4OQ==", "\""),
        ("password", "DB_PASSWORD=", "aHVudGVyMiF4OQ==", "\n"),
        ("password", "password: ", longer.as_str(), "\n"),
        ("password", "password = '", "x7|Kq!p9zL", "'"),
        // A name that is itself a value.
        ("password", "- name: DB_PASSWORD\n  value: \"", "hunter2!x9Zq", "\"\n"),
        ("password", "  - name: \"DB_PASSWORD\"\n    value: ", "hunter2!x9Zq", "\n"),
        ("password", "key: POSTGRES_PASSWORD\r\nvalue: '", "hunter2x", "'\r\n"),
        ("password", "{\"name\": \"dbPassword\", \"default\": \"", "hunter2!", "\"}, {"),
        ("password", "<property name=\"password\" value=\"", "hunter2", "\"/>"),
        ("api key", "- name: STRIPE_API_KEY\n  value: ", hex.as_str(), "\n"),
        ("aws secret key", "aws_secret_access_key = ", long.as_str(), "\n"),
        ("aws secret key", "AWS_SECRET_ACCESS_KEY=", long.as_str(), "\n"),
        ("aws secret key", "secretAccessKey: '", long.as_str(), "'"),
        ("heroku api key", "HEROKU_API_KEY=", "3f9c1b7e-1a2b-4bbb-8ccc-0d9f27a6e4c1", "\n"),
        ("api key", "api_key = \"", hex.as_str(), "\""),
        ("api key", "X-Api-Key: ", hex.as_str(), "\r\n"),
        ("api key", "https://host/x?apikey=", hex.as_str(), "&y=2"),
        ("token", "\"access_token\": \"", long.as_str(), "\""),
        ("token", "DISCORD_TOKEN=", long.as_str(), "\n"),
        ("token", "token: ", long.as_str(), "\n"),
        ("token", "refreshToken = '", long.as_str(), "'"),
        ("secret", "client_secret=", hex.as_str(), "\n"),
        ("secret", "SECRET_KEY = '", long.as_str(), "'"),
        ("secret", "jwtSecret: \"", hex.as_str(), "\""),
        ("secret", "secret_key_base: ", hex.as_str(), "\n"),
        ("secret", "privateKey = \"", hex.as_str(), "\""),
        ("credentials", "credentials = '", long.as_str(), "'"),
        ("high-entropy value", "key = \"", long.as_str(), "\""),
        ("high-entropy value", "TEEM_KEY = '", long.as_str(), "'"),
        ("high-entropy value", "oauth_signature=\"", long.as_str(), "\""),
    ] {
        check(kind, before, secret, after);
    }
}

#[test]
fn configured_secrets_go_in_every_spelling() {
    let screen = Screen::new(
        vec![
            "plain words".into(),
            "abcd".into(),
            "abcd-efgh".into(),
            "a\"b\\c".into(),
            "p@ss/1".into(),
            "abc".into(),
            String::new(),
        ],
        ScreenOptions::default(),
    );
    for (text, want) in [
        ("x plain words y", "x [redacted: configured secret] y"),
        ("xabcdy", "x[redacted: configured secret]y"),
        ("abcd-efgh", "[redacted: configured secret]"),
        (r#"{"k":"a\"b\\c"}"#, r#"{"k":"[redacted: configured secret]"}"#),
        ("?q=p%40ss%2F1&", "?q=[redacted: configured secret]&"),
        ("abc is too short", "abc is too short"),
        ("abcdabcd", "[redacted: configured secret][redacted: configured secret]"),
    ] {
        assert_eq!(screen.redact(text), want);
    }
    assert!(!format!("{screen:?}").contains("abcd"), "{screen:?}");
    let bearer = Screen::new(vec!["own-key-of-docent".into()], ScreenOptions::default());
    assert_eq!(bearer.redact("api_key=own-key-of-docent"), "api_key=[redacted: configured secret]");
}

#[test]
fn a_redacted_text_is_left_as_it_is() {
    for (kind, first, second, from, length) in TOKENS {
        let text = format!("password = \"{first}{second}{}\" # {kind}", body(from, *length));
        let once = SCREEN.redact(&text).into_owned();
        assert!(once.contains("[redacted: "), "{text}");
        assert_eq!(SCREEN.redact(&once), once);
    }
}

#[test]
fn a_token_right_behind_a_known_secret_is_a_token() {
    // One of them is a word in every marker, and is ignored there.
    let known = ["s3cr3t of mine", "configured"].map(str::to_owned);
    let screen = Screen::new(known.into(), ScreenOptions::default());
    let token = format!("{}{}", concat!("gh", "p_"), body(ALNUM, 36));
    assert_eq!(
        screen.redact(&format!("s3cr3t of mine{token}")),
        "[redacted: configured secret][redacted: github token]"
    );
    let credentials = concat!("dXNlcjpw", "YXNzd29y");
    assert_eq!(
        screen.redact(&format!("{{\"auth\": \"{credentials}s3cr3t of mine;\n(=\"")),
        "{\"auth\": \"[redacted: docker credentials][redacted: configured secret];\n(=\""
    );
}

#[test]
fn a_name_right_behind_a_known_secret_is_a_name() {
    let screen = Screen::new(vec!["s3cr3t of mine".to_owned()], ScreenOptions::for_logs());
    let redacted = screen.redact(r#"{"s3cr3t of minetoken=Zk3Ln9qXw"}"#);
    assert!(!redacted.contains("Zk3Ln9qXw"), "{redacted}");
    assert_eq!(screen.redact(&redacted), redacted);
}
