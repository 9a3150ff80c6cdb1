//! Splits `CommonMark` into blocks: source slices, with links extracted and markup dropped.

use super::{Anchors, markup};
use crate::document::{BlockKind, DocumentWriter, LinkedText, TextLink};
use pulldown_cmark::{CodeBlockKind, Event, LinkType, OffsetIter, Options, Parser, Tag, TagEnd};
use std::ops::Range;

/// How headings are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeadingPlacement {
    /// Each starts a section.
    Sections,
    /// Each starts a section this many levels deeper.
    Below(u8),
    /// They become lines of bold text, for Markdown inside a section.
    Bold,
}

/// Writes the blocks of `CommonMark` text.
pub(super) fn write(
    writer: &mut DocumentWriter,
    anchors: &mut Anchors,
    text: &str,
    headings: HeadingPlacement,
) {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS;
    let mut reader = MarkdownReader { writer, anchors, text, headings, named: None };
    let mut events = Parser::new_ext(text, options).into_offset_iter();
    while let Some((event, range)) = events.next() {
        if let Event::Start(tag) = event {
            reader.block(tag, range, &mut events);
        }
    }
}

struct MarkdownReader<'a> {
    writer: &'a mut DocumentWriter,
    anchors: &'a mut Anchors,
    text: &'a str,
    headings: HeadingPlacement,
    /// An `<a id>` directly before a heading is its anchor.
    named: Option<String>,
}

impl<'a> MarkdownReader<'a> {
    fn block(&mut self, tag: Tag<'a>, range: Range<usize>, events: &mut OffsetIter<'a>) {
        let kind = match tag {
            Tag::Heading { level, id, .. } => {
                let id = id.map(|id| id.to_string());
                return self.heading(level as u8, id, events);
            }
            Tag::CodeBlock(kind) => {
                let code = code(events);
                self.named = None;
                let info = match &kind {
                    CodeBlockKind::Fenced(info) => info,
                    CodeBlockKind::Indented => "",
                };
                return self.writer.code(language(info), &code);
            }
            Tag::HtmlBlock => {
                skip(events);
                return self.markup(range);
            }
            Tag::List(_) => BlockKind::List,
            Tag::BlockQuote(_) => BlockKind::Quote,
            Tag::Table(_) => BlockKind::Table,
            _ => BlockKind::Paragraph,
        };
        let mut slice = Slice::new(self.text, &range);
        slice.take(events);
        let contains =
            matches!(kind, BlockKind::List | BlockKind::Quote) && slice.last > range.start;
        let end = if contains { slice.last.min(range.end) } else { range.end };
        let (text, anchor) = slice.finish(end);
        if !text.plain.trim().is_empty() {
            self.named = None;
        }
        if anchor.is_some() && kind == BlockKind::Paragraph {
            self.named = anchor;
        }
        self.writer.block(kind, text);
    }

    fn heading(&mut self, level: u8, id: Option<String>, events: &mut OffsetIter<'a>) {
        let mut text = String::new();
        let mut anchor = id;
        for (event, _) in events.by_ref() {
            match event {
                Event::End(TagEnd::Heading(_)) => break,
                Event::Text(part) | Event::Code(part) => text.push_str(&part),
                Event::SoftBreak | Event::HardBreak => text.push(' '),
                Event::InlineHtml(tag) => {
                    let tag = markup::MarkupTag::parse(&tag);
                    anchor = anchor.or_else(|| tag.and_then(|tag| tag.anchor()));
                }
                _ => {}
            }
        }
        self.start(level, &text, anchor);
    }

    /// Starts a section, or writes its heading as bold text.
    fn start(&mut self, level: u8, text: &str, anchor: Option<String>) {
        let anchor = anchor.or_else(|| self.named.take());
        self.named = None;
        let below = match self.headings {
            HeadingPlacement::Sections => 0,
            HeadingPlacement::Below(levels) => levels,
            HeadingPlacement::Bold => {
                if !text.trim().is_empty() {
                    self.writer.plain(BlockKind::Paragraph, format!("**{}**", text.trim()));
                }
                return;
            }
        };
        if let Some(anchor) = &anchor {
            self.anchors.take(anchor);
        }
        let anchor = anchor.or_else(|| self.anchors.next_anchor(text));
        self.writer.heading(level.saturating_add(below), text, anchor);
    }

