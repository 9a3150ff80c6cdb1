//! `AsciiDoc`, as Asciidoctor reads it, line by line.

use super::draft::DocumentFactsBuilder;

/// Fences of blocks without markup.
const FENCES: [&str; 5] = ["----", "....", "++++", "////", "```"];

/// Longer lines are treated as data.
const MAX_LINE_BYTES: usize = 10_000;

/// Reads a document.
pub(super) fn read(draft: &mut DocumentFactsBuilder, text: &str) {
    let mut reader = AsciiDocFactsReader { draft, images: String::new(), language: None };
    let mut lines = (1..).zip(text.lines());
    while let Some((number, line)) = lines.next() {
        let line = line.trim_end();
        let Some(fence) = fence_of(line) else {
            reader.line(line, number);
            continue;
        };
        let mut block = String::new();
        for (_, inner) in lines.by_ref().take_while(|(_, inner)| inner.trim_end() != fence) {
            block.push_str(inner);
            block.push('\n');
        }
        reader.block(fence, line, &block, number);
    }
    reader.draft.gap();
}

struct AsciiDocFactsReader<'d> {
    draft: &'d mut DocumentFactsBuilder,
    /// Image folder.
    images: String,
    /// Language of the next block.
    language: Option<String>,
}

impl AsciiDocFactsReader<'_> {
    fn block(&mut self, fence: &str, opening: &str, block: &str, number: u32) {
        let language = self.language.take();
        match fence.chars().next() {
            Some('-' | '.') => {
                let language = language.unwrap_or_default();
                self.draft.code_block(number, &language, block, number + 1);
            }
            Some('`') => {
                let language = opening.trim_start_matches('`');
                self.draft.code_block(number, language, block, number + 1);
            }
            _ => {}
        }
        self.includes(block, number + 1);
    }

    /// Files included in a code block.
    fn includes(&mut self, block: &str, first: u32) {
        for (number, line) in (first..).zip(block.lines()) {
            if let Some(path) = macro_of(line, "include::") {
                self.draft.include(path, number);
                self.draft.link(path, number, false);
            }
        }
    }

    fn line(&mut self, line: &str, number: u32) {
        if line.is_empty() {
            return self.draft.gap();
        }
        if line.starts_with("//") && !line.starts_with("///") {
            return;
        }
        if let Some((level, title)) = title_of(line) {
            self.draft.heading(level, &without_marks(title), number);
        } else if let Some(attribute) = line.strip_prefix(':').and_then(|line| line.split_once(':'))
        {
            if attribute.0 == "imagesdir" {
                attribute.1.trim().clone_into(&mut self.images);
            } else if attribute.0.starts_with("page-") {
                self.draft.link("site:", number, false);
            }
        } else if is_attributes(line) {
            self.attributes(line);
        } else if line.starts_with("include::") {
            self.includes(line, number);
        } else if let Some(path) = macro_of(line, "image::") {
            self.image(path, number);
        } else {
            self.inline(line, number);
        }
    }

    /// Reads block attributes in brackets: anchor and language.
    fn attributes(&mut self, line: &str) {
        if let Some(anchor) = line.strip_prefix("[[").and_then(|line| line.strip_suffix("]]")) {
            return self.draft.anchor(anchor.split(',').next().unwrap_or_default());
        }
        let list = line.trim_matches(['[', ']']);
        let mut words = list.split(',').map(str::trim);
        let first = words.next().unwrap_or_default();
        if let Some((_, id)) = first.split_once('#') {
            self.draft.anchor(id.split(['.', '%']).next().unwrap_or_default());
        }
        let id = list.split(',').find_map(|word| word.trim().strip_prefix("id="));
        self.draft.anchor(id.unwrap_or_default().trim_matches('"'));
        if first.starts_with("source") || first.starts_with("listing") || first.is_empty() {
            self.language = words.next().filter(|word| !word.contains('=')).map(str::to_owned);
        }
    }

    fn image(&mut self, path: &str, number: u32) {
        let is_elsewhere = path.contains(':') || path.starts_with('/') || self.images.is_empty();
        if is_elsewhere {
            self.draft.link(path, number, true);
        } else {
            let folder = self.images.trim_end_matches('/').to_owned();
            self.draft.link(&format!("{folder}/{path}"), number, true);
        }
    }

    /// Reads inline macros and code.
    fn inline(&mut self, line: &str, number: u32) {
        if line.len() > MAX_LINE_BYTES {
            return self.draft.text(line);
        }
        for path in macros_of(line, "image:") {
            self.image(path, number);
        }
        for target in macros_of(line, "link:") {
            self.draft.link(target, number, false);
        }
        for target in macros_of(line, "xref:") {
            self.xref(target, number);
        }
        for (_, after) in
            line.match_indices("<<").filter_map(|(at, _)| line.split_at_checked(at + 2))
        {
            if let Some((target, _)) = after.split_once(">>") {
                self.xref(target.split(',').next().unwrap_or_default(), number);
            }
        }
        for (_, after) in
            line.match_indices("[[").filter_map(|(at, _)| line.split_at_checked(at + 2))
        {
            if let Some((anchor, _)) = after.split_once("]]") {
                self.draft.anchor(anchor.split(',').next().unwrap_or_default());
            }
        }
        for anchor in macros_of(line, "anchor:") {
            self.draft.anchor(anchor);
        }
        for address in line
            .split_whitespace()
            .filter_map(|word| word.find("http").and_then(|at| word.get(at..)))
        {
            if address.starts_with("http://") || address.starts_with("https://") {
                let end = address.find(['[', '>', ')', '`']).unwrap_or(address.len());
                self.draft.link(address.get(..end).unwrap_or_default(), number, false);
            }
        }
        let quotes = line.matches('`').count();
        for (at, part) in line.split('`').enumerate() {
            if at % 2 == 1 && quotes > at {
                self.draft.mention(part.trim_matches('+'), number, false);
            }
        }
        self.draft.text(line);
        self.draft.gap();
    }

    /// Reads a cross-reference: to a file, a page by name, or an anchor of this document.
    fn xref(&mut self, target: &str, number: u32) {
        let path = target.split('#').next().unwrap_or_default();
        if path.contains([':', '@', '$']) {
            self.draft.page(path, number);
        } else if path.contains('.') {
            self.draft.link(target, number, false);
        } else if target.contains('#') && !path.is_empty() {
            self.draft.page(path, number);
        }
    }
}

