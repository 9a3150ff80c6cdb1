//! Answers the requests of the inspector's page.

use crate::{
    config::{Config, ConfigInputs, ServerSecretMask},
    doctor, logging,
    servers::{self, ServerDialer},
};
use docent_audit::AuditFilter;
use docent_dial::{Running, TransportListener, pipes};
use docent_hub::{Dialer as _, Hub, ServerSpec, ServerStatus, ServerTransport, StderrTail};
use docent_inspector::{CallSpan, InspectorBackend, InspectorTarget, TargetConnection, Traces};
use docent_server::McpServer;
use docent_tool::Object;
use docent_traffic::Traffic;
use docent_transport::{
    Principal, PrincipalKind,
    stdio::{self, Stdio},
};
use docent_wire::HandshakePolicy;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant, UNIX_EPOCH},
};
use tokio_util::sync::CancellationToken;

/// The name of docent itself among the servers.
const DOCENT_NAME: &str = "docent";
/// Buffer size of the pipe between the page and docent's own server.
const PIPE_BUFFER_BYTES: usize = 1 << 20;
/// Maximum number of audit entries searched for a call.
const MAX_AUDIT_LINES: usize = 5000;

/// docent's own server and its parts.
pub(crate) struct LocalServer {
    pub(crate) server: Arc<McpServer>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) inputs: Arc<ConfigInputs>,
    /// The audit log.
    pub(crate) audit: Option<PathBuf>,
    pub(crate) traffic: Arc<Traffic>,
    pub(crate) started: Instant,
}

/// Answers the page's requests.
pub(crate) struct LocalBackend {
    /// docent's own server, if it runs in this process.
    pub(crate) inside: Option<LocalServer>,
    /// The server from the command line.
    pub(crate) given: Option<ServerSpec>,
    pub(crate) dial: Arc<ServerDialer>,
}

impl LocalBackend {
    fn specs(&self) -> Vec<ServerSpec> {
        let config = self.dial.config();
        let given = self.given.iter().cloned();
        let others = servers::all_specs(&config).into_iter();
        let is_given = |spec: &ServerSpec| self.given.iter().any(|given| given.name == spec.name);
        given.chain(others.filter(|spec| !is_given(spec))).collect()
    }

    fn masks(&self) -> ServerSecretMask {
        ServerSecretMask::new(&self.dial.config().secrets())
    }

    fn target(&self, spec: &ServerSpec, masks: &ServerSecretMask) -> InspectorTarget {
        let given = self.given.iter().any(|given| given.name == spec.name);
        let configured = self.dial.config().servers.iter().any(|one| one.server.name == spec.name);
        let (kind, starts) = match &spec.transport {
            ServerTransport::Program { .. } => ("command", true),
            ServerTransport::Remote { .. } => ("url", false),
        };
        let kind = if configured { "server" } else { kind };
        // The user who typed the command has seen its secrets.
        InspectorTarget {
            name: spec.name.clone(),
            kind,
            way: describe_endpoint(spec, masks),
            asks: starts && !given,
        }
    }

    /// Opens a session with docent's own server, as the user who started it.
    fn open_docent(
        &self,
        inside: &LocalServer,
        listener: Arc<dyn TransportListener>,
    ) -> TargetConnection {
        let bytes = self.dial.config().limits.message_bytes;
        let (here, there) = tokio::io::duplex(PIPE_BUFFER_BYTES);
        let (reader, writer) = tokio::io::split(there);
        let scopes = Arc::from(["*".to_owned()]);
        let setup = Stdio {
            door: Arc::clone(&inside.server) as _,
            principal: Some(Principal {
                name: "inspector".into(),
                scopes,
                kind: PrincipalKind::Key,
                grant: None,
            }),
            handshake: HandshakePolicy::Required,
            message_bytes: bytes,
            traffic: Some(Arc::clone(&inside.traffic)),
            closing: CancellationToken::new(),
        };
        let session = inside.server.session();
        tokio::spawn(async move {
            // Tell the page that the connection has ended.
            stdio::serve_on(session, setup, reader, writer).await.unwrap_or_default();
        });
        let (reader, writer) = tokio::io::split(here);
        TargetConnection {
            line: pipes::open(reader, writer, bytes, listener),
            via: None,
            stderr: None,
        }
    }

    async fn open_server(
        &self,
        spec: &ServerSpec,
        listener: Arc<dyn TransportListener>,
    ) -> Result<TargetConnection, String> {
        let tail = Arc::new(StderrTail::default());
        let line = self.dial.dial(spec, listener, Arc::clone(&tail)).await;
        let line = line.map_err(|failure| {
            let last = tail.last(5).join("\n");
            let message = format!("{failure}\n{last}");
            logging::mask_text(message.trim_end_matches('\n'))
        })?;
        let mut seen = 0;
        let stderr = move || -> Vec<String> {
            let (new, all) = tail.since(seen);
            seen = all;
            new.iter().map(|line| logging::mask_text(line)).collect()
        };
        Ok(TargetConnection {
            line,
            via: Some(spec.transport.via()),
            stderr: Some(Box::new(stderr)),
        })
    }

