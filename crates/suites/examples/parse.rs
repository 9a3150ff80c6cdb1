//! Parses every file below a folder that docent has a grammar for, once, and does nothing with the trees: what
//! `cargo xtask bench repo` measures a deep analysis against.

#![expect(clippy::print_stdout, reason = "a program that prints what it did")]

use ignore::WalkBuilder;
use std::{collections::HashMap, error::Error, ffi::OsStr, fs, path::Path};
use tree_sitter::{Language, Parser};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).ok_or("usage: parse FOLDER")?;
    let mut parsers: HashMap<&str, Parser> = HashMap::new();
    let (mut files, mut bytes) = (0_u64, 0);
    let walk = WalkBuilder::new(folder).hidden(false).parents(false).require_git(false).build();
    for entry in walk {
        let entry = entry?;
        let Some((name, language)) = grammar(entry.path()) else { continue };
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        let source = fs::read(entry.path())?;
        if !parsers.contains_key(name) {
            let mut parser = Parser::new();
            parser.set_language(&language)?;
            parsers.insert(name, parser);
        }
        if let Some(parser) = parsers.get_mut(name) {
            parser.parse(&source, None).ok_or("the parser gave up")?;
        }
        files += 1;
        bytes += source.len();
    }
    println!("{files} files, {} kB", bytes / 1000);
    Ok(())
}

/// By the ending of the name, as in `code/language.rs`.
fn grammar(path: &Path) -> Option<(&'static str, Language)> {
    match path.extension().and_then(OsStr::to_str)? {
        "ts" | "mts" | "cts" => Some(("ts", tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into())),
        "tsx" => Some(("tsx", tree_sitter_typescript::LANGUAGE_TSX.into())),
        "js" | "mjs" | "cjs" | "jsx" => Some(("js", tree_sitter_javascript::LANGUAGE.into())),
        "py" | "pyi" => Some(("py", tree_sitter_python::LANGUAGE.into())),
        "go" => Some(("go", tree_sitter_go::LANGUAGE.into())),
        "java" => Some(("java", tree_sitter_java::LANGUAGE.into())),
        "rs" => Some(("rs", tree_sitter_rust::LANGUAGE.into())),
        _ => None,
    }
}
