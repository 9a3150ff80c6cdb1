//! Makes characters visible that a model reads but a person does not see: controls, direction marks, zero-width
//! characters, tags.
//!
//! Where ordinary writing needs an invisible character (emoji, Arabic, the Indic scripts, ideographs) it is kept;
//! private-use characters are kept too, as they are drawn, if only as a box.

use crate::scripts::{
    has_variants, is_emoji, is_ideograph, is_mongolian, is_unspaced, uses_joiners,
};
use std::borrow::Cow;

/// Maximum bytes of an operating-system command that is shown in one piece.
const MAX_COMMAND_BYTES: usize = 2048;

/// The flags that are written with tags: England, Scotland, Wales.
const TAG_FLAGS: [&str; 3] = ["gbeng", "gbsct", "gbwls"];

/// The text with each hidden character shown as `<U+202E>`, a run of tags as `<hidden text: "…">`, and a terminal
/// sequence as `<ESC[31m>`. Borrowed when there is nothing to show.
pub fn visible(text: &str) -> Cow<'_, str> {
    let mut out: Option<String> = None;
    let mut copied = 0;
    let mut at = plain_length(text.as_bytes());
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        // A replaced character does not count as a neighbor any more.
        let before = text.get(copied..at).unwrap_or_default();
        let (length, shape) = shown(text, at, before, c);
        if let Some(shape) = shape {
            let out = out.get_or_insert_default();
            out.push_str(text.get(copied..at).unwrap_or_default());
            out.push_str(&shape);
            copied = at + length;
        }
        at += length;
        at += plain_length(text.as_bytes().get(at..).unwrap_or_default());
    }
    match out {
        None => Cow::Borrowed(text),
        Some(mut out) => {
            out.push_str(text.get(copied..).unwrap_or_default());
            Cow::Owned(out)
        }
    }
}

/// Printable ASCII, tabs and line ends.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r')
}

/// Returns how many bytes at the start are plain. Whole blocks are folded without a branch, which compilers vectorize.
fn plain_length(bytes: &[u8]) -> usize {
    let blocks = bytes.chunks_exact(64);
    let whole = blocks
        .take_while(|block| block.iter().fold(true, |plain, byte| plain & is_plain(*byte)))
        .count();
    let start = whole * 64;
    let rest = bytes.get(start..).unwrap_or_default();
    start + rest.iter().position(|byte| !is_plain(*byte)).unwrap_or(rest.len())
}

/// Returns how many bytes from `at` belong together, and how they are shown; `None` if unchanged. `before` is the
/// unchanged text before them.
fn shown(text: &str, at: usize, before: &str, c: char) -> (usize, Option<String>) {
    match c {
        '\u{1B}' => escape_sequence(text, at),
        '\u{E0000}'..='\u{E007F}' => tags(text, at, before),
        '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}' => variation(text, at, before),
        c if c.is_control() || (is_hidden(c) && !belongs(text, at, before, c)) => {
            (c.len_utf8(), Some(code(c)))
        }
        c => (c.len_utf8(), None),
    }
}

fn code(c: char) -> String {
    format!("<U+{:04X}>", u32::from(c))
}

/// Invisible characters, except controls, tags and variation selectors.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
        | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}' | '\u{2800}' | '\u{3164}' | '\u{FEFF}' | '\u{FFA0}'
        | '\u{FFF0}'..='\u{FFFB}' | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}'
        | '\u{E0080}'..='\u{E0FFF}')
}

/// Whether this hidden character is normal at this position.
fn belongs(text: &str, at: usize, stays: &str, c: char) -> bool {
    let before = stays.chars().next_back();
    let after = text.get(at + c.len_utf8()..).and_then(|text| text.chars().next());
    // Fillers count as letters, but may be hidden characters themselves.
    let both = |is: fn(char) -> bool| {
        [before, after].into_iter().all(|beside| beside.is_some_and(|c| is(c) && !is_hidden(c)))
    };
    match c {
        // A byte order mark begins a file.
        '\u{FEFF}' => at == 0,
        // One soft hyphen inside a word is typography.
        '\u{AD}' => both(char::is_alphabetic),
        '\u{34F}' => both(|c| !c.is_ascii() && !c.is_whitespace()),
        '\u{200B}' => both(is_unspaced),
        '\u{200C}' => both(uses_joiners),
        '\u{200D}' => both(uses_joiners) || (after.is_some_and(is_emoji) && can_be_joined(stays)),
        '\u{180B}'..='\u{180F}' => before.is_some_and(is_mongolian),
        '\u{115F}' => after.is_some_and(|c| matches!(c, '\u{1161}'..='\u{11A7}')),
        '\u{1160}' => {
            before.is_some_and(|c| matches!(c, '\u{1100}'..='\u{115E}'))
                && after.is_some_and(|c| matches!(c, '\u{11A8}'..='\u{11FF}'))
        }
        '\u{2800}' => {
            [before, after].iter().flatten().any(|c| matches!(c, '\u{2801}'..='\u{28FF}'))
        }
        _ => false,
    }
}

