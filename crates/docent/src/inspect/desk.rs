//! What the inspector's page may ask of docent.

use crate::{
    config::{Config, Inputs, Masks},
    doctor, logging,
    servers::{self, Dial},
};
use docent_audit::Filter;
use docent_dial::{Listener, Running, pipes};
use docent_hub::{Dialer as _, Hub, Spec, Tail, Way};
use docent_inspector::{Desk, Opened, Span, Target, Traces};
use docent_server::Server;
use docent_traffic::Traffic;
use docent_transport::{
    Principal, PrincipalKind,
    stdio::{self, Stdio},
};
use docent_wire::Handshake;
use serde_json::{Value, json};
use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant, UNIX_EPOCH},
};
use tokio_util::sync::CancellationToken;

/// docent itself among the servers.
const ITSELF: &str = "docent";
/// Bytes that may be under way between the page and docent's own server.
const BUFFER: usize = 1 << 20;
/// Audit lines that are looked through for a call.
const AUDIT_LINES: usize = 5000;

/// docent's own server and all that belongs to it.
pub(crate) struct Inside {
    pub(crate) server: Arc<Server>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) inputs: Arc<Inputs>,
    /// Where calls are recorded.
    pub(crate) audit: Option<PathBuf>,
    pub(crate) traffic: Arc<Traffic>,
    pub(crate) started: Instant,
}

/// Answers the page.
pub(crate) struct Clerk {
    /// docent's own server, where it runs.
    pub(crate) inside: Option<Inside>,
    /// What the command line named.
    pub(crate) given: Option<Spec>,
    pub(crate) dial: Arc<Dial>,
}

impl Clerk {
    fn specs(&self) -> Vec<Spec> {
        let config = self.dial.config();
        let given = self.given.iter().cloned();
        let others = servers::all(&config).into_iter();
        let is_given = |spec: &Spec| self.given.iter().any(|given| given.name == spec.name);
        given.chain(others.filter(|spec| !is_given(spec))).collect()
    }

    fn masks(&self) -> Masks {
        Masks::new(&self.dial.config().secrets())
    }

    fn target(&self, spec: &Spec, masks: &Masks) -> Target {
        let given = self.given.iter().any(|given| given.name == spec.name);
        let configured = self.dial.config().servers.iter().any(|one| one.server.name == spec.name);
        let (kind, starts) = match &spec.way {
            Way::Program { .. } => ("command", true),
            Way::Remote { .. } => ("url", false),
        };
        let kind = if configured { "server" } else { kind };
        // Who typed a command has seen it.
        Target { name: spec.name.clone(), kind, way: way(spec, masks), asks: starts && !given }
    }

    /// A conversation with docent's own server, as the person who started it.
    fn open_itself(&self, inside: &Inside, listener: Arc<dyn Listener>) -> Opened {
        let bytes = self.dial.config().limits.message_bytes;
        let (here, there) = tokio::io::duplex(BUFFER);
        let (reader, writer) = tokio::io::split(there);
        let scopes = Arc::from(["*".to_owned()]);
        let setup = Stdio {
            door: Arc::clone(&inside.server) as _,
            principal: Some(Principal {
                name: "inspector".into(),
                scopes,
                kind: PrincipalKind::Key,
                until: None,
            }),
            handshake: Handshake::Required,
            message_bytes: bytes,
            traffic: Some(Arc::clone(&inside.traffic)),
            closing: CancellationToken::new(),
        };
        let session = inside.server.session();
        tokio::spawn(async move {
            // The page hears that the line has ended.
            stdio::serve_on(session, setup, reader, writer).await.unwrap_or_default();
        });
        let (reader, writer) = tokio::io::split(here);
        Opened { line: pipes::open(reader, writer, bytes, listener), via: None, stderr: None }
    }

    async fn open_other(&self, spec: &Spec, listener: Arc<dyn Listener>) -> Result<Opened, String> {
        let tail = Arc::new(Tail::default());
        let line = self.dial.dial(spec, listener, Arc::clone(&tail)).await;
        let line = line.map_err(|failure| {
            let last = tail.last(5).join("\n");
            if last.is_empty() { failure.to_string() } else { format!("{failure}\n{last}") }
        })?;
        let mut seen = 0;
        let stderr = move || {
            let (new, all) = tail.since(seen);
            seen = all;
            new
        };
        Ok(Opened { line, via: Some(spec.way.via()), stderr: Some(Box::new(stderr)) })
    }

    fn decide(
        &self,
        server: &str,
        tools: &[String],
        decide: impl Fn(&docent_hub::Memory) -> std::io::Result<Vec<String>>,
    ) -> Result<Vec<String>, String> {
        let inside = self.inside.as_ref().ok_or("docent's own server is not inside")?;
        let known =
            inside.hub.server(server).ok_or_else(|| format!("there is no server {server:?}"))?;
        let decided = decide(&servers::memory(&self.dial.config()));
        let decided = decided.map_err(|error| format!("that can't be kept: {error}"))?;
        known.look_for_approval();
        if decided.is_empty() {
            return Err(format!("nothing of {} is held back any more", tools.join(", ")));
        }
        Ok(decided)
    }
}

/// How a server is reached, whole but for what may be secret: variables and headers are named alone.
fn way(spec: &Spec, masks: &Masks) -> String {
    let quoted = |word: String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            return word;
        }
        format!("'{}'", word.replace('\'', r"'\''"))
    };
    let named = |names: Vec<&String>| {
        let names: Vec<&str> = names.into_iter().map(String::as_str).collect();
        if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) }
    };
    match &spec.way {
        Way::Program { command, args, env, cwd } => {
            let words = std::iter::once(masks.text(command)).chain(masks.words(args));
            let words: Vec<String> = words.map(quoted).collect();
            let cwd = cwd.as_ref().map_or_else(String::new, |cwd| format!(" in {}", cwd.display()));
            format!("{}{cwd}{}", words.join(" "), named(env.keys().collect()))
        }
        Way::Remote { url, headers, .. } => {
            format!("{}{}", masks.text(url), named(headers.keys().collect()))
        }
    }
}

