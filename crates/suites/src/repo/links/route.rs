//! Resolves links: files in the tree, and as shown by sites and hosts.

use super::{
    gitignore::GitignoreRules,
    sites::{DocumentationSite, SiteGenerator, Sites},
    target::{is_any_file, is_rustdoc_page},
};
use crate::repo::{
    documents::places,
    facts::{DocumentFacts, DocumentFormat},
    path_suffixes::PathSuffixes,
    tree::{ProjectTree, folder_of, join, name_of},
};
use std::{
    collections::{HashMap, HashSet},
    sync::OnceLock,
};

/// Extensions that a site drops or replaces with `.html`.
const DOCUMENT_EXTENSIONS: [&str; 9] =
    ["md", "mdx", "markdown", "rst", "adoc", "html", "htm", "txt", "ipynb"];
/// Index pages of a folder.
const FIRST_PAGES: [&str; 9] = [
    "index.md",
    "README.md",
    "index.mdx",
    "index.html",
    "index.rst",
    "_index.md",
    "readme.md",
    "README.rst",
    "index.adoc",
];
/// Folders that a site serves at its root.
const SERVED_FOLDERS: [&str; 14] = [
    "",
    "docs",
    "static",
    "public",
    "content",
    "src",
    "src/pages",
    "src/content",
    "src/content/docs",
    "pages",
    "assets",
    "docs/public",
    "docs/static",
    "doc",
];
/// Pages of a repository host next to files, two levels above them.
const HOST_PAGES: [&str; 33] = [
    "issues",
    "wiki",
    "releases",
    "pulls",
    "pull",
    "actions",
    "blob",
    "tree",
    "raw",
    "graphs",
    "discussions",
    "projects",
    "security",
    "compare",
    "commit",
    "commits",
    "stargazers",
    "network",
    "labels",
    "milestones",
    "milestone",
    "edit",
    "tags",
    "fork",
    "archive",
    "packages",
    "deployments",
    "pulse",
    "contributors",
    "new",
    "branches",
    "-",
    "blame",
];
/// Assets of HTML pages, which a build may create.
const BUILT: [&str; 11] =
    ["js", "mjs", "css", "map", "wasm", "json", "zip", "gz", "tgz", "dmg", "exe"];

/// Destination of a link.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LinkDestination {
    /// A file, by path.
    File(String),
    /// A folder.
    Folder,
    /// Unknown from here.
    Unknown,
    /// Missing.
    Missing,
    /// A path that differs in case.
    OtherCase(String),
    /// Outside the repository.
    Outside,
}

/// The document that contains a link.
#[derive(Clone, Copy)]
pub(super) struct LinkSource<'a> {
    pub(super) document: &'a DocumentFacts,
    /// Whether it has page front matter.
    pub(super) is_page: bool,
}

/// Index of all files and how links reach them.
pub(super) struct LinkRoutes<'a> {
    tree: &'a ProjectTree,
    sites: &'a Sites,
    /// Whether the analyzed folder is a whole repository.
    whole: bool,
    submodules: Vec<String>,
    /// Paths by lowercase path.
    lower: OnceLock<HashMap<String, Box<str>>>,
    /// Lowercase file names.
    names: OnceLock<HashSet<String>>,
    /// Files by path suffix.
    tails: OnceLock<PathSuffixes<'a>>,
    /// Files in language or version folders, with `*` in place of that folder.
    variants: OnceLock<HashSet<String>>,
    /// Folders with HTML pages.
    pages: OnceLock<HashSet<&'a str>>,
    ignored: OnceLock<GitignoreRules>,
}

impl<'a> LinkRoutes<'a> {
    /// Builds the index of a project.
    pub(super) fn new(tree: &'a ProjectTree, sites: &'a Sites) -> Self {
        let submodules = match tree.file(".gitmodules") {
            Some(_) => submodules_in(&tree.text(".gitmodules").unwrap_or_default()),
            None => Vec::new(),
        };
        Self {
            tree,
            sites,
            whole: tree.is_on_disk(".git"),
            submodules,
            lower: OnceLock::new(),
            names: OnceLock::new(),
            tails: OnceLock::new(),
            variants: OnceLock::new(),
            pages: OnceLock::new(),
            ignored: OnceLock::new(),
        }
    }

