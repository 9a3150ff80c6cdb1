//! `docent servers`: listed, added, removed, taken over from other clients, tried, approved, signed in at.

use super::{Dial, all, keeper, memory};
use crate::{
    analyze::{Printed, UsedWrongly},
    config::{self, Config, Flags, Inputs},
};
use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use docent_hub::{Hub, State, Status};
use docent_registry::{
    Client, Places, Platform, RemoteKind, Server, Way, find, read, with_table, without_table,
};
use serde_json::json;
use std::{fmt::Write as _, fs, path::PathBuf, process::ExitCode, sync::Arc};

/// What can be typed after `docent servers`.
#[derive(Subcommand)]
pub(crate) enum ServersCommand {
    /// Show every server: how it is reached, what is known of it, what is held back
    List {
        #[command(flatten)]
        common: Common,
    },
    /// Add a server to your own configuration
    Add(Box<AddFlags>),
    /// Take a server out of your own configuration
    Remove {
        /// Its name
        name: String,
        #[command(flatten)]
        common: Common,
    },
    /// Take over the servers of other clients: Claude Desktop, Claude Code, VS Code, Cursor, Windsurf, Zed, Codex, Gemini CLI, Goose
    Import {
        /// Only of these clients, or of this file [default: every client that is found]
        #[arg(value_name = "CLIENT|FILE")]
        from: Vec<String>,
        /// Show what would be added, and write nothing
        #[arg(long)]
        dry_run: bool,
        #[command(flatten)]
        common: Common,
    },
    /// Start servers, ask what they offer, and end them; exits with 1 where one fails
    Test {
        /// Only these [default: all]
        names: Vec<String>,
        #[command(flatten)]
        common: Common,
    },
    /// Approve definitions of tools that have changed
    Approve {
        /// The server
        name: String,
        /// Only these tools [default: all that are held back]
        tools: Vec<String>,
        #[command(flatten)]
        common: Common,
    },
    /// Sign in at a server, in the browser
    Login {
        /// The server
        name: String,
        #[command(flatten)]
        common: Common,
    },
}

/// What can be typed after `docent servers add`.
#[derive(Args)]
pub(crate) struct AddFlags {
    /// What to call it: its tools are called `NAME__tool`
    name: String,
    /// Where it is, instead of a program
    #[arg(long, value_name = "URL", conflicts_with = "program")]
    url: Option<String>,
    /// The address is of the older HTTP+SSE transport
    #[arg(long, requires = "url")]
    sse: bool,
    /// A header field of every request, as NAME=VALUE; may be repeated. ${VAR} is put in at the start
    #[arg(long, value_name = "NAME=VALUE", requires = "url")]
    header: Vec<String>,
    /// A variable of the program, as NAME=VALUE; may be repeated. ${VAR} is put in at the start
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// Its working folder
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
    /// Replace one of the same name
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    common: Common,
    /// The program and its arguments
    #[arg(value_name = "PROGRAM", last = true)]
    program: Vec<String>,
}

/// Flags of every command.
#[derive(Args)]
pub(crate) struct Common {
    /// Configuration file to read, and to write to, in place of your own
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print for programs
    #[arg(long)]
    json: bool,
}

impl Common {
    fn inputs(&self) -> anyhow::Result<Inputs> {
        let flags = Flags { config_file: self.config.clone(), ..Flags::default() };
        config::inputs(flags)
    }

    /// The file that is written to.
    fn file(&self, inputs: &Inputs) -> anyhow::Result<PathBuf> {
        let own = || {
            config::user_file(inputs)
                .context("there is no home directory; name a file with --config")
        };
        let file =
            self.config.as_ref().map(|file| inputs.working_dir.join(file)).map_or_else(own, Ok)?;
        if file.extension().is_some_and(|extension| extension == "json") {
            bail!(
                "{} is JSON, which is not edited here: add the entry under `mcpServers` by hand, or use docent.toml",
                file.display()
            );
        }
        Ok(file)
    }
}

