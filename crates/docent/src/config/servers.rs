//! Other MCP servers, from tables and files to servers as they are started. What is wrong with one is told, and costs no
//! other.

use super::{
    Hub, Secret, ServerEntry,
    environment::Environment,
    keys,
    raw_hub::{Exposure, RawHub},
    resolve::Resolver,
};
use docent_registry::{Form, Server, Way, expand, read, read_tables, with_secrets};
use indexmap::IndexMap;
use serde_json::Value;
use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

/// Files of a project that name servers. They may be somebody else's, so they are told and not read.
const OF_A_PROJECT: [&str; 2] = [".mcp.json", "mcp.registry.json"];

/// Told to every program: how many docents are above it.
pub(crate) const WITHIN: &str = "DOCENT_WITHIN";

/// docent behind docent is of use; docent behind itself would start itself without end.
const DEEPEST: u32 = 3;

/// How many docents are above this one.
pub(crate) fn depth(environment: &Environment) -> u32 {
    environment.get(WITHIN).and_then(|text| text.parse().ok()).unwrap_or(0)
}

impl Resolver<'_> {
    pub(super) fn hub(&self, raw: &RawHub) -> Hub {
        let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let code = &raw.code;
        Hub {
            settings: docent_hub::Settings {
                exposure: match raw.exposure {
                    Exposure::Direct => docent_hub::Exposure::Direct,
                    Exposure::Discover => docent_hub::Exposure::Discover,
                    Exposure::Auto => docent_hub::Exposure::Auto,
                },
                auto_tokens: size(raw.auto_tokens.into()),
                patience: Duration::from_millis(raw.patience_ms),
                traffic: None,
                script: docent_script::Limits {
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

    /// Every server that is configured, those of a project's own file marked.
    pub(super) fn servers(
        &mut self,
        tables: &IndexMap<String, Value>,
        hub: &Hub,
        warnings: &mut Vec<String>,
    ) -> Vec<ServerEntry> {
        let value = serde_json::to_value(tables).unwrap_or_default();
        let own = read_tables(Path::new("mcp_servers"), &value);
        warnings.extend(own.problems.iter().map(ToString::to_string));
        let of_a_project = |name: &str| {
            let prefix = keys::join("mcp_servers", name);
            let its = |key: &str| key == prefix || key.starts_with(&format!("{prefix}."));
            self.settings.origins().any(|(key, _)| its(key) && self.is_of_a_project(key))
        };
        let mut found: Vec<(Server, bool, PathBuf)> = Vec::new();
        for server in own.servers {
            let is_its = of_a_project(&server.name);
            let base = self.path(&keys::join("mcp_servers", &server.name), "");
            found.push((server, is_its, base));
        }
        for file in &hub.registries {
            let reading = match fs::read(file) {
                Ok(bytes) => read(Form::of(file), file, &bytes),
                Err(error) => {
                    warnings.push(format!(
                        "`hub.registries` names {}, which can't be read: {error}",
                        file.display()
                    ));
                    continue;
                }
            };
            warnings.extend(reading.problems.iter().map(ToString::to_string));
            let folder = file.parent().unwrap_or(Path::new(".")).to_owned();
            found.extend(reading.servers.into_iter().map(|server| (server, false, folder.clone())));
        }
        self.files.extend(hub.registries.iter().cloned());
        warnings.extend(self.untrusted(hub));
        if !found.is_empty() && depth(&self.inputs.environment) >= DEEPEST {
            warnings.push(format!(
                "the servers behind docent are left out: docent was started by docent {DEEPEST} times over; \
                 take docent out of `mcp_servers`"
            ));
            return Vec::new();
        }
        let mut all: Vec<ServerEntry> = Vec::new();
        for (server, of_a_project, base) in found {
            if all.iter().any(|known| known.server.name == server.name) {
                warnings
                    .push(format!("the server `{}` is named twice; the first counts", server.name));
                continue;
            }
            // What a project's own file says is not even looked up: a variable in it may hold a secret.
            let filled = if of_a_project { Ok(server) } else { self.filled(&server, &base) };
            match filled {
                Ok(server) => all.push(ServerEntry { server, of_a_project }),
                Err(problems) => warnings.extend(problems),
            }
        }
        all
    }

    /// The server with its variables and secrets in place.
    fn filled(&mut self, server: &Server, base: &Path) -> Result<Server, Vec<String>> {
        let told = |problems: Vec<docent_registry::Problem>| -> Vec<String> {
            problems.iter().map(ToString::to_string).collect()
        };
        let environment = &self.inputs.environment;
        let used = std::cell::RefCell::new(Vec::new());
        let lookup = |name: &str| {
            // What lets clients in to docent is nobody else's.
            let own = name.starts_with("DOCENT_") || name == "MCP_API_KEY";
            let value = environment.get(name).filter(|_| !own).map(str::to_owned);
            used.borrow_mut().extend(value.clone());
            value
        };
        let full = expand(server, &lookup).map_err(told)?;
        let home = self.inputs.home.clone();
        let place = |path: &str| match (path.strip_prefix("~/"), &home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => base.join(path),
        };
        let files = std::cell::RefCell::new(Vec::new());
        let read = |path: &str| -> io::Result<String> {
            let path = place(path);
            files.borrow_mut().push(path.clone());
            let text = fs::read_to_string(path)?;
            used.borrow_mut().push(text.trim().to_owned());
            Ok(text)
        };
        let mut full = with_secrets(&full, &read).map_err(told)?;
        self.files.extend(files.into_inner());
        let used = used.into_inner();
        if let Some(name) = self.is_a_key(&full) {
            return Err(vec![format!(
                "the server `{}` would get the token of the key `{name}`, which is for docent's own clients: give it one of its own",
                server.name
            )]);
        }
        // Values that come from elsewhere may be secrets; short ones would mask ordinary words.
        self.secrets.extend(used.into_iter().filter(|value| value.len() >= 8).map(Secret::new));
        if let Way::Program { cwd: Some(cwd), .. } = &mut full.way {
            *cwd = place(cwd).display().to_string();
        }
        Ok(full)
    }

    /// The key whose token is somewhere in a server's entry.
    fn is_a_key(&self, server: &Server) -> Option<String> {
        let values: Vec<&String> = match &server.way {
            Way::Program { args, env, .. } => args.iter().chain(env.values()).collect(),
            Way::Remote { url, headers, .. } => headers.values().chain([url]).collect(),
        };
        let is_in = |token: &str| values.iter().any(|value| value.contains(token));
        self.tokens.iter().find(|(_, token)| is_in(token)).map(|(name, _)| name.clone())
    }

    /// Files of the project that name servers and are not read.
    fn untrusted(&self, hub: &Hub) -> Vec<String> {
        let files = OF_A_PROJECT.iter().map(|name| self.inputs.working_dir.join(name));
        let told = |file: PathBuf| {
            format!(
                "{} names servers and is not read, because it may be somebody else's: take them over with `docent servers import`, or name it in `hub.registries`",
                file.display()
            )
        };
        files.filter(|file| file.is_file() && !hub.registries.contains(file)).map(told).collect()
    }
}
