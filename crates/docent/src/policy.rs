//! `docent policy test`: whether a call would be allowed, and by which rule. Nothing is run.

use crate::{
    analyze::{Printed, UsedWrongly},
    config::{Config, Inputs},
    serve,
};
use anyhow::Context as _;
use docent_server::{Action, Verdict};
use docent_suites::files::Roots;
use docent_tool::{Object, Provider, ToolInfo};
use docent_transport::{Principal, PrincipalKind};
use serde::Serialize;
use serde_json::{Value, json};
use std::{fmt::Write as _, process::ExitCode, sync::Arc};

/// Arguments that hold paths.
const PATHS: [&str; 6] = ["path", "file", "files", "folder", "directory", "root"];

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
    let (provider, info) = find(question.tool, &providers)?;
    let arguments = arguments(question.arguments, &info)?;
    let who = principal(question.key, &config)?;
    let Verdict { action, by } =
        config.policy.tools.decide(&who, provider.key(), Some(question.tool));
    let mut rulings = vec![Ruling::new(format!("{} for {}", info.name, who.name), true, by)];
    if let Some(first) = rulings.first_mut() {
        first.verdict = match action {
            Action::Allow => "allowed",
            Action::Deny => "denied",
            Action::Approve => "allowed once approved",
        };
    }
    let roots = serve::roots(&config)?;
    for (name, value) in &arguments {
        for text in texts(value) {
            rulings.extend(examine(name, text, &config, &roots));
        }
    }
    let bounds = bounds(&info.name, &config);
    let is_allowed = rulings.iter().all(|ruling| ruling.verdict != "denied");
    let text = if question.json {
        let whole = json!({"allowed": is_allowed, "rulings": rulings, "bounds": bounds});
        format!("{whole:#}\n")
    } else {
        let mut text = String::new();
        for Ruling { about, verdict, by } in &rulings {
            writeln!(text, "{verdict}: {about}\n  by {by}").unwrap_or_default();
        }
        writeln!(text, "bounds: {bounds}").unwrap_or_default();
        text
    };
    Ok(Printed { text, code: ExitCode::from(u8::from(!is_allowed)) })
}

fn find(
    tool: &str,
    providers: &[Arc<dyn Provider>],
) -> anyhow::Result<(Arc<dyn Provider>, ToolInfo)> {
    let mut names = Vec::new();
    for provider in providers {
        for info in provider.tools().iter().map(|tool| tool.info()) {
            if info.name == tool {
                return Ok((Arc::clone(provider), info));
            }
            names.push(info.name);
        }
    }
    names.sort_by_key(|name| strsim::damerau_levenshtein(name, tool));
    let near = names.first().map_or("", String::as_str);
    Err(UsedWrongly(format!("there is no tool `{tool}`; the nearest is `{near}`")).into())
}

fn arguments(words: &[String], info: &ToolInfo) -> anyhow::Result<Object> {
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
    let known = info.input_schema.get("properties").and_then(Value::as_object);
    let unknown = all.keys().find(|key| !known.is_some_and(|known| known.contains_key(*key)));
    if let Some(key) = unknown {
        let known: Vec<&String> = known.into_iter().flatten().map(|(key, _)| key).collect();
        let told = format!("`{}` has no argument `{key}`; it has {known:?}", info.name);
        return Err(UsedWrongly(told).into());
    }
    Ok(all)
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
        Ok(_) => Ruling::new(about, true, "the roots"),
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
