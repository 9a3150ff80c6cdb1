//! Converts Markdown dialects to `CommonMark`: admonitions become quotations, shortcodes are removed.
//!
//! Works line by line and leaves fenced code alone.

use std::borrow::Cow;

/// Admonitions of Docusaurus, `VitePress`, `MkDocs` and `MyST`.
const ADMONITIONS: [&str; 27] = [
    "abstract",
    "attention",
    "bug",
    "caution",
    "danger",
    "deprecated",
    "details",
    "error",
    "example",
    "failure",
    "faq",
    "help",
    "hint",
    "important",
    "info",
    "note",
    "question",
    "quote",
    "remarks",
    "seealso",
    "success",
    "summary",
    "tip",
    "todo",
    "versionadded",
    "versionchanged",
    "warning",
];
/// Maximum nesting of containers: every line carries the marks of all its containers.
const MAX_CONTAINER_DEPTH: usize = 8;
/// Maximum bytes of a line; a longer one is data, scanned once for each shortcode.
const MAX_LINE_BYTES: usize = 10_000;

/// Text as `CommonMark`.
pub(super) fn prepare(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    // An opened container that nothing closes would swallow the rest.
    let closers = lines.iter().filter(|line| closes(line, ":::")).count();
    let mut writer = PreparedMarkdown {
        out: String::with_capacity(text.len()),
        closers,
        ..PreparedMarkdown::default()
    };
    for line in lines {
        writer.line(line);
    }
    writer.out
}

/// Whether a line is nothing but a mark, or a longer one of its kind.
fn closes(line: &str, mark: &str) -> bool {
    let line = line.trim();
    let first = mark.chars().next().unwrap_or(':');
    line.len() >= mark.len() && line.chars().all(|c| c == first)
}

/// How a container ends.
enum ContainerEnd {
    /// At the first line not indented by four more.
    Indent,
    /// At a closing line.
    Mark(String),
}

struct ContainerFrame {
    /// Spaces before its first line.
    base: usize,
    quote: bool,
    end: ContainerEnd,
}

#[derive(Default)]
struct PreparedMarkdown {
    out: String,
    frames: Vec<ContainerFrame>,
    /// The mark of the open fence, and the number of frames around it.
    fence: Option<(String, usize)>,
    blanks: usize,
    closers: usize,
    /// Whether a shortcode is open, and what ends it.
    code: Option<&'static str>,
}

impl PreparedMarkdown {
    fn line(&mut self, raw: &str) {
        if raw.trim().is_empty() {
            self.blanks += 1;
            return;
        }
        let line = self.inside(raw);
        if let Some((mark, _)) = &self.fence {
            if closes(line, mark) || closes(line.trim_start_matches(['>', ' ']), mark) {
                self.fence = None;
            }
            self.emit(line);
            return;
        }
        if let Some(end) = self.code {
            match line.split_once(end) {
                Some((_, rest)) => {
                    self.code = None;
                    self.emit(rest);
                }
                None => self.emit(""),
            }
            return;
        }
        if self.container(line) {
            return;
        }
        let bare = line.trim_start_matches(['>', ' ', '\t']);
        let bare = bare
            .strip_prefix("- ")
            .or_else(|| bare.strip_prefix("* "))
            .unwrap_or(bare)
            .trim_start();
        if let Some(mark) = fence(bare) {
            self.fence = Some((mark, self.frames.len()));
            self.emit(line);
            return;
        }
        let line = self.shortcodes(line);
        if let Some(line) = callout(&line) {
            self.emit(&line);
            return;
        }
        self.emit(&line);
    }

