//! `docent servers import`: imports the servers of other clients into the user's own file.

use super::command::{Common, places};
use crate::{
    analyze::{Printed, UsedWrongly},
    cli,
    config::{
        self, Inputs, Masks,
        regular::{self, MAX_REGISTRY_BYTES},
    },
};
use anyhow::bail;
use docent_registry::{
    Client, Form, Places, Problem, Scope, Server, Way, candidates, expand, find, read, with_table,
};
use serde_json::{Value, json};
use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

/// A file to import servers from.
struct Source {
    path: PathBuf,
    form: Form,
    /// Whether entries for a single project are imported as well.
    with_projects: bool,
}

pub(super) fn import(from: &[String], dry_run: bool, common: &Common) -> anyhow::Result<Printed> {
    let inputs = common.inputs()?;
    // Reports what the project may not set. Servers are imported even if the configuration is invalid.
    drop(cli::load(&inputs));
    let file = common.file(&inputs, "add the entries under `mcpServers` by hand")?;
    let sources = sources(from, &inputs)?;
    let mut taking = Taking {
        inputs: &inputs,
        text: config::read_file(&file).unwrap_or_default(),
        told: String::new(),
        added: Vec::new(),
        left_out: Vec::new(),
        there_already: 0,
        broken: false,
    };
    for source in &sources {
        taking.take_all(source);
    }
    let Taking { text, told: mut output, added, left_out, there_already, broken, .. } = taking;
    if !added.is_empty() && !dry_run {
        config::write_file(&file, &text)?;
    }
    let verb = if dry_run { "would be added" } else { "added" };
    let servers = if added.len() == 1 { "server" } else { "servers" };
    writeln!(output, "{} {servers} {verb} to {}", added.len(), file.display()).unwrap_or_default();
    let failed = broken || (added.is_empty() && there_already == 0);
    let value = json!({"file": file, "written": !added.is_empty() && !dry_run, "added": added, "leftOut": left_out});
    Ok(common.printed_with(output, &value, failed))
}

/// Returns the files to import from. Project-level files may come from an untrusted repo, so they must be named.
fn sources(from: &[String], inputs: &Inputs) -> anyhow::Result<Vec<Source>> {
    let places = places(inputs)?;
    let found = find(&places);
    if from.is_empty() {
        let own = found.iter().filter(|source| source.scope == Scope::User);
        let own = own.map(|source| Source {
            path: source.path.clone(),
            form: Form::Client(source.client),
            with_projects: false,
        });
        let own: Vec<Source> = own.collect();
        if own.is_empty() {
            let known: Vec<&str> = Client::ALL.iter().map(|client| client.id()).collect();
            bail!("no client configuration found; supported clients: {}", known.join(", "));
        }
        return Ok(own);
    }
    let mut sources = Vec::new();
    for word in from {
        let path = inputs.working_dir.join(word);
        match Client::parse(word) {
            _ if path.is_file() => {
                sources.push(Source { form: Form::of(&path), path, with_projects: true });
            }
            Some(client) => {
                let its = found.iter().filter(|source| source.client == client);
                let before = sources.len();
                sources.extend(its.map(|source| Source {
                    path: source.path.clone(),
                    form: Form::Client(client),
                    with_projects: true,
                }));
                if sources.len() == before {
                    bail!(
                        "no configuration of {client} found; looked for {}",
                        looked_for(client, &places)
                    );
                }
            }
            None => {
                let known: Vec<&str> = Client::ALL.iter().map(|client| client.id()).collect();
                bail!(UsedWrongly(format!(
                    "{word:?} is neither a file nor a client; supported clients: {}",
                    known.join(", ")
                )));
            }
        }
    }
    Ok(sources)
}

fn looked_for(client: Client, places: &Places) -> String {
    let all = candidates(client, places);
    all.iter().map(|source| source.path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// The state of an import.
struct Taking<'a> {
    inputs: &'a Inputs,
    /// The new contents of the file.
    text: String,
    told: String,
    added: Vec<Value>,
    left_out: Vec<String>,
    there_already: usize,
    /// Whether a file could not be read.
    broken: bool,
}

impl Taking<'_> {
    fn take_all(&mut self, source: &Source) {
        let bytes = match regular::read(&source.path, MAX_REGISTRY_BYTES) {
            Ok(bytes) => bytes,
            Err(error) => {
                self.broken = true;
                return self.leave_out(format!("cannot read {}: {error}", source.path.display()));
            }
        };
        let reading = read(source.form, &source.path, &bytes);
        for problem in &reading.problems {
            self.broken |= problem.entry.is_none();
            self.leave_out(problem.to_string());
        }
        if reading.servers.is_empty() && reading.problems.is_empty() {
            self.leave_out(format!("no servers in {}", source.path.display()));
        }
        for server in reading.servers.into_iter().filter(|server| !is_docent(server)) {
            match &server.project {
                Some(project) if !source.with_projects => {
                    let (name, path) = (&server.name, source.path.display());
                    self.leave_out(format!("{name} of {project}: only for that project; name {path} to import it"));
                }
                _ => self.take(server, &source.path),
            }
        }
    }

    fn take(&mut self, mut server: Server, path: &Path) {
        if let Some(problem) = config::refused_name(&server.name) {
            return self.leave_out(problem.to_string());
        }
        let (read, unread): (Vec<_>, Vec<_>) = std::mem::take(&mut server.unknown)
            .into_iter()
            .partition(|(field, _)| config::is_read(field));
        server.unknown = read.into_iter().collect();
        let mut notes: Vec<String> = unread
            .iter()
            .map(|(field, _)| format!("{field} is not supported by docent and was dropped"))
            .collect();
        notes.extend(config::take_over(&mut server));
        match with_table(Some(&self.text), &server, false) {
            Ok(edited) if edited.changed => self.text = edited.text,
            Ok(_) => {
                self.there_already += 1;
                return self.say(&format!("{}  already exists", server.name));
            }
            Err(problem) => return self.leave_out(problem.to_string()),
        }
        let summary = Masks::new(&[]).server(&server);
        self.say(&format!("{}  {summary}  (from {})", server.name, path.display()));
        let environment = &self.inputs.environment;
        let missing = expand(&server, &|name: &str| environment.get(name).map(str::to_owned));
        notes.extend(
            missing.err().into_iter().flatten().map(|problem: Problem| problem.to_string()),
        );
        for note in &notes {
            self.say(&format!("  note: {note}"));
        }
        self.added
            .push(json!({"name": server.name, "summary": summary, "from": path, "notes": notes}));
    }

    fn leave_out(&mut self, what: String) {
        self.say(&format!("skipped: {what}"));
        self.left_out.push(what);
    }

    fn say(&mut self, line: &str) {
        writeln!(self.told, "{line}").unwrap_or_default();
    }
}

/// Whether an entry starts docent, which must not import itself.
fn is_docent(server: &Server) -> bool {
    matches!(&server.way, Way::Program { command, .. } if Path::new(command).file_stem().is_some_and(|name| name == "docent"))
}
