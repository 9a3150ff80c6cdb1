//! Prints the findings in the text files of some folders: `findings [--every N] FOLDER…`.
#![expect(clippy::disallowed_methods, reason = "the example reads the files that it is given")]
#![expect(clippy::print_stdout, reason = "an example reports to the terminal")]

use docent_screen::Screen;
use std::{collections::BTreeMap, fs, path::PathBuf};

fn main() {
    let screen = Screen::default();
    let mut left: Vec<PathBuf> = std::env::args().skip(1).map(PathBuf::from).collect();
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut bytes, mut files) = (0_usize, 0_usize);
    while let Some(path) = left.pop() {
        let Ok(kind) = fs::symlink_metadata(&path) else { continue };
        if kind.is_dir() {
            left.extend(
                fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()),
            );
            continue;
        }
        let Some(text) = kind.is_file().then(|| fs::read_to_string(&path).ok()).flatten() else {
            continue;
        };
        bytes += text.len();
        files += 1;
        for finding in screen.find(&text) {
            *kinds.entry(finding.kind).or_default() += 1;
            let start = text.get(..finding.range.start).and_then(|before| before.rfind('\n'));
            let start = start
                .map_or(0, |at| at + 1)
                .max(text.floor_char_boundary(finding.range.start.saturating_sub(60)));
            let before = text.get(start..finding.range.start).unwrap_or_default();
            let secret: String =
                text.get(finding.range).unwrap_or_default().chars().take(90).collect();
            println!("{}\t{}\t{before:?}\t{secret:?}", finding.kind, path.display());
        }
    }
    let total: usize = kinds.values().sum();
    println!("# {files} files, {bytes} bytes, {total} findings {kinds:?}");
}
