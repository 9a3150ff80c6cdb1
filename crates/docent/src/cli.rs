//! Owns the command line: what can be typed, what each command does with it, and the exit code.
//!
//! Flags as typed are the structs here; settings as used are [`crate::config::Config`].

use crate::{
    analyze::{self, AnalyzeFlags, Printed, UsageError},
    argv_secret,
    audit::{self, AuditCommand},
    config::{
        self, Config, ConfigEnvironment, ConfigError, ConfigFlags, ConfigInputs, ConfigOverride,
        EnvFile, HandshakeMode, LogLevel, TransportKind,
    },
    docs::{self, DocsCommand},
    doctor,
    indexing::{self, IndexFlags},
    inspect::{self, InspectFlags},
    install::{self, InstallFlags},
    logging,
    policy::{self, PolicyQuery, PolicySubject},
    run::{self, RunRequest},
    sandbox, scripts,
    search::{self, SearchFlags},
    serve::{self, ServerStart},
    servers::{self, ServersCommand},
    shell::{
        self,
        args::ShellCommand,
        completion::{self, CompletionShell},
    },
    tools_page,
};
use anyhow::Context as _;
use clap::{
    Args, CommandFactory, Parser, Subcommand,
    builder::{OsStringValueParser, TypedValueParser as _},
};
use clap_complete::Shell;
use serde_json::{Value, json};
use std::{
    ffi::OsString,
    fmt::Write as _,
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

/// Code, docs, the web and your other MCP servers for AI agents, in one local server.
#[derive(Parser)]
#[command(name = "docent", version, arg_required_else_help = true)]
#[command(after_help = "Exit codes: 0 success, 1 failure, 2 usage error.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve MCP until stopped
    Serve(Box<SettingFlags>),
    /// Summarize a repository and find gaps in its documentation
    Analyze(Box<AnalyzeFlags>),
    /// Update the search index
    Index(IndexFlags),
    /// Search code and documents; exits 1 if nothing matches
    Search(Box<SearchFlags>),
    /// Manage documentation collections
    Docs {
        #[command(subcommand)]
        command: DocsCommand,
    },
    /// Inspect the audit log
    Audit {
        #[command(subcommand)]
        command: AuditCommand,
    },
    /// Run an MCP server in a sandbox, with no shell and a clean environment
    Run {
        /// Directory that it may read; may be repeated [default: the working directory]
        #[arg(long, value_name = "DIR")]
        root: Vec<PathBuf>,
        /// Configuration file to read instead of the root's own
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
        /// Name of a server in `mcp_servers`
        #[arg(value_name = "SERVER", conflicts_with = "program")]
        name: Option<String>,
        /// Program to run, with its arguments
        #[arg(value_name = "PROGRAM", last = true)]
        program: Vec<OsString>,
    },
    /// Manage other MCP servers
    Servers {
        #[command(subcommand)]
        command: ServersCommand,
    },
    /// Add docent to MCP clients
    Install(Box<InstallFlags>),
    /// Inspect docent or another server in the browser: tools, messages, errors, health
    Inspect(Box<InspectFlags>),
    /// Test the policy
    Policy {
        #[command(subcommand)]
        command: PolicyCommand,
    },
    /// Show or write the configuration
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Check the setup and show active settings
    Doctor {
        #[command(flatten)]
        settings: Box<SettingFlags>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    #[command(flatten)]
    Shell(ShellCommand),
    /// Print a shell completion script
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print completions for a command line
    #[command(name = "__complete", hide = true)]
    Complete {
        /// The shell that requests completions
        shell: CompletionShell,
        /// The words typed so far, the last one up to the cursor; for bash, the whole line
        #[arg(last = true)]
        words: Vec<OsString>,
    },
}

#[derive(Subcommand)]
enum PolicyCommand {
    /// Show whether a call would be allowed, and by which rule; exits 1 if it would not
    Test {
        /// The tool
        tool: String,
        /// Its arguments: key=value, or one JSON object
        #[arg(value_name = "ARGUMENT")]
        arguments: Vec<String>,
        /// Name of the key that the caller presents [default: none]
        #[arg(long, value_name = "NAME")]
        key: Option<String>,
        /// Scopes of a caller with a certificate or a token, comma-separated, such as `docs:*,web_search`
        #[arg(long, value_name = "SCOPES", value_delimiter = ',', conflicts_with = "key")]
        scopes: Vec<String>,
        /// Directory that tools may read; may be repeated [default: the working directory]
        #[arg(long, value_name = "DIR")]
        root: Vec<PathBuf>,
        /// Configuration file to read instead of the root's own
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Subcommand)]
enum ConfigCommand {
    /// Print every value and its source
    Show {
        #[command(flatten)]
        settings: Box<SettingFlags>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Write a commented docent.toml as a starting point
    Init {
        /// The directory to write to
        #[arg(long, value_name = "DIR")]
        root: Option<PathBuf>,
        /// Write docent.json instead
        #[arg(long)]
        json: bool,
        /// Replace the file if it exists
        #[arg(long)]
        force: bool,
    },
    /// Import a security policy from YAML (network, filesystem, commands, tools, audit)
    Import {
        /// The policy
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The file to write to [default: ~/.config/docent/docent.toml]
        #[arg(long, value_name = "FILE")]
        to: Option<PathBuf>,
        /// Print the keys without writing anything
        #[arg(long)]
        dry_run: bool,
    },
    /// Print the JSON Schema of docent.toml
    #[command(hide = true)]
    Schema,
    /// Print the configuration reference
    #[command(hide = true)]
    Reference,
    /// Print the command line reference
    #[command(hide = true)]
    CliReference,
    /// Print the reference of tools, resource templates and prompts
    #[command(hide = true)]
    ToolsReference,
}

/// Flags that set keys of the configuration.
#[derive(Args, Default)]
struct SettingFlags {
    /// Transports, comma-separated; network transports share one listener [default: stdio]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "TRANSPORT")]
    transport: Vec<TransportKind>,
    /// Address to bind [default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS")]
    host: Option<String>,
    /// Port to listen on; 0 picks a free port [default: 8001]
    #[arg(long)]
    port: Option<u16>,
    /// Directory that tools may read; may be repeated [default: the working directory]
    #[arg(long, value_name = "DIR")]
    root: Vec<PathBuf>,
    /// Require this key from every client (may end up in the shell history; setting `MCP_API_KEY` does not)
    #[arg(long, value_name = "TOKEN")]
    auth: Option<String>,
    /// Requests per minute per client; 0 means unlimited; unless set, stdio is not limited [default: 100]
    #[arg(long, value_name = "N")]
    rate_limit: Option<u32>,
    /// Whether a session must open with `initialize` [default: required]
    #[arg(long, value_enum)]
    handshake: Option<HandshakeMode>,
    /// Configuration file to read instead of the root's own
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Read `MCP_*` variables from a `.env` file (default: the root's); the environment takes precedence
    #[arg(
        long,
        value_name = "PATH",
        num_args = 0..=1,
        default_missing_value = "",
        value_parser = OsStringValueParser::new().map(EnvFile::from_flag)
    )]
    env_file: Option<EnvFile>,
    /// Allow a non-loopback address without auth
    #[arg(long)]
    allow_open: bool,
    /// Host header value to accept; may be repeated
    #[arg(long, value_name = "HOST")]
    allowed_host: Vec<String>,
    /// Timeout of one call, in milliseconds [default: 30000]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    tool_timeout: Option<u64>,
    /// Lowest level to log [default: info]
    #[arg(long, value_enum, value_name = "LEVEL")]
    log_level: Option<LogLevel>,
    /// File to write log lines to, in addition to stderr
    #[arg(long, value_name = "FILE")]
    log_file: Option<PathBuf>,
}

impl SettingFlags {
    /// Converts the flags to configuration overrides.
    fn into_flags(self) -> ConfigFlags {
        let mut overrides = Vec::new();
        let mut set = |flag, key, value: Option<Value>| {
            overrides.extend(value.map(|value| ConfigOverride { flag, key, value }));
        };
        let given = |values: Vec<Value>| (!values.is_empty()).then_some(Value::Array(values));
        let ways = self.transport.iter().map(|way| json!(way)).collect();
        set("--transport", "server.transport", given(ways));
        set("--host", "server.host", self.host.map(Value::from));
        set("--port", "server.port", self.port.map(Value::from));
        // Asking for a key on the command line turns auth on, whatever a file says.
        set("--auth", "server.auth.required", self.auth.is_some().then_some(true.into()));
        set("--auth", "server.auth.token", self.auth.map(Value::from));
        set(
            "--rate-limit",
            "server.rate_limit.enabled",
            self.rate_limit.map(|n| Value::from(n > 0)),
        );
        let requests = self.rate_limit.filter(|n| *n > 0);
        set("--rate-limit", "server.rate_limit.requests", requests.map(Value::from));
        set("--rate-limit", "server.rate_limit.window", requests.map(|_| Value::from(60_000)));
        set("--handshake", "server.handshake", self.handshake.map(|handshake| json!(handshake)));
        set("--allow-open", "server.allow_open", self.allow_open.then_some(true.into()));
        let hosts = self.allowed_host.into_iter().map(Value::from).collect();
        set("--allowed-host", "server.allowed_hosts", given(hosts));
        set("--tool-timeout", "limits.tool_timeout_ms", self.tool_timeout.map(Value::from));
        set("--log-level", "server.logging.level", self.log_level.map(|level| json!(level)));
        let file = self.log_file.map(|file| Value::from(file.to_string_lossy()));
        set("--log-file", "server.logging.file", file);
        ConfigFlags {
            roots: self.root,
            config_file: self.config,
            env_file: self.env_file,
            overrides,
        }
    }
}

/// Runs one command line to its exit code.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    // The child's side of a launch: no docent code may run before the sandbox is applied.
    if args.get(1).is_some_and(|word| word == docent_sandbox::SUBCOMMAND) {
        return docent_sandbox::run_confined(args.into_iter().skip(2));
    }
    if args.get(1).is_some_and(|word| word == docent_supervisor::SUBCOMMAND) {
        return docent_supervisor::run();
    }
    if args.get(1).is_some_and(|word| word == scripts::WORKER_SUBCOMMAND) {
        return scripts::run_worker(args.get(2).map(OsString::as_os_str));
    }
    let cli = match Cli::try_parse_from(shell::args::join_json_value(args.clone())) {
        Ok(cli) => cli,
        Err(usage) => {
            // If even that can't be printed, the exit code is all we can report.
            usage.print().unwrap_or_default();
            return ExitCode::from(u8::try_from(usage.exit_code()).unwrap_or(2));
        }
    };
    if let Command::Serve(flags) = &cli.command
        && let Some(key) = &flags.auth
    {
        let error = argv_secret::reexec_without_key(&args, key);
        let warning = "warning: the --auth key stays visible in the process list";
        let remedy = "set MCP_API_KEY in the environment instead";
        writeln!(io::stderr(), "{warning}: {error}; {remedy}").unwrap_or_default();
    }
    match dispatch(cli.command) {
        Ok(code) => code,
        Err(error) => {
            let red = io::stderr().is_terminal()
                && ConfigEnvironment::of_process().get("NO_COLOR").is_none();
            let label = if red { "\u{1b}[1;31merror:\u{1b}[0m" } else { "error:" };
            writeln!(io::stderr(), "{label} {error:#}").unwrap_or_default();
            ExitCode::from(if error.is::<UsageError>() { 2 } else { 1 })
        }
    }
}

