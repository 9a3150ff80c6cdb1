//! `docent servers`: listed, added, removed, taken over from other clients, tried, approved, signed in at.

use super::{ServerDialer, approve, edits, import, approval_memory, trial};
use crate::{
    analyze::{Printed, UsageError},
    cli,
    config::{self, Config, ServerEntryProblem, ConfigFlags, ConfigInputs, ServerSecretMask, ConfiguredServer},
};
use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use docent_registry::{ClientFolders, OsPlatform};
use docent_screen::one_line;
use serde_json::{Value, json};
use std::{fmt::Write as _, path::PathBuf, process::ExitCode, sync::Arc};

/// Told where there is nothing to tell.
pub(super) const NO_SERVERS: &str =
    "No server is configured: docent servers add NAME -- PROGRAM, or docent servers import\n";

/// What can be typed after `docent servers`.
#[derive(Subcommand)]
pub(crate) enum ServersCommand {
    /// Show every server: how it is reached, what is known of it, what is held back
    List {
        #[command(flatten)]
        common: ServersCommonArgs,
    },
    /// Add a server to your own configuration
    Add(Box<AddServerArgs>),
    /// Take a server out of your own configuration
    Remove {
        /// Its name
        name: String,
        #[command(flatten)]
        common: ServersCommonArgs,
    },
    /// Take over the servers of other clients: Claude Desktop, Claude Code, VS Code, Cursor, Windsurf, Zed, Codex, Gemini CLI, Goose
    Import {
        /// Only of these clients, or of this file [default: what every client that is found has for all projects]
        #[arg(value_name = "CLIENT|FILE")]
        from: Vec<String>,
        /// Show what would be added, and write nothing
        #[arg(long)]
        dry_run: bool,
        #[command(flatten)]
        common: ServersCommonArgs,
    },
    /// Start servers, ask what they offer, and end them; exits with 1 where one fails
    Test {
        /// Only these [default: all]
        names: Vec<String>,
        #[command(flatten)]
        common: ServersCommonArgs,
    },
    /// Show definitions of tools that are held back, and approve them
    Approve(ApproveFlags),
    /// Sign in at a server, in the browser
    Login {
        /// The server
        name: String,
        #[command(flatten)]
        common: ServersCommonArgs,
    },
}

/// What can be typed after `docent servers add`.
#[derive(Args)]
pub(crate) struct AddServerArgs {
    /// What to call it: its tools are called `NAME__tool`
    pub(super) name: String,
    /// Where it is, instead of a program
    #[arg(long, value_name = "URL", conflicts_with = "program")]
    pub(super) url: Option<String>,
    /// The address is of the older HTTP+SSE transport
    #[arg(long)]
    pub(super) sse: bool,
    /// A header field of every request, as NAME=VALUE; may be repeated. ${VAR} is put in at the start
    #[arg(long, value_name = "NAME=VALUE")]
    pub(super) header: Vec<String>,
    /// A variable of the program, as NAME=VALUE; may be repeated. ${VAR} is put in at the start
    #[arg(long, value_name = "NAME=VALUE")]
    pub(super) env: Vec<String>,
    /// Its working folder
    #[arg(long, value_name = "DIR")]
    pub(super) cwd: Option<String>,
    /// Replace one of the same name
    #[arg(long)]
    pub(super) replace: bool,
    #[command(flatten)]
    pub(super) common: ServersCommonArgs,
    /// The program and its arguments
    #[arg(value_name = "PROGRAM", last = true)]
    pub(super) program: Vec<String>,
}

/// What can be typed after `docent servers approve`.
#[derive(Args)]
pub(crate) struct ApproveFlags {
    /// The server
    pub(super) name: String,
    /// Only these tools [default: all that are held back]
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
    /// Configuration file to read, and to write to, in place of your own
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print for programs
    #[arg(long)]
    pub(super) json: bool,
}

impl ServersCommonArgs {
    pub(super) fn inputs(&self) -> anyhow::Result<ConfigInputs> {
        let flags = ConfigFlags { config_file: self.config.clone(), ..ConfigFlags::default() };
        config::inputs(flags)
    }

    /// The file that is written to. `by_hand` says what is done where that can't be.
    pub(super) fn file(&self, inputs: &ConfigInputs, by_hand: &str) -> anyhow::Result<PathBuf> {
        let own = || {
            config::user_file(inputs)
                .context("there is no home directory; name a file with --config")
        };
        let file =
            self.config.as_ref().map(|file| inputs.working_dir.join(file)).map_or_else(own, Ok)?;
        if file.extension().is_some_and(|extension| extension == "json") {
            bail!(
                "{} is JSON, which is not edited here: {by_hand}, or use docent.toml",
                file.display()
            );
        }
        Ok(file)
    }

    /// What is printed: words, or the same for programs.
    pub(super) fn printed(&self, text: String, value: &Value) -> Printed {
        self.printed_with(text, value, false)
    }

    /// The same, where something may have failed.
    pub(super) fn printed_with(&self, text: String, value: &Value, failed: bool) -> Printed {
        let text = if self.json { format!("{value:#}\n") } else { text };
        Printed { text, code: ExitCode::from(u8::from(failed)) }
    }
}

/// The entry of a name, or why there is none.
pub(super) fn entry<'a>(config: &'a Config, name: &str) -> anyhow::Result<&'a ConfiguredServer> {
    if let Some(entry) = config.servers.iter().find(|entry| entry.server.name == name) {
        return Ok(entry);
    }
    let its = |fault: &&ServerEntryProblem| fault.fatal && fault.server.as_deref() == Some(name);
    if let Some(fault) = config.faults.iter().find(its) {
        bail!("the server {name:?} can't be used: {}", fault.told);
    }
    let known: Vec<&str> = config.servers.iter().map(|entry| entry.server.name.as_str()).collect();
    let known = match known.as_slice() {
        [] => "none is configured".to_owned(),
        known => format!("there are {}", known.join(", ")),
    };
    bail!(UsageError(format!("there is no server {name:?}; {known}")))
}

/// Why an entry that is understood is not started.
pub(super) fn skip_reason(entry: &ConfiguredServer) -> Option<&'static str> {
    match (entry.of_a_project, entry.server.disabled) {
        (true, _) => Some("not trusted: set by a project's own file"),
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
        let known = approval_memory.load(&super::spec_of(entry, &config));
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
            writeln!(text, "  what was approved of it can't be read, and its tools are held back: see them with docent servers test {0}, and approve them with docent servers approve {0}", server.name).unwrap_or_default();
        }
        if !held.is_empty() {
            let names: Vec<_> = held.iter().map(|tool| one_line(tool)).collect();
            writeln!(
                text,
                "  held back: {}; look at them and approve with docent servers approve {}",
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

/// Where clients keep their configuration on this machine.
pub(crate) fn places(inputs: &ConfigInputs) -> anyhow::Result<ClientFolders> {
    let home = inputs.home.clone().context("there is no home directory")?;
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

/// Shows the address, and lets the system open it.
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
    Ok(common.printed(format!("Signed in at {name}.\n"), &json!({"signedIn": name})))
}
