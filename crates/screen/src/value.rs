//! Whether a piece of text looks made by chance, by a person, or by a programmer as a name for something.

use crate::placeholder::has_run;

/// Pairs of letters that make up more than half of English words and of the names in code.
const COMMON_PAIRS: &[u8] = b"thheineranrendatonnthaesstenedtoitoueahiisortiasteetngofaldeselesasiarveraldurroriioliicnemecotaeclleluschceommalailnspeprdissacctunutnagekenocabemotr";

/// What is counted in a value, once.
#[derive(Default)]
struct CharacterCounts {
    upper: usize,
    lower: usize,
    digit: usize,
    symbol: usize,
    other: usize,
}

fn count(value: &str) -> CharacterCounts {
    let mut counts = CharacterCounts::default();
    for byte in value.bytes() {
        match byte {
            b'A'..=b'Z' => counts.upper += 1,
            b'a'..=b'z' => counts.lower += 1,
            b'0'..=b'9' => counts.digit += 1,
            b'!'..=b'~' => counts.symbol += 1,
            _ => counts.other += 1,
        }
    }
    counts
}

/// Bits of information per byte.
pub(crate) fn entropy(value: &str) -> f64 {
    let mut seen = [0_u32; 256];
    for byte in value.bytes() {
        if let Some(count) = seen.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }
    let total = f64::from(u32::try_from(value.len()).unwrap_or(u32::MAX));
    seen.iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count) / total)
        .map(|share| -share * share.log2())
        .sum()
}

/// The share of pairs of letters that are common in words: above a half in names, near a tenth in chance.
fn common_pair_share(value: &str) -> f64 {
    let bytes = value.as_bytes();
    let (mut pairs, mut common) = (0_u32, 0_u32);
    for pair in bytes.windows(2) {
        let &[first, second] = pair else { continue };
        // A change from lower to upper case begins another word.
        if !(first.is_ascii_alphabetic() && second.is_ascii_alphabetic())
            || (first.is_ascii_lowercase() && second.is_ascii_uppercase())
        {
            continue;
        }
        let pair = [first.to_ascii_lowercase(), second.to_ascii_lowercase()];
        pairs += 1;
        common += u32::from(COMMON_PAIRS.chunks_exact(2).any(|known| known == pair));
    }
    if pairs == 0 { 0.0 } else { f64::from(common) / f64::from(pairs) }
}

/// Whether it reads as words: a name, a path, a sentence.
pub(crate) fn reads_as_words(value: &str) -> bool {
    common_pair_share(value) > 0.3
}

fn plain(value: &str) -> String {
    let kept = value.chars().filter(char::is_ascii_alphanumeric);
    kept.map(|c| c.to_ascii_lowercase()).collect()
}

/// Whether the part after a token's prefix was made by the issuer: what follows `hf_` or `sk-` is often just a name.
pub(crate) fn looks_issued(body: &str) -> bool {
    let counts = count(body);
    let letters = counts.upper + counts.lower;
    let mixed = (counts.digit > 0 && letters > 0) || (counts.upper > 1 && counts.lower > 1);
    mixed && !is_sample_token(body) && (is_hex(body) || common_pair_share(body) < 0.5)
}

/// Whether the token's random part is a stand-in: the few words that no chance would write, or one character over and over.
pub(crate) fn is_sample_token(value: &str) -> bool {
    let plain = plain(value);
    let told = ["example", "yourtoken", "yourkey", "placeholder", "redacted"];
    has_run(value) || distinct(value) < 6 || told.iter().any(|word| plain.contains(word))
}

fn distinct(value: &str) -> usize {
    let mut seen = [false; 256];
    value.bytes().for_each(|byte| {
        if let Some(flag) = seen.get_mut(usize::from(byte)) {
            *flag = true;
        }
    });
    seen.iter().filter(|flag| **flag).count()
}

/// Whether a machine made it: enough letters and digits in no order that words have.
pub(crate) fn looks_random(value: &str, shortest: usize) -> bool {
    let counts = count(value);
    let letters = counts.upper + counts.lower;
    if value.len() < shortest || counts.other > 0 || counts.digit == 0 || letters == 0 {
        return false;
    }
    // Of a word of n characters, log2(n) is the most that the entropy can be.
    let most = f64::from(u32::try_from(value.len()).unwrap_or(u32::MAX)).log2();
    let needed = if is_hex(value) { 2.9 } else { (most * 0.78).min(4.0) };
    entropy(value) >= needed && (is_hex(value) || !reads_as_words(value)) && !is_structured(value)
}

