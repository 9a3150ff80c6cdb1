//! The aliases of mix.exs.

use super::{DeclaredTarget, TaskTarget, script};
use crate::repo::project::sources::OpenedManifest;

/// Reads the aliases of a mix.exs.
pub(super) fn mix(opened: &OpenedManifest<'_>) -> Vec<TaskTarget> {
    let mut offers = Vec::new();
    let mut open: Option<i32> = None;
    for (number, line) in (1..).zip(opened.text.lines()) {
        let line = line.trim();
        if line.starts_with("defp aliases") || line.starts_with("def aliases") {
            open = Some(0);
            continue;
        }
        let Some(depth) = open else { continue };
        if line == "end" {
            break;
        }
        if depth == 1
            && let Some(name) = alias_name(line)
        {
            let body = line.split_once(": ").map(|(_, body)| body.to_owned()).unwrap_or_default();
            let body = body.replace(['[', ']', '"'], "").replace(", ", "\n");
            let body = script(body.lines().map(|task| format!("mix {task}")));
            let command = format!("mix {name}");
            let target = DeclaredTarget { name: name.to_owned(), body, line: Some(number) };
            offers.push(target.offer(&opened.manifest.path, command));
        }
        let opened_here = line.matches('[').count();
        let closed_here = line.matches(']').count();
        let change = |count: usize| i32::try_from(count).unwrap_or(0);
        open = Some(depth + change(opened_here) - change(closed_here));
    }
    offers
}

fn alias_name(line: &str) -> Option<&str> {
    let (name, _) = line.split_once(": ")?;
    let name = name.trim_matches('"');
    let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '.' | '-');
    (!name.is_empty() && name.chars().all(is_part)).then_some(name)
}
