//! Reads the project's files once, on all cores, and keeps the facts of each. Does not compare files.

use super::{
    analysis_scope::AnalysisScope,
    documents,
    facts::{DocumentFacts, DocumentFormat, Symbol},
    history::FileComplexity,
    languages::{self, LanguageLineCounts},
    report::{Nature, TaskFile},
    syntax,
    tree::{HaltCheck, ProjectFile, ProjectTree},
    words::WordSet,
};
use crate::{files::ReadFailure, worker_pools};
use docent_syntax::parse::ParseError;
use memchr::memmem;
use rayon::prelude::*;
use std::{
    borrow::Cow,
    collections::HashMap,
    sync::atomic::{AtomicUsize, Ordering},
};
use tokei::LanguageType;

/// Size above which data files are generated, so their words do not describe the code.
const MAX_DATA_BYTES: u64 = 256 << 10;
/// Number of first bytes checked for NUL, which marks a file as binary.
const BINARY_CHECK_BYTES: usize = 8 << 10;

const TASK_MARKERS: [&[u8]; 4] = [b"TODO", b"FIXME", b"HACK", b"XXX"];

/// Facts of all files, each by itself.
#[derive(Debug, Default)]
pub(super) struct SourceScan {
    /// Lines by language.
    pub(super) lines: HashMap<LanguageType, LanguageLineCounts>,
    /// Documents, by path.
    pub(super) documents: Vec<DocumentFacts>,
    /// Public symbols by file; `deep` only, like the following fields.
    pub(super) symbols: HashMap<Box<str>, Vec<Symbol>>,
    /// Complexity of each source file.
    pub(super) weights: HashMap<Box<str>, FileComplexity>,
    /// Every word of the code.
    pub(super) words: WordSet,
    /// Files with open tasks.
    pub(super) tasks: Vec<TaskFile>,
    /// Number of source files with inline tests.
    pub(super) inline_tests: u64,
    /// Files that are not text, although their names say so.
    pub(super) binary: Vec<(Box<str>, LanguageType)>,
    /// Files that could not be read.
    pub(super) problems: Vec<ReadFailure>,
}

/// Callback for the progress of a scan.
pub(super) type Progress<'a> = &'a (dyn Fn(usize) + Sync);

/// Reads every file in a known language. Returns how many were not read because the work was stopped.
pub(super) fn scan(
    tree: &ProjectTree,
    parts: AnalysisScope,
    halt: HaltCheck<'_>,
    progress: Progress<'_>,
) -> (SourceScan, usize) {
    let left = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    let take = |mut found: SourceScan, file: &ProjectFile| {
        if halt() {
            left.fetch_add(1, Ordering::Relaxed);
            return found;
        }
        found.take(tree, file, parts, halt);
        progress(done.fetch_add(1, Ordering::Relaxed) + 1);
        found
    };
    let found = worker_pools::run(|| {
        let files = tree.files().par_iter().filter(|file| file.language.is_some());
        files.fold(SourceScan::default, take).reduce(SourceScan::default, SourceScan::merge)
    });
    (found, left.into_inner())
}

impl SourceScan {
    fn take(
        &mut self,
        tree: &ProjectTree,
        file: &ProjectFile,
        parts: AnalysisScope,
        halt: HaltCheck<'_>,
    ) {
        let Some(language) = file.language else { return };
        let bytes = match tree.read(&file.path) {
            Ok(bytes) => bytes,
            Err(problem) => return self.problems.push(problem),
        };
        let Some(text) = as_utf8(&bytes) else {
            return self.binary.push((file.path.clone(), language));
        };
        if halt() {
            return;
        }
        let counted = languages::count(language, &text);
        self.lines.entry(language).or_default().add(counted);
        if language == LanguageType::Rust && has_inline_tests(&text) {
            self.inline_tests += 1;
        }
        let format = documents::format(&file.path, Some(language));
        // Generators write thousands of HTML pages; they matter only if links are checked.
        if let Some(format) = format.filter(|it| parts.links || *it != DocumentFormat::Html) {
            if halt() {
                return;
            }
            let text = String::from_utf8_lossy(&text);
            self.documents.push(documents::read(&file.path, format, &text));
        }
        if halt() {
            return;
        }
        if parts.redundancy {
            self.note_tasks(file, &text);
        }
        if parts.syntax {
            let complexity = self.take_code(file, languages::nature(language), &text, halt);
            let lines = counted.own.code;
            let weight = complexity.map(|complexity| FileComplexity { complexity, lines });
            self.weights.extend(weight.map(|weight| (file.path.clone(), weight)));
        }
    }

    fn note_tasks(&mut self, file: &ProjectFile, text: &[u8]) {
        let count = TASK_MARKERS.iter().map(|mark| whole_words(text, mark)).sum();
        if count > 0 {
            self.tasks.push(TaskFile { path: file.path.to_string(), count });
        }
    }

