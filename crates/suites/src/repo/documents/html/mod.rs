//! HTML pages and HTML inside Markdown: links, anchors, headings, code, words. Streams without building a tree.

mod tags;

use super::draft::{Draft, Lines};
use tags::{Part, Parts, decode};

/// Elements that do not end a word.
const INLINE: [&str; 21] = [
    "a", "abbr", "b", "cite", "code", "del", "em", "font", "i", "ins", "kbd", "mark", "s", "samp",
    "small", "span", "strong", "sub", "sup", "tt", "wbr",
];
/// Elements whose text is boilerplate on every page.
const QUIET: [&str; 10] = [
    "nav", "footer", "header", "aside", "svg", "template", "noscript", "button", "select", "object",
];
/// Link relations of resources that a page needs to display.
const NEEDED: [&str; 4] = ["stylesheet", "icon", "manifest", "apple-touch-icon"];
/// Prefixes of attribute names used only by template engines or frameworks.
const BINDINGS: [&str; 8] = ["v-", "*ng", "[", "(", "th:", "ng-", "x-", "@"];
/// Template syntax in a page that was not rendered.
const UNFILLED: [&str; 5] = ["{%", "<%", "<?php", "<?=", "{{#"];

/// Parses a page.
pub(super) fn read(draft: &mut Draft, text: &str) {
    let mut scanner = Scanner::default();
    scanner.take(draft, text, 0, &mut Lines::of(text));
    draft.close_heading(true);
    let unfilled = || {
        UNFILLED.iter().any(|mark| memchr::memmem::find(text.as_bytes(), mark.as_bytes()).is_some())
    };
    // Only the program that renders a template knows the base of its links.
    let template = scanner.template || unfilled();
    if scanner.based || template {
        draft.forget_links();
    }
    if scanner.generated || template {
        draft.forget_details();
    }
}

/// Parses HTML piece by piece: in Markdown, an element may open in one piece and close in another.
#[derive(Debug, Default)]
pub(super) struct Scanner {
    around: Around,
    /// Number of open elements whose text is skipped.
    quiet: u32,
    pre: Option<Pre>,
    title: Option<String>,
    /// Number of open inline code elements.
    code: u32,
    based: bool,
    template: bool,
    generated: bool,
}

/// The surrounding format of the HTML.
#[derive(Debug, Default, PartialEq, Eq)]
enum Around {
    #[default]
    Nothing,
    Markdown,
}

/// An open code block.
#[derive(Debug)]
struct Pre {
    line: u32,
    language: String,
    text: String,
}

impl Scanner {
    /// Creates a scanner for HTML inside Markdown.
    pub(super) fn inside_markdown() -> Self {
        Self { around: Around::Markdown, ..Self::default() }
    }

    /// Processes a piece that starts at offset `start` of the document.
    pub(super) fn take(
        &mut self,
        draft: &mut Draft,
        html: &str,
        start: usize,
        lines: &mut Lines<'_>,
    ) {
        let mut parts = Parts::of(html);
        while let Some((at, part)) = parts.next() {
            match part {
                Part::Text(text) => self.text(draft, text),
                Part::Open(name) => {
                    let place = Place { at: start + at, lines };
                    self.open(draft, name, &mut parts, place);
                }
                Part::Close(name) => self.close(draft, name),
                Part::Comment(text) => self.comment(draft, text, lines.at(start + at)),
            }
        }
    }

    fn text(&mut self, draft: &mut Draft, text: &str) {
        if let Some(pre) = &mut self.pre {
            pre.text.push_str(&decode(text));
        } else if let Some(title) = &mut self.title {
            title.push_str(&decode(text));
        } else if self.quiet == 0 || draft.has_open_heading() {
            draft.text(&decode(text));
            self.template |=
                self.code == 0 && self.around == Around::Nothing && text.contains("{{");
        }
    }

