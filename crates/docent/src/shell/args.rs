//! The flags of `docent tools`, `docent call`, `docent resources` and `docent prompts`.

use super::schema::nearest;
use crate::{analyze::UsageError, config::ConfigFlags};
use clap::{Args, Subcommand};
use std::{ffi::OsString, path::PathBuf};

/// The name that selects docent itself among the servers.
pub(crate) const DOCENT_TARGET: &str = "docent";

/// The commands of the shell client.
#[derive(Subcommand)]
pub(crate) enum ShellCommand {
    /// List tools, or show one in detail
    Tools(Box<ToolsFlags>),
    /// Call a tool; exits 1 if the tool fails
    Call(Box<CallFlags>),
    /// List resources, or read one
    Resources(Box<ResourcesFlags>),
    /// List prompts, or render one
    Prompts(Box<PromptsFlags>),
}

/// Flags that select the server.
#[derive(Args, Default)]
pub(crate) struct TargetFlags {
    /// Name of a configured server; you can also just give its name [default: docent itself]
    #[arg(long, short, value_name = "NAME", conflicts_with_all = ["url", "program"])]
    server: Option<String>,
    /// URL of a server
    #[arg(long, value_name = "URL", conflicts_with = "program")]
    url: Option<String>,
    /// Header to send with --url, such as 'Authorization: Bearer …'; may be repeated
    #[arg(long, short = 'H', value_name = "HEADER", requires = "url")]
    header: Vec<String>,
    /// Root that tools may read, passed to the server; may be repeated [default: the working directory]
    #[arg(long, value_name = "DIR")]
    root: Vec<PathBuf>,
    /// Configuration file to read instead of the root's own
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Show the server's log lines
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// Program to start as a server, with its arguments
    #[arg(value_name = "PROGRAM", last = true)]
    program: Vec<OsString>,
}

/// The flags of `docent tools`.
#[derive(Args, Default)]
pub(crate) struct ToolsFlags {
    /// Servers to list, or a tool to show in detail
    #[arg(value_name = "SERVER|TOOL")]
    pub(crate) words: Vec<String>,
    /// List the tools of docent and of every configured server
    #[arg(long, conflicts_with_all = ["server", "url", "program"])]
    pub(crate) all: bool,
    /// Show how many context tokens each definition costs
    #[arg(long)]
    pub(crate) tokens: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) target: TargetFlags,
}

/// The flags of `docent call`.
#[derive(Args, Default)]
#[command(after_help = "\
Arguments are typed by the tool's schema:
  key=value       text, number, boolean, null or a choice, as the schema says
  key=a,b         an array of such; key=a key=b as well
  key.inner=1     a field of an object
  key:=JSON       anything, as it is
  key=@file       what a file holds
  key=-           what standard input holds
A value without a key goes to the only required argument. --json takes arguments where an
object, @file or - follows; alone, it prints the whole answer as JSON.")]
pub(crate) struct CallFlags {
    /// Name of the tool
    #[arg(value_name = "TOOL")]
    pub(crate) tool: String,
    /// Arguments of the tool, and the name of the server, unless docent
    #[arg(value_name = "KEY=VALUE", allow_negative_numbers = true)]
    pub(crate) words: Vec<String>,
    /// All arguments as one JSON object, @FILE or -; without a value: print the whole result as JSON
    #[arg(long, value_name = "JSON", num_args = 0..=1, default_missing_value = "", action = clap::ArgAction::Append)]
    json: Vec<String>,
    /// Folder for pictures, sounds and other bytes [default: the working directory, at a terminal]
    #[arg(long, value_name = "DIR")]
    pub(crate) save: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) target: TargetFlags,
}

/// The flags of `docent resources`.
#[derive(Args, Default)]
pub(crate) struct ResourcesFlags {
    /// URI of a resource to read, and the name of the server, unless docent
    #[arg(value_name = "SERVER|URI")]
    pub(crate) words: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Folder for binary contents [default: the working directory at a terminal; otherwise standard output]
    #[arg(long, value_name = "DIR")]
    pub(crate) save: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) target: TargetFlags,
}

/// The flags of `docent prompts`.
#[derive(Args, Default)]
pub(crate) struct PromptsFlags {
    /// Prompt to render, its arguments as key=value, and the name of the server, unless docent
    #[arg(value_name = "SERVER|NAME|KEY=VALUE", allow_negative_numbers = true)]
    pub(crate) words: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Folder for pictures, sounds and other bytes [default: the working directory, at a terminal]
    #[arg(long, value_name = "DIR")]
    pub(crate) save: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) target: TargetFlags,
}

impl CallFlags {
    /// Returns the arguments given with `--json`.
    pub(crate) fn arguments(&self) -> Result<Option<&str>, UsageError> {
        let mut given = self.json.iter().filter(|given| !given.is_empty());
        let first = given.next();
        if given.next().is_some() {
            return Err(UsageError(
                "--json was given twice; it takes all arguments at once".into(),
            ));
        }
        Ok(first.map(String::as_str))
    }

    /// Whether the result is printed as JSON.
    pub(crate) fn prints_json(&self) -> bool {
        self.json.iter().any(String::is_empty)
    }
}

impl ShellCommand {
    /// Whether the command does more than list.
    pub(crate) fn is_call(&self) -> bool {
        match self {
            Self::Tools(_) => false,
            Self::Call(_) => true,
            Self::Resources(flags) => !flags.words.is_empty(),
            Self::Prompts(flags) => !flags.words.is_empty(),
        }
    }

