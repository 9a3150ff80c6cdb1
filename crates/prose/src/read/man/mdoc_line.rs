//! A line of mdoc macros that call each other: one text with marks.

use super::escape::Fonts;
use crate::read::marks::{self, BOLD, CODE, ITALIC, NO_SPACE, ROMAN};

/// Brackets around the rest of a line, around several lines, and their ends: name, what opens, what closes.
const ENCLOSED: [(&str, &str, &str); 10] = [
    ("Op", "[", "]"),
    ("Bq", "[", "]"),
    ("Pq", "(", ")"),
    ("Aq", "<", ">"),
    ("Brq", "{", "}"),
    ("Dq", "“", "”"),
    ("Sq", "‘", "’"),
    ("Qq", "\"", "\""),
    ("Ql", "‘", "’"),
    ("En", "", ""),
];
const OPENING: [(&str, &str); 9] = [
    ("Oo", "["),
    ("Bo", "["),
    ("Po", "("),
    ("Ao", "<"),
    ("Bro", "{"),
    ("Do", "“"),
    ("So", "‘"),
    ("Qo", "\""),
    ("Eo", ""),
];
const CLOSING: [(&str, &str); 9] = [
    ("Oc", "]"),
    ("Bc", "]"),
    ("Pc", ")"),
    ("Ac", ">"),
    ("Brc", "}"),
    ("Dc", "”"),
    ("Sc", "’"),
    ("Qc", "\""),
    ("Ec", ""),
];
/// Macros that set a font.
const FONTS: [(&str, char); 27] = [
    ("Ad", ITALIC),
    ("An", ROMAN),
    ("Ar", ITALIC),
    ("Cd", BOLD),
    ("Cm", BOLD),
    ("Dv", ROMAN),
    ("Em", ITALIC),
    ("Er", ROMAN),
    ("Ev", ROMAN),
    ("Fa", ITALIC),
    ("Fd", BOLD),
    ("Fl", BOLD),
    ("Fr", ITALIC),
    ("Ft", ITALIC),
    ("Ic", BOLD),
    ("Li", CODE),
    ("Ms", BOLD),
    ("Nm", BOLD),
    ("No", ROMAN),
    ("Pa", ITALIC),
    ("Sy", BOLD),
    ("Tn", ROMAN),
    ("Va", ITALIC),
    ("Vt", ITALIC),
    ("Tg", ROMAN),
    ("Xo", ROMAN),
    ("Xc", ROMAN),
];
/// Names of systems.
const SYSTEMS: [(&str, &str); 8] = [
    ("Bx", "BSD"),
    ("Bsx", "BSD/OS"),
    ("Fx", "FreeBSD"),
    ("Nx", "NetBSD"),
    ("Ox", "OpenBSD"),
    ("Dx", "DragonFly"),
    ("Ux", "UNIX"),
    ("At", "AT&T UNIX"),
];
/// Other macros called within a line.
const OTHER_INLINE_MACROS: [&str; 13] =
    ["Ns", "Pf", "Ap", "Xr", "Lk", "Mt", "Sx", "In", "Fn", "Lb", "St", "Ta", "Es"];

fn find<'a, V: Copy>(all: &'a [(&str, V)], name: &str) -> Option<&'a V> {
    all.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
}

/// Whether a word within a line is a macro.
pub(super) fn is_macro(word: &str) -> bool {
    find(&FONTS, word).is_some()
        || ENCLOSED.iter().any(|(name, ..)| *name == word)
        || find(&OPENING, word).is_some()
        || find(&CLOSING, word).is_some()
        || find(&SYSTEMS, word).is_some()
        || OTHER_INLINE_MACROS.contains(&word)
}

fn closes(word: &str) -> bool {
    matches!(word, "." | "," | ":" | ";" | ")" | "]" | "?" | "!")
}

fn opens(word: &str) -> bool {
    matches!(word, "(" | "[")
}

/// The result of one line.
#[derive(Debug, Default)]
pub(super) struct MdocLineText {
    /// The text with marks.
    pub(super) text: String,
    /// Whether it follows the previous text without a space.
    pub(super) glued: bool,
    /// Cells of a table that follow the first.
    pub(super) cells: Vec<String>,
}

/// The context of a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct MdocLineContext {
    /// Whether words are separated by spaces.
    pub(super) spaced: bool,
    /// Whether it is in the synopsis.
    pub(super) synopsis: bool,
}

/// Writes a line.
#[derive(Debug)]
pub(super) struct MdocLineWriter<'a> {
    /// The page's own name.
    name: &'a str,
    setting: MdocLineContext,
    out: String,
    cells: Vec<String>,
    glued: bool,
    tight: bool,
}

impl<'a> MdocLineWriter<'a> {
    /// For a page of this name.
    pub(super) const fn new(name: &'a str, setting: MdocLineContext) -> Self {
        Self { name, setting, out: String::new(), cells: Vec::new(), glued: false, tight: true }
    }