/// Runs one of the commands.
pub(crate) fn run(command: ServersCommand) -> anyhow::Result<Printed> {
    match command {
        ServersCommand::List { common } => list(&common),
        ServersCommand::Add(flags) => add(&flags),
        ServersCommand::Remove { name, common } => remove(&name, &common),
        ServersCommand::Import { from, dry_run, common } => import(&from, dry_run, &common),
        ServersCommand::Test { names, common } => test(&names, &common),
        ServersCommand::Approve { name, tools, common } => approve(&name, &tools, &common),
        ServersCommand::Login { name, common } => login(&name, &common),
    }
}

fn printed(text: String) -> Printed {
    Printed { text, code: ExitCode::SUCCESS }
}

fn list(common: &Common) -> anyhow::Result<Printed> {
    let config = Config::load(&common.inputs()?)?;
    let memory = memory(&config);
    let mut rows = Vec::new();
    let mut text = String::new();
    for entry in &config.servers {
        let server = &entry.server;
        let known = memory.load(&super::one(server, &config));
        let tools = known.as_ref().map(|known| known.tools.len());
        let held: Vec<String> =
            known.iter().flat_map(|known| known.held_back.keys().cloned()).collect();
        let protocol =
            known.as_ref().and_then(|known| Some(known.era.as_ref()?.version().to_owned()));
        let state = match (entry.of_a_project, server.disabled, tools) {
            (true, ..) => "not trusted: set by a project's own file".to_owned(),
            (_, true, _) => "disabled".to_owned(),
            (.., Some(count)) => format!("{count} tools, {}", protocol.as_deref().unwrap_or("?")),
            (.., None) => "not seen yet".to_owned(),
        };
        writeln!(text, "{}  {}  ({state})", server.name, server.summary()).unwrap_or_default();
        if !held.is_empty() {
            writeln!(text, "  held back, because they have changed: {}; approve with docent servers approve {}", held.join(", "), server.name).unwrap_or_default();
        }
        rows.push(json!({
            "name": server.name, "summary": server.summary(), "disabled": server.disabled,
            "ofAProject": entry.of_a_project, "tools": tools, "protocol": protocol, "heldBack": held,
        }));
    }
    for warning in &config.warnings {
        writeln!(text, "note: {warning}").unwrap_or_default();
    }
    if rows.is_empty() {
        text.push_str("No server is configured: docent servers add NAME -- PROGRAM, or docent servers import\n");
    }
    Ok(printed(if common.json { format!("{:#}\n", json!({"servers": rows})) } else { text }))
}

fn pair(text: &str) -> anyhow::Result<(String, String)> {
    let split = text.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    split.ok_or_else(|| UsedWrongly(format!("{text:?} must be NAME=VALUE")).into())
}

fn add(flags: &AddFlags) -> anyhow::Result<Printed> {
    let inputs = flags.common.inputs()?;
    let file = flags.common.file(&inputs)?;
    let pairs =
        |texts: &[String]| texts.iter().map(|text| pair(text)).collect::<anyhow::Result<_>>();
    let way = match (&flags.url, flags.program.split_first()) {
        (Some(url), _) => Way::Remote {
            url: url.clone(),
            kind: flags.sse.then_some(RemoteKind::Sse),
            headers: pairs(&flags.header)?,
        },
        (None, Some((command, args))) => Way::Program {
            command: command.clone(),
            args: args.to_vec(),
            env: pairs(&flags.env)?,
            inherit: Vec::new(),
            cwd: flags.cwd.clone(),
        },
        (None, None) => {
            return Err(
                UsedWrongly("name a program after --, or an address with --url".into()).into()
            );
        }
    };
    let server = Server::new(flags.name.clone(), way);
    let text = fs::read_to_string(&file).ok();
    let edited = with_table(text.as_deref(), &server, flags.replace)
        .map_err(|problem| UsedWrongly(problem.to_string()))?;
    config::write_file(&file, &edited.text)?;
    Ok(printed(format!(
        "Added to {}. Try it: docent servers test {}\n",
        file.display(),
        flags.name
    )))
}

