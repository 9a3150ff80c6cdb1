//! Prints the analysis results of a folder's files, one JSON line per file, for comparison with oracles.
//!
//!     cargo run -p docent-syntax --example facts -- FOLDER [definitions|complexity|imports|security|patterns|shapes]
#![expect(clippy::disallowed_methods, reason = "the example reads the files that it is given")]

use docent_syntax::{
    Language,
    analysis::{
        AnalyzedSource, complexity,
        dependencies::{self, RepositoryFiles},
        patterns,
        rules::{self, RuleAnalysis},
    },
    parse,
};
use serde_json::{Value, json};
use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().expect("a folder"));
    let what = arguments.next().unwrap_or_else(|| "definitions".into());
    let mut files = Vec::new();
    collect(&folder, &mut files)?;
    files.sort();
    let relative =
        |file: &PathBuf| file.strip_prefix(&folder).unwrap_or(file).to_string_lossy().into_owned();
    let read = |path: &str| fs::read_to_string(folder.join(path)).ok();
    let view = RepositoryFiles::new(files.iter().map(relative), read, |_, _| None);
    let mut out = io::stdout().lock();
    for file in files {
        let path = relative(&file);
        if Language::from_path(&path).is_none() {
            continue;
        }
        let text = String::from_utf8_lossy(&fs::read(&file)?).into_owned();
        let Some(language) = Language::of_text(&path, &text) else { continue };
        let Ok(tree) = parse::tree(language, &text, &|| false) else { continue };
        let source = AnalyzedSource { path: &path, language, text: &text, tree: &tree };
        let facts: Value = match what.as_str() {
            "complexity" => json!(complexity::measure(&source)),
            "imports" => json!(dependencies::imports(&source, &view)),
            "security" => json!(rules::check(&source, RuleAnalysis::Security, &|| false)),
            "shapes" => json!(patterns::find(&source, &|| false)),
            "patterns" => json!(rules::check(&source, RuleAnalysis::Patterns, &|| false)),
            _ => {
                let all = parse::definitions(language, &path, &text, &tree).into_iter();
                json!(all.map(|one| one.annotation).collect::<Vec<_>>())
            }
        };
        writeln!(out, "{}", json!({"path": path, "language": language, what.as_str(): facts}))?;
    }
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect(&entry.path(), files)?;
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    Ok(())
}