    fn decide(
        &self,
        server: &str,
        tools: &[String],
        decide: impl Fn(&docent_hub::ServerStateStore) -> std::io::Result<Vec<String>>,
    ) -> Result<Vec<String>, String> {
        let inside =
            self.inside.as_ref().ok_or("docent's own server does not run in this process")?;
        let known =
            inside.hub.server(server).ok_or_else(|| format!("unknown server {server:?}"))?;
        let decided = decide(&servers::approval_memory(&self.dial.config()));
        let decided = decided.map_err(|error| format!("cannot save the decision: {error}"))?;
        known.reload_approvals();
        if decided.is_empty() {
            let tools = tools.join(", ");
            return Err(format!("{tools} changed since it was shown: reload and review again"));
        }
        Ok(decided)
    }
}

/// Masks the secrets in a server's status: the server knows some and may have repeated them.
fn mask_status(mut status: ServerStatus, masked: impl Fn(&str) -> String) -> ServerStatus {
    let health = &mut status.health;
    let said = [&mut health.last_noise, &mut health.last_failure].into_iter().flatten();
    for text in said.chain(&mut status.stderr) {
        *text = masked(text);
    }
    status
}

/// Whether a definition equals the one shown on the page, where every number is a double.
fn is_shown(now: &Object, shown: &Object) -> bool {
    now.len() == shown.len()
        && now.iter().all(|(key, value)| shown.get(key).is_some_and(|shown| is_same(value, shown)))
}

fn is_same(now: &Value, shown: &Value) -> bool {
    match (now, shown) {
        (Value::Number(now), Value::Number(shown)) => now.as_f64() == shown.as_f64(),
        (Value::Array(now), Value::Array(shown)) => {
            now.len() == shown.len()
                && now.iter().zip(shown).all(|(now, shown)| is_same(now, shown))
        }
        (Value::Object(now), Value::Object(shown)) => is_shown(now, shown),
        (now, shown) => now == shown,
    }
}

/// Describes how a server is reached. Variables and headers, which may be secret, are shown by name only.
fn describe_endpoint(spec: &ServerSpec, masks: &ServerSecretMask) -> String {
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
    match &spec.transport {
        ServerTransport::Program { command, args, env, cwd } => {
            let words = std::iter::once(masks.text(command)).chain(masks.mask_arguments(args));
            let words: Vec<String> = words.map(quoted).collect();
            let cwd = cwd.as_ref().map_or_else(String::new, |cwd| format!(" in {}", cwd.display()));
            format!("{}{cwd}{}", words.join(" "), named(env.keys().collect()))
        }
        ServerTransport::Remote { url, headers, .. } => {
            format!("{}{}", masks.text(url), named(headers.keys().collect()))
        }
    }
}

impl InspectorBackend for LocalBackend {
    fn targets(&self) -> Vec<InspectorTarget> {
        let itself = || InspectorTarget {
            name: DOCENT_NAME.into(),
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
        target: &'a InspectorTarget,
        listener: Arc<dyn TransportListener>,
    ) -> Running<'a, Result<TargetConnection, String>> {
        Box::pin(async move {
            if let Some(inside) = self.inside.as_ref().filter(|_| target.kind == "self") {
                return Ok(self.open_docent(inside, listener));
            }
            let spec = self.specs().into_iter().find(|spec| spec.name == target.name);
            let spec = spec.ok_or("the server is no longer configured")?;
            self.open_server(&spec, listener).await
        })
    }

    fn health(&self) -> Value {
        let Some(inside) = &self.inside else { return Value::Null };
        let masks = self.masks();
        let servers = inside.hub.servers().into_iter().map(|server| {
            let mut status = json!(mask_status(server.status(), logging::mask_text));
            status["way"] = describe_endpoint(server.spec(), &masks).into();
            status["held"] = status["held_back"].take();
            status
        });
        let mut health = inside.server.health();
        health["servers"] = servers.collect();
        health["uptime_s"] = inside.started.elapsed().as_secs().into();
        health
    }