    fn markup(&mut self, range: Range<usize>) {
        for piece in markup::pieces(self.text.get(range).unwrap_or_default()) {
            match piece {
                markup::HtmlBlockPart::Anchor(anchor) => self.named = Some(anchor),
                markup::HtmlBlockPart::Heading(level, text, anchor) => {
                    self.start(level, &text, anchor);
                }
                markup::HtmlBlockPart::Code(code) => self.writer.code("", &code),
                markup::HtmlBlockPart::Block(kind, text) => {
                    self.named = None;
                    self.writer.block(kind, text);
                }
            }
        }
    }
}

/// The text of a code block, without its fence and its indentation.
fn code(events: &mut OffsetIter<'_>) -> String {
    let mut code = String::new();
    for (event, _) in events {
        match event {
            Event::End(TagEnd::CodeBlock) => break,
            Event::Text(text) => code.push_str(&text),
            _ => {}
        }
    }
    code
}

/// The language in a fence's info string, as `rust` in `rust,no_run` and `python` in `{code-block} python`.
fn language(info: &str) -> &str {
    let info = info.trim();
    let named = info.strip_prefix('{').and_then(|rest| rest.split_once('}'));
    let info = match named {
        Some(("code-block" | "code" | "code-cell" | "sourcecode", rest)) => rest.trim(),
        Some((name, _)) => name.trim_start_matches('.'),
        None => info,
    };
    info.split([' ', '\t', ',', '{', ';']).next().unwrap_or_default()
}

/// Goes past the block that was opened last.
fn skip(events: &mut OffsetIter<'_>) {
    let mut depth = 1_usize;
    for (event, _) in events {
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
}

/// Whether an event is the start or the end of what holds other blocks.
fn is_container(event: &Event<'_>) -> bool {
    matches!(
        event,
        Event::Start(Tag::List(_) | Tag::Item | Tag::BlockQuote(_))
            | Event::End(TagEnd::List(_) | TagEnd::Item | TagEnd::BlockQuote(_))
    )
}

/// An open link or image.
struct OpenMarkdownLink {
    target: Option<String>,
    /// Where its label starts in the text that is written.
    start: usize,
    /// Whether nothing of its label was seen yet.
    fresh: bool,
    /// Where what was last seen of its label ends in the source.
    end: usize,
    collapsed: bool,
}

/// Copies a block from the source, without the syntax of links, images and tags.
struct Slice<'a> {
    source: &'a str,
    at: usize,
    text: LinkedText,
    open: Vec<OpenMarkdownLink>,
    /// Where the label of an `<a href>` starts, and its target.
    tagged: Option<(usize, String)>,
    anchor: Option<String>,
    comment: bool,
    /// Where the last text ends: containers claim definitions of links behind them as well.
    last: usize,
}

impl<'a> Slice<'a> {
    fn new(source: &'a str, range: &Range<usize>) -> Self {
        Self {
            source,
            at: range.start,
            text: LinkedText::default(),
            open: Vec::new(),
            tagged: None,
            anchor: None,
            comment: false,
            last: range.start,
        }
    }

    fn copy_to(&mut self, end: usize) {
        if end > self.at {
            self.text.plain.push_str(self.source.get(self.at..end).unwrap_or_default());
            self.at = end;
        }
    }

    fn skip_to(&mut self, end: usize) {
        self.at = self.at.max(end);
    }