    /// Removes the indentation of a line's containers. Ends containers that the line is outside of.
    fn inside<'a>(&mut self, raw: &'a str) -> &'a str {
        let mut line = raw;
        let mut kept = 0;
        for frame in &self.frames {
            let indent = indent(line);
            let strip = match frame.end {
                ContainerEnd::Indent if indent < frame.base + 4 => break,
                ContainerEnd::Indent => frame.base + 4,
                ContainerEnd::Mark(_) => frame.base.min(indent),
            };
            line = strip_columns(line, strip);
            kept += 1;
        }
        if kept < self.frames.len() {
            self.frames.truncate(kept);
            if self.fence.as_ref().is_some_and(|(_, depth)| *depth > kept) {
                self.fence = None;
            }
        }
        line
    }

    /// Opens or closes a container, if that is what the line does.
    fn container(&mut self, line: &str) -> bool {
        let bare = line.trim();
        let marked = |frame: &ContainerFrame| matches!(&frame.end, ContainerEnd::Mark(mark) if closes(bare, mark));
        if let Some(at) = self.frames.iter().rposition(marked) {
            self.frames.truncate(at);
            self.closers = self.closers.saturating_sub(1);
            self.blanks = self.blanks.max(1);
            return true;
        }
        if bare.starts_with(":::") {
            return self.colons(line, bare);
        }
        let myst = fence(bare).filter(|_| bare.contains('{')).and_then(|mark| {
            let name = bare.trim_start_matches(['`', '~']).strip_prefix('{')?;
            let (name, title) = name.split_once('}')?;
            ADMONITIONS.contains(&name).then(|| (mark, name.to_owned(), title.trim().to_owned()))
        });
        if let Some((mark, name, title)) = myst {
            self.open(line, ContainerEnd::Mark(mark), Some(&name), &title);
            return true;
        }
        for mark in ["!!! ", "???+ ", "??? "] {
            let Some(rest) = bare.strip_prefix(mark) else { continue };
            let (name, title) = rest.split_once('"').unwrap_or((rest, ""));
            let name = name.split_whitespace().next().unwrap_or("note").to_owned();
            let title = title.trim_end().trim_end_matches('"').to_owned();
            self.open(line, ContainerEnd::Indent, Some(&name), &title);
            return true;
        }
        for mark in ["=== \"", "===! \""] {
            let Some(title) = bare.strip_prefix(mark) else { continue };
            self.open(line, ContainerEnd::Indent, None, title.trim_end_matches('"'));
            return true;
        }
        false
    }

    fn colons(&mut self, line: &str, bare: &str) -> bool {
        let rest = bare.trim_start_matches(':');
        let mark = bare.get(..bare.len() - rest.len()).unwrap_or(":::").to_owned();
        let rest = rest.trim();
        // `:::row:::` and `:::image …:::` close themselves.
        if rest.is_empty() || rest.ends_with(":::") {
            return true;
        }
        let rest = rest.trim_start_matches('{');
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '-').unwrap_or(rest.len());
        let (name, title) = rest.split_at_checked(end).unwrap_or((rest, ""));
        if name.is_empty() {
            return false;
        }
        let title = title.split_once('{').map_or(title, |(title, _)| title);
        let title = title.trim().trim_start_matches(['[', '}']).trim_end_matches(']').trim();
        let known = ADMONITIONS.contains(&name.to_lowercase().as_str());
        if self.closers > 0 && known {
            self.open(line, ContainerEnd::Mark(mark), Some(name), title);
        } else {
            self.blanks = self.blanks.max(1);
        }
        true
    }

    /// Writes a container's label, and enters it.
    fn open(&mut self, line: &str, end: ContainerEnd, name: Option<&str>, title: &str) {
        self.blanks = self.blanks.max(1);
        let base = indent(line);
        if self.frames.len() >= MAX_CONTAINER_DEPTH {
            self.emit(line);
            return;
        }
        self.flush_blanks();
        self.frames.push(ContainerFrame { base, quote: name.is_some(), end });
        let heading = match (name.map(capitalized), title) {
            (Some(name), "") => format!("**{name}**"),
            (Some(name), title) => format!("**{name}: {title}**"),
            (None, title) => format!("**{title}**"),
        };
        self.emit(&heading);
        // The text starts a paragraph of its own, as it may be a list.
        self.blanks = 1;
    }

    fn prefix(&self) -> String {
        let mut prefix = String::new();
        for frame in &self.frames {
            prefix.extend(std::iter::repeat_n(' ', frame.base.min(40)));
            prefix.push_str(if frame.quote { "> " } else { "" });
        }
        prefix
    }

    fn flush_blanks(&mut self) {
        let prefix = self.prefix();
        for _ in 0..std::mem::take(&mut self.blanks).min(2) {
            self.out.push_str(prefix.trim_end());
            self.out.push('\n');
        }
    }

    fn emit(&mut self, line: &str) {
        if self.fence.is_some() && self.frames.is_empty() {
            // Blank lines in code are kept as they are.
            self.out.extend(std::iter::repeat_n('\n', std::mem::take(&mut self.blanks)));
        }
        self.flush_blanks();
        if !self.frames.is_empty() {
            let prefix = self.prefix();
            self.out.push_str(&prefix);
        }
        self.out.push_str(line);
        self.out.push('\n');
    }

    /// A line without shortcodes of Jekyll, Hugo and kramdown. Code spans are left alone.
    fn shortcodes<'a>(&mut self, line: &'a str) -> Cow<'a, str> {
        if line.len() > MAX_LINE_BYTES || !line.contains('{') {
            return Cow::Borrowed(line);
        }
        let bare = line.trim();
        if bare.starts_with("{:") && bare.ends_with('}') {
            return Cow::Borrowed("");
        }
        if let Some(tag) = bare.strip_prefix("{%").and_then(|rest| rest.strip_suffix("%}")) {
            let mut words = tag.trim_matches(['-', ' ']).split_whitespace();
            match words.next() {
                Some("highlight") => {
                    return Cow::Owned(format!("```{}", words.next().unwrap_or_default()));
                }
                Some("endhighlight") => return Cow::Borrowed("```"),
                _ => {}
            }
        }
        let mut out = String::new();
        let mut rest = line;
        loop {
            let found = [("{{<", ">}}"), ("{{%", "%}}"), ("{%", "%}")].into_iter();
            let found =
                found.filter_map(|(start, end)| Some((rest.find(start)?, start, end))).min();
            let Some((at, start, end)) = found else { break };
            let (before, code) = rest.split_at_checked(at).unwrap_or((rest, ""));
            let ticks = out.matches('`').count() + before.matches('`').count();
            out.push_str(before);
            if ticks % 2 == 1 {
                out.push_str(start);
                rest = code.get(start.len()..).unwrap_or_default();
                continue;
            }
            if let Some((_, after)) = code.split_once(end) {
                rest = after;
            } else {
                self.code = Some(end);
                rest = "";
            }
        }
        out.push_str(rest);
        Cow::Owned(out)
    }
}

