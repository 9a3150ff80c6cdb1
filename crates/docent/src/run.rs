//! `docent run`: runs another MCP server in the sandbox, without a shell and with a clean environment.

use crate::{
    analyze::UsageError,
    config::{Config, PolicyConfig},
    sandbox,
};
use anyhow::{Context as _, bail};
use docent_registry::EntryTransport;
use docent_sandbox::{ChildEnvironment, Launch, VariableOrigin, clean_environment};
use std::{
    collections::BTreeMap,
    ffi::OsString,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
};

/// What to run: a server by name, or a program with its arguments.
pub(crate) struct RunRequest {
    pub(crate) name: Option<String>,
    pub(crate) program: Vec<OsString>,
}

/// The command of a server.
struct ClientServerEntry {
    command: String,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    cwd: Option<PathBuf>,
}

/// Replaces this process with the program. Returns only on failure.
pub(crate) fn run(asked: &RunRequest, config: &Config) -> anyhow::Result<()> {
    let entry = entry(asked, config)?;
    check_allowed(&entry.command, &config.policy)?;
    let configured = entry.env.into_iter().map(|(name, value)| (name.into(), value.into()));
    let environment: ChildEnvironment = clean_environment(std::env::vars_os(), configured);
    for dropped in environment.dropped.iter().filter(|one| one.origin == VariableOrigin::Configured)
    {
        tracing::warn!(
            name = dropped.name,
            "environment variable not passed on: {}",
            dropped.reason
        );
    }
    let confinement = sandbox::program_confinement(config);
    let mut launch = Launch::new(&entry.command, &entry.args, confinement, sandbox::mode(config));
    launch.environment = environment;
    launch.cwd = entry.cwd;
    launch.bubblewrap = config.policy.sandbox.bubblewrap;
    let mut ready = launch.command()?;
    let names: Vec<_> = launch.environment.kept.keys().collect();
    tracing::info!(program = entry.command, arguments = ?entry.args, environment = ?names, "starting");
    for control in ready.report.missing() {
        tracing::warn!("{} is not active: {}", control.name, control.detail);
    }
    Err(ready.command.exec()).with_context(|| format!("cannot start {}", entry.command))
}

fn entry(asked: &RunRequest, config: &Config) -> anyhow::Result<ClientServerEntry> {
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    let Some(name) = &asked.name else {
        let Some((command, args)) = asked.program.split_first() else {
            let message = "name a server from `mcp_servers`, or a program after --";
            return Err(UsageError(message.into()).into());
        };
        let args = args.iter().map(text).collect();
        return Ok(ClientServerEntry {
            command: text(command),
            args,
            env: BTreeMap::new(),
            cwd: None,
        });
    };
    let Some(known) = config.servers.iter().find(|entry| entry.server.name == *name) else {
        let names: Vec<&String> = config.servers.iter().map(|entry| &entry.server.name).collect();
        let message =
            format!("unknown server {name:?}; known: {names:?}; to run a program, put it after --");
        return Err(UsageError(message).into());
    };
    if known.of_a_project {
        bail!("{}", config.untrusted_server(name));
    }
    let EntryTransport::Program { command, args, env, cwd, .. } = known.server.way.clone() else {
        bail!("`mcp_servers.{name}` is not a program: it needs a `command`");
    };
    Ok(ClientServerEntry {
        command,
        args,
        env: env.into_iter().collect(),
        cwd: cwd.map(PathBuf::from),
    })
}

/// Checks that the policy allows the program. A denied name is denied in every folder; an allowed program must match
/// as written, since any program can be given the name of another.
fn check_allowed(command: &str, policy: &PolicyConfig) -> anyhow::Result<()> {
    let name = Path::new(command).file_name().and_then(|name| name.to_str()).unwrap_or(command);
    if policy.denied_commands.iter().any(|denied| denied == command || denied == name) {
        bail!("{command} was not started: `policy.downstream.deny` denies it");
    }
    if !policy.commands.is_empty() && !policy.commands.iter().any(|allowed| allowed == command) {
        bail!("{command} was not started: add it to `policy.downstream.commands` to allow it");
    }
    Ok(())
}
