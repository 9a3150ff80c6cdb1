//! The folders as a tree, largest first, with their sizes.

use super::{
    folders::FolderSize,
    lettering::{TEXT_SIZE, fit},
    markup::{MarkupBuffer, put, text},
    picture::{Drawing, PictureFrame},
};
use crate::repo::render::figures::{count, part, size};

/// Height of a row.
const ROW_HEIGHT: f64 = 24.0;
/// Indentation per level.
const INDENT: f64 = 20.0;
/// Maximum number of rows.
const MAX_ROWS: usize = 40;

/// A row of the picture.
struct TreeRow<'a> {
    folder: &'a FolderSize,
    level: usize,
    /// Row of its parent folder.
    parent: Option<usize>,
}

/// Returns the number of folders shown.
pub(super) fn shown(root: &FolderSize) -> usize {
    lines(root).len()
}

/// Draws the tree.
pub(super) fn draw(root: &FolderSize, frame: PictureFrame) -> Drawing {
    let lines = lines(root);
    let mut body = MarkupBuffer::default();
    let figures = if frame.narrow { 76.0 } else { 150.0 };
    let bar = if frame.narrow { 0.0 } else { 300.0 };
    let bars_at = frame.width - figures - bar;
    let largest = root.folders.iter().map(|folder| folder.bytes).max().unwrap_or_default();
    let top = ROW_HEIGHT * 0.6;
    if bar > 0.0 {
        put!(
            body,
            "<text class=\"soft end\" x=\"{:.1}\" y=\"{top:.1}\">files</text>",
            frame.width - 76.0
        );
    }
    put!(body, "<text class=\"soft end\" x=\"{:.1}\" y=\"{top:.1}\">size</text>", frame.width);
    for (index, line) in lines.iter().enumerate() {
        let x = real(line.level) * INDENT;
        let middle = real(index + 1) * ROW_HEIGHT + ROW_HEIGHT / 2.0;
        if let Some(parent) = line.parent {
            let top = real(parent + 1) * ROW_HEIGHT + ROW_HEIGHT - 3.0;
            let trunk = x - INDENT + 6.0;
            put!(
                body,
                "<path class=\"branch\" d=\"M{trunk:.1} {top:.1}V{middle:.1}H{:.1}\"/>",
                x - 2.0
            );
        }
        let folder = line.folder;
        let base = middle + TEXT_SIZE * 0.36;
        if let Some(name) = fit(&folder.name, TEXT_SIZE, bars_at - x - 12.0) {
            let class = if line.level == 0 { " class=\"strong\"" } else { "" };
            put!(
                body,
                "<g><title>{}</title><text{class} x=\"{x:.1}\" y=\"{base:.1}\">{}</text></g>",
                text(&folder.path),
                text(&name)
            );
        }
        if bar > 0.0 {
            let long = (part(folder.bytes, largest) * bar).max(1.0);
            let tint = ["a1", "a2", "a3"].get(line.level).copied().unwrap_or("a3");
            put!(
                body,
                "<rect class=\"{tint}\" x=\"{bars_at:.1}\" y=\"{:.1}\" width=\"{long:.1}\" height=\"8\" rx=\"1\"/>",
                middle - 4.0
            );
            put!(
                body,
                "<text class=\"soft end\" x=\"{:.1}\" y=\"{base:.1}\">{}</text>",
                frame.width - 76.0,
                count(folder.files)
            );
        }
        put!(
            body,
            "<text class=\"end\" x=\"{:.1}\" y=\"{base:.1}\">{}</text>",
            frame.width,
            size(folder.bytes)
        );
    }
    Drawing { height: real(lines.len() + 1) * ROW_HEIGHT, body }
}

fn real(value: usize) -> f64 {
    crate::repo::render::figures::to_f64(crate::repo::render::figures::to_u64(value))
}

/// Returns the largest folders, each below its parent.
fn lines(root: &FolderSize) -> Vec<TreeRow<'_>> {
    let mut least: Vec<u64> = Vec::new();
    collect(&root.folders, &mut least);
    least.sort_unstable_by_key(|bytes| std::cmp::Reverse(*bytes));
    let least = least.get(MAX_ROWS - 1).copied().unwrap_or_default();
    let mut lines = Vec::new();
    for folder in &root.folders {
        add(folder, 0, None, least, &mut lines);
    }
    lines
}

fn is_folder(folder: &FolderSize) -> bool {
    folder.path.ends_with('/')
}

fn collect(folders: &[FolderSize], sizes: &mut Vec<u64>) {
    for folder in folders.iter().filter(|folder| is_folder(folder)) {
        sizes.push(folder.bytes);
        collect(&folder.folders, sizes);
    }
}

fn add<'a>(
    folder: &'a FolderSize,
    level: usize,
    parent: Option<usize>,
    least: u64,
    lines: &mut Vec<TreeRow<'a>>,
) {
    if !is_folder(folder) || folder.bytes < least || lines.len() == MAX_ROWS {
        return;
    }
    let at = lines.len();
    lines.push(TreeRow { folder, level, parent });
    for inner in &folder.folders {
        add(inner, level + 1, Some(at), least, lines);
    }
}
