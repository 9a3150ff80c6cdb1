//! Markdown: cut at its headings, otherwise left as it is written.

use crate::docs::document::{Document, Outline};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::ops::Range;

struct Heading {
    level: u8,
    text: String,
    anchor: Option<String>,
    range: Range<usize>,
}

/// Reads a Markdown document.
pub(crate) fn read(name: &str, text: &str) -> Document {
    let (headings, front) = scan(text);
    let mut outline = Outline::default();
    let mut from = front.as_ref().map_or(0, |range| range.end);
    for heading in &headings {
        outline.text(text.get(from..heading.range.start).unwrap_or_default());
        outline.heading(heading.level, &heading.text, heading.anchor.clone());
        from = heading.range.end;
    }
    outline.text(text.get(from..).unwrap_or_default());
    let front_title = front.and_then(|range| title_in(text.get(range).unwrap_or_default()));
    let title = front_title
        .or_else(|| outline.first_heading().map(str::to_owned))
        .unwrap_or_else(|| name.to_owned());
    Document { title, sections: outline.finish(), text: text.to_owned() }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn sections(text: &str) -> Vec<(String, String)> {
        let of = |section: crate::docs::document::Section| (section.path.join(" > "), section.text);
        read("f.md", text).sections.into_iter().map(of).collect()
    }

    fn check(text: &str, want: &[(&str, &str)]) {
        let want: Vec<(String, String)> =
            want.iter().map(|(path, text)| ((*path).into(), (*text).into())).collect();
        assert_eq!(sections(text), want, "{text}");
    }

    #[test]
    fn sections_follow_the_headings() {
        check(
            "# Routine Vacuuming\n\nVACUUM reclaims.\n\n## The Daemon\n\nIt runs.\n",
            &[
                ("Routine Vacuuming", "VACUUM reclaims."),
                ("Routine Vacuuming > The Daemon", "It runs."),
            ],
        );
        check(
            "Intro.\n\nSet `x`\n=======\n\n```sh\n# not a heading\n```\n",
            &[("", "Intro."), ("Set x", "```sh\n# not a heading\n```")],
        );
        check("> # quoted\n\n- # listed\n", &[("", "> # quoted\n\n- # listed")]);
        check("", &[]);
        check("# Only\n", &[("Only", "")]);
    }

    #[test]
    fn titles_come_from_front_matter_heading_or_name() {
        let cases = [
            ("---\ntitle: \"From front\"\n---\n# H\n", "From front"),
            ("## *Some* `code`\n", "Some code"),
            ("no heading", "f.md"),
        ];
        for (text, want) in cases {
            assert_eq!(read("f.md", text).title, want, "{text}");
        }
        check("---\ntitle: T\n---\nBody.\n", &[("", "Body.")]);
        let anchored = read("f.md", "# A {#top}\n");
        assert_eq!(anchored.sections[0].anchor.as_deref(), Some("top"));
        assert_eq!(anchored.text, "# A {#top}\n");
    }
}