    /// Takes everything up to the end of the block that was opened last.
    fn take(&mut self, events: &mut OffsetIter<'a>) {
        let mut depth = 1_usize;
        for (event, range) in events {
            let starts = !matches!(event, Event::End(_));
            if let Some(open) = self.open.last_mut().filter(|open| open.fresh && starts) {
                open.fresh = false;
                open.end = range.start;
                self.at = self.at.max(range.start);
            }
            let container = is_container(&event);
            match event {
                Event::Start(tag) => {
                    depth += 1;
                    self.start(tag, &range);
                }
                Event::End(end) => {
                    depth -= 1;
                    if matches!(end, TagEnd::Link | TagEnd::Image) {
                        self.end(&range);
                    }
                    if depth == 0 {
                        break;
                    }
                }
                Event::InlineHtml(tag) => self.tag(&tag, &range),
                Event::Html(html) => {
                    self.copy_to(range.start);
                    self.skip_to(range.end);
                    let text = markup::strip_markup(&html, &mut self.comment);
                    if text.is_empty() {
                        // The line is gone, and its indentation with it.
                        let kept = self.text.plain.trim_end_matches(' ').len();
                        self.text.plain.truncate(kept);
                    }
                    self.text.plain.push_str(&text);
                }
                _ => {}
            }
            if let Some(open) = self.open.last_mut() {
                open.end = open.end.max(range.end);
            }
            if !container {
                self.last = self.last.max(range.end);
            }
        }
    }

    fn start(&mut self, tag: Tag<'a>, range: &Range<usize>) {
        let collapsed = matches!(
            tag,
            Tag::Link { link_type: LinkType::Collapsed, .. }
                | Tag::Image { link_type: LinkType::Collapsed, .. }
        );
        let target = match tag {
            Tag::Link { link_type: LinkType::Email, dest_url, .. } => {
                Some(format!("mailto:{dest_url}"))
            }
            Tag::Link { dest_url, .. } => Some(dest_url.to_string()),
            Tag::Image { .. } => None,
            _ => return,
        };
        self.copy_to(range.start);
        let start = self.text.plain.len();
        self.open.push(OpenMarkdownLink {
            target,
            start,
            fresh: true,
            end: range.start,
            collapsed,
        });
    }

    fn end(&mut self, range: &Range<usize>) {
        let Some(open) = self.open.pop() else { return };
        if !open.fresh {
            self.copy_to(open.end.min(range.end));
        }
        self.skip_to(range.end);
        // The parser leaves the second brackets of `[label][]` out.
        if open.collapsed && self.source.get(range.end..).is_some_and(|rest| rest.starts_with("[]"))
        {
            self.skip_to(range.end + 2);
        }
        let outermost = !self.open.iter().any(|outer| outer.target.is_some());
        if let Some(target) = open.target.filter(|_| outermost) {
            self.link(open.start, target);
        }
    }

    /// Notes that the text from here to its end is a link, unless it holds one.
    fn link(&mut self, start: usize, target: String) {
        let label = self.text.plain.get(start..).unwrap_or_default();
        let start = start + (label.len() - label.trim_start().len());
        let end = self.text.plain.trim_end().len();
        let apart = self.text.links.last().is_none_or(|last| last.label.end <= start);
        if start < end && apart && !target.is_empty() {
            self.text.links.push(TextLink { label: start..end, target });
        }
    }

    fn tag(&mut self, html: &str, range: &Range<usize>) {
        self.copy_to(range.start);
        self.skip_to(range.end);
        let Some(tag) = markup::MarkupTag::parse(html) else { return };
        match (tag.name.as_str(), tag.closes) {
            ("a", true) => {
                if let Some((start, target)) = self.tagged.take() {
                    self.link(start, target);
                }
            }
            ("a", false) => {
                self.tagged = tag.attribute("href").map(|href| (self.text.plain.len(), href));
                self.anchor = tag.anchor().or_else(|| self.anchor.take());
            }
            ("br", _) if !self.text.plain.ends_with(char::is_whitespace) => {
                self.text.plain.push(' ');
            }
            ("img", _) => self.text.plain.push_str(&tag.attribute("alt").unwrap_or_default()),
            _ => {}
        }
    }

    fn finish(mut self, end: usize) -> (LinkedText, Option<String>) {
        self.copy_to(end);
        (self.text, self.anchor)
    }
}
