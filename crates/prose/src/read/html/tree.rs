//! The element tree of a page.
//!
//! Lenient by design: omitted end tags are inferred by the few rules that pages rely on, and nothing is ever moved.
//! So elements are in source order, children directly after their parent, and depth does not affect the time.

use super::{
    notes,
    tags::{HtmlAttributes, HtmlToken, HtmlTokenizer},
};
use std::{borrow::Cow, ops::Range};

/// The kind of an element, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HtmlTag {
    /// `h1` to `h6`.
    Heading(u8),
    /// Inline element.
    Inline(Inline),
    /// Block element.
    Block(Block),
}

macro_rules! tags {
    ($(#[$about:meta])* $kind:ident: $($name:pat => $variant:ident,)*) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum $kind { $($variant),* }

        impl $kind {
            fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

tags! {
    /// Elements within a line.
    Inline:
    "a" => A,
    "annotation" => Annotation,
    "b" | "em" | "i" | "strong" => Other,
    "br" => Br,
    "button" => Button,
    "code" | "kbd" | "samp" | "tt" => Code,
    "img" => Img,
    "input" => Input,
    "label" => Label,
    "math" => Math,
    "q" => Q,
    "script" => Script,
    "select" => Select,
    "span" => Span,
    "svg" => Svg,
    "wbr" => Wbr,
}

tags! {
    /// Elements on lines of their own.
    Block:
    "address" | "center" | "fieldset" | "figcaption" | "figure" | "frameset" | "hgroup" => Other,
    "article" => Article,
    "aside" => Aside,
    "base" | "meta" => Meta,
    "blockquote" => Blockquote,
    "body" => Body,
    "caption" => Caption,
    "col" => Col,
    "colgroup" => Colgroup,
    "dd" => Dd,
    "details" => Details,
    "dialog" => Dialog,
    "dir" | "menu" | "ul" => Ul,
    "div" => Div,
    "dl" => Dl,
    "dt" => Dt,
    "footer" => Footer,
    "form" => Form,
    "head" => Head,
    "header" => Header,
    "hr" => Hr,
    "html" => Html,
    "iframe" => Iframe,
    "li" => Li,
    "link" => Link,
    "main" => Main,
    "nav" | "search" => Nav,
    "noscript" => Noscript,
    "object" => Object,
    "ol" => Ol,
    "p" => P,
    "pre" => Pre,
    "section" => Section,
    "style" => Style,
    "summary" => Summary,
    "table" => Table,
    "tbody" | "tfoot" => Tbody,
    "td" => Td,
    "template" => Template,
    "textarea" => Textarea,
    "th" => Th,
    "thead" => Thead,
    "title" => Title,
    "tr" => Tr,
}

/// An element or a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct HtmlNode<'s> {
    pub(super) what: HtmlNodeData<'s>,
    /// Its parent; the root is its own.
    pub(super) parent: u32,
    /// The first node after it that is not inside it.
    pub(super) end: u32,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum HtmlNodeData<'s> {
    /// Entities not decoded.
    Text(&'s str),
    /// As it is written.
    Raw(&'s str),
    Element(HtmlElement<'s>),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct HtmlElement<'s> {
    pub(super) tag: HtmlTag,
    pub(super) id: &'s str,
    pub(super) class: &'s str,
    pub(super) attributes: HtmlAttributes<'s>,
    /// Whether it contains a heading that is not that of a note.
    pub(super) has_heading: bool,
}

/// A page.
#[derive(Debug)]
pub(super) struct HtmlTree<'s> {
    /// In the order of the source; the first is the root.
    pub(super) nodes: Vec<HtmlNode<'s>>,
    /// The first comments, which may identify the generator.
    pub(super) comments: Vec<&'s str>,
}

/// Maximum comments kept.
const MAX_COMMENTS: usize = 12;
/// Maximum open ancestors searched for the element that a tag ends. Real pages need a few steps.
const MAX_OPEN_ANCESTORS: usize = 200;

impl HtmlTag {
    fn named(name: &str) -> Self {
        let mut buffer = [0; 10];
        let Some(lower) = buffer.get_mut(..name.len()) else { return Self::Inline(Inline::Other) };
        lower.copy_from_slice(name.as_bytes());
        lower.make_ascii_lowercase();
        if let [b'h', digit @ b'1'..=b'6'] = lower {
            return Self::Heading(*digit - b'0');
        }
        let name = std::str::from_utf8(lower).unwrap_or_default();
        Block::named(name)
            .map(Self::Block)
            .or_else(|| Inline::named(name).map(Self::Inline))
            .unwrap_or(Self::Inline(Inline::Other))
    }

    /// It has no content and no end.
    const fn is_void(self) -> bool {
        matches!(
            self,
            Self::Block(Block::Hr | Block::Link | Block::Meta | Block::Col)
                | Self::Inline(Inline::Br | Inline::Img | Inline::Input | Inline::Wbr)
        )
    }

    /// What is outside of it is out of reach for tags within it.
    const fn bounds(self) -> bool {
        matches!(
            self,
            Self::Block(Block::Table | Block::Td | Block::Th | Block::Caption | Block::Object)
        )
    }

    /// It shows nothing, and so it ends nothing.
    const fn is_quiet(self) -> bool {
        use Block::{Head, Html, Iframe, Link, Meta, Noscript, Object, Style, Template, Title};
        matches!(
            self,
            Self::Block(
                Head | Html | Iframe | Link | Meta | Noscript | Object | Style | Template | Title
            )
        )
    }

    /// Which open elements this one ends when it begins, and where the search for them stops.
    fn ends(self, open: Self) -> ImpliedEnd {
        use Block::{Dd, Dl, Dt, Head, Li, Ol, P, Table, Tbody, Td, Th, Thead, Tr, Ul};
        if self.is_quiet() {
            return ImpliedEnd::Stop;
        }
        let Self::Block(block) = self else {
            return match (self, open) {
                (Self::Heading(_), Self::Heading(_) | Self::Block(P | Head)) => ImpliedEnd::Ends,
                (Self::Heading(_), Self::Inline(_)) => ImpliedEnd::Up,
                _ => ImpliedEnd::Stop,
            };
        };
        match (block, open) {
            (Li, Self::Block(Li))
            | (Dt | Dd, Self::Block(Dt | Dd))
            | (Tr, Self::Block(Td | Th | Tr))
            | (Td | Th, Self::Block(Td | Th))
            | (Tbody | Thead, Self::Block(Td | Th | Tr | Tbody | Thead)) => ImpliedEnd::Ends,
            (Li, Self::Block(Ul | Ol))
            | (Dt | Dd, Self::Block(Dl))
            | (Td | Th, Self::Block(Tr))
            | (Tr | Td | Th | Tbody | Thead, Self::Block(Table)) => ImpliedEnd::Stop,
            (Li | Dt | Dd, open) if open.bounds() => ImpliedEnd::Stop,
            (Li | Dt | Dd | Tr | Td | Th | Tbody | Thead, _) | (_, Self::Inline(_)) => {
                ImpliedEnd::Up
            }
            (_, Self::Block(P | Head)) => ImpliedEnd::Ends,
            _ => ImpliedEnd::Stop,
        }
    }
}

/// The effect of a new element on an open one around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ImpliedEnd {
    Ends,
    Up,
    Stop,
}

impl<'s> HtmlElement<'s> {
    fn new(tag: HtmlTag, attributes: HtmlAttributes<'s>) -> Self {
        let (mut id, mut class) = ("", "");
        for (name, value) in attributes.iter() {
            if name.eq_ignore_ascii_case("id") {
                id = value;
            } else if name.eq_ignore_ascii_case("class") {
                class = value;
            }
        }
        Self { tag, id, class, attributes, has_heading: false }
    }

    pub(super) fn is(&self, block: Block) -> bool {
        self.tag == HtmlTag::Block(block)
    }

    pub(super) fn classes(&self) -> impl Iterator<Item = &'s str> + use<'s> {
        self.class.split_ascii_whitespace()
    }

    pub(super) fn has_class(&self, class: &str) -> bool {
        self.class.len() >= class.len() && self.classes().any(|known| known == class)
    }

    /// Its link anchor: its id, or the name of an anchor. Generated stylesheet ids are ignored.
    pub(super) fn anchor(&self) -> Option<Cow<'s, str>> {
        let id = if self.id.is_empty() && self.tag == HtmlTag::Inline(Inline::A) {
            self.attributes.raw("name").unwrap_or_default()
        } else {
            self.id
        };
        let counted = ["id-", "idm", "idp", "id"].iter().any(|mark| {
            id.strip_prefix(mark).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        });
        (!id.is_empty() && !counted && !self.has_class("indexterm")).then(|| decode_entities(id))
    }
}

/// Decodes entities.
pub(super) fn decode_entities(text: &str) -> Cow<'_, str> {
    if memchr::memchr(b'&', text.as_bytes()).is_some() {
        htmlize::unescape(text)
    } else {
        text.into()
    }
}

impl<'s> HtmlTree<'s> {
    /// Parses a page. Never fails.
    pub(super) fn parse(source: &'s str) -> Self {
        let mut builder = HtmlTreeBuilder::default();
        let root = HtmlElement::new(HtmlTag::Inline(Inline::Other), HtmlAttributes::default());
        builder.push(HtmlNodeData::Element(root));
        builder.open.push((0, root.tag));
        let mut comments = Vec::new();
        for piece in HtmlTokenizer::new(source) {
            match piece {
                HtmlToken::Text(text) => builder.text(text),
                HtmlToken::Raw(text) => {
                    builder.push(HtmlNodeData::Raw(text));
                }
                HtmlToken::Open { name, attributes, closed } => {
                    builder.element(HtmlTag::named(name), attributes, closed);
                }
                HtmlToken::Close(name) => builder.close(HtmlTag::named(name)),
                HtmlToken::Comment(text) if comments.len() < MAX_COMMENTS => comments.push(text),
                HtmlToken::Comment(_) => {}
            }
        }
        builder.close_to(0);
        let mut nodes = builder.nodes;
        for at in (1..nodes.len()).rev() {
            let Some(HtmlNode { what: HtmlNodeData::Element(element), parent, .. }) = nodes.get(at)
            else {
                continue;
            };
            let (heads, parent) =
                (element.has_heading || matches!(element.tag, HtmlTag::Heading(_)), *parent);
            // What heads a note heads nothing else.
            let heads = heads && notes::kind(element).is_none();
            if heads
                && let Some(HtmlNodeData::Element(parent)) =
                    nodes.get_mut(parent as usize).map(|node| &mut node.what)
            {
                parent.has_heading = true;
            }
        }
        Self { nodes, comments }
    }

    pub(super) fn element(&self, at: usize) -> Option<&HtmlElement<'s>> {
        match &self.nodes.get(at)?.what {
            HtmlNodeData::Element(element) => Some(element),
            _ => None,
        }
    }

    /// An element and all within it.
    pub(super) fn range(&self, at: usize) -> Range<usize> {
        at..self.nodes.get(at).map_or(at, |node| node.end as usize)
    }

    /// Elements in a range, with where they are.
    pub(super) fn elements(
        &self,
        range: Range<usize>,
    ) -> impl Iterator<Item = (usize, &HtmlElement<'s>)> {
        range.filter_map(|at| Some((at, self.element(at)?)))
    }

    /// The elements and texts right within one.
    pub(super) fn children(&self, at: usize) -> impl Iterator<Item = usize> {
        let range = self.range(at);
        let mut next = range.start + 1;
        std::iter::from_fn(move || {
            let child = (next < range.end).then_some(next)?;
            next = self.range(child).end.max(child + 1);
            Some(child)
        })
    }

    /// The text within an element, white space and all.
    pub(super) fn text(&self, range: Range<usize>) -> String {
        let mut all = String::new();
        for node in self.nodes.get(range).unwrap_or_default() {
            match node.what {
                HtmlNodeData::Text(text) => all.push_str(&decode_entities(text)),
                HtmlNodeData::Raw(text) => all.push_str(text),
                HtmlNodeData::Element(_) => {}
            }
        }
        all
    }

    pub(super) fn parent(&self, at: usize) -> usize {
        self.nodes.get(at).map_or(0, |node| node.parent as usize)
    }
}

#[derive(Debug, Default)]
struct HtmlTreeBuilder<'s> {
    nodes: Vec<HtmlNode<'s>>,
    /// Elements that have not ended, outermost first.
    open: Vec<(u32, HtmlTag)>,
}

impl<'s> HtmlTreeBuilder<'s> {
    fn push(&mut self, what: HtmlNodeData<'s>) -> u32 {
        // The size limit of a file keeps node counts within 32 bits.
        let at = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        let parent = self.open.last().map_or(0, |(parent, _)| *parent);
        self.nodes.push(HtmlNode { what, parent, end: at.saturating_add(1) });
        at
    }

    fn text(&mut self, text: &'s str) {
        let in_head = matches!(self.open.last(), Some((_, HtmlTag::Block(Block::Head))));
        if in_head && !text.trim_ascii().is_empty() {
            self.close_to(self.open.len() - 1);
        }
        self.push(HtmlNodeData::Text(text));
    }

    fn element(&mut self, tag: HtmlTag, attributes: HtmlAttributes<'s>, closed: bool) {
        // Within inline text, only block elements end anything.
        if !matches!(tag, HtmlTag::Inline(_)) {
            self.make_room(tag);
        }
        let at = self.push(HtmlNodeData::Element(HtmlElement::new(tag, attributes)));
        // `<a id="x"/>` is XHTML for an empty element; a `<div/>` that is not meant so would swallow the page.
        if !tag.is_void() && !closed {
            self.open.push((at, tag));
        }
    }

    /// Ends the elements that can't hold this one.
    fn make_room(&mut self, tag: HtmlTag) {
        let mut keep = None;
        for (depth, (_, open)) in self.open.iter().enumerate().rev().take(MAX_OPEN_ANCESTORS) {
            match tag.ends(*open) {
                ImpliedEnd::Ends => keep = Some(depth),
                ImpliedEnd::Up => {}
                ImpliedEnd::Stop => break,
            }
        }
        if let Some(depth) = keep {
            self.close_to(depth);
        }
    }

    fn close(&mut self, tag: HtmlTag) {
        // Content after the end of the page is still shown.
        if matches!(tag, HtmlTag::Block(Block::Body | Block::Html)) {
            return;
        }
        for (depth, (_, open)) in self.open.iter().enumerate().rev().take(MAX_OPEN_ANCESTORS) {
            let same =
                *open == tag || matches!((open, tag), (HtmlTag::Heading(_), HtmlTag::Heading(_)));
            if same && depth > 0 {
                return self.close_to(depth);
            }
            // The end of something in a line ends no block, and nothing in a cell ends what holds the table.
            let is_line = matches!(tag, HtmlTag::Inline(_)) && !matches!(open, HtmlTag::Inline(_));
            let is_row = matches!(
                tag,
                HtmlTag::Block(Block::Table | Block::Tr | Block::Tbody | Block::Thead)
            );
            if is_line || (open.bounds() && !is_row) {
                return;
            }
        }
    }

    /// Ends all open elements from this depth on.
    fn close_to(&mut self, depth: usize) {
        let end = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        while self.open.len() > depth {
            let Some((at, _)) = self.open.pop() else { return };
            if let Some(node) = self.nodes.get_mut(at as usize) {
                node.end = end;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where elements end is shown by brackets.
    fn shape(source: &str) -> String {
        let tree = HtmlTree::parse(source);
        let mut shape = String::new();
        let mut open: Vec<usize> = Vec::new();
        for (at, node) in tree.nodes.iter().enumerate().skip(1) {
            while open.last().is_some_and(|end| *end <= at) {
                open.pop();
                shape.push(')');
            }
            match &node.what {
                HtmlNodeData::Text(text) | HtmlNodeData::Raw(text) => shape.push_str(text.trim()),
                HtmlNodeData::Element(element) => {
                    let name = format!("{:?}", element.tag).to_lowercase();
                    shape.push_str(
                        name.trim_end_matches(')').rsplit('(').next().unwrap_or_default(),
                    );
                    shape.push('(');
                    open.push(node.end as usize);
                }
            }
        }
        shape + &")".repeat(open.len())
    }

    fn check(source: &str, want: &str) {
        assert_eq!(shape(source), want, "{source}");
    }

    #[test]
    fn ends_that_are_left_out_are_put_in() {
        let cases = [
            ("<p>a<p>b<div>c", "p(a)p(b)div(c)"),
            ("<ul><li>a<li>b<ul><li>c</ul><li>d</ul>e", "ul(li(a)li(b ul(li(c)))li(d))e"),
            ("<dl><dt>a<dd>b<dt>c</dl>", "dl(dt(a)dd(b)dt(c))"),
            ("<table><tr><td>a<td>b<tr><th>c</table>d", "table(tr(td(a)td(b))tr(th(c)))d"),
            ("<table><tr><td><p>a</table>b", "table(tr(td(p(a))))b"),
            ("<h1>a<h2>b</h2>c", "1(a)2(b)c"),
            ("<p>a<b>b<p>c", "p(a other(b))p(c)"),
            ("<div><b>a</div>b", "div(other(a))b"),
            ("<b><div>a</b>b</div>", "other(div(ab))"),
            ("a</div>b</p>c", "abc"),
            ("<td><div>a</section></table>b", "td(div(a b))"),
            ("<br>a<img>b<a id=x />c", "br()a img()b a()c"),
            ("<html><head><title>a</title><p>b", "html(head(title(a))p(b))"),
            ("<head><meta><body>a</body>b", "head(meta())body(ab)"),
            ("<head>a", "head()a"),
        ];
        for (source, want) in cases {
            check(source, &want.replace(' ', ""));
        }
    }

    #[test]
    fn names_and_ids_are_found_in_any_case() {
        let tree = HtmlTree::parse("<DIV ID=a Class='x y'><A NAME='b&amp;c'></A><a id=idm123>");
        let anchors: Vec<_> = tree.elements(1..4).map(|(_, element)| element.anchor()).collect();
        assert_eq!(anchors, [Some("a".into()), Some("b&c".into()), None,]);
        assert!(tree.element(1).is_some_and(|div| div.is(Block::Div) && div.has_class("y")));
    }
}
