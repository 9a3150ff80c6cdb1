//! Completes a command line: commands and flags from the command line's own description, servers from the
//! configuration, tools and their arguments from docent itself or from the cache of other servers.
//!
//! Starts no server, and passes names from servers to the shell only if they are plain words.

pub(crate) mod lists;
mod scripts;

use super::args::{DOCENT_TARGET, ServerTarget};
use crate::{config::Config, serve, servers};
use clap::{Arg, Command, ValueEnum};
use docent_registry::McpClient;
use docent_tool::ToolInfo;
use lists::{CompletionCache, CompletionParameter, CompletionTool};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Maximum number of candidates.
const MAX_CANDIDATES: usize = 1000;

/// A shell that requests completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompletionShell {
    /// bash, which passes its line.
    Bash,
    /// zsh, which passes words.
    Zsh,
    /// fish, which passes words.
    Fish,
}

/// Returns the completion script of a shell.
pub(crate) fn script(shell: CompletionShell) -> &'static str {
    match shell {
        CompletionShell::Bash => scripts::BASH,
        CompletionShell::Zsh => scripts::ZSH,
        CompletionShell::Fish => scripts::FISH,
    }
}

/// Source of servers and tools for completion.
pub(crate) trait CompletionSource {
    /// Returns the names of configured servers.
    fn servers(&self) -> Vec<String>;
    /// Returns the tools of a server.
    fn tools(&self, target: &ServerTarget) -> Vec<CompletionTool>;
}

impl CompletionSource for Config {
    fn servers(&self) -> Vec<String> {
        self.servers.iter().map(|entry| entry.server.name.clone()).collect()
    }

    fn tools(&self, target: &ServerTarget) -> Vec<CompletionTool> {
        if *target == ServerTarget::Docent {
            let own = serve::suites(self).map(|suites| suites.providers).unwrap_or_default();
            let own = own.iter().flat_map(|provider| provider.tools()).map(|tool| tool.info());
            let own = own.map(|info| definition(&info));
            let memory = servers::approval_memory(self);
            // Under docent's names for them, as last seen.
            let others = servers::all_specs(self);
            let others = others.iter().flat_map(|spec| memory.tools(spec)).map(Value::Object);
            return own
                .chain(others)
                .filter_map(|tool| CompletionTool::from_definition(&tool))
                .collect();
        }
        let path = CompletionCache::open(self).and_then(|lists| lists.path(target, self));
        path.map(|path| lists::read(&path)).unwrap_or_default()
    }
}

fn definition(info: &ToolInfo) -> Value {
    json!({"name": info.name, "description": info.description, "inputSchema": info.input_schema})
}

/// A completion candidate with its description.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CompletionCandidate {
    word: String,
    about: String,
}

/// The completions of a command line.
#[derive(Debug, PartialEq, Eq)]
enum CompletionReply {
    Words(Vec<CompletionCandidate>),
    Files,
}

/// Returns the completions in the format of the scripts.
pub(crate) fn answer(
    shell: CompletionShell,
    typed: &[String],
    root: &Command,
    known: &dyn CompletionSource,
) -> String {
    let words: Vec<String> = match (shell, typed) {
        (CompletionShell::Bash, [line]) => split(line).into_iter().skip(1).collect(),
        _ => typed.to_vec(),
    };
    let CompletionReply::Words(offers) = complete(&words, root, known) else {
        return "files\n".into();
    };
    let mut text = String::from("words\n");
    for CompletionCandidate { word, about } in
        offers.iter().filter(|offer| is_plain(&offer.word)).take(MAX_CANDIDATES)
    {
        text.push_str(word);
        if shell != CompletionShell::Bash {
            text.push('\t');
            text.push_str(&docent_screen::one_line(about).replace('\t', " "));
        }
        text.push('\n');
    }
    text
}

/// Whether a word has no special meaning in any shell.
fn is_plain(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "_-./:=@,%+".contains(c))
}

/// Splits a line up to the cursor into words without quotes. The last one is being typed, and may be empty.
fn split(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote: Option<char> = None;
    let mut letters = line.chars();
    while let Some(c) = letters.next() {
        match (quote, c) {
            (None, c) if c.is_whitespace() => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None | Some('"'), '\\') => word.extend(letters.next()),
            (_, c) => word.push(c),
        }
    }
    words.push(word);
    words
}

/// A partially typed command line.
struct ParsedCommandLine<'c> {
    command: &'c Command,
    /// The name of the parent command.
    within: &'c str,
    /// Values of the given flags, by long name.
    flags: BTreeMap<&'c str, String>,
    /// Words that are not flags.
    words: Vec<String>,
    /// The flag whose value is being typed.
    open: Option<&'c Arg>,
    /// Whether `--` has been typed.
    rest: bool,
}

