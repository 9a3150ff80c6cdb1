//! Finds broken links and anchors. Reports only certain ones: a wrong finding costs trust.

mod gitignore;
mod included_anchors;
mod route;
pub(super) mod sites;
mod suggestion;
mod target;
#[cfg(test)]
mod tests;

use super::{
    documents::{places, slug},
    facts::{DocumentFacts, DocumentFormat, DocumentLink, anchor_key},
    report::{BrokenLink, LinkProblem, Links},
    tree::{HaltCheck, ProjectTree, folder_of},
};
use crate::worker_pools;
use rayon::prelude::*;
use route::{LinkDestination, LinkRoutes, LinkSource};
use sites::Sites;
use std::{
    collections::{HashMap, HashSet},
    sync::OnceLock,
};
use suggestion::Suggestions;
use target::LinkTarget;

/// Maximum number of listed broken links.
const MAX_LISTED_LINKS: usize = 500;
/// Maximum length of a target: paths are split in many ways, and each part is looked up.
const MAX_TARGET_BYTES: usize = 1024;
/// Number of links between deadline checks.
const LINKS_PER_HALT_CHECK: usize = 64;

/// Checks every relative link until the deadline.
pub(super) fn check(tree: &ProjectTree, documents: &[DocumentFacts], halt: HaltCheck<'_>) -> Links {
    let sites = Sites::find(tree);
    let by_path = documents.iter().map(|one| (&*one.path, LinkedDocument::new(one))).collect();
    let checker =
        LinkChecker { sites: &sites, routes: LinkRoutes::new(tree, &sites), by_path, halt };
    let tally = worker_pools::run(|| {
        documents
            .par_iter()
            .filter(|_| !halt())
            .map(|document| checker.document(document))
            .reduce(LinkTally::default, LinkTally::with)
    });
    let mut broken = tally.broken;
    let own = broken.iter().filter_map(|broken| Some((broken.document, broken.own_fragment()?)));
    let assembled = included_anchors::folders_of_parts(documents, own);
    broken.retain(|broken| {
        broken.own_fragment().is_none() || !assembled.contains(folder_of(&broken.document.path))
    });
    broken.sort_by(|one, other| one.order().cmp(&other.order()));
    let broken_count = broken.len() as u64;
    broken.truncate(MAX_LISTED_LINKS);
    let broken = if broken.is_empty() { Vec::new() } else { checker.to_broken_links(tree, broken) };
    Links { checked: tally.checked, external: tally.external, broken_count, broken }
}

#[derive(Default)]
struct LinkTally<'a> {
    checked: u64,
    external: u64,
    broken: Vec<UnresolvedLink<'a>>,
}

impl LinkTally<'_> {
    fn with(mut self, mut other: Self) -> Self {
        self.checked += other.checked;
        self.external += other.external;
        self.broken.append(&mut other.broken);
        self
    }
}

struct UnresolvedLink<'a> {
    document: &'a DocumentFacts,
    link: &'a DocumentLink,
    problem: LinkProblem,
    /// The document without the anchor, or the path in its real case.
    found: Option<String>,
}

impl<'a> UnresolvedLink<'a> {
    /// Returns the anchor if the link points into the document itself.
    fn own_fragment(&self) -> Option<&'a str> {
        self.link.target.strip_prefix('#')
    }

    fn order(&self) -> (&str, u32, &str) {
        (&self.document.path, self.link.line, &self.link.target)
    }
}

struct LinkChecker<'a> {
    sites: &'a Sites,
    routes: LinkRoutes<'a>,
    by_path: HashMap<&'a str, LinkedDocument<'a>>,
    halt: HaltCheck<'a>,
}

/// A link target document, with cached data for checking anchors.
struct LinkedDocument<'a> {
    facts: &'a DocumentFacts,
    /// Whether something else generates part of it.
    includes: bool,
    /// Whether it is a page of a site.
    is_page: bool,
    /// Letters of its headings.
    headings: OnceLock<HashSet<String>>,
    slugs: OnceLock<Vec<String>>,
}

impl<'a> LinkedDocument<'a> {
    fn new(facts: &'a DocumentFacts) -> Self {
        let is_page = is_page(facts);
        let includes = facts.links.iter().any(|link| link.target.starts_with("include:"));
        Self { facts, includes, is_page, headings: OnceLock::new(), slugs: OnceLock::new() }
    }

    fn headings(&self) -> &HashSet<String> {
        let all = || self.facts.headings.iter().map(|heading| letters(&heading.text)).collect();
        self.headings.get_or_init(all)
    }

    fn slugs(&self) -> &[String] {
        let all = || self.facts.headings.iter().map(|heading| slug(&heading.text)).collect();
        self.slugs.get_or_init(all)
    }
}

/// Whether a document has page front matter.
fn is_page(document: &DocumentFacts) -> bool {
    document.links.iter().any(|link| &*link.target == "site:")
}

