//! `docent servers import`: imports the servers of other clients into the user's own file.

use super::command::{ServersCommonArgs, places};
use crate::{
    analyze::{Printed, UsageError},
    cli,
    config::{
        self, ConfigInputs, ServerSecretMask,
        regular::{self, MAX_REGISTRY_BYTES},
    },
};
use anyhow::bail;
use docent_registry::{
    ClientFolders, ConfigFile, ConfigFormat, ConfigScope, EntryProblem, EntryTransport, McpClient,
    McpServerEntry, candidates, expand, find, read, settings_candidates, with_table,
};
use serde_json::{Value, json};
use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

/// A file to import servers from.
struct ImportSource {
    path: PathBuf,
    form: ConfigFormat,
    /// Whether entries for a single project are imported as well.
    with_projects: bool,
}

pub(super) fn import(
    from: &[String],
    dry_run: bool,
    common: &ServersCommonArgs,
) -> anyhow::Result<Printed> {
    let inputs = common.inputs()?;
    // Reports what the project may not set. Servers are imported even if the configuration is invalid.
    drop(cli::load(&inputs));
    let file = common.file(&inputs, "add the entries under `mcpServers` by hand")?;
    let sources = sources(from, &inputs)?;
    let mut taking = ServerImport {
        inputs: &inputs,
        text: config::read_file(&file).unwrap_or_default(),
        report: String::new(),
        added: Vec::new(),
        left_out: Vec::new(),
        there_already: 0,
        broken: false,
    };
    for source in &sources {
        taking.take_all(source);
    }
    let ServerImport { text, report: mut output, added, left_out, there_already, broken, .. } =
        taking;
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
fn sources(from: &[String], inputs: &ConfigInputs) -> anyhow::Result<Vec<ImportSource>> {
    let places = places(inputs)?;
    let mut found = find(&places);
    found.extend(settings_with_servers(&places));
    if from.is_empty() {
        let own = found.iter().filter(|source| source.scope == ConfigScope::User);
        let own = own.map(|source| ImportSource {
            path: source.path.clone(),
            form: ConfigFormat::Client(source.client),
            with_projects: false,
        });
        let own: Vec<ImportSource> = own.collect();
        if own.is_empty() {
            let known: Vec<&str> = McpClient::ALL.iter().map(|client| client.id()).collect();
            bail!("no client configuration found; supported clients: {}", known.join(", "));
        }
        return Ok(own);
    }
    let mut sources = Vec::new();
    for word in from {
        let path = inputs.working_dir.join(word);
        match McpClient::parse(word) {
            _ if path.is_file() => {
                sources.push(ImportSource {
                    form: ConfigFormat::of(&path),
                    path,
                    with_projects: true,
                });
            }
            Some(client) => {
                let its = found.iter().filter(|source| source.client == client);
                let before = sources.len();
                sources.extend(its.map(|source| ImportSource {
                    path: source.path.clone(),
                    form: ConfigFormat::Client(client),
                    with_projects: true,
                }));
                if sources.len() == before {
                    bail!(
                        "no configuration of {client} found; looked for {}",
                        searched_file(client, &places)
                    );
                }
            }
            None => {
                let known: Vec<&str> = McpClient::ALL.iter().map(|client| client.id()).collect();
                bail!(UsageError(format!(
                    "{word:?} is neither a file nor a client; supported clients: {}",
                    known.join(", ")
                )));
            }
        }
    }
    Ok(sources)
}

/// Returns the clients' settings that have servers; most have none.
fn settings_with_servers(places: &ClientFolders) -> Vec<ConfigFile> {
    let all = McpClient::ALL.into_iter().flat_map(|client| settings_candidates(client, places));
    all.filter(has_servers).collect()
}

fn has_servers(source: &ConfigFile) -> bool {
    let Ok(bytes) = regular::read(&source.path, MAX_REGISTRY_BYTES) else { return false };
    let reading = read(ConfigFormat::Client(source.client), &source.path, &bytes);
    !reading.servers.is_empty() || reading.problems.iter().any(|problem| problem.entry.is_some())
}

fn searched_file(client: McpClient, places: &ClientFolders) -> String {
    let mut all = candidates(client, places);
    all.extend(settings_candidates(client, places));
    all.iter().map(|source| source.path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// The state of an import.
struct ServerImport<'a> {
    inputs: &'a ConfigInputs,
    /// The new contents of the file.
    text: String,
    report: String,
    added: Vec<Value>,
    left_out: Vec<String>,
    there_already: usize,
    /// Whether a file could not be read.
    broken: bool,
}

impl ServerImport<'_> {
    fn take_all(&mut self, source: &ImportSource) {
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
                    self.leave_out(format!(
                        "{name} of {project}: only for that project; name {path} to import it"
                    ));
                }
                _ => self.take(server, &source.path),
            }
        }
    }

    fn take(&mut self, mut server: McpServerEntry, path: &Path) {
        if let Some(problem) = config::check_server_name(&server.name) {
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
        notes.extend(config::strip_loosening(&mut server));
        match with_table(Some(&self.text), &server, false) {
            Ok(edited) if edited.changed => self.text = edited.text,
            Ok(_) => {
                self.there_already += 1;
                return self.push_line(&format!("{}  already exists", server.name));
            }
            Err(problem) => return self.leave_out(problem.to_string()),
        }
        let summary = ServerSecretMask::new(&[]).server(&server);
        self.push_line(&format!("{}  {summary}  (from {})", server.name, path.display()));
        let environment = &self.inputs.environment;
        let missing = expand(&server, &|name: &str| environment.get(name).map(str::to_owned));
        notes.extend(
            missing.err().into_iter().flatten().map(|problem: EntryProblem| problem.to_string()),
        );
        for note in &notes {
            self.push_line(&format!("  note: {note}"));
        }
        self.added
            .push(json!({"name": server.name, "summary": summary, "from": path, "notes": notes}));
    }

    fn leave_out(&mut self, what: String) {
        self.push_line(&format!("skipped: {what}"));
        self.left_out.push(what);
    }

    fn push_line(&mut self, line: &str) {
        writeln!(self.report, "{line}").unwrap_or_default();
    }
}

/// Whether an entry starts docent, which must not import itself.
fn is_docent(server: &McpServerEntry) -> bool {
    matches!(&server.way, EntryTransport::Program { command, .. } if Path::new(command).file_stem().is_some_and(|name| name == "docent"))
}
