//! Verbatim words, with dashes and dots: they match exact names in headings and queries.

/// Maximum length of a name; longer ones are data.
const MAX_WORD_BYTES: usize = 80;

/// Calls `each` with the verbatim words of a heading. Keeps case only in options, where it matters.
pub(crate) fn for_each_verbatim_word(text: &str, mut each: impl FnMut(&str)) {
    // Manuals write `--[no-]verify` for two options.
    if text.contains("[no-]") {
        for text in [text.replace("[no-]", ""), text.replace("[no-]", "no-")] {
            runs(&text).for_each(|run| each(&fold_case(run.word)));
        }
        return;
    }
    runs(text).for_each(|run| each(&fold_case(run.word)));
}

/// The exact names in a query, without duplicates, as in [`for_each_verbatim_word`]: options, error codes, compound names, and
/// anything marked as a name.
pub(crate) fn exact_names(question: &str) -> Vec<String> {
    let mut names = Vec::new();
    for run in runs(question).filter(|run| run.is_marked || is_name(run.word)) {
        let name = fold_case(run.word);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// A verbatim word without surrounding punctuation.
struct WrittenWord<'a> {
    word: &'a str,
    /// Whether it is in backticks or followed by parentheses.
    is_marked: bool,
}

fn runs(text: &str) -> impl Iterator<Item = WrittenWord<'_>> {
    let mut rest = text;
    let mut before = None;
    std::iter::from_fn(move || {
        loop {
            let start = rest.find(|c| !is_border(c))?;
            before = rest.get(..start)?.chars().next_back().or(before);
            let run = rest.get(start..)?;
            let end = run.find(is_border).unwrap_or(run.len());
            let (word, after) = run.split_at_checked(end)?;
            let quoted = before == Some('`') && after.starts_with('`');
            let is_marked = quoted || after.starts_with("()");
            rest = after;
            before = None;
            let word = word.trim_start_matches([':', '*', '#', '¿', '¡']);
            let word = word.trim_end_matches(['.', ':', '!', '?', '*', '#', '-', '…', '¶']);
            if word.len() <= MAX_WORD_BYTES && word.chars().any(char::is_alphanumeric) {
                return Some(WrittenWord { word, is_marked });
            }
        }
    })
}

/// Whether a character never occurs in a name.
fn is_border(c: char) -> bool {
    c.is_whitespace() || ",;()[]{}<>=|\"'`/“”‘’«»—–".contains(c)
}

fn fold_case(word: &str) -> String {
    if word.starts_with('-') { word.to_owned() } else { word.to_lowercase() }
}

/// Whether the spelling of a word marks it as a name.
fn is_name(word: &str) -> bool {
    let letter = |c: Option<char>| c.is_some_and(char::is_alphabetic);
    if let Some(option) = word.strip_prefix('-') {
        return letter(option.trim_start_matches('-').chars().next());
    }
    if let Some(name) = word.strip_prefix(['@', '$']) {
        return letter(name.chars().next());
    }
    let solid = word.chars().filter(|c| c.is_alphanumeric()).count();
    ((word.contains('_') || word.contains("::")) && solid > 1)
        || is_dotted(word)
        || is_code(word)
        || is_humped(word)
}

/// `os.path.join`, `.env`; but neither `e.g` nor `3.11` nor `v1.2`.
fn is_dotted(word: &str) -> bool {
    let Some((_, last)) = word.rsplit_once('.') else { return false };
    let pieces = word.strip_prefix('.').unwrap_or(word);
    let starts = |piece: &str| piece.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_');
    starts(pieces)
        && starts(last)
        && pieces.split('.').all(|piece| !piece.is_empty())
        && pieces.split('.').any(|piece| piece.len() > 1)
}

/// `E0308`, `42P01`, `ORA-00001`.
fn is_code(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    word.len() >= 4
        && digits >= 2
        && word.bytes().any(|byte| byte.is_ascii_uppercase())
        && word
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'-')
}

/// `useEffect`; but neither `PostgreSQL` nor `gRPC`.
fn is_humped(word: &str) -> bool {
    let small = word.bytes().take_while(u8::is_ascii_lowercase).count();
    small > 1
        && word.as_bytes().get(small).is_some_and(u8::is_ascii_uppercase)
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_name_things_exactly() {
        let cases: &[(&str, &[&str])] = &[
            ("", &[]),
            ("How do I configure max_connections?", &["max_connections"]),
            ("skip hooks with --no-verify.", &["--no-verify"]),
            ("gcc -Wall -Wall or -w", &["-Wall", "-w"]),
            ("error E0308: mismatched types", &["e0308"]),
            ("SQLSTATE 42P01", &["42p01"]),
            ("ORA-00001 and CVE-2024-1234", &["ora-00001", "cve-2024-1234"]),
            ("ERR_MODULE_NOT_FOUND", &["err_module_not_found"]),
            ("os.path.join(a, b)", &["os.path.join"]),
            ("std::vec::Vec, please", &["std::vec::vec"]),
            ("what is @decorator", &["@decorator"]),
            ("what does `VACUUM` do", &["vacuum"]),
            ("printf() returns", &["printf"]),
            ("useEffect cleanup", &["useeffect"]),
            ("read .env, e.g. on start", &[".env"]),
            ("HTTP 404", &[]),
            ("Python 3.11 and v1.2 of PostgreSQL, gRPC and TCP/IP", &[]),
            ("a client-side e-mail - or two -- in B-trees", &[]),
            ("VACUUM of 42 rows in 2024-11-16 ...", &[]),
            ("_ __ :: --5 -", &[]),
        ];
        for (question, want) in cases {
            assert_eq!(exact_names(question), *want, "{question}");
        }
        assert!(exact_names(&"x_".repeat(MAX_WORD_BYTES)).is_empty());
        exact_names(&"`(é_".repeat(10_000));
    }

    #[test]
    fn headings_are_read_as_they_are_written() {
        let cases: &[(&str, &[&str])] = &[
            ("--no-verify", &["--no-verify"]),
            ("-n, --[no-]verify", &["-n", "--verify", "-n", "--no-verify"]),
            ("-o <file>, --output=<file>", &["-o", "file", "--output", "file"]),
            ("max_connections (integer) ¶", &["max_connections", "integer"]),
            ("error[E0308]: Mismatched types.", &["error", "e0308", "mismatched", "types"]),
            ("19.3. Connections — Settings", &["19.3", "connections", "settings"]),
            ("os.path.join(path, *paths)", &["os.path.join", "path", "paths"]),
            ("— … --", &[]),
        ];
        for (heading, want) in cases {
            let mut got = Vec::new();
            for_each_verbatim_word(heading, |word| got.push(word.to_owned()));
            assert_eq!(got, *want, "{heading}");
        }
    }
}
