//! The shell client: `docent tools`, `call`, `resources` and `prompts`, against docent itself or any other MCP server.
//!
//! `args` has the flags, `connection` the trait of a connected server, `console` the terminal. `in_process`,
//! `hub_connection` and `remote` connect to docent, a configured server, and one from the command line. `schema`,
//! `typing` and `arguments` convert words to arguments; `results`, `saving`, `pretty` and `layout` show results;
//! `questions` answers a server's requests; `completion` completes command lines.

pub(crate) mod args;
mod arguments;
mod call;
pub(crate) mod completion;
pub(crate) mod connection;
mod console;
mod hub_connection;
mod in_process;
mod layout;
mod pretty;
mod prompts;
pub(crate) mod questions;
mod remote;
mod resources;
mod results;
mod saving;
mod schema;
mod tools;
mod typing;

pub(crate) use remote::spec;

#[cfg(test)]
mod tests;

use crate::{
    analyze::{self, UsageError},
    cli,
    config::{Config, ConfigEnvironment, ConfigInputs},
    logging, serve,
    servers::{self, HubResources, ServerDialer},
};
use anyhow::{Context as _, anyhow, bail};
use args::{DOCENT_TARGET, ServerTarget, ShellCommand, ToolsFlags};
use completion::lists::{self, CompletionCache};
use connection::{RpcError, ServerConnection};
use console::ShellConsole;
use docent_hub::{ServerSpec, ServerTransport};
use docent_server::ServerSetup;
use docent_supervisor::UnconfiguredSupervisor;
use docent_tool::ToolProvider;
use hub_connection::HubConnection;
use in_process::InProcessConnection;
use questions::ClientRequestHandler;
use remote::RemoteConnection;
use serde_json::{Value, json};
use std::{
    borrow::Cow,
    future::Future,
    path::PathBuf,
    pin::Pin,
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tools::ToolList;

/// The context of a command besides the server.
pub(crate) struct ShellContext {
    console: Arc<ShellConsole>,
    questions: Arc<ClientRequestHandler>,
    /// The base of relative paths.
    folder: PathBuf,
    /// The names of configured servers.
    servers: Vec<String>,
    /// The file that caches the tools for completion.
    memory: Option<PathBuf>,
}

impl ShellContext {
    fn remember(&self, tools: &[Value]) {
        if let Some(memory) = &self.memory {
            // Completion is optional: a cache that can't be written is ignored.
            lists::write(memory, tools).unwrap_or_default();
        }
    }
}

/// Runs one command to its exit code.
pub(crate) fn run(
    command: &ShellCommand,
    environment: ConfigEnvironment,
) -> anyhow::Result<ExitCode> {
    let typed = command.target();
    // Start the supervisor while the configuration is loaded.
    let begun = if typed.is_program() { Some(servers::begin_supervisor()?) } else { None };
    let working_dir = std::env::current_dir().context("cannot determine the working directory")?;
    let no_color = environment.get("NO_COLOR").is_some();
    let inputs = ConfigInputs {
        environment,
        home: std::env::home_dir(),
        working_dir: working_dir.clone(),
        flags: typed.flags(),
    };
    let mut config = cli::load(&inputs)?;
    check_usable(command, &config)?;
    let _logging = logging::traces(&config).then(|| logging::init(&config)).transpose()?;
    if !command.is_call() && config.audit.file.is_none() {
        // Listing must not create a folder.
        config.audit.enabled = false;
    }
    let console = Arc::new(ShellConsole::of_process(no_color, typed.verbose));
    let questions = Arc::new(ClientRequestHandler::new(Arc::clone(&console), config.roots.clone()));
    let servers =
        ConfiguredServers { config, environment: inputs.environment, begun: Mutex::new(begun) };
    let desk = ShellContext {
        console,
        questions,
        folder: working_dir,
        servers: servers.names(),
        memory: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = runtime.block_on(perform(command, &servers, desk));
    // A pending question must not keep the process alive.
    runtime.shutdown_timeout(Duration::from_millis(100));
    outcome.map_err(escape_error)
}

/// Fails if the selected server is configured but unusable, with the reason.
fn check_usable(command: &ShellCommand, config: &Config) -> anyhow::Result<()> {
    let is_usable = |name: &str| config.servers.iter().any(|entry| entry.server.name == name);
    for fault in config.faults.iter().filter(|fault| fault.fatal) {
        if let Some(name) = fault.server.as_deref()
            && command.names(name)
            && !is_usable(name)
        {
            bail!("cannot use the server {name:?}: {}", fault.message);
        }
    }
    Ok(())
}

/// Escapes an error, which may contain a server's text, so that it can't act on the terminal.
fn escape_error(error: anyhow::Error) -> anyhow::Error {
    let text = format!("{error:#}");
    match docent_screen::visible(&text) {
        Cow::Borrowed(_) => error,
        Cow::Owned(shown) if error.is::<UsageError>() => UsageError(shown).into(),
        Cow::Owned(shown) => anyhow!(shown),
    }
}

type OpenFuture<'a> = Pin<Box<dyn Future<Output = anyhow::Result<Box<dyn ServerConnection>>> + 'a>>;

/// The available servers.
trait ServerDirectory {
    /// Returns the names of configured servers.
    fn names(&self) -> Vec<String>;
    /// Opens a connection.
    fn open<'a>(
        &'a self,
        target: &'a ServerTarget,
        questions: Arc<ClientRequestHandler>,
    ) -> OpenFuture<'a>;
    /// Returns the file that caches a server's tools.
    fn memory(&self, target: &ServerTarget) -> Option<PathBuf>;
}

/// The servers of this user.
struct ConfiguredServers {
    config: Config,
    environment: ConfigEnvironment,
    /// The supervisor, if it was started early.
    begun: Mutex<Option<UnconfiguredSupervisor>>,
}

impl ServerDirectory for ConfiguredServers {
    fn names(&self) -> Vec<String> {
        self.config.servers.iter().map(|entry| entry.server.name.clone()).collect()
    }

    fn open<'a>(
        &'a self,
        target: &'a ServerTarget,
        questions: Arc<ClientRequestHandler>,
    ) -> OpenFuture<'a> {
        Box::pin(self.connect(target, questions))
    }

    fn memory(&self, target: &ServerTarget) -> Option<PathBuf> {
        CompletionCache::open(&self.config)?.path(target, &self.config)
    }
}