    fn config(&self) -> Result<Value, String> {
        let inside =
            self.inside.as_ref().ok_or("docent's own server does not run in this process")?;
        let config = Config::load(&inside.inputs).map_err(|error| format!("{error:#}"))?;
        let values: Vec<Value> = match config.show_json() {
            Value::Object(rows) => {
                rows.into_iter().map(|(key, row)| mask_row(&key, &row)).collect()
            }
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

    fn approve(
        &self,
        server: &str,
        seen: &BTreeMap<String, Object>,
    ) -> Result<Vec<String>, String> {
        let tools: Vec<String> = seen.keys().cloned().collect();
        self.decide(server, &tools, |memory| {
            let held = memory.load_any(server).unwrap_or_default().held_back;
            let same = held
                .into_iter()
                .filter(|(tool, now)| seen.get(tool).is_some_and(|shown| is_shown(now, shown)));
            let same: BTreeMap<String, Object> = same.collect();
            if same.len() < seen.len() {
                return Ok(Vec::new());
            }
            memory.approve_seen(server, &same)
        })
    }

    fn refuse(&self, server: &str, tools: &[String]) -> Result<Vec<String>, String> {
        self.decide(server, tools, |memory| memory.refuse(server, tools))
    }

    fn traces(&self, span: &CallSpan) -> Traces {
        let logs = logging::lines_between(span.from, span.to);
        let logs = logs.into_iter().map(|line| json!(line)).collect();
        let file = self.inside.as_ref().and_then(|inside| inside.audit.as_deref());
        let lines = file.map(|file| docent_audit::tail(file, MAX_AUDIT_LINES, &audit_filter(span)));
        let audit = match lines {
            Some(Ok(lines)) => lines,
            Some(Err(error)) => {
                tracing::debug!(%error, "cannot read the audit log");
                Vec::new()
            }
            None => Vec::new(),
        };
        let is_meant = |line: &docent_audit::AuditLine| {
            line.text("method") == Some(&span.method)
                && span.target.as_deref().is_none_or(|target| line.target() == Some(target))
        };
        Traces { audit: audit.into_iter().filter(is_meant).map(|line| json!(line)).collect(), logs }
    }
}

/// Returns the filter for audit entries that may belong to a call.
fn audit_filter(span: &CallSpan) -> AuditFilter {
    let moment = |micros: u64| Some(UNIX_EPOCH + Duration::from_micros(micros));
    AuditFilter { since: moment(span.from), until: moment(span.to), ..AuditFilter::default() }
}

fn mask_row(key: &str, row: &Value) -> Value {
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
    use docent_hub::{Health, ServerState};

    #[test]
    fn secrets_are_masked_in_what_a_server_said() {
        let said = |what: &str| format!("{what} password=hunter2");
        let status = ServerStatus {
            name: "a".into(),
            state: ServerState::Waiting,
            protocol: None,
            server: Value::Null,
            tools: 0,
            held_back: Vec::new(),
            left_out: BTreeMap::new(),
            flagged: Vec::new(),
            health: Health {
                starts: 1,
                losses: 1,
                answers: 0,
                failures: 1,
                timeouts: 0,
                noise: 1,
                last_noise: Some(said("noise")),
                last_failure: Some(said("failure")),
                answered_ms_ago: None,
            },
            stderr: vec![said("first"), said("last")],
        };
        let redactor = logging::Redactor::default();
        let status = mask_status(status, |text| redactor.mask(text).into_owned());
        let want = |what: &str| format!("{what} password=[redacted: password]");
        assert_eq!(status.health.last_noise, Some(want("noise")));
        assert_eq!(status.health.last_failure, Some(want("failure")));
        assert_eq!(status.stderr, [want("first"), want("last")]);
    }

    #[test]
    fn a_definition_is_what_the_page_has_shown() {
        let check = |now: Value, shown: Value, want: bool| {
            assert_eq!(is_same(&now, &shown), want, "{now} {shown}");
        };
        let tool = |most: Value| json!({"name": "a", "inputSchema": {"enum": [{"maximum": most}]}});
        check(tool(json!(1.0)), tool(json!(1)), true);
        check(tool(json!(u64::MAX)), tool(json!(18_446_744_073_709_552_000_f64)), true);
        check(tool(json!(2)), tool(json!(1)), false);
        check(tool(json!(1)), tool(json!("1")), false);
        check(tool(json!(1)), json!({"name": "a"}), false);
        check(json!({"name": "a"}), tool(json!(1)), false);
    }

    #[test]
    fn secrets_are_masked_in_a_server_s_description() {
        let masks = ServerSecretMask::new(&[]);
        let check = |reached: ServerTransport, want: &str| {
            assert_eq!(describe_endpoint(&ServerSpec::new("a", reached), &masks), want);
        };
        let key = ["ghp", "_0123456789abcdefghijABCDEFGHIJ012345"].concat();
        let args = ["serve", "a file", "--token", "hunter2hunter2", &key].map(str::to_owned);
        check(
            ServerTransport::Program {
                command: "npx".into(),
                args: args.to_vec(),
                env: BTreeMap::from([("KEY".into(), key)]),
                cwd: None,
            },
            "npx serve 'a file' --token '[redacted: token]' '[redacted: github token]' (KEY)",
        );
        check(
            ServerTransport::Remote {
                url: "https://u:hunter2hunter2@h.test/mcp".into(),
                sse: None,
                headers: BTreeMap::new(),
            },
            "https://u:[redacted: password in a url]@h.test/mcp",
        );
    }
}
