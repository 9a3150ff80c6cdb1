//! Other MCP servers, from tables and files to servers as they are started. What is wrong with one is told, and costs no
//! other.

use super::{
    ServerExtension, ServerEntryProblem, SandboxSetting, HubConfig, SecretText, ConfiguredServer, SignIn,
    environment::ConfigEnvironment,
    server_entry::{self, MOVE_TO_USER_CONFIG, check_server_name},
    keys,
    layers::ConfigInputs,
    redaction::ServerSecretMask,
    standard_paths::holds_credentials,
    raw_hub::{ToolExposure, RawHub},
    regular,
    resolve::{Resolver, read_secrets},
};
use docent_registry::{
    ConfigFormat, EntryProblem, ConfigContents, McpServerEntry, EntryTransport, expand, expand_text, read, read_tables, secret_text,
    with_secrets,
};
use indexmap::IndexMap;
use serde_json::Value;
use std::{
    cell::RefCell,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

/// Files of a project that name servers. They may be somebody else's, so they are told and not read.
const PROJECT_REGISTRY_FILES: [&str; 2] = [".mcp.json", "mcp.registry.json"];

/// Told to every program: how many docents are above it.
pub(crate) const NESTING_VARIABLE: &str = "DOCENT_WITHIN";

/// Variables that say in which folders programs find their settings. Of a repository, git runs what those name.
const SETTINGS_PATH_VARIABLES: [&str; 9] = [
    "HOME",
    "XDG_CONFIG_HOME",
    "XDG_CONFIG_DIRS",
    "XDG_DATA_HOME",
    "XDG_DATA_DIRS",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
    "GIT_DIR",
    "GIT_COMMON_DIR",
];

/// docent behind docent is of use; docent behind itself would start itself without end.
const MAX_NESTING: u32 = 3;

/// How many docents are above this one.
pub(crate) fn nesting_depth(environment: &ConfigEnvironment) -> u32 {
    environment.get(NESTING_VARIABLE).and_then(|text| text.parse().ok()).unwrap_or(0)
}

impl Resolver<'_> {
    pub(super) fn hub(&self, raw: &RawHub) -> HubConfig {
        let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let code = &raw.code;
        HubConfig {
            settings: docent_hub::HubSettings {
                exposure: match raw.exposure {
                    ToolExposure::Direct => docent_hub::CatalogExposure::Direct,
                    ToolExposure::Discover => docent_hub::CatalogExposure::Discover,
                    ToolExposure::Auto => docent_hub::CatalogExposure::Auto,
                },
                auto_tokens: size(raw.auto_tokens.into()),
                patience: Duration::from_millis(raw.patience_ms),
                traffic: None,
                workers: None,
                schema_check: docent_server::check_schema,
                script: docent_script::ScriptLimits {
                    memory_bytes: size(code.memory_bytes),
                    time: Duration::from_millis(code.time_ms),
                    calls: size(code.calls.into()),
                    calls_at_once: size(code.calls_at_once.max(1).into()),
                    output_bytes: size(code.output_bytes),
                },
            },
            registries: raw
                .registries
                .iter()
                .map(|file| self.path("hub.registries", file))
                .collect(),
        }
    }

    /// Every server that is configured, those of a project's own file marked, and what is wrong with any.
    pub(super) fn servers(
        &mut self,
        tables: &IndexMap<String, Value>,
        hub: &HubConfig,
        warnings: &mut Vec<String>,
    ) -> (Vec<ConfiguredServer>, Vec<ServerEntryProblem>) {
        let mut faults = Vec::new();
        let mut found = self.configured_tables(tables, &mut faults);
        for file in &hub.registries {
            match regular::read(file, regular::MAX_REGISTRY_BYTES) {
                Ok(bytes) => {
                    let reading = read(ConfigFormat::of(file), file, &bytes);
                    note_problems(&reading, &mut faults);
                    let base = file.parent().unwrap_or(Path::new(".")).to_owned();
                    let (all, of_projects): (Vec<_>, Vec<_>) =
                        reading.servers.into_iter().partition(|server| server.project.is_none());
                    faults.extend(project_entries_problem(file, &of_projects));
                    found.extend(all.into_iter().map(|server| DiscoveredServer {
                        server,
                        own: false,
                        of_a_project: false,
                        base: base.clone(),
                    }));
                }
                Err(error) => {
                    let told = format!(
                        "`hub.registries` names {}, which can't be read: {error}",
                        file.display()
                    );
                    faults.push(ServerEntryProblem { server: None, told, fatal: true });
                }
            }
        }
        self.files.extend(hub.registries.iter().cloned());
        warnings.extend(self.untrusted(hub));
        if !found.is_empty() && nesting_depth(&self.inputs.environment) >= MAX_NESTING {
            warnings.push(format!(
                "the servers behind docent are left out: docent was started by docent {DEEPEST} times over; \
                 take docent out of `mcp_servers`"
            ));
            return (Vec::new(), faults);
        }
        let mut all: Vec<ConfiguredServer> = Vec::new();
        for one in found {
            let name = one.server.name.clone();
            if all.iter().any(|known| known.server.name == name) {
                let told = format!("the server `{name}` is named twice; the first counts");
                faults.push(ServerEntryProblem { server: Some(name), told, fatal: false });
                continue;
            }
            match self.entry(one) {
                Ok((entry, odd)) => {
                    all.push(entry);
                    faults.extend(odd);
                }
                Err(wrong) => faults.extend(wrong),
            }
        }
        (all, faults)
    }

    /// What stands under `mcp_servers`.
    fn configured_tables(&self, tables: &IndexMap<String, Value>, faults: &mut Vec<ServerEntryProblem>) -> Vec<DiscoveredServer> {
        let value = serde_json::to_value(tables).unwrap_or_default();
        let reading = read_tables(Path::new("mcp_servers"), &value);
        note_problems(&reading, faults);
        let of_a_project = |name: &str| {
            let prefix = keys::join("mcp_servers", name);
            let its = |key: &str| key == prefix || key.starts_with(&format!("{prefix}."));
            self.settings.origins().any(|(key, _)| its(key) && self.is_of_a_project(key))
        };
        let found = |server: McpServerEntry| DiscoveredServer {
            of_a_project: of_a_project(&server.name),
            base: self.path(&keys::join("mcp_servers", &server.name), ""),
            own: true,
            server,
        };
        reading.servers.into_iter().map(found).collect()
    }

    /// One entry as it is used, with what is odd about it; or why it can't be.
    fn entry(&mut self, found: DiscoveredServer) -> Result<(ConfiguredServer, Vec<ServerEntryProblem>), Vec<ServerEntryProblem>> {
        let DiscoveredServer { server, own, of_a_project, base } = found;
        if let Some(problem) = check_server_name(&server.name) {
            return Err(vec![Fault::of(&problem, true)]);
        }
        let (mut extra, mut odd) = server_entry::read(&server, own);
        if odd.iter().any(|fault| fault.fatal) {
            return Err(odd);
        }
        if !of_a_project {
            odd.extend(self.exposed_secrets(&server));
        }
        // What a project's own file says is not even looked up: a variable in it may hold a secret.
        let mut server =
            if of_a_project { server } else { self.filled(&server, &mut server_entry, &base)? };
        if extra.of_a_registry {
            odd.extend(self.remove_settings_paths(&mut server));
        }
        Ok((ConfiguredServer { server, extra, of_a_project }, odd))
    }

    /// Takes out the folders that programs find their settings in: what those name is run as well.
    fn remove_settings_paths(&self, server: &mut McpServerEntry) -> Vec<ServerEntryProblem> {
        let EntryTransport::Program { env, .. } = &mut server.way else { return Vec::new() };
        let mut faults = Vec::new();
        env.retain(|variable, value| {
            let is_home = SETTINGS_PATH_VARIABLES.contains(&variable.as_str());
            // What a program inherits anyway is no choice of the registry's.
            if !is_home || self.inputs.environment.get(variable) == Some(value.as_str()) {
                return true;
            }
            let what = "a registry leads no program to other settings, so that this is passed over";
            let problem = EntryProblem::new(what, MOVE_TO_USER_CONFIG).in_field(&format!("env.{variable}"));
            faults.push(ServerEntryProblem::of(&problem.in_entry(&server.name), false));
            false
        });
        faults
    }

    /// Secrets of variables that would stand among the arguments of a program, which every user of the machine can read.
    fn exposed_secrets(&self, server: &McpServerEntry) -> Option<ServerEntryProblem> {
        let EntryTransport::Program { args, .. } = &server.way else { return None };
        let used = RefCell::new(IndexMap::new());
        let lookup = |name: &str| {
            let value = self.inputs.environment.get(name)?.to_owned();
            used.borrow_mut().insert(name.to_owned(), value.clone());
            Some(value)
        };
        // What is wrong with one is told where it is put in.
        for arg in args {
            drop(expand_text(arg, &lookup));
        }
        let mut used = used.into_inner();
        if used.is_empty() {
            return None;
        }
        let masks = ServerSecretMask::new(&[]);
        used.retain(|name, value| masks.is_secret(name, value));
        let names: Vec<String> = used.into_keys().collect();
        (!names.is_empty()).then(|| ServerEntryProblem {
            server: Some(server.name.clone()),
            message: format!(
                "the server `{}`: `args` puts the value of {} in the process list, where other users can read it; give it \
                 by `env`, if the program takes it there",
                server.name,
                names.join(", ")
            ),
            fatal: false,
        })
    }

    /// The server with its variables and secrets in place.
    fn fill_variables(
        &mut self,
        server: &McpServerEntry,
        extra: &mut ServerExtension,
        base: &Path,
    ) -> Result<McpServerEntry, Vec<ServerEntryProblem>> {
        let withheld = RefCell::new(Vec::new());
        let told = |problems: Vec<EntryProblem>| -> Vec<ServerEntryProblem> {
            let withheld = withheld.borrow();
            let explained = problems.into_iter().map(|problem| explain_withheld(problem, &withheld));
            explained.map(|problem| ServerEntryProblem::of(&problem, true)).collect()
        };
        let inputs = self.inputs;
        let used = RefCell::new(Vec::new());
        let lookup = |name: &str| {
            // The key of docent's own clients is for docent alone.
            if name.starts_with("DOCENT_") || name == "MCP_API_KEY" {
                withheld.borrow_mut().push(name.to_owned());
                return None;
            }
            let value = inputs.environment.get(name).map(str::to_owned);
            used.borrow_mut().extend(value.clone());
            value
        };
        let place = |path: &str| match (path.strip_prefix("~/"), &inputs.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => base.join(path),
        };
        let files = RefCell::new(Vec::new());
        let is_bound = extra.of_a_registry;
        let read = |path: &str| -> io::Result<String> {
            let path = place(path);
            if is_bound {
                check_file_reference(&path, base, inputs)?;
            }
            files.borrow_mut().push(path.clone());
            let text = read_secrets(&path)?;
            used.borrow_mut().push(text.trim().to_owned());
            Ok(text)
        };
        let full = expand(server, &lookup).and_then(|full| with_secrets(&full, &read));
        let signed = sign_in(&mut extra.oauth, &lookup, &read);
        // A file that is missing may come.
        self.files.extend(files.into_inner());
        let mut full = full.map_err(told)?;
        signed.map_err(|problem| told(vec![problem.in_entry(&server.name)]))?;
        let used = used.into_inner();
        if let Some(name) = self.is_a_key(&full, extra) {
            let told = format!(
                "the server `{}` would get the token of the key `{name}`, which is for docent's own clients: give it one of its own",
                server.name
            );
            return Err(vec![Fault { server: Some(server.name.clone()), told, fatal: true }]);
        }
        // Values that come from elsewhere may be secrets; short ones would mask ordinary words.
        self.secrets.extend(used.into_iter().filter(|value| value.len() >= 8).map(SecretText::new));
        self.secrets.extend(extra.oauth.client_secret.clone());
        if let EntryTransport::Program { cwd: Some(cwd), .. } = &mut full.way {
            *cwd = place(cwd).display().to_string();
        }
        if let SandboxSetting::More { read, write, .. } = &mut extra.sandbox {
            for path in read.iter_mut().chain(write) {
                let text = path.to_string_lossy().into_owned();
                *path = place(&text);
            }
        }
        Ok(full)
    }

    /// The key whose token is somewhere in a server's entry.
    fn is_a_key(&self, server: &McpServerEntry, extra: &ServerExtension) -> Option<String> {
        let mut values: Vec<&str> = match &server.way {
            EntryTransport::Program { command, args, env, cwd, .. } => {
                let all = args.iter().chain(env.values()).chain([command]).chain(cwd);
                all.map(String::as_str).collect()
            }
            EntryTransport::Remote { url, headers, .. } => {
                headers.values().chain([url]).map(String::as_str).collect()
            }
        };
        let oauth = &extra.oauth;
        values.extend(oauth.client_id.iter().chain(&oauth.scopes).map(String::as_str));
        values.extend(oauth.client_secret.as_ref().map(SecretText::expose));
        let is_in = |token: &str| values.iter().any(|value| value.contains(token));
        self.tokens.iter().find(|(_, token)| is_in(token)).map(|(name, _)| name.clone())
    }

    /// Files of the project that name servers and are not read.
    fn untrusted(&self, hub: &HubConfig) -> Vec<String> {
        let files = PROJECT_REGISTRY_FILES.iter().map(|name| self.inputs.working_dir.join(name));
        let told = |file: PathBuf| {
            format!(
                "{} names servers and is not read, because it may be somebody else's: take them over with `docent servers import`, or name it in `hub.registries`",
                file.display()
            )
        };
        files.filter(|file| file.is_file() && !hub.registries.contains(file)).map(told).collect()
    }
}

