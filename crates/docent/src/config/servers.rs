//! Resolves other MCP servers from tables and files to entries ready to start. A problem of one server does not affect
//! the others.

use super::{
    ConfiguredServer, HubConfig, SandboxSetting, SecretText, ServerEntryProblem, ServerExtension,
    ServerOauth,
    environment::ConfigEnvironment,
    keys,
    layers::ConfigInputs,
    raw_hub::{RawHub, ToolExposure},
    redaction::ServerSecretMask,
    regular,
    resolve::{Resolver, read_secrets},
    server_entry::{self, MOVE_TO_USER_CONFIG, check_server_name},
    standard_paths::holds_credentials,
};
use docent_registry::{
    ConfigContents, ConfigFormat, EntryProblem, EntryTransport, McpServerEntry, expand,
    expand_text, read, read_tables, secret_text, with_secrets,
};
use indexmap::IndexMap;
use serde_json::Value;
use std::{
    cell::RefCell,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

/// Files of a project with servers. They may be untrusted, so they are reported but not read.
const PROJECT_REGISTRY_FILES: [&str; 2] = [".mcp.json", "mcp.registry.json"];

/// The variable that tells a program how many docents started each other above it.
pub(crate) const NESTING_VARIABLE: &str = "DOCENT_WITHIN";

/// Variables with the folders of programs' settings. git, for example, runs commands from a repository's settings.
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

/// Maximum nesting of docents: nesting is useful, but a docent configured as its own server would never stop starting.
const MAX_NESTING: u32 = 3;

/// Returns how many docents are above this one.
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

    /// Returns every configured server, with those of project files marked, and the problems of any.
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
                    let message =
                        format!("`hub.registries`: cannot read {}: {error}", file.display());
                    faults.push(ServerEntryProblem { server: None, message, fatal: true });
                }
            }
        }
        self.files.extend(hub.registries.iter().cloned());
        warnings.extend(self.untrusted(hub));
        if !found.is_empty() && nesting_depth(&self.inputs.environment) >= MAX_NESTING {
            warnings.push(format!(
                "other servers are disabled: docent was started by docent {MAX_NESTING} levels deep; \
                 remove docent from `mcp_servers`"
            ));
            return (Vec::new(), faults);
        }
        let mut all: Vec<ConfiguredServer> = Vec::new();
        for one in found {
            let name = one.server.name.clone();
            if all.iter().any(|known| known.server.name == name) {
                let message =
                    format!("the server `{name}` is configured twice; using the first entry");
                faults.push(ServerEntryProblem { server: Some(name), message, fatal: false });
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

    /// Reads the entries of `mcp_servers`.
    fn configured_tables(
        &self,
        tables: &IndexMap<String, Value>,
        faults: &mut Vec<ServerEntryProblem>,
    ) -> Vec<DiscoveredServer> {
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

    /// Resolves one entry, with its warnings, or returns its errors.
    fn entry(
        &mut self,
        found: DiscoveredServer,
    ) -> Result<(ConfiguredServer, Vec<ServerEntryProblem>), Vec<ServerEntryProblem>> {
        let DiscoveredServer { server, own, of_a_project, base } = found;
        if let Some(problem) = check_server_name(&server.name) {
            return Err(vec![ServerEntryProblem::of(&problem, true)]);
        }
        let (mut extra, mut odd) = server_entry::read(&server, own);
        if odd.iter().any(|fault| fault.fatal) {
            return Err(odd);
        }
        if !of_a_project {
            odd.extend(self.exposed_secrets(&server));
        }
        // Entries of a project file are not expanded: a variable in them may be a secret.
        let mut server =
            if of_a_project { server } else { self.fill_variables(&server, &mut extra, &base)? };
        if extra.of_a_registry {
            odd.extend(self.remove_settings_paths(&mut server));
        }
        Ok((ConfiguredServer { server, extra, of_a_project }, odd))
    }

    /// Removes variables with folders of settings, because programs run commands from those.
    fn remove_settings_paths(&self, server: &mut McpServerEntry) -> Vec<ServerEntryProblem> {
        let EntryTransport::Program { env, .. } = &mut server.way else { return Vec::new() };
        let mut faults = Vec::new();
        env.retain(|variable, value| {
            let is_home = SETTINGS_PATH_VARIABLES.contains(&variable.as_str());
            // A value that the program inherits anyway is not set by the registry.
            if !is_home || self.inputs.environment.get(variable) == Some(value.as_str()) {
                return true;
            }
            let what = "ignored, because a registry can't redirect a program to other settings";
            let problem =
                EntryProblem::new(what, MOVE_TO_USER_CONFIG).in_field(&format!("env.{variable}"));
            faults.push(ServerEntryProblem::of(&problem.in_entry(&server.name), false));
            false
        });
        faults
    }

    /// Finds secrets of variables in the arguments of a program, which every user of the machine can read.
    fn exposed_secrets(&self, server: &McpServerEntry) -> Option<ServerEntryProblem> {
        let EntryTransport::Program { args, .. } = &server.way else { return None };
        let used = RefCell::new(IndexMap::new());
        let lookup = |name: &str| {
            let value = self.inputs.environment.get(name)?.to_owned();
            used.borrow_mut().insert(name.to_owned(), value.clone());
            Some(value)
        };
        // Problems of variables are reported when they are expanded.
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
                "the server `{}`: `args` puts the value of {} in the process list, where other users can read it; pass it \
                 in `env` if the program supports that",
                server.name,
                names.join(", ")
            ),
            fatal: false,
        })
    }

    /// Returns the server with its variables and secrets filled in.
    fn fill_variables(
        &mut self,
        server: &McpServerEntry,
        extra: &mut ServerExtension,
        base: &Path,
    ) -> Result<McpServerEntry, Vec<ServerEntryProblem>> {
        let withheld = RefCell::new(Vec::new());
        let faults_of = |problems: Vec<EntryProblem>| -> Vec<ServerEntryProblem> {
            let withheld = withheld.borrow();
            let explained =
                problems.into_iter().map(|problem| explain_withheld(problem, &withheld));
            explained.map(|problem| ServerEntryProblem::of(&problem, true)).collect()
        };
        let inputs = self.inputs;
        let used = RefCell::new(Vec::new());
        let lookup = |name: &str| {
            // The key of docent's own clients must not reach servers.
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
        // A missing file may be created later.
        self.files.extend(files.into_inner());
        let mut full = full.map_err(faults_of)?;
        signed.map_err(|problem| faults_of(vec![problem.in_entry(&server.name)]))?;
        let used = used.into_inner();
        if let Some(name) = self.is_a_key(&full, extra) {
            let message = format!(
                "the server `{}` would get the token of the key `{name}`, which is for docent's own clients: use a separate token",
                server.name
            );
            return Err(vec![ServerEntryProblem {
                server: Some(server.name.clone()),
                message,
                fatal: true,
            }]);
        }
        // Expanded values may be secrets; masking short ones would affect ordinary words.
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

    /// Returns the key whose token is in a server's entry.
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

    /// Returns warnings about project files with servers, which are not read.
    fn untrusted(&self, hub: &HubConfig) -> Vec<String> {
        let files = PROJECT_REGISTRY_FILES.iter().map(|name| self.inputs.working_dir.join(name));
        let warning = |file: PathBuf| {
            format!(
                "{} has servers but is not read, because it could come from an untrusted repo: import them with `docent servers import`, or add it to `hub.registries`",
                file.display()
            )
        };
        files.filter(|file| file.is_file() && !hub.registries.contains(file)).map(warning).collect()
    }
}

/// A server entry from a file.
struct DiscoveredServer {
    server: McpServerEntry,
    /// Whether the file is written for docent.
    own: bool,
    of_a_project: bool,
    /// Where relative paths in it start.
    base: PathBuf,
}

/// Adds the problems of a file. Entries that could be read despite a problem are used.
fn note_problems(reading: &ConfigContents, faults: &mut Vec<ServerEntryProblem>) {
    let is_read = |name: &str| reading.servers.iter().any(|server| server.name == name);
    faults.extend(reading.problems.iter().map(|problem| {
        ServerEntryProblem::of(problem, !problem.entry.as_deref().is_some_and(is_read))
    }));
}

/// Reports entries that a client keeps for a single project, because docent serves others as well.
fn project_entries_problem(file: &Path, servers: &[McpServerEntry]) -> Option<ServerEntryProblem> {
    let names: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
    let message = format!(
        "{} has servers for a single project, which are ignored: {}; import them with `docent servers import {}`",
        file.display(),
        names.join(", "),
        file.display()
    );
    (!names.is_empty()).then_some(ServerEntryProblem { server: None, message, fatal: false })
}

/// Rejects a file that a registry may not refer to. docent can read more than any server, so a malicious registry could
/// make it hand over the user's credentials.
fn check_file_reference(path: &Path, base: &Path, inputs: &ConfigInputs) -> io::Result<()> {
    let base = base.canonicalize()?;
    let real = match (path.canonicalize(), path.parent(), path.file_name()) {
        (Ok(real), ..) => real,
        // A missing file may be created later.
        (Err(_), Some(folder), Some(name)) => folder.canonicalize()?.join(name),
        (Err(error), ..) => return Err(error),
    };
    if real.starts_with(&base) && !holds_credentials(&base, inputs) {
        return Ok(());
    }
    let what = "a registry can only refer to files next to it, in a folder without other credentials: put both into \
                their own folder, or import the server with `docent servers import`";
    Err(io::Error::new(io::ErrorKind::PermissionDenied, what))
}

/// Explains why a server can't use a variable that is set but withheld from servers.
fn explain_withheld(problem: EntryProblem, withheld: &[String]) -> EntryProblem {
    let is_about = |name: &&String| problem.what == EntryProblem::unset_variable(name).what;
    let Some(name) = withheld.iter().find(is_about) else { return problem };
    let what = format!("the variable {name} is reserved for docent and not passed to servers");
    let remedy = "use a variable of another name for the server's key".to_owned();
    EntryProblem { what, remedy, ..problem }
}

/// Expands the variables and the secret in an entry's OAuth settings.
fn sign_in(
    oauth: &mut ServerOauth,
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
            let what = "the secret is set more than once";
            let remedy = "keep one of client_secret, client_secret_env and client_secret_file";
            return Err(EntryProblem::new(what, remedy).in_field("oauth"));
        }
    };
    oauth.client_secret = Some(SecretText::new(text));
    Ok(())
}
