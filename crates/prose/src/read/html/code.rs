//! Code on a page: its text as it is written, and its language.

use super::{
    boilerplate,
    origin::PageGenerator,
    tree::{Block, HtmlElement, HtmlNodeData, HtmlTag, HtmlTree, Inline, decode_entities},
};
use std::borrow::Cow;

/// Maximum ancestors searched for the language.
const MAX_LANGUAGE_ANCESTORS: usize = 8;

/// The text of an element with its lines, without line numbers and buttons.
pub(super) fn text(tree: &HtmlTree<'_>, at: usize, by: Option<PageGenerator>) -> String {
    let range = tree.range(at);
    let mut text = String::new();
    let mut next = range.start + 1;
    while next < range.end {
        let Some(node) = tree.nodes.get(next) else { break };
        match &node.what {
            HtmlNodeData::Text(piece) => text.push_str(&decode_entities(piece)),
            HtmlNodeData::Raw(piece) => text.push_str(piece),
            HtmlNodeData::Element(element) if boilerplate::is_dropped(tree, next, element, by) => {
                next = (node.end as usize).max(next + 1);
                continue;
            }
            HtmlNodeData::Element(element) => match element.tag {
                HtmlTag::Inline(Inline::Br) => text.push('\n'),
                HtmlTag::Block(Block::Tr | Block::Div | Block::P | Block::Li)
                    if !text.is_empty() && !text.ends_with('\n') =>
                {
                    text.push('\n');
                }
                HtmlTag::Block(Block::Td | Block::Th)
                    if !text.is_empty() && !text.ends_with(char::is_whitespace) =>
                {
                    text.push(' ');
                }
                _ => {}
            },
        }
        next += 1;
    }
    let plain = if text.contains(['\u{a0}', '\u{200b}']) {
        text.replace('\u{a0}', " ").replace('\u{200b}', "")
    } else {
        text
    };
    plain.strip_prefix('\n').map(str::to_owned).unwrap_or(plain)
}

/// Whether an element is a gutter of line numbers in a separate cell.
pub(super) fn is_gutter(text: &str) -> bool {
    text.contains('\n') && text.chars().all(|c| c.is_ascii_digit() || c.is_whitespace())
}

/// The language of code, from its element, its ancestors, or its child.
pub(super) fn language<'t>(
    tree: &'t HtmlTree<'_>,
    at: usize,
    by: Option<PageGenerator>,
) -> Cow<'t, str> {
    let within = tree.children(at).filter_map(|child| tree.element(child)).take(1);
    let mut around = Vec::with_capacity(MAX_LANGUAGE_ANCESTORS);
    let mut up = at;
    for _ in 0..MAX_LANGUAGE_ANCESTORS {
        around.extend(tree.element(up));
        up = tree.parent(up);
    }
    let found = within.chain(around).find_map(language_name);
    match found {
        Some(language) => fence_language(language),
        None if by == Some(PageGenerator::Rustdoc)
            && tree.element(at).is_some_and(|pre| pre.has_class("rust")) =>
        {
            "rust".into()
        }
        None => "".into(),
    }
}

fn language_name<'s>(element: &HtmlElement<'s>) -> Option<&'s str> {
    if element.is(Block::Body) {
        return None;
    }
    let data =
        element.attributes.raw("data-lang").or_else(|| element.attributes.raw("data-language"));
    let mut before = "";
    for class in element.classes() {
        let marked = ["language-", "lang-", "highlight-", "highlight-source-"]
            .iter()
            .rev()
            .find_map(|mark| class.strip_prefix(mark));
        let brushed = (before == "brush:" || before == "sourceCode").then_some(class);
        let brush = class.strip_prefix("brush:").filter(|brush| !brush.is_empty());
        if let Some(language) = marked.or(brushed).or(brush) {
            return Some(language.trim_end_matches(';'));
        }
        before = class;
    }
    if element.is(Block::Pre) && element.has_class("rust") {
        return Some("rust");
    }
    data.filter(|language| !language.is_empty())
}

/// The fence name of a language; empty for names that mean no language.
fn fence_language(language: &str) -> Cow<'static, str> {
    let lower = language.to_ascii_lowercase();
    match lower.as_str() {
        "default" | "none" | "text" | "plaintext" | "plain" | "txt" | "output" | "source"
        | "highlight" => "".into(),
        "python3" | "py" | "py3" | "ipython3" | "pycon3" => "python".into(),
        "shell-session" | "shellsession" => "console".into(),
        _ => lower
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '#' | '_' | '.'))
            .collect::<String>()
            .into(),
    }
}
