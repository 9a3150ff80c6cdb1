//! Builds the tree of a page while its macros are read: headings, paragraphs, items and their indented bodies.

use crate::read::{
    marks::{self, LABEL, NO_SPACE},
    tree::{ItemMarker, MAX_TREE_DEPTH, PageListItem, PageNode, anchor_of},
};

/// Heading words of sections whose terms become sections, such as options.
const TERM_HEADING_WORDS: [&str; 16] = [
    "OPTION",
    "COMMAND",
    "ENVIRONMENT",
    "CONFIG",
    "VARIABLE",
    "DIRECTIVE",
    "KEYWORD",
    "SETTING",
    "FLAG",
    "BUILTIN",
    "FUNCTION",
    "PARAMETER",
    "PRIMAR",
    "OPERAND",
    "EXPRESSION",
    "ATTRIBUTE",
];

#[derive(Debug)]
enum ManFrameKind {
    Root,
    Indent,
    /// A list, whose content does not belong to anything before it.
    Group,
    Item(ItemMarker),
}

#[derive(Debug)]
struct ManFrame {
    opened: ManFrameKind,
    nodes: Vec<PageNode>,
}

/// A page being built.
#[derive(Debug)]
pub(super) struct ManPageBuilder {
    frames: Vec<ManFrame>,
    text: String,
    code: Option<String>,
    /// The number of indents beyond the maximum depth.
    beyond: usize,
    /// Whether terms of this section become sections.
    wanted: bool,
    /// Whether terms of every section become sections: the page describes a file.
    pub(super) all_wanted: bool,
}

impl Default for ManPageBuilder {
    fn default() -> Self {
        Self {
            frames: vec![ManFrame { opened: ManFrameKind::Root, nodes: Vec::new() }],
            text: String::new(),
            code: None,
            beyond: 0,
            wanted: false,
            all_wanted: false,
        }
    }
}

impl ManPageBuilder {
    /// Starts a section.
    pub(super) fn heading(&mut self, level: u8, text: &str) {
        self.close_all();
        let text = marks::squeeze_marked(&marks::plain(text)).replace('\n', " ");
        if level == 2 {
            let upper = text.to_uppercase();
            self.wanted = TERM_HEADING_WORDS.iter().any(|word| upper.contains(word));
        }
        let anchor = Some(marks::slug(&text)).filter(|slug| !slug.is_empty());
        self.push(PageNode::Heading { level, text, anchor });
    }

    /// A line of text, with marks.
    pub(super) fn text(&mut self, line: &str) {
        if let Some(code) = &mut self.code {
            code.push_str(&marks::plain(line));
            if !line.ends_with(NO_SPACE) {
                code.push('\n');
            }
            return;
        }
        self.space();
        self.text.push_str(line);
    }

    /// Text that follows the last without a space, such as what closes a bracket.
    pub(super) fn append(&mut self, text: &str) {
        match &mut self.code {
            Some(code) => {
                code.truncate(code.trim_end_matches('\n').len());
                code.push_str(&marks::plain(text));
                code.push('\n');
            }
            None => self.text.push_str(text),
        }
    }

    fn space(&mut self) {
        if self.text.ends_with(NO_SPACE) {
            self.text.pop();
        } else if !self.text.is_empty() && !self.text.ends_with(['\n', ' ', LABEL]) {
            self.text.push(' ');
        }
    }

    /// Whether what is written now is code.
    pub(super) const fn in_code(&self) -> bool {
        self.code.is_some()
    }

    /// The running text ends with the start of a link that has no label yet.
    pub(super) fn awaits_label(&self) -> bool {
        self.text.ends_with(LABEL)
    }

    /// A link without a label shows its target.
    pub(super) fn label_with_target(&mut self) {
        let target = self.text.rsplit(marks::TARGET).next().unwrap_or_default();
        let target = target.trim_end_matches(LABEL).trim_start_matches("mailto:").to_owned();
        self.text.push_str(&target);
    }