    /// The text of a line of words.
    pub(super) fn line(mut self, words: &[String]) -> MdocLineText {
        let after = words.iter().rev().take_while(|word| closes(word)).count();
        let (words, trailing) = words.split_at(words.len() - after.min(words.len()));
        let mut ends: Vec<&str> = Vec::new();
        let mut rest = words;
        while let Some((word, after)) = rest.split_first() {
            rest = after;
            if !is_macro(word) {
                self.word(ROMAN, word);
                continue;
            }
            if let Some((_, open, close)) = ENCLOSED.iter().find(|(name, ..)| name == word) {
                self.push(open);
                self.tight = true;
                ends.push(close);
            } else if let Some(open) = find(&OPENING, word) {
                self.push(open);
                self.tight = true;
            } else if let Some(close) = find(&CLOSING, word) {
                self.close(close);
            } else {
                rest = self.call(word, rest);
            }
        }
        for end in ends.into_iter().rev() {
            self.close(end);
        }
        for word in trailing {
            self.close(word);
        }
        if self.tight && !self.out.is_empty() {
            self.out.push(NO_SPACE);
        }
        let mut cells = std::mem::take(&mut self.cells);
        if cells.is_empty() {
            return MdocLineText { text: self.out, glued: self.glued, cells };
        }
        cells.push(self.out);
        let text = cells.remove(0);
        MdocLineText { text, glued: self.glued, cells }
    }

    fn push(&mut self, text: &str) {
        if !self.tight && self.setting.spaced {
            self.out.push(' ');
        }
        self.out.push_str(text);
        self.tight = false;
    }

    fn close(&mut self, text: &str) {
        if self.out.is_empty() {
            self.glued = true;
        }
        self.out.push_str(text);
        self.tight = false;
    }

    /// A word, in a font; punctuation stays out of it.
    fn word(&mut self, font: char, word: &str) {
        if closes(word) {
            self.close(word);
        } else if opens(word) {
            self.push(word);
            self.tight = true;
        } else {
            let text = Fonts::default().text(word);
            self.push(&if font == ROMAN { text } else { marks::font(font, &text) });
        }
    }

    /// Writes a macro with the words up to the next one. Returns the rest.
    fn call<'w>(&mut self, name: &str, rest: &'w [String]) -> &'w [String] {
        let count = rest.iter().take_while(|word| !is_macro(word)).count();
        let (words, after) = rest.split_at(count);
        match name {
            "Ns" => {
                self.glued |= self.out.is_empty();
                self.tight = true;
                self.words(ROMAN, words);
            }
            "Ap" => {
                self.close("'");
                self.tight = true;
                self.words(ROMAN, words);
            }
            "Pf" => {
                if let Some((first, others)) = rest.split_first() {
                    self.word(ROMAN, first);
                    self.tight = true;
                    return others;
                }
            }
            "Ta" => {
                self.cells.push(std::mem::take(&mut self.out));
                self.tight = true;
                self.words(ROMAN, words);
            }
            "Fl" => self.flags(words, after),
            "Ar" if words.iter().all(|word| closes(word)) => {
                self.push(&marks::font(ITALIC, "file ..."));
                self.words(ROMAN, words);
            }
            "Nm" if words.iter().all(|word| closes(word)) => {
                self.push(&marks::font(BOLD, self.name));
                self.words(ROMAN, words);
            }
            "Xr" | "Lk" | "Mt" | "Sx" | "In" | "Fn" | "Lb" | "St" => self.reference(name, words),
            _ => {
                if let Some(system) = find(&SYSTEMS, name) {
                    self.system(system, words);
                } else {
                    let words = words.iter().filter(|word| !is_setting(name, word));
                    let words: Vec<String> = words.cloned().collect();
                    self.words(find(&FONTS, name).copied().unwrap_or(ROMAN), &words);
                }
            }
        }
        after
    }

    fn words(&mut self, font: char, words: &[String]) {
        for word in words {
            self.word(font, word);
        }
    }

    fn flags(&mut self, words: &[String], after: &[String]) {
        if words.iter().all(|word| closes(word)) {
            self.push(&marks::font(BOLD, "-"));
            // `Fl Fl long` is one option.
            self.tight = words.is_empty() && after.first().is_some_and(|word| word == "Fl");
        }
        for word in words {
            if closes(word) || opens(word) || word == "|" {
                self.word(ROMAN, word);
            } else {
                self.word(BOLD, &format!("-{word}"));
            }
        }
    }

    fn system(&mut self, system: &str, words: &[String]) {
        let version = words.first().filter(|word| !closes(word));
        let words = if version.is_some() { words.get(1..).unwrap_or_default() } else { words };
        match version {
            Some(version) if system == "BSD" => self.push(&format!("{version}BSD")),
            Some(version) => self.push(&format!("{system} {version}")),
            None => self.push(system),
        }
        self.words(ROMAN, words);
    }

    fn reference(&mut self, name: &str, words: &[String]) {
        let count = words.iter().take_while(|word| !closes(word)).count();
        let (words, trailing) = words.split_at(count);
        let texts: Vec<String> =
            words.iter().map(|word| marks::plain(&Fonts::default().text(word))).collect();
        let first = texts.first().map(String::as_str).unwrap_or_default();
        let others = texts.get(1..).unwrap_or_default();
        match name {
            "Xr" => match others.first() {
                Some(section) => self.push(&marks::link(
                    &format!("{first}.{section}"),
                    &format!("{first}({section})"),
                )),
                None => self.push(first),
            },
            "Lk" => self.push(&marks::link(first, &others.join(" "))),
            "Mt" => self.push(&marks::link(&format!("mailto:{first}"), first)),
            "Sx" => {
                let heading = texts.join(" ");
                self.push(&marks::link(&format!("#{}", marks::slug(&heading)), &heading));
            }
            "In" if self.setting.synopsis => self.push(&format!("#include <{first}>")),
            "In" => self.push(&format!("<{first}>")),
            "Fn" => {
                let end = if self.setting.synopsis { ";" } else { "" };
                self.push(&format!("{}({}){end}", marks::font(BOLD, first), others.join(", ")));
            }
            "Lb" => self.push(&format!("library “{first}”")),
            _ => self.push(&standard(first)),
        }
        self.words(ROMAN, trailing);
    }
}

