//! Boilerplate around the main content of a page: elements, and whole pages.

use super::{
    origin::PageGenerator,
    tree::{Block, HtmlElement, HtmlTag, HtmlTree, Inline},
};

/// Classes of navigation, buttons, markers, code gutters, and other boilerplate; sorted.
const CLASSES: [&str; 120] = [
    "MJX_Assistive_MathML",
    "MathJax_Preview",
    "VPDocAside",
    "VPDocFooter",
    "VPLocalNav",
    "VPNav",
    "VPSidebar",
    "anchor-link",
    "anchorjs-link",
    "bd-header-article",
    "bd-sidebar-primary",
    "bd-sidebar-secondary",
    "bottom-nav",
    "bottomNav",
    "breadcrumb",
    "breadcrumbs",
    "collapse-toggle",
    "cookie-banner",
    "cookie-consent",
    "cookieconsent",
    "copy-button",
    "copy-path",
    "copybtn",
    "doc-anchor",
    "dyn-link",
    "edit-link",
    "edit-page",
    "edit-this-page",
    "editlink",
    "footer",
    "footer-article",
    "gutter",
    "hash-link",
    "header-anchor",
    "header-article",
    "header-nav",
    "headerlink",
    "heading-anchor",
    "hideme",
    "hljs-ln-numbers",
    "katex-html",
    "legal-copy",
    "legalCopy",
    "line-number",
    "line-numbers",
    "lineno",
    "linenodiv",
    "linenos",
    "lntable-gutter",
    "local-toc",
    "md-content__button",
    "md-feedback",
    "md-footer",
    "md-header",
    "md-path",
    "md-search",
    "md-sidebar",
    "md-source-file",
    "md-tabs",
    "nav-chapters",
    "nav-path",
    "nav-wide-wrapper",
    "navPadding",
    "navfooter",
    "navheader",
    "navigation",
    "notable-traits",
    "on-this-page",
    "out-of-band",
    "page-toc",
    "pagination-nav",
    "pdoc-code",
    "permalink",
    "prev-next-area",
    "prev-next-bottom",
    "prev-next-footer",
    "related",
    "rightside",
    "rouge-gutter",
    "rst-footer-buttons",
    "rustdoc-breadcrumbs",
    "search-box",
    "search-form",
    "searchbox",
    "sidebar-elems",
    "site-footer",
    "site-header",
    "skip-link",
    "skip-nav",
    "skip-to-content",
    "skipNav",
    "sphinxsidebar",
    "sr-only",
    "src-line-numbers",
    "srclink",
    "sub-heading",
    "sub-nav",
    "subNav",
    "table-of-contents",
    "tableofcontents",
    "tabs2",
    "tabs3",
    "test-arrow",
    "theme-doc-breadcrumbs",
    "theme-doc-footer",
    "theme-doc-sidebar-container",
    "theme-doc-toc-mobile",
    "theme-doc-version-badge",
    "toc",
    "toc-container",
    "tocwrapper",
    "top-nav",
    "topNav",
    "tsd-anchor-icon",
    "tsd-navigation",
    "view-source-button",
    "viewcode-back",
    "viewcode-link",
    "visually-hidden",
    "wy-breadcrumbs",
];

/// Ids of the same; sorted. The implementations are those that every type has.
const IDS: [&str; 23] = [
    "MSearchBox",
    "MSearchResultsWindow",
    "MSearchSelectWindow",
    "TOC",
    "blanket-implementations",
    "blanket-implementations-list",
    "cookie-banner",
    "cookie-consent",
    "copy-path",
    "footer",
    "footer-text",
    "main-nav",
    "nav-path",
    "navbar",
    "page-toc",
    "quick-nav",
    "searchbox",
    "side-nav",
    "sidebar",
    "synthetic-implementations",
    "synthetic-implementations-list",
    "table-of-contents",
    "toc",
];

/// Whether an element, with its content, is dropped.
pub(super) fn is_dropped(
    tree: &HtmlTree<'_>,
    at: usize,
    element: &HtmlElement<'_>,
    by: Option<PageGenerator>,
) -> bool {
    if by_tag(element) || by_class(element, by) {
        return true;
    }
    if !element.id.is_empty() && by_id(element) {
        return true;
    }
    if element.tag == HtmlTag::Inline(Inline::A) {
        return is_permalink(tree, at, element);
    }
    by_attribute(element)
}

fn by_tag(element: &HtmlElement<'_>) -> bool {
    match element.tag {
        HtmlTag::Block(
            Block::Head
            | Block::Footer
            | Block::Form
            | Block::Iframe
            | Block::Nav
            | Block::Noscript
            | Block::Object
            | Block::Style
            | Block::Template
            | Block::Textarea
            | Block::Title
            | Block::Dialog,
        )
        | HtmlTag::Inline(Inline::Button | Inline::Input | Inline::Select | Inline::Svg) => true,
        HtmlTag::Inline(Inline::Script) => {
            !element.attributes.raw("type").is_some_and(|kind| kind.starts_with("math/tex"))
        }
        // Footnotes, topics and notes are asides as well.
        HtmlTag::Block(Block::Aside) => !element.classes().any(|class| {
            [
                "footnote",
                "footnote-list",
                "topic",
                "admonition",
                "system-message",
                "note",
                "warning",
                "tip",
                "citation",
            ]
            .contains(&class)
                || class.starts_with("starlight-aside")
                || class == "sidebar"
        }),
        _ => false,
    }
}

