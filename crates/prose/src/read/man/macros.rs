//! The man macros: headings, paragraphs, tags, fonts and links.

use super::{
    escape::Fonts,
    page::ManPageBuilder,
    source::{ManLine, ManSource},
    tbl,
};
use crate::read::{
    marks::{self, BOLD, END, ITALIC, LABEL, NO_SPACE, ROMAN, TARGET},
    tree::PageNode,
};

/// Macros that keep their standard meaning, even if a page redefines them.
pub(super) const MACROS: [&str; 47] = [
    "TH", "SH", "SS", "PP", "P", "LP", "HP", "TP", "TQ", "IP", "RS", "RE", "B", "I", "R", "SM",
    "SB", "BR", "BI", "RB", "RI", "IB", "IR", "EX", "EE", "UR", "UE", "MT", "ME", "MR", "SY", "YS",
    "OP", "URL", "MTO", "TS", "TE", "EQ", "EN", "nf", "fi", "br", "sp", "so", "in", "ti", "ft",
];
/// Requests that change only the layout of a page.
pub(super) const LAYOUT: [&str; 83] = [
    "PD", "DT", "AT", "UC", "IX", "HF", "PU", "ad", "af", "als", "bd", "bp", "break", "c2", "cc",
    "ce", "cf", "ch", "char", "chop", "color", "cs", "cu", "da", "defcolor", "device", "di", "ds",
    "dt", "ec", "em", "eo", "ev", "evc", "ex", "fam", "fc", "fchar", "fcolor", "fl", "ftr",
    "gcolor", "hc", "hcode", "hla", "hlm", "hpf", "hw", "hy", "hym", "hys", "it", "itc", "kern",
    "lc", "lf", "lg", "linetabs", "ll", "ls", "lt", "mk", "mso", "na", "ne", "nh", "nm", "nn",
    "ns", "nx", "output", "pc", "pl", "pm", "po", "ps", "rchar", "rr", "rs", "rt", "schar", "ss",
    "ta",
];
/// More layout requests.
pub(super) const MORE_LAYOUT: [&str; 22] = [
    "tag", "tc", "ti", "tl", "tm", "tm1", "tr", "trf", "trin", "trnt", "uf", "ul", "unformat",
    "vpt", "vs", "warn", "wh", "write", "hrule", "rj", "cflags", "shc",
];

/// Metadata from the head of a page.
#[derive(Debug, Default)]
pub(super) struct ManPageHeader {
    /// The name of the page.
    pub(super) name: String,
    /// The section of the manual.
    pub(super) section: String,
    /// The source of the page, often with a version.
    pub(super) source: String,
    /// The page that this one redirects to.
    pub(super) redirect: Option<String>,
}

/// The role of the next text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NextText {
    Text,
    Tag,
    Another,
    Heading(u8),
}

/// Whether a page may not define a macro of this name.
pub(super) fn is_standard_macro(name: &str) -> bool {
    MACROS.contains(&name)
}

/// Reads a page of man macros.
pub(super) fn read(text: &str) -> (ManPageHeader, Vec<PageNode>) {
    let mut reader = ManMacroReader {
        source: ManSource::new(text, is_standard_macro),
        page: ManPageBuilder::default(),
        fonts: Fonts::default(),
        head: ManPageHeader::default(),
        next: NextText::Text,
        held: String::new(),
        font: None,
    };
    while let Some(line) = reader.source.next() {
        match line {
            ManLine::Text(text) => reader.text(&text),
            ManLine::Macro(name, arguments) => reader.call(&name, &arguments),
        }
    }
    reader.settle();
    (reader.head, reader.page.finish())
}

struct ManMacroReader<'a> {
    source: ManSource<'a>,
    page: ManPageBuilder,
    fonts: Fonts,
    head: ManPageHeader,
    next: NextText,
    /// A tag or heading that continues on the next line.
    held: String,
    /// The font of only the next line.
    font: Option<char>,
}