fn dispatch(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Serve(mut flags) => {
            flags.auth = flags.auth.take().or_else(ConfigEnvironment::auth_key);
            let inputs = config::inputs(flags.into_flags())?;
            let config = Config::load(&inputs)?;
            config.check_serving()?;
            // The process that starts servers runs outside this one's sandbox.
            let means = servers::serving_resources(&config, inputs.environment.clone())?;
            // Threads inherit the sandbox only if they start after it, so logging starts here.
            let in_force = sandbox::enter(&config)?;
            let guard = logging::init(&config)?;
            sandbox::log_sandbox(&in_force);
            serve::run(&config, inputs, ServerStart { means, inspect: None })?;
            drop(guard);
        }
        Command::Analyze(flags) => {
            return print_outcome(&analyze::run(&flags, ConfigEnvironment::of_process())?);
        }
        Command::Index(flags) => {
            return print_outcome(&indexing::run(&flags, ConfigEnvironment::of_process())?);
        }
        Command::Search(flags) => {
            return print_outcome(&search::run(&flags, ConfigEnvironment::of_process())?);
        }
        Command::Docs { command } => {
            return print_outcome(&docs::run(command, ConfigEnvironment::of_process())?);
        }
        Command::Audit { command } => {
            let inputs = config::inputs(command.flags())?;
            return print_outcome(&audit::run(command, &inputs)?);
        }
        Command::Run { root, config, name, program } => {
            let flags = ConfigFlags { roots: root, config_file: config, ..ConfigFlags::default() };
            let config = Config::load(&config::inputs(flags)?)?;
            let _guard = logging::init(&config)?;
            run::run(&RunRequest { name, program }, &config)?;
        }
        Command::Servers { command } => return print_outcome(&servers::run(command)?),
        Command::Install(flags) => return print_outcome(&install::run(&flags)?),
        Command::Inspect(flags) => inspect::run(&flags)?,
        Command::Policy { command } => {
            let PolicyCommand::Test { tool, arguments, key, scopes, root, config, json } = command;
            let inputs = config::inputs(ConfigFlags {
                roots: root,
                config_file: config,
                ..ConfigFlags::default()
            })?;
            let caller = match &key {
                Some(key) => PolicySubject::Key(key),
                None if scopes.is_empty() => PolicySubject::Anonymous,
                None => PolicySubject::Scopes(&scopes),
            };
            let question = PolicyQuery { tool: &tool, arguments: &arguments, caller, json };
            return print_outcome(&policy::test(&question, &inputs)?);
        }
        Command::Config { command } => configure(command)?,
        Command::Doctor { settings, json } => {
            let inputs = config::inputs(settings.into_flags())?;
            let report = doctor::examine(&inputs);
            let colors = io::stdout().is_terminal() && inputs.environment.get("NO_COLOR").is_none();
            let text = if json { format!("{:#}\n", report.json()) } else { report.text(colors) };
            print(&text)?;
            if report.failed() {
                return Ok(ExitCode::from(1));
            }
        }
        Command::Shell(command) => return shell::run(&command, ConfigEnvironment::of_process()),
        Command::Completions { shell } => print(&completion_script(shell))?,
        Command::Complete { shell, words } => {
            let words: Vec<String> =
                words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            // A completion request is not the place to report a broken configuration.
            let Ok(config) = Config::load(&config::inputs(ConfigFlags::default())?) else {
                return Ok(ExitCode::from(1));
            };
            print(&completion::answer(shell, &words, &description(), &config))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns every command with its flags.
pub(crate) fn description() -> clap::Command {
    let mut command = Cli::command();
    command.build();
    command
}

/// Returns the script that calls docent for completions, or clap's static script for shells without one.
fn completion_script(shell: Shell) -> String {
    let asking = match shell {
        Shell::Bash => CompletionShell::Bash,
        Shell::Zsh => CompletionShell::Zsh,
        Shell::Fish => CompletionShell::Fish,
        other => {
            let mut script = Vec::new();
            clap_complete::generate(other, &mut Cli::command(), "docent", &mut script);
            return String::from_utf8_lossy(&script).into_owned();
        }
    };
    completion::script(asking).to_owned()
}

fn print_outcome(printed: &Printed) -> anyhow::Result<ExitCode> {
    print(&printed.text)?;
    Ok(printed.code)
}

fn configure(command: ConfigCommand) -> anyhow::Result<()> {
    match command {
        ConfigCommand::Show { settings, json } => {
            let config = load(&config::inputs(settings.into_flags())?)?;
            if json {
                print(&format!("{:#}\n", config.show_json()))
            } else {
                print(&config.show_text())
            }
        }
        ConfigCommand::Init { root, json, force } => {
            let flags = ConfigFlags { roots: root.into_iter().collect(), ..ConfigFlags::default() };
            let path = config::init(&config::root_of(&config::inputs(flags)?), json, force)?;
            print(&format!("wrote {}\n", path.display()))
        }
        ConfigCommand::Import { file, to, dry_run } => import(&file, to.as_deref(), dry_run),
        ConfigCommand::Schema => print(&config::json_schema()),
        ConfigCommand::Reference => print(&config::reference_page()),
        ConfigCommand::CliReference => print(&reference_page()),
        ConfigCommand::ToolsReference => print(&tools_page::reference_page(
            &config::inputs(ConfigFlags::default())?.working_dir,
        )?),
    }
}

fn import(file: &Path, to: Option<&Path>, dry_run: bool) -> anyhow::Result<()> {
    let inputs = config::inputs(ConfigFlags::default())?;
    let mut imported = config::import::read(file, &inputs)?;
    let mut text = String::new();
    if dry_run {
        text.push_str("dry run: nothing written\n");
    } else {
        let path = config::import::write(&mut imported, to, &inputs)?;
        writeln!(text, "wrote {}", path.display()).unwrap_or_default();
    }
    for (key, value) in &imported.keys {
        writeln!(text, "  {key} = {value}").unwrap_or_default();
    }
    for note in &imported.notes {
        writeln!(text, "note: {note}").unwrap_or_default();
    }
    print(&text)
}

/// Loads the configuration for a command without a log: ignored keys of a project file are reported on stderr.
pub(crate) fn load(inputs: &ConfigInputs) -> Result<Config, ConfigError> {
    let config = Config::load(inputs)?;
    if let Some(ignored) = config.ignored_keys() {
        writeln!(io::stderr(), "warning: {ignored}").unwrap_or_default();
    }
    Ok(config)
}

/// Prints to standard output. Only for commands that don't serve: while serving, stdout belongs to the protocol.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // The reader closed the pipe, as `head` does.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("can't write to standard output"),
    }
}

