//! Positions the items of a layered graph: rows that fit the width, and straight edges where possible.

use super::layers::{GraphLayers, LayerEdge};
use super::markup::{MarkupBuffer, put};

/// Height of a box.
pub(super) const BOX_HEIGHT: f64 = 28.0;
/// Gap between two layers.
const LAYER_GAP: f64 = 52.0;
/// Gap between two rows of one layer.
const ROW_GAP: f64 = 10.0;
/// Number of rounds that move items toward their neighbors.
const LAYOUT_ROUNDS: usize = 12;

/// Position of an item: a box, or a point where an edge passes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct ItemPosition {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) wide: f64,
}

impl ItemPosition {
    fn middle(self) -> f64 {
        self.x + self.wide / 2.0
    }
}

/// Positions of all items.
#[derive(Debug)]
pub(super) struct GraphLayout {
    /// In item order.
    pub(super) places: Vec<ItemPosition>,
    /// Height of the whole picture.
    pub(super) height: f64,
}

/// Available width, and the gap between two items.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowWidth {
    pub(super) across: f64,
    pub(super) gap: f64,
}

impl GraphLayout {
    /// Positions items of these widths.
    pub(super) fn new(layers: &GraphLayers, widths: &[f64], room: RowWidth) -> Self {
        let mut places: Vec<ItemPosition> = widths
            .iter()
            .map(|wide| ItemPosition { wide: *wide, ..ItemPosition::default() })
            .collect();
        let mut rows: Vec<Vec<usize>> = Vec::new();
        let mut y = 1.0;
        for layer in &layers.rows {
            for row in wrap(layer, widths, room) {
                for at in &row {
                    if let Some(place) = places.get_mut(*at) {
                        place.y = y;
                    }
                }
                rows.push(row);
                y += BOX_HEIGHT + ROW_GAP;
            }
            y += LAYER_GAP - ROW_GAP;
        }
        let mut placing = Self { places, height: (y - LAYER_GAP + 1.0).max(BOX_HEIGHT) };
        placing.straighten(&rows, &layers.lines, room);
        placing.center(room.across);
        placing
    }

    fn center(&mut self, across: f64) {
        let left = self.places.iter().map(|place| place.x).fold(f64::INFINITY, f64::min);
        let right = self.places.iter().map(|place| place.x + place.wide).fold(0.0, f64::max);
        if left.is_finite() {
            let shift = (across - left - right) / 2.0;
            self.places.iter_mut().for_each(|place| place.x += shift);
        }
    }

    /// Moves each item toward the middle of its neighbors, row by row, downward and upward in turn.
    fn straighten(&mut self, rows: &[Vec<usize>], lines: &[LayerEdge], room: RowWidth) {
        let mut above: Vec<Vec<usize>> = vec![Vec::new(); self.places.len()];
        let mut below = above.clone();
        for line in lines {
            for pair in line.through.windows(2) {
                let [upper, lower] = *pair else { continue };
                below.iter_mut().skip(upper).take(1).for_each(|list| list.push(lower));
                above.iter_mut().skip(lower).take(1).for_each(|list| list.push(upper));
            }
        }
        let centre = room.across / 2.0;
        for row in rows {
            self.place_row(row, room, |_| centre);
        }
        for round in 0..LAYOUT_ROUNDS {
            let joined = if round % 2 == 0 { &above } else { &below };
            let order: Vec<&Vec<usize>> =
                if round % 2 == 0 { rows.iter().collect() } else { rows.iter().rev().collect() };
            for row in order {
                let before = self.places.clone();
                let middle = |at: usize| before.get(at).map_or(centre, |place| place.middle());
                self.place_row(row, room, |at| match joined.get(at) {
                    Some(list) if !list.is_empty() => mean(list.iter().map(|one| middle(*one))),
                    _ => middle(at),
                });
            }
        }
    }

    /// Places the items of a row as close to their preferred positions as order and width allow.
    fn place_row(&mut self, row: &[usize], room: RowWidth, wish: impl Fn(usize) -> f64) {
        let wide = |at: usize| self.places.get(at).map_or(0.0, |place| place.wide);
        let mut offsets = Vec::with_capacity(row.len());
        let mut used = 0.0;
        for at in row {
            offsets.push(used);
            used += wide(*at) + room.gap;
        }
        let wishes: Vec<f64> = row
            .iter()
            .zip(&offsets)
            .map(|(at, offset)| wish(*at) - wide(*at) / 2.0 - offset)
            .collect();
        let most = (room.across - used + room.gap).max(0.0);
        for ((at, offset), x) in row.iter().zip(offsets).zip(in_order(&wishes)) {
            if let Some(place) = self.places.get_mut(*at) {
                place.x = x.clamp(0.0, most) + offset;
            }
        }
    }