fn remove(name: &str, common: &Common) -> anyhow::Result<Printed> {
    let inputs = common.inputs()?;
    let file = common.file(&inputs)?;
    let text =
        fs::read_to_string(&file).with_context(|| format!("{} can't be read", file.display()))?;
    let edited = without_table(&text, name).map_err(|problem| UsedWrongly(problem.to_string()))?;
    if !edited.changed {
        return Err(UsedWrongly(format!("{} has no server {name:?}", file.display())).into());
    }
    config::write_file(&file, &edited.text)?;
    if let Ok(config) = Config::load(&inputs) {
        memory(&config).forget(name);
    }
    Ok(printed(format!("Removed from {}.\n", file.display())))
}

/// Where clients keep their configuration on this machine.
pub(crate) fn places(inputs: &Inputs) -> anyhow::Result<Places> {
    let home = inputs.home.clone().context("there is no home directory")?;
    let config_home = inputs
        .environment
        .get("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    Ok(Places {
        config_home: config_home.unwrap_or_else(|| home.join(".config")),
        app_data: inputs.environment.get("APPDATA").map(PathBuf::from),
        project: Some(inputs.working_dir.clone()),
        platform: if cfg!(target_os = "macos") {
            Platform::Mac
        } else if cfg!(windows) {
            Platform::Windows
        } else {
            Platform::Linux
        },
        home,
    })
}

fn import(from: &[String], dry_run: bool, common: &Common) -> anyhow::Result<Printed> {
    let inputs = common.inputs()?;
    let file = common.file(&inputs)?;
    let mut sources: Vec<(PathBuf, docent_registry::Form)> = Vec::new();
    let found = find(&places(&inputs)?);
    if from.is_empty() {
        sources.extend(
            found
                .iter()
                .map(|source| (source.path.clone(), docent_registry::Form::Client(source.client))),
        );
    }
    for word in from {
        match Client::parse(word) {
            Some(client) => sources.extend(
                found
                    .iter()
                    .filter(|source| source.client == client)
                    .map(|source| (source.path.clone(), docent_registry::Form::Client(client))),
            ),
            None if inputs.working_dir.join(word).is_file() => {
                let path = inputs.working_dir.join(word);
                sources.push((path.clone(), docent_registry::Form::of(&path)));
            }
            None => {
                let known: Vec<&str> = Client::ALL.iter().map(|client| client.id()).collect();
                return Err(UsedWrongly(format!(
                    "{word:?} is neither a file nor a client; clients are {}",
                    known.join(", ")
                ))
                .into());
            }
        }
    }
    let mut text = fs::read_to_string(&file).unwrap_or_default();
    let mut told = String::new();
    let mut count = 0;
    for (path, form) in sources {
        let bytes = fs::read(&path).with_context(|| format!("{} can't be read", path.display()))?;
        let reading = read(form, &path, &bytes);
        for problem in &reading.problems {
            writeln!(told, "problem: {problem}").unwrap_or_default();
        }
        for server in reading.servers.iter().filter(|server| !is_docent(server)) {
            match with_table(Some(&text), server, false) {
                Ok(edited) if edited.changed => {
                    text = edited.text;
                    count += 1;
                    writeln!(
                        told,
                        "{}  {}  (from {})",
                        server.name,
                        server.summary(),
                        path.display()
                    )
                    .unwrap_or_default();
                }
                Ok(_) => writeln!(told, "{}  is there already", server.name).unwrap_or_default(),
                Err(problem) => writeln!(told, "left out: {problem}").unwrap_or_default(),
            }
        }
    }
    if count > 0 && !dry_run {
        config::write_file(&file, &text)?;
    }
    let verb = if dry_run { "would be added" } else { "added" };
    writeln!(told, "{count} servers {verb} to {}", file.display()).unwrap_or_default();
    Ok(printed(told))
}

/// docent in another client's configuration would front itself.
fn is_docent(server: &Server) -> bool {
    matches!(&server.way, Way::Program { command, .. } if std::path::Path::new(command).file_stem().is_some_and(|name| name == "docent"))
}

