//! Documentation sites of a project: their folders and generators.

use crate::repo::tree::{ProjectTree, folder_of, join, name_of};
use std::collections::HashMap;

/// A site generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::repo) enum SiteGenerator {
    /// Sphinx.
    Sphinx,
    /// `MkDocs` and its successors.
    MkDocs,
    /// mdBook.
    MdBook,
    /// Docusaurus.
    Docusaurus,
    /// `VitePress` and `VuePress`.
    VitePress,
    /// `GitBook`, `HonKit`.
    GitBook,
    /// Antora.
    Antora,
    /// Jupyter Book.
    JupyterBook,
    /// Mintlify.
    Mintlify,
    /// `DocFX`.
    DocFx,
    /// Docsify.
    Docsify,
    /// Astro, Starlight among them.
    Astro,
    /// Generators with their own page lists: Jekyll, Hugo, Eleventy, Next, Nuxt …
    Automatic,
}

impl SiteGenerator {
    /// Whether links between its documents use file names.
    pub(in crate::repo) fn follows_files(self) -> bool {
        matches!(
            self,
            Self::Sphinx
                | Self::MkDocs
                | Self::MdBook
                | Self::Docusaurus
                | Self::VitePress
                | Self::GitBook
        )
    }
}

/// Site configuration files, by name without the extension.
const CONFIGURATIONS: [(&str, SiteGenerator); 21] = [
    ("mkdocs", SiteGenerator::MkDocs),
    ("zensical", SiteGenerator::MkDocs),
    ("book", SiteGenerator::MdBook),
    ("docusaurus.config", SiteGenerator::Docusaurus),
    ("antora", SiteGenerator::Antora),
    ("_toc", SiteGenerator::JupyterBook),
    ("mint", SiteGenerator::Mintlify),
    ("docs", SiteGenerator::Mintlify),
    ("docfx", SiteGenerator::DocFx),
    ("astro.config", SiteGenerator::Astro),
    ("_config", SiteGenerator::Automatic),
    ("hugo", SiteGenerator::Automatic),
    ("gatsby-config", SiteGenerator::Automatic),
    ("next.config", SiteGenerator::Automatic),
    ("nuxt.config", SiteGenerator::Automatic),
    ("eleventy.config", SiteGenerator::Automatic),
    (".eleventy", SiteGenerator::Automatic),
    ("_quarto", SiteGenerator::Automatic),
    ("rspress.config", SiteGenerator::Automatic),
    ("myst", SiteGenerator::JupyterBook),
    ("svelte.config", SiteGenerator::Automatic),
];
/// Extensions of such files.
const CONFIGURATION_EXTENSIONS: [&str; 9] =
    ["yml", "yaml", "toml", "json", "js", "mjs", "cjs", "ts", "mts"];

/// A documentation site.
#[derive(Debug)]
pub(in crate::repo) struct DocumentationSite {
    /// The folder it is built from.
    pub(in crate::repo) root: Box<str>,
    /// Its generator.
    pub(in crate::repo) generator: SiteGenerator,
    /// The folder of its pages, if separate: files outside are not part of the site.
    pub(in crate::repo) pages: Option<Box<str>>,
    /// Its configuration file.
    pub(in crate::repo) configuration: Box<str>,
    /// Whether project code generates parts of its pages, so their anchors are unknown.
    pub(in crate::repo) writes_anchors: bool,
}

/// All sites of a project.
#[derive(Debug, Default)]
pub(in crate::repo) struct Sites {
    all: Vec<DocumentationSite>,
    by_root: HashMap<Box<str>, usize>,
}

impl Sites {
    /// Finds the sites with a configuration file.
    pub(in crate::repo) fn find(tree: &ProjectTree) -> Self {
        let mut sites = Self::default();
        for file in tree.files() {
            let Some((root, generator)) = configured(tree, &file.path) else { continue };
            sites.add(root, generator, &file.path);
            if matches!(generator, SiteGenerator::MkDocs | SiteGenerator::MdBook) {
                let text = tree.text(&file.path).unwrap_or_default();
                sites.describe(root, &text);
            }
            if generator == SiteGenerator::Docusaurus {
                for root in named_folders(tree, &file.path) {
                    sites.add(&root, generator, &file.path);
                }
            }
        }
        sites
    }

    /// Returns all sites, by root.
    pub(in crate::repo) fn all(&self) -> &[DocumentationSite] {
        &self.all
    }

