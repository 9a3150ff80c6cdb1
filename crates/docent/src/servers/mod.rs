//! Connects the configuration of other MCP servers with the hub.

mod approve;
mod command;
mod dialer;
mod edits;
mod import;
mod spec;
mod trial;
mod watch;

pub(crate) use command::{ServersCommand, places, run};
pub(crate) use dialer::Dial;
pub(crate) use spec::{all, one};
pub(crate) use watch::KeeperWatch;

use crate::{
    config::{Config, Environment},
    sandbox, scripts,
};
use anyhow::Context as _;
use docent_hub::{Hub, Memory};
use docent_keeper::{Begun, Commands, Keeper};
use docent_registry::Way;
use docent_traffic::Traffic;
use std::{ffi::OsString, path::PathBuf, sync::Arc};

/// What is needed to reach servers.
pub(crate) struct Means {
    /// Starts programs; created before the sandbox is entered. `None` if no program is needed.
    pub(crate) keeper: Option<Keeper>,
    /// The environment that programs may inherit.
    pub(crate) environment: Environment,
    /// The files that programs may read and run.
    pub(crate) open: sandbox::Open,
}

/// The same for serving: servers may be added later, when the sandbox no longer lets this process start programs.
pub(crate) fn lasting_means(config: &Config, environment: Environment) -> anyhow::Result<Means> {
    let means = means(config, environment)?;
    if means.keeper.is_some() {
        return Ok(means);
    }
    // If there is nothing to start yet, a failure is not fatal.
    let keeper = keeper(config, &means.environment).ok();
    Ok(Means::new(config, keeper, means.environment))
}

/// Starts the supervisor process if there are programs to start.
pub(crate) fn means(config: &Config, environment: Environment) -> anyhow::Result<Means> {
    let program = |way: &Way| matches!(way, Way::Program { .. });
    let wanted =
        config.servers.iter().any(|entry| !entry.of_a_project && program(&entry.server.way));
    let keeper = if wanted { Some(keeper(config, &environment)?) } else { None };
    Ok(Means::new(config, keeper, environment))
}

impl Means {
    /// Scans the machine. Must be called before the sandbox is entered.
    pub(crate) fn new(config: &Config, keeper: Option<Keeper>, environment: Environment) -> Self {
        let search = environment.get("PATH").unwrap_or_default();
        let open = match keeper {
            Some(_) => sandbox::look(config, search),
            None => sandbox::Open::default(),
        };
        Self { keeper, environment, open }
    }
}

/// Starts the supervisor process. Must be called while this process has one thread.
pub(crate) fn keeper(config: &Config, environment: &Environment) -> anyhow::Result<Keeper> {
    settle(begin()?, config, environment)
}

/// Begins to start the supervisor before the configuration is loaded.
pub(crate) fn begin() -> anyhow::Result<Begun> {
    Begun::start(&executable()?).context("can't start the process that starts servers")
}

fn executable() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("cannot locate the docent executable")
}

/// Passes the policy's allowed programs to the supervisor.
pub(crate) fn settle(
    begun: Begun,
    config: &Config,
    environment: &Environment,
) -> anyhow::Result<Keeper> {
    let mut settings = docent_keeper::Settings::new(executable()?);
    settings.commands = Commands {
        allowed: config.policy.commands.clone(),
        denied: config.policy.denied_commands.clone(),
        path: environment.get("PATH").map(OsString::from),
    };
    settings.own = Some(scripts::SUBCOMMAND.to_owned());
    begun.settle(settings).context("can't start the process that starts servers")
}

/// Returns the store of definitions and approvals.
pub(crate) fn memory(config: &Config) -> Memory {
    match &config.cache_dir {
        Some(folder) => Memory::new(folder.join("servers")),
        None => Memory::none(),
    }
}

/// Returns the folder of the servers' tokens.
pub(crate) fn tokens(config: &Config) -> Option<PathBuf> {
    config.cache_dir.as_ref().map(|folder| folder.join("tokens"))
}

/// Creates the hub of all configured servers. Must be called inside a runtime.
pub(crate) fn hub(
    config: &Config,
    means: Means,
    traffic: Option<Arc<Traffic>>,
) -> (Arc<Hub>, Arc<Dial>) {
    let workers = scripts::workers(config, &means);
    let dial = Arc::new(Dial::new(config.clone(), means));
    let workers = Some(workers);
    let settings = docent_hub::Settings { traffic, workers, ..config.hub.settings.clone() };
    let hub = Hub::new(settings, Arc::clone(&dial) as _, memory(config));
    hub.configure(all(config));
    (hub, dial)
}

/// Applies another configuration: only changed servers are restarted. The sandbox rules from the policy and the roots
/// stay as they were at the start, as they do for docent itself.
pub(crate) fn reconfigure(hub: &Hub, dial: &Dial, config: &Config) {
    let (mut config, start) = (config.clone(), dial.config());
    config.policy.sandbox.clone_from(&start.policy.sandbox);
    config.roots.clone_from(&start.roots);
    dial.renew(config.clone());
    hub.configure(all(&config));
}