fn test(names: &[String], common: &Common) -> anyhow::Result<Printed> {
    let inputs = common.inputs()?;
    let config = Config::load(&inputs)?;
    let mut specs = all(&config);
    if let Some(unknown) = names.iter().find(|name| !specs.iter().any(|spec| spec.name == **name)) {
        let known: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
        return Err(
            UsedWrongly(format!("there is no server {unknown:?}; there are {known:?}")).into()
        );
    }
    specs.retain(|spec| names.is_empty() || names.contains(&spec.name));
    for spec in &mut specs {
        spec.warm = true;
    }
    let keeper = keeper(&config, &inputs.environment)?;
    let means = super::Means::new(&config, Some(keeper), inputs.environment.clone());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let statuses = runtime.block_on(async {
        let dial = Arc::new(Dial::new(config.clone(), means));
        let hub = Hub::new(config.hub.settings.clone(), dial, memory(&config));
        hub.configure(specs);
        for server in hub.servers() {
            server.try_now().await;
        }
        let statuses = hub.status();
        hub.close().await;
        statuses
    });
    let failed = statuses.iter().any(|status| status.state != State::Ready);
    let text = if common.json {
        format!("{:#}\n", json!({"servers": statuses}))
    } else {
        statuses.iter().map(told).collect()
    };
    Ok(Printed { text, code: ExitCode::from(u8::from(failed)) })
}

fn told(status: &Status) -> String {
    let mut text = String::new();
    if status.state == State::Ready {
        let server = |field: &str| {
            status.server.get(field).and_then(|value| value.as_str()).unwrap_or("?").to_owned()
        };
        writeln!(
            text,
            "ok    {}: {} {}, {} tools, revision {}",
            status.name,
            server("name"),
            server("version"),
            status.tools,
            status.protocol.as_deref().unwrap_or("?")
        )
        .unwrap_or_default();
    } else {
        writeln!(
            text,
            "FAIL  {}: {}",
            status.name,
            status.health.last_failure.as_deref().unwrap_or("it did not start")
        )
        .unwrap_or_default();
    }
    for held in &status.held_back {
        writeln!(text, "      held back: {} has changed", held.tool).unwrap_or_default();
    }
    for (tool, flags) in &status.flagged {
        writeln!(text, "      odd: the description of {tool}: {}", flags.join(", "))
            .unwrap_or_default();
    }
    if status.health.noise > 0 {
        writeln!(
            text,
            "      {} lines of its output were no messages; the last: {}",
            status.health.noise,
            status.health.last_noise.as_deref().unwrap_or_default()
        )
        .unwrap_or_default();
    }
    text
}

fn approve(name: &str, tools: &[String], common: &Common) -> anyhow::Result<Printed> {
    let config = Config::load(&common.inputs()?)?;
    let approved = memory(&config).approve(name, tools)?;
    if approved.is_empty() {
        return Ok(printed(format!("Nothing of `{name}` is held back.\n")));
    }
    Ok(printed(format!(
        "Approved: {}. A docent that runs learns of it with the next call.\n",
        approved.join(", ")
    )))
}

/// Shows the address, and lets the system open it.
struct Terminal;

impl docent_dial::oauth::Browser for Terminal {
    fn open(&self, url: &str) -> Result<(), String> {
        use std::io::Write as _;
        writeln!(std::io::stderr(), "Sign in here: {url}").unwrap_or_default();
        crate::inspect::open_browser(url);
        Ok(())
    }
}

fn login(name: &str, common: &Common) -> anyhow::Result<Printed> {
    let inputs = common.inputs()?;
    let config = Config::load(&inputs)?;
    let Some(spec) = all(&config).into_iter().find(|spec| spec.name == name) else {
        return Err(UsedWrongly(format!("there is no server {name:?}")).into());
    };
    let means = super::Means::new(&config, None, inputs.environment.clone());
    let dial = Dial::new(config, means).with_browser(Arc::new(Terminal));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(dial.login(&spec)).map_err(|failure| anyhow::anyhow!("{failure}"))?;
    Ok(printed(format!("Signed in at {name}.\n")))
}