async fn perform(
    command: &ShellCommand,
    servers: &dyn ServerDirectory,
    mut desk: ShellContext,
) -> anyhow::Result<ExitCode> {
    let (words, prints_json) = match command {
        ShellCommand::Tools(flags) => return list_tools(flags, servers, desk).await,
        ShellCommand::Call(flags) => (&flags.words, flags.prints_json()),
        ShellCommand::Resources(flags) => (&flags.words, flags.json),
        ShellCommand::Prompts(flags) => (&flags.words, flags.json),
    };
    let (target, words) = command.target().resolve_one(words, &desk.servers)?;
    desk.memory = servers.memory(&target);
    let peer = open(&target, servers, &desk).await?;
    let outcome = match command {
        ShellCommand::Call(flags) => call::run(&*peer, &desk, flags, &words).await,
        ShellCommand::Resources(flags) => resources::run(&*peer, &desk, flags, &words).await,
        ShellCommand::Prompts(flags) => prompts::run(&*peer, &desk, flags, &words).await,
        ShellCommand::Tools(_) => Ok(ExitCode::SUCCESS),
    };
    desk.console.finish();
    outcome.or_else(|error| report_refusal(error, &desk.console, prints_json))
}

/// Reports a server's error response, with advice.
fn report_refusal(
    error: anyhow::Error,
    console: &ShellConsole,
    prints_json: bool,
) -> anyhow::Result<ExitCode> {
    let error = error.downcast::<RpcError>()?;
    if prints_json {
        results::print_json(console, &json!({"error": error.json()}))?;
    }
    console.print_error(&format!("error: {error}\n{}", error.advice()));
    Ok(ExitCode::from(1))
}

async fn list_tools(
    flags: &ToolsFlags,
    servers: &dyn ServerDirectory,
    mut desk: ShellContext,
) -> anyhow::Result<ExitCode> {
    let (mut targets, rest) = flags.target.resolve(&flags.words, &desk.servers)?;
    if flags.all {
        targets = desk.servers.iter().cloned().map(ServerTarget::Server).collect();
        targets.insert(0, ServerTarget::Docent);
    }
    let wanted = match rest.as_slice() {
        [] => None,
        [tool] if targets.len() == 1 => Some(tool),
        [_] => bail!(UsageError("describe one tool at a time: name one server".into())),
        _ => bail!(UsageError(format!(
            "unknown servers: {} (to describe tools, name one at a time)",
            rest.join(" and ")
        ))),
    };
    let (mut all, mut failed) = (Vec::new(), false);
    for target in &targets {
        desk.memory = servers.memory(target);
        match listed(target, servers, &desk, wanted).await {
            Ok(listed) => all.push(listed),
            // A server that fails does not stop the others from being shown.
            Err(error) if targets.len() > 1 => {
                desk.console.print_error(&format!("{}: {error:#}", label(target)));
                failed = true;
            }
            Err(error) => return report_refusal(error, &desk.console, flags.json),
        }
    }
    let Some(wanted) = wanted else {
        tools::show(&all, flags, &desk.console)?;
        return Ok(ExitCode::from(u8::from(failed)));
    };
    let all = all.first().map(|server| server.tools.as_slice()).unwrap_or_default();
    let Some(tool) = call::find(wanted, all) else {
        let servers = if targets == [ServerTarget::Docent] { desk.servers.as_slice() } else { &[] };
        bail!(call::unknown(wanted, all, servers));
    };
    let named = targets.first().map(target_name).unwrap_or_default();
    tools::describe(tool, &named, flags, &desk.console)?;
    Ok(ExitCode::SUCCESS)
}

