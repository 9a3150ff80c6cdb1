//! `cargo xtask tidy`: the rules of the house that a compiler doesn't check.

mod closed;
mod edges;
mod sources;
mod type_names;
mod wording;

use crate::workspace::XtaskWorkspace;
use anyhow::Result;
use sources::SourceFile;
use wording::WordingRules;

/// Prints every breach; gives back how many there were.
pub(crate) fn run(workspace: &XtaskWorkspace) -> Result<usize> {
    let files = sources::read_all(&workspace.root)?;
    let mut breaches = edges::check(&workspace.metadata)?;
    breaches.extend(files.iter().flat_map(sources::check_file));
    breaches.extend(closed::check(&workspace.root)?);
    let wording = WordingRules::parse()?;
    breaches.extend(files.iter().flat_map(|file| wording.check_file(&file.path, &file.text)));
    breaches.extend(wording.check_quoted(&workspace.root));
    breaches.extend(type_names::check(&workspace.metadata, &find_types(&files))?);
    for breach in &breaches {
        println!("{breach}");
    }
    println!("breaches of the house rules: {}", breaches.len());
    Ok(breaches.len())
}

/// Prints how plain the vocabulary is.
pub(crate) fn print_stats(workspace: &XtaskWorkspace) -> Result<()> {
    let files = sources::read_all(&workspace.root)?;
    let words: usize = files
        .iter()
        .filter(|file| file.is_rust())
        .map(|file| wording::count_words(&file.text))
        .sum();
    let types = type_names::count_shared(&find_types(&files));
    let per_mille = 1000 * types.shared / types.types.max(1);
    println!("\"told\", \"nobody\", \"whoever\", \"anew\" and \"somebody\" in .rs files: {words}");
    println!(
        "types that share their name: {} of {} ({}.{} %)",
        types.shared,
        types.types,
        per_mille / 10,
        per_mille % 10
    );
    Ok(())
}

fn find_types(files: &[SourceFile]) -> Vec<type_names::TypeDefinition> {
    files
        .iter()
        .filter(|file| file.is_rust())
        .flat_map(|file| type_names::find_definitions(&file.path, &file.text))
        .collect()
}
