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
pub(crate) use dialer::ServerDialer;
pub(crate) use spec::{all_specs, spec_of};
pub(crate) use watch::KeeperWatch;

use crate::{
    config::{Config, ConfigEnvironment},
    sandbox, scripts,
};
use anyhow::Context as _;
use docent_hub::{Hub, ServerStateStore};
use docent_registry::EntryTransport;
use docent_supervisor::{CommandPolicy, Supervisor, UnconfiguredSupervisor};
use docent_traffic::Traffic;
use std::{ffi::OsString, path::PathBuf, sync::Arc};

/// What is needed to reach servers.
pub(crate) struct HubResources {
    /// Starts programs; created before the sandbox is entered. `None` if no program is needed.
    pub(crate) keeper: Option<Supervisor>,
    /// The environment that programs may inherit.
    pub(crate) environment: ConfigEnvironment,
    /// The files that programs may read and run.
    pub(crate) open: sandbox::GuardedAccess,
}

/// The same for serving: servers may be added later, when the sandbox no longer lets this process start programs.
pub(crate) fn serving_resources(
    config: &Config,
    environment: ConfigEnvironment,
) -> anyhow::Result<HubResources> {
    let means = hub_resources(config, environment)?;
    if means.keeper.is_some() {
        return Ok(means);
    }
    // If there is nothing to start yet, a failure is not fatal.
    let keeper = keeper(config, &means.environment).ok();
    Ok(HubResources::new(config, keeper, means.environment))
}

/// Starts the supervisor process if there are programs to start.
pub(crate) fn hub_resources(
    config: &Config,
    environment: ConfigEnvironment,
) -> anyhow::Result<HubResources> {
    let program = |way: &EntryTransport| matches!(way, EntryTransport::Program { .. });
    let wanted =
        config.servers.iter().any(|entry| !entry.of_a_project && program(&entry.server.way));
    let keeper = if wanted { Some(keeper(config, &environment)?) } else { None };
    Ok(HubResources::new(config, keeper, environment))
}

impl HubResources {
    /// Scans the machine. Must be called before the sandbox is entered.
    pub(crate) fn new(
        config: &Config,
        keeper: Option<Supervisor>,
        environment: ConfigEnvironment,
    ) -> Self {
        let search = environment.get("PATH").unwrap_or_default();
        let open = match keeper {
            Some(_) => sandbox::scan(config, search),
            None => sandbox::GuardedAccess::default(),
        };
        Self { keeper, environment, open }
    }
}

/// Starts the supervisor process. Must be called while this process has one thread.
pub(crate) fn keeper(
    config: &Config,
    environment: &ConfigEnvironment,
) -> anyhow::Result<Supervisor> {
    start_supervisor(begin_supervisor()?, config, environment)
}

/// Begins to start the supervisor before the configuration is loaded.
pub(crate) fn begin_supervisor() -> anyhow::Result<UnconfiguredSupervisor> {
    UnconfiguredSupervisor::start(&executable()?)
        .context("can't start the process that starts servers")
}

fn executable() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("cannot locate the docent executable")
}

/// Passes the policy's allowed programs to the supervisor.
pub(crate) fn start_supervisor(
    begun: UnconfiguredSupervisor,
    config: &Config,
    environment: &ConfigEnvironment,
) -> anyhow::Result<Supervisor> {
    let mut settings = docent_supervisor::SupervisorSettings::new(executable()?);
    settings.commands = CommandPolicy {
        allowed: config.policy.commands.clone(),
        denied: config.policy.denied_commands.clone(),
        path: environment.get("PATH").map(OsString::from),
    };
    settings.own = Some(scripts::WORKER_SUBCOMMAND.to_owned());
    begun.configure(settings).context("can't start the process that starts servers")
}

/// Returns the store of definitions and approvals.
pub(crate) fn approval_memory(config: &Config) -> ServerStateStore {
    match &config.cache_dir {
        Some(folder) => ServerStateStore::new(folder.join("servers")),
        None => ServerStateStore::disabled(),
    }
}

/// Returns the folder of the servers' tokens.
pub(crate) fn tokens(config: &Config) -> Option<PathBuf> {
    config.cache_dir.as_ref().map(|folder| folder.join("tokens"))
}

/// Creates the hub of all configured servers. Must be called inside a runtime.
pub(crate) fn hub(
    config: &Config,
    means: HubResources,
    traffic: Option<Arc<Traffic>>,
) -> (Arc<Hub>, Arc<ServerDialer>) {
    let workers = scripts::workers(config, &means);
    let dial = Arc::new(ServerDialer::new(config.clone(), means));
    let workers = Some(workers);
    let settings = docent_hub::HubSettings { traffic, workers, ..config.hub.settings.clone() };
    let hub = Hub::new(settings, Arc::clone(&dial) as _, approval_memory(config));
    hub.configure(all_specs(config));
    (hub, dial)
}

/// Applies another configuration: only changed servers are restarted. The sandbox rules from the policy and the roots
/// stay as they were at the start, as they do for docent itself.
pub(crate) fn reconfigure(hub: &Hub, dial: &ServerDialer, config: &Config) {
    let (mut config, start) = (config.clone(), dial.config());
    config.policy.sandbox.clone_from(&start.policy.sandbox);
    config.roots.clone_from(&start.roots);
    dial.set_config(config.clone());
    hub.configure(all_specs(&config));
}
