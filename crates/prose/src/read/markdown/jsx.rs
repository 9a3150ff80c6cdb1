//! MDX: drops imports, exports and tags, keeps the text between them.

use super::markup;

/// Maximum characters of a tag.
const MAX_TAG_CHARS: usize = 4000;
/// Maximum bytes of a line; a longer one is data, scanned once for each tag.
const MAX_LINE_BYTES: usize = 10_000;

/// Converts MDX to Markdown.
pub(super) fn without(text: &str) -> String {
    let mut reader = JsxReader::default();
    let mut rest = text;
    while !rest.is_empty() {
        rest = reader.line(rest);
    }
    reader.flush();
    reader.out
}

#[derive(Default)]
struct JsxReader<'a> {
    out: String,
    /// Lines since the last tag: they are indented as one.
    lines: Vec<&'a str>,
    fence: Option<String>,
    depth: usize,
    /// Whether an import or export was never closed.
    unclosed: bool,
}

impl<'a> JsxReader<'a> {
    /// Takes a line, and returns the rest.
    fn line(&mut self, rest: &'a str) -> &'a str {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        let bare = line.trim_start();
        if line.len() > MAX_LINE_BYTES {
            self.lines.push(line);
            return after;
        }
        if let Some(mark) = &self.fence {
            if bare.starts_with(mark.as_str()) {
                self.fence = None;
            }
            self.lines.push(line);
            return after;
        }
        if let Some(mark) = ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark)) {
            let length = bare.chars().take_while(|c| mark.starts_with(*c)).count();
            self.fence = bare.get(..length).map(str::to_owned);
            self.lines.push(line);
            return after;
        }
        let starts = self.lines.last().is_none_or(|last| last.trim().is_empty());
        if starts && (line.starts_with("import ") || line.starts_with("export ")) {
            let end = if self.unclosed { None } else { statement(rest) };
            // An unclosed statement loses only its first line, and the rest is not scanned again.
            self.unclosed = end.is_none();
            return rest.get(end.unwrap_or(line.len() + 1)..).unwrap_or_default();
        }
        if bare.starts_with("{/*") {
            let tail = rest.split_once("*/").map_or("", |(_, tail)| tail);
            return tail.strip_prefix('}').unwrap_or(tail);
        }
        let from = rest.get(line.len() - bare.len()..).unwrap_or_default();
        if let Some(end) = tag(from) {
            let (tag, behind) = from.split_at_checked(end).unwrap_or((from, ""));
            self.tag(tag);
            return behind.strip_prefix('\n').unwrap_or(behind);
        }
        let closing = bare.rfind("</").filter(|at| self.depth > 0 && *at > 0);
        if let Some(end) = closing.and_then(|at| Some(at + tag(bare.get(at..)?)?)) {
            // A closing tag after text on the same line.
            let at = closing.unwrap_or_default();
            self.lines.push(bare.get(..at).unwrap_or_default());
            self.tag(bare.get(at..end).unwrap_or_default());
            return after;
        }
        self.lines.push(line);
        after
    }

    /// Drops a tag. What it shows as a title is kept.
    fn tag(&mut self, tag: &str) {
        self.flush();
        if tag.starts_with("</") {
            self.depth = self.depth.saturating_sub(1);
            return;
        }
        if !tag.ends_with("/>") {
            self.depth += 1;
        }
        let Some(parsed) = markup::MarkupTag::parse(tag) else { return };
        let title = parsed.attribute("title").or_else(|| parsed.attribute("label"));
        let title = title.filter(|title| !title.starts_with('{'));
        let shown = match (title, parsed.attribute("href")) {
            (Some(title), Some(href)) => format!("[{title}]({href})\n\n"),
            (Some(title), None) => format!("**{title}**\n\n"),
            _ => return,
        };
        self.out.push_str(&shown);
    }

    fn flush(&mut self) {
        let indents = self.lines.iter().filter(|line| !line.trim().is_empty());
        let indents = indents.map(|line| line.len() - line.trim_start_matches(' ').len());
        let least = indents.min().unwrap_or_default();
        for line in self.lines.drain(..) {
            self.out.push_str(line.get(least..).unwrap_or_default());
            self.out.push('\n');
        }
        self.out.push('\n');
    }
}

/// Where an import or an export ends: with a line where all brackets are closed.
fn statement(rest: &str) -> Option<usize> {
    let mut open = 0_i64;
    let mut at = 0;
    for line in rest.split_inclusive('\n').take(500) {
        at += line.len();
        for c in line.chars() {
            match c {
                '{' | '(' | '[' => open += 1,
                '}' | ')' | ']' => open -= 1,
                _ => {}
            }
        }
        if open <= 0 {
            return Some(at);
        }
    }
    None
}

/// Where a tag of a component or of a container ends that starts here.
fn tag(from: &str) -> Option<usize> {
    let name = from.strip_prefix('<')?;
    let name = name.strip_prefix('/').unwrap_or(name);
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(name.len());
    let known = match name.get(..end)? {
        "" => name.starts_with('>'),
        "div" | "section" | "details" | "center" | "figure" => true,
        name => name.starts_with(|c: char| c.is_ascii_uppercase()),
    };
    if !known {
        return None;
    }
    let (mut open, mut quote) = (0_usize, None);
    for (at, c) in from.char_indices().take(MAX_TAG_CHARS) {
        match (quote, c) {
            (Some(mark), c) if c == mark => quote = None,
            (None, '"' | '\'' | '`') => quote = Some(c),
            (None, '{') => open += 1,
            (None, '}') => open = open.saturating_sub(1),
            (None, '>') if open == 0 => return Some(at + 1),
            _ => {}
        }
    }
    None
}
