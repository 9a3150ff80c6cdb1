//! Reads the `MCP_*` variables of a `.env` file for `--env-file`.
//!
//! Such a file belongs to a project, which may be untrusted: without the flag none of it applies, and a warning names
//! what was ignored. All other variables in it are the project's own and never enter the configuration.

use super::{error::ConfigError, keys, layers};
use std::{ffi::OsString, path::PathBuf};

/// The name of the file in the root.
const FILE_NAME: &str = ".env";

/// Which `.env` file to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvFile {
    /// The one in the first root.
    OfRoot,
    /// The one at this path, named by the user.
    At(PathBuf),
}

impl EnvFile {
    /// Parses the value of `--env-file`, which is empty if the flag has none.
    pub(crate) fn from_flag(value: OsString) -> Self {
        if value.is_empty() { Self::OfRoot } else { Self::At(value.into()) }
    }
}

/// docent's variables in the file of `--env-file`, in the order written.
pub(super) struct EnvFileVariables {
    pub(super) path: PathBuf,
    pub(super) pairs: Vec<(String, String)>,
}

/// Reads the file of `--env-file`; `None` without the flag.
pub(super) fn read(inputs: &layers::ConfigInputs) -> Result<Option<EnvFileVariables>, ConfigError> {
    let (path, text) = match &inputs.flags.env_file {
        None => return Ok(None),
        Some(EnvFile::OfRoot) => {
            let path = layers::first_root(inputs).join(FILE_NAME);
            let text = layers::read(&path);
            (path, text)
        }
        Some(EnvFile::At(path)) => {
            let path = inputs.working_dir.join(path);
            let text = layers::read_named(&path);
            (path, text)
        }
    };
    let text = text.map_err(|source| ConfigError::ReadEnvFile { path: path.clone(), source })?;
    let pairs = parse(&text).map_err(|EnvFileError { line, message }| ConfigError::EnvFile {
        path: path.clone(),
        line,
        message,
    })?;
    let pairs = pairs.into_iter().filter(|(name, value)| is_known(name) && !value.is_empty());
    Ok(Some(EnvFileVariables { path, pairs: pairs.collect() }))
}

/// Returns a warning if the root's file sets docent's variables and `--env-file` is not given.
pub(super) fn ignored_file_warning(inputs: &layers::ConfigInputs) -> Option<String> {
    if inputs.flags.env_file.is_some() {
        return None;
    }
    let path = layers::first_root(inputs).join(FILE_NAME);
    let text = layers::read(&path).ok()?;
    let mut names: Vec<String> = names(&text);
    names.retain(|name| is_known(name) && inputs.environment.get(name).is_none());
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        return None;
    }
    Some(format!(
        "{} sets {}, which docent ignores; pass --env-file to read it if you trust the project",
        path.display(),
        names.join(", ")
    ))
}

/// Whether docent shares this variable with other MCP servers.
fn is_known(name: &str) -> bool {
    name.starts_with("MCP_")
        && keys::settings().any(|setting| setting.field.extra_env.as_deref() == Some(name))
}

/// Returns the names in a file, even if some lines are invalid.
fn names(text: &str) -> Vec<String> {
    match parse(text) {
        Ok(pairs) => pairs.into_iter().map(|(name, _)| name).collect(),
        Err(_) => text
            .lines()
            .filter_map(|line| Some(variable_name(line.split_once('=')?.0)?.to_owned()))
            .collect(),
    }
}

/// The problem of a line. Excludes the line itself, which may contain a secret.
#[derive(Debug, PartialEq, Eq)]
struct EnvFileError {
    line: usize,
    message: String,
}

/// Parses `NAME=value` lines: comments, `export`, quotes and multi-line values as in shells and dotenv, without
/// expansion.
fn parse(text: &str) -> Result<Vec<(String, String)>, EnvFileError> {
    let mut pairs = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let malformed = |message: &str| EnvFileError { line: at + 1, message: message.to_owned() };
        let line = line.trim_start_matches('\u{feff}').trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (name, value) =
            line.split_once('=').ok_or_else(|| malformed("expected NAME=value, found no `=`"))?;
        let name = variable_name(name).ok_or_else(|| {
            malformed("the name before `=` must be letters, digits and `_`, and start with a letter or `_`")
        })?;
        let value = value.trim();
        let is_literal = value.starts_with('\'');
        let value = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                let mut rest = value.get(1..).unwrap_or_default().to_owned();
                let mut searched = 0;
                loop {
                    // Don't search the same text twice: the file may be one long value.
                    let end = rest.get(searched..).and_then(|line| closing_quote(line, quote));
                    if let Some(end) = end.map(|end| searched + end) {
                        let (inner, after) = rest.split_at(end);
                        let after = after.get(1..).unwrap_or_default().trim();
                        if !after.is_empty() && !after.starts_with('#') {
                            let what = format!("{name} has text after its closing {quote}");
                            return Err(malformed(&what));
                        }
                        break if quote == '"' { unescape(inner) } else { inner.to_owned() };
                    }
                    let (_, next) = lines.next().ok_or_else(|| {
                        malformed(&format!("{name} has an opening {quote} and no closing one"))
                    })?;
                    rest.push('\n');
                    searched = rest.len();
                    rest.push_str(next);
                }
            }
            _ => strip_comment(value).to_owned(),
        };
        if !is_literal && value.contains("${") && is_known(name) {
            let what = format!("{name} refers to another variable, which docent does not expand");
            return Err(malformed(&what));
        }
        pairs.push((name.to_owned(), value));
    }
    Ok(pairs)
}

