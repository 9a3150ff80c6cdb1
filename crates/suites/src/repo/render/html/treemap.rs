//! Treemap of folder sizes: squarified, three levels deep.

use super::{
    folders::FolderSize,
    lettering::{TEXT_SIZE, fit},
    markup::{MarkupBuffer, put, text},
    picture::{Drawing, PictureFrame},
};
use crate::repo::render::figures::{counted, part, percent, size, to_f64};

/// A rectangle.
#[derive(Debug, Clone, Copy, PartialEq)]
struct TreemapArea {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

impl TreemapArea {
    fn inset(self, by: f64) -> Self {
        Self {
            x: self.x + by,
            y: self.y + by,
            width: (self.width - 2.0 * by).max(0.0),
            height: (self.height - 2.0 * by).max(0.0),
        }
    }

    fn below(self, strip: f64) -> Self {
        Self { y: self.y + strip, height: (self.height - strip).max(0.0), ..self }
    }
}

/// Height of a folder's label strip.
const LABEL_STRIP_HEIGHT: f64 = 20.0;
/// Gap between two areas.
const AREA_GAP: f64 = 1.5;
/// Tints by folder size; the last one is for all others.
const TINTS: [&str; 4] = ["m0", "m1", "m2", "m3"];

/// Draws the areas.
pub(super) fn draw(root: &FolderSize, frame: PictureFrame) -> Drawing {
    let height = if frame.narrow { 420.0 } else { 460.0 };
    let mut sheet =
        TreemapCanvas { body: MarkupBuffer::default(), all: root.bytes.max(sum(&root.folders)) };
    let area = TreemapArea { x: 0.0, y: 0.0, width: frame.width, height };
    let values: Vec<f64> = root.folders.iter().map(|folder| to_f64(folder.bytes)).collect();
    for (rank, (folder, area)) in root.folders.iter().zip(squarify(&values, area)).enumerate() {
        let tint = TINTS.get(rank).or(TINTS.last()).copied().unwrap_or_default();
        sheet.tile(folder, area.inset(AREA_GAP), tint, 0);
    }
    Drawing { height, body: sheet.body }
}

fn sum(folders: &[FolderSize]) -> u64 {
    folders.iter().map(|folder| folder.bytes).sum()
}

/// Drawing state.
struct TreemapCanvas {
    body: MarkupBuffer,
    all: u64,
}

impl TreemapCanvas {
    fn tile(&mut self, folder: &FolderSize, area: TreemapArea, tint: &str, level: usize) {
        if area.width < 1.0 || area.height < 1.0 {
            return;
        }
        let opens =
            level < 2 && !folder.folders.is_empty() && area.width > 64.0 && area.height > 48.0;
        let class = if opens { "group" } else { tint };
        let share = percent(part(folder.bytes, self.all) * 100.0);
        let title = format!(
            "{}\n{}, {}, {share}",
            folder.path,
            size(folder.bytes),
            counted(folder.files, "file", "files")
        );
        put!(
            self.body,
            "<g><title>{}</title><rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"2\"/>",
            text(&title),
            area.x,
            area.y,
            area.width,
            area.height
        );
        self.label(folder, area, if opens { Some(level) } else { None });
        put!(self.body, "</g>");
        if opens {
            self.draw_contents(
                folder,
                area.below(LABEL_STRIP_HEIGHT).inset(AREA_GAP),
                tint,
                level + 1,
            );
        }
    }

    /// Labels a folder, in a group's strip or in its area.
    fn label(&mut self, folder: &FolderSize, area: TreemapArea, group: Option<usize>) {
        if area.height < TEXT_SIZE + 6.0 {
            return;
        }
        let Some(name) = fit(&folder.name, TEXT_SIZE, area.width - 12.0) else { return };
        let (x, y) = (area.x + 6.0, area.y + TEXT_SIZE + 3.0);
        let class = if group == Some(0) { " class=\"strong\"" } else { "" };
        put!(self.body, "<text{class} x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", text(&name));
        let figure = size(folder.bytes);
        let second = group.is_none() && area.height > 2.0 * TEXT_SIZE + 12.0;
        if let (true, Some(figure)) =
            (second, fit(&figure, TEXT_SIZE, area.width - 12.0).filter(|shown| *shown == figure))
        {
            put!(self.body, "<text x=\"{x:.1}\" y=\"{:.1}\">{figure}</text>", y + TEXT_SIZE + 4.0);
        }
    }