    /// Whether this name is among the words or flags that select a server.
    pub(crate) fn names(&self, name: &str) -> bool {
        let words = match self {
            Self::Tools(flags) => &flags.words,
            Self::Call(flags) => &flags.words,
            Self::Resources(flags) => &flags.words,
            Self::Prompts(flags) => &flags.words,
        };
        let flag = self.target().server.as_deref();
        flag == Some(name) || words.iter().any(|word| word == name)
    }

    /// Returns the flags that select the server.
    pub(crate) fn target(&self) -> &TargetFlags {
        match self {
            Self::Tools(flags) => &flags.target,
            Self::Call(flags) => &flags.target,
            Self::Resources(flags) => &flags.target,
            Self::Prompts(flags) => &flags.target,
        }
    }
}

/// `--json` of `docent call` takes the next word only if it can be arguments. Clap can't decide that, so the two cases
/// are separated before parsing: `--json` alone becomes `--json=`.
pub(crate) fn join_json_value(words: Vec<OsString>) -> Vec<OsString> {
    if words.get(1).is_none_or(|word| word != "call") {
        return words;
    }
    let starts = |word: &OsString| {
        let text = word.to_string_lossy();
        text == "-" || text.starts_with('@') || text.trim_start().starts_with('{')
    };
    let mut settled = Vec::with_capacity(words.len());
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        if word == "--" {
            settled.push(word);
            break;
        }
        let alone = word == "--json" && !words.peek().is_some_and(starts);
        settled.push(if alone { "--json=".into() } else { word });
    }
    settled.extend(words);
    settled
}

/// A server to connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ServerTarget {
    /// docent itself, in this process.
    Docent,
    /// A configured server.
    Server(String),
    /// URL of a server.
    Url {
        /// The address.
        url: String,
        /// HTTP headers, by name.
        headers: Vec<(String, String)>,
    },
    /// A program to start.
    Program(Vec<OsString>),
}

impl TargetFlags {
    /// Returns the configuration flags.
    pub(crate) fn flags(&self) -> ConfigFlags {
        let (roots, config_file) = (self.root.clone(), self.config.clone());
        ConfigFlags { roots, config_file, ..ConfigFlags::default() }
    }

    /// Whether a program is named, which is always started.
    pub(crate) fn is_program(&self) -> bool {
        !self.program.is_empty()
    }

    /// Returns the server that the flags name, if any.
    fn named_target(&self, known: &[String]) -> Result<Option<ServerTarget>, UsageError> {
        if let Some(name) = &self.server {
            return server(name, known).map(Some);
        }
        if let Some(url) = &self.url {
            let parsed = url::Url::parse(url).ok();
            let schemes = ["http", "https", "ws", "wss"];
            if !parsed.is_some_and(|url| schemes.contains(&url.scheme()) && url.has_host()) {
                return Err(UsageError(format!(
                    "invalid --url {url:?}: it must begin with http://, https://, ws:// or wss://"
                )));
            }
            let headers = self.header.iter().map(|header| {
                let (name, value) = header.split_once(':').ok_or_else(|| {
                    UsageError(format!("invalid --header {header:?}: expected 'Name: value'"))
                })?;
                Ok((name.trim().to_owned(), value.trim().to_owned()))
            });
            let headers = headers.collect::<Result<_, UsageError>>()?;
            return Ok(Some(ServerTarget::Url { url: url.clone(), headers }));
        }
        let program = &self.program;
        Ok((!program.is_empty()).then(|| ServerTarget::Program(program.clone())))
    }

    /// Splits the words into servers and others. If flags name a server, no word does.
    pub(crate) fn resolve(
        &self,
        words: &[String],
        known: &[String],
    ) -> Result<(Vec<ServerTarget>, Vec<String>), UsageError> {
        if let Some(target) = self.named_target(known)? {
            return Ok((vec![target], words.to_vec()));
        }
        let (servers, rest): (Vec<String>, Vec<String>) =
            words.iter().cloned().partition(|word| known.contains(word) || word == DOCENT_TARGET);
        let mut targets = Vec::new();
        for name in servers {
            let target = server(&name, known)?;
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
        if targets.is_empty() {
            targets.push(ServerTarget::Docent);
        }
        Ok((targets, rest))
    }

    /// The same for a command with a single server.
    pub(crate) fn resolve_one(
        &self,
        words: &[String],
        known: &[String],
    ) -> Result<(ServerTarget, Vec<String>), UsageError> {
        let (targets, rest) = self.resolve(words, known)?;
        match <[ServerTarget; 1]>::try_from(targets) {
            Ok([target]) => Ok((target, rest)),
            Err(_) => Err(UsageError(
                "several words are names of servers: choose one with --server".into(),
            )),
        }
    }
}

fn server(name: &str, known: &[String]) -> Result<ServerTarget, UsageError> {
    if known.iter().any(|one| one == name) {
        return Ok(ServerTarget::Server(name.to_owned()));
    }
    if name == DOCENT_TARGET {
        return Ok(ServerTarget::Docent);
    }
    Err(unknown_server(name, known))
}

/// Returns the error for an unknown server, with the known ones.
pub(crate) fn unknown_server(name: &str, known: &[String]) -> UsageError {
    let near = nearest(name, known.iter().map(String::as_str));
    let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
    let known = if known.is_empty() { "none".into() } else { known.join(", ") };
    UsageError(format!("unknown server {name}{near} (configured: {known})"))
}
