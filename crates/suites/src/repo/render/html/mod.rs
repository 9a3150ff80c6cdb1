//! One self-contained page: inline style, pictures drawn here, and a script that the page does without.

mod bars;
mod columns;
mod folders;
mod graph;
mod heat;
mod layers;
mod lettering;
mod markup;
mod page;
mod picture;
mod layout;
mod scatter;
mod sections;
mod table;
mod tree;
mod treemap;

pub use page::html;

#[cfg(test)]
mod tests;
