//! The mdoc macros: sections, lists, displays and references.

use super::{
    escape::Fonts,
    macros::{LAYOUT, MORE_LAYOUT, ManPageHeader},
    mdoc_line::{MdocLineContext, MdocLineText, MdocLineWriter, is_macro},
    page::ManPageBuilder,
    source::{ManLine, ManSource},
    tbl,
};
use crate::read::{
    marks::{self, NO_SPACE},
    tree::{self, ItemMarker, PageNode},
};

/// How many lists may be open.
const MAX_OPEN_LISTS: usize = 1_000;
/// Macros that are not called within a line.
const BLOCKS: [&str; 42] = [
    "Dd", "Dt", "Os", "Sh", "Ss", "Pp", "Lp", "Bl", "It", "El", "Bd", "Ed", "D1", "Dl", "Nd", "Rs",
    "Re", "Bf", "Ef", "Bk", "Ek", "Sm", "Ex", "Rv", "Fo", "Fc", "Bt", "Ud", "Db", "Hf", "%A", "%B",
    "%C", "%D", "%I", "%J", "%N", "%O", "%P", "%Q", "%R", "%T",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MdocListKind {
    Bullet,
    Number(u32),
    Tag,
    Column,
}

/// Whether a page may not define a macro of this name.
fn is_standard_macro(name: &str) -> bool {
    is_macro(name) || BLOCKS.contains(&name) || matches!(name, "%U" | "%V" | "TS" | "br" | "sp")
}

/// Reads a page of mdoc macros.
pub(super) fn read(text: &str) -> (ManPageHeader, Vec<PageNode>) {
    let mut reader = MdocReader {
        source: ManSource::new(text, is_standard_macro),
        page: ManPageBuilder::default(),
        fonts: Fonts::default(),
        head: ManPageHeader::default(),
        name: String::new(),
        lists: Vec::new(),
        rows: Vec::new(),
        tag: None,
        reference: None,
        function: None,
        setting: MdocLineContext { spaced: true, synopsis: false },
    };
    while let Some(line) = reader.source.next() {
        match line {
            ManLine::Text(text) => reader.text(&text),
            ManLine::Macro(name, arguments) => reader.call(&name, arguments),
        }
    }
    reader.end_tag();
    reader.end_table();
    (reader.head, reader.page.finish())
}

struct MdocReader<'a> {
    source: ManSource<'a>,
    page: ManPageBuilder,
    fonts: Fonts,
    head: ManPageHeader,
    /// The subject of the page, from its first `.Nm`.
    name: String,
    lists: Vec<MdocListKind>,
    /// Rows of the open table.
    rows: Vec<Vec<String>>,
    /// A tag that continues over several lines.
    tag: Option<String>,
    /// Parts of a reference to a book.
    reference: Option<Vec<String>>,
    /// A function whose arguments are on separate lines.
    function: Option<(String, Vec<String>)>,
    setting: MdocLineContext,
}

