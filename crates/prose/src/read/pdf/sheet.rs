//! Properties derived from the lines of all pages: the usual size, repeated lines, and headings.

use super::{bookmarks::Bookmark, lines::PdfLine};
use std::collections::{HashMap, HashSet};

/// Minimum bookmarks for an outline to be used.
const MIN_BOOKMARKS: usize = 3;
/// Maximum lines of one heading.
const MAX_HEADING_LINES: usize = 4;
/// Maximum bytes of a heading.
const MAX_HEADING_BYTES: usize = 160;
/// Maximum words kept to recognize hyphenated ones.
const MAX_KNOWN_WORDS: usize = 500_000;

/// The role of a line on its page.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum PdfLineRole {
    #[default]
    Text,
    /// Repeated on other pages, or written elsewhere.
    Skip,
    /// It heads a section.
    Heading(u8, String),
}

/// A page.
#[derive(Debug, Default)]
pub(super) struct PdfPage {
    /// From 1.
    pub(super) number: u32,
    pub(super) lines: Vec<PdfLine>,
    /// One for each line.
    pub(super) marks: Vec<PdfLineRole>,
    /// Headings without a line of their own, with the index of the line they precede.
    pub(super) unseen: Vec<(usize, u8, String)>,
}

/// Usual properties of a document.
#[derive(Debug, Default)]
pub(super) struct Usual {
    /// The size of most of its text.
    pub(super) size: f64,
    /// The line spacing, in font sizes.
    pub(super) spacing: f64,
    /// Words seen unbroken on a line, lowercase.
    pub(super) words: HashSet<String>,
}

impl Usual {
    pub(super) fn of(sheets: &[PdfPage]) -> Self {
        let (mut sizes, mut words) = (HashMap::new(), HashSet::new());
        let mut gaps = Vec::new();
        for sheet in sheets {
            for line in &sheet.lines {
                *sizes.entry(tenths(line.size)).or_insert(0) += line.text.len();
                let mut all: Vec<&str> = line.text.split_whitespace().collect();
                all.pop();
                let room = MAX_KNOWN_WORDS.saturating_sub(words.len());
                words.extend(all.into_iter().take(room).map(|word| bare(word).to_lowercase()));
            }
            for [above, below] in sheet.lines.array_windows() {
                let gap = (above.height - below.height) / above.size.max(1.0);
                if (0.8..2.5).contains(&gap) && (above.size - below.size).abs() < 0.5 {
                    gaps.push(gap);
                }
            }
        }
        let most = sizes.into_iter().max_by_key(|(size, letters)| (*letters, *size));
        let size = most.map_or(10.0, |(size, _)| f64::from(size) / 10.0);
        gaps.sort_by(f64::total_cmp);
        let spacing = gaps.get(gaps.len() / 2).copied().unwrap_or(1.2);
        Self { size, spacing, words }
    }
}

/// A word without surrounding punctuation.
pub(super) fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sizes are clamped to what a page can show"
)]
fn tenths(size: f64) -> u32 {
    (size.clamp(0.0, 10_000.0) * 10.0).round() as u32
}

/// Skips repeated headers and footers, page numbers, and lines of tables of contents.
pub(super) fn drop_boilerplate(sheets: &mut [PdfPage], usual: &Usual) {
    let mut texts: HashMap<(bool, String), usize> = HashMap::new();
    let mut places: HashMap<(bool, u32), usize> = HashMap::new();
    let mut numbers: HashMap<u32, usize> = HashMap::new();
    for sheet in sheets.iter() {
        for edge in edges(sheet, usual) {
            *texts.entry((edge.top, edge.key)).or_default() += 1;
            if edge.apart {
                *places.entry((edge.top, edge.place)).or_default() += 1;
            }
            if edge.number {
                *numbers.entry(edge.place).or_default() += 1;
            }
        }
    }
    let pages = sheets.len();
    for sheet in sheets.iter_mut() {
        for edge in edges(sheet, usual) {
            let repeated = texts.get(&(edge.top, edge.key)).is_some_and(|count| *count >= 3);
            let same_place = places.get(&(edge.top, edge.place));
            let head =
                edge.apart && pages >= 5 && same_place.is_some_and(|count| count * 2 > pages);
            let number = edge.number && numbers.get(&edge.place).is_some_and(|count| *count >= 2);
            if (repeated || head || number)
                && let Some(mark) = sheet.marks.get_mut(edge.line)
            {
                *mark = PdfLineRole::Skip;
            }
        }
        for (line, mark) in sheet.lines.iter().zip(&mut sheet.marks) {
            if is_leader(&line.text) {
                *mark = PdfLineRole::Skip;
            }
        }
    }
}

