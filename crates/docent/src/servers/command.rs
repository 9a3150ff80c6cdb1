//! `docent servers`: lists, adds, removes, imports, tests and approves other MCP servers, and signs in at them.

use super::{ServerDialer, approval_memory, approve, edits, import, trial};
use crate::{
    analyze::{Printed, UsageError},
    cli,
    config::{
        self, Config, ConfigFlags, ConfigInputs, ConfiguredServer, ServerEntryProblem,
        ServerSecretMask,
    },
};
use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use docent_registry::{ClientFolders, OsPlatform};
use docent_screen::one_line;
use serde_json::{Value, json};
use std::{fmt::Write as _, path::PathBuf, process::ExitCode, sync::Arc};

/// Printed if no server is configured.
pub(super) const NO_SERVERS: &str =
    "No servers configured: run docent servers add NAME -- PROGRAM, or docent servers import\n";

/// The subcommands of `docent servers`.
#[derive(Subcommand)]
pub(crate) enum ServersCommand {
    /// List servers with their command or address, tools, and tools held back
    List {
        #[command(flatten)]
        common: ServersCommonArgs,
    },
    /// Add a server to your own configuration
    Add(Box<AddServerArgs>),
    /// Remove a server from your own configuration
    Remove {
        /// Name of the server
        name: String,
        #[command(flatten)]
        common: ServersCommonArgs,
    },
    /// Import servers from Claude Desktop, Claude Code, VS Code, Cursor, Windsurf, Zed, Codex, Gemini CLI or Goose
    Import {
        /// Clients or a file to import from [default: the user-level servers of every client found]
        #[arg(value_name = "CLIENT|FILE")]
        from: Vec<String>,
        /// Show what would be added without writing anything
        #[arg(long)]
        dry_run: bool,
        #[command(flatten)]
        common: ServersCommonArgs,
    },
    /// Start servers, list their tools, and stop them; exits 1 if one fails
    Test {
        /// Servers to test [default: all]
        names: Vec<String>,
        #[command(flatten)]
        common: ServersCommonArgs,
    },
    /// Review tools that are held back, and approve them
    Approve(ApproveFlags),
    /// Sign in to a server in the browser
    Login {
        /// The server
        name: String,
        #[command(flatten)]
        common: ServersCommonArgs,
    },
}

/// The flags of `docent servers add`.
#[derive(Args)]
pub(crate) struct AddServerArgs {
    /// Name of the server, which prefixes its tools: `NAME__tool`
    pub(super) name: String,
    /// Address of the server, instead of a program
    #[arg(long, value_name = "URL", conflicts_with = "program")]
    pub(super) url: Option<String>,
    /// Use the older HTTP+SSE transport for the address
    #[arg(long)]
    pub(super) sse: bool,
    /// Header of every request, as NAME=VALUE; may be repeated. ${VAR} is expanded at the start
    #[arg(long, value_name = "NAME=VALUE")]
    pub(super) header: Vec<String>,
    /// Environment variable of the program, as NAME=VALUE; may be repeated. ${VAR} is expanded at the start
    #[arg(long, value_name = "NAME=VALUE")]
    pub(super) env: Vec<String>,
    /// Working directory of the program
    #[arg(long, value_name = "DIR")]
    pub(super) cwd: Option<String>,
    /// Replace an entry of the same name
    #[arg(long)]
    pub(super) replace: bool,
    #[command(flatten)]
    pub(super) common: ServersCommonArgs,
    /// Program to start, with its arguments
    #[arg(value_name = "PROGRAM", last = true)]
    pub(super) program: Vec<String>,
}

/// The flags of `docent servers approve`.
#[derive(Args)]
pub(crate) struct ApproveFlags {
    /// The server
    pub(super) name: String,
    /// Tools to approve [default: all that are held back]
    pub(super) tools: Vec<String>,
    /// Approve without asking
    #[arg(long, short)]
    pub(super) yes: bool,
    #[command(flatten)]
    pub(super) common: ServersCommonArgs,
}