    /// Returns the innermost site that contains a document.
    pub(in crate::repo) fn around(&self, path: &str) -> Option<&DocumentationSite> {
        if self.all.is_empty() {
            return None;
        }
        let mut folder = folder_of(path);
        loop {
            if let Some(site) = self.by_root.get(folder).and_then(|at| self.all.get(*at)) {
                return Some(site);
            }
            if folder.is_empty() {
                return None;
            }
            folder = folder_of(folder);
        }
    }

    fn add(&mut self, root: &str, generator: SiteGenerator, configuration: &str) {
        // Of two in one folder, the one with a page list is more informative.
        if let Some(known) = self.by_root.get(root).and_then(|at| self.all.get_mut(*at)) {
            if known.generator == SiteGenerator::Automatic {
                (known.generator, known.configuration) = (generator, configuration.into());
            }
            return;
        }
        self.by_root.insert(root.into(), self.all.len());
        let (root, configuration) = (root.into(), configuration.into());
        self.all.push(DocumentationSite {
            root,
            generator,
            pages: None,
            configuration,
            writes_anchors: false,
        });
    }

    /// Adds the details of a site's configuration.
    fn describe(&mut self, root: &str, text: &str) {
        let Some(site) = self.by_root.get(root).and_then(|at| self.all.get_mut(*at)) else {
            return;
        };
        let starts = |line: &str, words: &[&str]| {
            words.iter().any(|word| line.trim_start().starts_with(word))
        };
        site.writes_anchors |=
            text.lines().any(|line| starts(line, &["hooks:", "- macros", "- gen-files"]));
        if site.generator == SiteGenerator::MdBook {
            let named = text
                .lines()
                .find_map(|line| line.trim().strip_prefix("src")?.trim_start().strip_prefix('='));
            let folder = named.map_or("src", |named| named.trim().trim_matches(['"', '\'']));
            site.pages = join(root, folder).map(Into::into);
        }
    }
}

/// Returns the root and generator that a file configures.
fn configured<'a>(tree: &ProjectTree, path: &'a str) -> Option<(&'a str, SiteGenerator)> {
    let (folder, name) = (folder_of(path), name_of(path));
    let beside = |other: &str| tree.file(&join(folder, other).unwrap_or_default()).is_some();
    match name {
        "conf.py" => {
            let is_sphinx =
                ["index.rst", "index.md", "index.txt", "contents.rst"].iter().any(|it| beside(it));
            return is_sphinx.then_some((folder, SiteGenerator::Sphinx));
        }
        "mix.exs" => return Some((folder, SiteGenerator::Automatic)),
        "make.jl" => {
            let has_pages = tree.has_folder(&join(folder, "src").unwrap_or_default());
            return has_pages.then_some((folder, SiteGenerator::Automatic));
        }
        "_sidebar.md" => return Some((folder, SiteGenerator::Docsify)),
        "SUMMARY.md" => {
            let is_book = beside("../book.toml") || beside("book.toml");
            return (!is_book).then_some((folder, SiteGenerator::GitBook));
        }
        _ => {}
    }
    let (stem, ending) = name.rsplit_once('.')?;
    if !CONFIGURATION_EXTENSIONS.contains(&ending) {
        return None;
    }
    if stem == "config" {
        return match name_of(folder) {
            ".vitepress" | ".vuepress" => Some((folder_of(folder), SiteGenerator::VitePress)),
            _ => {
                let is_hugo = tree.has_folder(&join(folder, "content").unwrap_or_default())
                    && tree.has_folder(&join(folder, "themes").unwrap_or_default());
                is_hugo.then_some((folder, SiteGenerator::Automatic))
            }
        };
    }
    let (_, generator) = CONFIGURATIONS.iter().find(|(known, _)| *known == stem)?;
    match *generator {
        SiteGenerator::MdBook if ending == "json" => Some((folder, SiteGenerator::GitBook)),
        SiteGenerator::MdBook if ending != "toml" => None,
        SiteGenerator::Mintlify if ending != "json" => None,
        generator => Some((folder, generator)),
    }
}

/// Returns other folders named in a configuration: `path: '../docs'`.
fn named_folders(tree: &ProjectTree, configuration: &str) -> Vec<String> {
    let text = tree.text(configuration).unwrap_or_default();
    let quoted =
        text.split(['"', '\'', '`']).filter(|word| word.starts_with("../") && word.len() < 100);
    let folders = quoted.filter_map(|word| join(folder_of(configuration), word));
    folders.filter(|folder| !folder.is_empty() && tree.has_folder(folder)).collect()
}
