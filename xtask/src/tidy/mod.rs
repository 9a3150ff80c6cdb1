//! `cargo xtask tidy`: the rules of the house that a compiler doesn't check.

mod closed;
mod edges;
mod sources;

use crate::workspace::Workspace;
use anyhow::Result;

/// Prints every breach; gives back how many there were.
pub(crate) fn run(workspace: &Workspace) -> Result<usize> {
    let mut breaches = edges::check(&workspace.metadata)?;
    breaches.extend(sources::check(&workspace.root)?);
    breaches.extend(closed::check(&workspace.root)?);
    for breach in &breaches {
        println!("{breach}");
    }
    println!("breaches of the house rules: {}", breaches.len());
    Ok(breaches.len())
}