pub(crate) fn is_hex(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A UUID, a version, a date, an address, a path: parts of known form between separators.
fn is_structured(value: &str) -> bool {
    let widths: Vec<usize> = value.split('-').map(str::len).collect();
    if widths == [8, 4, 4, 4, 12] && is_hex(&value.replace('-', "")) {
        return true;
    }
    let separators = value.bytes().filter(|byte| b"_-./:,;@ ".contains(byte)).count();
    // Short parts between separators are names and numbers; chance has few separators.
    separators > 0 && value.len() / (separators + 1) < 6
}

/// Whether a person may have chosen it as a password: no space, and more than a word.
pub(crate) fn looks_like_chosen_password(value: &str) -> bool {
    let counts = count(value);
    let letters = counts.upper + counts.lower;
    let marks = value.bytes().filter(|byte| b"!@#$^&*+=?~".contains(byte)).count();
    (6..=128).contains(&value.len())
        && has_no_blank(value, &counts)
        && letters + counts.other > 0
        && (counts.digit > 0 || (marks > 0 && letters > 3))
        && !value.bytes().any(|byte| b"<>\\`|\"'".contains(&byte))
        && !is_bracketed(value)
        && !is_version(value)
        && !is_path(value)
        && !is_yaml_tag(value)
}

/// Brackets make it code or a pattern, unless chance put them there.
pub(crate) fn is_bracketed(value: &str) -> bool {
    let signs =
        ["[^", "[a-", "[A-", "[0-", "(?", ".*", ".+", "]+", "]*", "]{", ")+", ")*", ")?", "){"];
    value.contains(['(', ')', '[', ']', '{', '}'])
        && (!looks_random(value, 8) || signs.iter().any(|sign| value.contains(sign)))
}

/// Whether chance wrote it, in whatever signs: a password of a machine may be padded as base64 is, and of any length.
pub(crate) fn looks_generated(value: &str) -> bool {
    let value = value.trim_end_matches('=');
    looks_random(value, 8) && !is_bracketed(value) && !value.contains("://")
}

/// Whether it is one word, which under a name such as `password` is one.
pub(crate) fn is_single_word(value: &str) -> bool {
    let value = value.trim_end_matches('=');
    let counts = count(value);
    value.len() > 2
        && has_no_blank(value, &counts)
        && counts.upper + counts.lower + counts.digit + counts.other > 2
        && !is_version(value)
        && !value.bytes().any(|byte| b"()[]{}<>\\`|\"'".contains(&byte))
        && !is_path(value)
        && !is_yaml_tag(value)
}

/// Whether there is no blank in it. Beyond ASCII it must have a number, as every language has its word for a password, and
/// be of a script that has blanks: of the others, which know no upper and lower case, a whole sentence looks like a word.
fn has_no_blank(value: &str, counts: &CharacterCounts) -> bool {
    let in_case = |c: char| c.is_lowercase() || c.is_uppercase();
    let is_part =
        |c: char| in_case(c) || !(c.is_alphabetic() || c.is_whitespace() || c.is_control());
    counts.other == 0
        || (counts.digit > 0 && value.chars().any(in_case) && value.chars().all(is_part))
}

/// `1.2.3`, `^1.2`, `~> 1.0.0-beta`: a package may be called after what it is for.
fn is_version(value: &str) -> bool {
    let mut parts = value.trim_start_matches(['^', '~', '>', '<', '=', 'v']).split('.');
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let first = parts.next().is_some_and(is_number);
    first && parts.next().is_some_and(|part| is_number(part) || part == "x" || part == "*")
}

fn is_yaml_tag(value: &str) -> bool {
    value.strip_prefix('!').is_some_and(|tag| tag.bytes().all(|byte| byte.is_ascii_lowercase()))
}

/// A path, a dotted name, a URL or a list.
fn is_path(value: &str) -> bool {
    value.contains("://")
        || value.contains("::")
        || value.starts_with(['/', '.', '~', '-', '#', '@', ':', '&', '?', '='])
        || value.ends_with([':', '=', '/', '-', '_'])
        || (reads_as_words(value) && value.contains(['/', '.', ':', '_', ',']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_chance_are_told_apart() {
        for (value, random) in [
            ("get_user_authentication_token_v2", false),
            ("AbstractSingletonProxyFactoryBean2", false),
            ("9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c", true),
            ("kX9vQ2mZ7pLw4RtY8sBn3HjF", true),
            ("2026-11-16T13:14:32.000+00:00", false),
            ("3f2504e0-4f89-41d3-9a0c-0305e82c3301", false),
            ("aaaaaaaaaaaaaaaaaaaaaaaa1", false),
            ("", false),
        ] {
            assert_eq!(is_random(value, 16), random, "{value}");
        }
    }

    #[test]
    fn entropy_is_counted_in_bits() {
        assert!(entropy("").abs() < f64::EPSILON);
        assert!((entropy("aabb") - 1.0).abs() < f64::EPSILON);
        assert!((entropy("abcdefgh") - 3.0).abs() < f64::EPSILON);
    }
}
