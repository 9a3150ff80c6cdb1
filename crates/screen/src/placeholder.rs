//! Detects placeholders for secrets: words such as `changeme`, and templates such as `${VAR}`.
//!
//! A password may contain any word and any sign, so a word counts only if it is nearly the whole value, and a sign only
//! as part of a template.

use crate::value::reads_as_words;

/// Placeholder words, in lower case, without `_` and `-`.
const PLACEHOLDER_WORDS: [&str; 24] = [
    "changeme",
    "changeit",
    "example",
    "sample",
    "placeholder",
    "redacted",
    "yourpass",
    "mypass",
    "password",
    "passwd",
    "passphrase",
    "secret",
    "dummy",
    "insert",
    "replace",
    "todo",
    "hidden",
    "removed",
    "censored",
    "masked",
    "lorem",
    "deadbeef",
    "undefined",
    "notareal",
];

/// Words that count only together with those.
const FILLER_WORDS: [&str; 42] = [
    "your", "my", "the", "here", "this", "some", "test", "user", "username", "db", "database",
    "admin", "root", "api", "app", "key", "token", "auth", "access", "client", "service",
    "account", "value", "string", "new", "old", "super", "very", "top", "not", "strong", "secure",
    "please", "put", "enter", "goes", "fake", "demo", "default", "jwt", "private", "with",
];

/// Words that don't occur in random text, however long.
const UNAMBIGUOUS_WORDS: [&str; 10] = [
    "example",
    "placeholder",
    "redacted",
    "yourtoken",
    "yourkey",
    "yourapi",
    "yoursecret",
    "changeme",
    "dummy",
    "notareal",
];
/// From this length on, a value is not a password chosen by a person.
const MIN_UNAMBIGUOUS_BYTES: usize = 20;

/// Labels and messages of forms for passwords, in languages that write them in ASCII, and types of schemas.
const FORM_LABELS: [&str; 66] = [
    "pass",
    "pwd",
    "foo",
    "bar",
    "passwort",
    "kennwort",
    "wachtwoord",
    "parola",
    "contrasena",
    "contrasenya",
    "senha",
    "salasana",
    "heslo",
    "haslo",
    "lozinka",
    "geslo",
    "parole",
    "adgangskode",
    "passord",
    "pasahitza",
    "sandi",
    "katasandi",
    "sifre",
    "parool",
    "yes",
    "no",
    "on",
    "off",
    "enabled",
    "disabled",
    "encrypted",
    "hashed",
    "set",
    "unset",
    "missing",
    "invalid",
    "valid",
    "wrong",
    "weak",
    "expired",
    "input",
    "field",
    "prompt",
    "plain",
    "show",
    "hide",
    "reset",
    "forgot",
    "forgotten",
    "change",
    "confirm",
    "repeat",
    "toggle",
    "update",
    "create",
    "enter",
    "save",
    "new",
    "old",
    "current",
    "latest",
    "next",
    "char",
    "varchar",
    "nvarchar",
    "sensitive",
];

/// Values that are a type, a literal or empty, and never a secret.
const EMPTY_VALUES: [&str; 22] = [
    "null",
    "none",
    "nil",
    "true",
    "false",
    "undefined",
    "string",
    "str",
    "text",
    "bytes",
    "any",
    "int",
    "number",
    "boolean",
    "bool",
    "object",
    "optional",
    "required",
    "void",
    "unknown",
    "default",
    "empty",
];

/// Returns the letters and digits, in lower case.
fn plain(value: &str) -> String {
    let kept = value.chars().filter(char::is_ascii_alphanumeric);
    kept.map(|c| c.to_ascii_lowercase()).collect()
}

/// Whether it is a word for "nothing" or a type.
fn is_nothing(value: &str) -> bool {
    // A type may have a nullability mark: `String!`.
    let value = value.trim().trim_end_matches(['!', '?']);
    value.is_empty() || EMPTY_VALUES.iter().any(|word| value.eq_ignore_ascii_case(word))
}

/// Whether it is a text of a form or an error about a password.
pub(crate) fn is_label(value: &str) -> bool {
    FORM_LABELS.contains(&plain(value).as_str())
}

/// Whether it is a placeholder for a secret: `changeme`, `<password>`, `${VAR}`, `xxxx`, `%s`, `...`.
pub(crate) fn is_placeholder(value: &str) -> bool {
    is_nothing(value)
        || value.contains("...")
        || value.contains('…')
        || has_run(value)
        || is_template(value)
        || is_sample(value)
}

