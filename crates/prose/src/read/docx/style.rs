//! Styles and lists of a DOCX, and their meaning for paragraphs.

use crate::read::package::{attribute, child};
use docent_xml::Node;
use std::collections::HashMap;

/// Maximum length of a style chain; longer ones are cycles.
const MAX_STYLE_CHAIN: usize = 20;
/// Names of code styles.
const CODE_STYLE_NAMES: [&str; 7] =
    ["code", "verbatim", "preformatted", "listing", "console", "macro", "plain text"];

/// The role of a paragraph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParagraphRole {
    Title,
    Heading(u8),
    Code,
    Quote,
    /// A line of the table of contents, which repeats the headings.
    Contents,
    Text,
}

#[derive(Debug, Default)]
struct DocxStyle {
    name: String,
    base: Option<String>,
    outline: Option<u8>,
    list: Option<(String, usize)>,
}

/// Styles by their ids, which are in the language of the program that wrote them.
#[derive(Debug, Default)]
pub(super) struct Styles(HashMap<String, DocxStyle>);

impl Styles {
    /// Reads the styles part. If it is missing or broken, only style ids are used.
    pub(super) fn read(text: &str) -> Self {
        let Ok(xml) = docent_xml::parse(text) else { return Self::default() };
        let styles = xml.root_element().children().filter(|node| node.tag_name().name() == "style");
        let pair = |node| Some((attribute(node, "styleId")?.to_owned(), style(node)));
        Self(styles.filter_map(pair).collect())
    }

    /// What a paragraph is, by its own properties or else by its style and those that it is based on.
    pub(super) fn role(&self, properties: Option<Node<'_, '_>>) -> ParagraphRole {
        let own = properties.and_then(outline);
        if let Some(level) = own.filter(|level| *level < 9) {
            return ParagraphRole::Heading(level.min(5) + 1);
        }
        let Some(id) = properties.and_then(style_id) else { return ParagraphRole::Text };
        if self.0.is_empty() {
            return named(&id.to_lowercase()).unwrap_or(ParagraphRole::Text);
        }
        for style in self.chain(id) {
            if let Some(role) = named(&style.name) {
                return role;
            }
            match style.outline {
                Some(level @ 0..9) if own.is_none() => {
                    return ParagraphRole::Heading(level.min(5) + 1);
                }
                _ => {}
            }
        }
        ParagraphRole::Text
    }

    /// Which list a paragraph is an item of, and how deep.
    pub(super) fn list(&self, properties: Option<Node<'_, '_>>) -> Option<(String, usize)> {
        let properties = properties?;
        let own = list(properties);
        let styled = || {
            let id = style_id(properties)?;
            let (list, depth) = self.chain(id).find_map(|style| style.list.clone())?;
            // `List Bullet 2` is a separate, nested list.
            let name = self.0.get(id).map(|style| style.name.as_str()).unwrap_or_default();
            let deeper = name.strip_prefix("list").and_then(|name| name.rsplit(' ').next());
            let deeper = deeper.and_then(|number| number.parse::<usize>().ok());
            Some((list, depth + deeper.unwrap_or(1).clamp(1, 9) - 1))
        };
        own.or_else(styled).filter(|(list, _)| list != "0")
    }

    fn chain<'s>(&'s self, id: &str) -> impl Iterator<Item = &'s DocxStyle> {
        let first = self.0.get(id);
        let next = |style: &&'s DocxStyle| self.0.get(style.base.as_deref()?);
        std::iter::successors(first, next).take(MAX_STYLE_CHAIN)
    }
}

/// Which levels of which lists are numbered.
#[derive(Debug, Default)]
pub(super) struct DocxNumbering {
    numbered: HashMap<(String, usize), bool>,
    kinds: HashMap<String, String>,
}

impl DocxNumbering {
    /// Reads the part of the numbering.
    pub(super) fn read(text: &str) -> Self {
        let mut lists = Self::default();
        let Ok(xml) = docent_xml::parse(text) else { return lists };
        for node in xml.root_element().children() {
            match node.tag_name().name() {
                "abstractNum" => lists.kind(node),
                "num" => {
                    let kind = child(node, "abstractNumId").and_then(|kind| attribute(kind, "val"));
                    if let (Some(id), Some(kind)) = (attribute(node, "numId"), kind) {
                        lists.kinds.insert(id.to_owned(), kind.to_owned());
                    }
                }
                _ => {}
            }
        }
        lists
    }

    fn kind(&mut self, node: Node<'_, '_>) {
        let id = attribute(node, "abstractNumId").unwrap_or_default();
        for level in node.children().filter(|node| node.tag_name().name() == "lvl") {
            let format = child(level, "numFmt").and_then(|format| attribute(format, "val"));
            let depth = attribute(level, "ilvl").and_then(|depth| depth.parse().ok());
            let numbered = !matches!(format, None | Some("bullet" | "none"));
            self.numbered.insert((id.to_owned(), depth.unwrap_or(0)), numbered);
        }
    }

    /// Whether items of a list have numbers at that depth.
    pub(super) fn is_numbered(&self, list: &str, depth: usize) -> bool {
        let Some(kind) = self.kinds.get(list) else { return false };
        let at = |depth| self.numbered.get(&(kind.clone(), depth)).copied();
        at(depth).or_else(|| at(0)).unwrap_or(false)
    }
}

fn style(node: Node<'_, '_>) -> DocxStyle {
    let value = |name| child(node, name).and_then(|node| attribute(node, "val"));
    let properties = child(node, "pPr");
    DocxStyle {
        name: value("name").unwrap_or_default().to_lowercase(),
        base: value("basedOn").map(str::to_owned),
        outline: properties.and_then(outline),
        list: properties.and_then(list),
    }
}

fn style_id<'a>(properties: Node<'a, '_>) -> Option<&'a str> {
    attribute(child(properties, "pStyle")?, "val")
}

fn outline(properties: Node<'_, '_>) -> Option<u8> {
    attribute(child(properties, "outlineLvl")?, "val")?.parse().ok()
}

fn list(properties: Node<'_, '_>) -> Option<(String, usize)> {
    let list = child(properties, "numPr")?;
    let value = |name| child(list, name).and_then(|node| attribute(node, "val"));
    let depth = value("ilvl").and_then(|depth| depth.parse().ok());
    Some((value("numId")?.to_owned(), depth.unwrap_or(0)))
}

/// The role given by a style's name. Built-in style names are English in every language.
fn named(name: &str) -> Option<ParagraphRole> {
    let number =
        |rest: &str| rest.trim().parse::<u8>().ok().filter(|level| (1..=9).contains(level));
    if let Some(level) = name.strip_prefix("heading").and_then(number) {
        return Some(ParagraphRole::Heading(level.min(6)));
    }
    if name == "title" {
        return Some(ParagraphRole::Title);
    }
    if name.strip_prefix("toc").is_some_and(|rest| number(rest).is_some()) || name == "toc heading"
    {
        return Some(ParagraphRole::Contents);
    }
    if CODE_STYLE_NAMES.iter().any(|code| name.contains(code)) {
        return Some(ParagraphRole::Code);
    }
    let quotes = ["quote", "intense quote", "block text"];
    quotes.contains(&name).then_some(ParagraphRole::Quote)
}
