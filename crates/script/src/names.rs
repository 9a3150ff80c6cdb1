//! Identifiers, and the function names of tools in a script.

use std::collections::HashSet;

/// The function of every module that calls a tool by its own name.
pub(crate) const RAW_CALL: &str = "$call";

/// The prefix of a client's id in an import.
pub(crate) const MODULE_PREFIX: &str = "mcp-clients/";

/// Words that can't be function names in strict mode.
const RESERVED_WORDS: [&str; 50] = [
    "arguments",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "eval",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "if",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "let",
    "new",
    "null",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "undefined",
    "var",
    "void",
    "while",
    "with",
    "yield",
    "__proto__",
];

/// Whether a word can be a function name.
pub(crate) fn is_identifier(word: &str) -> bool {
    has_form(word) && !RESERVED_WORDS.contains(&word)
}

/// Whether a word can be a property name without quotes.
pub(crate) fn has_form(word: &str) -> bool {
    let mut characters = word.chars();
    characters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_' || first == '$')
        && characters.all(|next| next.is_ascii_alphanumeric() || next == '_' || next == '$')
}

/// Returns the function names of tools, in order: the tool's own name if it is an identifier, otherwise in camel case,
/// with a number if it is taken.
pub(crate) fn functions<'t>(tools: impl Iterator<Item = &'t str> + Clone) -> Vec<String> {
    let own: HashSet<&str> = tools.clone().filter(|name| is_free(name)).collect();
    let mut taken: HashSet<String> = own.iter().map(|name| (*name).to_owned()).collect();
    let mut first: HashSet<&str> = HashSet::new();
    tools
        .map(|name| {
            if own.contains(name) && first.insert(name) {
                name.to_owned()
            } else {
                unused(&camel(name, false), &mut taken)
            }
        })
        .collect()
}

fn is_free(name: &str) -> bool {
    is_identifier(name) && name != RAW_CALL && !name.starts_with("__docent")
}

/// `base`, or `base2`, `base3` …: returns the first that is not in `taken`, and adds it.
pub(crate) fn unused(base: &str, taken: &mut HashSet<String>) -> String {
    let mut name = base.to_owned();
    let mut number = 2_usize;
    while !taken.insert(name.clone()) {
        name = format!("{base}{number}");
        number += 1;
    }
    name
}

/// Converts a name to camel case, capitalized if `upper`; always an identifier.
pub(crate) fn camel(name: &str, upper: bool) -> String {
    let mut made = String::with_capacity(name.len());
    for part in name.split(|character: char| !character.is_ascii_alphanumeric()) {
        let mut characters = part.chars();
        let Some(first) = characters.next() else { continue };
        if made.is_empty() && !upper {
            made.push(first.to_ascii_lowercase());
        } else {
            made.push(first.to_ascii_uppercase());
        }
        made.extend(characters);
    }
    if made.is_empty() {
        made.push_str(if upper { "Tool" } else { "tool" });
    }
    if made.starts_with(|first: char| first.is_ascii_digit()) {
        made.insert(0, '_');
    }
    if !is_free(&made) {
        made.push('_');
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tools: &[&str], want: &[&str]) {
        assert_eq!(functions(tools.iter().copied()), want, "{tools:?}");
    }

    #[test]
    fn tools_become_functions() {
        check(&["add", "read_file", "$call"], &["add", "read_file", "call"]);
        check(&["get-user", "getUser", "get.user"], &["getUser2", "getUser", "getUser3"]);
        check(&["delete", "new", "type", "2fa"], &["delete_", "new_", "type", "_2fa"]);
        check(&["", "天气", "--"], &["tool", "tool2", "tool3"]);
        check(&["same", "same"], &["same", "same2"]);
    }
}
