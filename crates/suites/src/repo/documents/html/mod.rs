//! HTML pages and HTML inside Markdown: links, anchors, headings, code, words. Streams without building a tree.

mod tags;

use super::draft::{DocumentFactsBuilder, LineCounter};
use tags::{HtmlTagToken, HtmlTagTokenizer, decode};

/// Elements that do not end a word.
const INLINE_ELEMENTS: [&str; 21] = [
    "a", "abbr", "b", "cite", "code", "del", "em", "font", "i", "ins", "kbd", "mark", "s", "samp",
    "small", "span", "strong", "sub", "sup", "tt", "wbr",
];
/// Elements whose text is boilerplate on every page.
const UNREAD_ELEMENTS: [&str; 10] = [
    "nav", "footer", "header", "aside", "svg", "template", "noscript", "button", "select", "object",
];
/// Link relations of resources that a page needs to display.
const LINKED_RESOURCE_KINDS: [&str; 4] = ["stylesheet", "icon", "manifest", "apple-touch-icon"];
/// Prefixes of attribute names used only by template engines or frameworks.
const TEMPLATE_ATTRIBUTE_PREFIXES: [&str; 8] = ["v-", "*ng", "[", "(", "th:", "ng-", "x-", "@"];
/// Template syntax in a page that was not rendered.
const TEMPLATE_MARKS: [&str; 5] = ["{%", "<%", "<?php", "<?=", "{{#"];

