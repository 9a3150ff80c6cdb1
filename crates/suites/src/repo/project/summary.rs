//! One-sentence project description, from the project itself.

use super::{
    readme::{ReadmeMarkup, markup},
    sources::ProjectSources,
};
use pulldown_cmark::{Event, Parser, Tag, TagEnd};

/// Maximum number of letters in a sentence.
const MAX_SENTENCE_CHARS: usize = 200;
/// Minimum paragraph length; shorter ones are captions and slogans.
const MIN_PARAGRAPH_CHARS: usize = 25;

/// Placeholder descriptions written by generators.
const PLACEHOLDERS: [&str; 9] = [
    "todo",
    "add your description here",
    "a new flutter project",
    "a new flutter application",
    "demo project for spring boot",
    "a short description",
    "add a short description",
    "description",
    "project description",
];

/// Prefixes of paragraphs about documents, not the project.
const REMARKS: [&str; 16] = [
    "[!",
    "check out",
    "deprecated",
    "english",
    "for documentation",
    "for more",
    "important",
    "looking for",
    "note",
    "please",
    "read the",
    "see ",
    "this document",
    "this page",
    "visit",
    "warning",
];

/// Prefixes of introductory headings.
const INTRODUCTIONS: [&str; 8] =
    ["about", "introduction", "intro", "overview", "what", "description", "summary", "why"];

/// Prefixes of headings that are not a title.
const SECTIONS: [&str; 12] = [
    "changelog",
    "contribut",
    "documentation",
    "features",
    "getting started",
    "install",
    "license",
    "quick",
    "requirements",
    "sponsor",
    "table of",
    "usage",
];

/// Returns the description from the outermost manifest, or the README's first paragraph.
pub(super) fn describe(sources: &ProjectSources<'_>) -> Option<String> {
    let outer = sources.manifests.iter().filter(|opened| opened.folder().is_empty());
    let described = outer
        .filter_map(|opened| opened.manifest.description.as_deref())
        .filter_map(sentence)
        .find(|description| !is_placeholder(description));
    described.or_else(|| {
        let readme = sources.presence.readme.as_deref()?;
        let (_, text) = sources.documents.iter().find(|(path, _)| *path == readme)?;
        paragraph(text, markup(readme))
    })
}

fn is_placeholder(description: &str) -> bool {
    let plain = description.to_lowercase();
    let plain = plain.trim_end_matches(['.', '!', '…']);
    plain.len() < 3 || plain.starts_with("todo") || PLACEHOLDERS.contains(&plain)
}

/// Returns the first sentence of a text, on one line and limited in length.
fn sentence(text: &str) -> Option<String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut end = text.len();
    for (at, _) in text.match_indices(". ") {
        let (before, _) = text.split_at_checked(at)?;
        let word = before.rsplit(' ').next().unwrap_or_default();
        let initials = word.split('.').all(|part| part.trim_start_matches('(').len() <= 1);
        let abbreviated = initials
            || matches!(
                word.to_lowercase().as_str(),
                "etc" | "vs" | "cf" | "inc" | "ltd" | "approx" | "no" | "al" | "st" | "dr" | "mr"
            );
        if !abbreviated {
            end = at + 1;
            break;
        }
    }
    let sentence = text.get(..end)?.trim();
    if sentence.is_empty() {
        return None;
    }
    if sentence.chars().count() <= MAX_SENTENCE_CHARS {
        return Some(sentence.to_owned());
    }
    let cut: String = sentence.chars().take(MAX_SENTENCE_CHARS - 1).collect();
    let cut = cut.rsplit_once(' ').map_or(cut.as_str(), |(whole, _)| whole);
    Some(format!("{}…", cut.trim_end_matches([',', ';', ':', ' ', '-'])))
}

fn paragraph(text: &str, markup: ReadmeMarkup) -> Option<String> {
    match markup {
        ReadmeMarkup::Markdown => markdown_paragraph(text),
        _ => plain_paragraph(text, markup),
    }
}

/// Tracks whether text under a heading still introduces the project. The first heading is its title.
#[derive(Default)]
struct HeadingTracker {
    seen: usize,
}

impl HeadingTracker {
    fn introduce(&mut self, heading: &str) -> bool {
        self.seen += 1;
        let heading = heading.trim().to_lowercase();
        let opens = INTRODUCTIONS.iter().any(|start| heading.starts_with(start));
        let is_section = SECTIONS.iter().any(|start| heading.starts_with(start));
        opens || (self.seen == 1 && !is_section)
    }
}