impl ManMacroReader<'_> {
    fn text(&mut self, line: &str) {
        let text = self.fonts.text(line);
        if marks::plain(&text).trim().is_empty() && self.next == NextText::Text {
            // A line of only escapes is not blank.
            if line.trim().is_empty() {
                self.page.gap();
            } else {
                self.page.append(&text);
            }
            return;
        }
        let text = match self.font.take() {
            Some(font) => marks::font(font, &text),
            None => text,
        };
        if line.starts_with(' ') {
            self.page.line_break();
        }
        self.emit(&text);
    }

    /// Passes a text to the pending element.
    fn emit(&mut self, text: &str) {
        if self.next == NextText::Text {
            self.page.text(text);
            return;
        }
        if let Some(text) = text.strip_suffix(NO_SPACE) {
            self.held.push_str(text);
            return;
        }
        self.held.push_str(text);
        self.settle();
    }

    /// Ends the pending element.
    fn settle(&mut self) {
        let held = std::mem::take(&mut self.held);
        match std::mem::replace(&mut self.next, NextText::Text) {
            NextText::Text => {}
            NextText::Tag => self.page.item(&held),
            NextText::Another => self.page.also(&held),
            NextText::Heading(level) => self.page.heading(level, &held),
        }
    }

    fn call(&mut self, name: &str, arguments: &[String]) {
        let first = arguments.first().map(String::as_str).unwrap_or_default();
        match name {
            "B" | "SB" => self.one_font(BOLD, arguments),
            "I" => self.one_font(ITALIC, arguments),
            "R" | "SM" | "nop" => self.one_font(ROMAN, arguments),
            "BR" => self.two_fonts(BOLD, ROMAN, arguments),
            "BI" => self.two_fonts(BOLD, ITALIC, arguments),
            "RB" => self.two_fonts(ROMAN, BOLD, arguments),
            "RI" => self.two_fonts(ROMAN, ITALIC, arguments),
            "IB" => self.two_fonts(ITALIC, BOLD, arguments),
            "IR" => self.two_fonts(ITALIC, ROMAN, arguments),
            "OP" => self.option(arguments),
            "ft" => {
                let mark = self.fonts.change(first);
                if self.next == NextText::Text && !self.page.in_code() {
                    self.page.append(&mark.to_string());
                }
            }
            "UR" | "MT" | "UE" | "ME" | "MR" | "URL" | "MTO" => self.link(name, arguments),
            _ if LAYOUT.contains(&name) || MORE_LAYOUT.contains(&name) => {}
            _ => {
                self.settle();
                self.font = None;
                self.structure(name, arguments);
            }
        }
    }

    /// Macros that end what is open.
    fn structure(&mut self, name: &str, arguments: &[String]) {
        let first = arguments.first().map(String::as_str).unwrap_or_default();
        match name {
            "TH" => self.title(arguments),
            "SH" => self.heading(2, arguments),
            "SS" => self.heading(3, arguments),
            "PP" | "P" | "LP" | "HP" => {
                self.fonts = Fonts::default();
                self.page.paragraph();
            }
            "TP" => {
                self.fonts = Fonts::default();
                self.page.gap();
                self.next = NextText::Tag;
            }
            "TQ" => self.next = NextText::Another,
            "IP" => {
                self.fonts = Fonts::default();
                let tag = self.fonts.text(first);
                self.fonts = Fonts::default();
                if marks::plain(&tag).trim().is_empty() {
                    self.page.gap();
                } else {
                    self.page.item(&tag);
                }
            }
            "RS" => self.page.indent(),
            "RE" => self.page.outdent(),
            "nf" | "EX" => self.page.code_start(),
            "fi" | "EE" => self.page.code_end(),
            "br" | "ti" | "in" | "YS" => self.page.line_break(),
            "sp" => self.page.gap(),
            "SY" => {
                self.page.line_break();
                let name = self.words(arguments);
                self.page.text(&marks::font(BOLD, &name));
            }
            "so" => self.head.redirect = Some(first.to_owned()),
            "TS" => {
                self.page.gap();
                let lines = self.source.until(".TE");
                for node in tbl::read(&lines) {
                    self.page.push(node);
                }
            }
            "EQ" => {
                let lines = self.source.until(".EN");
                let kept = lines.iter().filter(|line| {
                    !["delim", "define", "gsize", "gfont"].iter().any(|word| line.starts_with(word))
                });
                for line in kept {
                    let text = self.fonts.text(&line.replace(['"', '{', '}', '~'], " "));
                    self.page.text(&text);
                }
            }
            _ if !arguments.is_empty() => {
                let text = self.words(arguments);
                self.emit(&text);
            }
            _ => {}
        }
    }

    fn title(&mut self, arguments: &[String]) {
        let mut texts = arguments.iter().map(|text| marks::plain(&Fonts::default().text(text)));
        self.head.name = texts.next().unwrap_or_default();
        self.head.section = texts.next().unwrap_or_default();
        self.head.source = texts.nth(1).unwrap_or_default();
        self.page.all_wanted = self.head.section.starts_with('5');
    }

    fn heading(&mut self, level: u8, arguments: &[String]) {
        self.page.code_end();
        self.fonts = Fonts::default();
        if arguments.is_empty() {
            self.next = NextText::Heading(level);
            return;
        }
        let text = self.words(arguments);
        self.fonts = Fonts::default();
        self.page.heading(level, &text);
    }

    fn words(&mut self, arguments: &[String]) -> String {
        let texts: Vec<String> = arguments.iter().map(|text| self.fonts.text(text)).collect();
        texts.join(" ")
    }

    fn one_font(&mut self, font: char, arguments: &[String]) {
        if arguments.is_empty() {
            self.font = Some(font);
            return;
        }
        let texts: Vec<String> = arguments.iter().map(|text| in_font(font, text)).collect();
        self.emit_in_font(&texts.join(" "));
    }

    fn two_fonts(&mut self, odd: char, even: char, arguments: &[String]) {
        let fonts = [odd, even].into_iter().cycle();
        let texts: Vec<String> =
            arguments.iter().zip(fonts).map(|(text, font)| in_font(font, text)).collect();
        self.emit_in_font(&texts.concat());
    }

    fn emit_in_font(&mut self, text: &str) {
        self.font = None;
        if marks::plain(text).trim().is_empty() && self.next == NextText::Text {
            return;
        }
        // A continued line ends with a marker.
        let joined = text.contains(NO_SPACE);
        let text = format!("{}{ROMAN}", text.replace(NO_SPACE, ""));
        self.emit(&if joined { format!("{text}{NO_SPACE}") } else { text });
    }

    fn option(&mut self, arguments: &[String]) {
        let mut texts = arguments.iter();
        let name = texts.next().map(|text| in_font(BOLD, text)).unwrap_or_default();
        let value = texts.next().map(|text| format!(" {}", in_font(ITALIC, text)));
        self.page.text(&format!("[{name}{}]", value.unwrap_or_default()));
    }

    fn link(&mut self, name: &str, arguments: &[String]) {
        let texts: Vec<String> =
            arguments.iter().map(|text| marks::plain(&Fonts::default().text(text))).collect();
        let [first, second, third] =
            [0, 1, 2].map(|at| texts.get(at).map(String::as_str).unwrap_or_default());
        if self.page.in_code() || self.next != NextText::Text {
            let text =
                if name == "MR" { format!("{first}({second}){third}") } else { first.into() };
            self.emit(&text);
            return;
        }
        match name {
            "UR" => self.page.text(&format!("{TARGET}{first}{LABEL}")),
            "MT" => self.page.text(&format!("{TARGET}mailto:{first}{LABEL}")),
            "MR" => {
                let link = marks::link(&format!("{first}.{second}"), &format!("{first}({second})"));
                self.page.text(&format!("{link}{third}"));
            }
            "URL" => self.page.text(&format!("{}{third}", marks::link(first, second))),
            "MTO" => {
                let label = if second.is_empty() { first } else { second };
                let link = marks::link(&format!("mailto:{first}"), label);
                self.page.text(&format!("{link}{third}"));
            }
            _ => {
                if self.page.awaits_label() {
                    self.page.label_with_target();
                }
                self.page.append(&format!("{END}{first}"));
            }
        }
    }
}

fn in_font(font: char, text: &str) -> String {
    marks::font(font, &Fonts::default().text(text))
}
