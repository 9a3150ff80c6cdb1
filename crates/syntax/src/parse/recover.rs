//! Recognizes heads of definitions by their words in text that the grammar cannot parse.
//!
//! One unsupported statement can lose everything after it. The pack's heads are searched where the tree has errors, and
//! only at the start of a line.

use super::LocatedDefinition;
use crate::{
    annotation::{Annotation, Kind, Parameter, Visibility},
    comment,
    pack::{LanguageSettings, Recover},
};
use std::collections::HashSet;

/// Maximum characters of a parameter list; longer ones are not read.
const MAX_PARAMETER_LIST_CHARS: usize = 4_000;

/// Adds definitions that have a head in the text but were not parsed, in source order.
pub(super) fn recover(
    settings: &LanguageSettings,
    path: &str,
    text: &str,
    definitions: &mut Vec<LocatedDefinition>,
) {
    let known: HashSet<(u32, String)> =
        definitions.iter().map(|one| (one.annotation.line, one.annotation.name.clone())).collect();
    let mut starts: HashSet<u32> = definitions.iter().map(|one| one.annotation.line).collect();
    let mut lines: Vec<(usize, &str)> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        lines.push((at, line));
        at += line.len();
    }
    let heads: Vec<(usize, Kind, String)> = lines
        .iter()
        .enumerate()
        .filter_map(|(row, (_, line))| {
            let (kind, name) = head(&settings.recover, line)?;
            Some((row, kind, name))
        })
        .collect();
    let plain: Vec<&str> = lines.iter().map(|(_, line)| *line).collect();
    starts.extend(heads.iter().map(|(row, ..)| number(*row)));
    for (row, kind, written) in heads {
        let parts: Vec<&str> = written.split('.').map(bare).collect();
        let name = parts.last().copied().unwrap_or_default().to_owned();
        if name.is_empty() || known.contains(&(number(row), name.clone())) {
            continue;
        }
        let ends: &[String] = if kind.is_callable() { &settings.recover.ends } else { &[] };
        let last = last_row(ends, &lines, row, &starts);
        let (start, _) = lines[row];
        let (last_start, last_line) = lines[last];
        let range = start..last_start + last_line.trim_end().len();
        let (signature, parameters) = list(text.get(range.clone()).unwrap_or_default());
        let qualified = parts.join(&settings.separator);
        let annotation = Annotation {
            id: format!("{}:{path}:{qualified}", kind.singular()),
            kind,
            name,
            qualified_name: qualified,
            signature,
            parameters: kind.is_callable().then_some(parameters),
            return_type: None,
            modifiers: Vec::new(),
            visibility: Visibility::Public,
            decorators: Vec::new(),
            description: comment::lines_before(plain.get(..row).unwrap_or_default()),
            doc: None,
            line: number(row),
            end_line: number(last),
            exported: true,
            parent: None,
            complexity: None,
            calls: Vec::new(),
        };
        definitions.push(LocatedDefinition {
            annotation,
            callable: range.clone(),
            range,
            implements: false,
            has_body: kind.is_callable(),
            holder: 0,
            owner: None,
        });
    }
    definitions.sort_by_key(|one| (one.range.start, std::cmp::Reverse(one.range.end)));
}

fn number(row: usize) -> u32 {
    u32::try_from(row).unwrap_or(u32::MAX).saturating_add(1)
}

/// The kind, and the name as it is written, where a line begins like one of the heads.
fn head(recover: &Recover, line: &str) -> Option<(Kind, String)> {
    if !line.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let words = words(line);
    let heads = recover.heads.iter();
    let mut heads = heads.flat_map(|(kind, heads)| heads.iter().map(|head| (*kind, head)));
    heads.find_map(|(kind, head)| Some((kind, name(head, &words)?.to_owned())))
}

/// `$` is the name; a word with `?` may be left out; one with `*` only has to begin like that.
fn name<'a>(head: &[String], words: &[&'a str]) -> Option<&'a str> {
    let mut rest = words.iter();
    let mut found = None;
    for wanted in head {
        let word = rest.as_slice().first().copied();
        if wanted == "$" {
            found = Some(word.filter(|word| !matches!(*word, "(" | ")"))?);
            rest.next();
            continue;
        }
        let plain = wanted.trim_end_matches('?');
        let same = word.is_some_and(|word| match plain.strip_suffix('*') {
            Some(start) => {
                word.get(..start.len()).is_some_and(|own| own.eq_ignore_ascii_case(start))
            }
            None => word.eq_ignore_ascii_case(plain),
        });
        if same {
            rest.next();
        } else if plain == wanted {
            return None;
        }
    }
    found
}

/// Parentheses are words of their own.
fn words(line: &str) -> Vec<&str> {
    let spaced = line.split(|c: char| c.is_whitespace() || matches!(c, ';' | ',' | '{'));
    let mut words = Vec::new();
    for piece in spaced {
        let mut rest = piece;
        while let Some(at) = rest.find(['(', ')']) {
            let (before, after) = rest.split_at_checked(at).unwrap_or((rest, ""));
            let (mark, after) = after.split_at_checked(1).unwrap_or((after, ""));
            words.extend([before, mark].into_iter().filter(|word| !word.is_empty()));
            rest = after;
        }
        words.extend(Some(rest).filter(|word| !word.is_empty()));
    }
    words
}

/// A name without what it is quoted with.
fn bare(name: &str) -> &str {
    name.trim_matches(['"', '`', '\'', '[', ']'])
}

