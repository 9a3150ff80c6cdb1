//! The folders as a tree, largest first, with their sizes.

use super::{
    folders::Folder,
    lettering::{SMALL, fit},
    markup::{Markup, put, text},
    picture::{Drawing, Frame},
};
use crate::repo::render::figures::{count, part, size};

/// Height of a row.
const LINE: f64 = 24.0;
/// Indentation per level.
const STEP: f64 = 20.0;
/// Maximum number of rows.
const MOST: usize = 40;

/// A row of the picture.
struct Line<'a> {
    folder: &'a Folder,
    level: usize,
    /// Row of its parent folder.
    parent: Option<usize>,
}

/// Returns the number of folders shown.
pub(super) fn shown(root: &Folder) -> usize {
    lines(root).len()
}

/// Draws the tree.
pub(super) fn draw(root: &Folder, frame: Frame) -> Drawing {
    let lines = lines(root);
    let mut body = Markup::default();
    let figures = if frame.narrow { 76.0 } else { 150.0 };
    let bar = if frame.narrow { 0.0 } else { 300.0 };
    let bars_at = frame.width - figures - bar;
    let largest = root.folders.iter().map(|folder| folder.bytes).max().unwrap_or_default();
    let top = LINE * 0.6;
    if bar > 0.0 {
        put!(
            body,
            "<text class=\"soft end\" x=\"{:.1}\" y=\"{top:.1}\">files</text>",
            frame.width - 76.0
        );
    }
    put!(body, "<text class=\"soft end\" x=\"{:.1}\" y=\"{top:.1}\">size</text>", frame.width);
    for (index, line) in lines.iter().enumerate() {
        let x = real(line.level) * STEP;
        let middle = real(index + 1) * LINE + LINE / 2.0;
        if let Some(parent) = line.parent {
            let top = real(parent + 1) * LINE + LINE - 3.0;
            let trunk = x - STEP + 6.0;
            put!(
                body,
                "<path class=\"branch\" d=\"M{trunk:.1} {top:.1}V{middle:.1}H{:.1}\"/>",
                x - 2.0
            );
        }
        let folder = line.folder;
        let base = middle + SMALL * 0.36;
        if let Some(name) = fit(&folder.name, SMALL, bars_at - x - 12.0) {
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
    Drawing { height: real(lines.len() + 1) * LINE, body }
}

fn real(value: usize) -> f64 {
    crate::repo::render::figures::real(crate::repo::render::figures::whole(value))
}

/// Returns the largest folders, each below its parent.
fn lines(root: &Folder) -> Vec<Line<'_>> {
    let mut least: Vec<u64> = Vec::new();
    collect(&root.folders, &mut least);
    least.sort_unstable_by_key(|bytes| std::cmp::Reverse(*bytes));
    let least = least.get(MOST - 1).copied().unwrap_or_default();
    let mut lines = Vec::new();
    for folder in &root.folders {
        add(folder, (0, None), least, &mut lines);
    }
    lines
}

fn is_folder(folder: &Folder) -> bool {
    folder.path.ends_with('/')
}

fn collect(folders: &[Folder], sizes: &mut Vec<u64>) {
    for folder in folders.iter().filter(|folder| is_folder(folder)) {
        sizes.push(folder.bytes);
        collect(&folder.folders, sizes);
    }
}

fn add<'a>(
    folder: &'a Folder,
    (level, parent): (usize, Option<usize>),
    least: u64,
    lines: &mut Vec<Line<'a>>,
) {
    if !is_folder(folder) || folder.bytes < least || lines.len() == MOST {
        return;
    }
    let at = lines.len();
    lines.push(Line { folder, level, parent });
    for inner in &folder.folders {
        add(inner, (level + 1, Some(at)), least, lines);
    }
}
