//! Under which licence a project comes: by the text of its licence files, by what its manifests say, and by both.

mod similarity;
mod notice;
mod texts;

use super::{
    languages,
    report::{Manifest, Nature, Presence},
    tree::ProjectTree,
};
use crate::files::ReadFailure;
use similarity::SpdxLicenses;
use spdx::{Expression, ParseMode};
use std::collections::BTreeSet;

/// More licence files than this are not read.
const MAX_LICENSE_FILES: usize = 24;
/// Bytes of a licence file that are read: to compare a text with every known licence takes long.
const MAX_LICENSE_BYTES: u64 = 256 << 10;
/// Source files whose first lines are asked which versions of a GNU licence they mean.
const MAX_NOTICE_SOURCES: usize = 60;
/// Where the notice of a source file must end.
const MAX_NOTICE_BYTES: u64 = 2048;

/// Words that start a list of what others wrote: licences after them are not the project's own.
const OTHERS: &[&str] = &[
    "third-party",
    "third party",
    "3rd party",
    "bundle",
    "vendored",
    "portions of",
    "parts of",
    "dependencies",
    "includes code",
    "includes software",
    "incorporate",
    "derived from",
    "based on",
    "subcomponents",
    "following files",
    "following components",
    "following software",
    "this product includes",
    "also includes",
    "this project includes",
    "this software includes",
    "contains code",
    "is adapted from",
    "taken from",
];

/// Words of terms that change what a licence means; in lower case, and whole.
const TERMS: &[&str] = &[
    "shall",
    "must",
    "permission",
    "permitted",
    "granted",
    "prohibited",
    "forbidden",
    "warranty",
    "liable",
    "restriction",
    "restrictions",
    "evil",
    "interpreted",
    "obligation",
    "acknowledge",
];

/// The SPDX expression of a text, where it is sure. The text of a GNU licence does not tell `-only` from `-or-later`:
/// its id comes without either.
#[cfg(test)]
fn identify(text: &str) -> Option<String> {
    word_for_word(text).or_else(|| SpdxLicenses::load()?.most_like(text))
}

/// Under which licence the project comes, and what could not be read.
pub(super) fn of_project(
    tree: &ProjectTree,
    presence: &Presence,
    manifests: &[Manifest],
) -> (Option<String>, Vec<ReadFailure>) {
    let (held, problems) = read_files(tree, presence, manifests);
    let ids: BTreeSet<String> = held.iter().flat_map(|expression| ids(expression)).collect();
    let says = from_manifests(manifests, &ids);
    let texts = combine(tree, presence, &held, &ids);
    let expression = match (texts, says) {
        (Some(texts), Some(says)) if disagree(&texts, &says) => Some(texts),
        (_, Some(says)) => Some(says),
        (texts, None) => texts.map(|texts| with_versions(tree, &texts)),
    };
    (expression, problems)
}

/// Whether two expressions have no licence in common.
pub(super) fn disagree(one: &str, other: &str) -> bool {
    let (one, other) = (ids(one), ids(other));
    !one.is_empty() && !other.is_empty() && one.is_disjoint(&other)
}

/// What a manifest means, as SPDX writes it; `None` where that is not sure.
pub(super) fn normalize_expression(licence: &str) -> Option<String> {
    expression(licence).or_else(|| notice::read(licence))
}

/// What the licence files hold, one expression for each that tells.
fn read_files(
    tree: &ProjectTree,
    presence: &Presence,
    manifests: &[Manifest],
) -> (Vec<String>, Vec<ReadFailure>) {
    let (mut held, mut unknown, mut problems) = (Vec::new(), Vec::new(), Vec::new());
    for path in files(tree, presence) {
        match tree.head(path, MAX_LICENSE_BYTES) {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                match word_for_word(&text) {
                    Some(expression) => held.push(expression),
                    None => unknown.push(text),
                }
            }
            Err(problem) => problems.push(problem),
        }
    }
    // Likeness is dear and never surer than the project's own word.
    if held.is_empty()
        && !unknown.is_empty()
        && from_manifests(manifests, &BTreeSet::new()).is_none()
        && let Some(listed) = SpdxLicenses::load()
    {
        held.extend(unknown.iter().filter_map(|text| listed.most_like(text)));
    }
    (held, problems)
}

