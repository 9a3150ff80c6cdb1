//! Task runners with their own files: just, Task, cargo-make, and Cargo aliases.

use super::{DeclaredTarget, TaskTarget, body, script};
use crate::repo::project::sources::{ProjectSources, line_of, line_starting};
use serde_json::Value;

/// Reads the public recipes of a justfile.
pub(super) fn justfile(_: &ProjectSources<'_>, path: &str, text: &str) -> Vec<TaskTarget> {
    let mut found: Vec<(DeclaredTarget, Vec<String>)> = Vec::new();
    let mut private = false;
    let mut listed = false;
    for (number, line) in (1..).zip(text.lines()) {
        if line.starts_with([' ', '\t']) {
            if let (true, Some((target, _))) = (listed, found.last_mut()) {
                target.body.push_str(line.trim_start().trim_start_matches(['@', '-']));
                target.body.push('\n');
            }
            continue;
        }
        if line.starts_with('[') {
            private |= line.contains("private");
            continue;
        }
        let Some((name, parameters, needs)) = recipe(line) else { continue };
        listed = !std::mem::take(&mut private) && !name.starts_with('_');
        if listed {
            let target = DeclaredTarget { name: name.to_owned(), body: needs, line: Some(number) };
            found.push((target, parameters));
        }
    }
    let typed = |(target, parameters): (DeclaredTarget, Vec<String>)| {
        let command = [format!("just {}", target.name)].into_iter().chain(parameters);
        let command = command.collect::<Vec<_>>().join(" ");
        target.offer(path, command)
    };
    found.into_iter().map(typed).collect()
}

/// Parses a recipe's name, its required parameters as `<name>`, and its dependencies.
fn recipe(line: &str) -> Option<(&str, Vec<String>, String)> {
    let line = line.strip_prefix('@').unwrap_or(line);
    let (head, rest) = split_outside_quotes(line)?;
    if rest.starts_with('=') {
        return None;
    }
    let mut words = head.split_whitespace();
    let name = words.next()?;
    let is_name = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-');
    if !name.starts_with(|first: char| first.is_alphabetic() || first == '_')
        || !name.chars().all(is_name)
        || matches!(name, "set" | "alias" | "export" | "import" | "mod" | "unexport")
    {
        return None;
    }
    let required = words
        .filter(|word| !word.contains('=') && !word.starts_with('*'))
        .map(|word| format!("<{}>", word.trim_start_matches(['$', '+'])));
    let needs = rest.split('#').next().unwrap_or_default().split_whitespace();
    let needs = needs.map(|need| format!("just {}", need.trim_matches(['(', ')', '&'])));
    Some((name, required.collect(), script(needs)))
}

fn split_outside_quotes(line: &str) -> Option<(&str, &str)> {
    let mut quote = None;
    let at = line.char_indices().find(|(_, letter)| {
        match quote {
            Some(open) if *letter == open => quote = None,
            Some(_) => {}
            None if matches!(letter, '"' | '\'' | '`') => quote = Some(*letter),
            None => return *letter == ':',
        }
        false
    });
    let (head, rest) = line.split_at_checked(at?.0)?;
    (!head.starts_with('#')).then(|| (head, rest.strip_prefix(':').unwrap_or(rest)))
}

/// Reads the public tasks of a Taskfile.
pub(super) fn taskfile(path: &str, text: &str, value: &Value) -> Vec<TaskTarget> {
    let Some(tasks) = value.get("tasks").and_then(Value::as_object) else { return Vec::new() };
    let is_public = |task: &Value| task.get("internal") != Some(&Value::Bool(true));
    let listed = tasks.iter().filter(|(name, task)| is_public(task) && !name.contains('*'));
    let offer = |(name, task): (&String, &Value)| {
        let command = match name.as_str() {
            "default" => "task".to_owned(),
            name => format!("task {name}"),
        };
        let body = body(task, &["cmds", "cmd"]);
        let line = line_of(text, "tasks:", name);
        DeclaredTarget { name: name.clone(), body, line }.offer(path, command)
    };
    listed.map(offer).collect()
}

/// Reads the public cargo-make tasks.
pub(super) fn cargo_make(path: &str, text: &str, value: &Value) -> Vec<TaskTarget> {
    let Some(tasks) = value.get("tasks").and_then(Value::as_object) else { return Vec::new() };
    let is_public = |task: &Value| task.get("private") != Some(&Value::Bool(true));
    let listed = tasks.iter().filter(|(_, task)| is_public(task));
    let offer = |(name, task): (&String, &Value)| {
        let line = line_starting(text, &format!("[tasks.{name}]"));
        let body = body(task, &["script"]);
        DeclaredTarget { name: name.clone(), body, line }.offer(path, format!("cargo make {name}"))
    };
    listed.map(offer).collect()
}

/// Reads Cargo aliases.
pub(super) fn cargo_aliases(path: &str, text: &str, value: &Value) -> Vec<TaskTarget> {
    let Some(aliases) = value.get("alias").and_then(Value::as_object) else { return Vec::new() };
    let offer = |(name, alias): (&String, &Value)| {
        let words = body(alias, &[]).replace('\n', " ");
        let line = line_of(text, "[alias]", name);
        DeclaredTarget { name: name.clone(), body: format!("cargo {words}"), line }
            .offer(path, format!("cargo {name}"))
    };
    aliases.iter().map(offer).collect()
}