/// Whether it consists almost entirely of placeholder words.
fn is_sample(value: &str) -> bool {
    let plain = plain(value);
    if (plain.is_empty() && value.is_ascii())
        || (value.len() >= MIN_UNAMBIGUOUS_BYTES
            && UNAMBIGUOUS_WORDS.iter().any(|word| plain.contains(word)))
    {
        return true;
    }
    let mut covered = vec![false; plain.len()];
    let mut cover = |from: usize, length: usize| {
        covered.iter_mut().skip(from).take(length).for_each(|covered| *covered = true);
    };
    let mut named = false;
    for word in PLACEHOLDER_WORDS {
        for (from, _) in plain.match_indices(word) {
            cover(from, word.len());
            named = true;
        }
    }
    for word in FILLER_WORDS {
        plain.match_indices(word).for_each(|(from, _)| cover(from, word.len()));
    }
    for (from, length) in ascents(plain.as_bytes()) {
        cover(from, length);
        named |= length >= 8;
    }
    let rest = covered.iter().filter(|covered| !**covered).count();
    (named && (rest <= 2 || rest * 5 <= plain.len())) || is_phrase(value)
}

/// Finds runs such as `1234` and `abcd`, with start and length.
fn ascents(plain: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut from = 0;
    for at in 1..=plain.len() {
        let goes_on = plain
            .get(at)
            .zip(plain.get(at - 1))
            .is_some_and(|(next, last)| *next == last + 1 || (*last == b'9' && *next == b'0'));
        if !goes_on {
            if at - from >= 3 {
                found.push((from, at - from));
            }
            from = at;
        }
    }
    found
}

/// Whether it is words with separators, one of which is like `password`: `airflow_password`, `my-app-secret-v2`.
fn is_phrase(value: &str) -> bool {
    let parts: Vec<&str> = value.split(['-', '_', '.', ' ']).collect();
    let is_word = |part: &&str| {
        let digits = part.bytes().rev().take_while(u8::is_ascii_digit).count();
        let letters = part.len() - digits;
        digits <= 2 && part.bytes().take(letters).all(|byte| byte.is_ascii_alphabetic())
    };
    let says = |part: &&str| {
        ["password", "passwd", "passphrase", "secret", "example", "placeholder"]
            .iter()
            .any(|word| part.eq_ignore_ascii_case(word))
    };
    parts.len() > 1 && parts.iter().all(is_word) && parts.iter().any(says)
}

/// Whether a character occurs five times in a row.
pub(crate) fn has_run(value: &str) -> bool {
    value.as_bytes().windows(5).any(|run| run.iter().all(|byte| run.first() == Some(byte)))
}

/// Whether it is a template or an expression: `${VAR}`, `<token>`, `%s`, `{{ x }}`, `$NAME`, `getenv("X")`.
pub(crate) fn is_template(value: &str) -> bool {
    let value = value.trim();
    let within = |open: char, close: char| value.starts_with(open) && value.ends_with(close);
    within('<', '>')
        || within('[', ']')
        || within('{', '}')
        || ["${", "$(", "{{", "<%", "%(", "#{", "%s", "@{"].iter().any(|mark| value.contains(mark))
        || holds_name(value, '{', '}')
        || holds_name(value, '<', '>')
        || holds_argument(value)
        || is_variable(value)
        || is_call(value)
        || value
            .strip_prefix(['%', '*'])
            .is_some_and(|name| is_name(name.trim_end_matches(['%', '*'])) && !is_leet(name))
}

/// Returns the length of the reference to a variable that the text begins with, or 0. A default is part of it only where
/// it is left open, because it may be a secret: `${VAR}`, `${env:VAR}`, `${VAR:-}`, `${VAR:-…}`.
pub(crate) fn reference_length(text: &str) -> usize {
    let inside = text.strip_prefix("${").and_then(|rest| rest.split_once('}'));
    let Some((inside, _)) = inside else { return 0 };
    let (name, default) = inside.split_once(":-").unwrap_or((inside, ""));
    let name = name.strip_prefix("env:").unwrap_or(name);
    let is_named = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let is_reference = is_named && matches!(default, "" | "…" | "...");
    if is_reference { "${}".len() + inside.len() } else { 0 }
}

fn is_name(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte))
}

/// Whether digits precede letters more than once, unlike in names: `uper5ecr3t`.
fn is_leet(value: &str) -> bool {
    let between = |pair: &&[u8]| matches!(pair, [first, second] if first.is_ascii_digit() && second.is_ascii_alphabetic());
    value.as_bytes().windows(2).filter(between).count() >= 2
}

/// Whether it contains a name in braces: `{password}`, `{0}`, `{}`.
fn holds_name(value: &str, open: char, close: char) -> bool {
    value.split(open).skip(1).any(|rest| {
        let inside = rest.split_once(close).map(|(inside, _)| inside);
        inside.is_some_and(|inside| {
            inside.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.:!- ".contains(&byte))
        })
    })
}

