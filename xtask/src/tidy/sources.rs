//! What a source file may look like: its length, its name, its opening words and the marks left in its comments.

use anyhow::{Context, Result};
use std::{
    fs,
    path::{Path, PathBuf},
};

const FOLDERS: [&str; 5] = ["crates", "docs", "fuzz", "tests", "xtask"];
const LONGEST: usize = 600;
/// Names that say nothing of what is inside.
const EMPTY_NAMES: [&str; 6] = ["utils", "util", "common", "helpers", "manager", "misc"];
/// Put together here so that this file doesn't hold what it looks for.
const MARKS: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "XX")];

/// A text file of the repository.
#[derive(Debug)]
pub(super) struct SourceFile {
    /// Relative to the root.
    pub(super) path: PathBuf,
    pub(super) text: String,
}

impl SourceFile {
    /// Whether it is Rust, and not a sample of a language pack.
    pub(super) fn is_rust(&self) -> bool {
        has_extension(&self.path, "rs") && !self.path.iter().any(|part| part == "languages")
    }
}

/// Reads the sources, checks and documents of the repository, in the order of their paths.
pub(super) fn read_all(root: &Path) -> Result<Vec<SourceFile>> {
    let mut paths = Vec::new();
    for folder in FOLDERS {
        collect(&root.join(folder), &mut paths)?;
    }
    for entry in fs::read_dir(root).with_context(|| format!("reading {}", root.display()))? {
        let path = entry?.path();
        if has_extension(&path, "md") {
            paths.push(path);
        }
    }
    paths.sort();
    let read = |path: PathBuf| {
        let text =
            fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        Ok(SourceFile { path: path.strip_prefix(root).unwrap_or(&path).to_owned(), text })
    };
    paths.into_iter().map(read).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if entry.file_type()?.is_dir() {
            if !matches!(&*name, "target" | "node_modules" | "corpus" | "artifacts" | "__pycache__")
                && !name.starts_with('.')
            {
                collect(&entry.path(), files)?;
            }
        } else if comment_sign(&entry.path()).is_some() || has_extension(&entry.path(), "md") {
            files.push(entry.path());
        }
    }
    Ok(())
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

/// What begins a comment, in the kinds of file that are looked at.
fn comment_sign(path: &Path) -> Option<&'static str> {
    match path.extension()?.to_str()? {
        "rs" | "mjs" | "js" | "ts" => Some("//"),
        "py" | "toml" | "sh" => Some("#"),
        _ => None,
    }
}

/// Lists what is wrong with one file.
pub(super) fn check_file(file: &SourceFile) -> Vec<String> {
    let SourceFile { path, text } = file;
    let mut breaches = Vec::new();
    let shown = path.display();
    if let Some(name) =
        path.iter().map(|part| part.to_string_lossy()).find(|part| is_empty_name(part))
    {
        breaches.push(format!(
            "{shown}: `{name}` doesn't say what is inside; name it after what it owns"
        ));
    }
    if let Some(sign) = comment_sign(path) {
        breaches.extend(marks(text, sign).map(|(line, mark)| {
            format!("{shown}:{line}: {mark} in a comment; do it now, or open an issue")
        }));
    }
    if has_extension(path, "rs") {
        breaches.extend(check_rust(path, text));
    }
    breaches
}

fn check_rust(path: &Path, text: &str) -> Vec<String> {
    let mut breaches = Vec::new();
    let shown = path.display();
    let lines = lines_before_tests(text);
    if lines > LONGEST && !is_test_file(path) {
        breaches.push(format!(
            "{shown}: {lines} lines before its tests; split it, {LONGEST} is the most"
        ));
    }
    if !opens_with_documentation(text) && !path.ends_with("tests.rs") {
        breaches.push(format!("{shown}: no `//!` at the top to say what this module owns"));
    }
    for (index, line) in text.lines().enumerate() {
        if let Some(name) = declared_module(line).filter(|name| is_empty_name(name)) {
            breaches
                .push(format!("{shown}:{}: module `{name}` doesn't say what is inside", index + 1));
        }
    }
    breaches
}

fn is_empty_name(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or(part);
    EMPTY_NAMES.contains(&stem)
}

/// Integration tests, and unit tests that have a file of their own.
fn is_test_file(path: &Path) -> bool {
    path.iter().any(|part| part == "tests" || part == "tests.rs")
}

fn declared_module(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = ["pub(crate) ", "pub(super) ", "pub "]
        .iter()
        .find_map(|sign| line.strip_prefix(sign))
        .unwrap_or(line);
    let name = line.strip_prefix("mod ")?;
    Some(name.split([' ', ';', '{']).next().unwrap_or(name))
}