/// Whether the left part of a joined emoji ends here: an emoji, its color, or the selector that makes it one.
fn can_be_joined(before: &str) -> bool {
    let mut last = before.chars().rev();
    match last.next() {
        // A selector after anything else is made visible, and joins nothing.
        Some('\u{FE0F}') => last.next().is_some_and(has_variants),
        Some(c) => is_emoji(c),
        None => false,
    }
}

/// Returns the characters from `at` that satisfy `accepts`.
fn run(text: &str, at: usize, accepts: fn(char) -> bool) -> &str {
    let rest = text.get(at..).unwrap_or_default();
    let length = rest.find(|c| !accepts(c)).unwrap_or(rest.len());
    rest.get(..length).unwrap_or_default()
}

fn is_tag(c: char) -> bool {
    matches!(c, '\u{E0000}'..='\u{E007F}')
}

/// Handles a run of tag characters: a flag stays, anything else is spelled out.
fn tags(text: &str, at: usize, before: &str) -> (usize, Option<String>) {
    let run = run(text, at, is_tag);
    let decoded: String = run.chars().filter_map(untagged).collect();
    let flag = before.ends_with('\u{1F3F4}')
        && run.ends_with('\u{E007F}')
        && run.chars().count() == decoded.len() + 1
        && TAG_FLAGS.contains(&decoded.as_str());
    (run.len(), (!flag).then(|| spelled_out(&decoded)))
}

/// Returns the ASCII character of a tag.
fn untagged(c: char) -> Option<char> {
    let low = u32::from(c).checked_sub(0xE_0000)?;
    char::from_u32(low).filter(|c| matches!(c, ' '..='~'))
}

fn spelled_out(decoded: &str) -> String {
    let quoted = decoded.replace('\\', "\\\\").replace('"', "\\\"");
    format!("<hidden text: \"{quoted}\">")
}

/// Handles variation selectors: one after a character with variants stays; a run of them encodes bytes and is spelled
/// out.
fn variation(text: &str, at: usize, before: &str) -> (usize, Option<String>) {
    let run = run(text, at, |c| selected(c).is_some());
    let codes = || run.chars().map(code).collect::<String>();
    let mut selectors = run.chars();
    if let (Some(only), None) = (selectors.next(), selectors.next()) {
        let has_variants = if only <= '\u{FE0F}' { has_variants } else { is_ideograph };
        let stays = before.chars().next_back().is_some_and(has_variants);
        return (run.len(), (!stays).then(codes));
    }
    let bytes: Vec<u8> = run.chars().filter_map(selected).collect();
    let readable = str::from_utf8(&bytes)
        .ok()
        .filter(|decoded| !decoded.chars().any(|c| c.is_control() || can_hide(c)));
    (run.len(), Some(readable.map_or_else(codes, spelled_out)))
}

/// Returns the byte that a variation selector can encode; there are 256 of them.
fn selected(c: char) -> Option<u8> {
    let number = match c {
        '\u{FE00}'..='\u{FE0F}' => u32::from(c) - 0xFE00,
        '\u{E0100}'..='\u{E01EF}' => u32::from(c) - 0xE_0100 + 16,
        _ => return None,
    };
    u8::try_from(number).ok()
}

/// Returns the length of a terminal sequence, and how it is shown.
fn escape_sequence(text: &str, at: usize) -> (usize, Option<String>) {
    let bytes = text.as_bytes().get(at..).unwrap_or_default();
    let length = match bytes.get(1) {
        Some(b'[') => control_sequence(bytes),
        Some(b']' | b'P' | b'X' | b'^' | b'_') => command(bytes),
        Some(b' '..=b'~') => Some(2),
        _ => None,
    };
    let length = length.unwrap_or(1);
    let sequence = text.get(at..at + length).unwrap_or_default();
    let mut shape = String::from("<");
    for c in sequence.chars() {
        match c {
            '\u{1B}' => shape.push_str("ESC"),
            '\u{7}' => shape.push_str("BEL"),
            c => shape.push(c),
        }
    }
    shape.push('>');
    (length, Some(shape))
}

/// `ESC [`, parameters, then one letter.
fn control_sequence(bytes: &[u8]) -> Option<usize> {
    let rest = bytes.get(2..)?;
    let parameters = rest.iter().take(64).take_while(|byte| matches!(byte, b' '..=b'?')).count();
    matches!(rest.get(parameters)?, b'@'..=b'~').then_some(parameters + 3)
}

/// `ESC ]` and similar: printable ASCII up to a bell or `ESC \`. Others are shown piece by piece.
fn command(bytes: &[u8]) -> Option<usize> {
    let rest = bytes.get(2..)?;
    let body =
        rest.iter().take(MAX_COMMAND_BYTES).take_while(|byte| matches!(byte, b' '..=b'~')).count();
    match rest.get(body)? {
        0x07 => Some(body + 3),
        0x1B if rest.get(body + 1) == Some(&b'\\') => Some(body + 4),
        _ => None,
    }
}

/// Whether the character would be hidden in some position; descriptions are searched without such characters.
pub(crate) fn can_hide(c: char) -> bool {
    is_hidden(c) || selected(c).is_some() || is_tag(c)
}