/// Returns the first paragraph of words, not badges, links or HTML.
fn markdown_paragraph(text: &str) -> Option<String> {
    let mut headings = HeadingTracker::default();
    let mut words = String::new();
    let (mut linked, mut inside, mut link, mut image, mut list) = (0, false, 0, 0, 0);
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::List(_) | Tag::Table(_) | Tag::FootnoteDefinition(_)) => list += 1,
            Event::End(TagEnd::List(_) | TagEnd::Table | TagEnd::FootnoteDefinition) => list -= 1,
            Event::Start(Tag::Paragraph | Tag::Heading { .. }) => {
                words.clear();
                (linked, inside) = (0, list == 0);
            }
            Event::End(TagEnd::Heading(_)) => {
                inside = false;
                if !headings.introduce(&words) {
                    return None;
                }
            }
            Event::End(TagEnd::Paragraph) if inside => {
                inside = false;
                if is_informative(&words, linked) {
                    return sentence(&words);
                }
            }
            Event::Start(Tag::Link { .. }) => link += 1,
            Event::End(TagEnd::Link) => link -= 1,
            Event::Start(Tag::Image { .. }) => image += 1,
            Event::End(TagEnd::Image) => image -= 1,
            Event::Text(part) | Event::Code(part) if inside && image == 0 => {
                words.push_str(&part);
                linked += if link > 0 { part.len() } else { 0 };
            }
            Event::SoftBreak | Event::HardBreak => words.push(' '),
            _ => {}
        }
    }
    None
}

/// Whether a paragraph is informative: long enough, not mostly links, no list introduction, no note about the document.
fn is_informative(words: &str, linked: usize) -> bool {
    let words = words.trim();
    let lower = words.to_lowercase();
    let leads_to_a_list = sentence(words).is_none_or(|sentence| sentence.ends_with(':'));
    words.len() >= MIN_PARAGRAPH_CHARS
        && linked * 2 < words.len()
        && words.split_whitespace().count() >= 4
        && !leads_to_a_list
        && !words.contains(" | ")
        && !words.contains(" • ")
        && !words.contains(" · ")
        && !REMARKS.iter().any(|remark| lower.starts_with(remark))
}

fn plain_paragraph(text: &str, markup: ReadmeMarkup) -> Option<String> {
    let mut headings = HeadingTracker::default();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    for group in lines.split(|line| line.is_empty()) {
        let (heading, rest) = split_heading(group);
        if heading.is_some_and(|heading| !headings.introduce(heading)) {
            return None;
        }
        let is_mark = |line: &&str| {
            line.starts_with([' ', '\t', '.', ':', '=', '|', '*', '#', '<', '/', '[', '-'])
        };
        let words = rest.join(" ");
        let plain = match markup {
            ReadmeMarkup::Restructured => without_roles(&words),
            ReadmeMarkup::AsciiDoc => without_macros(&words),
            _ => words,
        };
        if !rest.iter().any(is_mark) && is_informative(&plain, 0) {
            return sentence(&plain);
        }
    }
    None
}

