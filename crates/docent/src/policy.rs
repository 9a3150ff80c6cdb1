//! `docent policy test`: reports whether a call would be allowed, and by which rule. Runs nothing.

use crate::{
    analyze::{Printed, UsageError},
    cli,
    config::{Config, ConfigInputs},
    serve, servers,
};
use anyhow::Context as _;
use docent_hub::ServerSpec;
use docent_server::{PolicyAction, PolicyDecision};
use docent_suites::files::{ReadProblem, ServedRoots};
use docent_tool::{DisabledTool, Object, ToolInfo, ToolProvider};
use docent_transport::{Principal, PrincipalKind};
use serde::Serialize;
use serde_json::{Value, json};
use std::{fmt::Write as _, process::ExitCode, sync::Arc};

/// Names of arguments that contain paths.
const PATH_ARGUMENTS: [&str; 6] = ["path", "file", "files", "folder", "directory", "root"];

/// The hub's tools, which find and call the tools of other servers.
const HUB_TOOLS: [&str; 4] =
    ["list_mcp_capabilities", "describe_mcp", "call_mcp_tool", "execute_mcp_code"];

/// The verdict on a tool that the current configuration disables.
const OFF_VERDICT: &str = "off";

/// A call to test.
pub(crate) struct PolicyQuery<'a> {
    pub(crate) tool: &'a str,
    /// `key=value`, or one JSON object.
    pub(crate) arguments: &'a [String],
    pub(crate) caller: PolicySubject<'a>,
    pub(crate) json: bool,
}