impl MdocReader<'_> {
    fn text(&mut self, line: &str) {
        if line.trim().is_empty() {
            self.page.gap();
            return;
        }
        let text = self.fonts.text(line);
        if line.starts_with(' ') && self.tag.is_none() {
            self.page.line_break();
        }
        self.emit(&text, false);
    }

    fn emit(&mut self, text: &str, glued: bool) {
        let cell = match self.lists.last() {
            Some(MdocListKind::Column) => self.rows.last_mut().and_then(|row| row.last_mut()),
            _ => None,
        };
        if let Some(buffer) = self.tag.as_mut().or(cell) {
            let joined = buffer.ends_with(NO_SPACE);
            if joined {
                buffer.pop();
            } else if !glued && !buffer.is_empty() {
                buffer.push(' ');
            }
            buffer.push_str(text);
        } else if glued {
            self.page.append(text);
        } else {
            self.page.text(text);
        }
    }

    fn write_line(&self, words: &[String]) -> MdocLineText {
        MdocLineWriter::new(&self.name, self.setting).line(words)
    }

    fn call(&mut self, name: &str, arguments: Vec<String>) {
        match name {
            "Xc" => {
                let written = self.write_line(&arguments);
                self.emit(&written.text, true);
                self.end_tag();
            }
            _ if self.tag.is_some() && is_macro(name) => self.inline(name, arguments),
            _ if LAYOUT.contains(&name) || MORE_LAYOUT.contains(&name) => {}
            "Dd" | "Hf" | "Bf" | "Ef" | "Bk" | "Ek" | "Db" | "ft" | "in" => {}
            "Dt" | "Os" | "Sh" | "Ss" => self.section(name, &arguments),
            "Pp" | "Lp" | "sp" | "PP" | "P" => self.page.gap(),
            "br" => self.page.line_break(),
            "Bl" | "It" | "El" => self.list(name, &arguments),
            "Bd" | "Ed" | "D1" | "Dl" | "nf" | "fi" => self.display(name, &arguments),
            "Nd" => {
                let written = self.write_line(&arguments);
                self.emit(&format!("- {}", written.text), false);
            }
            "Sm" => {
                self.setting.spaced = match arguments.first().map(String::as_str) {
                    Some("off") => false,
                    Some("on") => true,
                    _ => !self.setting.spaced,
                };
            }
            "Rs" => self.reference = Some(Vec::new()),
            "Re" => {
                let parts = self.reference.take().unwrap_or_default();
                if !parts.is_empty() {
                    self.emit(&format!("{}.", parts.join(", ")), false);
                }
            }
            "Fo" | "Fc" => self.function(name, &arguments),
            "Fa" if self.function.is_some() => {
                let texts = arguments.iter().map(|text| marks::plain(&self.fonts.text(text)));
                let texts: Vec<String> = texts.collect();
                if let Some((_, known)) = &mut self.function {
                    known.extend(texts);
                }
            }
            "Ex" | "Rv" | "Bt" | "Ud" => self.phrase(name, &arguments),
            "so" => self.head.redirect = arguments.first().cloned(),
            "TS" => {
                self.page.gap();
                let lines = self.source.until(".TE");
                for node in tbl::read(&lines) {
                    self.page.push(node);
                }
            }
            name if name.starts_with('%') => {
                let written = self.write_line(&arguments);
                match &mut self.reference {
                    Some(parts) if parts.len() < 100 => parts.push(marks::plain(&written.text)),
                    _ => self.emit(&written.text, false),
                }
            }
            _ => self.inline(name, arguments),
        }
    }

    /// A line of macros; for an unknown macro, only its words.
    fn inline(&mut self, name: &str, mut arguments: Vec<String>) {
        if name == "Nm" {
            if self.name.is_empty()
                && let Some(first) = arguments.first()
            {
                self.name = marks::plain(&self.fonts.text(first));
            }
            if self.setting.synopsis {
                self.page.line_break();
            }
        }
        if self.setting.synopsis && matches!(name, "In" | "Ft" | "Fn" | "Fd" | "Vt") {
            self.page.line_break();
        }
        if is_macro(name) {
            arguments.insert(0, name.to_owned());
        }
        let written = self.write_line(&arguments);
        if !written.text.is_empty() {
            self.emit(&written.text, written.glued);
        }
        if let (Some(MdocListKind::Column), Some(row)) = (self.lists.last(), self.rows.last_mut()) {
            row.extend(written.cells);
        }
    }

    fn section(&mut self, name: &str, arguments: &[String]) {
        match name {
            "Dt" => {
                self.head.name = arguments.first().cloned().unwrap_or_default();
                self.head.section = arguments.get(1).cloned().unwrap_or_default();
                self.page.all_wanted = self.head.section.starts_with('5');
            }
            "Os" => self.head.source = arguments.join(" "),
            _ => {
                self.end_tag();
                self.end_table();
                self.lists.clear();
                let written = self.write_line(arguments);
                let level = if name == "Sh" { 2 } else { 3 };
                if level == 2 {
                    self.setting.synopsis = written.text.eq_ignore_ascii_case("SYNOPSIS");
                }
                self.page.heading(level, &written.text);
            }
        }
    }

    fn list(&mut self, name: &str, arguments: &[String]) {
        match name {
            "Bl" => {
                if self.lists.len() >= MAX_OPEN_LISTS {
                    return;
                }
                let has = |what: &str| arguments.iter().any(|argument| argument == what);
                let kind = if has("-column") {
                    MdocListKind::Column
                } else if has("-enum") {
                    MdocListKind::Number(0)
                } else if ["-bullet", "-dash", "-hyphen", "-item"].into_iter().any(has) {
                    MdocListKind::Bullet
                } else {
                    MdocListKind::Tag
                };
                self.end_table();
                self.page.group();
                self.lists.push(kind);
            }
            "El" => {
                self.end_tag();
                self.end_table();
                if self.lists.pop().is_some() {
                    self.page.outdent();
                }
            }
            _ => self.list_item(arguments),
        }
    }

    fn list_item(&mut self, arguments: &[String]) {
        self.end_tag();
        match self.lists.last_mut() {
            Some(MdocListKind::Bullet) => self.page.open(ItemMarker::Bullet),
            Some(MdocListKind::Number(number)) => {
                *number += 1;
                self.page.open(ItemMarker::Number(*number));
            }
            Some(MdocListKind::Column) => {
                let words: Vec<String> =
                    arguments.iter().flat_map(|word| split_cells(word)).collect();
                let written = self.write_line(&words);
                let mut row = vec![written.text];
                row.extend(written.cells);
                self.rows.push(row);
            }
            Some(MdocListKind::Tag) | None => {
                let goes_on = arguments.iter().any(|word| word == "Xo")
                    && !arguments.iter().any(|word| word == "Xc");
                self.tag = Some(self.write_line(arguments).text);
                if !goes_on {
                    self.end_tag();
                }
            }
        }
    }

    fn end_tag(&mut self) {
        if let Some(tag) = self.tag.take() {
            self.page.item(&tag);
        }
    }

    fn end_table(&mut self) {
        if self.rows.is_empty() {
            return;
        }
        self.page.gap();
        let rows = std::mem::take(&mut self.rows);
        self.page.push(PageNode::Table(tree::table(&rows, false)));
    }

    fn display(&mut self, name: &str, arguments: &[String]) {
        match name {
            "Bd" if arguments.iter().any(|what| what == "-literal" || what == "-unfilled") => {
                self.page.code_start();
            }
            "nf" => self.page.code_start(),
            "Bd" => self.page.gap(),
            "D1" | "Dl" => {
                let written = self.write_line(arguments);
                self.page.code_start();
                self.page.text(&written.text);
                self.page.code_end();
            }
            _ => {
                self.page.code_end();
                self.page.gap();
            }
        }
    }

    fn function(&mut self, name: &str, arguments: &[String]) {
        if name == "Fo" {
            let name = arguments.first().cloned().unwrap_or_default();
            self.function = Some((name, Vec::new()));
            return;
        }
        if let Some((name, known)) = self.function.take() {
            if self.setting.synopsis {
                self.page.line_break();
            }
            let end = if self.setting.synopsis { ";" } else { "" };
            self.emit(&format!("{name}({}){end}", known.join(", ")), false);
            let after = self.write_line(arguments);
            self.emit(&after.text, true);
        }
    }

    fn phrase(&mut self, name: &str, arguments: &[String]) {
        let names: Vec<&str> =
            arguments.iter().map(String::as_str).filter(|word| *word != "-std").collect();
        let names = if names.is_empty() { self.name.clone() } else { names.join(", ") };
        let text = match name {
            "Ex" => format!("The {names} utility exits 0 on success, and >0 if an error occurs."),
            "Rv" => format!(
                "The {names}() function returns the value 0 if successful; otherwise the value -1 is returned and the global variable errno is set to indicate the error."
            ),
            "Bt" => "is currently in beta test.".to_owned(),
            _ => "currently under development.".to_owned(),
        };
        self.emit(&text, false);
    }
}

/// Splits a word at tabs, which may also separate cells.
fn split_cells(word: &str) -> Vec<String> {
    let mut cells = Vec::new();
    for (at, part) in word.split('\t').enumerate() {
        if at > 0 {
            cells.push("Ta".to_owned());
        }
        if !part.is_empty() {
            cells.push(part.to_owned());
        }
    }
    cells
}