    fn open(
        &mut self,
        draft: &mut Draft,
        name: &str,
        parts: &mut Parts<'_>,
        mut place: Place<'_, '_>,
    ) {
        if !is_in(&INLINE, name) {
            draft.gap();
        }
        self.quiet += u32::from(is_in(&QUIET, name));
        self.read_attributes(draft, name, parts, &mut place);
        match Element::of(name) {
            Element::Heading(level) => draft.open_heading(level, place.line()),
            Element::Raw(name) => parts.skip_to_end_of(name),
            Element::Title => self.title = Some(String::new()),
            Element::Pre => {
                let language = parts.attribute("class").and_then(language_in).unwrap_or_default();
                let (line, text) = (place.line(), String::new());
                self.pre = Some(Pre { line, language: language.to_owned(), text });
            }
            Element::Code => {
                if let Some(pre) = &mut self.pre {
                    let language = parts.attribute("class").and_then(language_in);
                    if let Some(language) = language.filter(|_| pre.language.is_empty()) {
                        language.clone_into(&mut pre.language);
                    }
                } else {
                    self.code += 1;
                    draft.open_code(place.line());
                }
            }
            Element::Base => self.based |= parts.attribute("href").is_some(),
            Element::Meta => self.meta(draft, parts, &mut place),
            Element::Component if self.around == Around::Markdown => {
                draft.include(name, place.line());
            }
            Element::Component | Element::Other => {}
        }
    }

    fn close(&mut self, draft: &mut Draft, name: &str) {
        if !is_in(&INLINE, name) {
            draft.gap();
        }
        if is_in(&QUIET, name) {
            self.quiet = self.quiet.saturating_sub(1);
        }
        match Element::of(name) {
            Element::Heading(_) => draft.close_heading(true),
            Element::Title => draft.title(&self.title.take().unwrap_or_default()),
            Element::Code if self.pre.is_none() => {
                self.code = self.code.saturating_sub(1);
                draft.close_code();
            }
            Element::Pre => {
                if let Some(pre) = self.pre.take()
                    && !self.generated
                {
                    draft.code_block(pre.line, &pre.language, &pre.text, pre.line);
                }
            }
            _ => {}
        }
    }

    fn comment(&mut self, draft: &mut Draft, text: &str, line: u32) {
        let start = text.split_at_checked(200).map_or(text, |(start, _)| start).trim_start();
        if self.around == Around::Markdown {
            if let Some(path) = start.strip_prefix("@include:") {
                draft.include(path.split_whitespace().next().unwrap_or_default(), line);
            }
        } else {
            self.generated |= ["generated by", "generated using", "generated with"]
                .iter()
                .any(|said| says(start, said));
        }
    }

    fn meta(&mut self, draft: &mut Draft, parts: &Parts<'_>, place: &mut Place<'_, '_>) {
        let content = parts.attribute("content").unwrap_or_default();
        let is = |name: &str, value: &str| {
            parts.attribute(name).is_some_and(|its| its.eq_ignore_ascii_case(value))
        };
        self.generated |= is("name", "generator");
        if is("http-equiv", "refresh")
            && let Some((_, target)) = content.split_once("url=").or(content.split_once("URL="))
        {
            let target = decode(target.trim().trim_matches(['\'', '"']));
            draft.link(&target, place.line(), false);
            draft.include(&target, place.line());
        }
    }

    fn read_attributes(
        &mut self,
        draft: &mut Draft,
        element: &str,
        parts: &Parts<'_>,
        place: &mut Place<'_, '_>,
    ) {
        for (name, value) in parts.attributes() {
            match attribute(name) {
                Attribute::Name => draft.anchor(&decode(value)),
                Attribute::Link => take_link(draft, element, value, (parts, place)),
                Attribute::Shown if !value.starts_with('{') => {
                    // Sphinx leaves no other sign that it generated the page.
                    self.generated |= value.contains("documentation_options.js");
                    draft.link(&decode(value), place.line(), true);
                }
                Attribute::ShownSet if !value.starts_with('{') => {
                    for choice in value.split(", ") {
                        let target = choice.split_whitespace().next().unwrap_or_default();
                        draft.link(&decode(target.trim_end_matches(',')), place.line(), true);
                    }
                }
                _ => {}
            }
            if self.around == Around::Nothing {
                let is_bound = || BINDINGS.iter().any(|start| name.starts_with(start));
                self.template |= value.contains("{{") || is_bound();
            }
        }
    }
}

