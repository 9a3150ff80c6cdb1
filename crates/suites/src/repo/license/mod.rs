//! Identifies a project's license from license files, manifests, or both.

mod notice;
mod similarity;
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

/// Maximum number of license files to read.
const MAX_LICENSE_FILES: usize = 24;
/// Bytes read from a license file: comparing a text with every known license is slow.
const MAX_LICENSE_BYTES: u64 = 256 << 10;
/// Maximum number of source files searched for the version of a GNU license.
const MAX_NOTICE_SOURCES: usize = 60;
/// Bytes of a source file that may contain the notice.
const MAX_NOTICE_BYTES: u64 = 2048;

/// Phrases that introduce third-party code: licenses after them are not the project's own.
const THIRD_PARTY_PHRASES: &[&str] = &[
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

/// Whole words of terms that change a license, in lowercase.
const LICENSE_TERMS: &[&str] = &[
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

/// Returns the SPDX expression of a text, if certain. The text of a GNU license does not distinguish `-only` from
/// `-or-later`: its id has neither.
#[cfg(test)]
fn identify(text: &str) -> Option<String> {
    word_for_word(text).or_else(|| SpdxLicenses::load()?.most_like(text))
}

/// Identifies the project's license, and lists files that could not be read.
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

/// Whether two expressions share no license.
pub(super) fn disagree(one: &str, other: &str) -> bool {
    let (one, other) = (ids(one), ids(other));
    !one.is_empty() && !other.is_empty() && one.is_disjoint(&other)
}

/// Converts a manifest's license to an SPDX expression; `None` if uncertain.
pub(super) fn normalize_expression(licence: &str) -> Option<String> {
    expression(licence).or_else(|| notice::read(licence))
}

/// Identifies the license files, with one expression for each known one.
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
    // Similarity is slow and never more certain than the project's own statement.
    if held.is_empty()
        && !unknown.is_empty()
        && from_manifests(manifests, &BTreeSet::new()).is_none()
        && let Some(listed) = SpdxLicenses::load()
    {
        held.extend(unknown.iter().filter_map(|text| listed.most_like(text)));
    }
    (held, problems)
}

/// Returns the top-level license files, and those in `LICENSES/`.
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

/// Returns the expression of a text that contains known licenses verbatim, or only names them.
fn word_for_word(text: &str) -> Option<String> {
    let found = texts::find(text);
    if found.is_empty() { notice::read(text) } else { join_found(text, &found) }
}

/// Combines the licenses in one text; `None` if it has additional terms.
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
    // Licenses named next to the texts count too, and their role is unknown.
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

/// Whether these two licenses are by convention offered as a choice.
fn is_pair<'a>(ids: impl Iterator<Item = &'a str>) -> bool {
    let mut ids: Vec<&str> = ids.collect();
    ids.sort_unstable();
    ids == ["Apache-2.0", "MIT"]
}

/// The LGPL incorporates the GPL, so the GPL text often accompanies it.
fn drop_incorporated(ids: &mut Vec<String>) {
    if ids.iter().any(|id| id == "LGPL-3.0") {
        ids.retain(|id| id != "GPL-3.0");
    }
}

/// Returns where a text starts to list third-party code.
fn of_others(text: &str) -> Option<usize> {
    let text = text.to_ascii_lowercase();
    THIRD_PARTY_PHRASES.iter().filter_map(|phrase| text.find(phrase)).min()
}

/// Whether a text has additional terms, ignoring copyright lines.
fn has_terms(text: &str) -> bool {
    text.lines().any(|line| {
        let plain = notice::words(line);
        !plain.starts_with(" copyright ")
            && !plain.starts_with(" c ")
            && plain.split(' ').any(|word| LICENSE_TERMS.contains(&word))
    })
}

/// Returns the license in the outermost manifests, if they agree, or if one includes all license texts.
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

/// Combines the licenses of several files.
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

/// Adds `-only` or `-or-later` to GNU licenses if the source file notices agree.
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

/// Parses an SPDX expression, or an older form: `MIT/Apache-2.0`, `GPL-2.0+`.
fn expression(text: &str) -> Option<String> {
    let spaced = text.replace('/', " OR ");
    let spaced = spaced.split_whitespace().collect::<Vec<_>>().join(" ");
    let mode = ParseMode {
        allow_slash_as_or_operator: false,
        // The lenient parser guesses: `BSD` would become the two-clause license.
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

/// Returns the licenses in an expression, without distinctions that a text does not show.
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

/// Strips what the text of a GNU license does not show.
fn base(id: &str) -> &str {
    let id = id.strip_suffix('+').unwrap_or(id);
    let id = id.strip_suffix("-only").or_else(|| id.strip_suffix("-or-later")).unwrap_or(id);
    id.strip_suffix("-no-invariants").or_else(|| id.strip_suffix("-invariants")).unwrap_or(id)
}

#[cfg(test)]
mod tests;
