//! Groups the characters of a page into lines, in reading order.

use super::glyphs::Glyph;
use hayro_font::hayro_cmap::BfString;

/// Minimum gap between words, in font sizes.
const WORD_GAP: f64 = 0.13;
/// Minimum gap between columns and cells, in font sizes.
const CELL_GAP: f64 = 1.6;
/// Maximum vertical distance within a line, in font sizes: superscripts are part of it.
const MAX_BASELINE_OFFSET: f64 = 0.4;
/// Minimum side-by-side lines for a page to count as two columns.
const MIN_COLUMN_LINES: usize = 6;
/// Minimum fill of column lines; table cells fill less.
const MIN_COLUMN_FILL: f64 = 0.6;

/// A line of text.
#[derive(Debug, Clone, Default)]
pub(super) struct PdfLine {
    pub(super) text: String,
    pub(super) start: f64,
    pub(super) end: f64,
    pub(super) height: f64,
    /// The size of most of its letters.
    pub(super) size: f64,
    pub(super) mono: bool,
    pub(super) bold: bool,
    /// Parts with wide gaps between them.
    pub(super) cells: usize,
    /// Start of the text after its first part, for items with a separate marker.
    pub(super) second: f64,
}

/// Characters that follow each other without a wide gap.
#[derive(Debug, Clone, Default)]
struct GlyphRun {
    glyphs: Vec<Glyph>,
    start: f64,
    end: f64,
    height: f64,
    size: f64,
}

/// The lines of a page. Lines in an unusual direction come last.
pub(super) fn lines(glyphs: Vec<Glyph>) -> Vec<PdfLine> {
    let mut ways: [Vec<Glyph>; 4] = Default::default();
    for glyph in glyphs {
        if let Some(way) = ways.get_mut(usize::from(glyph.turn)) {
            way.push(glyph);
        }
    }
    ways.sort_by_key(|way| std::cmp::Reverse(way.len()));
    ways.into_iter().flat_map(of_one_way).collect()
}

fn of_one_way(glyphs: Vec<Glyph>) -> Vec<PdfLine> {
    let rows = rows(runs(glyphs));
    match gutter(&rows) {
        None => rows.iter().map(|row| line(row)).collect(),
        Some(gutter) => in_columns(&rows, gutter).iter().map(|row| line(row)).collect(),
    }
}

fn runs(glyphs: Vec<Glyph>) -> Vec<GlyphRun> {
    let mut runs: Vec<GlyphRun> = Vec::new();
    for glyph in glyphs {
        let blank = is_blank(&glyph.text);
        match runs.last_mut() {
            Some(run) if follows(run, &glyph) => {
                // Bold is sometimes made by writing a letter twice.
                let twice = run.glyphs.last().is_some_and(|last| {
                    last.text == glyph.text && (last.start - glyph.start).abs() < 0.1 * glyph.size
                });
                if !twice {
                    run.end = run.end.max(glyph.end);
                    run.glyphs.push(glyph);
                }
            }
            _ if blank => {}
            _ => {
                let Glyph { start, end, height, size, .. } = glyph;
                runs.push(GlyphRun { glyphs: vec![glyph], start, end, height, size });
            }
        }
    }
    runs
}

fn follows(run: &GlyphRun, glyph: &Glyph) -> bool {
    let size = run.size.max(glyph.size);
    let gap = glyph.start - run.end;
    (glyph.height - run.height).abs() < 0.1 * size && gap > -0.6 * size && gap < CELL_GAP * size
}

/// Runs on the same level, from the top of the page to its bottom, each row from its start to its end.
fn rows(mut runs: Vec<GlyphRun>) -> Vec<Vec<GlyphRun>> {
    runs.sort_by(|a, b| b.height.total_cmp(&a.height));
    let mut rows: Vec<(f64, f64, Vec<GlyphRun>)> = Vec::new();
    for run in runs {
        let near = rows.iter_mut().rev().take(4).find(|(height, size, row)| {
            let apart = (height - run.height).abs();
            apart < MAX_BASELINE_OFFSET * size.max(run.size) && !covered(row, &run, apart)
        });
        match near {
            Some((height, size, row)) => {
                if run.size > *size {
                    (*height, *size) = (run.height, run.size);
                }
                row.push(run);
            }
            None => rows.push((run.height, run.size, vec![run])),
        }
    }
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    let sorted = rows.into_iter().map(|(_, _, mut row)| {
        row.sort_by(|a, b| a.start.total_cmp(&b.start));
        row
    });
    sorted.collect()
}

/// Whether a run is above or below another run of the row, not next to it.
fn covered(row: &[GlyphRun], run: &GlyphRun, apart: f64) -> bool {
    apart > 0.15 * run.size
        && row.iter().any(|other| {
            let shared = other.end.min(run.end) - other.start.max(run.start);
            shared > 0.5 * (run.end - run.start).min(other.end - other.start)
        })
}