/// Adds an element's link target or required resource.
fn take_link(
    draft: &mut Draft,
    element: &str,
    value: &str,
    (parts, place): (&Parts<'_>, &mut Place<'_, '_>),
) {
    if value.starts_with('{') {
        return;
    }
    let is = |name: &str| element.eq_ignore_ascii_case(name);
    let is_component = Element::of(element) == Element::Component;
    if is("link") && !is_component {
        let relation = parts.attribute("rel").unwrap_or_default();
        if relation.split_whitespace().any(|word| is_in(&NEEDED, word)) {
            draft.link(&decode(value), place.line(), true);
        }
    } else if (is("a") || is("area") || is_component)
        // A click handler's target is not a link.
        && !(value.starts_with('#') && parts.attributes().iter().any(acts))
    {
        draft.link(&decode(value), place.line(), false);
    }
}

/// Offset of an element; its line is computed on demand.
struct Place<'l, 'a> {
    at: usize,
    lines: &'l mut Lines<'a>,
}

impl Place<'_, '_> {
    fn line(&mut self) -> u32 {
        self.lines.at(self.at)
    }
}

/// How an element is processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Element {
    Heading(u8),
    /// Contains no tags.
    Raw(&'static str),
    Title,
    Pre,
    Code,
    Base,
    Meta,
    /// A framework component: its name is written like a class name.
    Component,
    Other,
}

impl Element {
    fn of(name: &str) -> Self {
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        match name.as_bytes() {
            [b'h' | b'H', level @ b'1'..=b'6'] => Self::Heading(level - b'0'),
            [b's' | b'S', ..] if is("script") => Self::Raw("script"),
            [b's' | b'S', ..] if is("style") => Self::Raw("style"),
            [b't' | b'T', ..] if is("textarea") => Self::Raw("textarea"),
            [b't' | b'T', ..] if is("title") => Self::Title,
            [b'p' | b'P', ..] if is("pre") => Self::Pre,
            [b'c' | b'C' | b't' | b'T', ..] if is("code") || is("tt") => Self::Code,
            [b'b' | b'B', ..] if is("base") => Self::Base,
            [b'm' | b'M', ..] if is("meta") => Self::Meta,
            [b'A'..=b'Z', rest @ ..] if rest.iter().any(u8::is_ascii_lowercase) => Self::Component,
            _ => Self::Other,
        }
    }
}

/// How an attribute is processed.
enum Attribute {
    Name,
    Link,
    Shown,
    ShownSet,
    Other,
}

fn attribute(name: &str) -> Attribute {
    let is = |other: &str| name.eq_ignore_ascii_case(other);
    match name.len() {
        2 if is("id") => Attribute::Name,
        2 if is("to") => Attribute::Link,
        3 if is("src") => Attribute::Shown,
        4 if is("href") => Attribute::Link,
        4 if is("name") => Attribute::Name,
        6 if is("srcset") => Attribute::ShownSet,
        6 if is("poster") => Attribute::Shown,
        _ => Attribute::Other,
    }
}

fn acts((name, value): &(&str, &str)) -> bool {
    let is_role =
        name.eq_ignore_ascii_case("role") && matches!(*value, "button" | "tab" | "menuitem");
    let starts =
        |start: &str| name.get(..start.len()).is_some_and(|its| its.eq_ignore_ascii_case(start));
    is_role || starts("onclick") || starts("data-") || starts("aria-controls") || starts("@click")
}

/// Returns the language named in a block's classes: `language-rust`, `highlight-python`, `brush: js`, `sourceCode
/// bash`.
fn language_in(classes: &str) -> Option<&str> {
    let named = |class| {
        ["language-", "lang-", "highlight-", "highlight-source-", "src-", "brush:"]
            .iter()
            .find_map(|start| str::strip_prefix(class, start))
    };
    let mut words = classes.split_whitespace();
    let found = words.clone().find_map(named).filter(|language| !language.is_empty());
    let follows = |word: &str| matches!(word, "brush:" | "sourceCode" | "src");
    found.or_else(|| words.find(|word| follows(word)).and_then(|_| words.next()))
}

/// Whether a text contains some words, ignoring case.
fn says(text: &str, words: &str) -> bool {
    text.as_bytes().windows(words.len()).any(|window| window.eq_ignore_ascii_case(words.as_bytes()))
}

fn is_in(names: &[&str], name: &str) -> bool {
    names.iter().any(|other| other.eq_ignore_ascii_case(name))
}