/// Files at the top that hold the project's licence, and those of `LICENSES/`.
fn files<'a>(tree: &'a ProjectTree, presence: &'a Presence) -> Vec<&'a str> {
    let mut files: Vec<&str> = tree
        .files()
        .iter()
        .filter(|file| {
            let prose = file.language.is_none_or(|it| languages::nature(it) == Nature::Prose);
            prose
                && (file.folder() == "LICENSES"
                    || (file.folder().is_empty() && is_licence(file.name())))
        })
        .map(|file| file.path.as_ref())
        .take(MAX_LICENSE_FILES)
        .collect();
    if let Some(path) = presence.licence.as_deref()
        && !files.contains(&path)
    {
        files.push(path);
    }
    files
}

fn is_licence(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let named = ["licence", "license", "copying", "unlicense", "mit-license"];
    let others = ["third", "3rd", "bundled", "header", "vendor", "other"];
    named.iter().any(|start| name.starts_with(start))
        && !others.iter().any(|word| name.contains(word))
}

/// The expression of a text that holds known licences word for word, or that only names them.
fn word_for_word(text: &str) -> Option<String> {
    let found = texts::find(text);
    if found.is_empty() { notice::read(text) } else { join_found(text, &found) }
}

/// How the licences in one text combine; `None` where it has terms of its own.
fn join_found(text: &str, found: &[texts::LicenseMatch]) -> Option<String> {
    let mut between = String::new();
    let mut ids: Vec<String> = Vec::new();
    let mut end = 0;
    for found in found {
        let gap = text.get(end..found.span.0).unwrap_or_default();
        if !ids.is_empty() && of_others(gap).is_some() {
            break;
        }
        between.push_str(gap);
        between.push('\n');
        end = found.span.1;
        if spdx::exception_id(found.id).is_some() {
            let last = ids.last_mut()?;
            last.push_str(" WITH ");
            last.push_str(found.id);
        } else if !ids.iter().any(|known| known == found.id) {
            ids.push(found.id.to_owned());
        }
    }
    let rest = text.get(end..).unwrap_or_default();
    between.push_str(of_others(rest).and_then(|at| rest.get(..at)).unwrap_or(rest));
    // What is named beside the texts counts as well, and its part in it is not known.
    let names = notice::words(&between);
    let others = notice::named(&names)
        .into_iter()
        .any(|name| !ids.iter().any(|id| id.split(' ').next() == Some(name)));
    if others || has_terms(&between) {
        return None;
    }
    drop_incorporated(&mut ids);
    let choice = notice::leaves_choice(&between) || is_pair(ids.iter().map(String::as_str));
    Some(ids.join(if choice { " OR " } else { " AND " }))
}

/// Whether these are the two licences that come together to be chosen from, by a custom that needs no words.
fn is_pair<'a>(ids: impl Iterator<Item = &'a str>) -> bool {
    let mut ids: Vec<&str> = ids.collect();
    ids.sort_unstable();
    ids == ["Apache-2.0", "MIT"]
}

/// The LGPL takes in the GPL, whose text comes with it for that reason.
fn drop_incorporated(ids: &mut Vec<String>) {
    if ids.iter().any(|id| id == "LGPL-3.0") {
        ids.retain(|id| id != "GPL-3.0");
    }
}

/// Where a text turns to what others wrote.
fn of_others(text: &str) -> Option<usize> {
    let text = text.to_ascii_lowercase();
    OTHERS.iter().filter_map(|phrase| text.find(phrase)).min()
}

/// Whether a text has terms of its own, lines of copyright left out.
fn has_terms(text: &str) -> bool {
    text.lines().any(|line| {
        let plain = notice::words(line);
        !plain.starts_with(" copyright ")
            && !plain.starts_with(" c ")
            && plain.split(' ').any(|word| TERMS.contains(&word))
    })
}

/// What the outermost manifests say, where they agree, or where one of them has all that the texts have.
fn from_manifests(manifests: &[Manifest], texts: &BTreeSet<String>) -> Option<String> {
    let own = |manifest: &&Manifest| !manifest.path.split('/').any(is_of_others);
    let saying = manifests.iter().filter(own).filter(|manifest| manifest.licence.is_some());
    let depth = |manifest: &Manifest| manifest.path.matches('/').count();
    let outermost = saying.clone().map(depth).min()?;
    let meant: BTreeSet<String> = saying
        .filter(|manifest| depth(manifest) == outermost)
        .filter_map(|manifest| normalize_expression(manifest.licence.as_deref()?))
        .collect();
    let mut fitting =
        meant.iter().filter(|expression| !texts.is_empty() && ids(expression).is_superset(texts));
    match (meant.len(), fitting.next()) {
        (1, _) => meant.iter().next().cloned(),
        (_, Some(fitting)) => Some(fitting.clone()),
        _ => None,
    }
}

fn is_of_others(folder: &str) -> bool {
    ["test", "tests", "fixtures", "testdata", "examples", "vendor", "third_party"].contains(&folder)
}

