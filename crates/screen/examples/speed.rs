//! How fast text is screened when nothing is found: `speed FOLDER`, in release mode.
#![expect(clippy::disallowed_methods, reason = "the example reads the files that it is given")]
#![expect(clippy::print_stdout, reason = "an example reports to the terminal")]

use docent_screen::{Screen, one_line, visible};
use std::{fs, hint::black_box, path::PathBuf, time::Instant};

/// Enough to exceed the CPU caches.
const MAX_INPUT_BYTES: usize = 64 << 20;

fn main() {
    let mut left: Vec<PathBuf> = std::env::args().skip(1).map(PathBuf::from).collect();
    let screen = Screen::default();
    let (mut texts, mut bytes) = (Vec::new(), 0);
    while let Some(path) = left.pop().filter(|_| bytes < MAX_INPUT_BYTES) {
        if path.is_dir() {
            left.extend(
                fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()),
            );
        } else if let Ok(text) = fs::read_to_string(&path)
            && screen.find(&text).is_empty()
        {
            bytes += text.len();
            texts.push(text);
        }
    }
    let ascii = "let total = items.iter().map(|item| item.price).sum::<u64>();\n".repeat(1 << 20);
    measure("redact, source", &texts, |text| screen.redact(text).len());
    measure("visible, source", &texts, |text| visible(text).len());
    measure("one_line, source", &texts, |text| one_line(text).len());
    measure("visible, ASCII", &[ascii], |text| visible(text).len());
    let started = Instant::now();
    black_box(Screen::default());
    println!("Screen::new: {:?}", started.elapsed());
}

fn measure(what: &str, texts: &[String], run: impl Fn(&str) -> usize) {
    let bytes: usize = texts.iter().map(String::len).sum();
    let (started, before) = (Instant::now(), on_processor());
    for text in texts {
        black_box(run(black_box(text)));
    }
    let elapsed = started.elapsed().as_nanos();
    let taken = on_processor().zip(before).map_or(elapsed, |(after, before)| after - before);
    let rate = u128::try_from(bytes).unwrap_or(0) * 1000 / taken.max(1);
    println!("{what}: {} files, {bytes} bytes, {rate} MB/s", texts.len());
}

/// CPU time of this process in nanoseconds: on a busy machine wall-clock time is useless.
fn on_processor() -> Option<u128> {
    fs::read_to_string("/proc/self/schedstat").ok()?.split(' ').next()?.parse().ok()
}
