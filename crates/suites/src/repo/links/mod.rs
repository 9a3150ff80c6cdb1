//! Links and anchors that lead nowhere. Says so only where it is sure: a wrong finding costs trust.

mod ignored;
mod parts;
mod route;
pub(super) mod sites;
mod suggestion;
mod target;
#[cfg(test)]
mod tests;

use super::{
    documents::places,
    facts::{DocumentFacts, Format, Link, anchor_key},
    report::{BrokenLink, LinkProblem, Links},
    tree::{Halt, Tree, folder_of},
};
use rayon::prelude::*;
use route::{End, Routes};
use sites::Sites;
use std::collections::HashMap;
use suggestion::Suggestions;
use target::Target;

/// Broken links that are listed.
const LISTED: usize = 500;

/// Follows every relative link, as far as there is time.
pub(super) fn check(tree: &Tree, documents: &[DocumentFacts], halt: Halt<'_>) -> Links {
    let sites = Sites::of(tree);
    let by_path = documents.iter().map(|document| (&*document.path, document)).collect();
    let checker = Checker { sites: &sites, routes: Routes::of(tree, &sites), by_path };
    let tally = documents
        .par_iter()
        .filter(|_| !halt())
        .map(|document| checker.document(document))
        .reduce(Tally::default, Tally::with);
    let mut broken = tally.broken;
    let own = broken.iter().filter_map(|broken| Some((broken.document, broken.own_fragment()?)));
    let assembled = parts::folders_of_parts(documents, own);
    broken.retain(|broken| {
        broken.own_fragment().is_none() || !assembled.contains(folder_of(&broken.document.path))
    });
    broken.sort_by(|one, other| one.order().cmp(&other.order()));
    let broken_count = broken.len() as u64;
    broken.truncate(LISTED);
    let broken = if broken.is_empty() { Vec::new() } else { checker.tell(tree, broken) };
    Links { checked: tally.checked, external: tally.external, broken_count, broken }
}

#[derive(Default)]
struct Tally<'a> {
    checked: u64,
    external: u64,
    broken: Vec<Broken<'a>>,
}

impl Tally<'_> {
    fn with(mut self, mut other: Self) -> Self {
        self.checked += other.checked;
        self.external += other.external;
        self.broken.append(&mut other.broken);
        self
    }
}

struct Broken<'a> {
    document: &'a DocumentFacts,
    link: &'a Link,
    problem: LinkProblem,
    /// The document without the anchor, or the path in its true letters.
    found: Option<String>,
}

impl<'a> Broken<'a> {
    /// The anchor of the document itself that is not there.
    fn own_fragment(&self) -> Option<&'a str> {
        self.link.target.strip_prefix('#')
    }

    fn order(&self) -> (&str, u32, &str) {
        (&self.document.path, self.link.line, &self.link.target)
    }
}

struct Checker<'a> {
    sites: &'a Sites,
    routes: Routes<'a>,
    by_path: HashMap<&'a str, &'a DocumentFacts>,
}