/// It ends at a line that ends a definition, else before the next head, else with its own head. Without configured
/// ends, a semicolon is one.
fn last_row(ends: &[String], lines: &[(usize, &str)], row: usize, starts: &HashSet<u32>) -> usize {
    for (below, (_, line)) in lines.iter().enumerate().skip(row) {
        let begins = |end: &String| {
            line.get(..end.len()).is_some_and(|start| start.eq_ignore_ascii_case(end))
        };
        if ends.is_empty() && line.trim_end().ends_with(';') {
            return below;
        }
        if below > row && ends.iter().any(begins) {
            return below;
        }
        if below > row && starts.contains(&number(below)) {
            let filled = (row..below).rev().find(|row| !lines[*row].1.trim().is_empty());
            return filled.unwrap_or(row);
        }
    }
    row
}

/// The head up to the end of its parameters on one line, and the parameters.
fn list(text: &str) -> (String, Vec<Parameter>) {
    let first = text.lines().next().unwrap_or_default();
    let one_line = |text: &str| {
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        line.trim_end_matches([' ', '{', ';']).to_owned()
    };
    let Some(open) = first.find('(') else { return (one_line(first), Vec::new()) };
    let mut depth = 0_usize;
    let mut pieces = Vec::new();
    let mut from = open + 1;
    for (at, c) in
        text.char_indices().skip_while(|(at, _)| *at < open).take(MAX_PARAMETER_LIST_CHARS)
    {
        match c {
            '(' => depth += 1,
            ')' if depth == 1 => {
                pieces.push(text.get(from..at).unwrap_or_default());
                let head = text.get(..=at).unwrap_or_default();
                return (one_line(head), pieces.into_iter().filter_map(parameter).collect());
            }
            ')' => depth -= 1,
            ',' if depth == 1 => {
                pieces.push(text.get(from..at).unwrap_or_default());
                from = at + 1;
            }
            _ => {}
        }
    }
    (one_line(first), Vec::new())
}

/// `[mode] name type [DEFAULT value]`; a word alone is a type.
fn parameter(text: &str) -> Option<Parameter> {
    let is = |word: &str, all: &[&str]| all.iter().any(|one| one.eq_ignore_ascii_case(word));
    let words: Vec<&str> = text
        .split_whitespace()
        .skip_while(|word| is(word, &["in", "out", "inout", "variadic"]))
        .collect();
    let default = words.iter().position(|word| is(word, &["default", "=", ":="]));
    let (own, value) = words.split_at(default.unwrap_or(words.len()));
    let (name, of) = match own {
        [] => return None,
        [of] => ("_", (*of).to_owned()),
        [name, of @ ..] => (bare(name), of.join(" ")),
    };
    let default = value.get(1..).filter(|value| !value.is_empty()).map(|value| value.join(" "));
    Some(Parameter { name: name.to_owned(), of: Some(of), optional: default.is_some(), default })
}

#[cfg(test)]
mod tests {
    use crate::{Language, parse};

    /// `lines qualified(parameters)` of every function.
    fn functions(language: Language, text: &str) -> Vec<String> {
        let tree = parse::tree(language, text, &|| false).unwrap();
        let all =
            parse::definitions(language, "f", text, &tree).into_iter().map(|one| one.annotation);
        let all = all.filter(|one| one.kind.is_callable());
        all.map(|one| {
            let names: Vec<String> =
                one.parameters.unwrap_or_default().into_iter().map(|p| p.name).collect();
            let said = one.description.unwrap_or_default();
            format!(
                "{}-{} {}({}) {said}",
                one.line,
                one.end_line,
                one.qualified_name,
                names.join(" ")
            )
        })
        .collect()
    }

    #[test]
    fn procedures_are_found_where_the_grammar_has_none() {
        let text = "-- Fills up.\nCREATE OR REPLACE PROCEDURE shop.refill(IN item int, amount numeric(10, 2) DEFAULT 5)\nLANGUAGE sql\nAS $$\n  UPDATE stock SET n = 1;\n$$;\n\nCREATE FUNCTION header(OUT lsn pg_lsn, OUT int)\nAS 'MODULE_PATHNAME', 'header' LANGUAGE C;\nCREATE FUNCTION plain(a int) RETURNS int AS 'select 1' LANGUAGE sql;\nCREATE PROCEDURE [dbo].[Report] @day date\nAS\nBEGIN\n  SELECT 1\nEND\nGO\n";
        let want = [
            "2-6 shop.refill(item amount) Fills up.",
            "8-9 header(lsn _) ",
            "10-10 plain(a) ",
            "11-15 dbo.Report() ",
        ];
        assert_eq!(functions(Language::Sql, text), want);
        let text = "CREATE VIEW a AS\n  SELECT f(x) :: ??? FROM );\nCREATE VIEW b WITH (fast) AS\n  SELECT 1;\n";
        let tree = parse::tree(Language::Sql, text, &|| false).unwrap();
        let all = parse::definitions(Language::Sql, "f", text, &tree);
        let shown: Vec<_> =
            all.iter().map(|one| (one.annotation.line, one.annotation.end_line)).collect();
        assert_eq!(shown, [(1, 2), (3, 4)]);
    }

    #[test]
    fn functions_after_an_error_are_found() {
        let broken =
            "if [[ $a =~ (\\$\\{[#!]?)([A-Za-z0-9_]*)\\[([^]]*)$ ]]; then\n  x=${a[b\nfi\n";
        let text = format!(
            "{broken}# Says.\nlog() {{\n  echo \"$1\"\n}}\nfunction die\n{{\n  exit 1\n}}\n"
        );
        let want = ["5-7 log() Says.", "8-11 die() "];
        assert_eq!(functions(Language::Bash, &text), want);
        assert!(
            functions(Language::Bash, "cat <<E\nlog() {\nE\n").is_empty(),
            "no error, nothing to recover"
        );
    }
}
