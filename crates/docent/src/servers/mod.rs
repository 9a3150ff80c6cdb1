//! Other MCP servers: from the configuration to the hub that fronts them.

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

/// What a server is reached with.
pub(crate) struct Means {
    /// Starts programs; made before the sandbox is entered. Where one call needs no program, there is none.
    pub(crate) keeper: Option<Keeper>,
    /// What programs may inherit.
    pub(crate) environment: Environment,
    /// What they may read and run.
    pub(crate) open: sandbox::Open,
}

/// The same for whoever serves: servers may be added while it does, and it can start no process any more.
pub(crate) fn lasting_means(config: &Config, environment: Environment) -> anyhow::Result<Means> {
    let means = means(config, environment)?;
    if means.keeper.is_some() {
        return Ok(means);
    }
    // Where nothing is to be started yet, nothing is lost without it.
    let keeper = keeper(config, &means.environment).ok();
    Ok(Means::new(config, keeper, means.environment))
}

/// Starts the process that starts programs, where there is any to start.
pub(crate) fn means(config: &Config, environment: Environment) -> anyhow::Result<Means> {
    let program = |way: &Way| matches!(way, Way::Program { .. });
    let wanted =
        config.servers.iter().any(|entry| !entry.of_a_project && program(&entry.server.way));
    let keeper = if wanted { Some(keeper(config, &environment)?) } else { None };
    Ok(Means::new(config, keeper, environment))
}

impl Means {
    /// Looks at what there is. To be called before the sandbox is entered.
    pub(crate) fn new(config: &Config, keeper: Option<Keeper>, environment: Environment) -> Self {
        let search = environment.get("PATH").unwrap_or_default();
        let open = match keeper {
            Some(_) => sandbox::look(config, search),
            None => sandbox::Open::default(),
        };
        Self { keeper, environment, open }
    }
}

/// Starts the process that starts programs. To be called while this process has one thread.
pub(crate) fn keeper(config: &Config, environment: &Environment) -> anyhow::Result<Keeper> {
    settle(begin()?, config, environment)
}

/// Begins to start it, for whoever does not have the configuration yet.
pub(crate) fn begin() -> anyhow::Result<Begun> {
    Begun::start(&executable()?).context("can't start the process that starts servers")
}

fn executable() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("can't find docent's own file")
}

/// Tells it what the policy lets it start.
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

/// Where what was learned of servers is kept.
pub(crate) fn memory(config: &Config) -> Memory {
    match &config.cache_dir {
        Some(folder) => Memory::new(folder.join("servers")),
        None => Memory::none(),
    }
}

/// Where tokens of servers are kept.
pub(crate) fn tokens(config: &Config) -> Option<PathBuf> {
    config.cache_dir.as_ref().map(|folder| folder.join("tokens"))
}

/// The hub over all servers that are configured. Must be called inside a runtime.
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

/// Puts another configuration in force: only what is different is started anew. What the kernel holds programs to by the
/// policy and the roots stays as it was at the start, as it does for docent itself.
pub(crate) fn reconfigure(hub: &Hub, dial: &Dial, config: &Config) {
    let (mut config, start) = (config.clone(), dial.config());
    config.policy.sandbox.clone_from(&start.policy.sandbox);
    config.roots.clone_from(&start.roots);
    dial.renew(config.clone());
    hub.configure(all(&config));
}