    /// Returns a smooth path from the lower edge of one box to the upper edge of another.
    pub(super) fn edge_path(&self, line: &LayerEdge) -> String {
        let mut way = MarkupBuffer::default();
        let mut last: Option<(f64, f64)> = None;
        for place in line.through.iter().filter_map(|at| self.places.get(*at)) {
            let x = place.middle();
            match last {
                None => put!(way, "M{x:.1} {:.1}", place.y + BOX_HEIGHT),
                Some((from, top)) => {
                    let bend = ((place.y - top) / 2.0).clamp(10.0, 60.0);
                    let (leave, arrive) = (top + bend, place.y - bend);
                    put!(way, "C{from:.1} {leave:.1} {x:.1} {arrive:.1} {x:.1} {:.1}", place.y);
                    if place.wide <= 0.0 {
                        put!(way, "V{:.1}", place.y + BOX_HEIGHT);
                    }
                }
            }
            last = Some((x, place.y + BOX_HEIGHT));
        }
        way.finish()
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / f64::max(count, 1.0)
}

/// Returns the nearest nondecreasing values by least squares: neighbors in the wrong order meet in the middle.
fn in_order(wishes: &[f64]) -> Vec<f64> {
    let mut blocks: Vec<(f64, f64, usize)> = Vec::new();
    for wish in wishes {
        let mut block = (*wish, 1.0, 1);
        while let Some(last) = blocks.pop_if(|last| last.0 > block.0) {
            let weight = last.1 + block.1;
            block = ((last.0 * last.1 + block.0 * block.1) / weight, weight, last.2 + block.2);
        }
        blocks.push(block);
    }
    blocks.into_iter().flat_map(|(value, _, count)| std::iter::repeat_n(value, count)).collect()
}

/// Splits a layer into as many rows as needed, of similar length.
fn wrap(layer: &[usize], widths: &[f64], room: RowWidth) -> Vec<Vec<usize>> {
    let rows = fill(layer, widths, room);
    if rows.len() < 2 {
        return rows;
    }
    let wide = |at: &usize| widths.get(*at).copied().unwrap_or_default();
    let total: f64 = layer.iter().map(|at| wide(at) + room.gap).sum();
    let largest = layer.iter().map(wide).fold(0.0, f64::max);
    let shares = rows.iter().fold(0.0, |count, _| count + 1.0);
    let even = RowWidth { across: (total / shares + largest / 2.0).min(room.across), ..room };
    let balanced = fill(layer, widths, even);
    if balanced.len() == rows.len() { balanced } else { rows }
}

fn fill(layer: &[usize], widths: &[f64], room: RowWidth) -> Vec<Vec<usize>> {
    let mut rows: Vec<Vec<usize>> = Vec::new();
    let mut used = 0.0;
    for &at in layer {
        let wide = widths.get(at).copied().unwrap_or_default();
        match rows.last_mut() {
            Some(row) if used + room.gap + wide <= room.across => {
                row.push(at);
                used += room.gap + wide;
            }
            _ => {
                rows.push(vec![at]);
                used = wide;
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::{super::layers::arrange, *};

    #[test]
    fn neighbours_in_the_wrong_order_meet() {
        assert_eq!(in_order(&[1.0, 3.0, 2.0, 5.0]), [1.0, 2.5, 2.5, 5.0]);
        assert_eq!(in_order(&[3.0, 2.0, 1.0]), [2.0, 2.0, 2.0]);
        assert!(in_order(&[]).is_empty());
    }

    #[test]
    fn boxes_stay_inside_and_apart() {
        let edges: Vec<(usize, usize)> = (0..30).map(|at| (at % 7, 7 + at * 5 % 23)).collect();
        let layers = arrange(30, &edges);
        let widths: Vec<f64> =
            layers.items.iter().map(|item| if item.node.is_some() { 60.0 } else { 0.0 }).collect();
        let room = RowWidth { across: 300.0, gap: 8.0 };
        let placing = GraphLayout::new(&layers, &widths, room);
        for (index, one) in placing.places.iter().enumerate() {
            assert!(one.x >= -1e-6 && one.x + one.wide <= 300.0 + 1e-6, "{one:?}");
            assert!(one.y + BOX_HEIGHT <= placing.height, "{one:?}");
            for other in &placing.places[index + 1..] {
                let apart = (one.y - other.y).abs() >= BOX_HEIGHT
                    || one.x + one.wide + 8.0 <= other.x + 1e-6
                    || other.x + other.wide + 8.0 <= one.x + 1e-6;
                assert!(apart, "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn a_chain_is_straight() {
        let layers = arrange(4, &[(0, 1), (1, 2), (2, 3)]);
        let placing = GraphLayout::new(
            &layers,
            &[60.0, 20.0, 80.0, 40.0],
            RowWidth { across: 300.0, gap: 8.0 },
        );
        for place in &placing.places {
            assert!((place.middle() - 150.0).abs() < 1e-6, "{place:?}");
        }
    }
}
