//! Commits by month as columns, with the releases below.

use super::{
    lettering::TEXT_SIZE,
    markup::{MarkupBuffer, put, text},
    picture::{Drawing, PictureFrame},
};
use crate::repo::{
    render::figures::{compact, counted, to_f64, to_u64},
    report::{Month, Release},
};

/// Left margin for figures.
const LEFT_MARGIN: f64 = 40.0;
/// Bottom margin for years.
const BOTTOM_MARGIN: f64 = 44.0;
/// Top margin, so that the top figure is not cut off.
const TOP_MARGIN: f64 = 10.0;

/// Whether a release falls into one of the months.
pub(super) fn has_release(months: &[Month], releases: &[Release]) -> bool {
    releases.iter().any(|release| months.iter().any(|month| release.date.starts_with(&month.month)))
}

/// Draws the columns.
pub(super) fn draw(months: &[Month], releases: &[Release], frame: PictureFrame) -> Drawing {
    let height = if frame.narrow { 200.0 } else { 240.0 };
    let mut body = MarkupBuffer::default();
    let most = months.iter().map(|month| month.commits).max().unwrap_or_default().max(1);
    let step = tick(most);
    let ticks = most.div_ceil(step);
    let top = to_f64(ticks * step);
    let floor = height - BOTTOM_MARGIN;
    let level = |commits: u64| floor - to_f64(commits) / top * (floor - TOP_MARGIN);
    for index in 0..=ticks {
        let y = level(index * step);
        put!(body, "<path class=\"grid\" d=\"M{LEFT_MARGIN:.1} {y:.1}H{:.1}\"/>", frame.width);
        put!(
            body,
            "<text class=\"soft end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            LEFT_MARGIN - 8.0,
            y + TEXT_SIZE * 0.36,
            compact(index * step)
        );
    }
    let slot = ((frame.width - LEFT_MARGIN) / to_f64(to_u64(months.len().max(1)))).min(36.0);
    let wide = (slot * 0.72).max(1.0);
    let mut last_year = "";
    let mut last_label = f64::NEG_INFINITY;
    for (index, month) in months.iter().enumerate() {
        let x = LEFT_MARGIN + to_f64(to_u64(index)) * slot;
        let y = level(month.commits);
        put!(
            body,
            "<g><title>{}</title><rect class=\"through\" x=\"{x:.1}\" y=\"{TOP_MARGIN:.1}\" width=\"{slot:.1}\" height=\"{:.1}\"/>\
             <rect class=\"a1\" x=\"{:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{:.1}\"/></g>",
            text(&format!("{}\n{}", month.month, counted(month.commits, "commit", "commits"))),
            floor - TOP_MARGIN,
            x + (slot - wide) / 2.0,
            floor - y
        );
        let year = month.month.split('-').next().unwrap_or_default();
        if year != last_year {
            last_year = year;
            if x - last_label > 38.0 && x + 30.0 < frame.width {
                last_label = x;
                put!(body, "<path class=\"grid\" d=\"M{x:.1} {floor:.1}v6\"/>");
                put!(
                    body,
                    "<text class=\"soft\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
                    floor + 38.0,
                    text(year)
                );
            }
        }
        mark_releases(&mut body, month, releases, (x + slot / 2.0, floor + 13.0));
    }
    Drawing { height, body }
}

/// Draws one diamond for a month with releases.
fn mark_releases(body: &mut MarkupBuffer, month: &Month, releases: &[Release], (x, y): (f64, f64)) {
    let titles: Vec<String> = releases
        .iter()
        .filter(|release| release.date.starts_with(&month.month))
        .map(|release| format!("{} {}", release.tag, release.date))
        .collect();
    if !titles.is_empty() {
        put!(
            body,
            "<g><title>{}</title><path class=\"w1\" d=\"M{x:.1} {:.1}l4 4l-4 4l-4 -4z\"/></g>",
            text(&titles.join("\n")),
            y - 4.0
        );
    }
}

/// Returns a round step that needs at most six lines to reach the largest figure.
fn tick(most: u64) -> u64 {
    let mut power = 1;
    loop {
        for step in [1, 2, 5] {
            if most.div_ceil(step * power) <= 6 {
                return step * power;
            }
        }
        let Some(next) = u64::checked_mul(power, 10).filter(|next| *next < u64::MAX / 50) else {
            return power;
        };
        power = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        for (most, want) in [(1, 1), (6, 1), (7, 2), (17, 5), (60, 10), (105, 20), (980, 200)] {
            assert_eq!(tick(most), want, "{most}");
        }
    }
}