    /// The next line starts at the margin.
    pub(super) fn line_break(&mut self) {
        if self.code.is_none() && !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    /// Ends the running text. What it belongs to stays open.
    pub(super) fn gap(&mut self) {
        if let Some(code) = &mut self.code {
            if !code.is_empty() && !code.ends_with("\n\n") {
                code.push('\n');
            }
            return;
        }
        let text = marks::squeeze_marked(&std::mem::take(&mut self.text).replace(NO_SPACE, ""));
        if !marks::plain(&text).trim().is_empty() {
            self.push(PageNode::Text(text));
        }
    }

    /// Starts a paragraph at the margin: items at this depth end.
    pub(super) fn paragraph(&mut self) {
        self.gap();
        if self.code.is_none() {
            self.close_item();
        }
    }

    /// Starts an item. Options that follow each other without a text share the text that comes.
    pub(super) fn item(&mut self, tag: &str) {
        self.code_end();
        self.gap();
        let tag = marks::squeeze_marked(&tag.replace(NO_SPACE, ""));
        if let (
            Some(ManFrame { opened: ManFrameKind::Item(ItemMarker::Term(before)), nodes }),
            true,
        ) = (self.frames.last_mut(), marks::is_option(&marks::plain(&tag)))
            && nodes.is_empty()
            && marks::is_option(&marks::plain(before))
        {
            push_tag(before, &tag);
            return;
        }
        self.close_item();
        if marks::plain(&tag).trim().is_empty() {
            return;
        }
        self.open(mark_of(&tag));
    }

    /// Starts an item with this mark.
    pub(super) fn open(&mut self, mark: ItemMarker) {
        self.gap();
        self.close_item();
        self.frames.push(ManFrame { opened: ManFrameKind::Item(mark), nodes: Vec::new() });
    }

    /// Adds another name for the item that was just started.
    pub(super) fn also(&mut self, tag: &str) {
        let tag = marks::squeeze_marked(tag);
        match self.frames.last_mut() {
            Some(ManFrame { opened: ManFrameKind::Item(ItemMarker::Term(before)), nodes })
                if nodes.is_empty() =>
            {
                push_tag(before, &tag);
            }
            _ => self.item(&tag),
        }
    }

    /// Starts an indent.
    pub(super) fn indent(&mut self) {
        self.nest(ManFrameKind::Indent);
    }

    /// Starts a list or another group.
    pub(super) fn group(&mut self) {
        self.nest(ManFrameKind::Group);
    }

    fn nest(&mut self, opened: ManFrameKind) {
        self.code_end();
        self.gap();
        if self.frames.len() >= MAX_TREE_DEPTH {
            self.beyond += 1;
            return;
        }
        self.frames.push(ManFrame { opened, nodes: Vec::new() });
    }

    /// Ends an indent.
    pub(super) fn outdent(&mut self) {
        self.code_end();
        self.gap();
        if self.beyond > 0 {
            self.beyond -= 1;
            return;
        }
        let nested =
            |frame: &ManFrame| matches!(frame.opened, ManFrameKind::Indent | ManFrameKind::Group);
        if self.frames.iter().any(nested) {
            self.close_item();
            self.close();
        }
    }

    /// Starts code, line by line.
    pub(super) fn code_start(&mut self) {
        if self.code.is_none() {
            self.gap();
            self.code = Some(String::new());
        }
    }

    /// Ends code.
    pub(super) fn code_end(&mut self) {
        let Some(code) = self.code.take() else { return };
        let code = code.trim_end().trim_start_matches('\n').to_owned();
        if !code.trim().is_empty() {
            self.push(PageNode::Code { language: String::new(), code: dedent_code(&code) });
        }
    }

    /// Adds a complete node.
    pub(super) fn push(&mut self, node: PageNode) {
        if let Some(frame) = self.frames.last_mut() {
            frame.nodes.push(node);
        }
    }

    fn close_item(&mut self) {
        if matches!(self.frames.last(), Some(ManFrame { opened: ManFrameKind::Item(_), .. })) {
            self.close();
        }
    }

    /// Closes the innermost frame, if it is not the page itself.
    fn close(&mut self) {
        if self.frames.len() < 2 {
            return;
        }
        let Some(frame) = self.frames.pop() else { return };
        match frame.opened {
            ManFrameKind::Item(mark) => {
                let item = self.build_item(mark, frame.nodes);
                self.push(item);
            }
            ManFrameKind::Indent => self.close_indent(frame.nodes),
            ManFrameKind::Group | ManFrameKind::Root => {
                frame.nodes.into_iter().for_each(|node| self.push(node));
            }
        }
    }

    /// What is indented below a line belongs to it: pages made from `DocBook` write lists so.
    fn close_indent(&mut self, mut nodes: Vec<PageNode>) {
        let in_item =
            matches!(self.frames.last(), Some(ManFrame { opened: ManFrameKind::Item(_), .. }));
        let before = self.frames.last_mut().and_then(|frame| frame.nodes.last_mut());
        if let (false, Some(PageNode::Text(tag))) = (in_item, before)
            && !nodes.is_empty()
            && is_tag(tag, &nodes)
        {
            let tag = std::mem::take(tag);
            let mark = mark_of(&tag);
            let item = self.build_item(mark, nodes);
            if let Some(frame) = self.frames.last_mut() {
                frame.nodes.pop();
                frame.nodes.push(item);
            }
            return;
        }
        if let Some(PageNode::Text(first)) = nodes.first_mut()
            && let Some((mark, rest)) = split_marker(first)
        {
            *first = rest;
            let item = self.build_item(mark, nodes);
            self.push(item);
            return;
        }
        for node in nodes {
            self.push(node);
        }
    }

    fn build_item(&self, mark: ItemMarker, body: Vec<PageNode>) -> PageNode {
        let (mut own, mut anchor) = (false, None);
        if let ItemMarker::Term(term) = &mark {
            let term = marks::plain(term);
            own = marks::is_option(&term)
                || self.wanted
                || (self.all_wanted && term.split_whitespace().count() <= 4);
            anchor = anchor_of(&term);
        }
        PageNode::Item(PageListItem { mark, anchor, own, body })
    }

    fn close_all(&mut self) {
        self.code_end();
        self.gap();
        self.beyond = 0;
        while self.frames.len() > 1 {
            self.close();
        }
    }

    /// The nodes of the page.
    pub(super) fn finish(mut self) -> Vec<PageNode> {
        self.close_all();
        let nodes = self.frames.pop().map(|frame| frame.nodes).unwrap_or_default();
        with_synopsis_as_code(nodes)
    }
}

/// One more name of the same thing.
fn push_tag(tags: &mut String, tag: &str) {
    tags.push(marks::ROMAN);
    tags.push_str(", ");
    tags.push_str(tag);
}

/// The marker given by an item's tag.
fn mark_of(tag: &str) -> ItemMarker {
    let plain = marks::plain(tag);
    let plain = plain.trim();
    if matches!(plain, "•" | "·" | "o" | "*" | "-" | "–" | "—" | "+" | "○" | "□" | "‣")
    {
        return ItemMarker::Bullet;
    }
    let number = plain.trim_start_matches(['(', '[']).trim_end_matches(['.', ')', ']']);
    match number.parse() {
        Ok(number) if plain.len() > 1 && !plain.starts_with('[') => ItemMarker::Number(number),
        _ => ItemMarker::Term(tag.to_owned()),
    }
}

/// Splits the leading bullet or number from a paragraph.
fn split_marker(text: &str) -> Option<(ItemMarker, String)> {
    let start = text.trim_start_matches([marks::ROMAN, marks::BOLD, ' ']);
    if let Some(rest) = start.strip_prefix(['•', '·', '○']) {
        return Some((ItemMarker::Bullet, rest.trim_start().to_owned()));
    }
    let (number, rest) = start.split_once('.')?;
    let number = number.parse().ok()?;
    rest.starts_with([' ', '\n'])
        .then(|| (ItemMarker::Number(number), rest.trim_start().to_owned()))
}

/// Whether a line is the term of the indented text below it, instead of a lead-in sentence.
fn is_tag(text: &str, below: &[PageNode]) -> bool {
    let plain = marks::plain(text);
    if marks::is_option(&plain) {
        return true;
    }
    let leads_in = plain.ends_with([':', '.', '?', '!']) && !plain.ends_with("...");
    let code_alone = matches!(below, [PageNode::Code { .. }]);
    // A term is short, or has a font of its own.
    let own_font = text.starts_with([marks::BOLD, marks::ITALIC, marks::CODE]);
    let short = plain.split_whitespace().count() <= if own_font { 20 } else { 7 };
    short && plain.chars().count() <= 160 && !leads_in && !code_alone
}

/// Removes the indentation shared by all lines of code.
fn dedent_code(code: &str) -> String {
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let filled = code.lines().filter(|line| !line.trim().is_empty());
    let shared = filled.map(indent).min().unwrap_or_default();
    let lines = code.lines().map(|line| line.get(shared..).unwrap_or_default().trim_end());
    lines.collect::<Vec<_>>().join("\n")
}

/// Formats a synopsis as code, line by line.
fn with_synopsis_as_code(nodes: Vec<PageNode>) -> Vec<PageNode> {
    let mut all = Vec::with_capacity(nodes.len());
    let mut synopsis: Option<String> = None;
    for node in nodes {
        if let PageNode::Heading { level, text, .. } = &node {
            let was_within = synopsis.is_some();
            end_synopsis(&mut synopsis, &mut all);
            let named = ["SYNOPSIS", "SYNTAX"].iter().any(|name| text.eq_ignore_ascii_case(name));
            let within = if *level == 2 { named } else { was_within };
            synopsis = within.then(String::new);
            all.push(node);
            continue;
        }
        let Some(code) = &mut synopsis else {
            all.push(node);
            continue;
        };
        match node {
            PageNode::Text(text) if is_sentence(&marks::plain(&text)) => {
                if !code.is_empty() {
                    end_synopsis(&mut synopsis, &mut all);
                }
                all.push(PageNode::Text(text));
                synopsis = Some(String::new());
            }
            node => push_lines(code, &node, 0),
        }
    }
    end_synopsis(&mut synopsis, &mut all);
    all
}

fn end_synopsis(synopsis: &mut Option<String>, all: &mut Vec<PageNode>) {
    let code = synopsis.take().unwrap_or_default();
    if !code.trim().is_empty() {
        all.push(PageNode::Code { language: String::new(), code: code.trim_end().to_owned() });
    }
}

fn is_sentence(text: &str) -> bool {
    text.ends_with(['.', ':'])
        && !text.ends_with("...")
        && !text.contains(['[', '|'])
        && text.split_whitespace().count() > 6
}

fn push_lines(out: &mut String, node: &PageNode, depth: usize) {
    let mut push = |text: &str| {
        for line in marks::plain(text).lines() {
            out.push_str(&"  ".repeat(depth));
            out.push_str(line);
            out.push('\n');
        }
    };
    match node {
        PageNode::Text(text) | PageNode::Heading { text, .. } | PageNode::Table(text) => push(text),
        PageNode::Code { code, .. } => push(code),
        PageNode::Quote(body) => body.iter().for_each(|node| push_lines(out, node, depth)),
        PageNode::Item(item) => {
            match &item.mark {
                ItemMarker::Term(term) => push(term),
                ItemMarker::Number(number) => push(&format!("{number}.")),
                ItemMarker::Bullet => {}
            }
            item.body.iter().for_each(|node| push_lines(out, node, depth + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_distinguish_bullets_numbers_and_terms() {
        assert_eq!(mark_of("\u{2}•\u{1}"), ItemMarker::Bullet);
        assert_eq!(mark_of("(2)"), ItemMarker::Number(2));
        assert_eq!(mark_of("[2]"), ItemMarker::Term("[2]".into()));
        assert_eq!(mark_of("-x"), ItemMarker::Term("-x".into()));
    }
}
