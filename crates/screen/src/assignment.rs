//! Secrets detected by the name they are assigned to: `password = "…"`, `API_KEY=…`, `"token": "…"`,
//! `<secret>…</secret>`.
//!
//! Code is full of such names, and most of their values are not secrets, so both the name and the value are checked.

use crate::{
    ScreenOptions, document,
    forms::{span, window},
    log_value,
    placeholder::{is_label, is_placeholder, reference_length},
    value,
};
use std::ops::Range;

/// Parts of names that indicate secrets, in every usual case, because the search is case-sensitive.
pub(crate) const NAME_ANCHORS: [&str; 27] = [
    "key",
    "Key",
    "KEY",
    "token",
    "Token",
    "TOKEN",
    "secret",
    "Secret",
    "SECRET",
    "passw",
    "Passw",
    "PASSW",
    "passphrase",
    "Passphrase",
    "PASSPHRASE",
    "pwd",
    "Pwd",
    "PWD",
    "auth",
    "Auth",
    "AUTH",
    "redential",
    "REDENTIAL",
    "signature",
    "Signature",
    "SIGNATURE",
    "assphrase",
];

/// Longer words are not names.
const MAX_NAME_BYTES: usize = 64;
const MAX_VALUE_BYTES: usize = 1024;

/// Shortest random value that is a secret, between quotes and without.
const MIN_QUOTED_BYTES: usize = 12;
const MIN_UNQUOTED_BYTES: usize = 16;
/// Shortest random value that is a secret under a weak name.
const MIN_WEAKLY_NAMED_BYTES: usize = 24;
/// Length of an API key of Heroku, which is a UUID.
const HEROKU_KEY_BYTES: usize = 36;
/// Digits at the end of an unquoted word that make it a password.
const MIN_FINAL_DIGITS: usize = 3;

/// Whether values are checked in addition to names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NamePolicy {
    /// For code and documents: the value must look like a secret.
    #[default]
    Careful,
    /// For logs: every value of such a name is redacted.
    Eager,
}

/// How strongly a name indicates a secret, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NameWeight {
    /// A person chose the value.
    Password,
    /// A machine made the value.
    Secret,
    /// The value may be something else: a cache key, a signature of a function.
    Slight,
}

/// A secret value of an indicative name.
pub(crate) struct AssignedSecret {
    pub(crate) kind: &'static str,
    pub(crate) range: Range<usize>,
}

/// Last words of names, joined, in lower case.
const PASSWORD_NAMES: [&str; 5] = ["password", "passwd", "passphrase", "passwort", "userpwd"];
const SECRET_NAMES: [&str; 24] = [
    "secret",
    "apikey",
    "authtoken",
    "accesstoken",
    "refreshtoken",
    "bearertoken",
    "apitoken",
    "bottoken",
    "deploytoken",
    "privatekey",
    "secretkey",
    "accesskey",
    "authkey",
    "signingkey",
    "encryptionkey",
    "masterkey",
    "sharedkey",
    "accountkey",
    "storagekey",
    "secretkeybase",
    "credential",
    "credentials",
    "authorization",
    "licensekey",
];

/// Words in a name that indicate a public value or another kind of key.
const PUBLIC_NAME_WORDS: [&str; 35] = [
    "public",
    "pub",
    "publishable",
    "foreign",
    "primary",
    "cache",
    "sort",
    "partition",
    "next",
    "page",
    "continuation",
    "cursor",
    "sha",
    "sha1",
    "sha256",
    "hash",
    "checksum",
    "digest",
    "fingerprint",
    "integrity",
    "etag",
    "verify",
    "valid",
    "invalid",
    "expected",
    "type",
    "name",
    "id",
    "url",
    "uri",
    "path",
    "file",
    "site",
    "csrf",
    "progress",
];

/// Verbs for actions on a password: the value of `showPassword` is the text of a button. Form fields have other names:
/// `confirmPassword` and `newPassword` contain one.
const ACTION_WORDS: [&str; 17] = [
    "show",
    "hide",
    "toggle",
    "reveal",
    "view",
    "forgot",
    "forgotten",
    "forget",
    "lost",
    "recover",
    "reset",
    "change",
    "update",
    "generate",
    "hash",
    "remember",
    "request",
];