async fn listed(
    target: &ServerTarget,
    servers: &dyn ServerDirectory,
    desk: &ShellContext,
    wanted: Option<&String>,
) -> anyhow::Result<ToolList> {
    let peer = open(target, servers, desk).await?;
    let mut tools = connection::list(&*peer, "tools/list", "tools").await?;
    desk.remember(&tools);
    if let Some(wanted) = wanted.filter(|wanted| call::find(wanted, &tools).is_none()) {
        tools.extend(peer.unlisted_tool(wanted));
    }
    let (label, card, exposed) = (label(target), peer.server().clone(), peer.exposed());
    Ok(ToolList { label, card, tools, exposed })
}

/// Returns the name of a server for messages.
fn label(target: &ServerTarget) -> String {
    match target {
        ServerTarget::Docent => DOCENT_TARGET.into(),
        ServerTarget::Server(name) => name.clone(),
        ServerTarget::Url { url, .. } => url.clone(),
        ServerTarget::Program(words) => {
            words.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default()
        }
    }
}

/// Returns the flags that select a server on a command line.
fn target_name(target: &ServerTarget) -> String {
    match target {
        ServerTarget::Docent => String::new(),
        ServerTarget::Server(name) => format!(" --server {}", tools::shell_quote(name)),
        ServerTarget::Url { url, .. } => format!(" --url {}", tools::shell_quote(url)),
        ServerTarget::Program(words) => {
            let words = words
                .iter()
                .map(|word| format!(" {}", tools::shell_quote(&word.to_string_lossy())));
            format!(" --{}", words.collect::<String>())
        }
    }
}

/// Opens a connection; with `-v`, enables the server's logging.
async fn open(
    target: &ServerTarget,
    servers: &dyn ServerDirectory,
    desk: &ShellContext,
) -> anyhow::Result<Box<dyn ServerConnection>> {
    let peer = servers.open(target, Arc::clone(&desk.questions)).await?;
    if desk.console.verbose && peer.server().capabilities.get("logging").is_some() {
        // A server that rejects this logs at its own level.
        let level = json!({"level": "debug"});
        peer.request("logging/setLevel", level, &|_| {}).await.map(drop).unwrap_or_default();
    }
    Ok(peer)
}

impl ConfiguredServers {
    /// Opens a connection. The server's requests go to `questions`.
    async fn connect(
        &self,
        target: &ServerTarget,
        questions: Arc<ClientRequestHandler>,
    ) -> anyhow::Result<Box<dyn ServerConnection>> {
        let Self { config, environment, .. } = self;
        Ok(match target {
            ServerTarget::Docent => {
                let means = servers::hub_resources(config, environment.clone())?;
                let (hub, _) = servers::hub(config, means, None);
                let mut providers = serve::suites(config)?.providers;
                providers.push(Arc::clone(&hub) as _);
                let exposure = config.hub.settings.exposure;
                let setup = self.setup(providers)?;
                Box::new(InProcessConnection::open(setup, hub, exposure, questions).await?)
            }
            ServerTarget::Server(_) => {
                Box::new(HubConnection::open(target, self, questions).await?)
            }
            ServerTarget::Url { .. } | ServerTarget::Program(_) => {
                let spec = spec(target, config)?;
                let dial = self.dial(&spec)?;
                Box::new(RemoteConnection::open(target, spec, dial, questions).await?)
            }
        })
    }

    /// Creates the dialer for one server.
    fn dial(&self, spec: &ServerSpec) -> anyhow::Result<ServerDialer> {
        let Self { config, environment, begun } = self;
        let keeper = match &spec.transport {
            ServerTransport::Program { .. } => {
                let begun = begun.lock().unwrap_or_else(PoisonError::into_inner).take();
                let begun = begun.map_or_else(servers::begin_supervisor, Ok)?;
                Some(servers::start_supervisor(begun, config, environment)?)
            }
            ServerTransport::Remote { .. } => None,
        };
        Ok(ServerDialer::new(
            config.clone(),
            HubResources::new(config, keeper, environment.clone()),
        ))
    }

    /// The setup of docent for the local user: the operator's policy and the audit log apply, but no rate limits and no
    /// paging.
    fn setup(&self, providers: Vec<Arc<dyn ToolProvider>>) -> anyhow::Result<ServerSetup> {
        let policy = self.config.policy.tools.clone();
        let audit = serve::audit(&self.config)?;
        Ok(ServerSetup { policy, ..analyze::personal_setup(&self.config, providers, audit) })
    }
}