/// Returns the fence if a line opens a block.
fn fence_of(line: &str) -> Option<&str> {
    if line.starts_with("```") {
        return Some("```");
    }
    let mark = line.chars().next()?;
    let is_fence =
        FENCES.iter().any(|fence| line.starts_with(fence)) && line.chars().all(|c| c == mark);
    is_fence.then_some(line)
}

/// Whether a line is a block attribute list.
fn is_attributes(line: &str) -> bool {
    let inside = line.strip_prefix('[').and_then(|line| line.strip_suffix(']'));
    inside.is_some_and(|inside| {
        let anchor = inside.strip_prefix('[').and_then(|inside| inside.strip_suffix(']'));
        !anchor.unwrap_or(inside).contains(']')
    })
}

/// `== Title`, or `## Title`, with its level.
fn title_of(line: &str) -> Option<(u8, &str)> {
    let mark = line.chars().next().filter(|mark| matches!(mark, '=' | '#'))?;
    let title = line.trim_start_matches(mark);
    let level = u8::try_from(line.len() - title.len()).ok().filter(|level| *level <= 6)?;
    title
        .strip_prefix(' ')
        .map(|title| (level, title.trim()))
        .filter(|(_, title)| !title.is_empty())
}

/// Strips quotation marks and anchors from a title.
fn without_marks(title: &str) -> String {
    let title = title.rsplit_once("]]").map_or(title, |(_, title)| title);
    title.replace(['`', '*'], "").trim().to_owned()
}

/// Returns the target of a block macro.
fn macro_of<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.trim_start().strip_prefix(name)?.split_once('[').map(|(target, _)| target)
}

/// Returns the targets of an inline macro.
fn macros_of<'a>(line: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    line.match_indices(name).filter_map(move |(at, _)| {
        let (before, after) = line.split_at_checked(at)?;
        if before.ends_with(|c: char| c.is_alphanumeric() || c == '`') {
            return None;
        }
        let (target, _) = after.strip_prefix(name)?.split_once('[')?;
        let target =
            target.strip_prefix("++").and_then(|it| it.strip_suffix("++")).unwrap_or(target);
        (!target.is_empty() && !target.contains(char::is_whitespace) && !target.starts_with(':'))
            .then_some(target)
    })
}