/// The position of the gap in a two-column page; `None` for other pages.
fn gutter(rows: &[Vec<GlyphRun>]) -> Option<f64> {
    let runs = || rows.iter().flatten();
    let left = runs().map(|run| run.start).min_by(f64::total_cmp)?;
    let right = runs().map(|run| run.end).max_by(f64::total_cmp)?;
    let width = right - left;
    let mut best = None;
    for step in 30..=70 {
        let at = left + width * f64::from(step) / 100.0;
        let (mut beside, mut across, mut filled) = (0_usize, 0_usize, 0.0);
        for row in rows {
            let crossed = row.iter().any(|run| run.start < at && run.end > at);
            let before = row.iter().filter(|run| run.end <= at).map(|run| run.end - run.start);
            let after = row.iter().filter(|run| run.start >= at).map(|run| run.end - run.start);
            let (before, after): (f64, f64) = (before.sum(), after.sum());
            if crossed {
                across += 1;
            } else if before > 0.0 && after > 0.0 {
                beside += 1;
                filled += (before / (at - left)).min(after / (right - at));
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "a page has few lines")]
        let fill = filled / beside.max(1) as f64;
        let columns = beside >= MIN_COLUMN_LINES && across * 2 < beside && fill > MIN_COLUMN_FILL;
        if columns && best.is_none_or(|(known, _)| beside > known) {
            best = Some((beside, at));
        }
    }
    best.map(|(_, at)| at)
}

/// Rows of a two-column page: rows across both columns split it, and between them the left column comes first.
fn in_columns(rows: &[Vec<GlyphRun>], gutter: f64) -> Vec<Vec<GlyphRun>> {
    let (mut ordered, mut right) = (Vec::new(), Vec::new());
    for row in rows {
        if row.iter().any(|run| run.start < gutter && run.end > gutter) {
            ordered.append(&mut right);
            ordered.push(row.clone());
            continue;
        }
        let (before, after): (Vec<GlyphRun>, Vec<GlyphRun>) =
            row.iter().cloned().partition(|run| run.end <= gutter);
        ordered.extend((!before.is_empty()).then_some(before));
        right.extend((!after.is_empty()).then_some(after));
    }
    ordered.append(&mut right);
    ordered
}

/// The text of a row.
fn line(row: &[GlyphRun]) -> PdfLine {
    let glyphs = || row.iter().flat_map(|run| &run.glyphs).filter(|glyph| !is_blank(&glyph.text));
    let count = glyphs().count().max(1);
    let most = |is: fn(&Glyph) -> bool| glyphs().filter(|glyph| is(glyph)).count() * 10 > count * 8;
    let mut line = PdfLine {
        mono: most(|glyph| glyph.mono),
        bold: most(|glyph| glyph.bold),
        size: usual(glyphs().map(|glyph| glyph.size)),
        cells: 1,
        ..PdfLine::default()
    };
    let highest = row.iter().max_by(|a, b| a.size.total_cmp(&b.size));
    line.height = highest.map_or(0.0, |run| run.height);
    let mut last: Option<&Glyph> = None;
    for glyph in row.iter().flat_map(|run| &run.glyphs) {
        match last {
            None => line.start = glyph.start,
            Some(last) => {
                let gap = glyph.start - last.end;
                let size = glyph.size.max(last.size);
                if gap > CELL_GAP * size {
                    line.cells += 1;
                    if line.cells == 2 {
                        line.second = glyph.start;
                    }
                }
                space(&mut line, gap, size, glyph);
            }
        }
        push(&mut line.text, &glyph.text);
        line.end = line.end.max(glyph.end);
        last = Some(glyph);
    }
    line.text.truncate(line.text.trim_end().len());
    line
}

/// Writes the gap before a letter: one space, or as many as there is room for in code.
fn space(line: &mut PdfLine, gap: f64, size: f64, glyph: &Glyph) {
    let width = glyph.end - glyph.start;
    if line.mono && glyph.mono && width > 0.0 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a number from 0 to 100"
        )]
        let count = (gap / width).round().clamp(0.0, 100.0) as usize;
        line.text.extend(std::iter::repeat_n(' ', count));
    } else if gap > CELL_GAP * size {
        line.text.push_str("  ");
    } else if gap > WORD_GAP * size && !line.text.ends_with(' ') && !is_blank(&glyph.text) {
        line.text.push(' ');
    }
}

/// The size that most letters have, to a tenth.
fn usual(sizes: impl Iterator<Item = f64>) -> f64 {
    let mut sizes: Vec<f64> = sizes.map(|size| (size * 10.0).round() / 10.0).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.get(sizes.len() / 2).copied().unwrap_or_default()
}

fn is_blank(text: &BfString) -> bool {
    match text {
        BfString::Char(c) => c.is_whitespace(),
        BfString::String(text) => text.trim().is_empty(),
    }
}

fn push(to: &mut String, text: &BfString) {
    match text {
        BfString::Char(c) => letter(to, *c),
        BfString::String(text) => text.chars().for_each(|c| letter(to, c)),
    }
}

/// Writes a letter as people type it: ligatures in parts, symbols of old fonts as what they show.
fn letter(to: &mut String, c: char) {
    match c {
        '\u{fb00}' => to.push_str("ff"),
        '\u{fb01}' => to.push_str("fi"),
        '\u{fb02}' => to.push_str("fl"),
        '\u{fb03}' => to.push_str("ffi"),
        '\u{fb04}' => to.push_str("ffl"),
        '\u{fb05}' | '\u{fb06}' => to.push_str("st"),
        '\u{f0b7}' | '\u{f0a7}' | '\u{f0d8}' | '\u{f0fc}' | '\u{f076}' | '\u{f06c}' => to.push('•'),
        '\u{f020}'..='\u{f07e}' => to.extend(char::from_u32(u32::from(c) - 0xf000)),
        c if c.is_whitespace() => to.push(' '),
        c if c.is_control() || matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{fffd}') => {}
        c => to.push(c),
    }
}
