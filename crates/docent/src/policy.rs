//! `docent policy test`: whether a call would be allowed, and by which rule. Nothing is run.

use crate::{
    analyze::{Printed, UsedWrongly},
    config::{Config, Inputs},
    serve, servers,
};
use anyhow::Context as _;
use docent_hub::Spec;
use docent_server::{Action, Verdict};
use docent_suites::files::{ReadProblem, Roots};
use docent_tool::{Object, Provider, ToolInfo};
use docent_transport::{Principal, PrincipalKind};
use serde::Serialize;
use serde_json::{Value, json};
use std::{fmt::Write as _, process::ExitCode, sync::Arc};

/// Arguments that hold paths.
const PATHS: [&str; 6] = ["path", "file", "files", "folder", "directory", "root"];

/// Tools by which those of other servers are found and called.
const OF_THE_HUB: [&str; 4] =
    ["list_mcp_capabilities", "describe_mcp", "call_mcp_tool", "execute_mcp_code"];

/// What is asked.
pub(crate) struct Question<'a> {
    pub(crate) tool: &'a str,
    /// `key=value`, or one JSON object.
    pub(crate) arguments: &'a [String],
    /// The name of a key.
    pub(crate) key: Option<&'a str>,
    pub(crate) json: bool,
}

/// What the policy says of one part of a call.
#[derive(Debug, Serialize)]
struct Ruling {
    about: String,
    verdict: &'static str,
    by: String,
}

impl Ruling {
    fn new(about: impl Into<String>, allowed: bool, by: impl Into<String>) -> Self {
        let verdict = if allowed { "allowed" } else { "denied" };
        Self { about: about.into(), verdict, by: by.into() }
    }
}

/// Answers it: exits with 0 where the call would be allowed, 1 where it would not.
pub(crate) fn test(question: &Question<'_>, inputs: &Inputs) -> anyhow::Result<Printed> {
    let config = Config::load(inputs)?;
    let providers = serve::suites(&config)?.providers;
    let servers = servers::all(&config);
    let owner = find(question.tool, &providers, &servers)?;
    let arguments = arguments(question.arguments)?;
    let who = principal(question.key, &config)?;
    let mut rulings = vec![ruled(&config, &who, owner.key(), question.tool)];
    let mut note = None;
    match &owner {
        Owner::Suite(_, info) => {
            check_names(&arguments, info)?;
            let roots = serve::roots(&config)?;
            for (name, value) in &arguments {
                for text in texts(value) {
                    rulings.extend(examine(name, text, &config, &roots));
                }
            }
        }
        // What another server does with a path or an address is its own affair.
        Owner::Server(name) => note = Some(not_asked(name)),
        Owner::Hub if question.tool == "call_mcp_tool" => {
            if let Some((server, tool)) = inner(&arguments, &servers) {
                rulings.push(ruled(&config, &who, server, &tool));
                note = Some(not_asked(server));
            }
        }
        Owner::Hub => {}
    }
    let bounds = bounds(question.tool, &config);
    let is_allowed = rulings.iter().all(|ruling| ruling.verdict != "denied");
    let text = if question.json {
        let mut whole = json!({"allowed": is_allowed, "rulings": rulings, "bounds": bounds});
        if let Some(note) = note {
            whole["note"] = note.into();
        }
        format!("{whole:#}\n")
    } else {
        let mut text = String::new();
        for Ruling { about, verdict, by } in &rulings {
            writeln!(text, "{verdict}: {about}\n  by {by}").unwrap_or_default();
        }
        writeln!(text, "bounds: {bounds}").unwrap_or_default();
        note.map(|note| writeln!(text, "note: {note}")).transpose().unwrap_or_default();
        text
    };
    Ok(Printed { text, code: ExitCode::from(u8::from(!is_allowed)) })
}

/// What scopes and rules say of a tool.
fn ruled(config: &Config, who: &Principal, provider: &str, tool: &str) -> Ruling {
    let Verdict { action, by } = config.policy.tools.decide(who, provider, Some(tool));
    let verdict = match action {
        Action::Allow => "allowed",
        Action::Deny => "denied",
        Action::Approve => "allowed once approved",
    };
    Ruling { about: format!("{tool} for {}", who.name), verdict, by }
}

fn not_asked(server: &str) -> String {
    format!("whether `{server}` has such a tool is not known: no server is started")
}

/// Whose tool it is.
enum Owner {
    Suite(Arc<dyn Provider>, Box<ToolInfo>),
    Hub,
    Server(String),
}

impl Owner {
    /// As scopes and rules call it.
    fn key(&self) -> &str {
        match self {
            Self::Suite(provider, _) => provider.key(),
            Self::Hub => "hub",
            Self::Server(name) => name,
        }
    }
}

fn find(tool: &str, providers: &[Arc<dyn Provider>], servers: &[Spec]) -> anyhow::Result<Owner> {
    let mut names = Vec::new();
    for provider in providers {
        for info in provider.tools().iter().map(|tool| tool.info()) {
            if info.name == tool {
                return Ok(Owner::Suite(Arc::clone(provider), Box::new(info)));
            }
            names.push(info.name);
        }
    }
    if !servers.is_empty() {
        if OF_THE_HUB.contains(&tool) {
            return Ok(Owner::Hub);
        }
        names.extend(OF_THE_HUB.map(String::from));
    }
    if let Some(server) = server_of(tool, servers) {
        return Ok(Owner::Server(server.name.clone()));
    }
    names.sort_by_key(|name| strsim::damerau_levenshtein(name, tool));
    let near = names.first().map_or("", String::as_str);
    Err(UsedWrongly(format!("there is no tool `{tool}`; the nearest is `{near}`")).into())
}

