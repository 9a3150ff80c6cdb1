//! Parts under headings or in fields: Google and `NumPy` docstrings, Sphinx, and Markdown as used in Rust, Dart
//! and Swift.

use super::{bracketed, first_word, one_line, strip_dash, summary};
use crate::annotation::{Doc, Said};

/// The topic of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
enum SectionTopic {
    Params,
    Returns,
    Raises,
    Panics,
    Deprecated,
    /// One parameter, by its name.
    Param(String),
    /// One error, by its type.
    Raise(String),
    Other,
}

/// The style of a section, which determines its end and the form of its items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SectionStyle {
    /// `Args:`; what belongs to it is indented.
    Indented,
    /// A heading with a line below it; up to the next.
    Underlined,
    /// `# Errors`; up to the next.
    Markdown,
    /// Up to the next empty line.
    Paragraph,
}

#[derive(Debug)]
struct DocCommentSection<'a> {
    topic: SectionTopic,
    style: SectionStyle,
    indent: usize,
    /// Text on the heading's line.
    inline: &'a str,
    body: Vec<&'a str>,
}

/// The parts of a comment. The summary is empty without text before the first section.
pub(super) fn parts(whole: &str) -> Doc {
    let lines: Vec<&str> = whole.lines().collect();
    let mut doc = Doc::default();
    let mut lead: Vec<&str> = Vec::new();
    let mut open: Option<DocCommentSection<'_>> = None;
    let (mut in_lead, mut fenced, mut skip) = (true, false, false);
    for (at, line) in lines.iter().enumerate() {
        if std::mem::take(&mut skip) {
            continue;
        }
        fenced ^= line.trim_start().starts_with("```");
        let found = if fenced { None } else { section(line, lines.get(at + 1).copied()) };
        if let Some(section) = found {
            in_lead = false;
            skip = section.style == SectionStyle::Underlined;
            close(open.replace(section), &mut doc);
            continue;
        }
        if open.as_ref().is_some_and(|section| ends(section, line)) {
            close(open.take(), &mut doc);
        }
        // Code in a section is an example of what it says.
        let code = fenced || line.trim_start().starts_with("```");
        match &mut open {
            Some(section) => section.body.extend((!code).then_some(line)),
            None if in_lead => lead.push(line),
            None => {}
        }
    }
    close(open, &mut doc);
    doc.summary = summary(&lead.join("\n"));
    doc
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Whether a line is outside of the section above it.
fn ends(section: &DocCommentSection<'_>, line: &str) -> bool {
    match section.style {
        SectionStyle::Indented => !line.trim().is_empty() && indent(line) <= section.indent,
        SectionStyle::Paragraph => line.trim().is_empty(),
        SectionStyle::Underlined | SectionStyle::Markdown => false,
    }
}

/// The section that a line begins.
fn section<'a>(line: &'a str, below: Option<&str>) -> Option<DocCommentSection<'a>> {
    let text = line.trim();
    let make = |topic, style, inline| {
        Some(DocCommentSection { topic, style, indent: indent(line), inline, body: Vec::new() })
    };
    let heading = text.trim_start_matches('#');
    if heading.len() < text.len() && heading.starts_with(' ') {
        let topic = topic(heading.trim().trim_end_matches(':')).unwrap_or(SectionTopic::Other);
        return make(topic, SectionStyle::Markdown, "");
    }
    let is_line = |below: &str| {
        let below = below.trim();
        below.len() > 2 && ["-", "="].iter().any(|mark| below.replace(mark, "").is_empty())
    };
    if !text.is_empty() && text.len() < 40 && below.is_some_and(is_line) {
        return make(topic(text).unwrap_or(SectionTopic::Other), SectionStyle::Underlined, "");
    }
    if let Some((topic, inline)) = field(text).or_else(|| callout(text)) {
        return make(topic, SectionStyle::Indented, inline);
    }
    if let Some(inline) = text.strip_prefix(".. deprecated::") {
        return make(SectionTopic::Deprecated, SectionStyle::Indented, inline);
    }
    let (word, inline) = text.split_once(':')?;
    let capital = word.starts_with(|c: char| c.is_uppercase());
    let topic = topic(word).filter(|_| capital && indent(line) == 0)?;
    let may_go_on = matches!(topic, SectionTopic::Returns | SectionTopic::Raises);
    match topic {
        SectionTopic::Deprecated => make(topic, SectionStyle::Paragraph, inline),
        _ if inline.is_empty() || (may_go_on && inline.starts_with(' ')) => {
            make(topic, SectionStyle::Indented, inline)
        }
        _ => None,
    }
}