impl<'a> LinkChecker<'a> {
    fn document(&self, document: &'a DocumentFacts) -> LinkTally<'a> {
        let mut tally = LinkTally::default();
        let from = LinkSource { document, is_page: is_page(document) };
        let is_checked = is_checked(document);
        for (n, link) in document.links.iter().enumerate() {
            if n.is_multiple_of(LINKS_PER_HALT_CHECK) && (self.halt)() {
                break;
            }
            if link.target.len() > MAX_TARGET_BYTES {
                continue;
            }
            match LinkTarget::classify(&link.target) {
                LinkTarget::External => tally.external += 1,
                LinkTarget::Local { path, fragment } if is_checked => {
                    tally.checked += 1;
                    let problem = self.problem(from, link, &path, fragment);
                    tally.broken.extend(problem.map(|(problem, found)| UnresolvedLink {
                        document,
                        link,
                        problem,
                        found,
                    }));
                }
                LinkTarget::Local { .. } | LinkTarget::Other => {}
            }
        }
        tally
    }

    fn problem(
        &self,
        from: LinkSource<'a>,
        link: &DocumentLink,
        path: &str,
        fragment: Option<&str>,
    ) -> Option<(LinkProblem, Option<String>)> {
        let file = if path.is_empty() {
            from.document.path.to_string()
        } else {
            match self.routes.follow(from, path, link.image) {
                LinkDestination::File(file) => file,
                LinkDestination::Folder | LinkDestination::Unknown => return None,
                LinkDestination::Missing if link.image => {
                    return Some((LinkProblem::MissingImage, None));
                }
                LinkDestination::Missing => return Some((LinkProblem::MissingFile, None)),
                LinkDestination::OtherCase(other) => {
                    return Some((LinkProblem::WrongCase, Some(other)));
                }
                LinkDestination::Outside => return Some((LinkProblem::Outside, None)),
            }
        };
        let fragment = fragment.filter(|_| !link.image)?;
        let target = self.by_path.get(file.as_str())?;
        if may_have(from.document, target, fragment) {
            return None;
        }
        let is_written_elsewhere = self.sites.around(&file).is_some_and(|site| site.writes_anchors);
        (!is_written_elsewhere).then_some((LinkProblem::MissingAnchor, Some(file)))
    }

    /// Converts the findings for the report.
    fn to_broken_links(
        &self,
        tree: &ProjectTree,
        broken: Vec<UnresolvedLink<'a>>,
    ) -> Vec<BrokenLink> {
        let suggestions = Suggestions::new(tree, self.halt);
        let links = broken.into_iter().map(|broken| {
            let UnresolvedLink { document, link, problem, found } = broken;
            let folder = folder_of(&document.path);
            let (address, fragment) = link.target.split_once('#').unwrap_or((&link.target, ""));
            let suggestion = match (problem, found) {
                (LinkProblem::MissingAnchor, Some(file)) => self
                    .by_path
                    .get(file.as_str())
                    .and_then(|target| suggestions.anchor(target.slugs(), fragment))
                    .map(|anchor| format!("{address}#{anchor}")),
                (_, Some(other)) => Some(suggestion::relative(folder, &other)),
                (LinkProblem::Outside, None) => None,
                (_, None) => match LinkTarget::classify(&link.target) {
                    LinkTarget::Local { path, .. } => suggestion::address(&link.target)
                        .or_else(|| suggestions.file(&document.path, &path)),
                    _ => None,
                },
            };
            let (path, target) = (document.path.to_string(), link.target.to_string());
            BrokenLink { path, line: u64::from(link.line), target, problem, suggestion }
        });
        links.collect()
    }
}

/// Whether the links of a document should resolve in this tree.
fn is_checked(document: &DocumentFacts) -> bool {
    let path = &document.path;
    !places::is_sample(path) && (!places::is_test(path) || places::is_readme(path))
}

/// Whether a fragment may name something in a document linked from another one.
fn may_have(from: &DocumentFacts, linked: &LinkedDocument<'_>, fragment: &str) -> bool {
    let target = linked.facts;
    if target::is_free(fragment) {
        return true;
    }
    let fragment = fragment.strip_prefix("user-content-").unwrap_or(fragment);
    let fragment = fragment.strip_prefix("markdown-header-").unwrap_or(fragment);
    if target.anchors.binary_search(&anchor_key(fragment)).is_ok() {
        return true;
    }
    // Part of it is generated, or it is included elsewhere.
    if linked.includes || places::is_partial(&target.path) {
        return true;
    }
    match target.format {
        DocumentFormat::Markdown => {
            target::is_rustdoc_anchor(fragment)
                || from.format != DocumentFormat::Markdown
                || has_heading_like(linked, fragment)
        }
        DocumentFormat::Html => false,
        DocumentFormat::Restructured | DocumentFormat::AsciiDoc | DocumentFormat::Text => true,
    }
}

/// Whether a heading may have this slug in an unknown renderer: they differ in which characters they keep, and some
/// sites prepend the parent heading.
fn has_heading_like(document: &LinkedDocument<'_>, fragment: &str) -> bool {
    let decoded = percent_encoding::percent_decode_str(fragment).decode_utf8_lossy();
    if decoded.is_ascii() && !document.is_page {
        return false;
    }
    let (wanted, headings) = (letters(&decoded), document.headings());
    if !decoded.is_ascii() && headings.contains(&wanted) {
        return true;
    }
    let mut ends = wanted.char_indices().skip(1).filter_map(|(at, _)| wanted.get(at..));
    document.is_page && ends.any(|end| end.len() > 3 && headings.contains(end))
}

/// Returns the lowercase letters and digits of a text.
fn letters(text: &str) -> String {
    text.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect()
}