/// How the licences of several files combine.
fn combine(
    tree: &ProjectTree,
    presence: &Presence,
    held: &[String],
    all: &BTreeSet<String>,
) -> Option<String> {
    if let Some(whole) = held.iter().find(|expression| ids(expression) == *all) {
        return Some(whole.clone());
    }
    let mut each: Vec<String> = Vec::new();
    for expression in held {
        if !each.contains(expression) {
            each.push(expression.clone());
        }
    }
    each.sort();
    drop_incorporated(&mut each);
    let choice = is_pair(all.iter().map(String::as_str)) || readme_leaves_choice(tree, presence);
    let joined = |expression: &String| {
        if each.len() > 1 && expression.contains(' ') && !expression.contains(" WITH ") {
            format!("({expression})")
        } else {
            expression.clone()
        }
    };
    let each: Vec<String> = each.iter().map(joined).collect();
    (!each.is_empty()).then(|| each.join(if choice { " OR " } else { " AND " }))
}

fn readme_leaves_choice(tree: &ProjectTree, presence: &Presence) -> bool {
    let text = presence.readme.as_deref().and_then(|path| tree.text(path).ok());
    text.is_some_and(|text| {
        let lower = text.to_ascii_lowercase();
        let licence = lower.rfind("licen").and_then(|at| text.get(at.saturating_sub(1000)..));
        notice::leaves_choice(licence.unwrap_or(&text))
    })
}

/// Adds `-only` or `-or-later` to GNU licences, where the notices of source files agree on it.
fn with_versions(tree: &ProjectTree, expression: &str) -> String {
    let bare = |id: &str| id.contains("GPL-") && base(id) == id;
    if !expression.split(' ').any(bare) {
        return expression.to_owned();
    }
    let is_source = |language| languages::nature(language) == Nature::Program;
    let sources = tree.files().iter().filter(|file| {
        file.language.is_some_and(is_source) && !file.path.split('/').any(is_of_others)
    });
    let (mut later, mut only) = (0, 0);
    for file in sources.take(MAX_NOTICE_SOURCES) {
        let head = tree.head(&file.path, MAX_NOTICE_BYTES).unwrap_or_default();
        match notice::later_versions(&String::from_utf8_lossy(&head)) {
            Some(true) => later += 1,
            Some(false) => only += 1,
            None => {}
        }
    }
    let suffix = match (later, only) {
        (2.., 0) => "-or-later",
        (0, 2..) => "-only",
        _ => return expression.to_owned(),
    };
    let each = expression
        .split(' ')
        .map(|id| if bare(id) { format!("{id}{suffix}") } else { id.to_owned() });
    each.collect::<Vec<_>>().join(" ")
}

/// A text that is an expression as SPDX writes it, or as older manifests do: `MIT/Apache-2.0`, `GPL-2.0+`.
fn expression(text: &str) -> Option<String> {
    let spaced = text.replace('/', " OR ");
    let spaced = spaced.split_whitespace().collect::<Vec<_>>().join(" ");
    let mode = ParseMode {
        allow_slash_as_or_operator: false,
        // They guess: `BSD` would become the one with two clauses.
        allow_imprecise_license_names: false,
        allow_postfix_plus_on_gpl: true,
        allow_deprecated: true,
        allow_unknown: false,
    };
    if Expression::parse_mode(&spaced, mode).is_ok() {
        return Some(Expression::canonicalize(&spaced).ok().flatten().unwrap_or(spaced));
    }
    let listed = spdx::identifiers::LICENSES.iter().map(|licence| licence.name);
    listed.into_iter().find(|name| name.eq_ignore_ascii_case(&spaced)).map(str::to_owned)
}

/// The licences that an expression names, without what a text can't tell.
fn ids(expression: &str) -> BTreeSet<String> {
    let words = expression.split([' ', '(', ')']).filter(|word| !word.is_empty());
    let mut ids = BTreeSet::new();
    let mut exception = false;
    for word in words {
        match word {
            "AND" | "OR" => {}
            "WITH" => exception = true,
            _ if exception => exception = false,
            id => {
                ids.insert(base(id).to_owned());
            }
        }
    }
    ids
}

/// Without what the text of a GNU licence does not tell.
fn base(id: &str) -> &str {
    let id = id.strip_suffix('+').unwrap_or(id);
    let id = id.strip_suffix("-only").or_else(|| id.strip_suffix("-or-later")).unwrap_or(id);
    id.strip_suffix("-no-invariants").or_else(|| id.strip_suffix("-invariants")).unwrap_or(id)
}

#[cfg(test)]
mod tests;
