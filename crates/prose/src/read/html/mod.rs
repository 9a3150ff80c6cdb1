//! HTML: the main content of a page as sections of text, for any generator.
//!
//! `tags` tokenizes the source, `tree` builds the elements, `origin` detects the generator, `content` finds the main
//! content and `furniture` the boilerplate; `contents` keeps tables of contents; `write` writes through `blocks`.
//! Everything is linear in the length of the page.

mod blocks;
mod code;
mod content;
mod contents;
mod furniture;
mod items;
mod line;
mod notes;
mod origin;
mod table;
mod tags;
mod tree;
mod write;

use crate::document::Document;
use origin::Generator;
use tree::Tree;
use write::Walk;

/// Reads an HTML document, however broken.
pub(crate) fn read(path: &str, text: &str) -> Document {
    let tree = Tree::parse(text);
    let by = Generator::of(&tree);
    let writer = Walk::new(&tree, by, path).write(content::main(&tree, by));
    let said = origin::said_title(&tree);
    let title = origin::title(said.as_deref(), writer.first_heading(), by);
    Document {
        version: origin::version(&tree, said.as_deref(), by),
        generator: by.map(Generator::name),
        is_furniture: furniture::is_page(path, &tree, by),
        ..writer.finish(title, path)
    }
}

#[cfg(test)]
mod tests;
