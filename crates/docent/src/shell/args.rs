//! What can be typed after `docent tools`, `docent call`, `docent resources` and `docent prompts`.

use super::schema::nearest;
use crate::{analyze::UsageError, config::ConfigFlags};
use clap::{Args, Subcommand};
use std::{ffi::OsString, path::PathBuf};

/// The name under which docent itself is asked for among other servers.
pub(crate) const DOCENT_TARGET: &str = "docent";

/// The commands of the shell client.
#[derive(Subcommand)]
pub(crate) enum ShellCommand {
    /// List the tools of docent or of another server, or tell all about one
    Tools(Box<ToolsFlags>),
    /// Call a tool; exits with 1 where the tool fails
    Call(Box<CallFlags>),
    /// List resources, or read one
    Resources(Box<ResourcesFlags>),
    /// List prompts, or render one
    Prompts(Box<PromptsFlags>),
}

/// Which server is asked.
#[derive(Args, Default)]
pub(crate) struct TargetFlags {
    /// A configured server, by name; its bare name among the words does as well [default: docent itself]
    #[arg(long, short, value_name = "NAME", conflicts_with_all = ["url", "program"])]
    server: Option<String>,
    /// A server on the network
    #[arg(long, value_name = "URL", conflicts_with = "program")]
    url: Option<String>,
    /// Header to send with --url, such as 'Authorization: Bearer …'; may be repeated
    #[arg(long, short = 'H', value_name = "HEADER", requires = "url")]
    header: Vec<String>,
    /// Directory that tools may read and the server is told of; may be repeated [default: the working directory]
    #[arg(long, value_name = "DIR")]
    root: Vec<PathBuf>,
    /// Configuration file to read in place of the root's own
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Show the server's log lines
    #[arg(long, short)]
    pub(crate) verbose: bool,
    /// A program that is a server, and its arguments
    #[arg(value_name = "PROGRAM", last = true)]
    program: Vec<OsString>,
}

/// What can be typed after `docent tools`.
#[derive(Args, Default)]
pub(crate) struct ToolsFlags {
    /// Servers to list, or a tool to tell all about
    #[arg(value_name = "SERVER|TOOL")]
    pub(crate) words: Vec<String>,
    /// List docent's own tools and those of every configured server
    #[arg(long, conflicts_with_all = ["server", "url", "program"])]
    pub(crate) all: bool,
    /// Tell what each definition costs a model's context, in tokens
    #[arg(long)]
    pub(crate) tokens: bool,
    /// Print for programs
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) target: TargetFlags,
}

/// What can be typed after `docent call`.
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
    /// The tool
    #[arg(value_name = "TOOL")]
    pub(crate) tool: String,
    /// Its arguments, and the server by its bare name, if not docent
    #[arg(value_name = "KEY=VALUE", allow_negative_numbers = true)]
    pub(crate) words: Vec<String>,
    /// All arguments as one JSON object, @FILE or -; alone: print the whole answer as JSON
    #[arg(long, value_name = "JSON", num_args = 0..=1, default_missing_value = "", action = clap::ArgAction::Append)]
    json: Vec<String>,
    /// Folder for pictures, sounds and other bytes [default: the working directory, at a terminal]
    #[arg(long, value_name = "DIR")]
    pub(crate) save: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) target: TargetFlags,
}

/// What can be typed after `docent resources`.
#[derive(Args, Default)]
pub(crate) struct ResourcesFlags {
    /// Address of a resource to read, and the server, if not docent
    #[arg(value_name = "SERVER|URI")]
    pub(crate) words: Vec<String>,
    /// Print for programs
    #[arg(long)]
    pub(crate) json: bool,
    /// Folder for what is no text [default: the working directory, at a terminal; else it is printed]
    #[arg(long, value_name = "DIR")]
    pub(crate) save: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) target: TargetFlags,
}

/// What can be typed after `docent prompts`.
#[derive(Args, Default)]
pub(crate) struct PromptsFlags {
    /// A prompt to render, its arguments as key=value, and the server, if not docent
    #[arg(value_name = "SERVER|NAME|KEY=VALUE", allow_negative_numbers = true)]
    pub(crate) words: Vec<String>,
    /// Print for programs
    #[arg(long)]
    pub(crate) json: bool,
    /// Folder for pictures, sounds and other bytes [default: the working directory, at a terminal]
    #[arg(long, value_name = "DIR")]
    pub(crate) save: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) target: TargetFlags,
}

