//! Parses every file below a folder that docent has a grammar for, once, and does nothing with the trees: what
//! `cargo xtask bench repo` measures a deep analysis against.
#![expect(clippy::disallowed_methods, reason = "the example reads the files that it is given")]
#![expect(clippy::print_stdout, reason = "a program that prints what it did")]

use docent_syntax::Language;
use ignore::WalkBuilder;
use std::{
    collections::{HashMap, hash_map::Entry},
    error::Error,
    fs,
};
use tree_sitter::Parser;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).ok_or("usage: parse FOLDER")?;
    let mut parsers: HashMap<Language, Parser> = HashMap::new();
    let (mut files, mut bytes) = (0_u64, 0);
    let walk = WalkBuilder::new(folder).hidden(false).parents(false).require_git(false).build();
    for entry in walk {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy();
        let language = Language::from_path(&name).filter(|one| one.settings().searched);
        let Some(language) = language else { continue };
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        let source = fs::read(entry.path())?;
        let parser = match parsers.entry(language) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let mut parser = Parser::new();
                parser.set_language(&language.grammar().tables)?;
                new.insert(parser)
            }
        };
        parser.parse(&source, None).ok_or("the parser gave up")?;
        files += 1;
        bytes += source.len();
    }
    println!("{files} files, {} kB", bytes / 1000);
    Ok(())
}