/// The command line reference, in Markdown: the help of every command.
fn reference_page() -> String {
    let mut page = String::from(
        "# Command line\n\nEvery command takes `--help`. Exit codes: 0 success, 1 failure, 2 usage error. Flags override\n\
         environment variables, which override files: see [configuration.md](configuration.md).\n",
    );
    // A fixed width: the page must not depend on the terminal it is generated in.
    let mut command = Cli::command().term_width(100);
    command.build();
    describe(&mut command, 2, &mut page);
    page
}

fn describe(command: &mut clap::Command, depth: usize, page: &mut String) {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name()).to_owned();
    let help = command.render_long_help().to_string();
    let help: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
    let marks = "#".repeat(depth);
    write!(page, "\n{marks} {name}\n\n```text\n{}\n```\n", help.join("\n")).unwrap_or_default();
    for inner in command.get_subcommands_mut() {
        if !inner.is_hide_set() && inner.get_name() != "help" {
            describe(inner, (depth + 1).min(4), page);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_holds_together() {
        Cli::command().debug_assert();
    }

    /// The keys that a command line sets, as `key=value`.
    #[track_caller]
    fn check(args: &str, want: &[&str]) {
        let words = ["docent", "serve"].into_iter().chain(args.split_whitespace());
        let Command::Serve(flags) =
            Cli::try_parse_from(words).unwrap_or_else(|e| panic!("{e}")).command
        else {
            panic!("not serve");
        };
        let flags = flags.into_flags();
        let got: Vec<String> =
            flags.overrides.iter().map(|o| format!("{}={}", o.key, o.value)).collect();
        assert_eq!(got, want, "{args}");
    }

    #[test]
    fn flags_set_keys() {
        check("", &[]);
        check(
            "--transport http,sse --port 9",
            &[r#"server.transport=["http","sse"]"#, "server.port=9"],
        );
        check("--auth abc", &["server.auth.required=true", "server.auth.token=\"abc\""]);
        check("--rate-limit 0", &["server.rate_limit.enabled=false"]);
        check(
            "--rate-limit 5",
            &[
                "server.rate_limit.enabled=true",
                "server.rate_limit.requests=5",
                "server.rate_limit.window=60000",
            ],
        );
        check(
            "--handshake optional --allow-open",
            &["server.handshake=\"optional\"", "server.allow_open=true"],
        );
        check(
            "--allowed-host a --allowed-host b --tool-timeout 7 --log-level debug --log-file x.log",
            &[
                r#"server.allowed_hosts=["a","b"]"#,
                "limits.tool_timeout_ms=7",
                "server.logging.level=\"debug\"",
                "server.logging.file=\"x.log\"",
            ],
        );
    }

    /// The help repeats defaults that are defined in the configuration.
    #[test]
    fn defaults_in_the_help_are_the_ones_in_force() {
        let working_dir = tempfile::tempdir().unwrap();
        let inputs =
            ConfigInputs { working_dir: working_dir.path().into(), ..ConfigInputs::default() };
        let Config { server, limits, .. } = Config::load(&inputs).unwrap_or_else(|e| panic!("{e}"));
        let mut command = Cli::command();
        let serve = command.find_subcommand_mut("serve").unwrap();
        let flag = |name: &str| {
            let flag = serve.get_arguments().find(|flag| flag.get_long() == Some(name)).unwrap();
            flag.get_help().unwrap().to_string()
        };
        let rate = server.rate_limit.unwrap();
        assert_eq!(rate.window.as_secs(), 60, "--rate-limit counts by the minute");
        for (name, value) in [
            ("transport", json!(server.transports[0])),
            ("host", json!(server.host)),
            ("port", json!(server.port)),
            ("rate-limit", json!(rate.requests)),
            ("handshake", json!(server.handshake)),
            ("tool-timeout", json!(limits.tool_timeout.as_millis())),
            ("log-level", json!(server.logging.level)),
        ] {
            let want = format!("[default: {}]", value.to_string().trim_matches('"'));
            assert!(flag(name).ends_with(&want), "--{name} doesn't say {want}: {}", flag(name));
        }
    }

    #[test]
    fn every_transport_has_one_spelling() {
        for way in <TransportKind as clap::ValueEnum>::value_variants() {
            let typed = clap::ValueEnum::to_possible_value(way).unwrap();
            assert_eq!(json!(way), json!(typed.get_name()));
        }
    }
}