/// The topic of a heading.
fn topic(heading: &str) -> Option<SectionTopic> {
    Some(match heading.to_ascii_lowercase().as_str() {
        "args" | "arguments" | "parameters" | "parameter" | "params" | "keyword args"
        | "keyword arguments" | "other parameters" => SectionTopic::Params,
        "returns" | "return" | "return value" | "yields" | "yield" => SectionTopic::Returns,
        "raises" | "raise" | "throws" | "errors" | "exceptions" => SectionTopic::Raises,
        "panics" => SectionTopic::Panics,
        "deprecated" => SectionTopic::Deprecated,
        "attributes" | "example" | "examples" | "important" | "methods" | "note" | "notes"
        | "references" | "safety" | "see also" | "tip" | "todo" | "usage" | "warning"
        | "warnings" | "warns" => SectionTopic::Other,
        _ => return None,
    })
}

/// `:param x: text` and its like, as Sphinx reads them.
fn field(text: &str) -> Option<(SectionTopic, &str)> {
    let (head, inline) = text.strip_prefix(':')?.split_once(':')?;
    let (name, argument) = first_word(head);
    let last = || argument.split_whitespace().last().unwrap_or_default().to_owned();
    let topic = match name {
        "param" | "parameter" | "arg" | "argument" | "key" | "keyword" => {
            SectionTopic::Param(last())
        }
        "return" | "returns" => SectionTopic::Returns,
        "raise" | "raises" | "except" | "exception" => {
            SectionTopic::Raise(argument.trim().to_owned())
        }
        "type" | "rtype" | "var" | "ivar" | "cvar" | "vartype" | "yields" | "meta" => {
            SectionTopic::Other
        }
        _ => return None,
    };
    Some((topic, inline))
}

/// `- Parameter x: text` and its like, as Swift reads them.
fn callout(text: &str) -> Option<(SectionTopic, &str)> {
    let (head, inline) = text.strip_prefix(['-', '*', '+'])?.trim_start().split_once(':')?;
    let (word, argument) = first_word(head);
    let topic = match (word.to_ascii_lowercase().as_str(), argument.trim()) {
        ("parameter", name) if !name.is_empty() && !name.contains(' ') => {
            SectionTopic::Param(name.into())
        }
        ("parameters", "") => SectionTopic::Params,
        ("returns", "") => SectionTopic::Returns,
        ("throws", "") => SectionTopic::Raise(String::new()),
        ("note" | "important" | "warning" | "complexity" | "seealso" | "precondition", "") => {
            SectionTopic::Other
        }
        _ => return None,
    };
    Some((topic, inline))
}

/// Adds a section's content to the parts.
fn close(section: Option<DocCommentSection<'_>>, doc: &mut Doc) {
    let Some(section) = section else { return };
    let text = || one_line(&format!("{}\n{}", section.inline, section.body.join("\n")));
    match &section.topic {
        SectionTopic::Param(name) => doc.params.push(Said { name: name.clone(), text: text() }),
        SectionTopic::Raise(name) => doc.raises.push(Said { name: name.clone(), text: text() }),
        SectionTopic::Params => doc.params.extend(params(&section)),
        SectionTopic::Returns => {
            let said = format_returns(&section, text());
            doc.returns = doc.returns.take().or(Some(said).filter(|said| !said.is_empty()));
        }
        SectionTopic::Raises => doc.raises.extend(parse_raised(&section, text())),
        SectionTopic::Panics => doc.raises.push(Said { name: "panic".into(), text: text() }),
        SectionTopic::Deprecated => doc.deprecated = Some(text()),
        SectionTopic::Other => {}
    }
}

/// The items of a list or of a block of definitions: the first line of each, and the rest of its lines.
fn items<'a>(section: &DocCommentSection<'a>) -> Vec<(&'a str, String)> {
    let filled = || section.body.iter().filter(|line| !line.trim().is_empty());
    let marked = |line: &str| {
        let text = line.trim_start();
        text.strip_prefix(['-', '*', '+']).is_some_and(|rest| rest.starts_with(' '))
    };
    let listed =
        section.style == SectionStyle::Markdown || filled().next().is_some_and(|line| marked(line));
    let starts = |line: &&&str| !listed || marked(line);
    let least = filled().filter(starts).map(|line| indent(line)).min().unwrap_or(0);
    let mut items: Vec<(&str, String)> = Vec::new();
    let mut after_gap = false;
    for line in &section.body {
        let text = line.trim();
        if text.is_empty() {
            after_gap = true;
        } else if indent(line) == least && starts(&line) {
            let item = if listed { text.get(1..).unwrap_or_default().trim_start() } else { text };
            items.push((item, String::new()));
            after_gap = false;
        } else if after_gap && indent(line) <= least {
            // What follows a list is about all of it.
            break;
        } else if let Some((_, rest)) = items.last_mut() {
            rest.push(' ');
            rest.push_str(text);
        }
    }
    items
}