/// Returns the name that a line sets, without `export`.
fn variable_name(text: &str) -> Option<&str> {
    let text = text.trim();
    let name = text.strip_prefix("export").map_or(text, |rest| {
        if rest.starts_with(char::is_whitespace) { rest.trim_start() } else { text }
    });
    let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|each| each.is_ascii_alphanumeric() || each == '_');
    is_name.then_some(name)
}

/// Returns the end of a quoted text. A backslash escapes the next character, except within single quotes.
fn closing_quote(text: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, character) in text.char_indices() {
        if is_escaped {
            is_escaped = false;
        } else if character == '\\' && quote == '"' {
            is_escaped = true;
        } else if character == quote {
            return Some(at);
        }
    }
    None
}

fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            plain.push(character);
            continue;
        }
        match characters.next() {
            Some('n') => plain.push('\n'),
            Some('r') => plain.push('\r'),
            Some('t') => plain.push('\t'),
            Some(other @ ('"' | '\\' | '$')) => plain.push(other),
            Some(other) => plain.extend(['\\', other]),
            None => plain.push('\\'),
        }
    }
    plain
}

/// Strips the comment after a value.
fn strip_comment(value: &str) -> &str {
    if value.starts_with('#') {
        return "";
    }
    let end = value
        .match_indices('#')
        .map(|(at, _)| at)
        .find(|at| value.get(..*at).is_some_and(|before| before.ends_with(char::is_whitespace)));
    value.get(..end.unwrap_or(value.len())).unwrap_or_default().trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: &[(&str, &str)]) {
        let got = parse(text).unwrap_or_else(|malformed| panic!("{text:?}: {malformed:?}"));
        let got: Vec<(&str, &str)> =
            got.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(got, want, "{text:?}");
    }

    #[test]
    fn lines_are_read_as_dotenv_has_them() {
        check("", &[]);
        check("# a\n\n  A = b c  \r\nexport B=1", &[("A", "b c"), ("B", "1")]);
        check("A=x#y # z\nB=#z\nC=", &[("A", "x#y"), ("B", ""), ("C", "")]);
        check(r#"A="x # y" # z"#, &[("A", "x # y")]);
        check(r#"A="a\"b\n\\\d""#, &[("A", "a\"b\n\\\\d")]);
        check(r"A='a\n${B}'", &[("A", r"a\n${B}")]);
        check("A=\"-----\nkey\n-----\"\nB=1", &[("A", "-----\nkey\n-----"), ("B", "1")]);
        check("A=1\nA=2\nURL=http://x?a=b", &[("A", "1"), ("A", "2"), ("URL", "http://x?a=b")]);
        check("\u{feff}A=1\nexported=2", &[("A", "1"), ("exported", "2")]);
        // Only variables of docent must not need another one.
        check(
            "URL=${HOST}/x\nMCP_API_KEY='${x}'",
            &[("URL", "${HOST}/x"), ("MCP_API_KEY", "${x}")],
        );
    }

    #[test]
    fn malformed_lines_are_named_without_their_values() {
        let cases = [
            ("A=1\nsekrit", 2, "expected NAME=value, found no `=`"),
            ("\n\n1A=sekrit", 3, "the name before `=` must be"),
            ("A B=sekrit", 1, "the name before `=` must be"),
            ("A=1\nB=\"sekrit\nx\n", 2, "B has an opening \" and no closing one"),
            ("A='sekrit' x", 1, "A has text after its closing '"),
            ("MCP_API_KEY=${sekrit}", 1, "MCP_API_KEY refers to another variable"),
        ];
        for (text, line, want) in cases {
            let malformed = parse(text).unwrap_err();
            assert_eq!(malformed.line, line, "{text:?}");
            assert!(malformed.message.starts_with(want), "{text:?}: {}", malformed.message);
            assert!(!malformed.message.contains("sekrit"), "{text:?}: {}", malformed.message);
        }
    }

    #[test]
    fn a_long_value_is_searched_once() {
        // Takes hours where each line is searched from the opening quote again.
        let lines = "\n".repeat(1 << 20);
        let malformed = parse(&format!("A=\"{lines}")).unwrap_err();
        assert_eq!(malformed.line, 1);
        assert_eq!(parse(&format!("A=\"{lines}\"\nB=1")).unwrap().len(), 2);
        check("A=\"x\\\n\\\"\"", &[("A", "x\\\n\"")]);
    }

    #[test]
    fn names_are_found_beside_malformed_lines() {
        assert_eq!(names("MCP_API_KEY=x\nbroken\nB=2"), ["MCP_API_KEY", "B"]);
    }
}