/// Whether a word sets the author layout and is not a name.
fn is_setting(name: &str, word: &str) -> bool {
    name == "Tg" || (name == "An" && matches!(word, "-split" | "-nosplit"))
}

fn standard(name: &str) -> String {
    let known = match name {
        "-ansiC" | "-ansiC-89" => "ANSI X3.159-1989 (“ANSI C89”)",
        "-isoC" | "-isoC-90" => "ISO/IEC 9899:1990 (“ISO C90”)",
        "-isoC-99" => "ISO/IEC 9899:1999 (“ISO C99”)",
        "-isoC-2011" => "ISO/IEC 9899:2011 (“ISO C11”)",
        "-p1003.1-88" => "IEEE Std 1003.1-1988 (“POSIX.1”)",
        "-p1003.1-90" => "IEEE Std 1003.1-1990 (“POSIX.1”)",
        "-p1003.1-2001" => "IEEE Std 1003.1-2001 (“POSIX.1”)",
        "-p1003.1-2004" => "IEEE Std 1003.1-2004 (“POSIX.1”)",
        "-p1003.1-2008" => "IEEE Std 1003.1-2008 (“POSIX.1”)",
        "-p1003.2" | "-p1003.2-92" => "IEEE Std 1003.2 (“POSIX.2”)",
        "-susv2" => "Version 2 of the Single UNIX Specification (“SUSv2”)",
        "-susv3" => "Version 3 of the Single UNIX Specification (“SUSv3”)",
        "-susv4" => "Version 4 of the Single UNIX Specification (“SUSv4”)",
        "-xpg4" => "X/Open Portability Guide Issue 4 (“XPG4”)",
        _ => name.trim_start_matches('-'),
    };
    known.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_macros_become_text() {
        let cases = [
            ("Op Fl a Ns Ar file ,", "[-afile],"),
            ("Fl Fl help", "--help"),
            ("Fl a b", "-a -b"),
            ("Op Fl o Ar option Ns = Ns Ar value", "[-o option=value]"),
            ("Ar", "file ..."),
            ("Nm", "prog"),
            ("Nm ;", "prog;"),
            ("Pq Xr ls 1 .", "(ls(1))."),
            ("Xr ls 1 ,", "ls(1),"),
            ("Oo Fl x Oc", "[-x]"),
            ("Pf ( Ar x )", "(x)"),
            ("Dq quoted text", "“quoted text”"),
            ("Lk http://a label here .", "label here."),
            ("Bx 4.2", "4.2BSD"),
            ("Fn main int\\ argc char", "main(int argc, char)"),
            ("a Ta b Ta c", "a/b/c"),
            ("Ns", ""),
            ("Pf", ""),
            ("", ""),
        ];
        for (line, want) in cases {
            let words: Vec<String> = line
                .replace("\\ ", "\u{a0}")
                .split(' ')
                .map(|w| w.replace('\u{a0}', "\\ "))
                .collect();
            let written =
                MdocLineWriter::new("prog", MdocLineContext { spaced: true, synopsis: false })
                    .line(&words);
            let all: Vec<String> = std::iter::once(&written.text)
                .chain(&written.cells)
                .map(|text| marks::plain(text))
                .collect();
            assert_eq!(all.join("/").trim(), want, "{line}");
        }
    }
}