/// A server as a file has it.
struct DiscoveredServer {
    server: McpServerEntry,
    /// Whether the file is written for docent.
    own: bool,
    of_a_project: bool,
    /// Where relative paths in it start.
    base: PathBuf,
}

/// What is wrong with a file. An entry that could be read all the same is used.
fn note_problems(reading: &ConfigContents, faults: &mut Vec<ServerEntryProblem>) {
    let is_read = |name: &str| reading.servers.iter().any(|server| server.name == name);
    faults.extend(
        reading
            .problems
            .iter()
            .map(|problem| ServerEntryProblem::of(problem, !problem.entry.as_deref().is_some_and(is_read))),
    );
}

/// Entries that a client keeps for one project: docent serves others as well.
fn project_entries_problem(file: &Path, servers: &[McpServerEntry]) -> Option<ServerEntryProblem> {
    let names: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
    let told = format!(
        "{} has servers for one project alone, which are passed over: {}; take them over with `docent servers import {}`",
        file.display(),
        names.join(", "),
        file.display()
    );
    (!names.is_empty()).then_some(ServerEntryProblem { server: None, message: told, fatal: false })
}

/// Refuses a file that a registry has no business with. docent reads what no server may, so that whoever writes a registry
/// could have it hand over the user's credentials.
fn check_file_reference(path: &Path, base: &Path, inputs: &ConfigInputs) -> io::Result<()> {
    let base = base.canonicalize()?;
    let real = match (path.canonicalize(), path.parent(), path.file_name()) {
        (Ok(real), ..) => real,
        // It may come.
        (Err(_), Some(folder), Some(name)) => folder.canonicalize()?.join(name),
        (Err(error), ..) => return Err(error),
    };
    if real.starts_with(&base) && !holds_credentials(&base, inputs) {
        return Ok(());
    }
    let what = "a registry names files beside itself alone, in a folder without other credentials: put both into one of \
                their own, or take the server over with `docent servers import`";
    Err(io::Error::new(io::ErrorKind::PermissionDenied, what))
}