/// The caller of a tested call.
pub(crate) enum PolicySubject<'a> {
    /// A caller without credentials.
    Anonymous,
    /// The holder of the key with this name.
    Key(&'a str),
    /// A caller with these scopes, from a certificate or a token.
    Scopes(&'a [String]),
}

/// The verdict on one part of a call.
#[derive(Debug, Serialize)]
struct PolicyVerdict {
    about: String,
    verdict: &'static str,
    by: String,
}

impl PolicyVerdict {
    fn new(about: impl Into<String>, allowed: bool, by: impl Into<String>) -> Self {
        let verdict = if allowed { "allowed" } else { "denied" };
        Self { about: about.into(), verdict, by: by.into() }
    }
}

/// Tests a call: exits 0 if it would be allowed, 1 if not.
pub(crate) fn test(question: &PolicyQuery<'_>, inputs: &ConfigInputs) -> anyhow::Result<Printed> {
    let config = cli::load(inputs)?;
    let providers = serve::suites(&config)?.providers;
    let servers = servers::all_specs(&config);
    let owner = find(question.tool, &providers, &servers)?;
    let arguments = arguments(question.arguments)?;
    let who = principal(&question.caller, &config)?;
    let (ruling, mut bounds) = judge(&config, &who, owner.key(), question.tool);
    let mut rulings = vec![ruling];
    let mut notes = Vec::new();
    match &owner {
        ToolOwner::Suite(_, info) => {
            check_names(&arguments, info)?;
            if let Some(off) = &info.disabled {
                notes.extend(turn_off(&mut rulings, off));
            }
            let roots = serve::roots(&config)?;
            for (name, value) in &arguments {
                for text in texts(value) {
                    match judge_argument(name, text, &config, &roots) {
                        Some(ruling) => rulings.push(ruling),
                        None => notes.extend(unjudged_argument(name, text)),
                    }
                }
            }
        }
        // How another server uses a path or an address is unknown here.
        ToolOwner::Server(name) => notes.push(unknown_tool_note(name)),
        ToolOwner::Hub if question.tool == "call_mcp_tool" => {
            let (server, tool) = inner_tool(&arguments, &servers)?;
            let (ruling, inner_bounds) = judge(&config, &who, server, &tool);
            rulings.push(ruling);
            write!(bounds, "; {tool}: {inner_bounds}").unwrap_or_default();
            notes.push(unknown_tool_note(server));
        }
        ToolOwner::Hub => {}
    }
    let is_allowed =
        rulings.iter().all(|ruling| !["denied", OFF_VERDICT].contains(&ruling.verdict));
    let text = if question.json {
        let mut whole = json!({"allowed": is_allowed, "rulings": rulings, "bounds": bounds});
        if !notes.is_empty() {
            whole["note"] = notes.join("; ").into();
        }
        format!("{whole:#}\n")
    } else {
        let mut text = String::new();
        for PolicyVerdict { about, verdict, by } in &rulings {
            let word = if *verdict == OFF_VERDICT { "because" } else { "by" };
            writeln!(text, "{verdict}: {about}\n  {word} {by}").unwrap_or_default();
        }
        writeln!(text, "bounds: {bounds}").unwrap_or_default();
        for note in &notes {
            writeln!(text, "note: {note}").unwrap_or_default();
        }
        text
    };
    Ok(Printed { text, code: ExitCode::from(u8::from(!is_allowed)) })
}

/// Replaces the verdict on a disabled tool, and returns what scopes and rules would allow once it is enabled.
fn turn_off(rulings: &mut Vec<PolicyVerdict>, off: &DisabledTool) -> Option<String> {
    let PolicyVerdict { about, verdict, by } = rulings.pop()?;
    let is_denied = verdict == "denied";
    let note = (!is_denied).then(|| format!("once enabled: {verdict} ({by})"));
    if is_denied {
        rulings.push(PolicyVerdict { about: about.clone(), verdict, by });
    }
    rulings.push(PolicyVerdict { about, verdict: OFF_VERDICT, by: off.remedy.clone() });
    note
}

/// Returns the verdict of scopes and rules on a tool, and the limits of its calls.
fn judge(config: &Config, who: &Principal, provider: &str, tool: &str) -> (PolicyVerdict, String) {
    let said = config.policy.tools.decide(who, provider, Some(tool));
    let bounds = call_limits(tool, config, &said);
    let verdict = match said.action {
        PolicyAction::Allow => "allowed",
        PolicyAction::Deny => "denied",
        PolicyAction::Approve => "allowed once approved",
    };
    let is_rejected = who.kind == PrincipalKind::Anonymous && who.scopes.is_empty();
    let by = if is_rejected {
        let reason = "auth is required: callers without credentials are refused; name a key with \
                      --key, or scopes with --scopes";
        reason.to_owned()
    } else {
        said.decided_by
    };
    (PolicyVerdict { about: format!("{tool} for {}", who.name), verdict, by }, bounds)
}

fn unknown_tool_note(server: &str) -> String {
    format!("not checked whether `{server}` has this tool: no server is started")
}

/// The owner of a tool.
enum ToolOwner {
    Suite(Arc<dyn ToolProvider>, Box<ToolInfo>),
    Hub,
    Server(String),
}

impl ToolOwner {
    /// The key that scopes and rules use.
    fn key(&self) -> &str {
        match self {
            Self::Suite(provider, _) => provider.key(),
            Self::Hub => "hub",
            Self::Server(name) => name,
        }
    }
}

fn find(
    tool: &str,
    providers: &[Arc<dyn ToolProvider>],
    servers: &[ServerSpec],
) -> anyhow::Result<ToolOwner> {
    let mut names = Vec::new();
    for provider in providers {
        for info in provider.tools().iter().map(|tool| tool.info()) {
            if info.name == tool {
                return Ok(ToolOwner::Suite(Arc::clone(provider), Box::new(info)));
            }
            names.push(info.name);
        }
    }
    if !servers.is_empty() {
        if HUB_TOOLS.contains(&tool) {
            return Ok(ToolOwner::Hub);
        }
        names.extend(HUB_TOOLS.map(String::from));
    }
    if let Some(server) = server_of(tool, servers) {
        return Ok(ToolOwner::Server(server.name.clone()));
    }
    names.sort_by_key(|name| strsim::damerau_levenshtein(name, tool));
    let near = names.first().map_or("", String::as_str);
    Err(UsageError(format!("unknown tool `{tool}`; did you mean `{near}`?")).into())
}

/// Returns the server that may have a tool of this name: one that renames a tool to it, or the longest prefix match.
fn server_of<'a>(tool: &str, servers: &'a [ServerSpec]) -> Option<&'a ServerSpec> {
    let gives = |server: &&ServerSpec| server.rename.values().any(|name| name == tool);
    let begins = |server: &&ServerSpec| {
        let own = tool.strip_prefix(&prefix(server));
        own.is_some_and(|own| !own.is_empty() && server.offers(own))
    };
    let longest = || servers.iter().filter(begins).max_by_key(|server| server.name.len());
    servers.iter().find(gives).or_else(longest)
}

