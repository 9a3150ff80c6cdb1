//! Inserts values from files. The caller reads the files.

use crate::{
    problem::EntryProblem,
    server::{EntryTransport, McpServerEntry, SecretUse},
};
use std::io;

/// Inserts the contents of secret files and of the env file. `read` gets each path as written, with variables expanded.
/// One line break at the end of a secret is not part of it. The entry itself takes precedence over the env file.
pub fn with_secrets(
    server: &McpServerEntry,
    read: &dyn Fn(&str) -> io::Result<String>,
) -> Result<McpServerEntry, Vec<EntryProblem>> {
    let mut full = server.clone();
    let mut problems = Vec::new();
    for secret in std::mem::take(&mut full.secrets) {
        match secret_text(&secret.path, read) {
            Ok(text) => put(&mut full.way, &secret.goes, text, &mut problems),
            Err(problem) => problems.push(problem),
        }
    }
    if let Some(path) = full.env_file.take() {
        match read(&path) {
            Ok(text) => put_variables(&mut full.way, &path, &text, &mut problems),
            Err(error) => problems.push(unreadable(&path, &error)),
        }
    }
    if problems.is_empty() {
        return Ok(full);
    }
    Err(problems.into_iter().map(|problem| problem.in_entry(&server.name)).collect())
}

/// Reads a secret that is the only content of a file.
pub fn secret_text(
    path: &str,
    read: &dyn Fn(&str) -> io::Result<String>,
) -> Result<String, EntryProblem> {
    let text = read(path).map_err(|error| unreadable(path, &error))?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    if text.is_empty() {
        return Err(EntryProblem::new(
            format!("the file {path:?} is empty"),
            "write the secret into it",
        ));
    }
    if text.contains(['\r', '\n', '\0']) {
        return Err(EntryProblem::new(
            format!("the file {path:?} has more than one line"),
            "keep only the secret in it",
        ));
    }
    Ok(text.to_owned())
}

fn unreadable(path: &str, error: &io::Error) -> EntryProblem {
    EntryProblem::new(
        format!("the file {path:?} can't be read: {error}"),
        "create it, or correct its path or mode",
    )
}

fn put(way: &mut EntryTransport, goes: &SecretUse, text: String, problems: &mut Vec<EntryProblem>) {
    match (way, goes) {
        (EntryTransport::Program { env, .. }, SecretUse::Variable(name)) => {
            env.insert(name.clone(), text);
        }
        (EntryTransport::Remote { headers, .. }, SecretUse::Header(name)) => {
            headers.insert(name.clone(), text);
        }
        (EntryTransport::Remote { headers, .. }, SecretUse::Bearer) => {
            headers.insert("Authorization".to_owned(), format!("Bearer {text}"));
        }
        (EntryTransport::Program { .. }, _) => problems.push(EntryProblem::new(
            "a program has no headers",
            "name the file under `env`, or give the server's `url`",
        )),
        (EntryTransport::Remote { .. }, _) => problems.push(EntryProblem::new(
            "a remote server has no environment variables",
            "name the file under `headers`, or give the server's `command`",
        )),
    }
}

/// `NAME=value` lines, with `export`, comments and quotes as usual.
fn put_variables(
    way: &mut EntryTransport,
    path: &str,
    text: &str,
    problems: &mut Vec<EntryProblem>,
) {
    let EntryTransport::Program { env, .. } = way else {
        problems.push(EntryProblem::new(
            "a remote server has no environment variables",
            "remove the env file from the entry",
        ));
        return;
    };
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let Some((name, value)) = line.split_once('=').filter(|(name, _)| is_name(name.trim()))
        else {
            problems.push(EntryProblem::new(
                format!("line {} of {path:?} is not NAME=value", index + 1),
                "fix it, or put a # before it",
            ));
            continue;
        };
        let value = unquoted(value.trim());
        env.entry(name.trim().to_owned()).or_insert(value);
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
}

fn unquoted(value: &str) -> String {
    let within = |quote: char| value.strip_prefix(quote).and_then(|rest| rest.split_once(quote));
    if let Some((inside, _)) = within('\'') {
        return inside.to_owned();
    }
    if let Some((inside, _)) = within('"') {
        return inside.replace("\\n", "\n");
    }
    value.split_once(" #").map_or(value, |(value, _)| value.trim_end()).to_owned()
}
