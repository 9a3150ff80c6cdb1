//! Outlines of Markdown, including embedded HTML.

use super::{OutlineWriter, html::HtmlOutlineScanner};
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// Parses a Markdown document.
pub(super) fn read(text: &str, writer: &mut OutlineWriter) {
    let mut options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_FOOTNOTES;
    options |= Options::ENABLE_TASKLISTS
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
        | Options::ENABLE_GFM;
    let starts: Vec<usize> = std::iter::once(0)
        .chain(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1))
        .collect();
    let mut reader = MarkdownOutlineReader {
        writer,
        html: HtmlOutlineScanner::default(),
        code: None,
        picture: None,
        hidden: 0,
    };
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        let line = starts.partition_point(|start| *start <= range.start) as u64;
        reader.take(event, line);
    }
    reader.html.flush(reader.writer);
}

struct MarkdownOutlineReader<'a> {
    writer: &'a mut OutlineWriter,
    html: HtmlOutlineScanner,
    /// Line, language and text of the open code block.
    code: Option<(u64, Option<String>, String)>,
    /// Target and text of the open image.
    picture: Option<(String, String)>,
    /// Number of open hidden blocks.
    hidden: usize,
}

impl MarkdownOutlineReader<'_> {
    fn take(&mut self, event: Event<'_>, line: u64) {
        if let Event::Html(chunk) | Event::InlineHtml(chunk) = &event {
            self.html.push(chunk, line);
            if matches!(event, Event::InlineHtml(_)) {
                self.html.flush(self.writer);
            }
            return;
        }
        self.html.flush(self.writer);
        match event {
            Event::Start(tag) => self.open(tag, line),
            Event::End(tag) => self.close(tag, line),
            Event::Text(text) => self.text(&text, line),
            Event::Code(text) if self.hidden == 0 => self.writer.code(line, &text),
            Event::SoftBreak | Event::HardBreak => self.text(" ", line),
            _ => {}
        }
    }

    fn text(&mut self, text: &str, line: u64) {
        if self.hidden > 0 {
            return;
        }
        if let Some((_, _, code)) = &mut self.code {
            code.push_str(text);
        } else if let Some((_, alternative)) = &mut self.picture {
            alternative.push_str(text);
        } else if !self.html.is_silent() {
            self.writer.text(line, text);
        }
    }

    fn open(&mut self, tag: Tag<'_>, line: u64) {
        match tag {
            Tag::Heading { level, .. } => self.writer.open_heading(level as u8, line),
            Tag::CodeBlock(kind) => {
                let language = match kind {
                    CodeBlockKind::Fenced(language) => Some(language.into_string()),
                    CodeBlockKind::Indented => None,
                };
                self.code = Some((line, language, String::new()));
            }
            Tag::Link { dest_url, .. } => self.writer.open_link(line, &dest_url),
            Tag::Image { dest_url, .. } => {
                self.picture = Some((dest_url.into_string(), String::new()));
            }
            Tag::MetadataBlock(_) => self.hidden += 1,
            Tag::Paragraph | Tag::Item | Tag::TableCell | Tag::BlockQuote(_) => {
                self.writer.end_prose();
            }
            _ => {}
        }
    }

    fn close(&mut self, tag: TagEnd, line: u64) {
        match tag {
            TagEnd::Heading(_) => self.writer.close_heading(),
            TagEnd::CodeBlock => {
                if let Some((line, language, text)) = self.code.take() {
                    self.writer.code_block(line, language.as_deref(), text);
                }
            }
            TagEnd::Link => self.writer.close_link(),
            TagEnd::Image => {
                if let Some((target, text)) = self.picture.take() {
                    self.writer.picture(line, &text, &target);
                }
            }
            TagEnd::MetadataBlock(_) => self.hidden -= 1,
            TagEnd::Paragraph | TagEnd::Item | TagEnd::TableCell | TagEnd::BlockQuote(_) => {
                self.writer.end_prose();
            }
            _ => {}
        }
    }
}
