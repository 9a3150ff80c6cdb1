//! HTML embedded in documents of other formats: headings, links, images and text, tag by tag.

use super::OutlineWriter;

/// Collects pieces of HTML until a tag is complete, then passes it to the outline writer.
#[derive(Debug, Default)]
pub(super) struct HtmlOutlineScanner {
    line: u64,
    pending: String,
    /// The open tag whose contents are hidden: `script`, `style`.
    silent: Option<&'static str>,
    /// Line and text of the open `pre`.
    code: Option<(u64, String)>,
}

impl HtmlOutlineScanner {
    /// Adds a piece of HTML.
    pub(super) fn push(&mut self, chunk: &str, line: u64) {
        if self.pending.is_empty() {
            self.line = line;
        }
        self.pending.push_str(chunk);
    }

    /// Whether the following text is hidden.
    pub(super) fn is_silent(&self) -> bool {
        self.silent.is_some()
    }

    /// Passes the collected text to the writer.
    pub(super) fn flush(&mut self, writer: &mut OutlineWriter) {
        let pending = std::mem::take(&mut self.pending);
        let mut line = self.line;
        let mut rest = pending.as_str();
        while let Some((text, tagged)) = rest.split_once('<') {
            self.text(writer, line, text);
            line += newlines(text);
            let (tag, after) = match tagged.strip_prefix("!--") {
                Some(comment) => ("", comment.split_once("-->").map_or("", |(_, after)| after)),
                None => tagged.split_once('>').unwrap_or((tagged, "")),
            };
            self.tag(writer, line, tag);
            line += newlines(tagged) - newlines(after);
            rest = after;
        }
        self.text(writer, line, rest);
    }

    fn text(&mut self, writer: &mut OutlineWriter, line: u64, text: &str) {
        if self.is_silent() || text.is_empty() {
            return;
        }
        let text = decode(text);
        match &mut self.code {
            Some((_, code)) => code.push_str(&text),
            None => writer.text(line, &text),
        }
    }

    fn tag(&mut self, writer: &mut OutlineWriter, line: u64, tag: &str) {
        let closing = tag.starts_with('/');
        let tag = tag.trim_start_matches('/');
        let name_end = |c: char| c.is_whitespace() || c == '/';
        let name = tag.split(name_end).next().unwrap_or_default().to_ascii_lowercase();
        if let Some(silent) = self.silent {
            if closing && name == silent {
                self.silent = None;
            }
            return;
        }
        match (name.as_str(), closing) {
            ("script", false) => self.silent = Some("script"),
            ("style", false) => self.silent = Some("style"),
            ("h1" | "h2" | "h3" | "h4" | "h5" | "h6", false) => {
                let level = name.as_bytes().get(1).map_or(1, |digit| digit - b'0');
                writer.open_heading(level, line);
            }
            ("h1" | "h2" | "h3" | "h4" | "h5" | "h6", true) => writer.close_heading(),
            ("a", false) => {
                if let Some(target) = attribute(tag, "href") {
                    writer.open_link(line, &target);
                }
            }
            ("a", true) => writer.close_link(),
            ("img", _) => {
                let text = attribute(tag, "alt").unwrap_or_default();
                writer.picture(line, &text, &attribute(tag, "src").unwrap_or_default());
            }
            ("pre", false) => self.code = Some((line, String::new())),
            ("pre", true) => {
                if let Some((line, text)) = self.code.take() {
                    writer.code_block(line, None, text);
                }
            }
            (
                "p" | "div" | "li" | "td" | "th" | "tr" | "table" | "summary" | "details"
                | "blockquote" | "dt" | "dd",
                _,
            ) => {
                writer.end_prose();
            }
            ("br", _) => writer.text(line, " "),
            _ => {}
        }
    }
}

fn newlines(text: &str) -> u64 {
    memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64
}

/// Returns the value of an attribute, with or without quotes.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let mut rest = tag;
    loop {
        let (before, after) = rest.split_once('=')?;
        let found =
            before.split_whitespace().next_back().is_some_and(|it| it.eq_ignore_ascii_case(name));
        let after = after.trim_start();
        let (value, next) = match after.chars().next()? {
            '"' => after.get(1..)?.split_once('"')?,
            '\'' => after.get(1..)?.split_once('\'')?,
            _ => after.split_once(char::is_whitespace).unwrap_or((after, "")),
        };
        if found {
            return Some(decode(value));
        }
        rest = next;
    }
}

/// Decodes the most common named character references.
fn decode(text: &str) -> String {
    if !text.contains('&') {
        return text.to_owned();
    }
    let named = [
        ("&nbsp;", " "),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&middot;", "·"),
        ("&amp;", "&"),
    ];
    named.iter().fold(text.to_owned(), |text, (name, character)| text.replace(name, character))
}