/// The server that may have a tool of this name: one that gives it, or the one with the longest name before `__`.
fn server_of<'a>(tool: &str, servers: &'a [Spec]) -> Option<&'a Spec> {
    let gives = |server: &&Spec| server.rename.values().any(|name| name == tool);
    let begins = |server: &&Spec| {
        let own = tool.strip_prefix(&prefix(server));
        own.is_some_and(|own| !own.is_empty() && server.offers(own))
    };
    let longest = || servers.iter().filter(begins).max_by_key(|server| server.name.len());
    servers.iter().find(gives).or_else(longest)
}

/// What the names of a server's tools begin with.
fn prefix(server: &Spec) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() || "_-./".contains(c) { c } else { '_' };
    format!("{}__", server.name.chars().map(legal).collect::<String>())
}

/// The server and the tool that `call_mcp_tool` is to call, under the name that rules speak of.
fn inner<'a>(arguments: &Object, servers: &'a [Spec]) -> Option<(&'a str, String)> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let (server, tool) = (text("server")?, text("tool")?);
    let server = servers.iter().find(|spec| spec.name == server)?;
    let prefix = prefix(server);
    let is_public = tool.starts_with(&prefix) || server.rename.values().any(|name| name == tool);
    let whole = || if is_public { tool.to_owned() } else { format!("{prefix}{tool}") };
    let public = server.rename.get(tool).cloned().unwrap_or_else(whole);
    Some((&server.name, public))
}

fn arguments(words: &[String]) -> anyhow::Result<Object> {
    let mut all = Object::new();
    for word in words {
        if word.starts_with('{') {
            let object = serde_json::from_str::<Object>(word)
                .with_context(|| UsedWrongly(format!("{word} is no JSON object")))?;
            all.extend(object);
            continue;
        }
        let Some((key, value)) = word.split_once('=') else {
            let told = format!("{word:?} is neither key=value nor a JSON object");
            return Err(UsedWrongly(told).into());
        };
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        all.insert(key.to_owned(), value);
    }
    Ok(all)
}

/// Arguments must be those of the tool.
fn check_names(all: &Object, info: &ToolInfo) -> anyhow::Result<()> {
    let known = info.input_schema.get("properties").and_then(Value::as_object);
    let unknown = all.keys().find(|key| !known.is_some_and(|known| known.contains_key(*key)));
    if let Some(key) = unknown {
        let known: Vec<&String> = known.into_iter().flatten().map(|(key, _)| key).collect();
        let told = format!("`{}` has no argument `{key}`; it has {known:?}", info.name);
        return Err(UsedWrongly(told).into());
    }
    Ok(())
}

/// Who asks: the holder of a key, or whoever comes without one.
fn principal(key: Option<&str>, config: &Config) -> anyhow::Result<Principal> {
    let auth = &config.server.auth;
    let Some(name) = key else {
        let everything: &[&str] = if auth.required { &[] } else { &["*"] };
        let scopes = everything.iter().map(ToString::to_string).collect();
        let kind = PrincipalKind::Anonymous;
        return Ok(Principal { name: "anonymous".into(), scopes, kind, until: None });
    };
    let found = auth.keys.iter().find(|key| key.name == name);
    let found = found.with_context(|| {
        let names: Vec<&str> = auth.keys.iter().map(|key| key.name.as_str()).collect();
        UsedWrongly(format!("there is no key named {name:?}; there are {names:?}"))
    })?;
    let scopes = found.scopes.iter().map(ToString::to_string).collect();
    Ok(Principal { name: name.into(), scopes, kind: PrincipalKind::Key, until: None })
}

fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// What the guards of files and of the network say of an argument.
fn examine(name: &str, text: &str, config: &Config, roots: &Roots) -> Option<Ruling> {
    let about = format!("{name} = {text:?}");
    if name == "url" {
        let checked = docent_net::Url::parse(text)
            .map_err(|error| error.to_string())
            .and_then(|url| config.policy.network.check(&url).map_err(|error| error.to_string()));
        return Some(match checked {
            Ok(()) => Ruling::new(
                about,
                true,
                "policy.network; its address is checked when it is looked up",
            ),
            Err(error) => Ruling::new(about, false, error),
        });
    }
    PATHS.contains(&name).then(|| match roots.resolve(text) {
        // A file may be a secret under another name, which shows where it is opened; nothing of it is read.
        Ok(place) => match roots.read_start(&place, 0) {
            Err(denied @ ReadProblem::Denied { .. }) => {
                Ruling::new(about, false, denied.to_string())
            }
            _ => Ruling::new(about, true, "the roots"),
        },
        Err(error) => Ruling::new(about, false, error.to_string()),
    })
}

fn bounds(tool: &str, config: &Config) -> String {
    let own = config.limits.tools.get(tool);
    let timeout = own.and_then(|own| own.timeout).unwrap_or(config.limits.tool_timeout);
    let rate = own.and_then(|own| own.rate_per_minute);
    let rate =
        rate.map_or("no rate of its own".to_owned(), |rate| format!("{rate} calls a minute"));
    format!("{timeout:?} a call, {rate}")
}