/// Returns the finding at the name that contains the anchor at `at`, and where the search continues.
pub(crate) fn find(
    text: &str,
    at: usize,
    options: ScreenOptions,
) -> (Option<AssignedSecret>, usize) {
    let Some(name) = name_around(text, at) else { return (None, at + 1) };
    let found = find_carefully(text, &name, options.entropy);
    let found = match options.names {
        NamePolicy::Careful => found,
        // The whole value is redacted, not only the part that looks like a secret or precedes a sign.
        NamePolicy::Eager => match (find_eagerly(text, &name), found) {
            (Some(whole), Some(part)) => {
                let start = whole.range.start.min(part.range.start);
                let end = whole.range.end.max(part.range.end);
                Some(AssignedSecret { range: start..end, ..whole })
            }
            (whole, part) => whole.or(part),
        },
    };
    let next = found.as_ref().map_or(name.end, |found| found.range.end);
    (found, next)
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn name_around(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let before = bytes.get(at.saturating_sub(MAX_NAME_BYTES)..at)?;
    let start =
        at - before.iter().rev().take_while(|byte| is_name(**byte) || **byte == b'.').count();
    let after = bytes.get(at..bytes.len().min(at + MAX_NAME_BYTES))?;
    let end = at + after.iter().take_while(|byte| is_name(**byte)).count();
    let too_long = end - start >= MAX_NAME_BYTES;
    (!too_long).then_some(start..end)
}

/// Splits a name into lower-case words: `dbPassword2` is `db`, `password`.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut last = '_';
    for c in name.chars() {
        if c.is_ascii_alphanumeric() {
            let begins = !last.is_ascii_alphanumeric()
                || (last.is_ascii_lowercase() && c.is_ascii_uppercase());
            if begins {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                word.push(c.to_ascii_lowercase());
            }
        }
        last = c;
    }
    if let Some(word) = words.last_mut() {
        let kept = word.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        if kept > 0 {
            word.truncate(kept);
        }
    }
    words
}

pub(crate) fn weigh(name: &str) -> Option<NameWeight> {
    // The name inside a redaction marker has no value.
    (name.len() < MAX_NAME_BYTES && !name.contains("[redacted: ")).then_some(())?;
    let words = words(name);
    let last = words.last()?.as_str();
    if words.iter().any(|word| PUBLIC_NAME_WORDS.contains(&word.as_str())) {
        return None;
    }
    let joined = words.concat();
    let ends = |list: &[&str]| list.iter().any(|word| joined.ends_with(word));
    if ends(&PASSWORD_NAMES) || last == "pwd" || last == "pass" {
        Some(NameWeight::Password)
    } else if ends(&SECRET_NAMES) || last == "token" {
        Some(NameWeight::Secret)
    } else if ["key", "auth", "signature", "keys", "tokens"].contains(&last) {
        Some(NameWeight::Slight)
    } else {
        None
    }
}

/// Returns the kind of secret for the redaction marker.
fn redaction_kind(name: &str, weight: NameWeight) -> &'static str {
    let joined = words(name).concat();
    let has = |part: &str| joined.contains(part);
    match weight {
        NameWeight::Password => "password",
        NameWeight::Secret if has("aws") || has("secretaccesskey") => "aws secret key",
        NameWeight::Secret if has("heroku") => "heroku api key",
        NameWeight::Secret if has("apikey") => "api key",
        NameWeight::Secret if has("token") || has("authorization") => "token",
        NameWeight::Secret if has("credential") => "credentials",
        NameWeight::Secret => "secret",
        NameWeight::Slight => "high-entropy value",
    }
}

/// Syntax of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ValueStyle {
    /// Between quotes: certainly a literal.
    Quoted,
    /// Between tags.
    Markup,
    /// The second argument of a call whose first is the name.
    Argument,
    /// After `=` without a space, as in a shell, a dotenv file or a query.
    Tight,
    /// After a colon or a spaced `=`, to the end of the line.
    Loose,
}