/// Returns the prefix of a server's tool names.
fn prefix(server: &ServerSpec) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() || "_-./".contains(c) { c } else { '_' };
    format!("{}__", server.name.chars().map(legal).collect::<String>())
}

/// Returns the server and the tool that `call_mcp_tool` would call, under the name that rules use.
fn inner_tool<'a>(
    arguments: &Object,
    servers: &'a [ServerSpec],
) -> anyhow::Result<(&'a str, String)> {
    let text = |name: &str| {
        let missing = || UsageError(format!("missing argument: call_mcp_tool {name}=…"));
        arguments.get(name).and_then(Value::as_str).with_context(missing)
    };
    let (server, tool) = (text("server")?, text("tool")?);
    let server = servers.iter().find(|spec| spec.name == server).with_context(|| {
        let names: Vec<&str> = servers.iter().map(|spec| spec.name.as_str()).collect();
        UsageError(format!("unknown server `{server}`; known: {names:?}"))
    })?;
    let prefix = prefix(server);
    let is_public = tool.starts_with(&prefix) || server.rename.values().any(|name| name == tool);
    let whole = || if is_public { tool.to_owned() } else { format!("{prefix}{tool}") };
    let public = server.rename.get(tool).cloned().unwrap_or_else(whole);
    Ok((&server.name, public))
}

fn arguments(words: &[String]) -> anyhow::Result<Object> {
    let mut all = Object::new();
    for word in words {
        if word.starts_with('{') {
            let object = serde_json::from_str::<Object>(word)
                .with_context(|| UsageError(format!("{word} is not a valid JSON object")))?;
            all.extend(object);
            continue;
        }
        let Some((key, value)) = word.split_once('=') else {
            let message = format!("{word:?} is neither key=value nor a JSON object");
            return Err(UsageError(message).into());
        };
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        all.insert(key.to_owned(), value);
    }
    Ok(all)
}

/// Checks that the tool has all of these arguments.
fn check_names(all: &Object, info: &ToolInfo) -> anyhow::Result<()> {
    let known = info.input_schema.get("properties").and_then(Value::as_object);
    let unknown = all.keys().find(|key| !known.is_some_and(|known| known.contains_key(*key)));
    if let Some(key) = unknown {
        let known: Vec<&String> = known.into_iter().flatten().map(|(key, _)| key).collect();
        let message = format!("`{}` has no argument `{key}`; it has {known:?}", info.name);
        return Err(UsageError(message).into());
    }
    Ok(())
}

/// Returns the caller: the holder of a key or of scopes, or an anonymous one.
fn principal(caller: &PolicySubject<'_>, config: &Config) -> anyhow::Result<Principal> {
    let auth = &config.server.auth;
    let name = match caller {
        PolicySubject::Key(name) => *name,
        PolicySubject::Scopes(scopes) => return scoped_principal(scopes),
        PolicySubject::Anonymous => {
            let everything: &[&str] = if auth.required { &[] } else { &["*"] };
            let scopes = everything.iter().map(ToString::to_string).collect();
            let kind = PrincipalKind::Anonymous;
            return Ok(Principal { name: "anonymous".into(), scopes, kind, grant: None });
        }
    };
    let found = auth.keys.iter().find(|key| key.name == name);
    let found = found.with_context(|| {
        let names: Vec<&str> = auth.keys.iter().map(|key| key.name.as_str()).collect();
        let known = match names.as_slice() {
            [] => "none are configured".to_owned(),
            names => format!("known: {names:?}"),
        };
        UsageError(format!("no key {name:?}; {known}"))
    })?;
    let scopes = found.scopes.iter().map(ToString::to_string).collect();
    Ok(Principal { name: name.into(), scopes, kind: PrincipalKind::Key, grant: None })
}