/// A variable that was withheld from a server may well be set: explains why the server can't have it.
fn explain_withheld(problem: EntryProblem, withheld: &[String]) -> EntryProblem {
    let is_about = |name: &&String| problem.what == EntryProblem::unset_variable(name).what;
    let Some(name) = withheld.iter().find(is_about) else { return problem };
    let what = format!("the variable {name} is docent's own, and no server gets it");
    let remedy = "give the server's key in a variable of another name".to_owned();
    EntryProblem { what, remedy, ..problem }
}

/// Puts variables and the secret in place where an entry says how to sign in.
fn sign_in(
    oauth: &mut SignIn,
    lookup: &dyn Fn(&str) -> Option<String>,
    read: &dyn Fn(&str) -> io::Result<String>,
) -> Result<(), EntryProblem> {
    let filled = |field: &str, text: &str| {
        expand_text(text, lookup).map_err(|problem| problem.in_field(field))
    };
    if let Some(id) = &mut oauth.client_id {
        *id = filled("oauth.client_id", id)?;
    }
    for scope in &mut oauth.scopes {
        *scope = filled("oauth.scopes", scope)?;
    }
    let (variable, file) = (oauth.client_secret_env.take(), oauth.client_secret_file.take());
    let text = match (oauth.client_secret.take(), variable, file) {
        (None, None, None) => return Ok(()),
        (Some(text), None, None) => filled("oauth.client_secret", text.expose())?,
        (None, Some(name), None) => filled("oauth.client_secret_env", &format!("${{{name}}}"))?,
        (None, None, Some(path)) => {
            let path = filled("oauth.client_secret_file", &path)?;
            secret_text(&path, read)
                .map_err(|problem| problem.in_field("oauth.client_secret_file"))?
        }
        _ => {
            let what = "the secret is given more than once";
            let remedy = "keep one of client_secret, client_secret_env and client_secret_file";
            return Err(EntryProblem::new(what, remedy).in_field("oauth"));
        }
    };
    oauth.client_secret = Some(SecretText::new(text));
    Ok(())
}
