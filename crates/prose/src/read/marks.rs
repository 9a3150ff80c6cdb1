//! Running text with embedded marks for fonts and links, until it becomes a `LinkedText`.
//!
//! Marks are control characters that `remove_marks` removes from the source. A text with marks can be cut, joined and
//! indented like any other; finally the marks become backticks and links.

use crate::document::LinkedText;
use std::borrow::Cow;

/// Switches to the font of running text.
pub(crate) const ROMAN: char = '\u{1}';
/// Switches to bold.
pub(crate) const BOLD: char = '\u{2}';
/// Switches to italic.
pub(crate) const ITALIC: char = '\u{3}';
/// Switches to literal.
pub(crate) const CODE: char = '\u{4}';
/// Starts the target of a link, up to `LABEL`.
pub(crate) const TARGET: char = '\u{5}';
/// Starts the label of a link, up to `END`.
pub(crate) const LABEL: char = '\u{6}';
/// Ends a link.
pub(crate) const END: char = '\u{7}';
/// At the end of a line: the next one follows without a space.
pub(crate) const NO_SPACE: char = '\u{8}';

/// Removes characters used as marks from source text.
pub(crate) fn remove_marks(text: &str) -> Cow<'_, str> {
    let foreign = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if text.contains(foreign) {
        Cow::Owned(text.chars().filter(|c| !foreign(*c)).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// A link, as marks. Without a label, its target is the label.
pub(crate) fn link(target: &str, label: &str) -> String {
    let label = if plain(label).trim().is_empty() { target } else { label };
    format!("{TARGET}{}{LABEL}{label}{END}", plain(target))
}

/// Text in a font, and running text after it.
pub(crate) fn font(font: char, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{font}{text}{ROMAN}") }
}

/// The text without marks.
pub(crate) fn plain(marked: &str) -> String {
    let mut hidden = false;
    let mut out = String::with_capacity(marked.len());
    for c in marked.chars() {
        match c {
            TARGET => hidden = true,
            LABEL | END => hidden = false,
            ROMAN | BOLD | ITALIC | CODE | NO_SPACE => {}
            c if !hidden => out.push(c),
            _ => {}
        }
    }
    out
}

/// Collapses spaces; keeps line breaks, without spaces around them.
pub(crate) fn squeeze_marked(marked: &str) -> String {
    let mut out = String::with_capacity(marked.len());
    let mut last = '\n';
    for c in marked.chars() {
        let c = if c == '\t' || c == '\u{a0}' { ' ' } else { c };
        match c {
            ' ' if last == ' ' || last == '\n' => continue,
            '\n' if last == '\n' => continue,
            '\n' if out.ends_with(' ') => {
                out.pop();
            }
            ROMAN | BOLD | ITALIC | CODE | TARGET | LABEL | END | NO_SPACE => {
                out.push(c);
                continue;
            }
            _ => {}
        }
        out.push(c);
        last = c;
    }
    out.truncate(out.trim_end_matches([' ', '\n']).len());
    out
}

/// A run of characters of one font, or a link.
#[derive(Debug)]
enum MarkedPiece {
    Run(char, String),
    Link(String, String),
}

fn pieces(marked: &str) -> Vec<MarkedPiece> {
    let mut pieces = Vec::new();
    let mut font = ROMAN;
    let mut run = String::new();
    let mut rest = marked;
    while let Some(at) = rest.find(|c: char| c <= NO_SPACE && c != '\n') {
        let (before, from) = rest.split_at(at);
        run.push_str(before);
        let mut after = from.chars();
        let mark = after.next().unwrap_or(ROMAN);
        rest = after.as_str();
        match mark {
            TARGET => {
                let end = rest.find(END).unwrap_or(rest.len());
                let (link, after) = rest.split_at(end);
                rest = after;
                let (target, label) = link.split_once(LABEL).unwrap_or((link, link));
                pieces.push(MarkedPiece::Run(font, std::mem::take(&mut run)));
                pieces.push(MarkedPiece::Link(target.to_owned(), plain(label)));
            }
            ROMAN | BOLD | ITALIC | CODE if mark != font => {
                pieces.push(MarkedPiece::Run(font, std::mem::take(&mut run)));
                font = mark;
            }
            _ => {}
        }
    }
    run.push_str(rest);
    pieces.push(MarkedPiece::Run(font, run));
    pieces.retain(|piece| !matches!(piece, MarkedPiece::Run(_, run) if run.is_empty()));
    pieces
}

/// Whether a word is an option as it is typed.
pub(crate) fn is_option(word: &str) -> bool {
    let mut chars = word.chars();
    chars.next() == Some('-')
        && chars.next().is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '?' | '@'))
        && word != "--"
}