/// Returns a caller of whom only the scopes are known. No rule about keys matches its name.
fn scoped_principal(scopes: &[String]) -> anyhow::Result<Principal> {
    let named = scopes.iter().map(|scope| scope.trim().to_owned());
    let named: Vec<String> = named.filter(|scope| !scope.is_empty()).collect();
    if named.is_empty() {
        let message = "--scopes is empty: name tools, suites such as docs:*, or * for everything";
        return Err(UsageError(message.into()).into());
    }
    let name = format!("a caller with {}", named.join(", ")).into();
    let (scopes, kind) = (named.into(), PrincipalKind::Oauth);
    Ok(Principal { name, scopes, kind, grant: None })
}

fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(all) => all.iter().flat_map(texts).collect(),
        Value::Object(all) => all.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

/// Notes an argument that looks like a path but that no guard can judge without running the tool.
fn unjudged_argument(name: &str, text: &str) -> Option<String> {
    let note = || format!("`{name}` is not checked: only the tool knows what {text:?} means");
    text.contains(['/', '\\']).then(note)
}

/// Returns the verdict of the file and network guards on an argument.
fn judge_argument(
    name: &str,
    text: &str,
    config: &Config,
    roots: &ServedRoots,
) -> Option<PolicyVerdict> {
    let about = format!("{name} = {text:?}");
    if name == "url" {
        let checked = docent_net::parse_url(text)
            .map_err(|error| error.to_string())
            .and_then(|url| config.policy.network.check(&url).map_err(|error| error.to_string()));
        return Some(match checked {
            Ok(()) => PolicyVerdict::new(
                about,
                true,
                "policy.network; the resolved address is checked at call time",
            ),
            Err(error) => PolicyVerdict::new(about, false, format!("the network guard: {error}")),
        });
    }
    PATH_ARGUMENTS.contains(&name).then(|| match roots.resolve(text) {
        // A file may be a secret under another name, which shows when it is opened; nothing of it is read.
        Ok(place) => match roots.read_start(&place, 0) {
            Err(denied @ ReadProblem::Denied { .. }) => {
                PolicyVerdict::new(about, false, format!("the file guard: {denied}"))
            }
            _ => PolicyVerdict::new(about, true, "the roots"),
        },
        Err(error) => PolicyVerdict::new(about, false, format!("the file guard: {error}")),
    })
}

/// Describes the limits of this caller's calls: the tool's settings, narrowed by the deciding rule.
fn call_limits(tool: &str, config: &Config, said: &PolicyDecision) -> String {
    let (own, rule) = (config.limits.tools.get(tool), &said.decided_by);
    let timeout = own.and_then(|own| own.timeout).unwrap_or(config.limits.tool_timeout);
    let time = match said.bounds.timeout {
        Some(less) if less < timeout => format!("{less:?} per call by {rule}"),
        _ => format!("{timeout:?} per call"),
    };
    let rate = own.and_then(|own| own.rate_per_minute);
    let rate = rate.map(|rate| format!("{rate} calls per minute"));
    let of_rule = said.bounds.rate_per_minute;
    let of_rule = of_rule.map(|rate| format!("{rate} calls per minute by {rule}"));
    let rates: Vec<String> = rate.into_iter().chain(of_rule).collect();
    let rates = if rates.is_empty() { "no rate limit of its own".into() } else { rates.join(", ") };
    format!("{time}, {rates}")
}