    /// Draws a folder's contents, with its own files as one more area.
    fn draw_contents(&mut self, folder: &FolderSize, area: TreemapArea, tint: &str, level: usize) {
        let files = folder.folders.iter().map(|one| one.files).sum();
        let own = FolderSize {
            name: "files".into(),
            path: format!("{} other files", folder.path),
            files: folder.files.saturating_sub(files),
            bytes: folder.bytes.saturating_sub(sum(&folder.folders)),
            folders: Vec::new(),
        };
        let mut parts: Vec<(&FolderSize, &str)> =
            folder.folders.iter().map(|one| (one, tint)).collect();
        parts.push((&own, "rest"));
        parts.sort_by_key(|(one, _)| std::cmp::Reverse(one.bytes));
        let values: Vec<f64> = parts.iter().map(|(one, _)| to_f64(one.bytes)).collect();
        for ((one, tint), area) in parts.into_iter().zip(squarify(&values, area)) {
            self.tile(one, area.inset(AREA_GAP * 0.7), tint, level);
        }
    }
}

/// Divides an area in proportion to descending values into nearly square rectangles.
fn squarify(values: &[f64], area: TreemapArea) -> Vec<TreemapArea> {
    let total: f64 = values.iter().sum();
    if total <= 0.0 || area.width <= 0.0 || area.height <= 0.0 {
        return vec![TreemapArea { width: 0.0, height: 0.0, ..area }; values.len()];
    }
    let scale = area.width * area.height / total;
    let mut free = area;
    let mut placed = Vec::with_capacity(values.len());
    let mut rest: Vec<f64> = values.iter().map(|value| value * scale).collect();
    while !rest.is_empty() {
        let side = free.width.min(free.height);
        let taken = row_length(&rest, side);
        let left = rest.split_off(taken);
        free = place_row(&rest, free, &mut placed);
        rest = left;
    }
    placed
}

/// Returns how many of the next areas go into one row along this side.
fn row_length(areas: &[f64], side: f64) -> usize {
    let mut sum = 0.0;
    let mut best = f64::INFINITY;
    let largest = areas.first().copied().unwrap_or_default();
    for (index, area) in areas.iter().enumerate() {
        sum += area;
        let (side, row) = (side * side, sum * sum);
        let worst = (side * largest / row).max(row / (side * area.max(f64::MIN_POSITIVE)));
        if worst > best {
            return index.max(1);
        }
        best = worst;
    }
    areas.len()
}

/// Places a row along the shorter side, and returns the remaining area.
fn place_row(row: &[f64], free: TreemapArea, placed: &mut Vec<TreemapArea>) -> TreemapArea {
    let sum: f64 = row.iter().sum();
    let upright = free.width >= free.height;
    let side = if upright { free.height } else { free.width };
    let thick = if side > 0.0 { sum / side } else { 0.0 };
    let mut at = 0.0;
    for area in row {
        let long = if thick > 0.0 { area / thick } else { 0.0 };
        placed.push(if upright {
            TreemapArea { x: free.x, y: free.y + at, width: thick, height: long }
        } else {
            TreemapArea { x: free.x + at, y: free.y, width: long, height: thick }
        });
        at += long;
    }
    if upright {
        TreemapArea { x: free.x + thick, width: (free.width - thick).max(0.0), ..free }
    } else {
        TreemapArea { y: free.y + thick, height: (free.height - thick).max(0.0), ..free }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_are_in_proportion_and_do_not_overlap() {
        let area = TreemapArea { x: 0.0, y: 0.0, width: 6.0, height: 4.0 };
        let values = [6.0, 6.0, 4.0, 3.0, 2.0, 2.0, 1.0];
        let placed = squarify(&values, area);
        assert_eq!(placed.len(), values.len());
        for (value, one) in values.iter().zip(&placed) {
            assert!((one.width * one.height - value).abs() < 1e-9, "{value}: {one:?}");
            assert!(one.x >= -1e-9 && one.x + one.width <= 6.0 + 1e-9, "{one:?}");
            assert!(one.y >= -1e-9 && one.y + one.height <= 4.0 + 1e-9, "{one:?}");
            let ratio = (one.width / one.height).max(one.height / one.width);
            assert!(ratio < 4.0, "{one:?}");
        }
        for (index, one) in placed.iter().enumerate() {
            for other in &placed[index + 1..] {
                let apart = one.x + one.width <= other.x + 1e-9
                    || other.x + other.width <= one.x + 1e-9
                    || one.y + one.height <= other.y + 1e-9
                    || other.y + other.height <= one.y + 1e-9;
                assert!(apart, "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn empty_folders_have_no_area() {
        let area = TreemapArea { x: 0.0, y: 0.0, width: 6.0, height: 4.0 };
        for values in [&[][..], &[0.0, 0.0]] {
            assert!(squarify(values, area).iter().all(|one| one.width == 0.0), "{values:?}");
        }
        assert!(
            squarify(&[1.0, 0.0], area)
                .iter()
                .all(|one| one.width.is_finite() && one.height.is_finite())
        );
    }
}
