//! A self-contained page: inline style, generated pictures, and an optional script.

mod bars;
mod columns;
mod folders;
mod graph;
mod heat;
mod layers;
mod layout;
mod lettering;
mod markup;
mod page;
mod picture;
mod scatter;
mod sections;
mod table;
mod tree;
mod treemap;

pub use page::html;

#[cfg(test)]
mod tests;
