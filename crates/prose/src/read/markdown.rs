//! Markdown: cut at its headings, otherwise left as it is written.

use crate::{
    document::{Document, Kind, Writer},
    format::Unreadable,
};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::ops::Range;

struct Heading {
    level: u8,
    text: String,
    anchor: Option<String>,
    range: Range<usize>,
}

/// Reads a Markdown document.
pub(crate) fn read(path: &str, text: &str) -> Result<Document, Unreadable> {
    let (headings, front) = scan(text);
    let mut writer = Writer::default();
    let mut from = front.as_ref().map_or(0, |range| range.end);
    for heading in &headings {
        blocks(&mut writer, text.get(from..heading.range.start).unwrap_or_default());
        writer.heading(heading.level, &heading.text, heading.anchor.clone());
        from = heading.range.end;
    }
    blocks(&mut writer, text.get(from..).unwrap_or_default());
    let title = front.and_then(|range| title_in(text.get(range).unwrap_or_default()));
    Ok(writer.finish(title, path))
}

fn blocks(writer: &mut Writer, text: &str) {
    for block in text.split("\n\n") {
        writer.plain(Kind::Paragraph, block);
    }
}

/// Headings that stand on their own, and the front matter.
fn scan(text: &str) -> (Vec<Heading>, Option<Range<usize>>) {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
        | Options::ENABLE_FOOTNOTES;
    let mut headings: Vec<Heading> = Vec::new();
    let mut front = None;
    let mut depth = 0_usize;
    let mut inside = false;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, id, .. }) => {
                // A heading in a quotation or a list is part of it.
                inside = depth == 0;
                if inside {
                    let anchor = id.map(|id| id.to_string());
                    headings.push(Heading {
                        level: level as u8,
                        text: String::new(),
                        anchor,
                        range,
                    });
                }
                depth += 1;
            }
            Event::Start(Tag::MetadataBlock(_)) => {
                front = Some(range);
                depth += 1;
            }
            Event::Start(_) => depth += 1,
            Event::End(end) => {
                depth = depth.saturating_sub(1);
                inside &= !matches!(end, TagEnd::Heading(_));
            }
            Event::Text(part) | Event::Code(part) if inside => {
                if let Some(heading) = headings.last_mut() {
                    heading.text.push_str(&part);
                }
            }
            _ => {}
        }
    }
    (headings, front)
}

fn title_in(front: &str) -> Option<String> {
    let line = front.lines().find_map(|line| line.strip_prefix("title:"))?;
    let title = line.trim().trim_matches(['"', '\'']);
    (!title.is_empty()).then(|| title.to_owned())
}