impl Desk for Clerk {
    fn targets(&self) -> Vec<Target> {
        let itself = || Target {
            name: ITSELF.into(),
            kind: "self",
            way: "docent itself".into(),
            asks: false,
        };
        let itself = self.inside.is_some().then(itself);
        let (specs, masks) = (self.specs(), self.masks());
        itself.into_iter().chain(specs.iter().map(|spec| self.target(spec, &masks))).collect()
    }

    fn is_docent(&self) -> bool {
        self.inside.is_some()
    }

    fn open<'a>(
        &'a self,
        target: &'a Target,
        listener: Arc<dyn Listener>,
    ) -> Running<'a, Result<Opened, String>> {
        Box::pin(async move {
            if let Some(inside) = self.inside.as_ref().filter(|_| target.kind == "self") {
                return Ok(self.open_itself(inside, listener));
            }
            let spec = self.specs().into_iter().find(|spec| spec.name == target.name);
            let spec = spec.ok_or("it is no longer configured")?;
            self.open_other(&spec, listener).await
        })
    }

    fn health(&self) -> Value {
        let Some(inside) = &self.inside else { return Value::Null };
        let masks = self.masks();
        let servers = inside.hub.servers().into_iter().map(|server| {
            let mut status = json!(server.status());
            status["way"] = way(server.spec(), &masks).into();
            status["held"] = status["held_back"].take();
            status
        });
        let mut health = inside.server.health();
        health["servers"] = servers.collect();
        health["uptime_s"] = inside.started.elapsed().as_secs().into();
        health
    }

    fn config(&self) -> Result<Value, String> {
        let inside = self.inside.as_ref().ok_or("docent's own server is not inside")?;
        let config = Config::load(&inside.inputs).map_err(|error| format!("{error:#}"))?;
        let values: Vec<Value> = match config.show_json() {
            Value::Object(rows) => rows.into_iter().map(|(key, row)| shown(&key, &row)).collect(),
            _ => Vec::new(),
        };
        let files: Vec<String> =
            config.files().iter().map(|file| file.display().to_string()).collect();
        Ok(json!({"values": values, "warnings": config.warnings, "files": files}))
    }

    fn doctor(&self) -> Value {
        let Some(inside) = &self.inside else { return Value::Null };
        let report = doctor::examine(&inside.inputs).json();
        let findings = report["findings"].as_array().cloned().unwrap_or_default();
        let checks = findings.into_iter().map(|found| {
            json!({"name": found["check"], "status": found["mark"], "detail": found["detail"]})
        });
        json!({"checks": checks.collect::<Vec<_>>()})
    }

    fn approve(&self, server: &str, tools: &[String]) -> Result<Vec<String>, String> {
        self.decide(server, tools, |memory| memory.approve(server, tools))
    }

    fn refuse(&self, server: &str, tools: &[String]) -> Result<Vec<String>, String> {
        self.decide(server, tools, |memory| memory.refuse(server, tools))
    }

    fn traces(&self, span: &Span) -> Traces {
        let logs = logging::between(span.from, span.to);
        let logs = logs.into_iter().map(|line| json!(line)).collect();
        let file = self.inside.as_ref().and_then(|inside| inside.audit.as_deref());
        let lines = file.map(|file| docent_audit::tail(file, AUDIT_LINES, &since(span)));
        let audit = match lines {
            Some(Ok(lines)) => lines,
            Some(Err(error)) => {
                tracing::debug!(%error, "the audit log can't be read");
                Vec::new()
            }
            None => Vec::new(),
        };
        let is_meant = |line: &docent_audit::Line| {
            line.text("method") == Some(&span.method)
                && span.target.as_deref().is_none_or(|target| line.target() == Some(target))
        };
        Traces { audit: audit.into_iter().filter(is_meant).map(|line| json!(line)).collect(), logs }
    }
}

/// The lines of the log that may be a call's.
fn since(span: &Span) -> Filter {
    let moment = |micros: u64| Some(UNIX_EPOCH + Duration::from_micros(micros));
    Filter { since: moment(span.from), until: moment(span.to), ..Filter::default() }
}

fn shown(key: &str, row: &Value) -> Value {
    let source = &row["source"];
    let origin = match (source["kind"].as_str(), source["name"].as_str()) {
        (Some(kind), Some(name)) => format!("{kind} {name}"),
        (Some(kind), None) => kind.to_owned(),
        _ => String::new(),
    };
    json!({"key": key, "value": row["value"], "origin": origin})
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_server_is_told_without_its_secrets() {
        let masks = Masks::new(&[]);
        let check = |reached: Way, want: &str| {
            assert_eq!(way(&Spec::new("a".into(), reached), &masks), want);
        };
        let key = ["ghp", "_0123456789abcdefghijABCDEFGHIJ012345"].concat();
        let args = ["serve", "a file", "--token", "hunter2hunter2", &key].map(str::to_owned);
        check(
            Way::Program {
                command: "npx".into(),
                args: args.to_vec(),
                env: BTreeMap::from([("KEY".into(), key)]),
                cwd: None,
            },
            "npx serve 'a file' --token '[redacted: token]' '[redacted: github token]' (KEY)",
        );
        check(
            Way::Remote {
                url: "https://u:hunter2hunter2@h.test/mcp".into(),
                sse: None,
                headers: BTreeMap::new(),
            },
            "https://u:[redacted: password in a url]@h.test/mcp",
        );
    }
}
