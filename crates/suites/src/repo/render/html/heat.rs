//! Documentation coverage as a heat map: one cell per folder, darker for higher coverage, with its figure.

use super::markup::{MarkupBuffer, path, put, text};
use crate::repo::{
    render::figures::{bounded, count, percent},
    report::Covered,
};
use std::collections::BTreeMap;

/// Lower bounds of the scale steps, in percent.
const HEAT_STEPS_PERCENT: [f64; 5] = [0.0, 25.0, 50.0, 75.0, 95.0];
/// Maximum number of cells.
const MAX_CELLS: usize = 60;
/// Maximum number of groups; more would be rows of one cell.
const MAX_GROUPS: usize = 8;

fn step(share: f64) -> usize {
    HEAT_STEPS_PERCENT.iter().rposition(|low| bounded(share) >= *low).unwrap_or_default()
}

/// Draws the scale, from nothing to everything.
pub(super) fn scale(out: &mut MarkupBuffer) {
    put!(out, "<ul class=\"legend scale\" aria-label=\"Scale\">");
    for (index, low) in HEAT_STEPS_PERCENT.iter().enumerate() {
        let label = match HEAT_STEPS_PERCENT.get(index + 1) {
            Some(next) => format!("{low:.0}–{:.0}%", next - 1.0),
            None => format!("{low:.0}% or more"),
        };
        put!(out, "<li><span class=\"swatch h{index}\"></span>{label}</li>");
    }
    put!(out, "</ul>");
}

/// Draws the cells, grouped by top folder; returns how many are not shown.
pub(super) fn heat(out: &mut MarkupBuffer, folders: &[Covered]) -> usize {
    let shown: Vec<&Covered> = folders.iter().take(MAX_CELLS).collect();
    let mut groups: BTreeMap<&str, Vec<&Covered>> = BTreeMap::new();
    for folder in &shown {
        let top = folder.name.split_inclusive('/').next().unwrap_or_default();
        groups.entry(top).or_default().push(folder);
    }
    if groups.len() > MAX_GROUPS {
        groups = BTreeMap::from([("", shown)]);
    } else {
        for cells in groups.values_mut() {
            cells.sort_by(|one, other| one.name.cmp(&other.name));
        }
    }
    put!(out, "<div class=\"heat\">");
    for cells in groups.values() {
        put!(out, "<ul>");
        for cell in cells {
            put!(
                out,
                "<li class=\"h{}\"><span class=\"name\">{}</span><span class=\"figure\">{}</span><span class=\"of\">{} of {}</span></li>",
                step(cell.percent),
                path(&cell.name),
                text(&percent(cell.percent)),
                count(cell.documented),
                count(cell.public)
            );
        }
        put!(out, "</ul>");
    }
    put!(out, "</div>");
    folders.len().saturating_sub(MAX_CELLS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_share_has_its_step() {
        for (share, want) in [
            (0.0, 0),
            (24.9, 0),
            (25.0, 1),
            (74.0, 2),
            (94.9, 3),
            (100.0, 4),
            (f64::NAN, 0),
            (-3.0, 0),
        ] {
            assert_eq!(step(share), want, "{share}");
        }
    }
}
