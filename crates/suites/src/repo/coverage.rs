//! Documentation coverage of public symbols, by language and folder.

use super::{
    facts::Symbol,
    report::{Coverage, Covered, Undocumented},
    survey::{is_test, percent},
    tree::folder_of,
};
use crate::code::Language;
use std::collections::{BTreeMap, BTreeSet};

/// Deepest folder level in the report.
const MAX_FOLDER_LEVELS: usize = 3;
const MAX_LISTED_FOLDERS: usize = 200;
const MAX_LISTED_UNDOCUMENTED: usize = 500;

/// Folders whose public symbols are not meant for users.
const NOT_OFFERED: [&str; 12] = [
    "examples",
    "example",
    "samples",
    "benches",
    "benchmarks",
    "fixtures",
    "testdata",
    "scripts",
    "migrations",
    "vendor",
    "third_party",
    "node_modules",
];

/// Sums up the public symbols of all files.
#[derive(Debug, Default)]
pub(super) struct CoverageSums {
    languages: BTreeMap<&'static str, (u64, u64)>,
    folders: BTreeMap<String, (u64, u64)>,
    undocumented: Vec<Undocumented>,
}

impl CoverageSums {
    /// Adds the symbols of one file.
    pub(super) fn take(&mut self, path: &str, symbols: &[Symbol]) {
        let Some(language) = Language::from_path(path) else { return };
        if language.is_outline() || symbols.is_empty() || !is_offered(path, language) {
            return;
        }
        let wanted = symbols.iter().filter(|symbol| wants_documentation(symbol, language));
        let (mut public, mut documented) = (0, 0);
        for symbol in wanted {
            public += 1;
            if symbol.documented {
                documented += 1;
            } else {
                self.undocumented.push(Undocumented {
                    symbol: symbol.name.to_string(),
                    kind: symbol.kind.to_owned(),
                    path: path.to_owned(),
                    line: u64::from(symbol.line),
                });
            }
        }
        let add = |sum: &mut (u64, u64)| {
            sum.0 += public;
            sum.1 += documented;
        };
        add(self.languages.entry(language.name()).or_default());
        add(self.folders.entry(shortened(folder_of(path))).or_default());
    }

    /// Returns the totals. `others` are the programming languages of the project, parsed or not.
    pub(super) fn finish(mut self, others: impl Iterator<Item = String>) -> Coverage {
        let covered = |name: String, (public, documented): (u64, u64)| Covered {
            name,
            public,
            documented,
            percent: percent(documented, public),
        };
        let mut languages: Vec<Covered> =
            self.languages.iter().map(|(name, sum)| covered((*name).to_owned(), *sum)).collect();
        languages.retain(|one| one.public > 0);
        languages.sort_by(|a, b| b.public.cmp(&a.public).then_with(|| a.name.cmp(&b.name)));
        let mut folders: Vec<Covered> =
            self.folders.into_iter().map(|(name, sum)| covered(name, sum)).collect();
        folders.retain(|one| one.public > 0);
        folders.sort_by(|a, b| a.percent.total_cmp(&b.percent).then_with(|| a.name.cmp(&b.name)));
        folders.truncate(MAX_LISTED_FOLDERS);
        self.undocumented.sort_by_cached_key(|one| (rank(&one.kind), one.path.clone(), one.line));
        self.undocumented.truncate(MAX_LISTED_UNDOCUMENTED);
        let public = languages.iter().map(|one| one.public).sum();
        let documented = languages.iter().map(|one| one.documented).sum();
        let read: BTreeSet<&str> = full_languages().map(Language::name).collect();
        let not_read = others.filter(|name| !is_read(name, &read)).collect();
        Coverage {
            public,
            documented,
            percent: percent(documented, public),
            languages,
            folders,
            undocumented: self.undocumented,
            not_read,
        }
    }
}

/// Whether a language is parsed; the line counter uses other names for some languages.
fn is_read(name: &str, read: &BTreeSet<&str>) -> bool {
    read.contains(name) || ["JSX", "TSX", "C Header", "C++ Header", "BASH", "Shell"].contains(&name)
}

/// Languages whose definitions are meant for use by others: a key of a data file needs no comment.
fn full_languages() -> impl Iterator<Item = Language> {
    Language::ALL.iter().copied().filter(|one| !one.is_outline())
}

/// Whether the symbols in a file are meant for users.
fn is_offered(path: &str, language: Language) -> bool {
    let mut parts = path.split('/');
    let private = |part: &str| {
        let stem = part.split('.').next().unwrap_or(part);
        // An underscore marks a module as private; `__init__` represents its package.
        language == Language::Python && stem.starts_with('_') && !stem.starts_with("__")
    };
    !is_test(path) && !parts.any(|part| NOT_OFFERED.contains(&part) || private(part))
}

/// Whether a symbol needs docs: methods that the language itself calls do not.
fn wants_documentation(symbol: &Symbol, language: Language) -> bool {
    let name = symbol.name.rsplit(['.', ':']).next().unwrap_or(&symbol.name);
    match language {
        Language::Python => !(name.starts_with("__") && name.ends_with("__")),
        Language::Rust => symbol.kind != "module",
        // Both names can mean something else: `constructor` is special in scripts only.
        Language::Go | Language::Java => true,
        _ => name != "constructor",
    }
}

/// Sorts types before functions, and functions before their parts.
fn rank(kind: &str) -> u8 {
    match kind {
        "trait" | "interface" | "class" | "struct" | "enum" | "type" => 0,
        "function" => 1,
        "method" => 2,
        _ => 3,
    }
}

fn shortened(folder: &str) -> String {
    let parts: Vec<&str> = folder.split('/').take(MAX_FOLDER_LEVELS).collect();
    format!("{}/", if folder.is_empty() { ".".to_owned() } else { parts.join("/") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(name: &str, kind: &'static str, line: u32, documented: bool) -> Symbol {
        Symbol { name: name.into(), kind, line, documented }
    }

    #[test]
    fn public_symbols_are_counted_where_others_may_use_them() {
        let mut sums = CoverageSums::default();
        sums.take(
            "src/lib.rs",
            &[symbol("A", "struct", 3, true), symbol("run", "function", 9, false)],
        );
        sums.take("src/a/b/c/d.rs", &[symbol("B", "trait", 1, false)]);
        sums.take("tests/it.rs", &[symbol("helper", "function", 1, false)]);
        sums.take("examples/x.py", &[symbol("main", "function", 1, false)]);
        sums.take("pkg/_private/x.py", &[symbol("f", "function", 1, false)]);
        sums.take(
            "pkg/__init__.py",
            &[symbol("C.__eq__", "method", 2, false), symbol("C", "class", 1, true)],
        );
        let others = ["Rust", "COBOL", "TSX"].map(str::to_owned).into_iter();
        let found = sums.finish(others);
        assert_eq!((found.public, found.documented), (4, 2));
        assert!((found.percent - 50.0).abs() < 0.01);
        let languages: Vec<_> =
            found.languages.iter().map(|l| (l.name.as_str(), l.public, l.documented)).collect();
        assert_eq!(languages, [("Rust", 3, 1), ("Python", 1, 1)]);
        let folders: Vec<_> = found.folders.iter().map(|f| (f.name.as_str(), f.public)).collect();
        assert_eq!(folders, [("src/a/b/", 1), ("src/", 2), ("pkg/", 1)]);
        let undocumented: Vec<_> =
            found.undocumented.iter().map(|u| (u.symbol.as_str(), u.line)).collect();
        assert_eq!(undocumented, [("B", 1), ("run", 9)]);
        assert_eq!(found.not_read, ["COBOL"]);
    }
}