/// Whether it consists of shell variables: `$PASSWORD`, `$user:$pass`, `$1`, and `$$PASSWORD` as escaped for make or
/// compose.
fn is_variable(value: &str) -> bool {
    if !value.starts_with('$') || is_leet(value) {
        return false;
    }
    let signs = |c: char| "_.:/@-".contains(c);
    // After two signs, digits and lower-case letters are more likely a password: `$$ecret99`.
    let doubled = value.contains("$$");
    let is_chosen = |part: &str| has_digit(part) && part.contains(|c: char| c.is_ascii_lowercase());
    let is_named = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || signs(c))
            && !(doubled && is_chosen(part))
    };
    let is_numbered = |part: &str| {
        let number = part.trim_end_matches(signs);
        (1..=2).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    value.replace("$$", "$").split('$').skip(1).all(|part| is_named(part) || is_numbered(part))
}

/// Whether it contains a numbered argument of printf: `%2$s`. Two digits would be a percent-encoded character: `%40$s`.
fn holds_argument(value: &str) -> bool {
    let is_numbered = |rest: &str| matches!(rest.as_bytes(), [b'1'..=b'9', b'$', b's' | b'd', ..]);
    value.split('%').skip(1).any(is_numbered)
}

/// Whether it is quoted code: `getenv("X")`, `settings[0]`.
fn is_call(value: &str) -> bool {
    let opens = value.find(['(', '[']).filter(|at| *at > 0);
    let closes = value.trim_end_matches(';').ends_with([')', ']']);
    opens
        .and_then(|at| value.get(..at))
        .is_some_and(|name| closes && is_name(name) && (reads_as_words(name) || !has_digit(name)))
}

fn has_digit(name: &str) -> bool {
    name.bytes().any(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_counts_where_it_is_nearly_all() {
        for sample in [
            "changeme",
            "your-password-1",
            "YOUR_PASSWORD_HERE",
            "mysecretpassword",
            "password123",
            "insert-your-key-123456",
            "example-token-1234567890",
            "0123456789abcdef",
            "Secret1!",
            "airflow_password",
            "sk-1234567890",
            "my-super-secret-jwt-token-with-some-words",
            "***",
            "todo",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        ] {
            assert!(is_placeholder(sample), "{sample}");
        }
        for chosen in [
            "MySecretP@ss99!",
            "Password2024!",
            "Winter2026",
            "hunter2",
            "TodoList2024!",
            "correct-horse9",
            "SecretGarden77!",
            "secret-9f8a7b6c5d4e",
            "abcd1234",
        ] {
            assert!(!is_placeholder(chosen), "{chosen}");
        }
    }

    #[test]
    fn a_reference_has_no_default_of_its_own() {
        for (text, length) in [
            ("${VAR}", 6),
            ("${VAR}x", 6),
            ("${env:VAR} x", 10),
            ("${VAR:-}", 8),
            ("${VAR:-…}", "${VAR:-…}".len()),
            ("${VAR:-x}", 0),
            ("${a b}", 0),
            ("${9x}", 0),
            ("${}", 0),
            ("${VAR", 0),
            ("$VAR", 0),
        ] {
            assert_eq!(reference_length(text), length, "{text}");
        }
    }

    #[test]
    fn a_sign_counts_as_part_of_a_template() {
        for template in [
            "${VAR}",
            "${VAR:-x}",
            "$(cat x)",
            "$VAR",
            "$db_password2",
            "$user:$pass",
            "$env:DB_PASS",
            "$1",
            "$1:$2",
            "$$1",
            "$$PGPASS",
            "$$DB_PASS1",
            "$$user:$$pass",
            "%2$s",
            "x-%1$d",
            "{{ x }}",
            "{password}",
            "a-{}-b",
            "<token>",
            "x <token>",
            "%s",
            "%PASS%",
            "%(x)s",
            "#{x}",
            "getenv(\"X\")",
            "os.environ[1]",
            "sha256(x)",
            "*default",
            "[password]",
        ] {
            assert!(is_template(template), "{template}");
        }
        for chosen in [
            "$uper5ecr3t!x",
            "$uper5ecr3t",
            "$Zk9x7qLm",
            "x7(Kq!p9zL",
            "x7(Kq!p9zL)",
            "Pa$$w0rd",
            "$$uper5ecr3t",
            "$$ecret99",
            "$$$",
            "$123",
            "$1x9Kq",
            "$1-Zk9x7qLm",
            "50%2$x",
            "p%40$sword9",
            "a*9xKq",
            "x[7Kq!p9",
            "q}9!x{Lm",
            "100%Sure!",
            "<3forever9",
        ] {
            assert!(!is_template(chosen), "{chosen}");
        }
    }
}