/// A line at the top or the bottom of a page.
struct PageEdgeLine {
    line: usize,
    top: bool,
    key: String,
    place: u32,
    /// Whether its distance to the text exceeds the line spacing.
    apart: bool,
    number: bool,
}

fn edges(sheet: &PdfPage, usual: &Usual) -> Vec<PageEdgeLine> {
    let mut order: Vec<usize> = (0..sheet.lines.len()).collect();
    let height = |at: &usize| sheet.lines.get(*at).map_or(0.0, |line| line.height);
    order.sort_by(|a, b| height(b).total_cmp(&height(a)));
    let mut edges = Vec::new();
    for top in [true, false] {
        if !top {
            order.reverse();
        }
        for (nth, pair) in order.windows(2).take(2).enumerate() {
            let [at, next] = pair else { continue };
            let Some(line) = sheet.lines.get(*at) else { continue };
            if line.size > usual.size * 1.3 {
                break;
            }
            let gap = (height(at) - height(next)).abs();
            let apart = gap > usual.spacing * usual.size * 1.5 || gap < 0.1;
            // The second line from the edge may be the head of a continued table.
            if nth > 0 && !apart {
                break;
            }
            edges.push(PageEdgeLine {
                line: *at,
                top,
                key: key(&line.text),
                place: tenths(line.height.abs() / 30.0),
                apart,
                number: is_page_number(&line.text),
            });
            if !apart {
                break;
            }
        }
    }
    edges
}

/// A key for repeated lines, with numbers normalized.
fn key(text: &str) -> String {
    let mut key = String::new();
    for c in text.chars().filter(|c| !c.is_whitespace()) {
        match c {
            c if c.is_ascii_digit() => {
                if !key.ends_with('#') {
                    key.push('#');
                }
            }
            c => key.push(c),
        }
    }
    key
}

fn is_page_number(text: &str) -> bool {
    let text = text.trim().trim_matches(['-', '–', '—', '[', ']', ' ']).to_lowercase();
    let text = text.strip_prefix("page").unwrap_or(&text).trim();
    let parts = text.split(|c: char| c == '/' || c.is_whitespace());
    let mut parts = parts.filter(|part| !matches!(*part, "" | "of"));
    let roman = |part: &str| part.len() < 9 && part.chars().all(|c| "ivxlc".contains(c));
    let number =
        |part: &str| part.len() < 6 && part.chars().all(|c| c.is_ascii_digit()) || roman(part);
    !text.is_empty() && parts.clone().count() <= 2 && parts.all(number)
}

/// Whether a line leads from a heading to a page by dots.
fn is_leader(text: &str) -> bool {
    let ends = text.trim_end().ends_with(|c: char| c.is_ascii_digit() || "ivxlc".contains(c));
    ends && (text.contains(". . . . ") || text.contains("......") || text.contains(" . . . "))
}

/// Marks headings: by the outline if there is one, or else by appearance.
pub(super) fn mark_headings(sheets: &mut [PdfPage], usual: &Usual, bookmarks: &[Bookmark]) {
    if bookmarks.len() >= MIN_BOOKMARKS {
        for bookmark in bookmarks {
            if let Some(sheet) = sheets.get_mut(bookmark.page) {
                by_bookmark(sheet, bookmark);
            }
        }
    } else {
        by_looks(sheets, usual);
    }
}