/// Flags of every command.
#[derive(Args)]
pub(crate) struct ServersCommonArgs {
    /// Configuration file to read and write instead of your own
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl ServersCommonArgs {
    pub(super) fn inputs(&self) -> anyhow::Result<ConfigInputs> {
        let flags = ConfigFlags { config_file: self.config.clone(), ..ConfigFlags::default() };
        config::inputs(flags)
    }

    /// Returns the file to write to. `by_hand` is the advice for files that can't be edited.
    pub(super) fn file(&self, inputs: &ConfigInputs, by_hand: &str) -> anyhow::Result<PathBuf> {
        let own =
            || config::user_file(inputs).context("no home directory; name a file with --config");
        let file =
            self.config.as_ref().map(|file| inputs.working_dir.join(file)).map_or_else(own, Ok)?;
        if file.extension().is_some_and(|extension| extension == "json") {
            bail!("cannot edit {}, which is JSON: {by_hand}, or use docent.toml", file.display());
        }
        Ok(file)
    }

    /// Returns the output, as text or as JSON.
    pub(super) fn printed(&self, text: String, value: &Value) -> Printed {
        self.printed_with(text, value, false)
    }

    /// The same, where something may have failed.
    pub(super) fn printed_with(&self, text: String, value: &Value, failed: bool) -> Printed {
        let text = if self.json { format!("{value:#}\n") } else { text };
        Printed { text, code: ExitCode::from(u8::from(failed)) }
    }
}

/// Returns the entry of a name, or an error that says why there is none.
pub(super) fn entry<'a>(config: &'a Config, name: &str) -> anyhow::Result<&'a ConfiguredServer> {
    if let Some(entry) = config.servers.iter().find(|entry| entry.server.name == name) {
        return Ok(entry);
    }
    let its = |fault: &&ServerEntryProblem| fault.fatal && fault.server.as_deref() == Some(name);
    if let Some(fault) = config.faults.iter().find(its) {
        bail!("cannot use the server {name:?}: {}", fault.message);
    }
    let known: Vec<&str> = config.servers.iter().map(|entry| entry.server.name.as_str()).collect();
    let known = match known.as_slice() {
        [] => "none are configured".to_owned(),
        known => format!("known: {}", known.join(", ")),
    };
    bail!(UsageError(format!("unknown server {name:?}; {known}")))
}

/// Returns why a valid entry is not started.
pub(super) fn skip_reason(entry: &ConfiguredServer) -> Option<&'static str> {
    match (entry.of_a_project, entry.server.disabled) {
        (true, _) => Some("not trusted: set by a project file"),
        (_, true) => Some("disabled"),
        _ => None,
    }
}

/// Runs one of the commands.
pub(crate) fn run(command: ServersCommand) -> anyhow::Result<Printed> {
    match command {
        ServersCommand::List { common } => list(&common),
        ServersCommand::Add(flags) => edits::add(&flags),
        ServersCommand::Remove { name, common } => edits::remove(&name, &common),
        ServersCommand::Import { from, dry_run, common } => import::import(&from, dry_run, &common),
        ServersCommand::Test { names, common } => trial::test(&names, &common),
        ServersCommand::Approve(flags) => approve::approve(&flags),
        ServersCommand::Login { name, common } => login(&name, &common),
    }
}