/// The mark of a fence that a line opens.
fn fence(line: &str) -> Option<String> {
    let first = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.chars().take_while(|c| *c == first).count();
    let info = line.get(length..).unwrap_or_default();
    (length >= 3 && !(first == '`' && info.contains('`'))).then(|| first.to_string().repeat(length))
}

/// `> [!NOTE]` as `> **Note**`.
fn callout(line: &str) -> Option<String> {
    let bare = line.trim_start_matches(['>', ' ']);
    let (name, title) = bare.strip_prefix("[!")?.split_once(']')?;
    let marks = line.get(..line.len() - bare.len())?;
    if !marks.contains('>')
        || name.is_empty()
        || !name.chars().all(|c| c.is_alphabetic() || c == '-')
    {
        return None;
    }
    let title = title.trim_start_matches(['+', '-']).trim();
    let name = capitalized(name);
    let heading =
        if title.is_empty() { format!("**{name}**") } else { format!("**{name}: {title}**") };
    Some(format!("{marks}{heading}\n{}", marks.trim_end()))
}

fn capitalized(name: &str) -> String {
    let lower = name.to_lowercase();
    let mut rest = lower.chars();
    let first = rest.next().into_iter().flat_map(char::to_uppercase);
    first.chain(rest).collect()
}

/// How many columns a line is indented by; a tab counts as four.
fn indent(line: &str) -> usize {
    let blank = line.chars().take_while(|c| matches!(c, ' ' | '\t'));
    blank.map(|c| if c == '\t' { 4 } else { 1 }).sum()
}

/// Removes up to a number of columns of indentation.
fn strip_columns(line: &str, columns: usize) -> &str {
    let mut left = columns;
    let at = line.find(|c: char| {
        let width = match c {
            ' ' => 1,
            '\t' => 4,
            _ => return true,
        };
        if left == 0 {
            return true;
        }
        left = left.saturating_sub(width);
        false
    });
    line.get(at.unwrap_or(line.len())..).unwrap_or_default()
}