fn find_carefully(text: &str, name: &Range<usize>, entropy: bool) -> Option<AssignedSecret> {
    // The cheap test first: most names have no value.
    let (style, range) = value_after(text, name).or_else(|| value_beside(text, name))?;
    let spelled = text.get(name.clone())?;
    let weight = weigh(spelled)?;
    let found = text.get(range.clone())?;
    let accepted = accepts(spelled, weight, found, style, entropy);
    accepted.then(|| AssignedSecret { kind: redaction_kind(spelled, weight), range })
}

/// Whether a list under this name contains secrets; lists of keys and signatures often don't.
pub(crate) fn names_many(name: &str) -> bool {
    weigh(name).is_some_and(|weight| weight != NameWeight::Slight)
}

/// Returns the kind of secret of a value under a JSON key, if it is one.
pub(crate) fn secret_kind(key: &str, text: &str, entropy: bool) -> Option<&'static str> {
    let weight = weigh(key)?;
    // In data, a single word under `password` is a password; in code and documents it may not be.
    let is_word = weight == NameWeight::Password
        && value::is_single_word(text)
        && !is_form_text(key, text)
        && !is_placeholder(text)
        && !is_digest(text);
    let accepted = is_word || accepts(key, weight, text, ValueStyle::Quoted, entropy);
    accepted.then(|| redaction_kind(key, weight))
}

fn accepts(
    spelled: &str,
    weight: NameWeight,
    found: &str,
    style: ValueStyle,
    entropy: bool,
) -> bool {
    let accepted = match weight {
        NameWeight::Password => is_password(found, style) && !is_form_text(spelled, found),
        NameWeight::Secret if spelled.to_ascii_lowercase().contains("heroku") => {
            found.len() == HEROKU_KEY_BYTES
        }
        NameWeight::Secret => is_secret(found, style),
        // A hexadecimal word under a weak name is more often a hash than a key.
        NameWeight::Slight => {
            entropy
                && matches!(style, ValueStyle::Quoted | ValueStyle::Tight)
                && value::looks_random(found, MIN_WEAKLY_NAMED_BYTES)
                && !value::is_hex(found)
                && !found.contains([':', '.'])
        }
    };
    accepted && !is_placeholder(found) && !is_digest(found)
}

/// Whether it is the text of a form: a word for a password, or text without digits under the name of a button.
fn is_form_text(name: &str, found: &str) -> bool {
    is_label(found) || (names_action(name) && !found.contains(|c: char| c.is_ascii_digit()))
}

/// Whether the word before `password` is a verb.
fn names_action(name: &str) -> bool {
    let words = words(name);
    let verb = match words.as_slice() {
        [.., verb, _] => Some(verb.as_str()),
        // `showpassword`.
        [word] => PASSWORD_NAMES.iter().find_map(|password| word.strip_suffix(password)),
        [] => None,
    };
    verb.is_some_and(|verb| ACTION_WORDS.contains(&verb))
}

fn is_password(found: &str, style: ValueStyle) -> bool {
    let chosen = value::looks_like_chosen_password(found) || value::looks_generated(found);
    match style {
        ValueStyle::Quoted | ValueStyle::Markup | ValueStyle::Argument | ValueStyle::Tight => {
            chosen
        }
        // `password: arg1` is code; a value that can't be a name is a password, and so is a word followed by a number.
        ValueStyle::Loose => {
            let digits = found.bytes().rev().take_while(u8::is_ascii_digit).count();
            let marked = found.contains(['!', '@', '#', '$', '^', '&', '*']);
            chosen && (marked || digits >= MIN_FINAL_DIGITS || value::looks_generated(found))
        }
    }
}

fn is_secret(found: &str, style: ValueStyle) -> bool {
    let shortest = if style == ValueStyle::Quoted { MIN_QUOTED_BYTES } else { MIN_UNQUOTED_BYTES };
    value::looks_random(found, shortest)
        && !found.contains("://")
        && !found.contains("uuid:")
        && !found.starts_with(['/', '.', '-', '#'])
}

/// `sha256:…`, `sha512-…`, `md5$…`, `$2b$…`: public values of lock files and password files.
fn is_digest(found: &str) -> bool {
    let lower = found.get(..8).unwrap_or(found).to_ascii_lowercase();
    let known = ["sha1", "sha2", "sha3", "sha5", "md5", "data:", "blake"];
    let crypted = [
        "$1$", "$2a$", "$2b$", "$2x$", "$2y$", "$5$", "$6$", "$7$", "$y$", "$argon2", "$pbkdf2",
        "$scrypt", "$apr1$",
    ];
    known.iter().chain(&crypted).any(|prefix| lower.starts_with(prefix))
}

