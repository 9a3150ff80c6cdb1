//! Makefiles: targets that people type.

use super::{DeclaredTarget, TaskTarget, script};
use crate::repo::{
    project::{purpose, sources::ProjectSources},
    tree::{folder_of, join},
};
use std::collections::HashSet;

/// Reads the targets of a Makefile and of those it includes by name.
pub(super) fn makefile(sources: &ProjectSources<'_>, path: &str, text: &str) -> Vec<TaskTarget> {
    let mut offers = targets_of(path, text);
    for included in included(text) {
        let found = join(folder_of(path), included).filter(|it| sources.tree.file(it).is_some());
        let Some(included) = found else { continue };
        // An unreadable file is missing from the list, and `make` would report it.
        let Ok(text) = sources.tree.text(&included) else { continue };
        let known: HashSet<String> = offers.iter().map(|offer| offer.name.clone()).collect();
        let more = targets_of(&included, &text);
        offers.extend(more.into_iter().filter(|offer| !known.contains(&offer.name)));
    }
    offers
}

fn targets_of(path: &str, text: &str) -> Vec<TaskTarget> {
    targets(text)
        .into_iter()
        .map(|target| {
            let command = format!("make {}", target.name);
            target.offer(path, command)
        })
        .collect()
}

fn included(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().filter_map(|line| {
        let rest = line.strip_prefix("include ").or_else(|| line.strip_prefix("-include "))?;
        (!rest.contains('$')).then_some(rest)
    });
    lines.flat_map(str::split_whitespace)
}

fn targets(text: &str) -> Vec<DeclaredTarget> {
    let mut found: Vec<DeclaredTarget> = Vec::new();
    let mut phony: HashSet<String> = HashSet::new();
    // Targets of the current recipe.
    let mut open: std::ops::Range<usize> = 0..0;
    let mut lines = (1..).zip(text.lines());
    while let Some((number, line)) = lines.next() {
        if let Some(recipe) = line.strip_prefix('\t') {
            let recipe = recipe.trim_start_matches(['@', '-', '+']);
            for target in found.get_mut(open.clone()).unwrap_or_default() {
                target.body.push_str(recipe);
                target.body.push('\n');
            }
            continue;
        }
        let mut line = line.to_owned();
        while let Some(start) = line.strip_suffix('\\') {
            let Some((_, next)) = lines.next() else { break };
            line = format!("{start} {next}");
        }
        let Some((names, needs)) = rule(&line) else { continue };
        if names == ".PHONY" {
            phony.extend(needs.split_whitespace().map(str::to_owned));
            continue;
        }
        let start = found.len();
        let first = needs.split([';', '#']).next().unwrap_or_default().split_whitespace();
        let first = script(first.filter(|it| !it.contains('$')).map(|it| format!("make {it}")));
        found.extend(names.split_whitespace().map(|name| DeclaredTarget {
            name: name.to_owned(),
            body: first.clone(),
            line: Some(number),
        }));
        open = start..found.len();
    }
    if let Some(documents) = sphinx(text) {
        found.push(documents);
        phony.insert("html".into());
    }
    let mut seen = HashSet::new();
    found.retain(|target| is_typed(&target.name, &phony) && seen.insert(target.name.clone()));
    found
}

/// Splits a rule at its colon.
fn rule(line: &str) -> Option<(&str, &str)> {
    let (names, needs) = line.split_once(':')?;
    let is_rule = !names.is_empty()
        && !names.starts_with([' ', '#'])
        && !names.contains(['=', '$', '%', '(', '"', '\''])
        && !needs.starts_with('=')
        && !needs.starts_with(":=")
        && !needs.split(['#', ';']).next().unwrap_or_default().contains('=');
    is_rule.then(|| (names.trim(), needs.trim_start_matches(':')))
}

/// Whether a target is a task and not a file to build.
fn is_typed(name: &str, phony: &HashSet<String>) -> bool {
    if name.starts_with(['.', '_']) || name.contains(['/', '*']) {
        return false;
    }
    phony.contains(name) || (!name.contains('.') && purpose::purpose_of_name(name).is_some())
}

/// Returns the target of a Sphinx Makefile, which passes every target on.
fn sphinx(text: &str) -> Option<DeclaredTarget> {
    let at = text.lines().position(|line| line.starts_with("%: Makefile"))?;
    let is_sphinx = text.contains("sphinx-build") || text.contains("SPHINXBUILD");
    let line = u32::try_from(at + 1).ok();
    is_sphinx.then(|| DeclaredTarget { name: "html".into(), body: String::new(), line })
}