impl CallFlags {
    /// What `--json` gave as arguments.
    pub(crate) fn arguments(&self) -> Result<Option<&str>, UsageError> {
        let mut given = self.json.iter().filter(|given| !given.is_empty());
        let first = given.next();
        if given.next().is_some() {
            return Err(UsageError("--json gives all arguments, and is given twice".into()));
        }
        Ok(first.map(String::as_str))
    }

    /// Whether the answer is printed as JSON.
    pub(crate) fn prints_json(&self) -> bool {
        self.json.iter().any(String::is_empty)
    }
}

impl ShellCommand {
    /// Whether a server is to do more than list what it has.
    pub(crate) fn is_call(&self) -> bool {
        match self {
            Self::Tools(_) => false,
            Self::Call(_) => true,
            Self::Resources(flags) => !flags.words.is_empty(),
            Self::Prompts(flags) => !flags.words.is_empty(),
        }
    }

    /// Whether this name is among the words or the flags that choose a server.
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

    /// Which server is asked, as typed.
    pub(crate) fn target(&self) -> &TargetFlags {
        match self {
            Self::Tools(flags) => &flags.target,
            Self::Call(flags) => &flags.target,
            Self::Resources(flags) => &flags.target,
            Self::Prompts(flags) => &flags.target,
        }
    }
}

/// `--json` of `docent call` takes the next word only where it can be arguments. The parser of the command line can't
/// tell, so that the two are told apart before it: `--json` alone becomes `--json=`.
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

/// A server to ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ServerTarget {
    /// docent itself, in this process.
    Docent,
    /// A configured server.
    Server(String),
    /// A server on the network.
    Url {
        /// Where it is.
        url: String,
        /// Headers for it, by name.
        headers: Vec<(String, String)>,
    },
    /// A program to start.
    Program(Vec<OsString>),
}

impl TargetFlags {
    /// The layers of configuration that they name.
    pub(crate) fn flags(&self) -> ConfigFlags {
        let (roots, config_file) = (self.root.clone(), self.config.clone());
        ConfigFlags { roots, config_file, ..ConfigFlags::default() }
    }

    /// Whether a program is named, which is started in any case.
    pub(crate) fn is_program(&self) -> bool {
        !self.program.is_empty()
    }

    /// The server that the flags name; none where they name none.
    fn named_target(&self, known: &[String]) -> Result<Option<ServerTarget>, UsageError> {
        if let Some(name) = &self.server {
            return server(name, known).map(Some);
        }
        if let Some(url) = &self.url {
            let parsed = url::Url::parse(url).ok();
            let schemes = ["http", "https", "ws", "wss"];
            if !parsed.is_some_and(|url| schemes.contains(&url.scheme()) && url.has_host()) {
                return Err(UsageError(format!(
                    "--url takes an address that begins with http://, https://, ws:// or wss://, which {url:?} does not"
                )));
            }
            let headers = self.header.iter().map(|header| {
                let (name, value) = header.split_once(':').ok_or_else(|| {
                    UsageError(format!("--header takes 'Name: value', which {header:?} is not"))
                })?;
                Ok((name.trim().to_owned(), value.trim().to_owned()))
            });
            let headers = headers.collect::<Result<_, UsageError>>()?;
            return Ok(Some(ServerTarget::Url { url: url.clone(), headers }));
        }
        let program = &self.program;
        Ok((!program.is_empty()).then(|| ServerTarget::Program(program.clone())))
    }

    /// The servers that the flags and the words name, and the words that name none. Where flags name one, no word does.
    pub(crate) fn resolve(
        &self,
        words: &[String],
        known: &[String],
    ) -> Result<(Vec<ServerTarget>, Vec<String>), UsageError> {
        if let Some(target) = self.named(known)? {
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

    /// The same, for a command that asks one server.
    pub(crate) fn resolve_one(
        &self,
        words: &[String],
        known: &[String],
    ) -> Result<(ServerTarget, Vec<String>), UsageError> {
        let (targets, rest) = self.resolve(words, known)?;
        match <[ServerTarget; 1]>::try_from(targets) {
            Ok([target]) => Ok((target, rest)),
            Err(_) => Err(UsageError(
                "several words are names of servers: say which one is asked with --server".into(),
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

/// Says which servers there are.
pub(crate) fn unknown_server(name: &str, known: &[String]) -> UsageError {
    let near = nearest(name, known.iter().map(String::as_str));
    let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
    let there = if known.is_empty() { "none is configured".into() } else { known.join(", ") };
    UsageError(format!("no server is called {name}{near} (there: {there})"))
}
