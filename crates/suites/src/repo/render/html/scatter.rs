//! Scatter plot of changes and complexity: hot spots are at the top right.

use super::{
    lettering::{TEXT_SIZE, fit_end, width},
    markup::{MarkupBuffer, put, text},
    picture::{Drawing, PictureFrame},
};
use crate::repo::{
    render::figures::{compact, count, to_f64},
    report::HotSpot,
};

/// Left margin for the figures of complexity, in pixels.
const LEFT_MARGIN: f64 = 44.0;
/// Right margin, in pixels.
const RIGHT_MARGIN: f64 = 14.0;
/// Top margin for the word "complexity", in pixels.
const TOP_MARGIN: f64 = 30.0;
/// Bottom margin for the figures of changes and the word "changes", in pixels.
const BOTTOM_MARGIN: f64 = 44.0;
/// Minimum score of a hot spot.
pub(super) const HOT_SCORE: f64 = 50.0;

/// A logarithmic axis: a few files change far more often than the rest.
#[derive(Debug, Clone, Copy)]
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn new(values: impl Iterator<Item = u64>, from: f64, to: f64) -> Self {
        let (mut low, mut high) = (u64::MAX, 1);
        for value in values {
            low = low.min(value.max(1));
            high = high.max(value);
        }
        let low = to_f64(low.min(high)).ln() - 0.18;
        Self { low, high: (to_f64(high).ln() + 0.14).max(low + 1.2), from, to }
    }

    fn at(self, value: f64) -> f64 {
        self.from
            + (value.max(1.0).ln() - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    /// Returns round values along the axis, with this minimum distance if possible.
    fn ticks(self, apart: f64) -> Vec<u64> {
        let along = |steps: &[u64]| {
            let powers = (0..15).map(|exponent| 10_u64.pow(exponent));
            let values = powers.flat_map(|power| steps.iter().map(move |step| step * power));
            values
                .filter(|value| (self.low..=self.high).contains(&to_f64(*value).ln()))
                .collect::<Vec<u64>>()
        };
        let crowded = |ticks: &[u64]| {
            ticks
                .windows(2)
                .any(|pair| (self.at(to_f64(pair[1])) - self.at(to_f64(pair[0]))).abs() < apart)
        };
        let choices: [&[u64]; 4] = [&[1, 2, 3, 4, 5, 6, 8], &[1, 2, 3, 5], &[1, 2, 5], &[1, 3]];
        let fitting = choices.into_iter().map(along).find(|ticks| !crowded(ticks));
        fitting.unwrap_or_else(|| along(&[1]))
    }
}

/// Draws the spots, and labels the worst ones.
pub(super) fn draw(spots: &[HotSpot], frame: PictureFrame) -> Drawing {
    let height = if frame.narrow { 320.0 } else { 420.0 };
    let changes = spots.iter().map(|spot| spot.changes);
    let across = Axis::new(changes, LEFT_MARGIN, frame.width - RIGHT_MARGIN);
    let complexities = spots.iter().map(|spot| spot.complexity);
    let up = Axis::new(complexities, height - BOTTOM_MARGIN, TOP_MARGIN);
    let mut body = MarkupBuffer::default();
    grid(&mut body, frame, height, across, up);
    let most = spots.iter().map(|spot| spot.lines).max().unwrap_or_default().max(1);
    let mut placed = Vec::new();
    for spot in spots.iter().rev() {
        let (x, y) = (across.at(to_f64(spot.changes)), up.at(to_f64(spot.complexity)));
        let largest = if frame.narrow { 6.0 } else { 9.0 };
        let radius = 3.0 + largest * (to_f64(spot.lines) / to_f64(most)).sqrt();
        let class = if spot.score >= HOT_SCORE { "spot hot" } else { "spot" };
        let title = format!(
            "{}\n{} changes, complexity {}, {} lines, score {:.0}",
            spot.path,
            count(spot.changes),
            count(spot.complexity),
            count(spot.lines),
            spot.score
        );
        put!(
            body,
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\"><title>{}</title></circle>",
            text(&title)
        );
        placed.push((x, y, radius));
    }
    placed.reverse();
    name_worst(&mut body, spots, &placed, frame);
    Drawing { height, body }
}

fn grid(body: &mut MarkupBuffer, frame: PictureFrame, height: f64, across: Axis, up: Axis) {
    let floor = height - BOTTOM_MARGIN;
    for tick in across.ticks(34.0) {
        let x = across.at(to_f64(tick));
        put!(body, "<path class=\"grid\" d=\"M{x:.1} {TOP_MARGIN:.1}V{floor:.1}\"/>");
        put!(
            body,
            "<text class=\"soft middle\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
            floor + 18.0,
            compact(tick)
        );
    }
    for tick in up.ticks(26.0) {
        let y = up.at(to_f64(tick));
        put!(
            body,
            "<path class=\"grid\" d=\"M{LEFT_MARGIN:.1} {y:.1}H{:.1}\"/>",
            frame.width - RIGHT_MARGIN
        );
        put!(
            body,
            "<text class=\"soft end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            LEFT_MARGIN - 8.0,
            y + TEXT_SIZE * 0.36,
            compact(tick)
        );
    }
    put!(
        body,
        "<text class=\"soft end\" x=\"{:.1}\" y=\"{:.1}\">changes</text>",
        frame.width - RIGHT_MARGIN,
        height - 6.0
    );
    put!(body, "<text class=\"soft\" x=\"0\" y=\"12\">complexity</text>");
}

/// Labels as many of the worst spots as have free space next to them.
fn name_worst(
    body: &mut MarkupBuffer,
    spots: &[HotSpot],
    placed: &[(f64, f64, f64)],
    frame: PictureFrame,
) {
    let mut taken: Vec<(f64, f64, f64)> = Vec::new();
    let most = if frame.narrow { 4 } else { 8 };
    for (spot, (x, y, radius)) in spots.iter().zip(placed).take(most) {
        let name = label(&spot.path);
        let Some(name) = fit_end(name, TEXT_SIZE, frame.width * 0.32) else { continue };
        let long = width(&name, TEXT_SIZE);
        let sides = [(x + radius + 4.0, "start"), (x - radius - 4.0 - long, "end")];
        let free = |from: f64, base: f64| {
            let inside = from >= LEFT_MARGIN && from + long <= frame.width;
            let apart = |other: &(f64, f64, f64)| {
                (base - other.1).abs() > TEXT_SIZE + 2.0
                    || from > other.0 + other.2
                    || other.0 > from + long
            };
            let covers = |spot: &&(f64, f64, f64)| {
                let (at, level, radius) = **spot;
                at + radius > from
                    && at - radius < from + long
                    && (level - (base - 4.0)).abs() < radius + 5.0
            };
            let hidden = placed.iter().take(most).filter(covers).count();
            inside && taken.iter().all(apart) && hidden == 0
        };
        let lifts = [0.0, -9.0, 9.0, -16.0, 16.0];
        let found = lifts.iter().find_map(|lift| {
            let base = y + TEXT_SIZE * 0.36 + lift;
            sides.iter().find(|(from, _)| free(*from, base)).map(|(from, _)| (*from, base))
        });
        if let Some((from, base)) = found {
            taken.push((from, base, long));
            put!(
                body,
                "<text class=\"halo\" x=\"{from:.1}\" y=\"{base:.1}\">{}</text>",
                text(&name)
            );
        }
    }
}

/// Returns the file name, or the whole path if the name is common.
fn label(path: &str) -> &str {
    const COMMON: [&str; 9] =
        ["__init__", "app", "index", "init", "lib", "main", "mod", "tests", "types"];
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.split('.').next().unwrap_or(name);
    if COMMON.contains(&stem) { path } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_names_come_with_their_path() {
        let cases =
            [("a/b/merge.rs", "merge.rs"), ("a/src/lib.rs", "a/src/lib.rs"), ("x", "x"), ("", "")];
        for (path, want) in cases {
            assert_eq!(label(path), want);
        }
    }

    #[test]
    fn axes_hold_every_value() {
        let axis = Axis::new([1, 7, 900].into_iter(), 0.0, 100.0);
        for value in [1.0, 7.0, 900.0] {
            assert!((0.0..=100.0).contains(&axis.at(value)), "{value}");
        }
        let cases = [
            (9.0, &[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000][..]),
            (12.0, &[1, 3, 10, 30, 100, 300, 1000]),
            (30.0, &[1, 10, 100, 1000]),
        ];
        for (apart, want) in cases {
            assert_eq!(axis.ticks(apart), want);
        }
        let alone = Axis::new([0, 0].into_iter(), 0.0, 100.0);
        assert!((0.0..=100.0).contains(&alone.at(0.0)));
    }
}
