//! reStructuredText, as docutils and Sphinx read it: sections, blocks and links, without running anything.

mod body;
mod compose;
mod directive;
mod domain;
mod inline;
mod lines;
mod lists;
mod names;
mod roles;
mod table;

use crate::document::{DocumentWriter, LinkedText, ProseDocument};
use compose::RstNode;
use inline::RstScope;
use names::RstNames;
use std::collections::{HashMap, HashSet};

/// Maximum nesting of blocks; deeper ones are text.
const MAX_BLOCK_DEPTH: usize = 24;

/// Reads a reStructuredText document.
pub(crate) fn read(path: &str, text: &str) -> ProseDocument {
    let expanded: Vec<String> = text.lines().map(expand_tabs).collect();
    let lines: Vec<&str> = expanded.iter().map(String::as_str).collect();
    let names = RstNames::of(&lines);
    let ending = if path.ends_with(".rst.txt") { ".rst.txt" } else { ".rst" };
    let mut reader =
        RstReader::new(RstScope { names: &names, ending, anonymous: 0, substituting: false });
    let mut nodes = Vec::new();
    reader.body(&lines, &mut nodes);
    let mut writer = DocumentWriter::default();
    for node in nodes {
        match node {
            RstNode::Section(level, heading, anchor) => writer.heading(level, &heading, anchor),
            RstNode::Block(kind, text) => writer.block(kind, text),
        }
    }
    let mut document = writer.finish(None, path);
    qualify(&mut document, &reader.anchors);
    document.version = reader.version;
    document
}

/// Links to `open` as `module.open`, where that is what the document calls it.
fn qualify(document: &mut ProseDocument, anchors: &HashSet<String>) {
    let mut short: HashMap<&str, Option<&str>> = HashMap::new();
    for anchor in anchors {
        // The last name, and the last two: a method may be written with its class.
        for (at, _) in anchor.rmatch_indices('.').take(2) {
            let name = anchor.get(at + 1..).unwrap_or_default();
            let one = short.entry(name).or_insert(Some(anchor));
            // What two are called is neither.
            *one = one.filter(|known| *known == anchor);
        }
    }
    let blocks = document.sections.iter_mut().flat_map(|section| &mut section.blocks);
    for link in blocks.flat_map(|block| &mut block.text.links) {
        let Some(name) = link.target.strip_prefix('#') else { continue };
        let known = short.get(name).copied().flatten().filter(|_| !anchors.contains(name));
        if let Some(anchor) = known {
            link.target = format!("#{anchor}");
        }
    }
}

/// Expands tabs, and trims the end of a line.
fn expand_tabs(line: &str) -> String {
    let line = line.trim_end();
    if !line.contains('\t') {
        return line.to_owned();
    }
    let mut out = String::with_capacity(line.len() + 8);
    let mut column = 0_usize;
    for c in line.chars() {
        if c == '\t' {
            let width = 8 - column % 8;
            out.extend(std::iter::repeat_n(' ', width));
            column += width;
        } else {
            out.push(c);
            column += 1;
        }
    }
    out
}

/// The state while a document is read from top to bottom.
struct RstReader<'a> {
    scope: RstScope<'a>,
    /// Lines around titles, outermost first.
    styles: Vec<(char, bool)>,
    /// Of the section that is open.
    level: u8,
    /// A label that waits for its section.
    label: Option<String>,
    anchors: HashSet<String>,
    /// The language of code that names none.
    highlight: String,
    domain: String,
    module: String,
    program: String,
    /// Classes and the like that are open.
    owners: Vec<String>,
    version: Option<String>,
    depth: usize,
}

impl<'a> RstReader<'a> {
    fn new(scope: RstScope<'a>) -> Self {
        Self {
            scope,
            styles: Vec::new(),
            level: 0,
            label: None,
            anchors: HashSet::new(),
            highlight: String::new(),
            domain: "py".to_owned(),
            module: String::new(),
            program: String::new(),
            owners: Vec::new(),
            version: None,
            depth: 0,
        }
    }

    fn inline(&mut self, text: &str) -> LinkedText {
        inline::read(text, &mut self.scope)
    }

    /// The parts of nested lines.
    fn nested(&mut self, lines: &[&str]) -> Vec<RstNode> {
        let mut nodes = Vec::new();
        self.body(lines, &mut nodes);
        nodes
    }

    /// An anchor that no section has so far.
    fn fresh(&mut self, anchor: String) -> Option<String> {
        (!anchor.is_empty() && self.anchors.insert(anchor.clone())).then_some(anchor)
    }
}

#[cfg(test)]
mod tests;