    /// Resolves a decoded path from a document.
    pub(super) fn follow(&self, from: LinkSource<'_>, path: &str, image: bool) -> LinkDestination {
        let document = from.document;
        if let Some(rooted) = path.strip_prefix('/') {
            return self.follow_rooted(document, rooted);
        }
        match join(folder_of(&document.path), path) {
            Some(joined) => {
                self.exact(&joined).unwrap_or_else(|| self.search(from, path, &joined, image))
            }
            None => self.leave(document, path),
        }
    }

    fn exact(&self, path: &str) -> Option<LinkDestination> {
        if self.tree.file(path).is_some() {
            return Some(LinkDestination::File(path.to_owned()));
        }
        self.tree.has_folder(path).then_some(LinkDestination::Folder)
    }

    /// Searches for a path that does not exist as written.
    fn search(
        &self,
        from: LinkSource<'_>,
        path: &str,
        joined: &str,
        image: bool,
    ) -> LinkDestination {
        let document = from.document;
        if let Some(end) = self.shown_as(joined) {
            return end;
        }
        if let Some(end) = self.search_page(document, path) {
            return end;
        }
        let site = self.sites.around(&document.path);
        if let Some(end) = site.and_then(|site| self.search_site(document, path, site)) {
            return end;
        }
        if let Some(other) = self.lower().get(&joined.to_lowercase()) {
            // A site may use lowercase URLs.
            let is_address = site.is_some() && ending_of(joined).is_none();
            return if is_address {
                LinkDestination::Unknown
            } else {
                LinkDestination::OtherCase(other.to_string())
            };
        }
        let is_in_submodule = || self.submodules.iter().any(|folder| is_below(joined, folder));
        if self.tree.is_on_disk(joined) || is_in_submodule() {
            return LinkDestination::Unknown;
        }
        let certain = match document.format {
            DocumentFormat::Markdown => self.is_certain_in_markdown(from, joined, site),
            DocumentFormat::Html => is_certain_in_html(document, joined, site),
            DocumentFormat::Restructured => {
                ending_of(joined).is_some_and(|ending| ending != "html")
            }
            DocumentFormat::AsciiDoc => {
                let ending = ending_of(joined);
                let is_shown = image || ending.as_deref() == Some("adoc");
                is_shown && !self.has_name(joined)
            }
            DocumentFormat::Text => false,
        };
        let leaves = |pages: &str| is_below(&document.path, pages) && !is_below(joined, pages);
        let is_elsewhere = places::is_output(joined)
            || site.and_then(|site| site.pages.as_deref()).is_some_and(leaves)
            || is_host_page(joined)
            || self.has_variant(joined)
            || is_any_file(name_of(joined))
            || is_rustdoc_page(name_of(joined))
            || self.is_served(document, path)
            || places::is_variant(&document.path) && self.has_name(joined);
        let is_made = || self.ignored.get_or_init(|| GitignoreRules::of(self.tree)).has(joined);
        if certain && !is_elsewhere && !is_made() {
            LinkDestination::Missing
        } else {
            LinkDestination::Unknown
        }
    }

    /// Searches with other extensions, or for a folder's index page.
    fn shown_as(&self, path: &str) -> Option<LinkDestination> {
        let mut stems = vec![path];
        if let Some(stem) = path.strip_suffix(".html").or(path.strip_suffix(".htm")) {
            stems.push(stem);
            stems.extend(stem.strip_suffix("/index"));
        }
        for stem in stems {
            if self.tree.has_folder(stem) {
                let first = FIRST_PAGES
                    .iter()
                    .find_map(|page| join(stem, page).filter(|it| self.tree.file(it).is_some()));
                return Some(first.map_or(LinkDestination::Folder, LinkDestination::File));
            }
            let mut named = DOCUMENT_EXTENSIONS.iter().map(|ending| format!("{stem}.{ending}"));
            if let Some(found) = named.find(|path| self.tree.file(path).is_some()) {
                return Some(LinkDestination::File(found));
            }
        }
        None
    }

    /// Searches from a page shown as a folder. The documents may be shown by a site built elsewhere.
    fn search_page(&self, document: &DocumentFacts, path: &str) -> Option<LinkDestination> {
        if !places::is_in_documentation(&document.path)
            && self.sites.around(&document.path).is_none()
        {
            return None;
        }
        let page = join(folder_of(&document.path), places::stem_of(&document.path))?;
        let joined = join(&page, path)?;
        self.exact(&joined).or_else(|| self.shown_as(&joined))
    }