/// Finds the value of a name and its syntax.
fn value_after(text: &str, name: &Range<usize>) -> Option<(ValueStyle, Range<usize>)> {
    let bytes = text.as_bytes();
    // `["password"]`, `'password'`, `\"password\"`, `password[]`.
    let mut at = name.end + span(window(text, name.end, 4), 0, |byte| b"\"'\\[]`".contains(&byte));
    let closed = at > name.end;
    let blank = span(window(text, at, 32), 0, |byte| byte == b' ' || byte == b'\t');
    at += blank;
    let sign = *bytes.get(at)?;
    let spaced = blank > 0;
    match sign {
        b'=' => at += span(window(text, at, 3), 0, |byte| b"=>".contains(&byte)),
        b':' => at += span(window(text, at, 2), 0, |byte| b":=".contains(&byte)),
        b'>' if text.get(..name.start)?.ends_with('<') => {
            let length =
                span(window(text, at + 1, MAX_VALUE_BYTES), 0, |byte| byte > b' ' && byte != b'<');
            return (window(text, at + 1 + length, 2) == "</")
                .then_some((ValueStyle::Markup, at + 1..at + 1 + length));
        }
        // `define("DB_PASSWORD", "…")`: the first argument of a call.
        b',' if closed && is_call_argument(text, name.start) => at += 1,
        _ if spaced && text.get(name.clone())?.starts_with("--") => {}
        _ => return None,
    }
    let gap = span(window(text, at, 32), 0, |byte| byte == b' ' || byte == b'\t');
    let start = at + gap;
    if let Some(range) = literal(text, start) {
        return Some((if sign == b',' { ValueStyle::Argument } else { ValueStyle::Quoted }, range));
    }
    if sign == b',' {
        return None;
    }
    if sign == b':'
        && let Some(range) = typed(text, start)
    {
        return Some((ValueStyle::Quoted, range));
    }
    let tight = sign == b'=' && !spaced && gap == 0;
    bare(text, start)
        .map(|range| (if tight { ValueStyle::Tight } else { ValueStyle::Loose }, range))
}

/// Finds the value next to a name that is itself a value: `name: DB_PASSWORD`, and on the next line `value: …`.
fn value_beside(text: &str, name: &Range<usize>) -> Option<(ValueStyle, Range<usize>)> {
    let is_blank = |byte: u8| byte == b' ' || byte == b'\t';
    let is_quote = |c: char| c == '"' || c == '\'';
    let start = text.floor_char_boundary(name.start.saturating_sub(24));
    let before = text.get(start..name.start)?.trim_end_matches(is_quote).trim_end();
    let before = before.strip_suffix([':', '='])?.trim_end().trim_end_matches(is_quote);
    let word = before.rfind(|c: char| !c.is_ascii_alphanumeric()).map_or(0, |at| at + 1);
    document::is_name(before.get(word..)?).then_some(())?;
    let mut at = name.end + span(window(text, name.end, 1), 0, |byte| b"\"'".contains(&byte));
    at += span(window(text, at, 64), 0, |byte| byte.is_ascii_whitespace() || byte == b',');
    at += span(window(text, at, 1), 0, |byte| b"\"'".contains(&byte));
    let word = span(window(text, at, 16), 0, |byte| byte.is_ascii_alphanumeric());
    document::is_value(text.get(at..at + word)?).then_some(())?;
    at += word;
    at += span(window(text, at, 1), 0, |byte| b"\"'".contains(&byte));
    at += span(window(text, at, 8), 0, is_blank);
    matches!(text.as_bytes().get(at)?, b':' | b'=').then_some(())?;
    at += 1;
    at += span(window(text, at, 32), 0, is_blank);
    let quoted = literal(text, at).map(|range| (ValueStyle::Quoted, range));
    quoted.or_else(|| bare(text, at).map(|range| (ValueStyle::Loose, range)))
}