/// Splits a leading heading, underlined or after `=`, from the lines below it.
fn split_heading<'l, 't>(lines: &'l [&'t str]) -> (Option<&'t str>, &'l [&'t str]) {
    if let [first, rest @ ..] = lines
        && let Some(heading) = first.trim_start_matches('=').strip_prefix(' ')
        && first.starts_with('=')
    {
        return (Some(heading), rest);
    }
    let is_rule = |line: &&str| {
        line.len() >= 3
            && line
                .bytes()
                .all(|byte| byte.is_ascii_punctuation() && line.as_bytes().first() == Some(&byte))
    };
    let Some(at) = lines.iter().rposition(is_rule) else { return (None, lines) };
    let (above, below) = lines.split_at_checked(at + 1).unwrap_or((lines, &[]));
    let heading = above.iter().rev().find(|line| !is_rule(line)).copied();
    (heading, below)
}

/// Strips the markup of ``Text`` and `text <target>`_.
fn without_roles(text: &str) -> String {
    let mut plain = String::new();
    for (at, part) in text.split('`').enumerate() {
        let part = if at % 2 == 1 { part.split(" <").next().unwrap_or(part) } else { part };
        let part = if at > 0 && at % 2 == 0 { part.trim_start_matches('_') } else { part };
        plain.push_str(part);
    }
    plain.replace("**", "")
}

/// Replaces `https://a.example[Text]` with its text.
fn without_macros(text: &str) -> String {
    let mut words = Vec::new();
    let mut open = false;
    for word in text.split_whitespace() {
        let is_macro =
            word.contains("://") || word.starts_with("link:") || word.starts_with("xref:");
        let shown = match word.split_once('[') {
            Some((_, shown)) if is_macro => shown,
            _ => word,
        };
        let shown = if open || is_macro { shown.replacen(']', "", 1) } else { shown.to_owned() };
        open = (open || is_macro) && !word.contains(']');
        words.push(shown);
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_sentence() {
        let long = "word ".repeat(60);
        let cases = [
            ("A tool.", Some("A tool.")),
            ("A tool\n  for lines. It is fast.", Some("A tool for lines.")),
            ("Reads files, e.g. Markdown. Fast.", Some("Reads files, e.g. Markdown.")),
            ("Node.js is used. Here", Some("Node.js is used.")),
            ("Classes of java.lang. More", Some("Classes of java.lang.")),
            ("", None),
        ];
        for (text, want) in cases {
            assert_eq!(sentence(text).as_deref(), want, "{text}");
        }
        let cut = sentence(&long).unwrap();
        assert!(cut.chars().count() <= MAX_SENTENCE_CHARS && cut.ends_with("word…"), "{cut}");
    }

    #[test]
    fn the_first_real_paragraph() {
        let cases = [
            (
                ReadmeMarkup::Markdown,
                "# Tool\n\n[![Build](a.svg)](b) [![Docs](c.svg)](d)\n\n<p align=\"center\">Logo</p>\n\n[English](a) | [Deutsch](b)\n\n**Tool** counts lines of `code` quickly. It is good.\n",
                Some("Tool counts lines of code quickly."),
            ),
            (
                ReadmeMarkup::Markdown,
                "# Tool\n\n> A tool that counts the lines of code.\n",
                Some("A tool that counts the lines of code."),
            ),
            (
                ReadmeMarkup::Markdown,
                "# Tool\n\nSee the site for all documents.\n\nA runtime for good programs. It is:\n",
                Some("A runtime for good programs."),
            ),
            (
                ReadmeMarkup::Markdown,
                "# Tool\n\n## Usage\n\nBegin by declaring a type with a name.\n",
                None,
            ),
            (
                ReadmeMarkup::Markdown,
                "# Tool\n\n## About\n\nA tool that counts the lines.\n",
                Some("A tool that counts the lines."),
            ),
            (ReadmeMarkup::Markdown, "## Installation\n\nFirst of all you install it.\n", None),
            (
                ReadmeMarkup::Restructured,
                "Tool\n====\nTool counts the lines of code.\n",
                Some("Tool counts the lines of code."),
            ),
            (
                ReadmeMarkup::Restructured,
                "Tool\n====\n\nUsage\n-----\n\nFirst of all you install it.\n",
                None,
            ),
            (
                ReadmeMarkup::Markdown,
                "# Tool\n\n- a list of many words that says nothing\n\nFeatures of this great tool:\n",
                None,
            ),
            (
                ReadmeMarkup::Restructured,
                "====\nTool\n====\n\n.. image:: a.svg\n   :target: b\n\nTool is a `framework <x>`_ for ``web`` sites. More.\n",
                Some("Tool is a framework for web sites."),
            ),
            (
                ReadmeMarkup::AsciiDoc,
                "= Tool\n:toc:\n\nimage:a.svg[b]\n\nTool is a fast https://a.example[text processor] for people.\n",
                Some("Tool is a fast text processor for people."),
            ),
            (
                ReadmeMarkup::Text,
                "TOOL\n\nTool is a program that counts lines.\n",
                Some("Tool is a program that counts lines."),
            ),
        ];
        for (markup, text, want) in cases {
            assert_eq!(paragraph(text, markup).as_deref(), want, "{text}");
        }
    }

    #[test]
    fn what_generators_write_is_not_a_description() {
        for (text, want) in
            [("Add your description here", true), ("TODO: write", true), ("A web server", false)]
        {
            assert_eq!(is_placeholder(text), want, "{text}");
        }
    }
}