    /// Searches as a site does: from ancestor folders and served folders.
    fn search_site(
        &self,
        document: &DocumentFacts,
        path: &str,
        site: &DocumentationSite,
    ) -> Option<LinkDestination> {
        let at = |folder: &str, path: &str| {
            let joined = join(folder, path)?;
            self.exact(&joined).or_else(|| self.shown_as(&joined))
        };
        let folder = folder_of(&document.path);
        let climbed = path.trim_start_matches("./").trim_start_matches("../");
        let mut above = folder;
        while above.len() > site.root.len() {
            above = folder_of(above);
            if let Some(end) = at(above, climbed) {
                return Some(end);
            }
        }
        SERVED_FOLDERS.iter().find_map(|served| at(&join(&site.root, served)?, climbed))
    }

    /// Resolves a path from the root of the repository or site.
    fn follow_rooted(&self, document: &DocumentFacts, path: &str) -> LinkDestination {
        let known = |joined: &str| self.exact(joined).or_else(|| self.shown_as(joined));
        let top = join("", path).unwrap_or_default();
        if let Some(end) = known(&top) {
            return end;
        }
        let site = self.sites.around(&document.path);
        let roots = site.map(|site| &*site.root).into_iter().chain(["", "docs", "website", "site"]);
        for root in roots {
            let mut served =
                SERVED_FOLDERS.iter().filter_map(|folder| join(&join(root, folder)?, path));
            if let Some(end) = served.find_map(|joined| known(&joined)) {
                return end;
            }
        }
        let is_on_host = document.format == DocumentFormat::Markdown
            && self.whole
            && self.sites.all().is_empty();
        let is_file = ending_of(&top).is_some_and(|ending| ending != "html");
        if is_on_host && is_file && !self.tree.is_on_disk(&top) && !self.has_name(&top) {
            return LinkDestination::Missing;
        }
        LinkDestination::Unknown
    }

    /// Resolves a path above the analyzed folder.
    fn leave(&self, document: &DocumentFacts, path: &str) -> LinkDestination {
        let above = path.split('/').find(|part| !matches!(*part, "" | "." | ".."));
        let is_host_page = above.is_none_or(|page| HOST_PAGES.contains(&page));
        let from_here = format!("{}/{path}", folder_of(&document.path));
        if is_host_page || !self.whole || self.tree.is_on_disk(&from_here) {
            return LinkDestination::Unknown;
        }
        if let Some(site) = self.sites.around(&document.path) {
            let found = self.search_site(document, path, site);
            return found.unwrap_or(if ending_of(path).as_deref() == Some("md") {
                LinkDestination::Outside
            } else {
                LinkDestination::Unknown
            });
        }
        // What an HTML page is served with is known only where it is served.
        if document.format == DocumentFormat::Markdown {
            LinkDestination::Outside
        } else {
            LinkDestination::Unknown
        }
    }

    fn is_certain_in_markdown(
        &self,
        from: LinkSource<'_>,
        joined: &str,
        site: Option<&DocumentationSite>,
    ) -> bool {
        let document = from.document;
        let is_page = site.is_some() || from.is_page;
        match ending_of(joined).as_deref() {
            // A site or page generator may create it.
            Some("html" | "htm" | "php" | "xml" | "epub") => {
                !is_page && self.pages().contains(folder_of(joined))
            }
            None => !is_page && !self.is_rust_name(document, joined),
            Some("md" | "mdx" | "markdown") => match site.map(|site| site.generator) {
                None => true,
                // It also searches from the root of its documents, in folders named in its configuration.
                Some(SiteGenerator::Docusaurus) => {
                    !self.has_name(joined) || places::is_readme(&document.path)
                }
                Some(generator) => generator.follows_files() || !self.has_name(joined),
            },
            Some(_) => !is_page || !self.has_name(joined),
        }
    }