/// Parses a page.
pub(super) fn read(draft: &mut DocumentFactsBuilder, text: &str) {
    let mut scanner = HtmlFactsScanner::default();
    scanner.take(draft, text, 0, &mut LineCounter::of(text));
    draft.close_heading(true);
    let unfilled = || {
        TEMPLATE_MARKS
            .iter()
            .any(|mark| memchr::memmem::find(text.as_bytes(), mark.as_bytes()).is_some())
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
pub(super) struct HtmlFactsScanner {
    around: HtmlContext,
    /// Number of open elements whose text is skipped.
    quiet: u32,
    pre: Option<OpenCodeBlock>,
    title: Option<String>,
    /// Number of open inline code elements.
    code: u32,
    based: bool,
    template: bool,
    generated: bool,
}

/// The surrounding format of the HTML.
#[derive(Debug, Default, PartialEq, Eq)]
enum HtmlContext {
    #[default]
    Nothing,
    Markdown,
}

/// An open code block.
#[derive(Debug)]
struct OpenCodeBlock {
    line: u32,
    language: String,
    text: String,
}

impl HtmlFactsScanner {
    /// Creates a scanner for HTML inside Markdown.
    pub(super) fn inside_markdown() -> Self {
        Self { around: HtmlContext::Markdown, ..Self::default() }
    }

    /// Processes a piece that starts at offset `start` of the document.
    pub(super) fn take(
        &mut self,
        draft: &mut DocumentFactsBuilder,
        html: &str,
        start: usize,
        lines: &mut LineCounter<'_>,
    ) {
        let mut parts = HtmlTagTokenizer::new(html);
        while let Some((at, part)) = parts.next() {
            match part {
                HtmlTagToken::Text(text) => self.text(draft, text),
                HtmlTagToken::Open(name) => {
                    let place = ElementPosition { at: start + at, lines };
                    self.open(draft, name, &mut parts, place);
                }
                HtmlTagToken::Close(name) => self.close(draft, name),
                HtmlTagToken::Comment(text) => self.comment(draft, text, lines.at(start + at)),
            }
        }
    }

    fn text(&mut self, draft: &mut DocumentFactsBuilder, text: &str) {
        if let Some(pre) = &mut self.pre {
            pre.text.push_str(&decode(text));
        } else if let Some(title) = &mut self.title {
            title.push_str(&decode(text));
        } else if self.quiet == 0 || draft.has_open_heading() {
            draft.text(&decode(text));
            self.template |=
                self.code == 0 && self.around == HtmlContext::Nothing && text.contains("{{");
        }
    }

    fn open(
        &mut self,
        draft: &mut DocumentFactsBuilder,
        name: &str,
        parts: &mut HtmlTagTokenizer<'_>,
        mut place: ElementPosition<'_, '_>,
    ) {
        if !is_in(&INLINE_ELEMENTS, name) {
            draft.gap();
        }
        self.quiet += u32::from(is_in(&UNREAD_ELEMENTS, name));
        self.read_attributes(draft, name, parts, &mut place);
        match ElementRole::from_name(name) {
            ElementRole::Heading(level) => draft.open_heading(level, place.line()),
            ElementRole::Raw(name) => parts.skip_to_end_of(name),
            ElementRole::Title => self.title = Some(String::new()),
            ElementRole::Pre => {
                let language = parts.attribute("class").and_then(language_in).unwrap_or_default();
                let (line, text) = (place.line(), String::new());
                self.pre = Some(OpenCodeBlock { line, language: language.to_owned(), text });
            }
            ElementRole::Code => {
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
            ElementRole::Base => self.based |= parts.attribute("href").is_some(),
            ElementRole::Meta => self.meta(draft, parts, &mut place),
            ElementRole::Component if self.around == HtmlContext::Markdown => {
                draft.include(name, place.line());
            }
            ElementRole::Component | ElementRole::Other => {}
        }
    }

    fn close(&mut self, draft: &mut DocumentFactsBuilder, name: &str) {
        if !is_in(&INLINE_ELEMENTS, name) {
            draft.gap();
        }
        if is_in(&UNREAD_ELEMENTS, name) {
            self.quiet = self.quiet.saturating_sub(1);
        }
        match ElementRole::from_name(name) {
            ElementRole::Heading(_) => draft.close_heading(true),
            ElementRole::Title => draft.title(&self.title.take().unwrap_or_default()),
            ElementRole::Code if self.pre.is_none() => {
                self.code = self.code.saturating_sub(1);
                draft.close_code();
            }
            ElementRole::Pre => {
                if let Some(pre) = self.pre.take()
                    && !self.generated
                {
                    draft.code_block(pre.line, &pre.language, &pre.text, pre.line);
                }
            }
            _ => {}
        }
    }

    fn comment(&mut self, draft: &mut DocumentFactsBuilder, text: &str, line: u32) {
        let start = text.split_at_checked(200).map_or(text, |(start, _)| start).trim_start();
        if self.around == HtmlContext::Markdown {
            if let Some(path) = start.strip_prefix("@include:") {
                draft.include(path.split_whitespace().next().unwrap_or_default(), line);
            }
        } else {
            self.generated |= ["generated by", "generated using", "generated with"]
                .iter()
                .any(|said| says(start, said));
        }
    }

    fn meta(
        &mut self,
        draft: &mut DocumentFactsBuilder,
        parts: &HtmlTagTokenizer<'_>,
        place: &mut ElementPosition<'_, '_>,
    ) {
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
        draft: &mut DocumentFactsBuilder,
        element: &str,
        parts: &HtmlTagTokenizer<'_>,
        place: &mut ElementPosition<'_, '_>,
    ) {
        for (name, value) in parts.attributes() {
            match attribute(name) {
                AttributeRole::Name => draft.anchor(&decode(value)),
                AttributeRole::Link => take_link(draft, element, value, parts, place),
                AttributeRole::Shown if !value.starts_with('{') => {
                    // Sphinx leaves no other sign that it generated the page.
                    self.generated |= value.contains("documentation_options.js");
                    draft.link(&decode(value), place.line(), true);
                }
                AttributeRole::ShownSet if !value.starts_with('{') => {
                    for choice in value.split(", ") {
                        let target = choice.split_whitespace().next().unwrap_or_default();
                        draft.link(&decode(target.trim_end_matches(',')), place.line(), true);
                    }
                }
                _ => {}
            }
            if self.around == HtmlContext::Nothing {
                let is_bound =
                    || TEMPLATE_ATTRIBUTE_PREFIXES.iter().any(|start| name.starts_with(start));
                self.template |= value.contains("{{") || is_bound();
            }
        }
    }
}

/// Adds an element's link target or required resource.
fn take_link(
    draft: &mut DocumentFactsBuilder,
    element: &str,
    value: &str,
    parts: &HtmlTagTokenizer<'_>,
    place: &mut ElementPosition<'_, '_>,
) {
    if value.starts_with('{') {
        return;
    }
    let is = |name: &str| element.eq_ignore_ascii_case(name);
    let is_component = ElementRole::from_name(element) == ElementRole::Component;
    if is("link") && !is_component {
        let relation = parts.attribute("rel").unwrap_or_default();
        if relation.split_whitespace().any(|word| is_in(&LINKED_RESOURCE_KINDS, word)) {
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
struct ElementPosition<'l, 'a> {
    at: usize,
    lines: &'l mut LineCounter<'a>,
}

impl ElementPosition<'_, '_> {
    fn line(&mut self) -> u32 {
        self.lines.at(self.at)
    }
}

/// How an element is processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ElementRole {
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

impl ElementRole {
    fn from_name(name: &str) -> Self {
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
enum AttributeRole {
    Name,
    Link,
    Shown,
    ShownSet,
    Other,
}

fn attribute(name: &str) -> AttributeRole {
    let is = |other: &str| name.eq_ignore_ascii_case(other);
    match name.len() {
        2 if is("id") => AttributeRole::Name,
        2 if is("to") => AttributeRole::Link,
        3 if is("src") => AttributeRole::Shown,
        4 if is("href") => AttributeRole::Link,
        4 if is("name") => AttributeRole::Name,
        6 if is("srcset") => AttributeRole::ShownSet,
        6 if is("poster") => AttributeRole::Shown,
        _ => AttributeRole::Other,
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
