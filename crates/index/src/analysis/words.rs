//! Identifiers and the words in them.

/// Maximum length of a word; longer ones are data and truncated.
const MAX_WORD_BYTES: usize = 40;
/// Maximum length of an identifier; longer ones are data.
const MAX_IDENTIFIER_BYTES: usize = 80;

/// The words of a text in order, in lower case: `parseHTTPResponse2_final` gives parse, http, response, 2 and final.
pub(crate) fn words(text: &str, mut each: impl FnMut(&str)) {
    let mut lower = String::new();
    for run in text.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty()) {
        parts(run, |part| {
            lower.clear();
            let cut = part.char_indices().nth(MAX_WORD_BYTES).map_or(part.len(), |(at, _)| at);
            let part = part.get(..cut).unwrap_or(part);
            if part.is_ascii() {
                lower.push_str(part);
                lower.make_ascii_lowercase();
            } else {
                lower.extend(part.chars().flat_map(char::to_lowercase));
            }
            each(&lower);
        });
    }
}

/// The identifiers of a text in order: runs of letters and digits, with `_` and `-` inside them.
pub(crate) fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-')
        .map(|run| run.trim_matches(['_', '-']))
        .filter(|run| !run.is_empty() && run.len() <= MAX_IDENTIFIER_BYTES)
}

/// Splits an identifier where case changes, an acronym ends, or digits meet letters; `_` and `-` are left out.
pub(crate) fn parts<'a>(identifier: &'a str, mut each: impl FnMut(&'a str)) {
    for piece in identifier.split(['_', '-']).filter(|piece| !piece.is_empty()) {
        let mut start = 0;
        let mut letters = piece.char_indices().peekable();
        let mut before: Option<char> = None;
        while let Some((at, here)) = letters.next() {
            if let Some(before) = before {
                let next = letters.peek().map(|&(_, c)| c);
                let hump = before.is_lowercase() && here.is_uppercase();
                let acronym_ends = before.is_uppercase()
                    && here.is_uppercase()
                    && next.is_some_and(char::is_lowercase);
                let digits_meet = before.is_numeric() != here.is_numeric();
                if hump || acronym_ends || digits_meet {
                    each(piece.get(start..at).unwrap_or_default());
                    start = at;
                }
            }
            before = Some(here);
        }
        each(piece.get(start..).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_fall_apart_into_words() {
        let cases: &[(&str, &[&str])] = &[
            ("", &[]),
            ("loginUser", &["login", "user"]),
            ("max_connections", &["max", "connections"]),
            ("--no-verify", &["no", "verify"]),
            ("parseHTTPResponse", &["parse", "http", "response"]),
            ("SHA256Sum", &["sha", "256", "sum"]),
            ("utf8", &["utf", "8"]),
            ("größerÄnderung", &["größer", "änderung"]),
            ("std::fs::read_to_string()", &["std", "fs", "read", "to", "string"]),
            ("HTTPServer2Go", &["http", "server", "2", "go"]),
            ("don't", &["don", "t"]),
        ];
        for (text, want) in cases {
            let mut got = Vec::new();
            words(text, |word| got.push(word.to_owned()));
            assert_eq!(got, *want, "{text}");
        }
        let mut got = Vec::new();
        words(&"é".repeat(MAX_WORD_BYTES + 5), |word| got.push(word.chars().count()));
        assert_eq!(got, [MAX_WORD_BYTES]);
    }

    #[test]
    fn identifiers_are_kept_whole() {
        let got: Vec<&str> = identifiers("call foo_bar(x-1), __init__; --no-verify").collect();
        assert_eq!(got, ["call", "foo_bar", "x-1", "init", "no-verify"]);
        assert_eq!(identifiers(&"x".repeat(MAX_IDENTIFIER_BYTES + 1)).count(), 0);
    }
}