fn params(section: &DocCommentSection<'_>) -> Vec<Said> {
    let said = |(first, rest): (&str, String)| {
        if section.style == SectionStyle::Underlined && !first.starts_with('`') {
            // NumPy puts the type after the name, and the text below.
            let name = first.split(" :").next().unwrap_or(first).trim_end_matches(':').trim();
            return Some(Said { name: name.to_owned(), text: one_line(&rest) });
        }
        let (name, text) = name_and_text(first)?;
        Some(Said { name, text: one_line(&format!("{text} {rest}")) })
    };
    items(section).into_iter().filter_map(said).collect()
}

fn format_returns(section: &DocCommentSection<'_>, text: String) -> String {
    if section.style == SectionStyle::Underlined {
        let said = items(section)
            .into_iter()
            .map(|(first, rest)| if rest.is_empty() { first.to_owned() } else { one_line(&rest) });
        return said.collect::<Vec<_>>().join("; ");
    }
    // Google puts the type before a colon.
    match text.split_once(": ") {
        Some((of, rest)) if !has_space_outside_brackets(of) => rest.to_owned(),
        _ => text,
    }
}

fn has_space_outside_brackets(text: &str) -> bool {
    let mut depth = 0_i32;
    text.chars().any(|c| {
        depth += i32::from(matches!(c, '[' | '(')) - i32::from(matches!(c, ']' | ')'));
        c == ' ' && depth == 0
    })
}

fn parse_raised(section: &DocCommentSection<'_>, text: String) -> Vec<Said> {
    let items = items(section);
    match section.style {
        SectionStyle::Underlined => {
            let said =
                |(name, rest): (&str, String)| Said { name: name.into(), text: one_line(&rest) };
            items.into_iter().map(said).collect()
        }
        SectionStyle::Markdown => {
            let named = items.iter().filter(|(first, _)| first.starts_with(['`', '[']));
            let said = |(first, rest): &(&str, String)| {
                let (name, text) = name_and_text(first)?;
                Some(Said { name, text: one_line(&format!("{text} {rest}")) })
            };
            let all: Vec<Said> = named.filter_map(said).collect();
            // Names or prose: where not every item has a name, the text is one.
            if all.is_empty() || all.len() < items.len() {
                return Some(Said { name: "Err".into(), text })
                    .filter(|said| !said.text.is_empty())
                    .into_iter()
                    .collect();
            }
            all
        }
        SectionStyle::Indented | SectionStyle::Paragraph => {
            if items.is_empty() {
                return Some(text)
                    .filter(|text| !text.is_empty())
                    .map(|text| parse_one_raised(&text, ""))
                    .into_iter()
                    .collect();
            }
            items.iter().map(|(first, rest)| parse_one_raised(first, rest)).collect()
        }
    }
}

fn parse_one_raised(first: &str, rest: &str) -> Said {
    let whole = one_line(&format!("{first} {rest}"));
    match name_and_text(first) {
        Some((name, text)) => Said { name, text: one_line(&format!("{text} {rest}")) },
        None if !whole.contains(' ') => Said { name: whole, text: String::new() },
        None => Said { name: String::new(), text: whole },
    }
}

/// `name (type): text`, `` `name` - text ``, `` [`Name`](target): text ``, `**name** text`.
fn name_and_text(item: &str) -> Option<(String, String)> {
    for (mark, end) in [("[`", "`]"), ("`", "`"), ("**", "**")] {
        if let Some((name, rest)) = item.strip_prefix(mark).and_then(|rest| rest.split_once(end)) {
            let rest = if mark == "[`" {
                bracketed(rest, '(', ')').map_or(rest, |(_, after)| after)
            } else {
                rest
            };
            let rest = rest.trim_start();
            let rest = bracketed(rest, '(', ')').map_or(rest, |(_, after)| after);
            return Some((name.trim_end_matches(':').to_owned(), strip_dash(rest).to_owned()));
        }
    }
    let mut depth = 0_i32;
    let colon = item.char_indices().find(|(at, c)| {
        depth += i32::from(matches!(c, '[' | '(')) - i32::from(matches!(c, ']' | ')'));
        let dash = *c == '-' && item.get(..*at).is_some_and(|before| before.ends_with(' '));
        depth == 0 && (*c == ':' || *c == '–' || dash)
    });
    let (name, text) = item.split_at_checked(colon?.0)?;
    let name = name.split(" (").next().unwrap_or(name).trim();
    let words = name.split(", ").all(|name| !name.is_empty() && !name.contains(' '));
    words.then(|| (name.to_owned(), strip_dash(text).to_owned()))
}