fn by_class(element: &HtmlElement<'_>, by: Option<PageGenerator>) -> bool {
    element.classes().any(|class| match class {
        "anchor" | "src" => element.tag == HtmlTag::Inline(Inline::A),
        "tooltip" => by == Some(PageGenerator::Rustdoc),
        "caption" | "sub-title" => by == Some(PageGenerator::Javadoc) && element.is(Block::Div),
        "summary" => by == Some(PageGenerator::Doxygen) && element.is(Block::Div),
        "contents" => element.has_class("topic") || element.has_class("local"),
        // DocBook and Sphinx call text beside the text so.
        "sidebar" => !matches!(by, Some(PageGenerator::DocBook | PageGenerator::Sphinx)),
        _ => CLASSES.binary_search(&class).is_ok(),
    })
}

fn by_id(element: &HtmlElement<'_>) -> bool {
    let is_section =
        matches!(element.tag, HtmlTag::Block(Block::Section | Block::Article | Block::Main));
    // Doxygen's header; others call the top of the text so.
    let is_top = element.id == "top" && element.is(Block::Div);
    !is_section && (is_top || IDS.binary_search(&element.id).is_ok())
}

fn by_attribute(element: &HtmlElement<'_>) -> bool {
    element.attributes.iter().any(|(name, value)| match name {
        "role" => matches!(value, "navigation" | "search" | "contentinfo" | "banner" | "dialog"),
        // Panels of tabs wait for a click, but belong to the text.
        "hidden" => value != "until-found" && element.attributes.raw("role") != Some("tabpanel"),
        "aria-hidden" => value == "true",
        "data-nosnippet" => true,
        "style" => value.contains("display:none") || value.contains("display: none"),
        _ => false,
    })
}

/// Whether an element is a permalink, shown by a sign.
fn is_permalink(tree: &HtmlTree<'_>, at: usize, element: &HtmlElement<'_>) -> bool {
    let attributes = element.attributes;
    if attributes.raw("aria-hidden") == Some("true") || attributes.raw("data-nosnippet").is_some() {
        return true;
    }
    let range = tree.range(at);
    if range.len() > 4 || !attributes.raw("href").is_some_and(|href| href.contains('#')) {
        return false;
    }
    let text = tree.text(range);
    // A word may be the label of any link; a sign is not.
    if text.trim() == "link" {
        return attributes.raw("href").is_some_and(|href| href.starts_with('#'));
    }
    matches!(
        text.trim().trim_matches('\u{200b}'),
        "¶" | "§" | "#" | "🔗" | "◆" | "◆\u{a0}" | "\u{f0c1}" | "[source]" | "↩" | "↩︎" | "↑"
    ) && !text.is_empty()
}

/// Whether a page is an index, a redirect, a search page or source, which are not indexed.
pub(super) fn is_page(path: &str, tree: &HtmlTree<'_>, by: Option<PageGenerator>) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let within = |folder: &str| path.split('/').rev().skip(1).any(|part| part == folder);
    if matches!(stem, "404" | "genindex" | "search" | "py-modindex" | "bookindex")
        || redirects(tree)
    {
        return true;
    }
    match by {
        Some(PageGenerator::Sphinx) => {
            stem.starts_with("genindex-") || stem.ends_with("-modindex") || within("_modules")
        }
        Some(PageGenerator::Rustdoc) => {
            matches!(stem, "all" | "help" | "settings" | "source-src" | "src-files")
                || stem.rsplit_once('.').is_some_and(|(_, source)| source == "rs")
        }
        Some(PageGenerator::Javadoc) => {
            let known = [
                "index-all",
                "allclasses",
                "allclasses-index",
                "allclasses-frame",
                "allclasses-noframe",
                "allpackages-index",
                "overview-tree",
                "overview-frame",
                "package-tree",
                "package-use",
                "package-frame",
                "deprecated-list",
                "constant-values",
                "serialized-form",
                "help-doc",
                "system-properties",
            ];
            known.contains(&stem)
                || ["class-use", "index-files", "src-html"].into_iter().any(within)
        }
        Some(PageGenerator::Doxygen) => {
            let known = ["annotated", "classes", "hierarchy", "inherits", "files", "dirs"];
            let lists = ["globals", "functions", "namespacemembers", "dir_"];
            known.contains(&stem)
                || stem.ends_with("_source")
                || lists.iter().any(|mark| stem.starts_with(mark))
        }
        Some(PageGenerator::DocBook) => stem.starts_with("ix0"),
        _ => false,
    }
}

fn redirects(tree: &HtmlTree<'_>) -> bool {
    let metas =
        tree.elements(0..tree.nodes.len()).take_while(|(_, element)| !element.is(Block::Body));
    let refreshes = |element: &HtmlElement<'_>| {
        let equiv = element.attributes.raw("http-equiv");
        element.is(Block::Meta)
            && equiv.is_some_and(|equiv| equiv.eq_ignore_ascii_case("refresh"))
            && element
                .attributes
                .raw("content")
                .is_some_and(|to| to.to_ascii_lowercase().contains("url"))
    };
    metas.into_iter().any(|(_, element)| refreshes(element))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_to_be_found() {
        assert!(CLASSES.is_sorted());
        assert!(IDS.is_sorted());
    }
}