/// The text, literal parts in backticks and links beside it.
pub(crate) fn text(marked: &str) -> LinkedText {
    let mut text = LinkedText::default();
    let pieces = pieces(marked);
    let mut skip = 0;
    for (at, piece) in pieces.iter().enumerate() {
        match piece {
            MarkedPiece::Link(target, label) => text.link(label, target.clone()),
            MarkedPiece::Run(font, run) => {
                let run = run.get(skip..).unwrap_or_default();
                skip = 0;
                let next = pieces.get(at + 1);
                if let Some((section, taken)) = page_reference(*font, run, next) {
                    let name = run.trim_start();
                    text.plain.push_str(run.get(..run.len() - name.len()).unwrap_or_default());
                    text.link(&format!("{name}({section})"), format!("{name}.{section}"));
                    skip = taken;
                } else {
                    push_run(&mut text.plain, *font, run);
                }
            }
        }
    }
    text
}

/// `name` in a font before `(1)`: the section, and how many bytes of the next run it takes.
fn page_reference(font: char, run: &str, next: Option<&MarkedPiece>) -> Option<(String, usize)> {
    let Some(MarkedPiece::Run(ROMAN, next)) = next else { return None };
    let (section, _) = next.strip_prefix('(')?.split_once(')')?;
    let name = run.trim_start();
    let is_name = !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:+@[".contains(c));
    let is_section = section.len() <= 8
        && section.starts_with(|c: char| c.is_ascii_digit() || c == 'n')
        && section.chars().all(|c| c.is_ascii_alphanumeric());
    (font != ROMAN && is_name && is_section).then(|| (section.to_owned(), section.len() + 2))
}

/// Puts bold options and literal text in backticks.
fn push_run(out: &mut String, font: char, run: &str) {
    let core = run.trim();
    let literal = match font {
        CODE => !core.is_empty(),
        BOLD => is_option(core),
        _ => false,
    };
    if !literal || core.contains('\n') || core.contains('`') || out.ends_with('`') {
        out.push_str(run);
        return;
    }
    let start = run.len() - run.trim_start().len();
    out.push_str(run.get(..start).unwrap_or_default());
    out.push('`');
    out.push_str(core);
    out.push('`');
    out.push_str(run.get(start + core.len()..).unwrap_or_default());
}

/// A name that links can point to: lower case, words joined by `-`.
pub(crate) fn slug(heading: &str) -> String {
    let mut slug = String::with_capacity(heading.len());
    for c in heading.chars().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() || c == '_' {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(slug.trim_end_matches('-').len());
    slug
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_backticks_and_links() {
        let cases: [(&str, &str); 7] = [
            ("a \u{2}-x\u{1}, b", "a `-x`, b"),
            ("\u{2}bold\u{1} text", "bold text"),
            ("see \u{2}git-log\u{1}(1).", "see [git-log(1)](git-log.1)."),
            ("\u{3}FILE\u{1} (1)", "FILE (1)"),
            ("\u{5}http://a\u{6}b\u{7}c", "[b](http://a)c"),
            ("\u{4}x y\u{1} z", "`x y` z"),
            ("\u{5}never ends", "[never ends](never ends)"),
        ];
        for (marked, want) in cases {
            assert_eq!(text(marked).to_markdown(&|target| Some(target.to_owned())), want);
        }
    }

    #[test]
    fn white_space_is_squeezed_across_marks() {
        assert_eq!(squeeze_marked("  a \u{2} b\u{1}  \n\n c  "), "a \u{2}b\u{1}\nc");
        assert_eq!(plain("a\u{5}t\u{6}l\u{7}\u{8}"), "al");
        assert_eq!(remove_marks("a\u{1}b\tc\n"), "ab\tc\n");
        assert_eq!(slug(" Über: this & that "), "über-this-that");
    }
}
