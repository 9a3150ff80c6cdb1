//! PDF: the text of pages as sections, with the page that each block begins on.
//!
//! A crate parses the file and its fonts; this module derives lines, paragraphs and headings.

mod blocks;
mod bookmarks;
mod bounds;
mod glyphs;
mod lines;
mod sheet;

use super::package::{find, text_of};
use crate::{
    document::{ProseDocument, squeeze},
    format::Unreadable,
};
use blocks::PdfBlockWriter;
use glyphs::Typist;
use hayro_syntax::{
    DecryptionError, LoadPdfError, Pdf,
    object::{Dict, Stream},
};
use memchr::memmem;
use sheet::{PdfLineRole, PdfPage, Usual};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Maximum pages read; further ones are reported.
const MAX_PAGES: usize = 20_000;
/// Maximum offset of the PDF header.
const MAX_HEADER_OFFSET: usize = 1 << 10;
/// Maximum page ranges listed in a problem.
const MAX_LISTED_RANGES: usize = 20;
const FORMAT_NAME: &str = "PDF";

/// Reads a document.
pub(crate) fn read(
    path: &str,
    bytes: &[u8],
    stopped: &dyn Fn() -> bool,
) -> Result<ProseDocument, Unreadable> {
    if bytes.is_empty() {
        return Err(Unreadable::Empty);
    }
    let start = bytes.get(..bytes.len().min(MAX_HEADER_OFFSET)).unwrap_or_default();
    if memmem::find(start, b"%PDF-").is_none() {
        return Err(damaged("it has no PDF header"));
    }
    // A parser panic fails one document, not the server.
    catch_unwind(AssertUnwindSafe(|| parse_document(path, bytes, stopped)))
        .unwrap_or_else(|_| Err(damaged("the PDF parser failed")))
}

fn damaged(reason: &str) -> Unreadable {
    Unreadable::Damaged { format: FORMAT_NAME, reason: reason.to_owned() }
}

fn parse_document(
    path: &str,
    bytes: &[u8],
    stopped: &dyn Fn() -> bool,
) -> Result<ProseDocument, Unreadable> {
    bounds::check(bytes)?;
    // The parser tries the empty password by itself.
    let pdf = Pdf::new(bytes.to_vec()).map_err(|error| match error {
        LoadPdfError::Decryption(
            DecryptionError::PasswordProtected | DecryptionError::UnsupportedAlgorithm,
        ) => Unreadable::Encrypted,
        LoadPdfError::Decryption(_) => damaged("its encryption is broken"),
        LoadPdfError::Invalid => damaged("it has no pages; it may be truncated"),
    })?;
    if memmem::find(bytes, b"/Encrypt").is_some() {
        bounds::check_encrypted(&pdf, bytes)?;
    }
    let pages = pdf.pages().len();
    let mut reading = PdfPages::default();
    let mut typist = Typist::new();
    for (page, number) in pdf.pages().iter().zip(1..).take(MAX_PAGES) {
        if stopped() {
            return Err(Unreadable::Stopped);
        }
        // A parser panic is a problem of only that page.
        let letters = catch_unwind(AssertUnwindSafe(|| typist.letters(page)));
        match letters {
            Ok(letters) => reading.add(number, letters?),
            Err(_) => reading.broken.push(number),
        }
    }
    if pages == 0 {
        return Err(damaged("it has no pages"));
    }
    if reading.sheets.iter().all(|sheet| sheet.lines.is_empty()) {
        return Err(Unreadable::Scanned { pages });
    }
    let mut sheets = std::mem::take(&mut reading.sheets);
    let usual = Usual::of(&sheets);
    sheet::drop_boilerplate(&mut sheets, &usual);
    sheet::mark_headings(&mut sheets, &usual, &bookmarks::bookmarks(&pdf));
    let mut blocks = PdfBlockWriter::new(&usual);
    for sheet in &sheets {
        blocks.page(sheet);
    }
    blocks.end();
    let title = title(&pdf).or_else(|| largest(&sheets));
    let mut document = blocks.writer.finish(title, path);
    document.problems.extend(reading.problems(pages));
    Ok(document)
}

