//! HTML: the main content of a page as sections of text, for any generator.
//!
//! `tags` tokenizes the source, `tree` builds the elements, `origin` detects the generator, `content` finds the main
//! content and `boilerplate` the boilerplate; `contents` keeps tables of contents; `write` writes through `blocks`.
//! Everything is linear in the length of the page.

mod blocks;
mod boilerplate;
mod code;
mod content;
mod contents;
mod items;
mod line;
mod notes;
mod origin;
mod table;
mod tags;
mod tree;
mod write;

use crate::document::ProseDocument;
use origin::PageGenerator;
use tree::HtmlTree;
use write::HtmlPageWalker;

/// Reads an HTML document, however broken.
pub(crate) fn read(path: &str, text: &str) -> ProseDocument {
    let tree = HtmlTree::parse(text);
    let by = PageGenerator::detect(&tree);
    let writer = HtmlPageWalker::new(&tree, by, path).write(content::main(&tree, by));
    let said = origin::said_title(&tree);
    let title = origin::title(said.as_deref(), writer.first_heading(), by);
    ProseDocument {
        version: origin::version(&tree, said.as_deref(), by),
        generator: by.map(PageGenerator::name),
        is_boilerplate: boilerplate::is_page(path, &tree, by),
        ..writer.finish(title, path)
    }
}

#[cfg(test)]
mod tests;
