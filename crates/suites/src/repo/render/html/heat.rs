//! How much of each folder is documented: one cell per folder, darker the more, with its figure in it.

use super::markup::{MarkupBuffer, path, put, text};
use crate::repo::{
    render::figures::{bounded, count, percent},
    report::Covered,
};
use std::collections::BTreeMap;

/// Lower ends of the steps of the scale, in per cent.
const HEAT_STEPS_PERCENT: [f64; 5] = [0.0, 25.0, 50.0, 75.0, 95.0];
/// Cells that are shown.
const MAX_CELLS: usize = 60;
/// More groups than this would be rows of one cell each.
const MAX_GROUPS: usize = 8;

fn step(share: f64) -> usize {
    HEAT_STEPS_PERCENT.iter().rposition(|low| bounded(share) >= *low).unwrap_or_default()
}

/// The scale, from nothing to everything.
pub(super) fn scale(out: &mut MarkupBuffer) {
    put!(out, "<ul class=\"legend scale\" aria-label=\"Scale\">");
    for (index, low) in HEAT_STEPS_PERCENT.iter().enumerate() {
        let told = match HEAT_STEPS_PERCENT.get(index + 1) {
            Some(next) => format!("{low:.0}–{:.0}%", next - 1.0),
            None => format!("{low:.0}% and more"),
        };
        put!(out, "<li><span class=\"swatch h{index}\"></span>{told}</li>");
    }
    put!(out, "</ul>");
}

/// The cells, folders of one top folder together; gives back how many are not shown.
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