fn list(common: &ServersCommonArgs) -> anyhow::Result<Printed> {
    let config = cli::load(&common.inputs()?)?;
    let (memory, masks) = (approval_memory(&config), ServerSecretMask::new(&config.secrets()));
    let (mut rows, mut text) = (Vec::new(), String::new());
    for entry in &config.servers {
        let server = &entry.server;
        let summary = masks.server(server);
        let known = memory.load(&super::spec_of(entry, &config));
        let tools = known.as_ref().map(|known| known.tools.len());
        let held: Vec<String> =
            known.iter().flat_map(|known| known.held_back.keys().cloned()).collect();
        let protocol =
            known.as_ref().and_then(|known| Some(known.era.as_ref()?.version().to_owned()));
        let state = match (skip_reason(entry), tools) {
            (Some(why), _) => why.to_owned(),
            (_, Some(count)) => format!("{count} tools, {}", protocol.as_deref().unwrap_or("?")),
            (_, None) => "not seen yet".to_owned(),
        };
        writeln!(text, "{}  {summary}  ({state})", server.name).unwrap_or_default();
        if known.as_ref().is_some_and(|known| known.doubted) {
            writeln!(text, "  the approval file is unreadable, and its tools are held back: list them with docent servers test {0}, and approve them with docent servers approve {0}", server.name).unwrap_or_default();
        }
        if !held.is_empty() {
            let names: Vec<_> = held.iter().map(|tool| one_line(tool)).collect();
            writeln!(
                text,
                "  held back: {}; review and approve with docent servers approve {}",
                names.join(", "),
                server.name
            )
            .unwrap_or_default();
        }
        let left_out = known.map(|known| known.left_out).unwrap_or_default();
        for (tool, why) in &left_out {
            writeln!(text, "  left out: {}: {}", one_line(tool), one_line(why)).unwrap_or_default();
        }
        rows.push(json!({
            "name": server.name, "summary": summary, "disabled": server.disabled,
            "ofAProject": entry.of_a_project, "tools": tools, "protocol": protocol, "heldBack": held,
            "leftOut": left_out,
        }));
    }
    // What is reported on stderr is not repeated here.
    let ignored = config.ignored_keys();
    let notes = config.warnings.iter().filter(|note| ignored.as_ref() != Some(*note));
    let notes: Vec<String> = notes.map(|note| masks.text(note)).collect();
    for note in &notes {
        writeln!(text, "note: {note}").unwrap_or_default();
    }
    if rows.is_empty() {
        text.push_str(NO_SERVERS);
    }
    Ok(common.printed(text, &json!({"servers": rows, "notes": notes})))
}

/// Returns where clients keep their configuration on this machine.
pub(crate) fn places(inputs: &ConfigInputs) -> anyhow::Result<ClientFolders> {
    let home = inputs.home.clone().context("no home directory")?;
    let config_home = inputs
        .environment
        .get("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    Ok(ClientFolders {
        config_home: config_home.unwrap_or_else(|| home.join(".config")),
        app_data: inputs.environment.get("APPDATA").map(PathBuf::from),
        project: Some(inputs.working_dir.clone()),
        platform: if cfg!(target_os = "macos") {
            OsPlatform::Mac
        } else if cfg!(windows) {
            OsPlatform::Windows
        } else {
            OsPlatform::Linux
        },
        home,
    })
}

/// Prints the address, and opens it in the system's browser.
struct TerminalBrowser;

impl docent_dial::oauth::Browser for TerminalBrowser {
    fn open(&self, url: &str) -> Result<(), String> {
        use std::io::Write as _;
        writeln!(std::io::stderr(), "Sign in here: {url}").unwrap_or_default();
        crate::inspect::open_browser(url);
        Ok(())
    }
}

fn login(name: &str, common: &ServersCommonArgs) -> anyhow::Result<Printed> {
    let inputs = common.inputs()?;
    let config = cli::load(&inputs)?;
    let entry = entry(&config, name)?;
    if let Some(why) = skip_reason(entry) {
        bail!("the server {name:?} is {why}");
    }
    let spec = super::spec_of(entry, &config);
    let means = super::HubResources::new(&config, None, inputs.environment.clone());
    let dial = ServerDialer::new(config, means).with_browser(Arc::new(TerminalBrowser));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(dial.login(&spec)).map_err(|failure| anyhow::anyhow!("{failure}"))?;
    Ok(common.printed(format!("Signed in to {name}.\n"), &json!({"signedIn": name})))
}