    /// Adds words and symbols; returns the file's complexity.
    fn take_code(
        &mut self,
        file: &ProjectFile,
        nature: Nature,
        text: &[u8],
        halt: HaltCheck<'_>,
    ) -> Option<u64> {
        if nature == Nature::Program || (nature == Nature::Data && file.bytes <= MAX_DATA_BYTES) {
            self.words.take(text);
        }
        if nature != Nature::Program {
            return None;
        }
        let read = std::str::from_utf8(text).ok().map(|text| syntax::read(&file.path, text, &halt));
        let facts = match read.transpose() {
            Ok(facts) => facts.flatten(),
            Err(ParseError::Stopped) => None,
            Err(error) => {
                let (path, reason) = (file.path.to_string(), error.to_string());
                self.problems.push(ReadFailure { path, reason });
                None
            }
        };
        let Some(facts) = facts else { return Some(indentations(text)) };
        self.symbols.insert(file.path.clone(), facts.symbols);
        Some(u64::from(facts.complexity))
    }

    /// Merges another part of the scan; keeps the larger collection to save work.
    fn merge(mut self, mut other: Self) -> Self {
        for (language, lines) in other.lines {
            self.lines.entry(language).or_default().add(lines);
        }
        self.documents.append(&mut other.documents);
        self.symbols.extend(other.symbols);
        self.weights.extend(other.weights);
        self.words.merge(other.words);
        self.tasks.append(&mut other.tasks);
        self.inline_tests += other.inline_tests;
        self.binary.append(&mut other.binary);
        self.problems.append(&mut other.problems);
        self
    }
}

/// Converts text to UTF-8 by its byte order mark; `None` if it is not text.
fn as_utf8(bytes: &[u8]) -> Option<Cow<'_, [u8]>> {
    let wide = |read: fn([u8; 2]) -> u16, rest: &[u8]| {
        let units = rest.chunks_exact(2).filter_map(|pair| pair.try_into().ok()).map(read);
        let text: String =
            char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
        Some(Cow::Owned(text.into_bytes()))
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => wide(u16::from_le_bytes, rest),
        [0xfe, 0xff, rest @ ..] => wide(u16::from_be_bytes, rest),
        [0xef, 0xbb, 0xbf, rest @ ..] => Some(Cow::Borrowed(rest)),
        _ if memchr::memchr(0, bytes.get(..BINARY_CHECK_BYTES).unwrap_or(bytes)).is_some() => None,
        _ => Some(Cow::Borrowed(bytes)),
    }
}

fn whole_words(bytes: &[u8], word: &[u8]) -> u64 {
    let is_part = |at: Option<usize>| {
        at.and_then(|at| bytes.get(at))
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    };
    let found = memmem::find_iter(bytes, word);
    found.filter(|&at| !is_part(at.checked_sub(1)) && !is_part(Some(at + word.len()))).count()
        as u64
}

/// Whether a Rust source has inline tests.
fn has_inline_tests(bytes: &[u8]) -> bool {
    [&b"#[test]"[..], b"#[cfg(test)]", b"#[tokio::test"]
        .iter()
        .any(|mark| memmem::find(bytes, mark).is_some())
}

/// Counts lines indented more than the previous one: an estimate of branches where no grammar is available.
fn indentations(text: &[u8]) -> u64 {
    let (mut deeper, mut last) = (0, 0);
    for line in text.split(|byte| *byte == b'\n') {
        let Some(indent) = line.iter().position(|byte| !byte.is_ascii_whitespace()) else {
            continue;
        };
        deeper += u64::from(indent > last);
        last = indent;
    }
    deeper
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_whole_words() {
        let text = b"// TODO: a\n// FIXME(b) XXX\nlet TODOS = todo; HACKED MY_TODO";
        assert_eq!(TASK_MARKERS.iter().map(|mark| whole_words(text, mark)).sum::<u64>(), 3);
    }

    #[test]
    fn text_differs_from_binary() {
        let cases: [(&[u8], Option<&[u8]>); 6] = [
            (b"plain", Some(b"plain")),
            (b"", Some(b"")),
            (b"\xef\xbb\xbfmarked", Some(b"marked")),
            (b"\xff\xfea\0b\0", Some(b"ab")),
            (b"\xfe\xff\0a\0b", Some(b"ab")),
            (b"G@\0\x10", None),
        ];
        for (bytes, want) in cases {
            assert_eq!(as_utf8(bytes).as_deref(), want, "{bytes:?}");
        }
    }

    #[test]
    fn blocks_stand_in_for_branches() {
        let cases = [("a\nb\n", 0), ("if a\n  b\n  c\n\n    d\ne\n  f\n", 3), ("", 0)];
        for (text, want) in cases {
            assert_eq!(indentations(text.as_bytes()), want, "{text:?}");
        }
    }
}