fn by_bookmark(sheet: &mut PdfPage, bookmark: &Bookmark) {
    let wanted = letters(&bookmark.title);
    let title = bookmark.title.split_whitespace().collect::<Vec<_>>().join(" ");
    let level = bookmark.level.min(6);
    if let Some((at, count)) = find_heading(sheet, &wanted, bookmark.height) {
        // The page has the number that other pages refer to, where the outline leaves it out.
        let lines = sheet.lines.iter().skip(at).take(count).map(|line| line.text.trim());
        let said = lines.collect::<Vec<_>>().join(" ");
        let title = if letters(&said).len() > wanted.len() { said } else { title };
        for (n, mark) in sheet.marks.iter_mut().skip(at).take(count).enumerate() {
            let heading = || PdfLineRole::Heading(level, title.clone());
            *mark = if n == 0 { heading() } else { PdfLineRole::Skip };
        }
        // `Chapter 3` above the heading says nothing more.
        let above = at.checked_sub(1);
        if let Some((above, line)) = above.and_then(|at| Some((at, sheet.lines.get(at)?)))
            && is_chapter(&line.text)
            && let Some(mark) = sheet.marks.get_mut(above)
        {
            *mark = PdfLineRole::Skip;
        }
        return;
    }
    let below = |line: &PdfLine| bookmark.height.is_none_or(|height| line.height < height);
    let at = sheet.lines.iter().position(below).unwrap_or(sheet.lines.len());
    sheet.unseen.push((at, level, title));
}

fn is_chapter(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default().to_lowercase();
    matches!(first.as_str(), "chapter" | "part" | "appendix") && words.count() == 1
}

/// The lines that say what a bookmark says; of several, the ones nearest to where it leads, or else the largest.
fn find_heading(sheet: &PdfPage, wanted: &str, height: Option<f64>) -> Option<(usize, usize)> {
    if wanted.is_empty() {
        return None;
    }
    let mut best: Option<(f64, usize, usize)> = None;
    for start in 0..sheet.lines.len() {
        let mut said = String::new();
        for (count, line) in sheet.lines.iter().skip(start).take(MAX_HEADING_LINES).enumerate() {
            if sheet
                .marks
                .get(start + count)
                .is_none_or(|mark| matches!(mark, PdfLineRole::Heading(..)))
            {
                break;
            }
            said.push_str(&letters(&line.text));
            if said.len() > wanted.len() + 24 {
                break;
            }
            if !says(&said, wanted) {
                continue;
            }
            let first = sheet.lines.get(start)?;
            let worth = match height {
                // Bookmarks lead to somewhat above their heading.
                Some(height) => -(first.height + first.size - height).abs(),
                None => first.size,
            };
            if best.is_none_or(|(known, _, _)| worth > known) {
                best = Some((worth, start, count + 1));
            }
            break;
        }
    }
    best.map(|(_, start, count)| (start, count))
}

/// Whether two texts are the same but for a number before one of them.
fn says(said: &str, wanted: &str) -> bool {
    let number = |prefix: &str| {
        let rest = prefix.trim_start_matches("chapter").trim_start_matches("appendix");
        let rest = rest.trim_start_matches("part").trim_start_matches("section");
        rest.len() <= 8 && rest.chars().filter(char::is_ascii_alphabetic).count() <= 4
    };
    said == wanted
        || said.strip_suffix(wanted).is_some_and(number)
        || !said.is_empty() && wanted.strip_suffix(said).is_some_and(number)
}

fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The heading score of a line, if it looks like one: its size, larger if bold.
fn heading_size(line: &PdfLine, above: Option<&PdfLine>, usual: &Usual) -> Option<u32> {
    let text = line.text.trim();
    let worded = text.chars().filter(|c| c.is_alphabetic()).count() >= 2;
    let cells = line.cells > 1 && !text.starts_with(|c: char| c.is_ascii_digit());
    if !worded || cells || line.mono || text.len() > MAX_HEADING_BYTES {
        return None;
    }
    if line.size > usual.size * 1.12 {
        return Some(tenths(line.size));
    }
    let apart = above.is_none_or(|above| {
        let gap = above.height - line.height;
        gap < 0.0 || gap > usual.spacing * usual.size * 1.3
    });
    let short = text.split_whitespace().count() <= 12;
    let ends = text.ends_with(['.', ',', ';', ':']);
    let same = line.size > usual.size * 0.97;
    (line.bold && apart && short && !ends && same).then(|| tenths(usual.size))
}

fn by_looks(sheets: &mut [PdfPage], usual: &Usual) {
    let mut found: Vec<(usize, usize, usize, u32)> = Vec::new();
    let (mut sizes, mut letters) = (HashSet::new(), (0, 0));
    for (page, sheet) in sheets.iter().enumerate() {
        let mut last: Option<&PdfLine> = None;
        for (at, line) in sheet.lines.iter().enumerate() {
            if sheet.marks.get(at) == Some(&PdfLineRole::Skip) {
                continue;
            }
            letters.0 += line.text.len();
            let look = heading_size(line, last, usual);
            let before = found.last_mut().filter(|(same, first, count, size)| {
                let near = last.is_some_and(|last| last.height - line.height < line.size * 1.6);
                *same == page
                    && first + count == at
                    && Some(*size) == look
                    && near
                    && *count < MAX_HEADING_LINES
            });
            match (look, before) {
                (Some(_), Some((_, _, count, _))) => *count += 1,
                (Some(size), None) => {
                    found.push((page, at, 1, size));
                    sizes.insert(size);
                }
                (None, _) => {}
            }
            letters.1 += look.map_or(0, |_| line.text.len());
            last = Some(line);
        }
    }
    // If too many lines look like headings, appearance is unreliable: slides, posters, forms.
    if letters.1 * 2 > letters.0 {
        return;
    }
    let mut sizes: Vec<u32> = sizes.into_iter().collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    for (page, at, count, size) in found {
        let rank = sizes.iter().position(|known| *known == size).unwrap_or_default();
        let Some(sheet) = sheets.get_mut(page) else { continue };
        let lines = sheet.lines.iter().skip(at).take(count).map(|line| line.text.as_str());
        let text = lines.collect::<Vec<_>>().join(" ");
        let level = u8::try_from(rank + 1).unwrap_or(6).min(6);
        for (n, mark) in sheet.marks.iter_mut().skip(at).take(count).enumerate() {
            *mark =
                if n == 0 { PdfLineRole::Heading(level, text.clone()) } else { PdfLineRole::Skip };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_numbers_and_leaders_are_detected() {
        for (text, want) in [
            ("12", true),
            ("- xiv -", true),
            ("Page 3 of 17", true),
            ("3 / 17", true),
            ("", false),
            ("3 files", false),
            ("1234567", false),
        ] {
            assert_eq!(is_page_number(text), want, "{text}");
        }
        for (text, want) in
            [("1.2 Limits . . . . . . 17", true), ("Limits......... xi", true), ("a ... b", false)]
        {
            assert_eq!(is_leader(text), want, "{text}");
        }
    }

    #[test]
    fn a_bookmark_is_found_with_and_without_its_number() {
        for (said, wanted, want) in [
            ("limits", "limits", true),
            ("chapter12limits", "limits", true),
            ("21limits", "limits", true),
            ("limits", "21limits", true),
            ("thelonglimits", "limits", false),
            ("", "21", false),
        ] {
            assert_eq!(says(said, wanted), want, "{said} {wanted}");
        }
    }
}