/// Finds the contents of a string literal that starts at `at`, including prefixes and nested escaped strings.
fn literal(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let prefix = span(window(text, at, 2), 0, |byte| b"bBrRuUL@".contains(&byte));
    let escaped = usize::from(bytes.get(at + prefix) == Some(&b'\\'));
    let open = at + prefix + escaped;
    let quote = *bytes.get(open)?;
    if !matches!(quote, b'"' | b'\'' | b'`') {
        return None;
    }
    let start = open + 1;
    let rest = window(text, start, MAX_VALUE_BYTES);
    let length = span(rest, 0, |byte| byte != quote && byte != b'\n');
    let closed = rest.as_bytes().get(length) == Some(&quote);
    let length =
        if escaped == 1 { rest.get(..length)?.trim_end_matches('\\').len() } else { length };
    (closed && length > 0).then_some(start..start + length)
}

/// Finds the literal after a type: `: &str = "…"`.
fn typed(text: &str, at: usize) -> Option<Range<usize>> {
    let length = span(window(text, at, 48), 0, |byte| {
        byte.is_ascii_alphanumeric() || b"_[]|&'<>? ".contains(&byte)
    });
    let sign = at + length;
    (text.as_bytes().get(sign) == Some(&b'=')).then_some(())?;
    let gap = span(window(text, sign + 1, 8), 0, |byte| byte == b' ');
    literal(text, sign + 1 + gap)
}

/// Finds an unquoted word, unless what follows makes it an expression.
fn bare(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = window(text, at, MAX_VALUE_BYTES);
    let length =
        span(rest, 0, |byte| byte.is_ascii_alphanumeric() || b"+/_~.!@#$%^*-".contains(&byte));
    // `=` belongs to a word only as base64 padding.
    let length = length + span(window(rest, length, 2), 0, |byte| byte == b'=');
    let word = rest.get(..length)?;
    let ended = match rest.as_bytes().get(length) {
        None | Some(b'\n' | b'\r' | b'&' | b'"' | b'\'' | b'<' | b'\\') => true,
        Some(b' ' | b'\t' | b';') => {
            !rest.get(length..)?.trim_start().starts_with(['=', '+', '(', '?'])
        }
        _ => false,
    };
    // A dotted name is an expression: `settings.password2`.
    let expression = word.contains('.') && value::reads_as_words(word);
    (ended && length > 0 && !expression).then_some(at..at + length)
}

/// Finds the whole value of an indicative name, whatever it looks like.
fn find_eagerly(text: &str, name: &Range<usize>) -> Option<AssignedSecret> {
    let spelled = text.get(name.clone())?;
    let joined: String = spelled.chars().filter(char::is_ascii_alphanumeric).collect();
    let joined = joined.to_ascii_lowercase();
    let ends = |list: &[&str]| list.iter().any(|word| joined.ends_with(word));
    let password = ends(&PASSWORD_NAMES);
    if !(password || ends(&SECRET_NAMES) || joined == "token") {
        return None;
    }
    let range = log_value::value_range(text, name.end, joined.ends_with("authorization"))?;
    if is_reference(text, &range) || is_referenced(text, name.start) {
        return None;
    }
    let weight = if password { NameWeight::Password } else { NameWeight::Secret };
    Some(AssignedSecret { kind: redaction_kind(spelled, weight), range })
}

/// Whether the value is nothing but a reference to a variable, whose name is not secret. An unquoted value ends before a
/// brace, so it may be longer than its range.
fn is_reference(text: &str, value: &Range<usize>) -> bool {
    let length = reference_length(window(text, value.start, MAX_NAME_BYTES * 2));
    let end = value.start + length;
    let continues = |c: char| !(c.is_whitespace() || "\"'\\`,;&)]}".contains(c));
    let has_more = text.get(end..).is_some_and(|rest| rest.starts_with(continues));
    length > 0 && end >= value.end && !has_more
}

/// Whether the name that starts at `at` is in a reference to a variable: `${API_KEY:-…}`.
fn is_referenced(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    let sign = before.strip_suffix("env:").unwrap_or(before).strip_suffix("${");
    let start = sign.map(str::len);
    start.is_some_and(|start| reference_length(window(text, start, MAX_NAME_BYTES * 2)) > 0)
}

/// Whether the quoted name is the first argument of a call.
fn is_call_argument(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    before.ends_with("(\"") || before.ends_with("('")
}