fn read<'c>(before: &[String], root: &'c Command) -> ParsedCommandLine<'c> {
    let (flags, words) = (BTreeMap::new(), Vec::new());
    let mut typed =
        ParsedCommandLine { command: root, within: "", flags, words, open: None, rest: false };
    for word in before {
        if typed.rest {
            typed.words.push(word.clone());
        } else if let Some(open) = typed.open.take() {
            typed.flags.insert(open.get_long().unwrap_or_default(), word.clone());
        } else if word == "--" {
            typed.rest = true;
        } else if word.starts_with('-') && word.len() > 1 {
            let (name, value) =
                word.split_once('=').map_or((word.as_str(), None), |(n, v)| (n, Some(v)));
            if let Some(flag) = flag(typed.command, name) {
                let takes = flag.get_action().takes_values();
                // A flag with an optional value is assumed to have none.
                let optional = flag.get_num_args().is_some_and(|range| range.min_values() == 0);
                let long = flag.get_long().unwrap_or_default();
                typed.flags.insert(long, value.unwrap_or_default().to_owned());
                typed.open = (takes && !optional && value.is_none()).then_some(flag);
            }
        } else if let Some(inner) = typed.command.find_subcommand(word) {
            typed.within = typed.command.get_name();
            typed.command = inner;
        } else {
            typed.words.push(word.clone());
        }
    }
    typed
}

fn flag<'c>(command: &'c Command, typed: &str) -> Option<&'c Arg> {
    let long = typed.strip_prefix("--");
    let short = typed.strip_prefix('-').and_then(|rest| rest.chars().next());
    command.get_arguments().find(|one| match long {
        Some(long) => one.get_long() == Some(long),
        None => one.get_short().is_some() && one.get_short() == short,
    })
}

fn complete(words: &[String], root: &Command, known: &dyn CompletionSource) -> CompletionReply {
    let Some((current, before)) = words.split_last() else {
        return CompletionReply::Words(Vec::new());
    };
    let typed = read(before, root);
    if typed.rest {
        return CompletionReply::Files;
    }
    if let Some(open) = typed.open {
        return values(open, "", current, known);
    }
    if let Some((name, value)) = current.split_once('=').filter(|(name, _)| name.starts_with("--"))
    {
        return match flag(typed.command, name) {
            Some(flag) => values(flag, &format!("{name}="), value, known),
            None => CompletionReply::Words(Vec::new()),
        };
    }
    if current.starts_with('-') {
        return CompletionReply::Words(with_prefix(current, flags(&typed)));
    }
    let inner = typed.command.get_subcommands().filter(|inner| !inner.is_hide_set());
    let inner: Vec<CompletionCandidate> =
        inner.map(|inner| offer(inner.get_name(), &plain_text(inner.get_about()))).collect();
    if !inner.is_empty() {
        return CompletionReply::Words(with_prefix(current, inner));
    }
    match (typed.within, typed.command.get_name()) {
        ("servers", "test") => CompletionReply::Words(with_prefix(current, configured(known))),
        ("servers", "remove" | "approve" | "login") if typed.words.is_empty() => {
            CompletionReply::Words(with_prefix(current, configured(known)))
        }
        (_, "tools") => CompletionReply::Words(with_prefix(
            current,
            [servers(known), tools(&typed, known)].concat(),
        )),
        (_, "resources" | "prompts") => {
            CompletionReply::Words(with_prefix(current, servers(known)))
        }
        (_, "call") => call(&typed, current, known),
        _ => positional(&typed, current, known),
    }
}

fn offer(word: &str, about: &str) -> CompletionCandidate {
    CompletionCandidate { word: word.to_owned(), about: about.to_owned() }
}

fn plain_text(styled: Option<&clap::builder::StyledStr>) -> String {
    styled.map(ToString::to_string).unwrap_or_default()
}

fn with_prefix(current: &str, offers: Vec<CompletionCandidate>) -> Vec<CompletionCandidate> {
    offers.into_iter().filter(|offer| offer.word.starts_with(current)).collect()
}

fn flags(typed: &ParsedCommandLine<'_>) -> Vec<CompletionCandidate> {
    let all = typed.command.get_arguments().filter(|one| !one.is_hide_set());
    let all = all.filter_map(|one| Some((one.get_long()?, plain_text(one.get_help()))));
    let help = [("help", "Print help".to_owned())];
    let mut offers: Vec<CompletionCandidate> = Vec::new();
    for (long, about) in all.chain(help) {
        let word = format!("--{long}");
        if !offers.iter().any(|offer| offer.word == word) {
            offers.push(CompletionCandidate { word, about });
        }
    }
    offers
}

