//! The outline of a PDF: its headings with their pages.

use super::glyphs::Matrix;
use hayro_syntax::{
    Pdf,
    object::{Array, Dict, MaybeRef, Name, Number, Object, ObjectIdentifier, String as Bytes},
};
use std::collections::{HashMap, HashSet};

/// Maximum bookmarks read; more are an attack on time.
const MAX_BOOKMARKS: usize = 20_000;
/// Maximum nodes visited in the name tree.
const MAX_NAME_TREE_NODES: usize = 200_000;

/// A heading in the outline.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bookmark {
    /// From 1.
    pub(super) level: u8,
    pub(super) title: String,
    /// From 0.
    pub(super) page: usize,
    /// Its vertical position on the page, if given.
    pub(super) height: Option<f64>,
}

/// The bookmarks of a file, in order.
pub(super) fn bookmarks(pdf: &Pdf) -> Vec<Bookmark> {
    let Some(root) = pdf.xref().get::<Dict<'_>>(pdf.xref().root_id()) else { return Vec::new() };
    let Some(outline) = root.get::<Dict<'_>>(b"Outlines") else { return Vec::new() };
    let pages = pdf.pages().iter().enumerate();
    let pages = pages.filter_map(|(number, page)| Some((page.raw().obj_id()?, number))).collect();
    let targets = BookmarkTargets { pdf, pages, names: names(&root) };
    let mut all = Vec::new();
    let mut seen = HashSet::new();
    // The next bookmark of each level that is open, outermost first.
    let mut open = vec![outline.get::<Dict<'_>>(b"First")];
    while let Some(next) = open.last_mut() {
        let Some(bookmark) = next.take() else {
            open.pop();
            continue;
        };
        if all.len() >= MAX_BOOKMARKS || !seen.insert(bookmark.obj_id()) {
            break;
        }
        *next = bookmark.get::<Dict<'_>>(b"Next");
        let level = u8::try_from(open.len()).unwrap_or(u8::MAX);
        let title = bookmark.get::<Bytes<'_>>(b"Title").map(|title| text(&title));
        if let (Some(title), Some((page, height))) = (title, targets.of(&bookmark)) {
            all.push(Bookmark { level, title, page, height });
        }
        if let Some(first) = bookmark.get::<Dict<'_>>(b"First").filter(|_| open.len() < 64) {
            open.push(Some(first));
        }
    }
    all
}

/// Destinations of bookmarks.
struct BookmarkTargets<'a> {
    pdf: &'a Pdf,
    pages: HashMap<ObjectIdentifier, usize>,
    names: HashMap<Vec<u8>, Object<'a>>,
}

impl<'a> BookmarkTargets<'a> {
    fn of(&self, bookmark: &Dict<'a>) -> Option<(usize, Option<f64>)> {
        let own = bookmark.get::<Object<'a>>(b"Dest");
        let action = || {
            let action = bookmark.get::<Dict<'a>>(b"A")?;
            let leads = action.get::<Name<'_>>(b"S").is_some_and(|kind| kind.as_str() == "GoTo");
            action.get::<Object<'a>>(b"D").filter(|_| leads)
        };
        self.place(own.or_else(action)?, 0)
    }

    fn place(&self, target: Object<'a>, depth: usize) -> Option<(usize, Option<f64>)> {
        match target {
            Object::Array(array) => self.destination(&array),
            Object::Dict(dict) => self.destination(&dict.get::<Array<'a>>(b"D")?),
            Object::String(name) if depth < 2 => {
                self.place(self.names.get(name.as_bytes())?.clone(), depth + 1)
            }
            Object::Name(name) if depth < 2 => {
                self.place(self.names.get(name.as_ref())?.clone(), depth + 1)
            }
            _ => None,
        }
    }

    /// `[page /XYZ left top zoom]` and its kin.
    fn destination(&self, array: &Array<'a>) -> Option<(usize, Option<f64>)> {
        let page = match array.raw_iter().next()? {
            MaybeRef::Ref(page) => *self.pages.get(&page.into())?,
            MaybeRef::NotRef(Object::Number(page)) => usize::try_from(page.as_i64()).ok()?,
            MaybeRef::NotRef(_) => return None,
        };
        let rest: Vec<Object<'a>> = array.iter::<Object<'a>>().skip(1).take(4).collect();
        let number = |at: usize| match rest.get(at) {
            Some(Object::Number(number)) => Some(Number::as_f64(number)),
            _ => None,
        };
        let (left, top) = match rest.first() {
            Some(Object::Name(kind)) => match kind.as_str() {
                "XYZ" => (number(1), number(2)),
                "FitH" | "FitBH" => (None, number(1)),
                "FitR" => (number(1), number(4)),
                _ => (None, None),
            },
            _ => (None, None),
        };
        let page_of = self.pdf.pages().get(page)?;
        let turned = Matrix::from_rotation(page_of.rotation());
        Some((page, top.map(|top| turned.apply(left.unwrap_or(0.0), top).1)))
    }
}

/// Named destinations, from the old dictionary and the new tree.
fn names<'a>(root: &Dict<'a>) -> HashMap<Vec<u8>, Object<'a>> {
    let mut names = HashMap::new();
    if let Some(old) = root.get::<Dict<'a>>(b"Dests") {
        for name in old.keys().take(MAX_NAME_TREE_NODES) {
            if let Some(target) = old.get::<Object<'a>>(&name) {
                names.insert(name.as_ref().to_vec(), target);
            }
        }
    }
    let tree = root.get::<Dict<'a>>(b"Names").and_then(|names| names.get::<Dict<'a>>(b"Dests"));
    let mut open: Vec<Dict<'a>> = tree.into_iter().collect();
    let mut looked = 0;
    while let Some(node) = open.pop() {
        looked += 1;
        if looked > MAX_NAME_TREE_NODES || names.len() > MAX_NAME_TREE_NODES {
            break;
        }
        if let Some(pairs) = node.get::<Array<'a>>(b"Names") {
            let mut pairs = pairs.iter::<Object<'a>>();
            while let (Some(name), Some(target)) = (pairs.next(), pairs.next()) {
                if let Object::String(name) = name {
                    names.insert(name.as_bytes().to_vec(), target);
                }
            }
        }
        if let Some(kids) = node.get::<Array<'a>>(b"Kids") {
            open.extend(kids.iter::<Dict<'a>>().take(MAX_NAME_TREE_NODES));
        }
    }
    names
}

/// A text string: UTF-16 or UTF-8 by its mark, or else Latin letters.
pub(super) fn text(bytes: &[u8]) -> String {
    let wide = |bytes: &[u8], order: fn([u8; 2]) -> u16| -> String {
        let (pairs, _) = bytes.as_chunks::<2>();
        let letters = char::decode_utf16(pairs.iter().map(|pair| order(*pair)));
        letters.map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    };
    let text = match bytes {
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        bytes => bytes.iter().map(|byte| latin(*byte)).collect(),
    };
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The character of a byte in strings without a byte order mark.
fn latin(byte: u8) -> char {
    const SPECIAL: &str = "•†‡…—–ƒ⁄‹›−‰„“”‘’‚™ﬁﬂŁŒŠŸŽıłœšž";
    match byte {
        0x80..=0x9e => SPECIAL.chars().nth(usize::from(byte - 0x80)).unwrap_or(' '),
        0xa0 => '€',
        byte => char::from(byte),
    }
}