/// The count stops at the inline module of tests, not at a test-only item or at a declaration of a test file.
fn lines_before_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let opens_tests = |index: usize| {
        lines[index].trim() == "#[cfg(test)]"
            && lines[index + 1..]
                .iter()
                .find(|line| !line.trim_start().starts_with("#["))
                .is_some_and(|line| {
                    declared_module(line).is_some() && line.trim_end().ends_with('{')
                })
    };
    (0..lines.len()).find(|index| opens_tests(*index)).unwrap_or(lines.len())
}

fn opens_with_documentation(text: &str) -> bool {
    text.lines()
        .map(str::trim)
        .find(|line| !(line.is_empty() || line.starts_with("#![") || line.starts_with("#!/")))
        .is_some_and(|line| line.starts_with("//!"))
}

/// Line numbers and marks, where a mark opens a comment. Prose about such marks, and strings that hold them, are not meant.
fn marks<'a>(text: &'a str, sign: &'a str) -> impl Iterator<Item = (usize, &'static str)> + 'a {
    text.lines().enumerate().filter_map(move |(index, line)| {
        let (before, comment) = line.split_once(sign)?;
        let in_string = before.matches('"').count() % 2 == 1;
        let opening = comment.trim_start_matches(['/', '!', '#', ' ']);
        let word =
            opening.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()?;
        let mark = MARKS.into_iter().find(|mark| *mark == word)?;
        (!in_string).then_some((index + 1, mark))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str, expected: &[&str]) {
        let found = check_file(&SourceFile { path: path.into(), text: text.to_owned() });
        assert_eq!(found.len(), expected.len(), "{path}: {found:?}");
        for (breach, word) in found.iter().zip(expected) {
            assert!(breach.contains(word), "{breach:?} doesn't hold {word:?}");
        }
    }

    #[test]
    fn names_must_say_something() {
        check("crates/a/src/utils.rs", "//! x\n", &["`utils.rs`"]);
        check("crates/a/src/common/mod.rs", "//! x\n", &["`common`"]);
        check("tests/clients/python/helpers.py", "x = 1\n", &["`helpers.py`"]);
        check(
            "crates/a/src/lib.rs",
            "//! x\npub(crate) mod misc;\nmod a;\n",
            &["lib.rs:2: module `misc`"],
        );
        check("crates/a/src/commons.rs", "//! x\n", &[]);
    }

    #[test]
    fn modules_open_with_what_they_own() {
        check("crates/a/src/a.rs", "\n#![forbid(unsafe_code)]\n//! Owns a.\n", &[]);
        check("crates/a/src/a.rs", "use std::fs;\n//! Too late.\n", &["no `//!`"]);
        check("crates/a/src/a.rs", "", &["no `//!`"]);
        check("crates/a/src/a/tests.rs", "use super::*;\n", &[]);
    }

    #[test]
    fn length_is_counted_up_to_the_tests() {
        let long = "//! x\n".to_owned() + &"fn f() {}\n".repeat(600);
        let tests = "#[cfg(test)]\n#[expect(unused, reason = \"x\")]\nmod tests {\n";
        check("crates/a/src/a.rs", &long, &["601 lines before its tests"]);
        check("crates/a/tests/it/main.rs", &long, &[]);
        check("crates/a/src/a.rs", &format!("//! x\n{tests}{long}}}\n"), &[]);
        check(
            "crates/a/src/a.rs",
            &format!("//! x\n#[cfg(test)]\nmod tests;\n{long}"),
            &["604 lines"],
        );
        check(
            "crates/a/src/a.rs",
            &format!("//! x\n#[cfg(test)]\nfn only() {{}}\n{long}"),
            &["604 lines"],
        );
    }

    #[test]
    fn marks_are_found_in_comments_alone() {
        let mark = MARKS[0];
        check("crates/a/src/a.rs", &format!("//! x\nf(); // {mark}: later\n"), &["a.rs:2:"]);
        check("xtask/a.toml", &format!("a = 1 # {mark}\n"), &["a.toml:1:"]);
        check("crates/a/src/a.rs", &format!("//! x\n    /// {mark}(me)\n"), &["a.rs:2:"]);
        for fine in [
            format!("f(\"{mark}\");"),
            format!("// {mark}S"),
            format!("f(\"// {mark}\");"),
            format!("// counts {mark}"),
        ] {
            check("crates/a/src/a.rs", &format!("//! x\n{fine}\n"), &[]);
        }
    }
}