/// Completes the value of a flag or a positional argument.
fn values(of: &Arg, prefix: &str, current: &str, known: &dyn CompletionSource) -> CompletionReply {
    if of.get_id() == "server" {
        let all = servers(known).into_iter();
        let all =
            all.map(|one| CompletionCandidate { word: format!("{prefix}{}", one.word), ..one });
        return CompletionReply::Words(with_prefix(&format!("{prefix}{current}"), all.collect()));
    }
    let possible = of.get_possible_values();
    if !possible.is_empty() {
        let all = possible.iter().filter(|one| !one.is_hide_set());
        let all = all
            .map(|one| offer(&format!("{prefix}{}", one.get_name()), &plain_text(one.get_help())));
        return CompletionReply::Words(with_prefix(&format!("{prefix}{current}"), all.collect()));
    }
    let names = of.get_value_names().unwrap_or_default();
    let is = |word: &str| names.iter().any(|name| name.split('|').any(|part| part == word));
    if is("SERVER") {
        return CompletionReply::Words(with_prefix(current, servers(known)));
    }
    // Candidates are filtered by folder.
    if is("CLIENT") && !current.contains('/') {
        let all = McpClient::ALL.iter().map(|client| offer(client.id(), client.title()));
        return CompletionReply::Words(with_prefix(current, all.collect()));
    }
    if is("DIR") || is("FILE") || is("PROGRAM") {
        CompletionReply::Files
    } else {
        CompletionReply::Words(Vec::new())
    }
}

fn positional(
    typed: &ParsedCommandLine<'_>,
    current: &str,
    known: &dyn CompletionSource,
) -> CompletionReply {
    let all: Vec<&Arg> = typed.command.get_positionals().collect();
    let at = all.get(typed.words.len()).or_else(|| {
        all.last().filter(|last| last.get_num_args().is_some_and(|range| range.max_values() > 1))
    });
    at.map_or_else(|| CompletionReply::Words(Vec::new()), |one| values(one, "", current, known))
}

fn configured(known: &dyn CompletionSource) -> Vec<CompletionCandidate> {
    known.servers().iter().map(|name| offer(name, "server")).collect()
}

fn servers(known: &dyn CompletionSource) -> Vec<CompletionCandidate> {
    let mut all = configured(known);
    if !all.iter().any(|one| one.word == DOCENT_TARGET) {
        all.push(offer(DOCENT_TARGET, "docent itself"));
    }
    all
}

/// Returns the server that a command line selects so far.
fn target(typed: &ParsedCommandLine<'_>, known: &dyn CompletionSource) -> ServerTarget {
    let servers = known.servers();
    if let Some(url) = typed.flags.get("url") {
        return ServerTarget::Url { url: url.clone(), headers: Vec::new() };
    }
    let named = typed
        .flags
        .get("server")
        .or_else(|| typed.words.iter().find(|word| servers.contains(word)));
    named
        .filter(|name| servers.contains(name))
        .map_or(ServerTarget::Docent, |name| ServerTarget::Server(name.clone()))
}

fn tools(typed: &ParsedCommandLine<'_>, known: &dyn CompletionSource) -> Vec<CompletionCandidate> {
    known.tools(&target(typed, known)).iter().map(|tool| offer(&tool.name, &tool.about)).collect()
}

fn call(
    typed: &ParsedCommandLine<'_>,
    current: &str,
    known: &dyn CompletionSource,
) -> CompletionReply {
    let Some((name, given)) = typed.words.split_first() else {
        return CompletionReply::Words(with_prefix(current, tools(typed, known)));
    };
    // The server follows the tool, so the tool may belong to any server until then.
    let there = known.tools(&target(typed, known));
    let tool = there.iter().find(|tool| tool.name == *name);
    let keys = tool.map(|tool| tool.keys.as_slice()).unwrap_or_default();
    if let Some((key, value)) = current.split_once('=') {
        if value.starts_with('@') {
            return CompletionReply::Files;
        }
        let key_words = keys.iter().find(|one| one.name == key).map(|one| one.choices.as_slice());
        // After a comma, the next member of an array begins.
        let done = value.rfind(',').and_then(|at| value.get(..=at)).unwrap_or_default();
        let all = key_words
            .unwrap_or_default()
            .iter()
            .map(|one| offer(&format!("{key}={done}{one}"), ""));
        return CompletionReply::Words(with_prefix(current, all.collect()));
    }
    let is_given = |key: &CompletionParameter| {
        let typed = |word: &String| {
            word.strip_prefix(&key.name).is_some_and(|rest| rest.starts_with(['=', ':']))
        };
        !key.repeated && given.iter().any(typed)
    };
    let open = |key: &&CompletionParameter| !is_given(key);
    let required = keys.iter().filter(|key| key.required);
    let all = required.chain(keys.iter().filter(|key| !key.required)).filter(open);
    let mut offers: Vec<CompletionCandidate> = all
        .map(|key| {
            let mark = if key.required { "required. " } else { "" };
            CompletionCandidate {
                word: format!("{}=", key.name),
                about: format!("{mark}{}", key.about),
            }
        })
        .collect();
    if target(typed, known) == ServerTarget::Docent && !typed.flags.contains_key("server") {
        offers.extend(servers(known));
    }
    CompletionReply::Words(with_prefix(current, offers))
}

#[cfg(test)]
mod tests;