    /// Whether a path exists under another root: a tool may combine several roots.
    fn is_served(&self, document: &DocumentFacts, path: &str) -> bool {
        let climbed = path.trim_start_matches("./").trim_start_matches("../");
        // Apple's DocC finds resources by name.
        let is_catalogue =
            folder_of(&document.path).split('/').any(|it| places::ends_in(it, &["docc"]));
        if is_catalogue && self.has_name(path) {
            return true;
        }
        let is_below_top = |rest: &str| rest.contains('/') && self.tree.file(rest).is_some();
        if climbed.match_indices('/').filter_map(|(at, _)| climbed.get(at + 1..)).any(is_below_top)
        {
            return true;
        }
        let files = || self.tree.files().iter().map(|file| &*file.path);
        let tails = || self.tails.get_or_init(|| PathSuffixes::new(files()));
        climbed.contains('/')
            && places::is_in_documentation(&document.path)
            && !places::is_readme(&document.path)
            && tails().below(climbed).next().is_some()
    }

    /// Whether rustdoc resolves a name in the code: a type or module, in a text included in the code.
    fn is_rust_name(&self, document: &DocumentFacts, joined: &str) -> bool {
        let (folder, name) = (folder_of(&document.path), name_of(joined));
        let beside = |path: &str| join(folder, path).and_then(|path| self.exact(&path)).is_some();
        let is_type = name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.contains(|c: char| c.is_ascii_lowercase())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        folder.split('/').any(|folder| folder == "src")
            || beside("Cargo.toml")
                && (is_type || beside(&format!("src/{name}.rs")) || beside(&format!("src/{name}")))
    }

    /// Whether any file has this name.
    fn has_name(&self, path: &str) -> bool {
        let names = || self.tree.files().iter().map(|file| file.name().to_lowercase()).collect();
        self.names.get_or_init(names).contains(&name_of(path).to_lowercase())
    }

    /// Whether a file differs from a path only in a language or version folder.
    fn has_variant(&self, path: &str) -> bool {
        let variants = self.variants.get_or_init(|| {
            let files = self.tree.files().iter();
            files.flat_map(|file| places::blanks(&file.path, places::names_variant)).collect()
        });
        places::blanks(path, |_| true).any(|blank| variants.contains(&blank))
    }

    fn lower(&self) -> &HashMap<String, Box<str>> {
        self.lower.get_or_init(|| {
            let files = self.tree.files().iter().map(|file| &*file.path);
            files
                .chain(self.tree.folders())
                .map(|path| (path.to_lowercase(), path.into()))
                .collect()
        })
    }

    fn pages(&self) -> &HashSet<&'a str> {
        let is_page = |path: &str| places::ends_in(path, &["html", "htm"]);
        self.pages.get_or_init(|| {
            let files = self.tree.files().iter();
            files.filter(|file| is_page(&file.path)).map(|file| folder_of(&file.path)).collect()
        })
    }
}

fn is_certain_in_html(
    document: &DocumentFacts,
    joined: &str,
    site: Option<&DocumentationSite>,
) -> bool {
    let is_app = |folder| matches!(folder, "examples" | "example" | "demo" | "src" | "app");
    let is_written = ending_of(joined).is_some_and(|ending| !BUILT.contains(&ending.as_str()));
    is_written && site.is_none() && !folder_of(&document.path).split('/').any(is_app)
}

/// Whether a path is inside a folder.
fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Whether a path is a repository host page, wherever the text is: `../tree/HEAD/x`.
fn is_host_page(path: &str) -> bool {
    let mut parts = path.split('/');
    parts.any(|part| matches!(part, "tree" | "blob" | "raw" | "edit"))
        && parts
            .next()
            .is_some_and(|branch| matches!(branch, "HEAD" | "main" | "master" | "develop"))
}

/// Returns a lowercase file extension that identifies a file type: not that of `v1.2`.
fn ending_of(path: &str) -> Option<String> {
    let (stem, ending) = name_of(path).rsplit_once('.')?;
    let is_ending = (1..=8).contains(&ending.len())
        && ending.chars().all(|c| c.is_ascii_alphanumeric())
        && ending.starts_with(|c: char| c.is_ascii_alphabetic());
    (is_ending && !stem.is_empty()).then(|| ending.to_ascii_lowercase())
}

/// Submodule folders, which may not be checked out.
fn submodules_in(text: &str) -> Vec<String> {
    let paths = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("path")?.trim_start().strip_prefix('='));
    paths.map(|path| path.trim().to_owned()).collect()
}