/// The pages read, and their problems.
#[derive(Default)]
struct PdfPages {
    sheets: Vec<PdfPage>,
    blank: Vec<u32>,
    broken: Vec<u32>,
    cut: Vec<u32>,
    unknown: Vec<u32>,
}

impl PdfPages {
    fn add(&mut self, number: u32, letters: glyphs::PdfPageText) {
        let glyphs::PdfPageText { glyphs, unknown, cut, pictures } = letters;
        if unknown > glyphs.len() / 10 {
            self.unknown.push(number);
        } else if glyphs.is_empty() && pictures {
            self.blank.push(number);
        }
        if cut {
            self.cut.push(number);
        }
        let mut lines = lines::lines(glyphs);
        lines.retain(|line| !line.text.trim().is_empty());
        let marks = vec![PdfLineRole::Text; lines.len()];
        self.sheets.push(PdfPage { number, lines, marks, unseen: Vec::new() });
    }

    fn problems(&self, pages: usize) -> Vec<String> {
        let all = [
            (&self.blank, "images without text; run OCR on the file"),
            (&self.broken, "unreadable: the parser failed"),
            (&self.cut, "too much content; only the beginning is read"),
            (&self.unknown, "characters without a Unicode mapping; they are skipped"),
        ];
        let present = all.iter().filter(|(numbers, _)| !numbers.is_empty());
        let mut problems: Vec<String> =
            present.map(|(numbers, what)| format!("on page {}: {what}", ranges(numbers))).collect();
        if pages > MAX_PAGES {
            problems.push(format!("only the first {MAX_PAGES} of its {pages} pages are read"));
        }
        problems
    }
}

/// Numbers in order, as `1-3, 7`.
fn ranges(numbers: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => ranges.push((*number, *number)),
        }
    }
    let more = ranges.len().saturating_sub(MAX_LISTED_RANGES);
    let written = ranges.iter().take(MAX_LISTED_RANGES).map(|(first, last)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    });
    let mut text = written.collect::<Vec<_>>().join(", ");
    if more > 0 {
        text = format!("{text} and {more} more");
    }
    text
}

/// The title in the metadata, unless it is a file name.
fn title(pdf: &Pdf) -> Option<String> {
    let info = pdf.metadata().title.as_deref().map(bookmarks::text);
    let xmp = || {
        let root = pdf.xref().get::<Dict<'_>>(pdf.xref().root_id())?;
        let data = root.get::<Stream<'_>>(b"Metadata")?.decoded_data().ok()?;
        let text = String::from_utf8_lossy(&data);
        let xml = docent_xml::parse(text.trim_start_matches('\u{feff}').trim()).ok()?;
        Some(text_of(find(xml.root_element(), "title")?))
    };
    let good = |title: String| {
        let title = squeeze(&title);
        let lower = title.to_lowercase();
        let ends = [".doc", ".docx", ".dvi", ".tex", ".indd", ".pdf", ".odt", ".fm", ".qxd"];
        let file = ends.iter().any(|end| lower.ends_with(end))
            || lower.starts_with("microsoft word")
            || lower.starts_with("untitled");
        (!title.is_empty() && !file).then_some(title)
    };
    info.and_then(good).or_else(|| xmp().and_then(good))
}

/// The largest line of the first page.
fn largest(sheets: &[PdfPage]) -> Option<String> {
    let first = sheets.first()?;
    let largest = first.lines.iter().max_by(|a, b| a.size.total_cmp(&b.size))?;
    let same = first.lines.iter().skip_while(|line| line.size < largest.size);
    let lines = same.take_while(|line| line.size >= largest.size).take(3);
    Some(squeeze(&lines.map(|line| line.text.as_str()).collect::<Vec<_>>().join(" ")))
}