impl<'a> Checker<'a> {
    fn document(&self, document: &'a DocumentFacts) -> Tally<'a> {
        let mut tally = Tally::default();
        let is_checked = is_checked(document);
        for link in &document.links {
            match Target::of(&link.target) {
                Target::External => tally.external += 1,
                Target::Local { path, fragment } if is_checked => {
                    tally.checked += 1;
                    let problem = self.problem(document, link, &path, fragment);
                    tally.broken.extend(problem.map(|(problem, found)| Broken {
                        document,
                        link,
                        problem,
                        found,
                    }));
                }
                Target::Local { .. } | Target::Other => {}
            }
        }
        tally
    }

    fn problem(
        &self,
        document: &'a DocumentFacts,
        link: &Link,
        path: &str,
        fragment: Option<&str>,
    ) -> Option<(LinkProblem, Option<String>)> {
        let file = if path.is_empty() {
            document.path.to_string()
        } else {
            match self.routes.follow(document, path, link.image) {
                End::File(file) => file,
                End::Folder | End::Unknown => return None,
                End::Missing if link.image => return Some((LinkProblem::MissingImage, None)),
                End::Missing => return Some((LinkProblem::MissingFile, None)),
                End::OtherCase(other) => return Some((LinkProblem::WrongCase, Some(other))),
                End::Outside => return Some((LinkProblem::Outside, None)),
            }
        };
        let fragment = fragment.filter(|_| !link.image)?;
        let target = self.by_path.get(file.as_str())?;
        if may_have(document, target, fragment) {
            return None;
        }
        let is_written_elsewhere = self.sites.around(&file).is_some_and(|site| site.writes_anchors);
        (!is_written_elsewhere).then_some((LinkProblem::MissingAnchor, Some(file)))
    }

    /// The findings as they are reported.
    fn tell(&self, tree: &Tree, broken: Vec<Broken<'a>>) -> Vec<BrokenLink> {
        let suggestions = Suggestions::of(tree);
        let told = broken.into_iter().map(|broken| {
            let Broken { document, link, problem, found } = broken;
            let folder = folder_of(&document.path);
            let (address, fragment) = link.target.split_once('#').unwrap_or((&link.target, ""));
            let suggestion = match (problem, found) {
                (LinkProblem::MissingAnchor, Some(file)) => self
                    .by_path
                    .get(file.as_str())
                    .and_then(|target| suggestion::anchor(target, fragment))
                    .map(|anchor| format!("{address}#{anchor}")),
                (_, Some(other)) => Some(suggestion::relative(folder, &other)),
                (LinkProblem::Outside, None) => None,
                (_, None) => match Target::of(&link.target) {
                    Target::Local { path, .. } => suggestion::address(&link.target)
                        .or_else(|| suggestions.file(&document.path, &path)),
                    _ => None,
                },
            };
            let (path, target) = (document.path.to_string(), link.target.to_string());
            BrokenLink { path, line: u64::from(link.line), target, problem, suggestion }
        });
        told.collect()
    }
}

/// Whether the links of a document are meant to lead somewhere in this tree.
fn is_checked(document: &DocumentFacts) -> bool {
    let path = &document.path;
    !places::is_sample(path) && (!places::is_test(path) || places::is_readme(path))
}

/// Whether a fragment may name something in a document, seen from another one.
fn may_have(from: &DocumentFacts, target: &DocumentFacts, fragment: &str) -> bool {
    if target::is_free(fragment) {
        return true;
    }
    let fragment = fragment.strip_prefix("user-content-").unwrap_or(fragment);
    let fragment = fragment.strip_prefix("markdown-header-").unwrap_or(fragment);
    if target.anchors.binary_search(&anchor_key(fragment)).is_ok() {
        return true;
    }
    // Something else writes a part of it, or it is a part of something else.
    if target.links.iter().any(|link| link.target.starts_with("include:"))
        || places::is_partial(&target.path)
    {
        return true;
    }
    match target.format {
        Format::Markdown => {
            target::is_rustdoc_anchor(fragment)
                || from.format != Format::Markdown
                || has_heading_like(target, fragment)
        }
        Format::Html => false,
        Format::Restructured | Format::AsciiDoc | Format::Text => true,
    }
}

/// Whether a heading may have this name where nobody knows the renderer: they differ in which signs of other scripts they
/// keep, and sites that are made elsewhere put the name of the heading above before it.
fn has_heading_like(document: &DocumentFacts, fragment: &str) -> bool {
    let decoded = percent_encoding::percent_decode_str(fragment).decode_utf8_lossy();
    let is_page = document.links.iter().any(|link| &*link.target == "site:");
    if decoded.is_ascii() && !is_page {
        return false;
    }
    let letters = |text: &str| {
        text.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect::<String>()
    };
    let wanted = letters(&decoded);
    document.headings.iter().map(|heading| letters(&heading.text)).any(|heading| {
        heading == wanted && !decoded.is_ascii()
            || is_page
                && heading.len() > 3
                && heading.len() < wanted.len()
                && wanted.ends_with(&heading)
    })
}
