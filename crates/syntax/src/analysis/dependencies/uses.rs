//! Imports that are trees: `a::{b, c::{d, e}}`.

use super::{ImportQuery, ImportTarget, StatementPart};

/// Maximum bytes of a path; hand-written ones are shorter.
const MAX_PATH_BYTES: usize = 1000;

/// One path of a tree.
#[derive(Debug, PartialEq, Eq)]
struct UsePath {
    /// The part before the innermost braces; empty without braces.
    before: String,
    /// The rest.
    name: String,
}

/// The target of each path of a statement. Names with the same prefix are grouped if they have the same target.
pub(super) fn parts(
    asked: &ImportQuery<'_>,
    separator: &str,
    resolve: &dyn Fn(&str) -> ImportTarget,
) -> Vec<StatementPart> {
    let mut all: Vec<StatementPart> = Vec::new();
    let names = asked.statement.names.iter();
    let mut leaves = leaves(asked.module(), separator);
    if let ([only], true) = (leaves.as_slice(), names.len() > 0) {
        let before = full_path(only, separator);
        leaves = names.map(|name| UsePath { before: before.clone(), name: name.clone() }).collect();
    }
    for leaf in leaves {
        let target = resolve(&full_path(&leaf, separator));
        if leaf.before.is_empty() {
            all.push(StatementPart { module: leaf.name, names: Vec::new(), target });
            continue;
        }
        let same = |part: &&mut StatementPart| {
            part.module == leaf.before && part.target == target && !part.names.is_empty()
        };
        match all.iter_mut().rev().take(1).find(same) {
            Some(part) => part.names.push(leaf.name),
            None => all.push(StatementPart { module: leaf.before, names: vec![leaf.name], target }),
        }
    }
    all
}

/// The full path. `self` in braces means the part before them.
fn full_path(leaf: &UsePath, separator: &str) -> String {
    match (leaf.before.as_str(), leaf.name.as_str()) {
        ("", name) => name.to_owned(),
        (before, "self") => before.to_owned(),
        (before, name) => format!("{before}{separator}{name}"),
    }
}

fn leaves(text: &str, separator: &str) -> Vec<UsePath> {
    // If a path has no node of its own, the whole statement is used.
    let text = strip_comments(text.strip_prefix("import ").unwrap_or(text));
    let mut all = Vec::new();
    let mut before: Vec<String> = vec![String::new()];
    let mut word = String::new();
    for character in text.chars() {
        match character {
            '{' => {
                let around = before.last().map_or("", String::as_str);
                let own = word.trim().trim_end_matches(separator);
                let both = [around, own].into_iter().filter(|part| !part.is_empty());
                before.push(both.collect::<Vec<_>>().join(separator));
                word.clear();
            }
            '}' | ',' => {
                all.extend(leaf(&before, &word));
                word.clear();
                if character == '}' && before.len() > 1 {
                    before.pop();
                }
            }
            other => word.push(other),
        }
        if before.last().is_some_and(|path| path.len() > MAX_PATH_BYTES) {
            break;
        }
    }
    all.extend(leaf(&before, &word));
    all
}

/// An aliased name is resolved by its original name.
fn leaf(before: &[String], word: &str) -> Option<UsePath> {
    let name = word.split(" as ").next().unwrap_or(word);
    let name = name.split("=>").next().unwrap_or(name);
    let name: String = name.split_whitespace().collect();
    let before = before.last().cloned().unwrap_or_default();
    (!name.is_empty()).then_some(UsePath { before, name })
}

fn strip_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("/*") {
        kept.push_str(before);
        rest = after.split_once("*/").map_or("", |(_, after)| after);
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_read_to_their_leaves() {
        let cases = [
            ("a::b::C", "a::b::C"),
            ("a::{b, c::{self, D as E}, f::*}", "a b|a::c self|a::c D|a f::*"),
            ("{a::b, c}", "a::b|c"),
            ("a::{b /* not {c} */, d,}", "a b|a d"),
        ];
        for (text, want) in cases {
            let found = leaves(text, "::");
            let shown: Vec<String> = found
                .iter()
                .map(|one| format!("{} {}", one.before, one.name).trim().to_owned())
                .collect();
            assert_eq!(shown.join("|"), want, "{text}");
        }
    }

    #[test]
    fn deep_trees_end() {
        let text = "a::{".repeat(100_000);
        assert!(leaves(&text, "::").len() < 2);
    }
}
